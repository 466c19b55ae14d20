"""The gradient of a step; the only module that calls backward.

A batch may be encoded at once or in chunks (if it does not fit in memory), and split over processes. The gradient is
the same as that of one process with the whole batch.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import torch
from accelerate import Accelerator
from accelerate.utils import DistributedType
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
    """Accumulate the gradients of one step; return the mean loss of all processes and the scalars of this one."""
    total, scalars = 0.0, {}
    rank, processes, device = accelerator.process_index, accelerator.num_processes, accelerator.device
    # DDP regroups its sums after the first step of a process. With three processes or more that changes the rounding,
    # and a resumed run would differ; on a CPU, where DDP has little to gain, sums are always grouped the same way.
    averages = bool(phase.chunk) or accelerator.distributed_type == DistributedType.MULTI_CPU
    for number, draw in enumerate(draws):
        # Noise must not depend on the number of processes; dropout does, because its masks have the shape of a part.
        noise, dropout = (derive(seed, phase.name, step, number, which) for which in (0, rank))
        batch = Batch.part(draw, generator(noise, "noise"), device, rank, processes)
        share = 1.0 if phase.gathers else batch.scale(batch.sizes[rank], sum(batch.sizes))
        factor = share / len(draws)
        context = accelerator.no_sync(module) if averages or number + 1 < len(draws) else torch.enable_grad()
        with context:
            if phase.chunk:
                output = _in_chunks(phase, accelerator, batch, (noise, dropout), phase.chunk, factor)
            else:
                with seeded(dropout, device):
                    output = module(batch)
                    accelerator.backward(output.loss * factor)
        total += output.loss.item() * share / len(draws)
        scalars = {name: float(value) for name, value in output.scalars.items()}
    if averages:
        _average_gradients(phase, accelerator)
    total = _mean_over_processes(total, accelerator)
    if not math.isfinite(total):
        raise TrainingError(
            f"{phase.name}: the loss became {total} at step {step}; try a lower learning rate: --set {phase.name}.lr="
            f"{phase.options.lr / 4:g}"
        )
    return total, scalars


def _in_chunks(
    phase: Phase, accelerator: Accelerator, batch: Batch, seeds: tuple[int, int], size: int, factor: float
) -> StepOutput:
    """Compute the gradient of a large batch with the memory of a chunk.

    Encode all chunks without gradient, compute the gradient of the loss with respect to the vectors, then encode each
    chunk again with the same random state and backpropagate the gradients of its vectors. Chunks are those of the whole
    batch, so that their noise is the same on any number of processes; a process encodes its rows of each.
    """
    own, device = batch.place, accelerator.device

    def encode(start: int) -> Encoded:
        noise, dropout = (derive(seed, "chunk", start) for seed in seeds)
        chunk = {key: values[start : start + size] for key, values in batch.whole.items()}
        first, last = max(own.start - start, 0), min(own.stop - start, size)
        part = {key: values[first:last] for key, values in chunk.items()}
        chunk_batch = replace(batch, draw=part, whole=chunk, begin=first, generator=generator(noise, "noise"))
        with seeded(dropout, device), accelerator.autocast():
            return phase.encode(chunk_batch)

    with torch.no_grad():
        vectors = {start: encode(start) for start in range(own.start // size * size, own.stop, size)}
    for part in vectors.values():
        for value in part.values():
            value.requires_grad_(value.is_floating_point())
    with seeded(seeds[1], device), accelerator.autocast():
        output = phase.loss(phase.join(list(vectors.values())), batch)
    accelerator.backward(output.loss * factor)  # the gradients of the vectors include the scale of half precision
    for start, part in vectors.items():
        again = encode(start)
        passed = [name for name, value in part.items() if value.grad is not None and again[name].requires_grad]
        torch.autograd.backward([again[name] for name in passed], [part[name].grad for name in passed])
    return output


def _mean_over_processes(value: float, accelerator: Accelerator) -> float:
    """The mean, which all processes know: they stop together if it is not finite."""
    if accelerator.num_processes == 1:
        return value
    mean = torch.tensor(value, device=accelerator.device)
    torch.distributed.all_reduce(mean)
    return mean.item() / int(accelerator.num_processes)


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
