"""The Accelerator of a run: device, precision and processes."""

from __future__ import annotations

import os

import torch
from accelerate import Accelerator
from accelerate.state import AcceleratorState
from accelerate.utils import DistributedDataParallelKwargs, DistributedType

from phasefit.errors import PhasefitError
from phasefit.models.device import pick_device
from phasefit.models.encoder.products import has_bfloat16_units


def make_accelerator(
    device: str = "auto",
    precision: str = "auto",
    *,
    skips_parameters: bool = False,
    track: str | None = None,
    folder: str | None = None,
) -> Accelerator:
    """Make the Accelerator for all phases; with `accelerate launch`, each process makes its own."""
    where = pick_device(device)
    if "RANK" not in os.environ:
        # Accelerate keeps the first device and precision of a process; a notebook may use others later.
        AcceleratorState._reset_state(reset_partial_state=True)
    accelerator = Accelerator(
        cpu=where.type == "cpu",
        mixed_precision=pick_precision(precision, where),
        log_with=track,
        project_dir=folder,
        kwargs_handlers=[DistributedDataParallelKwargs(find_unused_parameters=skips_parameters)],
    )
    asked = os.environ.get("ACCELERATE_USE_FSDP", "").lower() == "true"
    if asked and accelerator.distributed_type != DistributedType.FSDP:
        raise PhasefitError(
            "FSDP needs several GPUs: Accelerate ignores it elsewhere; remove it from the Accelerate configuration"
        )
    return accelerator


def pick_precision(name: str, device: torch.device) -> str:
    """The mixed precision of Accelerate. `auto`: bfloat16 on a GPU that supports it, otherwise full precision."""
    if name not in ("auto", "no", "bf16", "fp16"):
        raise PhasefitError(f"--precision {name}: use auto, no, bf16 or fp16")
    if device.type == "cpu":
        check_cpu_precision(name)
        return "no"  # `train_in_bfloat16` is faster than Accelerate's autocast
    if name != "auto":
        return name
    return "bf16" if device.type == "cuda" and torch.cuda.is_bf16_supported() else "no"


def check_cpu_precision(name: str) -> None:
    """Refuse what a CPU computes slower than full precision; some crash when they try."""
    if name == "fp16":
        raise PhasefitError("--precision fp16 needs a GPU; on a CPU, use auto or no (full precision)")
    if name == "bf16" and not has_bfloat16_units():
        raise PhasefitError(
            "--precision bf16 needs a GPU or a CPU with units for bfloat16 (AMX or AVX512-BF16), which this one has "
            "not; use auto or no (full precision)"
        )


def set_threads(count: int | None) -> int:
    """Set the number of CPU threads of torch; return the number in use."""
    if count is not None:
        if count < 1:
            raise PhasefitError(f"--threads {count}: must be at least 1")
        torch.set_num_threads(count)
        os.environ["OMP_NUM_THREADS"] = str(count)
    return torch.get_num_threads()
