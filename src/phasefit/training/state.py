"""The state of a phase between two steps, as tensors and JSON values, for checkpoints.

Batches, noise, dropout and the learning rate are not part of it: they are functions of the seed and the step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from torch import Tensor, nn
from torch.distributed.tensor import DTensor

from phasefit.errors import ModelError
from phasefit.phases.contract import Phase
from phasefit.training.averaging import StepAverage, trained_weights
from phasefit.training.best import Best

OPTIMISER, BEST, SECOND, GENERATOR = "optimiser.", "best.", "second.", "generator."
BEFORE, START, AVERAGE = "before.", "start.", "average."
CONTRIBUTIONS = "contributions"


@dataclass
class PhaseState:
    """A phase in training. Its tensors exclude the weights, most of which the phase shares with the model."""

    phase: Phase
    optimiser: torch.optim.Optimizer
    best: Best
    accelerator: Accelerator
    step: int = 0
    seconds: float = 0.0  # training time up to `step`, including earlier processes of a resumed run
    stopped: bool = False  # patience has run out
    before: dict[str, Tensor] = field(default_factory=dict)  # the encoder before the phase, if it will be blended
    start: dict[str, Tensor] = field(default_factory=dict)  # the trained weights before the phase, for a soup
    average: StepAverage = field(default_factory=StepAverage)  # of the last steps, or of the trainings of a soup
    choices: dict[str, Any] = field(default_factory=dict)  # made at the end of the phase, for its record

    def tensors(self) -> dict[str, Tensor]:
        """Moments of the optimiser, best weights so far, and states of the default generators.

        With the best weights come those that they replaced, if both are to be compared in the end, the contributions of
        each validation row, the weights before the phase and their average, if they are needed.
        """
        tensors = {BEST + name: value for name, value in self.best.kept.weights.items()}
        tensors |= {SECOND + name: value for name, value in self.best.second.weights.items()}
        tensors |= {BEFORE + name: value for name, value in self.before.items()}
        tensors |= {START + name: value for name, value in self.start.items()}
        tensors |= {AVERAGE + name: value for name, value in self.average.weights.items()}
        if self.best.contributions is not None:
            tensors[CONTRIBUTIONS] = torch.from_numpy(np.asarray(self.best.contributions, dtype=np.float64))
        for number, moments in self.optimiser.state_dict()["state"].items():
            tensors |= {f"{OPTIMISER}{number}.{name}": whole(value) for name, value in moments.items()}
        # The loop seeds the generators before each micro-batch; they are saved for phases that use them elsewhere.
        tensors |= {GENERATOR + name: state for name, state in _generators(self.accelerator.device)}
        return tensors

    def facts(self) -> dict[str, Any]:
        """Everything else, as JSON values."""
        scaler = self.accelerator.scaler
        return {
            "step": self.step,
            "seconds": self.seconds,
            "stopped": self.stopped,
            "averaged": self.average.count,
            "best": self.best.facts(),
            "scaler": scaler.state_dict() if scaler is not None else None,
        }

    def load(self, tensors: Mapping[str, Tensor], facts: Mapping[str, Any]) -> None:
        """Restore the state from `tensors` and `facts`; `put_weights` restores the weights."""
        self.step, self.seconds, self.stopped = facts["step"], facts["seconds"], facts["stopped"]
        best, second = _with_prefix(BEST, tensors), _with_prefix(SECOND, tensors)
        self._check_best(BEST, best, facts["best"]["peak"] is not None)
        self._check_best(SECOND, second, facts["best"].get("second") is not None)
        self._load_averages(tensors, facts.get("averaged", 0))
        contributions = tensors.get(CONTRIBUTIONS)
        if contributions is not None and contributions.dim() != 1:
            raise _mismatch(CONTRIBUTIONS)
        self.best.load(facts["best"], best, second, contributions=contributions)
        moments: dict[int, dict[str, Tensor]] = {}
        for name, value in _with_prefix(OPTIMISER, tensors).items():
            number, _, what = name.partition(".")
            moments.setdefault(self._checked_moment(number, name, value), {})[what] = value
        self.optimiser.load_state_dict({**self.optimiser.state_dict(), "state": moments})
        if self.accelerator.scaler is not None and facts["scaler"]:
            self.accelerator.scaler.load_state_dict(facts["scaler"])
        _set_generators(self.accelerator.device, _with_prefix(GENERATOR, tensors))

    def _load_averages(self, tensors: Mapping[str, Tensor], count: int) -> None:
        """Restore the weights before the phase and the average of the last steps, or of finished trainings."""
        before, average = _with_prefix(BEFORE, tensors), _with_prefix(AVERAGE, tensors)
        start = _with_prefix(START, tensors)
        _check_shapes(BEFORE, before, self.before)
        _check_shapes(START, start, self.start)
        self._check_best(AVERAGE, average, count > 0)
        device = self.accelerator.device
        self.before, self.start, self.average.count = before, start, count
        self.average.weights = {name: value.to(device, copy=True) for name, value in average.items()}

    def _check_best(self, prefix: str, best: Mapping[str, Tensor], exists: bool) -> None:
        """Refuse best weights that are not those of this phase, or that are missing."""
        _check_shapes(prefix, best, trained_weights(self.phase) if exists else {})

    def _checked_moment(self, number: str, name: str, value: Tensor) -> int:
        """The number of the parameter that a moment of the optimiser belongs to."""
        parameters = [one for group in self.optimiser.param_groups for one in group["params"]]
        known = number.isascii() and number.isdecimal() and int(number) < len(parameters)
        if not known or (value.dim() and value.shape != parameters[int(number)].shape):
            raise _mismatch(f"{OPTIMISER}{name}")
        return int(number)


def whole(value: Tensor) -> Tensor:
    """All of a tensor that FSDP may have divided among the processes, which all of them must ask for."""
    return value.full_tensor() if isinstance(value, DTensor) else value


def _check_shapes(prefix: str, saved: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> None:
    shapes, expected = ({name: value.shape for name, value in each.items()} for each in (saved, wanted))
    if shapes != expected:
        different = {name for name in {*shapes, *expected} if shapes.get(name) != expected.get(name)}
        raise _mismatch(f"{prefix}{min(different)}")


def _mismatch(tensor: str) -> ModelError:
    return ModelError(f"the checkpoint does not match the recipe and data of its run (tensor {tensor}); train again")


def weights_of(**modules: nn.Module) -> dict[str, Tensor]:
    """Parameters and buffers by name; a shared tensor appears once, under its first name."""
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
    """Copy weights into modules with the same structure."""
    current = weights_of(**modules)
    prefixes = tuple(f"{prefix}." for prefix in modules)
    weights = {name: value for name, value in tensors.items() if name.startswith(prefixes)}
    mismatched = current.keys() ^ weights.keys() or {
        name for name in current if current[name].shape != weights[name].shape
    }
    if mismatched:
        raise _mismatch(sorted(mismatched)[0])
    with torch.no_grad():
        for name, value in current.items():
            value.copy_(weights[name])


def _with_prefix(prefix: str, tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}


def _generators(device: torch.device) -> Iterator[tuple[str, Tensor]]:
    yield "cpu", torch.get_rng_state()
    if device.type != "cpu":
        yield device.type, torch.get_device_module(device).get_rng_state()


def _set_generators(device: torch.device, states: Mapping[str, Tensor]) -> None:
    for name, state in states.items():
        now = torch.get_rng_state() if name == "cpu" else None
        if now is not None and (state.dtype != now.dtype or state.shape != now.shape):
            raise _mismatch(f"{GENERATOR}{name}")
    if "cpu" not in states:
        raise _mismatch(f"{GENERATOR}cpu")
    torch.set_rng_state(states["cpu"])
    if device.type in states and device.type != "cpu":
        torch.get_device_module(device).set_rng_state(states[device.type])
