"""The joint phase: denoising and contrast in one training step."""

from __future__ import annotations

from dataclasses import replace

from torch import nn

from phasefit.data.batches import Batches, ZippedBatches
from phasefit.models.model import Model
from phasefit.phases.contract import Batch, Encoded, Phase, PhaseData, StepOutput
from phasefit.phases.contrast.options import Options as ContrastOptions
from phasefit.phases.contrast.phase import Contrast
from phasefit.phases.denoise.options import Options as DenoiseOptions
from phasefit.phases.denoise.phase import Denoise
from phasefit.phases.joint.options import Options


class Joint(Phase):
    """`L_DAE + L_CL`, each on its own batches; or one of them per step, in turn."""

    options: Options
    chooses_on_all_rows = False  # the probe is a sample in any case

    def __init__(self, name: str, options: Options, model: Model, data: PhaseData, seed: int) -> None:
        super().__init__(name, options, model, data, seed)
        # Each part freezes layers when it is built, so all of them need the options of the joint phase.
        shared = {name: getattr(options, name) for name in ("batch_size", "frozen_layers", "freeze_words")}
        denoise = DenoiseOptions(**options.denoise.model_dump(), **shared)
        contrast = ContrastOptions(**options.contrast.model_dump(), **shared)
        self.denoise = Denoise(f"{name}.denoise", denoise, model, data, seed)
        self.contrast = Contrast(f"{name}.contrast", contrast, model, data, seed)
        self._parts: dict[str, tuple[Phase, float]] = {
            "denoise": (self.denoise, options.denoise_weight),
            "contrast": (self.contrast, options.contrast_weight),
        }
        streams = {key: part.batches for key, (part, _) in self._parts.items()}
        self._batches = ZippedBatches(streams, alternate=options.mix == "alternate")

    @property
    def batches(self) -> Batches:
        """Batches of both parts."""
        return self._batches

    @property
    def watch(self) -> str:
        """The probe if there are labels, otherwise the loss; empty if the last weights are kept."""
        chosen = self.options.watch
        if chosen == "last":
            return ""
        return chosen if chosen != "auto" else ("probe" if self.contrast.probe else "loss")

    @property
    def starts_untrained(self) -> bool:
        """Whether either part added a random layer to the encoder."""
        return any(part.starts_untrained for part, _ in self._parts.values())

    @property
    def gathers(self) -> bool:
        """True: pairs are formed across the whole batch, and reconstruction is weighted by its tokens."""
        return True

    def groups(self) -> dict[str, list[nn.Parameter]]:
        """Encoder, dense layers, decoder, and the proxies of the objective if it has any."""
        return {**self.denoise.groups(), **self.contrast.groups()}

    def before_step(self, step: int) -> None:
        """Refresh the hard negatives of contrast."""
        self.contrast.before_step(step)

    def encode(self, batch: Batch) -> Encoded:
        """Encode the rows of each part that is in the batch."""
        encoded: Encoded = {}
        for key, part in self._present(batch).items():
            encoded |= {f"{key}.{what}": value for what, value in self._parts[key][0].encode(part).items()}
        return encoded

    def loss(self, encoded: Encoded, batch: Batch) -> StepOutput:
        """The weighted sum of the losses; the scalars are the separate losses."""
        scalars = {}
        total = next(iter(encoded.values())).sum() * 0.0
        for key, part in self._present(batch).items():
            phase, weight = self._parts[key]
            own = {what.removeprefix(f"{key}."): v for what, v in encoded.items() if what.startswith(f"{key}.")}
            value = phase.loss(own, part).loss
            scalars[key] = value.detach()
            total = total + weight * value
        return StepOutput(total, scalars)

    def validate(self) -> dict[str, float]:
        """Both validation losses, their weighted sum, and the probe; nothing if the last weights are kept."""
        if not self.watch:
            return {}
        for part, _ in self._parts.values():
            part.evaluation_cap = self.evaluation_cap
        scores = self.contrast.validate()
        reconstruction = self.denoise.reconstruction()
        if reconstruction and "pairs" in scores:
            loss = self.options.denoise_weight * reconstruction["loss"] + self.options.contrast_weight * scores["pairs"]
            scores |= {"loss": loss, "reconstruction": reconstruction["loss"]}
        return scores

    def evaluation_parts(self) -> list[tuple[int, int]]:
        """Rows of contrast, and the rows that denoising reconstructs."""
        return [] if not self.watch else [*self.contrast.evaluation_parts(), self.denoise.reconstructed]

    def step_rows(self) -> float:
        """Rows of both parts, or of one of them on average."""
        rows = sum(part.step_rows() for part, _ in self._parts.values()) * self.options.accumulate
        return rows / 2 if self.options.mix == "alternate" else rows

    def facts(self) -> dict[str, float]:
        """Rows of denoising, pairs of contrast."""
        return {**self.contrast.facts(), **self.denoise.facts()}

    def notes(self) -> list[str]:
        """Notes of contrast."""
        return self.contrast.notes()

    @staticmethod
    def _present(batch: Batch) -> dict[str, Batch]:
        """The batch of each part that has rows in this one."""
        parts: dict[str, Batch] = {}
        for key in ("denoise", "contrast"):
            own, whole = (
                {k.removeprefix(f"{key}."): rows for k, rows in draw.items() if k.startswith(f"{key}.")}
                for draw in (batch.draw, batch.whole)
            )
            if own:
                parts[key] = replace(batch, draw=own, whole=whole)
        return parts
