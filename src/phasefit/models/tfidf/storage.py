"""Save and load a TF-IDF model: terms as JSON, numbers as safetensors. Imports no torch.

A folder may come from a stranger: everything is checked before it is used, and nothing in it can run code.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from phasefit.data.labels import spaces_from_json
from phasefit.errors import DataError, ModelError, RunError, UnverifiedModel
from phasefit.files.atomic import read_json, write_json
from phasefit.files.checked import Count, Document, checked, reason
from phasefit.files.integrity import check_small_files, has_checksums
from phasefit.files.tensors import read_shapes, write_arrays
from phasefit.kinds.decision import Decision
from phasefit.models.predictor import TASK
from phasefit.models.tfidf.features import TERM, feature_count
from phasefit.models.tfidf.model import KIND, LinearWeights, TfidfHead, TfidfModel

if TYPE_CHECKING:
    from phasefit.data.labels import LabelSpace

HEADS, LABELS, TERMS = "heads.safetensors", "labels.json", "terms.json"
IDF, WEIGHTS, BIAS = "idf", "weights", "bias"


class TfidfConfig(Document):
    """The head of a TF-IDF model in a manifest."""

    kind: Literal["tfidf"]
    dimension: Count
    classes: Count
    pair: Literal["uv_diff_prod"] | None = None


def is_tfidf(manifest: Mapping[str, Any]) -> bool:
    """Whether the manifest is that of a TF-IDF model."""
    heads = manifest.get("heads")
    each = heads.values() if isinstance(heads, Mapping) else ()
    return any(isinstance(head, Mapping) and head.get("kind") == KIND for head in each)


def no_encoder(source: str | Path) -> ModelError:
    """The error for a TF-IDF model where an encoder is needed."""
    return ModelError(f"'{source}' is a TF-IDF model (recipe 'tfidf') and has no encoder; use a run of another recipe")


def write_tfidf(model: TfidfModel, folder: Path) -> dict[str, Any]:
    """Write terms, weights and labels. Returns their part of the manifest, which the caller writes last."""
    from safetensors import SafetensorError

    head = model.head()
    arrays = {IDF: head.idf, WEIGHTS: head.linear.weights, BIAS: head.linear.bias}
    content = {name: np.ascontiguousarray(array, dtype=np.float32) for name, array in arrays.items()}
    try:
        write_arrays(folder / HEADS, content)
    except (OSError, SafetensorError) as error:
        raise RunError(f"the model cannot be written to {folder}: {error}") from error
    write_json(folder / TERMS, list(head.terms))
    write_json(folder / LABELS, {TASK: model.space.to_json()})
    return {
        "heads": {TASK: head.config()},
        "decisions": {task: decision.to_json() for task, decision in model.decisions.items()},
    }


def load_tfidf(folder: Path, manifest: Mapping[str, Any]) -> TfidfModel:
    """Load a saved TF-IDF model; ModelError if anything does not fit."""
    from safetensors import SafetensorError

    if not has_checksums(manifest):
        warnings.warn(
            f"the model in '{folder}' is unverified: an earlier version wrote it without checksums",
            UnverifiedModel,
            stacklevel=3,
        )
    check_small_files(folder, manifest)
    try:
        return _load(folder, manifest)
    except (KeyError, TypeError, ValueError, AttributeError, OSError, SafetensorError, DataError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"the model in '{folder}' is damaged ({reason(error)}); train or save it again") from error


def _load(folder: Path, manifest: Mapping[str, Any]) -> TfidfModel:
    if [*manifest["heads"]] != [TASK]:
        raise ValueError("a TF-IDF model has exactly one head")
    config: TfidfConfig = checked(TfidfConfig, manifest["heads"][TASK])
    spaces = spaces_from_json(read_json(folder / LABELS))
    if [*spaces] != [TASK]:
        raise ValueError("its labels are not those of its head")
    head = _head(folder, config, spaces[TASK])
    model = TfidfModel(head, spaces[TASK])
    model.decisions = {task: Decision.from_json(content) for task, content in dict(manifest["decisions"]).items()}
    for task, decision in model.decisions.items():
        decision.check_thresholds(model.spaces[task].outputs)
    return model


def _head(folder: Path, config: TfidfConfig, space: LabelSpace) -> TfidfHead:
    from safetensors.numpy import load_file

    terms = checked(list[str], read_json(folder / TERMS))
    odd = next((term for term in terms if not TERM.fullmatch(term)), None)
    if odd is not None:
        raise ValueError(f"{TERMS}: '{ascii(odd)[1:60]}' is not a word or two")
    if len({*terms}) != len(terms) or len(terms) != config.dimension:
        raise ValueError(f"{TERMS} does not have {config.dimension:,} different terms")
    if config.classes != space.outputs:
        raise ValueError(f"a head with {config.classes} outputs instead of {space.outputs}: the labels do not match it")
    features = feature_count(len(terms), pairs=config.pair is not None)
    expected = {IDF: (len(terms),), WEIGHTS: (features, config.classes), BIAS: (config.classes,)}
    if read_shapes(folder / HEADS) != expected:
        raise ValueError(f"{HEADS} does not match the head in phasefit.json")
    arrays = load_file(folder / HEADS)
    for name, array in arrays.items():
        if array.dtype != np.float32 or not np.isfinite(array).all():
            raise ValueError(f"{HEADS}: {name} has numbers that are not finite, or of another type")
    return TfidfHead(tuple(terms), arrays[IDF], LinearWeights(arrays[WEIGHTS], arrays[BIAS]), config.pair)
