"""Checks of a model folder before anything in it is loaded: no code, no pickles, no files elsewhere, plausible sizes.

Imports no torch: runs check the model that they start from early.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from phasefit.errors import ModelError
from phasefit.files.tensors import read_shapes
from phasefit.models.encoder.tokenizer_file import TOKENIZER, check_tokenizer

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
CONFIG, ADAPTER = "config.json", "adapter_config.json"
MODULES: dict[
    str, dict[str, tuple[str, ...]]
] = {  # of sentence-transformers, with the size of each layer by the names in its config.json
    "Transformer": {},
    "Pooling": {},
    "Normalize": {},
    "Dropout": {},
    "Dense": {"linear.weight": ("out_features", "in_features")},
    "LayerNorm": {"norm.weight": ("dimension",)},
    "WeightedLayerPooling": {},
}
MOST_MODULES = 16
OUTPUT, TOKENS = "last_hidden_state", "token_embeddings"  # of a Transformer, and of its module
LARGEST_JSON = 50_000_000  # bytes
PLAUSIBLE = 1_000_000  # numbers in a configuration up to this one cost nothing
COUNTS = re.compile("layer|block|depth|stage|group")  # in the names of what is built one by one
HEADS = re.compile(r"n(um)?_.*heads")
LOADING = {  # arguments that sentence-transformers takes from the folder; others could name files elsewhere
    "model_args": {"torch_dtype", "dtype", "attn_implementation", "add_pooling_layer", "trust_remote_code"},
    "tokenizer_args": {"padding_side", "truncation_side", "model_max_length", "use_fast", "trust_remote_code"},
    "config_args": {"trust_remote_code"},
}
LOADING |= {"model_kwargs": LOADING["model_args"], "processor_kwargs": LOADING["tokenizer_args"]}
LOADING |= {"config_kwargs": LOADING["config_args"]}


def check_folder(folder: Path) -> None:
    """Raise a ModelError if a folder is not a model, or if loading it would run code, read pickles or never end."""
    if not folder.is_dir():
        raise ModelError(f"model '{folder}' is a file; give the folder that contains it")
    _refuse_outside(folder)
    parts = _parts(folder)
    # sentence-transformers looks for model.safetensors in each part, then for a pickle.
    if any(_lacks_weights(kind, part) for kind, part in parts):
        raise ModelError(
            f"model '{folder}' has no safetensors weights; convert it first (phasefit does not read pickled weights)"
        )
    for kind, part in parts:
        if kind == "Transformer":
            _check_transformer(folder, part)
        elif sizes := MODULES[kind]:
            _check_layer(folder, part, sizes)
        elif (part / CONFIG).is_file():
            _json(folder, part / CONFIG)
    for tokenizer in {folder / TOKENIZER, *(part / TOKENIZER for _, part in parts)}:
        if tokenizer.is_file():
            check_tokenizer(tokenizer, str(folder))


def _parts(folder: Path) -> list[tuple[str, Path]]:
    """The modules of a model, each with its folder; a plain Transformer is the only one."""
    if not (folder / "modules.json").is_file():
        if (folder / CONFIG).is_file():
            return [("Transformer", folder)]
        raise ModelError(
            f"'{folder}' is not a model: it has neither modules.json nor config.json; give the folder of a model"
        )
    try:
        listed = json.loads(_text(folder / "modules.json"))
        modules = [(str(entry["type"]), str(entry["path"])) for entry in listed]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelError(f"model '{folder}': modules.json is damaged ({error}); save or download it again") from error
    if len(modules) > MOST_MODULES:
        _refuse(folder, f"modules.json lists {len(modules):,} modules, more than the {MOST_MODULES} that are plausible")
    for kind, path in modules:
        if not kind.startswith("sentence_transformers."):
            raise ModelError(
                f"model '{folder}' needs custom code ({kind}), and phasefit runs no code from model folders; "
                "use another model"
            )
        if kind.rpartition(".")[2] not in MODULES:
            raise ModelError(f"model '{folder}' contains a module that phasefit does not support ({kind}); use another")
        if not _is_inside(path):
            _refuse(folder, f"modules.json names the folder '{path}' outside of it")
    parts = [(kind.rpartition(".")[2], folder / path) for kind, path in modules]
    if {"Transformer", "Pooling"} - {kind for kind, _ in parts}:
        _refuse(folder, "modules.json lists no Transformer with Pooling, which every sentence encoder has")
    return parts


def _lacks_weights(kind: str, part: Path) -> bool:
    if (part / WEIGHTS).is_file():
        return False
    if kind == "Transformer":
        return not (part / INDEX).is_file()
    return bool(MODULES[kind]) or any(part.glob("*.bin"))


def _check_transformer(folder: Path, part: Path) -> None:
    """Compare the configuration of a Transformer with the sizes of its weights."""
    if (part / ADAPTER).is_file():
        _refuse(folder, f"it is an adapter of another model ({ADAPTER}); merge it into that model first")
    for path in part.glob("sentence_*_config.json"):
        content = _json(folder, path)
        for name, known in LOADING.items():
            given = content.get(name) or {}
            odd = sorted(set(given) - known) if isinstance(given, Mapping) else [name]
            if odd:
                _refuse(folder, f"{path.name} sets {name}.{odd[0]}, which phasefit does not support")
        modalities = content.get("modality_config") or {}
        given = modalities.values() if isinstance(modalities, Mapping) else [None]
        if not all(isinstance(one, Mapping) and one.get("method") == "forward" for one in given):
            _refuse(folder, f"{path.name} sets modality_config, and phasefit calls no other method than forward")
        if any(one.get("method_output_name", OUTPUT) != OUTPUT for one in given):
            _refuse(folder, f"{path.name} sets modality_config, and phasefit reads no other output than {OUTPUT}")
        if content.get("module_output_name", TOKENS) != TOKENS:
            _refuse(folder, f"{path.name} sets module_output_name, which phasefit does not support")
    config = _json(folder, part / CONFIG)
    if config.get("transformers_weights") is not None:
        _refuse(folder, f"{CONFIG} names a weights file (transformers_weights), which phasefit does not support")
    shapes = [shape for file in _weights(folder, part) for shape in _shapes(folder, file).values()]
    elements = sum(math.prod(shape) for shape in shapes)
    for name, number in _integers(config):
        if number < 1 and HEADS.fullmatch(name):
            _refuse(folder, f"{CONFIG} has {name} = {number}")
        counts = COUNTS.search(name) is not None
        if number > (len(shapes) if counts else max(elements, PLAUSIBLE)):
            held = f"{len(shapes):,} tensors" if counts else f"{elements:,} numbers"
            _refuse(folder, f"{CONFIG} has {name} = {number}, but its weights have only {held}")


def _weights(folder: Path, part: Path) -> list[Path]:
    """The files with the weights of a Transformer."""
    if (part / WEIGHTS).is_file():
        return [part / WEIGHTS]
    files = _json(folder, part / INDEX).get("weight_map")
    if not isinstance(files, Mapping) or not files:
        _refuse(folder, f"{INDEX} is damaged")
    names = sorted({str(name) for name in files.values()})
    for name in names:
        if "/" in name or not _is_inside(name):
            _refuse(folder, f"{INDEX} names the file '{name}' outside of it")
        if not name.endswith(".safetensors") or not (part / name).is_file():
            _refuse(folder, f"{INDEX} names '{name}', which is not a safetensors file in it")
    return [part / name for name in names]


def _check_layer(folder: Path, part: Path, sizes: Mapping[str, tuple[str, ...]]) -> None:
    """Compare the configuration of a layer with the shapes of its weights."""
    config, shapes = _json(folder, part / CONFIG), _shapes(folder, part / WEIGHTS)
    for tensor, names in sizes.items():
        expected = tuple(config.get(name) for name in names)
        if shapes.get(tensor) != expected:
            _refuse(folder, f"{part.name}/{CONFIG} does not fit the shape of '{tensor}' in its weights")


def _shapes(folder: Path, path: Path) -> dict[str, tuple[int, ...]]:
    try:
        return read_shapes(path)
    except (OSError, ValueError, RecursionError) as error:
        _refuse(folder, f"{path.name} is damaged ({error})")


def _integers(value: Any, name: str = "") -> Iterator[tuple[str, int]]:
    """Every integer in a configuration, with the name of its field; labels and their numbers are left out."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            if key not in ("id2label", "label2id"):
                yield from _integers(inner, str(key))
    elif isinstance(value, list):
        for inner in value:
            yield from _integers(inner, name)
    elif isinstance(value, int) and not isinstance(value, bool):
        yield name, value


def _json(folder: Path, path: Path) -> dict[str, Any]:
    try:
        content = json.loads(_text(path), parse_constant=_not_finite)
    except (OSError, ValueError, RecursionError) as error:
        _refuse(folder, f"{path.name} is damaged ({' '.join(str(error).split())[:80]})")
    if not isinstance(content, dict):
        _refuse(folder, f"{path.name} is damaged")
    return content


def _not_finite(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a finite number")


def _text(path: Path) -> str:
    if path.stat().st_size > LARGEST_JSON:
        raise ValueError(f"{path.name} has more than {LARGEST_JSON:,} bytes")
    return path.read_text(encoding="utf-8")


def _is_inside(path: str) -> bool:
    """Whether a path that a file of the folder names stays in the folder."""
    pure = Path(path)
    return not (pure.is_absolute() or ".." in pure.parts or "\\" in path or ":" in path or "\0" in path)


def _refuse_outside(folder: Path) -> None:
    """Refuse links to files elsewhere, and pipes and devices. The hub's cache links to its own folder `blobs`."""
    root = folder.resolve()
    allowed = [root, *([root.parent.parent / "blobs"] if root.parent.name == "snapshots" else [])]
    for path in folder.rglob("*"):
        name = path.relative_to(folder)
        if path.is_symlink() and not any(path.resolve().is_relative_to(place) for place in allowed):
            _refuse(folder, f"'{name}' is a link to a file outside of it")
        if not (path.is_file() or path.is_dir()):
            _refuse(folder, f"'{name}' is neither a file nor a folder")


def _refuse(folder: Path, problem: str) -> NoReturn:
    raise ModelError(f"model '{folder}' cannot be loaded: {problem}; save or download it again, or use another model")
