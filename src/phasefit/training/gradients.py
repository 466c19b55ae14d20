"""The gradient of a step: the only place that calls backward.

A batch may be encoded as a whole, in chunks (for losses that compare more texts than memory holds), and spread over
processes: the gradient is that of one process with the whole batch.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from accelerate import Accelerator
from torch import nn

from phasefit.data.batches import Draw
from phasefit.errors import TrainingError
from phasefit.models.seeded import seeded
from phasefit.phases.contract import Batch, Encoded, Phase, StepOutput
from phasefit.seeds import derive, generator


def add_gradients(
    phase: Phase, module: nn.Module, accelerator: Accelerator, draws: list[Draw], seed: int, step: int
) -> tuple[float, dict[str, float]]:
    """Add up the gradients of one step's draws; the mean loss and figures of this process."""
    total, scalars = 0.0, {}
    rank, device = accelerator.process_index, accelerator.device
    for number, draw in enumerate(draws):
        own, share = _own_part(draw, rank, accelerator.num_processes, whole=phase.gathers)
        draw_seed, factor = derive(seed, phase.name, step, number, rank), share / len(draws)
        waits = accelerator.no_sync(module) if phase.chunk or number + 1 < len(draws) else torch.enable_grad()
        with waits:
            if phase.chunk:
                output = _in_chunks(phase, accelerator, own, draw_seed, phase.chunk, factor)
            else:
                with seeded(draw_seed, device):
                    output = module(Batch(own, generator(draw_seed, "noise"), device))
                    accelerator.backward(output.loss * factor)
        total += output.loss.item() / len(draws)
        scalars = {name: float(value) for name, value in output.scalars.items()}
    if phase.chunk:
        _average_gradients(phase, accelerator)
    if not math.isfinite(total):
        raise TrainingError(
            f"{phase.name}: the loss became {total} at step {step}; lower it with --set {phase.name}.lr="
            f"{phase.options.lr / 4:g}"
        )
    return total, scalars


def _in_chunks(phase: Phase, accelerator: Accelerator, draw: Draw, seed: int, size: int, factor: float) -> StepOutput:
    """The gradient of one big batch at the memory of a chunk: encode without gradient, take the loss by the vectors,
    then encode each chunk again, with the random state that it had, and pass the vectors' gradients on.
    """
    rows, device = len(next(iter(draw.values()))), accelerator.device

    def encode(start: int) -> Encoded:
        chunk_seed = derive(seed, "chunk", start)
        part = {key: values[start : start + size] for key, values in draw.items()}
        with seeded(chunk_seed, device), accelerator.autocast():
            return phase.encode(Batch(part, generator(chunk_seed, "noise"), device))

    with torch.no_grad():
        vectors = {start: encode(start) for start in range(0, rows, size)}
    for part in vectors.values():
        for value in part.values():
            value.requires_grad_(value.is_floating_point())
    with seeded(seed, device), accelerator.autocast():
        output = phase.loss(phase.join(list(vectors.values())), Batch(draw, generator(seed, "noise"), device))
    accelerator.backward(output.loss * factor)  # scales for half precision, which the vectors' gradients then are
    for start, part in vectors.items():
        again = encode(start)
        passed = [name for name, value in part.items() if value.grad is not None and again[name].requires_grad]
        torch.autograd.backward([again[name] for name in passed], [part[name].grad for name in passed])
    return output


def _average_gradients(phase: Phase, accelerator: Accelerator) -> None:
    """What DDP does by itself where a step is one pass forward and one back."""
    if accelerator.num_processes == 1:
        return
    for parameter in phase.parameters():
        if parameter.grad is not None:
            torch.distributed.all_reduce(parameter.grad)
            parameter.grad /= accelerator.num_processes


def _own_part(draw: Draw, rank: int, processes: int, *, whole: bool) -> tuple[Draw, float]:
    """This process's rows, and what its mean loss must count for so that the average over processes is the mean."""
    if processes == 1:
        return draw, 1.0
    own: Draw = {}
    for key, rows in draw.items():
        if len(rows) < processes:  # every process needs a row to take part
            rows = rows[np.arange(processes) % len(rows)]
        usable = len(rows) // processes * processes if whole else len(rows)
        own[key] = rows[rank * usable // processes : (rank + 1) * usable // processes]
    first = next(iter(draw))
    return own, 1.0 if whole else len(own[first]) * processes / max(len(draw[first]), processes)
