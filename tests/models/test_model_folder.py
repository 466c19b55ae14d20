"""Model folders that are damaged or made to do harm: one sentence, before anything is built."""

from __future__ import annotations

import base64
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoConfig, AutoModelForMaskedLM

from phasefit.errors import ModelError
from phasefit.models.encoder.encoder import load_encoder
from phasefit.models.encoder.model_folder import check_folder
from phasefit.models.encoder.tokenizer_file import repeats_repetition
from phasefit.models.model import Model
from phasefit.models.storage import load_model
from phasefit.runs.results import save_model
from tiny import FAMILIES, fresh_model, make_data, make_phase, make_table, read_json, without_checksums

WEIGHTS = "model.safetensors"
QUERY = "encoder.layer.0.attention.self.query.weight"


@pytest.fixture
def base(tiny_folder: Path, tmp_path: Path) -> Path:
    """A copy of a base model."""
    return Path(shutil.copytree(tiny_folder, tmp_path / "base"))


@pytest.fixture(scope="module")
def saved(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    model = fresh_model(tiny_folder)
    model.encoder.append_dense("paper", seed=0)
    make_phase("finetune", model, make_data(model.encoder, *make_table(24)))
    folder = tmp_path_factory.mktemp("saved") / "model"
    save_model(model, folder)
    return folder


@pytest.fixture
def own(saved: Path, tmp_path: Path) -> Path:
    """A copy of a model that phasefit wrote, without checksums, which would find every change."""
    return without_checksums(Path(shutil.copytree(saved, tmp_path / "own")))


def change(path: Path, edit: Callable[[dict[str, Tensor]], object]) -> None:
    tensors = load_file(path)
    edit(tensors)
    save_file(tensors, path, metadata={"format": "pt"})


def edit_json(path: Path, **values: Any) -> None:
    path.write_text(json.dumps(read_json(path) | values))


def nan(name: str) -> Callable[[dict[str, Tensor]], object]:
    def put(tensors: dict[str, Tensor]) -> None:
        tensors[name].flatten()[0] = float("nan")

    return put


DAMAGE: dict[str, tuple[Callable[[dict[str, Tensor]], object], str]] = {
    "missing": (lambda tensors: tensors.pop(QUERY), f"lacks tensor '{QUERY}'"),
    "no pooler": (lambda tensors: tensors.pop("pooler.dense.bias"), r"lacks tensor 'pooler\.dense\.bias'"),
    "extra": (lambda tensors: tensors.update({"odd": torch.ones(2)}), "unknown tensor 'odd'"),
    "head": (lambda tensors: tensors.update({"cls.predictions.bias": torch.ones(2)}), "unknown tensor 'cls"),
    "misshaped": (lambda tensors: tensors.update({QUERY: torch.ones(32, 31)}), "cannot be loaded"),
    "nan": (nan(QUERY), "not finite"),
    "infinite": (lambda tensors: tensors[QUERY].fill_(-torch.inf), "not finite"),
}


@pytest.mark.filterwarnings("ignore::phasefit.errors.UnverifiedModel")
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_model_of_ours_has_exactly_its_own_weights(own: Path, damage: str) -> None:
    edit, message = DAMAGE[damage]
    change(own / "encoder" / WEIGHTS, edit)
    with pytest.raises(ModelError, match=message):
        load_model(own)


@pytest.mark.filterwarnings("ignore::phasefit.errors.UnverifiedModel")
@pytest.mark.parametrize("file", ["heads.safetensors", "encoder/2_Dense/model.safetensors"])
@pytest.mark.parametrize("damage", ["missing", "extra", "misshaped", "nan"])
def test_so_have_its_heads_and_layers(own: Path, file: str, damage: str) -> None:
    name = next(iter(load_file(own / file)))
    edits: dict[str, Callable[[dict[str, Tensor]], object]] = {
        "missing": lambda tensors: tensors.pop(name),
        "extra": lambda tensors: tensors.update(odd=torch.ones(2)),
        "misshaped": lambda tensors: tensors.update({name: torch.ones(3, 3, 3)}),
        "nan": nan(name),
    }
    change(own / file, edits[damage])
    with pytest.raises(ModelError, match=r"is damaged|cannot be loaded"):
        load_model(own)


@pytest.mark.parametrize("damage", ["missing", "extra", "misshaped", "nan"])
def test_a_base_model_is_refused_too(base: Path, damage: str) -> None:
    edit, message = DAMAGE[damage]
    change(base / WEIGHTS, edit)
    with pytest.raises(ModelError, match=message):
        load_encoder(str(base))


def test_a_base_model_may_lack_a_pooler(base: Path) -> None:
    change(base / WEIGHTS, lambda tensors: [tensors.pop(f"pooler.dense.{part}") for part in ("weight", "bias")])
    assert load_encoder(str(base)).dimension == load_file(base / WEIGHTS)["embeddings.LayerNorm.weight"].shape[0]


@pytest.mark.parametrize("family", [name for name in FAMILIES if name != "deberta-v3"])
def test_a_base_model_may_have_the_head_of_a_language_model(
    family: str, tiny_encoder: Callable[..., Path], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(tiny_encoder(family), tmp_path / "model"))
    AutoModelForMaskedLM.from_config(AutoConfig.from_pretrained(folder)).save_pretrained(folder)
    assert load_encoder(str(folder)).transformer.config.model_type == AutoConfig.from_pretrained(folder).model_type


# --- sizes ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("num_hidden_layers", 10_000_000),
        ("hidden_size", 10_000),
        ("intermediate_size", 10**12),
        ("vocab_size", 10**8),
        ("max_position_embeddings", 10**10),
        ("num_attention_heads", -1),
        ("num_attention_heads", 0),
    ],
)
def test_sizes_that_do_not_fit_the_weights(base: Path, name: str, value: int) -> None:
    edit_json(base / "config.json", **{name: value})
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_encoder(str(base))


@pytest.mark.filterwarnings("ignore::phasefit.errors.UnverifiedModel")
def test_sizes_of_layers_and_heads(own: Path) -> None:
    manifest = read_json(own / "phasefit.json")
    heads = {"default": manifest["heads"]["default"] | {"dimension": 200_000}}
    edit_json(own / "phasefit.json", heads=heads)
    with pytest.raises(
        ModelError, match="200000 inputs and 3 outputs instead of 32 and 3: the encoder or the labels do not match"
    ):
        load_model(own)
    edit_json(own / "encoder" / "2_Dense" / "config.json", out_features=200_000)
    with pytest.raises(ModelError, match=r"2_Dense/config\.json does not fit"):
        load_model(own)


@pytest.mark.parametrize("shape", [[10**9, 10**9], [-1], "x", None, [1.5]])
def test_shapes_that_do_not_fit_the_file(base: Path, shape: object) -> None:
    header = json.dumps({"a": {"dtype": "F32", "shape": shape, "data_offsets": [0, 4]}}).encode()
    (base / WEIGHTS).write_bytes(len(header).to_bytes(8, "little") + header + b"\0" * 4)
    with pytest.raises(ModelError, match=r"model\.safetensors is damaged"):
        check_folder(base)


def test_a_header_longer_than_the_file(base: Path) -> None:
    (base / WEIGHTS).write_bytes((2**63).to_bytes(8, "little") + b"{}")
    with pytest.raises(ModelError, match="its header is cut off"):
        check_folder(base)


# --- files that are never read ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("decoy", ["x.safetensors", "model-decoy.safetensors", "model.safetensors.index.json"])
def test_a_pickle_next_to_a_decoy_is_never_read(own: Path, decoy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def read(*_: object, **__: object) -> None:
        raise AssertionError("a pickle was read")

    monkeypatch.setattr(torch, "load", read)
    layer = own / "encoder" / "2_Dense"
    torch.save(load_file(layer / WEIGHTS), layer / "pytorch_model.bin")
    (layer / WEIGHTS).rename(layer / decoy)
    with pytest.raises(ModelError, match="does not read pickled weights"):
        load_encoder(str(own / "encoder"))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("../elsewhere.safetensors", r"names the file '\.\./elsewhere\.safetensors' outside of it"),
        ("/etc/passwd", "names the file '/etc/passwd' outside of it"),
        ("shards/a.safetensors", "outside of it"),
        ("weights.bin", r"'weights\.bin', which is not a safetensors file"),
        ("gone.safetensors", r"'gone\.safetensors', which is not"),
    ],
)
def test_a_weights_index_names_only_safetensors_of_its_folder(base: Path, name: str, message: str) -> None:
    shutil.copy(base / WEIGHTS, base.parent / "elsewhere.safetensors")
    (base / WEIGHTS).rename(base / "weights.bin")
    index = {"metadata": {}, "weight_map": {QUERY: name}}
    (base / "model.safetensors.index.json").write_text(json.dumps(index))
    with pytest.raises(ModelError, match=message):
        load_encoder(str(base))


def test_weights_in_several_files_are_read(base: Path) -> None:
    before = load_encoder(str(base)).state_dict()
    tensors = load_file(base / WEIGHTS)
    (base / WEIGHTS).unlink()
    names = {name: f"model-{number % 2}.safetensors" for number, name in enumerate(tensors)}
    for file in set(names.values()):
        save_file({name: tensors[name] for name in tensors if names[name] == file}, base / file, {"format": "pt"})
    index = {"metadata": {"total_size": 1}, "weight_map": names}
    (base / "model.safetensors.index.json").write_text(json.dumps(index))
    after = load_encoder(str(base)).state_dict()
    assert all(torch.equal(after[name], before[name]) for name in before)


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("sentence_bert_config.json", {"model_args": {"variant": "../x"}}, r"model_args\.variant"),
        ("sentence_bert_config.json", {"config_args": {"num_hidden_layers": 10**7}}, r"config_args\.num_hidden_layers"),
        ("config.json", {"transformers_weights": "../../x.safetensors"}, "transformers_weights"),
    ],
)
def test_settings_that_load_something_else(base: Path, file: str, content: dict[str, Any], message: str) -> None:
    edit_json(base / file, **content)
    with pytest.raises(ModelError, match=message):
        load_encoder(str(base))


def test_an_adapter_of_another_model(base: Path) -> None:
    (base / "adapter_config.json").write_text(json.dumps({"base_model_name_or_path": "/home/someone/model"}))
    with pytest.raises(ModelError, match="adapter of another model"):
        load_encoder(str(base))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({"path": "../base/1_Pooling"}, "outside of it"),
        ({"path": "/etc"}, "outside of it"),
        ({"type": "sentence_transformers.base.modules.router.Router"}, "does not support"),
        ({"type": "sentence_transformers.util.misc.import_from_string"}, "does not support"),
    ],
)
def test_modules_of_other_kinds_or_elsewhere(base: Path, entry: dict[str, str], message: str) -> None:
    modules = read_json(base / "modules.json")
    modules[1] |= entry
    (base / "modules.json").write_text(json.dumps(modules))
    with pytest.raises(ModelError, match=message):
        load_encoder(str(base))


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes on this system")
def test_a_pipe_does_not_block(base: Path) -> None:
    (base / "vocab.txt").unlink(missing_ok=True)
    os.mkfifo(base / "vocab.txt")
    with pytest.raises(ModelError, match="neither a file nor a folder"):
        load_encoder(str(base))


# --- tokenizers -------------------------------------------------------------------------------------------------------


def replace(pattern: dict[str, str], content: str) -> dict[str, Any]:
    return {"type": "Replace", "pattern": pattern, "content": content}


def characters(replacement: bytes) -> dict[str, Any]:
    table = (4).to_bytes(4, "little") + b"\0" * 4 + replacement + b"\0"
    return {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(table).decode()}


BOMB = {"type": "Sequence", "normalizers": [replace({"String": "a"}, "a" * 10) for _ in range(12)]}


@pytest.mark.parametrize(
    ("normalizer", "message"),
    [
        (replace({"Regex": "["}, ""), "wrong regular expression"),
        (replace({"Regex": "(a+)+$"}, ""), "can take forever"),
        (replace({"Regex": "x" * 6000}, ""), "more than 5,000 characters"),
        (replace({"String": ""}, "x"), "empty strings"),
        (replace({"Regex": "a*"}, "x" * 100), "times as long"),
        (BOMB, "1000000000000 times as long"),
        ({"type": "Sequence", "normalizers": [{"type": "NFC"}] * 300}, "more than 200 steps"),
        ({"type": "Prepend", "prepend": "x" * 10**6}, "adds a long text"),
        ({"type": "Precompiled", "precompiled_charsmap": "AAAA"}, "table of characters is damaged"),
        ({"type": "Precompiled", "precompiled_charsmap": "?"}, "table of characters is damaged"),
        (characters(b"x" * 300), "table of characters writes long texts"),
        ({"type": "Odd"}, "cannot be loaded"),
    ],
)
def test_a_normalizer_that_panics_or_never_ends(base: Path, normalizer: object, message: str) -> None:
    edit_json(base / "tokenizer.json", normalizer=normalizer)
    with pytest.raises(ModelError, match=message):
        load_encoder(str(base))


@pytest.mark.parametrize("content", ["[]", "3", '{"model": 3}', "[" * 100_000, "{}"])
def test_a_damaged_tokenizer(base: Path, content: str) -> None:
    (base / "tokenizer.json").write_text(content)
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_encoder(str(base))


def test_endless_words(base: Path) -> None:
    words = read_json(base / "tokenizer.json")["model"]
    edit_json(base / "tokenizer.json", model=words | {"max_input_chars_per_word": 10**9})
    with pytest.raises(ModelError, match="accepts words of 1000000000 characters"):
        load_encoder(str(base))


def test_a_panic_while_tokenising_is_one_sentence(base: Path, capfd: pytest.CaptureFixture[str]) -> None:
    split = {"type": "Split", "pattern": {"Regex": "(a|aa)*$"}, "behavior": "Isolated", "invert": False}
    edit_json(base / "tokenizer.json", pre_tokenizer=split)
    model = Model(load_encoder(str(base)))
    with pytest.raises(ModelError, match="the tokenizer of the model fails on a text"):
        model.embed(["a" * 60 + "!"])


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("(a+)+", True),
        ("((a*)b)*", True),
        ("(?:x{2,}y)+", True),
        ("(a{2,3})+", False),
        (r"\(a+\)+", False),
        ("[(a+)+]", False),
        (r"'s|'t| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+", False),
        (r"(?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|\s*[\r\n]+|\s+(?!\S)|\s+", False),
        (r"\d{1,3}(?=(?:\d{3})*\b)", False),
    ],
)
def test_nested_repetitions(pattern: str, expected: bool) -> None:
    assert repeats_repetition(pattern) is expected
