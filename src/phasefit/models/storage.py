"""Saving and loading a Model."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import nn

from phasefit.data.labels import spaces_from_json
from phasefit.errors import DataError, ModelError, RunError, UnverifiedModel
from phasefit.files import system
from phasefit.files.atomic import new_folder, read_json, write_json
from phasefit.files.integrity import check_files, check_small_files, has_checksums
from phasefit.files.manifest import MANIFEST, read_manifest
from phasefit.files.tensors import read_shapes, write_tensors
from phasefit.kinds.decision import Decision
from phasefit.models.device import pick_device
from phasefit.models.encoder.encoder import load_encoder
from phasefit.models.encoder.loaded_weights import check_modules
from phasefit.models.encoder.long_texts import WAYS
from phasefit.models.heads import Head
from phasefit.models.model import Model
from phasefit.models.tfidf.storage import is_tfidf, no_encoder

AGAIN = "train or save it again"
ENCODER, HEADS, LABELS = "encoder", "heads.safetensors", "labels.json"


def write_model(model: Model, folder: Path) -> dict[str, Any]:
    """Write encoder, heads and labels. Returns their part of the manifest, which the caller writes last."""
    try:
        with new_folder(folder / ENCODER) as temporary:
            system.write(temporary, model.encoder.save)
        write_tensors(folder / HEADS, model.heads.state_dict())
    except (OSError, SafetensorError) as error:
        raise RunError(f"the model cannot be written to {folder}: {error}") from error
    write_json(folder / LABELS, {task: space.to_json() for task, space in model.spaces.items()})
    return {
        "long": model.encoder.long,
        "heads": {task: model.head(task).config() for task in model.heads},
        "decisions": {task: decision.to_json() for task, decision in model.decisions.items()},
    }


def load_model(source: str | Path, device: str = "auto", manifest: Mapping[str, Any] | None = None) -> Model:
    """Load a saved model or finished run; a plain encoder (folder or hub id) has no heads and can only embed.

    `manifest` is that of the folder, if it has already been read.
    """
    folder = Path(source).expanduser()
    where = pick_device(device)
    if manifest is None and not (folder / MANIFEST).is_file():
        return Model(load_encoder(str(source))).to(where).eval()
    manifest = read_manifest(folder) if manifest is None else manifest
    if is_tfidf(manifest):
        raise no_encoder(source)
    needed = f"{ENCODER}/modules.json"
    if not (folder / needed).is_file():  # without it, a bare Transformer with default pooling would be loaded
        raise ModelError(f"the model in '{folder}' is damaged: {needed} is missing; train or save it again")
    if not has_checksums(manifest):
        warnings.warn(
            f"the model in '{folder}' is unverified: an earlier version wrote it without checksums",
            UnverifiedModel,
            stacklevel=3,
        )
    check_small_files(folder, manifest)
    check_files(folder, manifest, ENCODER)
    encoder = load_encoder(str(folder / ENCODER), complete=True)
    encoder.name = str(manifest.get("model", encoder.name))
    way = manifest.get("long", "truncate")
    if way not in WAYS:
        raise ModelError(f"the model in '{folder}' is damaged: long = '{way}' is unknown; train or save it again")
    encoder.set_long(way)
    model = Model(encoder)
    _add_heads(model, folder, manifest)
    return model.to(where).eval()


def _add_heads(model: Model, folder: Path, manifest: Mapping[str, Any]) -> None:
    try:
        model.spaces = spaces_from_json(read_json(folder / LABELS))
        configs = dict(manifest["heads"])
        outputs = {task: model.spaces[task].outputs if task in model.spaces else 0 for task in configs}
        dimension = model.encoder.dimension
        with torch.device("meta"):  # no memory is needed to compare the sizes
            heads = {task: Head.from_config(config, dimension, outputs[task]) for task, config in configs.items()}
            planned = nn.ModuleDict(heads).state_dict()
        shapes = {name: tuple(tensor.shape) for name, tensor in planned.items()}
        if shapes != read_shapes(folder / HEADS):
            raise ValueError(f"{HEADS} does not match the heads in {MANIFEST}")
        for task, config in configs.items():
            model.heads[task] = Head.from_config(config, dimension, outputs[task])
        model.heads.load_state_dict(load_file(folder / HEADS))
        check_modules(model.heads, str(folder))
        decisions = dict(manifest["decisions"])
        model.decisions = {task: Decision.from_json(content) for task, content in decisions.items()}
        for task, decision in model.decisions.items():
            decision.check_thresholds(model.spaces[task].outputs)
    except (
        KeyError,
        TypeError,
        ValueError,
        AttributeError,
        RuntimeError,
        OSError,
        SafetensorError,
        DataError,
    ) as error:
        if isinstance(error, ModelError):
            raise
        reason = " ".join(str(error).split())[:160]
        raise ModelError(f"the model in '{folder}' is damaged ({reason}); train or save it again") from error
    if model.spaces.keys() != set(model.heads):
        raise ModelError(f"the model in '{folder}' is damaged: its labels are not those of its heads; {AGAIN}")
