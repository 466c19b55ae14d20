"""The Accelerator of a run: device, precision, processes."""

from __future__ import annotations

import os

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import DistributedDataParallelKwargs

from phasefit.errors import PhasefitError
from phasefit.models.device import pick_device


def make_accelerator(
    device: str = "auto",
    precision: str = "auto",
    *,
    skips_parameters: bool = False,
    track: str | None = None,
    folder: str | None = None,
) -> Accelerator:
    """One Accelerator for all phases; under `accelerate launch` each process makes its own."""
    where = pick_device(device)
    if "RANK" not in os.environ:
        # Accelerate remembers the first device and precision of a process; a notebook may ask for others later.
        AcceleratorState._reset_state(reset_partial_state=True)
    return Accelerator(
        cpu=where.type == "cpu",
        mixed_precision=pick_precision(precision, where),
        log_with=track,
        project_dir=folder,
        kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=skips_parameters)],
    )


def pick_precision(name: str, device: torch.device) -> str:
    """`auto` is bfloat16 on a GPU that has it, full precision elsewhere."""
    if name not in ("auto", "no", "bf16", "fp16"):
        raise PhasefitError(f"--precision {name}: use auto, no, bf16 or fp16")
    if name in ("bf16", "fp16") and device.type == "cpu":
        # Slower than float32 on most CPUs, and on some that only claim to have it the process dies.
        raise PhasefitError(f"--precision {name} needs a GPU; a CPU trains in full precision: use auto or no")
    if name != "auto":
        return name
    return "bf16" if device.type == "cuda" and torch.cuda.is_bf16_supported() else "no"


def set_threads(count: int | None) -> int:
    """How many CPU threads torch uses; returns the number in force, for the record."""
    if count is not None:
        if count < 1:
            raise PhasefitError(f"--threads {count}: give at least 1")
        torch.set_num_threads(count)
        os.environ["OMP_NUM_THREADS"] = str(count)
    return torch.get_num_threads()
