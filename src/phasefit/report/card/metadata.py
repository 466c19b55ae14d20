"""The front matter of a card, which the hub reads: task, base model, datasets, and the scores on test rows."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from phasefit.data.named.cards import named_datasets
from phasefit.hub.names import PREFIX, is_hub_name, parse_hub_name
from phasefit.metrics.registry import metric_at

# Names of tasks on the hub; the first is the main task.
CLASSIFIES, EMBEDS = ("text-classification",), ("sentence-similarity", "feature-extraction")
HUB_METRICS = {  # the metrics that the hub has a name for
    "accuracy": "accuracy",
    **dict.fromkeys(("macro_f1", "weighted_f1", "micro_f1"), "f1"),
    "macro_precision": "precision",
    "macro_recall": "recall",
    "roc_auc": "roc_auc",
    "pearson": "pearsonr",
    "spearman": "spearmanr",
    "mse": "mse",
    "mae": "mae",
    "r2": "r_squared",
}
TEST = "test"


def card_metadata(
    *,
    name: str,
    manifest: Mapping[str, Any],
    metrics: Mapping[str, Any],
    data: Mapping[str, Any],
    embeds: bool,
    encoder: bool,
) -> dict[str, Any]:
    """The front matter of a run; `embeds`: it has no head. Nothing is stated that is not known."""
    tasks = EMBEDS if embeds else CLASSIFIES
    content: dict[str, Any] = {
        "library_name": "phasefit",
        "pipeline_tag": tasks[0],
        "tags": ["phasefit", *(["sentence-transformers"] if encoder else []), *tasks],
    }
    if base := base_model(manifest):
        content["base_model"] = base
    if known := known_dataset(manifest, data):
        content["datasets"] = [known]
    if results := _results(metrics.get(TEST) or {}, tasks[0], data, known):
        content["model-index"] = [{"name": name, "results": results}]
    return content


def base_model(manifest: Mapping[str, Any]) -> str:
    """The hub id of the model that training started from; empty for a local folder."""
    start = manifest.get("went_on_from")
    if is_hub_name(start):
        return parse_hub_name(str(start)).repository
    model = str(manifest.get("model", ""))
    return model if not start and re.fullmatch(r"[\w-][\w.-]*/[\w.-]+", model) else ""


def known_dataset(manifest: Mapping[str, Any], data: Mapping[str, Any]) -> str:
    """The hub id of the training data; empty if it is not known to be on the hub."""
    request = manifest.get("request")
    source = request.get("data") if isinstance(request, Mapping) else None
    name = str(source or data.get("data") or "")
    if name.startswith(PREFIX):
        return name.removeprefix(PREFIX).partition(":")[0]
    card = next((one for one in named_datasets() if one.name == name), None)
    return (card.hub or "").partition(":")[0] if card is not None else ""


def _results(test: Mapping[str, Any], task: str, data: Mapping[str, Any], known: str) -> list[dict[str, Any]]:
    """One entry per task of the run, each with the scores on its test rows."""
    tables: Mapping[str, Any] = test.get("tasks") or {}
    parts = [(name, name, "") for name in tables] or [("", str(data.get("data") or "data"), known)]
    results = []
    for part, title, hub in parts:
        scores = tables[part] if part else test
        values = [
            {"type": kind, "value": scores[metric], "name": metric_at(metric).title}
            for metric, kind in HUB_METRICS.items()
            if _is_number(scores.get(metric))
        ]
        if values:
            dataset = {"name": title, "type": hub or _dataset_type(title), "split": TEST}
            results.append({"task": {"type": task}, "dataset": dataset, "metrics": values})
    return results


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _dataset_type(name: str) -> str:
    """A name in the form that the hub accepts."""
    return re.sub(r"[^\w.-]+", "-", name, flags=re.ASCII).strip("-.") or "data"


def with_answers(
    content: Mapping[str, Any],
    *,
    licence: str | None = None,
    languages: Sequence[str] = (),
    datasets: Sequence[str] = (),
    name: str | None = None,
) -> dict[str, Any]:
    """The front matter with what only a person knows; `name` is the new name of the model."""
    changed = {**content, "library_name": content.get("library_name") or "phasefit"}
    if licence:
        changed["license"] = licence
    if languages:
        changed["language"] = list(languages)
    if datasets:
        changed["datasets"] = list(datasets)
    if name and isinstance(changed.get("model-index"), list):
        changed["model-index"] = [{**one, "name": name} for one in changed["model-index"]]
    return changed
