"""Averages of weights: along the last steps of a phase, of several trainings, and with those before the phase."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from phasefit.phases.contract import Phase


class StepAverage:
    """The mean of all trained weights of a phase over its last steps, those after step `first`."""

    def __init__(self) -> None:
        self.weights: dict[str, Tensor] = {}
        self.count = 0

    def add(self, phase: Phase) -> None:
        """Add the current weights."""
        self.count += 1
        for name, value in trained_weights(phase).items():
            if self.count == 1:
                self.weights[name] = value.detach().clone()
            else:
                self.weights[name].lerp_(value.detach(), 1 / self.count)


def trained_weights(phase: Phase) -> dict[str, Tensor]:
    """The parameters that the phase trains."""
    return {name: value for name, value in phase.named_parameters() if value.requires_grad}


def copied_weights(phase: Phase) -> dict[str, Tensor]:
    """A copy of the parameters that the phase trains."""
    return {name: value.detach().to("cpu", copy=True) for name, value in trained_weights(phase).items()}


def put_trained_weights(phase: Phase, weights: Mapping[str, Tensor]) -> None:
    """Copy these weights into the phase; parameters without one stay as they are."""
    with torch.no_grad():
        for name, value in trained_weights(phase).items():
            if name in weights:
                value.copy_(weights[name])


def encoder_weights(phase: Phase) -> dict[str, Tensor]:
    """A copy of the parameters of the encoder that the phase trains."""
    named = phase.encoder.named_parameters()
    return {name: value.detach().to("cpu", copy=True) for name, value in named if value.requires_grad}


def blend_encoder(phase: Phase, before: Mapping[str, Tensor], after: Mapping[str, Tensor], share: float) -> None:
    """Set the encoder to a share of the weights `after` and the rest of those `before`; share 1 is exactly `after`."""
    with torch.no_grad():
        for name, value in phase.encoder.named_parameters():
            if name in before:
                value.copy_(torch.lerp(before[name], after[name], share))
