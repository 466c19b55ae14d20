"""The device that a model is on. Torch is imported only to look for an accelerator."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

from phasefit.errors import PhasefitError

if TYPE_CHECKING:
    import torch

ANYWHERE = ("auto", "cpu")  # devices that every machine has


def check_device(name: str) -> None:
    """Raise for a device that this machine does not have, without importing torch if its build settles that."""
    if name in ANYWHERE:
        return
    if name.partition(":")[0] == "cuda" and _is_cpu_build():
        raise _missing(name)
    pick_device(name)


def pick_device(name: str) -> torch.device:
    """The device with this name; `auto` picks an accelerator if there is one. A missing device is an error."""
    import torch

    if name == "auto":
        accelerator = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
        return accelerator or torch.device("cpu")
    try:
        device = torch.device(name)
    except RuntimeError as error:
        raise PhasefitError(f"--device {name}: unknown type of device; use auto, cpu, cuda, cuda:1 or mps") from error
    if device.type != "cpu":
        available = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else None
        count = torch.accelerator.device_count()
        if available is None or available.type != device.type or (device.index or 0) >= count:
            raise _missing(name)
        torch.accelerator.set_device_index(device.index or 0)
    return device


def _missing(name: str) -> PhasefitError:
    return PhasefitError(f"--device {name}: this machine has no such device; use --device cpu or auto")


def _is_cpu_build() -> bool:
    """Whether the installed torch was built without support for accelerators."""
    try:
        return version("torch").endswith("+cpu")
    except PackageNotFoundError:
        return False
