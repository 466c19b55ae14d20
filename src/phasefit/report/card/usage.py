"""How a model is used, for its card: from the command line, from Python, and without phasefit."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from phasefit.kinds import kind_named
from phasefit.report.card.markdown import fence


def usage(name: str, kind: str = "single", pairs: bool = False, metrics: Mapping[str, Any] | None = None) -> str:
    """The ways into a model that predicts; paths are those of a terminal that stands beside the folder."""
    folder, text = json.dumps(name, ensure_ascii=False), '("a text", "another")' if pairs else '"a text"'
    tasks = next((list((metrics or {})[split]["tasks"]) for split in ("test", "validation")
                  if "tasks" in ((metrics or {}).get(split) or {})), [])  # fmt: skip
    task = f" --task {tasks[0]}" if tasks else ""
    has_classes = kind == "tasks" or kind_named(kind).has_classes
    made, called = ("TextClassifier", "classifier") if has_classes else ("TextRegressor", "regressor")
    lines = [f"from phasefit import {made}", "", f"{called} = {made}.load({folder})", f"{called}.predict([{text}])"]
    if has_classes:
        lines.append(f"classifier.predict_proba([{text}])  # columns in the order of classifier.classes_")
    if kind == "tasks":
        lines = [
            "import phasefit",
            "",
            f"model = phasefit.load({folder})",
            f"model.predict([{text}], task={json.dumps(tasks[0] if tasks else '')})",
        ]
    python = "\n".join(lines)
    return "\n\n".join(
        [
            fence(f"$ phasefit predict {shell(name)} texts.csv{task} -o predictions.csv", "console"),
            fence(python, "python"),
            "The embeddings alone, without phasefit:",
            fence(plain_encoder(name), "python"),
        ]
    )


def encoder_usage(name: str) -> str:
    """The ways into an encoder: vectors of a table, vectors without phasefit, and on to a classifier."""
    return "\n\n".join(
        [
            fence(f"$ phasefit embed {shell(name)} texts.csv -o vectors.npy", "console"),
            "Without phasefit:",
            fence(plain_encoder(name), "python"),
            "On to a classifier:",
            fence(f"$ phasefit train labelled.csv --model {shell(name)}", "console"),
        ]
    )


def plain_encoder(name: str) -> str:
    """How plain sentence-transformers loads it."""
    return "\n".join(
        [
            "from sentence_transformers import SentenceTransformer",
            "",
            f"encoder = SentenceTransformer({json.dumps(name + '/encoder', ensure_ascii=False)})",
            'encoder.encode(["a text"])',
        ]
    )


def shell(name: str) -> str:
    """A folder's name as a terminal takes it."""
    return name if re.fullmatch(r"[\w./-]+", name) else json.dumps(name, ensure_ascii=False)
