"""What self-training carries from segment to segment, in buffers, so that a stopped run can be resumed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from torch import Tensor, nn

from phasefit.phases.self_train.guard import HeldOut, gain

# Figures of a round: of the held-out rows, the gain in accuracy, of the pseudo-labels, and whether it was kept.
FIGURES = ("accuracy", "log_loss", "gain", "error", "pseudo_labels", "share", "kept")


class WeightCopy(nn.Module):
    """A copy of parameters, as buffers."""

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        super().__init__()
        for number, value in enumerate(parameters):
            self.register_buffer(f"value{number}", value.detach().clone())

    def save(self, parameters: Iterable[nn.Parameter]) -> None:
        """Copy these parameters."""
        for copy, value in zip(self.buffers(), parameters, strict=True):
            copy.copy_(value.detach())

    @torch.no_grad()
    def restore(self, parameters: Iterable[nn.Parameter]) -> None:
        """Set these parameters to the copy."""
        for copy, value in zip(self.buffers(), parameters, strict=True):
            value.copy_(copy)


class Rounds(nn.Module):
    """Log-probabilities and temperatures of the encoders, and the figures of the rounds.

    `texts` are the latest log-probabilities of the unlabelled texts by each encoder; `held_out` are those of the
    labelled rows, in each round, by the encoder that did not see them.
    """

    texts: Tensor  # (encoders, texts, classes)
    held_out: Tensor  # (rounds, labelled rows, classes)
    temperatures: Tensor  # (rounds, encoders)
    figures: Tensor  # (rounds, figures); NaN: unknown

    def __init__(self, rounds: int, encoders: int, texts: int, rows: int, classes: int) -> None:
        super().__init__()
        self.register_buffer("texts", torch.zeros(encoders, texts, classes))
        self.register_buffer("held_out", torch.zeros(rounds, rows, classes))
        self.register_buffer("temperatures", torch.ones(rounds, encoders, dtype=torch.float64))
        self.register_buffer("figures", torch.full((rounds, len(FIGURES)), torch.nan, dtype=torch.float64))

    @property
    def last_kept(self) -> int:
        """The last round that the guard kept; the first round always is."""
        kept = np.flatnonzero(self.figures[:, FIGURES.index("kept")].cpu().numpy() == 1)
        return int(kept[-1]) if len(kept) else 0

    def record(self, number: int, **values: float) -> None:
        """Set figures of a round."""
        for name, value in values.items():
            self.figures[number, FIGURES.index(name)] = value

    def scores(self, number: int, rows: np.ndarray, codes: np.ndarray) -> HeldOut:
        """How well a round predicts the held-out rows; `codes` are their classes."""
        return HeldOut.of(self.held_out[number].cpu().numpy()[rows], codes)

    def record_scores(self, number: int, before: HeldOut, after: HeldOut, kept: bool) -> None:
        """Set the figures of the guard."""
        higher, error = gain(before, after)
        self.record(number, accuracy=after.accuracy, log_loss=after.log_loss, gain=higher, error=error, kept=kept)

    def results(self) -> list[dict[str, float | int | bool | None]]:
        """The figures of all rounds that were tested, for metrics.json."""
        found: list[dict[str, float | int | bool | None]] = []
        for number, values in enumerate(self.figures.cpu().tolist()):
            row = dict(zip(FIGURES, values, strict=True))
            if np.isnan(row["kept"]):
                continue
            entry: dict[str, float | int | bool | None] = {"round": number}
            entry |= {name: None if np.isnan(value) else round(value, 6) for name, value in row.items()}
            entry["pseudo_labels"] = 0 if np.isnan(row["pseudo_labels"]) else int(row["pseudo_labels"])
            entry["kept"] = bool(row["kept"])
            found.append(entry)
        return found
