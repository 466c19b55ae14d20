"""Finished runs for the tests of pages, of every label kind, built without training."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from phasefit.kinds.decision import Decision
from phasefit.prepare.prepare import Prepared
from phasefit.recipes.needs import Needs
from phasefit.report.facts.run import RunFacts
from phasefit.runs.evaluation.score import mean_of_tasks, score_outputs
from phasefit.runs.fitting.snapshots import Snapshots
from specs import prepare, run_spec

TASK = "default"
KINDS = ("single", "multi", "tree", "score", "levels", "pairs", "encoder", "tasks")
NAMES = ("music", "weather", "food")


def made_run(kind: str = "single", texts: Sequence[str] = (), names: Sequence[str] = NAMES, rows: int = 60) -> RunFacts:
    """Return a run whose rows cycle through these texts and class names."""
    row_texts = [f"{texts[row % len(texts)] if texts else 'text'} {row}" for row in range(rows)]
    if kind == "tasks":
        return _of_tasks(row_texts, names)
    prepared = _prepared(kind, row_texts, names)
    predicts = kind != "encoder"
    outputs = _outputs(prepared) if predicts else {}
    metrics = {split: _scored(prepared, split, values) for split, values in outputs.items()}
    if prepared.space.kind == "multi":
        metrics["decision"] = Decision(thresholds=(0.5,) * len(prepared.space)).to_json()
    by_task = {split: {TASK: values} for split, values in outputs.items()}
    return _run(prepared, metrics, by_task, prepared.space.kind if predicts else "none")


def _of_tasks(texts: Sequence[str], names: Sequence[str]) -> RunFacts:
    tasks = {"topic": _prepared("single", texts, names), "<b>rating</b>": _prepared("score", texts, names)}
    own = {name: _outputs(task) for name, task in tasks.items()}
    metrics: dict[str, Any] = {}
    for split in ("validation", "test"):
        scores = {name: _scored(task, split, own[name][split]) for name, task in tasks.items()}
        metrics[split] = {"mean": mean_of_tasks(scores, {n: t.space.kind for n, t in tasks.items()}), "tasks": scores}
    first = tasks["topic"]
    whole = Prepared(
        "two tasks", first.space, first.train, None, None, None, "0", first.hygiene, ["a note"], tasks=tasks
    )
    outputs = {split: {name: own[name][split] for name in tasks} for split in ("validation", "test")}
    return _run(whole, metrics, outputs, "tasks", codes=False)


def _prepared(kind: str, texts: Sequence[str], names: Sequence[str]) -> Prepared:
    owner = [row % len(names) for row in range(len(texts))]
    labels: list[Any] = [names[code] for code in owner]
    data: dict[str, Any] = {"text": list(texts)}
    how: dict[str, Any] = {}
    if kind == "multi":
        labels = [frozenset({names[code], names[row % 2]}) for row, code in enumerate(owner)]
        how = {"kind": "multi"}
    elif kind == "tree":
        labels = [(f"{names[0]}-root", names[code]) for code in owner]
    elif kind == "score":
        labels, how = [code + row / 100 for row, code in enumerate(owner)], {"kind": "score"}
    elif kind == "levels":
        how = {"levels": tuple(names)}
    elif kind == "pairs":
        data, how = {"left": list(texts), "right": list(texts[::-1])}, {"text": ("left", "right"), "label": ("label",)}
    return prepare(run_spec(data={**data, "label": labels}, **how), None, Needs(labels_of_pairs=kind == "pairs"))


def _outputs(prepared: Prepared) -> dict[str, np.ndarray]:
    """Return mostly correct outputs; every fifth row has a confident wrong answer."""
    random = np.random.default_rng(0)
    outputs = {}
    for split in ("validation", "test"):
        table = getattr(prepared, split)
        values = prepared.values(table)
        if prepared.space.kind == "score":
            outputs[split] = (values + random.normal(scale=0.3, size=len(values)))[:, None].astype(np.float32)
            continue
        marked = values.astype(float) if values.ndim == 2 else np.eye(len(prepared.space))[values]
        marked[::5] = np.roll(marked[::5], 1, axis=1)
        weights = marked * 0.8 + random.uniform(0, 0.2, size=marked.shape)
        outputs[split] = (weights if values.ndim == 2 else weights / weights.sum(axis=1, keepdims=True)).astype(
            np.float32
        )
    return outputs


def _scored(prepared: Prepared, split: str, outputs: np.ndarray) -> dict[str, Any]:
    thresholds = (0.5,) * len(prepared.space) if prepared.space.kind == "multi" else ()
    return score_outputs(prepared.space, Decision(thresholds=thresholds), getattr(prepared, split), outputs)


def _run(prepared: Prepared, metrics: dict[str, Any], outputs: Any, kind: str, codes: bool = True) -> RunFacts:
    random = np.random.default_rng(0)
    rows = np.arange(min(len(prepared.train), 500))
    known = prepared.codes(prepared.train)[rows] if codes and kind != "none" else np.full(len(rows), -1)
    snapshots = Snapshots("train", rows, known)
    for stage in ("before training", "contrast", "finetune"):
        snapshots.vectors[stage] = random.normal(size=(len(rows), 8)).astype(np.float32)
    history: list[dict[str, Any]] = []
    for phase in ("contrast", "finetune"):
        history += [{"phase": phase, "step": step, "loss": 1 / step, "lr": 1e-4} for step in range(1, 31)]
        history.append({"phase": phase, "step": 30, "scores": {"probe": 0.9}, "watch": "probe", "improved": True})
    phases = [{"name": "contrast", "steps": 30, "seconds": 1.5, "best": {"probe": 0.9}, "watch": "probe"}]
    geometry = {stage: {"uniformity": -2.0, "silhouette": 0.5} for stage in snapshots.vectors}
    manifest = {"command": "phasefit train <data>", "threads": 2, "device": "cpu", "versions": {"torch": "2"}}
    return RunFacts(
        "a run",
        'recipe = "<x>"',
        prepared,
        {**metrics, "phases": phases, "geometry": geometry},
        history,
        manifest,
        kind,
        snapshots=snapshots,
        layouts={stage: random.normal(size=(len(rows), 2)) for stage in snapshots.vectors},
        outputs=outputs,
        pairs=kind not in ("none", "tasks") and bool(prepared.train.others),
    )
