"""A phase between two steps: all that has changed since it was built, as tensors and plain facts, and back again.

What is not here is a function of the seed and the step: batches, noise, dropout, the learning rate.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from accelerate import Accelerator
from torch import Tensor, nn

from phasefit.errors import ModelError
from phasefit.phases.contract import Phase
from phasefit.training.best import Best

OPTIMISER, BEST, GENERATOR = "optimiser.", "best.", "generator."


@dataclass
class PhaseState:
    """A phase in training. Weights are not among its tensors: the model and the phase share most of them."""

    phase: Phase
    optimiser: torch.optim.Optimizer
    best: Best
    accelerator: Accelerator
    step: int = 0
    seconds: float = 0.0  # spent up to `step`, over all the processes that worked on it one after the other
    stopped: bool = False  # patience has run out

    def tensors(self) -> dict[str, Tensor]:
        """The optimiser's moments, the best weights so far, and the default generators."""
        tensors = {BEST + name: value for name, value in self.best.weights.items()}
        for number, moments in self.optimiser.state_dict()["state"].items():
            tensors |= {f"{OPTIMISER}{number}.{name}": value for name, value in moments.items()}
        # The loop seeds them anew before each micro-batch; they are kept for phases that draw elsewhere.
        tensors |= {GENERATOR + name: state for name, state in _generators(self.accelerator.device)}
        return tensors

    def facts(self) -> dict[str, Any]:
        """Everything else, ready for JSON."""
        scaler = self.accelerator.scaler
        return {
            "step": self.step,
            "seconds": self.seconds,
            "stopped": self.stopped,
            "best": self.best.facts(),
            "scaler": scaler.state_dict() if scaler is not None else None,
        }

    def load(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Go back to where `tensors` and `facts` were taken; the weights are put back by `put_weights`."""
        self.step, self.seconds, self.stopped = facts["step"], facts["seconds"], facts["stopped"]
        self.best.load(_under(BEST, tensors), facts["best"])
        moments: dict[int, dict[str, Tensor]] = {}
        for name, value in _under(OPTIMISER, tensors).items():
            number, _, what = name.partition(".")
            moments.setdefault(int(number), {})[what] = value
        self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": moments})
        if self.accelerator.scaler is not None and facts["scaler"]:
            self.accelerator.scaler.load_state_dict(facts["scaler"])
        _set_generators(self.accelerator.device, _under(GENERATOR, tensors))


def weights_of(**modules: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers by name; what several modules share appears once, under its first name."""
    tensors: dict[str, Tensor] = {}
    seen: set[tuple[Any, ...]] = set()
    for prefix, module in modules.items():
        for name, value in (*module.named_parameters(), *module.named_buffers()):
            place = (value.data_ptr(), tuple(value.shape))
            if value.numel() and place not in seen:
                seen.add(place)
                tensors[f"{prefix}.{name}"] = value.detach()
    return tensors


def put_weights(tensors: Mapping[str, Tensor], **modules: nn.Module) -> None:
    """The other way: into modules that were built as those were whose weights are given."""
    wanted = weights_of(**modules)
    prefixes = tuple(f"{prefix}." for prefix in modules)
    weights = {name: value for name, value in tensors.items() if name.startswith(prefixes)}
    odd = wanted.keys() ^ weights.keys() or {name for name in wanted if wanted[name].shape != weights[name].shape}
    if odd:
        raise ModelError(f"the checkpoint does not fit the recipe and the data of its run: {sorted(odd)[0]}")
    with torch.no_grad():
        for name, value in wanted.items():
            value.copy_(weights[name])


def _under(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _generators(device: torch.device) -> Iterator[tuple[str, Tensor]]:
    yield "cpu", torch.get_rng_state()
    if device.type != "cpu":
        yield device.type, torch.get_device_module(device).get_rng_state()


def _set_generators(device: torch.device, states: Mapping[str, Tensor]) -> None:
    torch.set_rng_state(states["cpu"])
    if device.type in states and device.type != "cpu":
        torch.get_device_module(device).set_rng_state(states[device.type])
