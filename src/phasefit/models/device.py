"""The device that a model is on."""

from __future__ import annotations

import torch

from phasefit.errors import PhasefitError


def pick_device(name: str) -> torch.device:
    """The device with this name; `auto` picks an accelerator if there is one. A missing device is an error."""
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
            raise PhasefitError(f"--device {name}: this machine has no such device; use --device cpu or auto")
        torch.accelerator.set_device_index(device.index or 0)
    return device
