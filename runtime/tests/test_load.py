"""A folder from a stranger: anything that is not exactly what was exported is refused in one sentence."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

import phasefit_runtime
from graphs import graph, manifest, sign, task, write_folder
from phasefit_runtime import ExportError, InputError, __main__
from phasefit_runtime.onnx_file import refuse_unusual_models


@pytest.fixture
def folder(tmp_path) -> Path:
    return write_folder(tmp_path / "exported", {"default": task()})


def refused(folder: Path, message: str) -> None:
    with pytest.raises(ExportError, match=message) as refusal:
        phasefit_runtime.load(folder, threads=1)
    assert "\n" not in str(refusal.value)


def test_the_loaded_folder_is_the_exported_one(folder: Path) -> None:
    (folder / "notes.txt").write_text("ignored")
    (folder / "README.md").write_text("# an edited card")
    model = phasefit_runtime.load(str(folder))
    assert model.predict(["cat"])[0] in model.labels()
    assert model.manifest.content["run"] == "tiny"


def test_a_missing_folder_and_a_folder_of_something_else(tmp_path) -> None:
    refused(tmp_path / "none", "there is no folder")
    refused(tmp_path, r"has no export\.json")


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json"])
def test_changed_missing_and_linked_files(folder: Path, name: str) -> None:
    path = folder / name
    content = path.read_bytes()
    path.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    refused(folder, f"{name}' has changed since it was exported")
    path.write_bytes(content + b" ")
    refused(folder, f"{name}' is larger than")
    path.write_bytes(content[:-1])
    refused(folder, f"{name}' has changed")
    path.unlink()
    refused(folder, f"{name}' is missing")
    elsewhere = folder.parent / "elsewhere"
    elsewhere.write_bytes(content)
    path.symlink_to(elsewhere)
    refused(folder, f"{name}' is a symbolic link")
    path.unlink()
    path.mkdir()
    refused(folder, f"{name}' (is not a regular file|cannot be read)")
    path.rmdir()
    os.mkfifo(path)
    refused(folder, f"{name}' is not a regular file")


def test_other_listed_files_are_checked_too(folder: Path) -> None:
    (folder / "texts.jsonl").write_text('{"text": "cat"}\n')
    sign(folder, manifest(folder))
    assert phasefit_runtime.load(folder).read_file("texts.jsonl") == b'{"text": "cat"}\n'
    (folder / "texts.jsonl").write_text('{"text": "dog"}\n')
    refused(folder, r"texts\.jsonl' has changed")
    (folder / "export.json").unlink()
    (folder / "export.json").symlink_to(folder / "texts.jsonl")
    refused(folder, r"export\.json' is a symbolic link")


DAMAGE: list[tuple[Any, str]] = [
    ({"format": 2}, "has format 2, and this version of phasefit-runtime reads up to 1; upgrade it"),
    ({"format": True}, "no valid format number"),
    ({"format": "1"}, "no valid format number"),
    ({"engine": "tensorrt"}, "engine must be onnx or openvino, not 'tensorrt'"),
    ({"engine": "openvino"}, r"files does not list 'model\.xml'"),
    ({"files": []}, "files is missing"),
    ({"files": {"../secret": {"sha256": "0" * 64, "size": 1}}}, "not a plain file name"),
    ({"files": {"model.onnx": {"sha256": "0" * 63, "size": 1}}}, "no valid sha256 and size"),
    ({"files": {"model.onnx": {"sha256": "0" * 64, "size": -1}}}, "no valid sha256 and size"),
    ({"dimension": 0}, "dimension must be a whole number"),
    ({"dimension": 9}, "returned an array of shape"),
    ({"tasks": {"a b": {}}}, "cannot be the name of a task"),
    ({"tasks": {"a": 1}}, "task 'a' is not a JSON object"),
    ({"tokens": {"max_length": 10**9}}, "max_length must be a whole number"),
    ({"tokens": {"max_length": 2}}, "no room for a text"),
    ({"tokens": {"long": "middle"}}, "long must be truncate or head-tail or windows"),
    ({"tokens": {"truncation_side": 1}}, "truncation_side must be"),
    ({"tokens": {"prompt": 1}}, "prompt is not a text"),
    ({"tokens": {"prompt": "query: \ud800"}}, "prompt is not a text"),
    ({"tokens": {"inputs": ["input_ids"]}}, "does not list input_ids and attention_mask"),
    ({"tokens": {"inputs": ["input_ids", "attention_mask", "image"]}}, "which this version does not know"),
    ({"tokens": {"inputs": ["input_ids", "attention_mask", "token_type_ids"]}}, "has the inputs attention_mask"),
    ({"tokens": {"long": "windows"}}, "has the inputs attention_mask"),
    ({"task": {"kind": "graph"}}, "unknown kind 'graph'"),
    ({"task": {"kind": "multi"}}, "no labels of kind 'multi'"),
    ({"task": {"pair": "both"}}, "unknown pair encoding 'both'"),
    ({"task": {"output": "outputs_9"}}, "has no output 'outputs_9'"),
    ({"task": {"output": 0}}, "names no output"),
    ({"task": {"space": {"kind": "single", "classes": []}}}, "has no classes"),
    ({"task": {"space": {"kind": "single", "classes": ["a", "a"]}}}, "the same class twice"),
    ({"task": {"space": {"kind": "single", "classes": ["a", None]}}}, "not a name or a number"),
    ({"task": {"space": {"kind": "single", "classes": ["a", "b\ud800"]}}}, "not a name or a number"),
    ({"task": {"decision": {"reject_below": 2}}}, "not between 0 and 1"),
    ({"task": {"decision": {"reject_below": float("nan")}}}, "not between 0 and 1"),
    ({"task": {"decision": {"reject_below": 10**400}}}, "not between 0 and 1"),
    ({"files": {"notes.bin": {"sha256": "0" * 64, "size": 1 << 40}}}, "must not be larger than"),
    ({"task": {"decision": {"thresholds": [0.5]}}}, "1 thresholds for 3 classes"),
    ({"task": {"decision": []}}, "no valid decision rule"),
]


@pytest.mark.parametrize(("change", "message"), DAMAGE)
def test_a_damaged_manifest(folder: Path, change: dict[str, Any], message: str) -> None:
    content = manifest(folder)
    for name, value in change.items():
        if name == "task":
            content["tasks"]["default"] |= value
        elif name == "tokens":
            content["tokens"] |= value
        elif name == "files" and isinstance(value, dict):
            content["files"] |= value
        else:
            content[name] = value
    (folder / "export.json").write_text(json.dumps(content))
    with pytest.raises(ExportError, match=message) as refusal:
        phasefit_runtime.load(folder, threads=1).embed(["cat"])
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000])
def test_a_manifest_that_is_not_json(folder: Path, content: bytes) -> None:
    (folder / "export.json").write_bytes(content)
    refused(folder, r"export\.json'")


def test_every_field_of_the_manifest_may_be_anything(folder: Path) -> None:
    original = manifest(folder)
    for value in (None, 0, -1, "x", [], {}, [[]], 1e300):
        for name in original:
            (folder / "export.json").write_text(json.dumps(original | {name: value}))
            _loads_or_is_refused(folder)
        for part in ("tokens", "tasks"):
            inner = original[part] if part == "tokens" else original[part]["default"]
            for name in inner:
                changed = inner | {name: value}
                content = original | {part: changed if part == "tokens" else {"default": changed}}
                (folder / "export.json").write_text(json.dumps(content))
                _loads_or_is_refused(folder)


def _loads_or_is_refused(folder: Path) -> None:
    try:
        phasefit_runtime.load(folder, threads=1).embed(["cat"])
    except ExportError:
        return


@pytest.mark.parametrize("place", ["initializer", "attribute", "subgraph"])
@pytest.mark.parametrize("location", ["weights.bin", "../secret", "/etc/passwd"])
def test_weights_in_other_files_are_refused(folder: Path, place: str, location: str) -> None:
    outside = TensorProto(name="outside", data_type=TensorProto.FLOAT, dims=[4], data_location=TensorProto.EXTERNAL)
    entry = outside.external_data.add()
    entry.key, entry.value = "location", location
    model = graph({"default": task()})
    if place == "initializer":
        model.graph.initializer.append(outside)
    elif place == "attribute":
        model.graph.node.append(onnx.helper.make_node("Constant", [], ["outside"], value=outside))
    else:
        inner = onnx.helper.make_graph([], "inner", [], [], [outside])
        model.graph.node.append(onnx.helper.make_node("If", ["x"], [], then_branch=inner, else_branch=inner))
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    (folder / "weights.bin").write_bytes(bytes(16))
    sign(folder, manifest(folder))
    refused(folder, "reads its weights from another file")


def test_weights_in_other_files_cannot_be_hidden_by_long_field_numbers(folder: Path) -> None:
    """The reader of ONNX Runtime drops the bits of a key above 32, so a longer one would be another field for it."""
    place = TensorProto(external_data=[{"key": "location", "value": "secret"}]).SerializeToString()
    assert place[0] == 13 << 3 | 2
    hidden = bytes([place[0] | 0x80, 0x80, 0x80, 0x80, 0x70]) + place[1:]
    outside = TensorProto(name="outside", data_type=TensorProto.FLOAT, dims=[4]).SerializeToString() + hidden
    in_graph = bytes([5 << 3 | 2, len(outside)]) + outside
    whole = graph({"default": task()}).SerializeToString() + bytes([7 << 3 | 2, len(in_graph)]) + in_graph
    (folder / "model.onnx").write_bytes(whole)
    sign(folder, manifest(folder))
    refused(folder, "not a valid ONNX file")


def test_only_the_format_that_was_checked_is_loaded(folder: Path) -> None:
    """ONNX Runtime has a format of its own, in which these bytes would be another model."""
    whole = (folder / "model.onnx").read_bytes()
    text = b"ORTM".ljust(16, b" ")
    named = b"\x12\x90\x80\x00" + text + whole  # the field producer_name; its length ends at the fourth byte
    assert named[4:8] == b"ORTM"
    (folder / "model.onnx").write_bytes(named)
    sign(folder, manifest(folder))
    assert phasefit_runtime.load(folder, threads=1).predict(["cat"]) == phasefit_runtime.load(
        write_folder(folder.parent / "same", {"default": task()}), threads=1
    ).predict(["cat"])


def test_loops_and_functions_are_refused(folder: Path) -> None:
    body = onnx.helper.make_graph([], "body", [], [])
    inner = onnx.helper.make_graph([onnx.helper.make_node("Scan", [], ["out"], body=body)], "inner", [], [])
    for extra in (
        onnx.helper.make_node("Loop", ["", "condition"], ["out"], body=body),
        onnx.helper.make_node("If", ["condition"], ["out"], then_branch=body, else_branch=inner),
        onnx.helper.make_function("local", "Twice", ["x"], ["y"], [], []),
    ):
        model = graph({"default": task()})
        (model.graph.node if isinstance(extra, onnx.NodeProto) else model.functions).append(extra)
        (folder / "model.onnx").write_bytes(model.SerializeToString())
        sign(folder, manifest(folder))
        refused(folder, "contains loops or functions")


def test_a_model_of_very_many_parts_is_refused(folder: Path, monkeypatch) -> None:
    monkeypatch.setattr("phasefit_runtime.onnx_file.MOST_FIELDS", 10_000)
    nodes = bytes([7 << 3 | 2, 3, 1 << 3 | 2, 1, 0]) * 10_000
    (folder / "model.onnx").write_bytes(nodes)
    sign(folder, manifest(folder))
    refused(folder, "has more than 10,000 parts")


def test_a_large_file_is_checked_in_pieces_and_a_stated_size_allocates_nothing(folder: Path) -> None:
    with (folder / "texts.npy").open("wb") as file:
        file.truncate(100 << 20)
    sign(folder, manifest(folder))
    tracemalloc.start()
    phasefit_runtime.load(folder, threads=1)
    content = manifest(folder)
    content["files"]["texts.npy"]["size"] = 15 << 30
    (folder / "export.json").write_text(json.dumps(content))
    (folder / "texts.npy").write_bytes(b"small")
    refused(folder, "has changed")
    largest = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert largest < 20 << 20


def test_models_that_are_no_models(folder: Path) -> None:
    whole = (folder / "model.onnx").read_bytes()
    for content in (b"", b"\x00", b"not a model", whole[: len(whole) // 2], b"\xff" * 64):
        (folder / "model.onnx").write_bytes(content)
        sign(folder, manifest(folder))
        refused(folder, "ONNX")
    refuse_unusual_models(whole)


def test_bytes_that_are_no_protobuf_never_hang_or_crash() -> None:
    random = np.random.default_rng(0)
    whole = graph({"default": task()}).SerializeToString()
    for _ in range(500):
        damaged = bytearray(whole)
        for place in random.integers(0, len(whole), 3):
            damaged[place] = int(random.integers(256))
        try:
            refuse_unusual_models(bytes(damaged))
        except ExportError:
            continue


def test_a_damaged_tokenizer(folder: Path) -> None:
    for content in ("", "{}", "[]", '{"version": "1.0", "model": {"type": "Other"}}'):
        (folder / "tokenizer.json").write_text(content)
        sign(folder, manifest(folder))
        refused(folder, "tokenizer.json cannot be read")


def test_the_number_of_threads(folder: Path) -> None:
    for threads in (0, -1, True):
        with pytest.raises(InputError, match="threads must be at least 1"):
            phasefit_runtime.load(folder, threads=threads)


def test_the_command_answers_texts(folder: Path, capsys) -> None:
    assert __main__.main([str(folder), "--say", "red cat", "--say", "dog"]) == 0
    rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    model = phasefit_runtime.load(folder)
    assert [row["label"] for row in rows] == model.predict(["red cat", "dog"])
    assert rows[0]["probabilities"] == dict(
        zip("abc", model.predict_proba(["red cat"])[0].round(6).tolist(), strict=True)
    )
    assert __main__.main([str(folder.parent), "--say", "x"]) == 2
    assert "has no export.json" in capsys.readouterr().err


def test_the_command_escapes_control_characters(folder: Path, capsys) -> None:
    content, odd = manifest(folder), ["\x9b31mred", "\u202eright", "a\u2028b"]
    content["tasks"]["default"]["space"]["classes"] = odd
    sign(folder, content)
    assert __main__.main([str(folder), "--say", "cat \x9b"]) == 0
    written = capsys.readouterr().out
    assert not set(written) & set("\x9b\u202e\u2028")
    answer = json.loads(written)
    assert list(answer["probabilities"]) == odd
    assert answer["text"] == "cat \x9b"


def test_the_command_reads_lines_and_imports_little(folder: Path) -> None:
    script = (
        "import sys, phasefit_runtime.__main__ as command\n"
        "code = command.main(sys.argv[1:])\n"
        "heavy = {'torch', 'transformers', 'pandas', 'onnx', 'openvino', 'huggingface_hub', 'phasefit'}\n"
        "assert not heavy & sys.modules.keys(), heavy & sys.modules.keys()\n"
        "raise SystemExit(code)"
    )
    lines = "red cat\r\nümläut\n\n".encode()
    done = subprocess.run([sys.executable, "-c", script, str(folder)], input=lines, capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["text"] for line in done.stdout.splitlines()] == ["red cat", "ümläut", ""]
    done = subprocess.run([sys.executable, "-c", script, str(folder)], input=b"\xff\n", capture_output=True, timeout=60)
    assert (done.returncode, done.stderr) == (
        2,
        b"error: standard input, line 1: invalid UTF-8; convert the text to UTF-8\n",
    )
