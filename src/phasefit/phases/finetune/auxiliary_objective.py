"""An objective added to cross-entropy, with its proxies and the network that weights its classes."""

from __future__ import annotations

import copy

import torch
from torch import Tensor, nn

from phasefit.models.encoder.encoder import Encoder, sentence_vectors
from phasefit.models.gather import gather
from phasefit.models.heads import Head
from phasefit.models.tokens.tokens import Features
from phasefit.objectives import Objective
from phasefit.objectives.contract import of_rows
from phasefit.phases.contract import Batch, Encoded, PhaseData
from phasefit.phases.finetune.options import Options
from phasefit.phases.objective_option import build_objective, check_labels, make_proxies
from phasefit.seeds import derive


class Weighting(nn.Module):
    """A second network with the initial weights of the encoder; its predictions weight the classes of the objective."""

    def __init__(self, encoder: Encoder, classes: int, seed: int) -> None:
        super().__init__()
        self.encoder = copy.deepcopy(encoder)
        self.head = Head("linear", encoder.dimension, classes, seed=seed)

    def forward(self, features: Features) -> Tensor:
        """(n, classes) logits of the token features."""
        logits: Tensor = self.head(sentence_vectors(self.encoder(features)))
        return logits


class AuxiliaryObjective(nn.Module):
    """An objective that is trained with a classifier and discarded after the phase.

    A row may be encoded as several `sequences` of tokens (a pair in both orders); all of them have the row's label.
    """

    def __init__(
        self, name: str, options: Options, encoder: Encoder, data: PhaseData, seed: int, *, sequences: int = 1
    ) -> None:
        super().__init__()
        self.sequences = sequences
        assert options.objective is not None
        self.objective: Objective = build_objective(name, options.objective)
        check_labels(name, self.objective, data.space)
        self.on_tokens = options.on == "tokens"
        dimension = int(encoder.transformer.config.hidden_size) if self.on_tokens else encoder.dimension
        classes, device = len(data.space.groups), next(encoder.parameters()).device
        self.proxies = make_proxies(self.objective, classes, dimension, derive(seed, name, "proxies"))
        self.weighting: Weighting | None = None
        if self.objective.weighs_classes:
            self.weighting = Weighting(encoder, classes, derive(seed, name, "weighting"))
        self.to(device)

    def groups(self) -> dict[str, list[nn.Parameter]]:
        """Parameters of the proxies and the weighting network, if there are any."""
        parts = {"proxies": self.proxies, "weighting": self.weighting}
        return {
            name: [p for p in part.parameters() if p.requires_grad] for name, part in parts.items() if part is not None
        }

    def encode(self, features: Features, output: Features) -> Encoded:
        """The inputs of the objective other than sentence vectors; `output` is the encoder's output for `features`."""
        encoded: Encoded = {}
        if self.on_tokens:
            encoded["states"], encoded["mask"] = output["token_embeddings"], features["attention_mask"].bool()
        if self.weighting is not None:
            encoded["weights"] = self.weighting(features)
        return {name: self._by_row(value) for name, value in encoded.items()}

    def _by_row(self, values: Tensor) -> Tensor:
        """Put the values of a row's sequences side by side: chunks of a batch are counted in rows."""
        if self.sequences == 1:
            return values
        return values.reshape(len(values) // self.sequences, self.sequences * values.shape[1], *values.shape[2:])

    def by_sequence(self, values: Tensor) -> Tensor:
        """Reshape (rows, sequences * width) to (rows * sequences, width)."""
        return values.reshape(len(values) * self.sequences, -1)

    def for_sequences(self, labels: Tensor) -> Tensor:
        """Repeat the label of a row for each of its sequences."""
        return labels.repeat_interleave(self.sequences, dim=0)

    def loss(self, encoded: Encoded, batch: Batch, targets: Tensor, row_weights: Tensor | None = None) -> Tensor:
        """The objective on the batch of all processes, in full precision, which temperatures need.

        `targets` and `row_weights` are those of all rows, in the order of `batch.gather`; for tokens, of the own rows.
        """
        vectors = encoded["states" if self.on_tokens else "vectors"].float()
        with torch.autocast(vectors.device.type, enabled=False):
            if self.on_tokens:
                given = of_rows(row_weights)
                value = self.objective.tokens(vectors, encoded["mask"], targets, parameters=self.proxies, **given)
                return value * _share(encoded["mask"], batch)
            weights = None
            if "weights" in encoded:
                weights = batch.gather(self.by_sequence(encoded["weights"]).float().softmax(1))
            every, labels = batch.gather(self.by_sequence(vectors)), self.for_sequences(targets)
            given = of_rows(None if row_weights is None else self.for_sequences(row_weights))
            return self.objective(every, labels, parameters=self.proxies, class_weights=weights, **given)


def _share(mask: Tensor, batch: Batch) -> float:
    """Weight of this process's mean over tokens, so that the mean over processes is the mean over all tokens."""
    if batch.processes == 1:
        return 1.0
    own = mask.sum() if batch.sizes[batch.rank] else mask.new_zeros((), dtype=torch.long)
    return batch.scale(int(own), int(gather(own[None]).sum()))
