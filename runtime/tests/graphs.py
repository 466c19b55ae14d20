"""Tiny exported folders, built by hand: the embedding of a text is the mean of its token embeddings."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer, models, pre_tokenizers, processors

WORDS = ["red", "blue", "green", "good", "bad", "cat", "dog", "one", "two", "three"]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
VOCABULARY = {word: number for number, word in enumerate([*SPECIAL, *WORDS])}
DIMENSION = 8
SINGLE = {"kind": "single", "classes": ["a", "b", "c"]}
KINDS: dict[str, dict[str, Any]] = {
    "single": SINGLE,
    "multi": {"kind": "multi", "classes": ["x", "y", 3]},
    "tree": {"kind": "tree", "classes": [["top", "left"], ["top", "right"], ["rest"]]},
    "number": {"kind": "score", "mean": 2.0, "spread": 3.0, "edges": [1.0], "levels": []},
    "level": {"kind": "score", "mean": 1.0, "spread": 1.0, "edges": [0.5, 1.5], "levels": ["low", "mid", "high"]},
}


def tokenizer() -> Tokenizer:
    backend = Tokenizer(models.WordLevel(VOCABULARY, unk_token="[UNK]"))
    backend.pre_tokenizer = pre_tokenizers.Whitespace()
    backend.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", pair="[CLS] $A [SEP] $B [SEP]", special_tokens=[("[CLS]", 2), ("[SEP]", 3)]
    )
    return backend


def weights(tasks: dict[str, dict[str, Any]]) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    made = {"table": random.normal(size=(len(VOCABULARY), DIMENSION)).astype(np.float32)}
    for number, task in enumerate(tasks.values()):
        width = DIMENSION * (2 if task.get("pair") else 1)
        made[f"w{number}"] = random.normal(size=(width, outputs_of(task["space"]))).astype(np.float32)
    return made


def outputs_of(space: dict[str, Any]) -> int:
    return 1 if space["kind"] == "score" else len(space["classes"])


def graph(tasks: dict[str, dict[str, Any]], *, windows: bool = False, types: bool = False) -> onnx.ModelProto:
    made = weights(tasks)
    constants = {
        **made,
        "flat": np.array([0, -1, DIMENSION]),
        "last": np.array([2]),
        "wide": np.array([-1, 2 * DIMENSION]),
    }
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["states"])]
    states, mask = "states", "attention_mask"
    if types:  # a used input: 0 changes nothing
        constants["zeros"] = np.zeros((2, DIMENSION), dtype=np.float32)
        nodes.append(helper.make_node("Gather", ["zeros", "token_type_ids"], ["typed"]))
        nodes.append(helper.make_node("Add", ["states", "typed"], ["with_types"]))
        states = "with_types"
    if windows:  # (texts * windows, length) -> (texts, windows * length)
        constants |= {"none": np.array([-1]), "size": np.array([DIMENSION]), "axis": np.array([0])}
        nodes += [
            helper.make_node("Shape", ["input_ids"], ["shape"]),
            helper.make_node("Unsqueeze", ["windows", "axis"], ["count"]),
            helper.make_node("Slice", ["shape", "one", "two", "axis"], ["length"]),
            helper.make_node("Mul", ["count", "length"], ["together"]),
            helper.make_node("Concat", ["none", "together", "size"], ["joined"], axis=0),
            helper.make_node("Concat", ["none", "together"], ["joined_mask"], axis=0),
            helper.make_node("Reshape", [states, "joined"], ["all_states"]),
            helper.make_node("Reshape", [mask, "joined_mask"], ["all_mask"]),
        ]
        constants |= {"one": np.array([1]), "two": np.array([2])}
        states, mask = "all_states", "all_mask"
    nodes += [
        helper.make_node("Cast", [mask], ["float"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["float", "last"], ["column"]),
        helper.make_node("Mul", [states, "column"], ["kept"]),
        helper.make_node("ReduceSum", ["kept", "middle"], ["sum"], keepdims=0),
        helper.make_node("ReduceSum", ["column", "middle"], ["many"], keepdims=0),
        helper.make_node("Div", ["sum", "many"], ["embedding"]),
    ]
    constants["middle"] = np.array([1])
    outputs = [helper.make_tensor_value_info("embedding", TensorProto.FLOAT, ["texts", DIMENSION])]
    for number, task in enumerate(tasks.values()):
        source = "embedding"
        if task.get("pair"):
            source = f"pairs{number}"
            nodes.append(helper.make_node("Reshape", ["embedding", "wide"], [source]))
        nodes.append(helper.make_node("MatMul", [source, f"w{number}"], [f"logits{number}"]))
        operator = {"multi": "Sigmoid", "score": "Identity"}.get(task["space"]["kind"], "Softmax")
        nodes.append(helper.make_node(operator, [f"logits{number}"], [f"outputs_{number}"]))
        size = outputs_of(task["space"])
        outputs.append(helper.make_tensor_value_info(f"outputs_{number}", TensorProto.FLOAT, [f"n{number}", size]))
    names = ["input_ids", "attention_mask", *(["token_type_ids"] if types else [])]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["rows", "length"]) for name in names]
    if windows:
        inputs.append(helper.make_tensor_value_info("windows", TensorProto.INT64, []))
    initial = [numpy_helper.from_array(value, name) for name, value in constants.items()]
    made_graph = helper.make_graph(nodes, "tiny", inputs, outputs, initial)
    return helper.make_model(made_graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def expected(tasks: dict[str, dict[str, Any]], name: str, sequences: list[list[list[int]]]) -> np.ndarray:
    """The outputs of a task, computed with numpy; each text is a list of its windows."""
    made, task, number = weights(tasks), tasks[name], list(tasks).index(name)
    vectors = np.stack(
        [made["table"][[token for window in text for token in window]].mean(axis=0) for text in sequences]
    )
    logits = vectors.reshape(-1, DIMENSION * (2 if task.get("pair") else 1)) @ made[f"w{number}"]
    kind = task["space"]["kind"]
    if kind == "score":
        return logits
    return 1 / (1 + np.exp(-logits)) if kind == "multi" else np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)


def task(kind: str = "single", pair: str | None = None, **decision: Any) -> dict[str, Any]:
    space = KINDS[kind]
    return {"kind": space["kind"], "pair": pair, "space": space, "decision": decision}


def write_folder(folder: Path, tasks: dict[str, dict[str, Any]], **tokens: Any) -> Path:
    """A complete exported folder."""
    folder.mkdir(parents=True, exist_ok=True)
    rules = {"max_length": 8, "long": "truncate", "most_windows": 16, "truncation_side": "right", "pad": 0}
    rules |= {"prompt": "", "inputs": ["input_ids", "attention_mask"], **tokens}
    model = graph(tasks, windows=rules["long"] == "windows", types="token_type_ids" in rules["inputs"])
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    (folder / "tokenizer.json").write_text(tokenizer().to_str(), encoding="utf-8")
    (folder / "README.md").write_text("# a card\n", encoding="utf-8")
    content = {"format": 1, "phasefit": "0.1.0", "model": "tiny", "run": "tiny", "engine": "onnx", "precision": "fp32"}
    content |= {"tokens": rules, "dimension": DIMENSION, "checks": {}}
    content["tasks"] = {name: {**task, "output": f"outputs_{at}"} for at, (name, task) in enumerate(tasks.items())}
    sign(folder, content)
    return folder


def sign(folder: Path, content: dict[str, Any]) -> None:
    """Write the manifest with the checksums of the other files."""
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name != "export.json")
    facts = {
        path.name: {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "size": path.stat().st_size}
        for path in files
    }
    (folder / "export.json").write_text(json.dumps(content | {"files": facts}), encoding="utf-8")


def manifest(folder: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((folder / "export.json").read_text(encoding="utf-8"))
    return content
