"""Store: run folders and the models in them. Safetensors, JSON and TOML only; reading runs no code.

A run folder is a model folder: `phasefit.json` (the manifest), `encoder/`, `heads.safetensors`, `labels.json`,
`recipe.toml`, `metrics.json`, `history.json`, `data.json`, pictures and a card; until its run is finished it also has
`checkpoints/`. `folder` begins and ends runs and imports no torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from phasefit.store.models import load_model, save_model

__all__ = ["load_model", "save_model"]


def __getattr__(name: str) -> Any:
    """Models need torch: they are imported when first asked for, so that a run can begin without it."""
    if name in __all__:
        from phasefit.store import models

        return getattr(models, name)
    raise AttributeError(name)
