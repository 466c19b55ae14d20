"""`--model hub:owner/name[@revision]`: the options of a run with the downloaded folder in place of the name."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from phasefit.hub.names import HubName, is_hub_name


def with_local_model(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with the model on this machine; its name with the commit is what records of the run show."""
    model = options.get("model")
    if not is_hub_name(model):
        return dict(options)
    source, pinned = _downloaded(str(model))
    return {**options, "model": str(source), "model_name": str(pinned) if isinstance(source, Path) else str(source)}


@lru_cache(maxsize=16)  # all runs of one study start from the same commit
def _downloaded(name: str) -> tuple[str | Path, HubName]:
    from phasefit.hub.download import local_model

    return local_model(name)
