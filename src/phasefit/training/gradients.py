"""The gradient of a step; the only module that calls backward.

A batch may be encoded at once or in chunks (if it does not fit in memory), and split over processes. The gradient is
the same as that of one process with the whole batch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import torch
from accelerate import Accelerator
from torch import nn

from phasefit.data.batches import Draw
from phasefit.errors import TrainingError
from phasefit.models.seeded import seeded
from phasefit.phases.contract import Batch, Encoded, Phase, StepOutput
from phasefit.seeds import derive, generator

EXCHANGED = 6_000_000  # numbers of about 25 MB, as in DDP


def add_gradients(
    phase: Phase, module: nn.Module, accelerator: Accelerator, draws: list[Draw], seed: int, step: int
) -> tuple[float, dict[str, float]]:
    """Accumulate the gradients of one step; return the mean loss and the scalars of this process."""
    total, scalars = 0.0, {}
    rank, device = accelerator.process_index, accelerator.device
    # DDP regroups its sums after the first step of a process. With three processes or more that changes the rounding,
    # and a resumed run would differ; on a CPU, where DDP has little to gain, sums are always grouped the same way.
    averages = bool(phase.chunk) or (accelerator.num_processes > 1 and device.type == "cpu")
    for number, draw in enumerate(draws):
        own, share = _own_part(draw, rank, accelerator.num_processes, whole=phase.gathers)
        draw_seed, factor = derive(seed, phase.name, step, number, rank), share / len(draws)
        context = accelerator.no_sync(module) if averages or number + 1 < len(draws) else torch.enable_grad()
        with context:
            if phase.chunk:
                output = _in_chunks(phase, accelerator, own, draw_seed, phase.chunk, factor)
            else:
                with seeded(draw_seed, device):
                    output = module(Batch(own, generator(draw_seed, "noise"), device))
                    accelerator.backward(output.loss * factor)
        total += output.loss.item() / len(draws)
        scalars = {name: float(value) for name, value in output.scalars.items()}
    if averages:
        _average_gradients(phase, accelerator)
    if not math.isfinite(total):
        raise TrainingError(
            f"{phase.name}: the loss became {total} at step {step}; try a lower learning rate: --set {phase.name}.lr="
            f"{phase.options.lr / 4:g}"
        )
    return total, scalars


def _in_chunks(phase: Phase, accelerator: Accelerator, draw: Draw, seed: int, size: int, factor: float) -> StepOutput:
    """Compute the gradient of a large batch with the memory of a chunk.

    Encode all chunks without gradient, compute the gradient of the loss with respect to the vectors, then encode each
    chunk again with the same random state and backpropagate the gradients of its vectors.
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
    accelerator.backward(output.loss * factor)  # the gradients of the vectors include the scale of half precision
    for start, part in vectors.items():
        again = encode(start)
        passed = [name for name, value in part.items() if value.grad is not None and again[name].requires_grad]
        torch.autograd.backward([again[name] for name in passed], [part[name].grad for name in passed])
    return output


def _average_gradients(phase: Phase, accelerator: Accelerator) -> None:
    """Average gradients over processes, as DDP does for a step with one forward and backward pass."""
    if accelerator.num_processes == 1:
        return
    trained = [parameter for parameter in phase.parameters() if parameter.requires_grad]
    used = torch.tensor([parameter.grad is not None for parameter in trained], dtype=torch.uint8)
    used = used.to(accelerator.device)
    torch.distributed.all_reduce(used, torch.distributed.ReduceOp.MAX)
    gradients: list[torch.Tensor] = []
    for parameter, anywhere in zip(trained, used.tolist(), strict=True):
        if anywhere:  # a parameter that only other processes used has a gradient of zero here
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            gradients.append(parameter.grad)
    for group in _groups(gradients):
        flat = torch.cat([gradient.reshape(-1) for gradient in group])
        torch.distributed.all_reduce(flat)
        flat /= accelerator.num_processes
        parts = flat.split([gradient.numel() for gradient in group])
        for gradient, part in zip(group, parts, strict=True):
            gradient.copy_(part.view_as(gradient))


def _groups(tensors: list[torch.Tensor]) -> Iterator[list[torch.Tensor]]:
    """Consecutive tensors of one type that are exchanged together."""
    group: list[torch.Tensor] = []
    for tensor in tensors:
        if group and (tensor.dtype != group[0].dtype or sum(each.numel() for each in group) >= EXCHANGED):
            yield group
            group = []
        group.append(tensor)
    if group:
        yield group


def _own_part(draw: Draw, rank: int, processes: int, *, whole: bool) -> tuple[Draw, float]:
    """The rows of this process, and the weight of its loss, so that the mean over processes is the mean over rows."""
    if processes == 1:
        return draw, 1.0
    own: Draw = {}
    for key, rows in draw.items():
        if len(rows) < processes:  # every process needs at least one row
            rows = rows[np.arange(processes) % len(rows)]
        usable = len(rows) // processes * processes if whole else len(rows)
        own[key] = rows[rank * usable // processes : (rank + 1) * usable // processes]
    first = next(iter(draw))
    return own, 1.0 if whole else len(own[first]) * processes / max(len(draw[first]), processes)
