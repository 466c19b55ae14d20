"""Denoising and contrast side by side: two phases' steps, one sum."""

from __future__ import annotations

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
    """`L_DAE + L_CL`, each on batches of its own; or one of them per step in turn."""

    options: Options

    def __init__(self, name: str, options: Options, model: Model, data: PhaseData, seed: int) -> None:
        super().__init__(name, options, model, data, seed)
        # Each freezes what it is told to: the last word must be the whole's.
        size = {name: getattr(options, name) for name in ("batch_size", "frozen_layers", "freeze_words")}
        denoise = DenoiseOptions(**options.denoise.model_dump(), **size)
        contrast = ContrastOptions(**options.contrast.model_dump(), **size)
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
        """Both streams."""
        return self._batches

    @property
    def watch(self) -> str:
        """The probe where there are labels to probe with."""
        chosen = self.options.watch
        return chosen if chosen != "auto" else ("probe" if self.contrast.probe else "loss")

    @property
    def gathers(self) -> bool:
        """Pairs are those of the whole batch."""
        return True

    def groups(self) -> dict[str, list[nn.Parameter]]:
        """Encoder, added layers, decoder, and the contrastive objective's proxies where it has some."""
        return {**self.denoise.groups(), **self.contrast.groups()}

    def before_step(self, step: int) -> None:
        """Hard negatives are renewed now and then."""
        self.contrast.before_step(step)

    def encode(self, batch: Batch) -> Encoded:
        """The vectors of whichever streams this batch draws from."""
        encoded: Encoded = {}
        for key, part in self._present(batch).items():
            encoded |= {f"{key}.{what}": value for what, value in self._parts[key][0].encode(part).items()}
        return encoded

    def loss(self, encoded: Encoded, batch: Batch) -> StepOutput:
        """The weighted sum, and each loss by itself for the log."""
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
        """Both validation losses, their weighted sum, and the probe."""
        scores = self.contrast.validate()
        rebuilt = self.denoise.reconstruction()
        if rebuilt and "pairs" in scores:
            loss = self.options.denoise_weight * rebuilt["loss"] + self.options.contrast_weight * scores["pairs"]
            scores |= {"loss": loss, "reconstruction": rebuilt["loss"]}
        return scores

    def evaluation_rows(self) -> int:
        """Those of contrast, and those that denoising rebuilds."""
        rebuilt = self.denoise.evaluation_rows() - len(self.denoise.probe)
        return self.contrast.evaluation_rows() + rebuilt

    def facts(self) -> dict[str, float]:
        """Rows of the denoise stream, pairs of the contrast stream."""
        return {**self.contrast.facts(), **self.denoise.facts()}

    def notes(self) -> list[str]:
        """What contrast adds to its rows."""
        return self.contrast.notes()

    @staticmethod
    def _present(batch: Batch) -> dict[str, Batch]:
        """The batch as each part would see it."""
        parts: dict[str, Batch] = {}
        for key in ("denoise", "contrast"):
            draw = {k.removeprefix(f"{key}."): rows for k, rows in batch.draw.items() if k.startswith(f"{key}.")}
            if draw:
                parts[key] = Batch(draw, batch.generator, batch.device)
        return parts
