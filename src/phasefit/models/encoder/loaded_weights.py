"""Checks of the weights of a loaded encoder: all of them come from its files, none is left over, all are numbers.

transformers fills missing weights with random numbers and says so only in its log.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path
from threading import RLock
from typing import Any

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from phasefit.errors import ModelError

POOLER = re.compile(r"(^|\.)pooler\.")  # of BERT; sentence vectors do not use it
LANGUAGE_MODEL = re.compile(  # heads of pretraining in every family, and position numbers of old versions
    r"(cls|lm_head|mlm_head|predictions|(lm|mask|discriminator|generator)_predictions|generator_lm_head|sop_classifier|"
    r"vocab_(transform|layer_norm|projector)|head\.(dense|norm)|decoder)(\.|$)|(.+\.)?(pooler\..+|position_ids)$"
)
_LOCK = RLock()


@contextmanager
def loading_reports(folder: Path) -> Iterator[list[Mapping[str, Any]]]:
    """Collect the reports of transformers about missing and unexpected weights while a model is loaded.

    A model that would be larger than its files is refused before it is built: transformers would first fill all
    weights with random numbers.
    """
    size = sum(path.stat().st_size for path in folder.rglob("*.safetensors"))
    reports: list[Mapping[str, Any]] = []
    with _LOCK:  # it replaces a method for a moment
        original = PreTrainedModel.__dict__["from_pretrained"]

        def from_pretrained(cls: Any, *args: Any, **options: Any) -> Any:
            wanted = options.pop("output_loading_info", False)
            with torch.device("meta"):  # needs no memory
                planned = sum(weight.numel() for weight in cls(deepcopy(options["config"])).parameters())
            if planned > size:
                raise ValueError(f"its configuration needs {planned:,} weights, but its files have only {size:,} bytes")
            model, report = original.__func__(cls, *args, output_loading_info=True, **options)
            reports.append(report)
            return (model, report) if wanted else model

        setattr(PreTrainedModel, "from_pretrained", classmethod(from_pretrained))  # noqa: B010 - for mypy
        try:
            yield reports
        finally:
            setattr(PreTrainedModel, "from_pretrained", original)  # noqa: B010


def check_reports(reports: list[Mapping[str, Any]], name: str, *, complete: bool) -> None:
    """Raise a ModelError for missing or unexpected weights.

    A base model may lack a pooler and have heads of a language model; a `complete` model was written by phasefit and
    has exactly its own weights.
    """
    missing = sorted({str(key) for report in reports for key in report["missing_keys"]})
    extra = sorted({str(key) for report in reports for key in report["unexpected_keys"]})
    if not complete:
        missing = [key for key in missing if not POOLER.search(key)]
        extra = [key for key in extra if not LANGUAGE_MODEL.match(key)]
    shapes = sorted({str(key[0]) for report in reports for key in report["mismatched_keys"]})
    for keys, problem in ((missing, "lacks"), (shapes, "have a wrong shape for"), (extra, "have an unknown")):
        if keys:
            more = f" and {len(keys) - 1} more" if len(keys) > 1 else ""
            what = "its weights file lacks" if problem == "lacks" else f"its weights {problem}"
            raise _error(name, f"{what} tensor '{keys[0]}'{more}")
    if not reports:
        raise _error(name, "it has no Transformer")


def check_finite(tensors: Mapping[str, Tensor], name: str) -> None:
    """Raise a ModelError if a weight is infinite or not a number."""
    for key, tensor in tensors.items():
        if tensor.is_floating_point() and tensor.numel() and not _is_finite(tensor.detach()):
            raise _error(name, f"tensor '{key}' contains values that are not finite numbers")


def check_modules(modules: nn.Module, name: str) -> None:
    """Check the weights of every module."""
    check_finite(modules.state_dict(), name)


def _is_finite(tensor: Tensor) -> bool:
    low, high = torch.aminmax(tensor)  # NaN if any element is
    return bool(torch.isfinite(low) & torch.isfinite(high))


def _error(name: str, problem: str) -> ModelError:
    return ModelError(f"model '{name}' is damaged: {problem}; save or download it again, or use another model")
