"""The model card: a run's README.md, which the hub shows as the model's page."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from phasefit.kinds import kind_named
from phasefit.metrics.geometry import geometry_rows, has_classes
from phasefit.metrics.registry import INTERVAL, titles
from phasefit.report.card.data import data_paragraphs
from phasefit.report.card.markdown import escape, facts, fence, join, number, section, table
from phasefit.report.card.usage import encoder_usage, usage
from phasefit.report.facts.classes import class_scores
from phasefit.report.facts.run import RunFacts
from phasefit.report.limits import MOST_LISTED
from phasefit.report.pictures import OF_RUNS, OF_SCORES

TASKS = {True: ("text-classification",), False: ("sentence-similarity", "feature-extraction")}  # what the hub calls it
ENCODER = "A sentence encoder, trained in phases with phasefit: it turns texts into vectors and has no classifier."
PICTURES = {picture.file: picture for picture in (*OF_SCORES, *OF_RUNS)}


def run_card(run: RunFacts, pictures: Iterable[str], page: str) -> str:
    """The card of a finished run; `page` is the report beside it."""
    return model_card(
        name=run.name,
        recipe_toml=run.recipe,
        manifest=run.manifest,
        metrics=run.metrics,
        classes=() if run.kind == "none" else run.prepared.space.names,
        kind=run.kind,
        pairs=run.pairs,
        data=run.prepared.facts(),
        pictures=pictures,
        about_data=data_paragraphs(run.prepared.hygiene, run.cut),
        page=page,
    )


def model_card(
    *,
    name: str,
    recipe_toml: str,
    manifest: Mapping[str, Any],
    metrics: Mapping[str, Any],
    classes: Sequence[str],
    data: Mapping[str, Any],
    pictures: Iterable[str] = tuple(PICTURES),
    about_data: Iterable[str] = (),
    kind: str = "",
    pairs: bool = False,
    page: str = "",
) -> str:
    """The card as Markdown, from the plain data of `phasefit.json` and `metrics.json`; what they lack is left out.

    `classes` are those that the model tells apart; one that tells none, and has no scores, is an encoder. `kind` is
    that of the labels, `pairs` whether they are labels of pairs of texts. `page` is the report beside the card.
    """
    kind = kind or ("single" if classes else "none")
    splits = [split for split in ("validation", "test") if metrics.get(split)]
    scored = splits[-1] if splits else ""
    predicts = kind != "none"
    parts = [
        front_matter(manifest, TASKS[predicts]),
        f"# {escape(name)}",
        headline(kind, len(classes), pairs, metrics),
        f"All of it on one page, with the texts: [{page}]({page}), to be opened in a browser." if page else "",
        section("Results", *task_results(metrics, splits), "In brackets: the 95 % interval." if splits else ""),
        section("", *(picture(file, metrics.get("geometry", {})) for file in pictures)),
        section("Geometry", geometry_table(metrics.get("geometry", {}))),
        section(f"Classes ({scored})", class_table(metrics[scored].get("per_class", {})) if scored else ""),
        section("How to use it", usage(name, kind, pairs, metrics) if predicts else encoder_usage(name)),
        section("Training", phase_table(metrics.get("phases", []))),
        section("", "The recipe as it was run:", fence(recipe_toml, "toml")),
        section("Data", facts(data), *about_data),
        section("Environment", facts({key: value for key, value in manifest.items() if key != "command"})),
        section("Repeat it", fence(f"$ {manifest['command']}", "console") if manifest.get("command") else ""),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def front_matter(manifest: Mapping[str, Any], tasks: Sequence[str]) -> str:
    """What the hub reads; strings are quoted as JSON, which YAML understands. The first task is the main one."""
    lines = ["---", "library_name: phasefit", f"pipeline_tag: {tasks[0]}", "tags:"]
    lines += [f"- {tag}" for tag in ("phasefit", "sentence-transformers", *tasks)]
    model = str(manifest.get("model", ""))
    if re.fullmatch(r"[\w-][\w.-]*/[\w.-]+", model):  # a hub id; a folder means nothing to others
        lines.append(f"base_model: {json.dumps(model)}")
    return "\n".join([*lines, "---"])


def picture(file: str, geometry: Mapping[str, Mapping[str, Any]]) -> str:
    """A picture of the run's folder, what it shows and where it is as SVG."""
    shown = PICTURES[file]
    reading = shown.reading or geometry_reading(geometry)
    return f"![{shown.title}]({file})\n\n{reading} ([SVG]({file.removesuffix('.png')}.svg))"


def geometry_reading(stages: Mapping[str, Mapping[str, Any]]) -> str:
    """Which way the figures that were measured should go."""
    known = {name for figures in stages.values() for name, value in figures.items() if value is not None}
    if not has_classes(stages.values()):
        pairs = "bring the two texts of a pair together (alignment falls) and " if "alignment" in known else ""
        return f"Training should {pairs}spread texts over the whole space (uniformity and anisotropy fall)."
    if "within" not in known:
        return "No class has two of these texts; those of different classes should come apart (their cosine falls)."
    signs = "alignment falls, silhouette rises" if "silhouette" in known else "alignment falls"
    return (
        f"Training should bring texts of one class together ({signs}) without all texts coming to point one way "
        "(anisotropy near 1). Uniformity may rise in a classifier, whose texts gather in as many places as classes."
    )


def results(metrics: Mapping[str, Any], splits: Sequence[str]) -> str:
    """The headline scores, a column a split, the accuracy with its interval."""
    rows = []
    names = titles()
    for key, title in names.items():
        if any(metrics[split].get(key) is not None for split in splits):
            rows.append([title, *(score(metrics[split], key) for split in splits)])
    depth = max((len(metrics[split].get("levels", [])) for split in splits), default=0)
    for level in range(depth):
        cells = [metrics[split].get("levels", [])[level : level + 1] for split in splits]
        for key in dict.fromkeys(key for cell in cells for scores in cell for key in scores):
            values = (number(cell[0].get(key)) if cell else "" for cell in cells)
            rows.append([f"{names[key]} at level {level + 1}", *values])
    return table(["", *splits], rows)


def score(split: Mapping[str, Any], key: str) -> str:
    """One cell of the headline table."""
    interval = split.get(key + INTERVAL)
    span = f" ({interval[0]:.4f} to {interval[1]:.4f})" if interval else ""
    return number(split.get(key)) + span


def class_table(per_class: Mapping[str, Mapping[str, Any]]) -> str:
    """Each class's scores, unless there are too many to read."""
    if len(per_class) > MOST_LISTED:
        return f"{len(per_class)} classes; `metrics.json` has the scores of each."
    rows = [
        [one.name, *map(number, (one.precision, one.recall, one.f1, one.support))] for one in class_scores(per_class)
    ]
    return table(["class", "precision", "recall", "F1", "rows"], rows)


def phase_table(phases: Sequence[Mapping[str, Any]]) -> str:
    """What each phase took and reached."""
    rows = []
    for phase in phases:
        best, watch = phase.get("best"), phase.get("watch")
        if isinstance(best, Mapping) and watch in best:
            best = {watch: best[watch]}
        reached = join(best) if isinstance(best, Mapping) else number(best)
        rows.append([phase["name"], number(phase.get("steps")), f"{phase.get('seconds', 0):.1f}", reached])
    return table(["phase", "steps", "seconds", "validation score kept"], rows)


def headline(kind: str, classes: int, pairs: bool, metrics: Mapping[str, Any]) -> str:
    """What the model is, in a sentence."""
    if kind == "none":
        return ENCODER
    several = kind == "tasks"
    what = "model of several tasks over one encoder" if several else kind_named(kind).model_noun(classes, pairs)
    return f"A {what}, trained in phases with phasefit."


def task_results(metrics: Mapping[str, Any], splits: Sequence[str]) -> list[str]:
    """The headline scores; of several tasks a table each, and their mean."""
    tasks = list(dict.fromkeys(task for split in splits for task in metrics[split].get("tasks", {})))
    if not tasks:
        return [results(metrics, splits)]
    parts = []
    for task in tasks:
        own = {split: metrics[split]["tasks"][task] for split in splits if task in metrics[split].get("tasks", {})}
        parts += [f"Task `{task}`:", results(own, list(own))]
    return [*parts, "All tasks:", results(metrics, splits)]


def geometry_table(stages: Mapping[str, Mapping[str, Any]]) -> str:
    """Figures down, stages across, how to read a figure beside it."""
    rows = [[name.replace("_", " "), *map(number, values), reading] for name, values, reading in geometry_rows(stages)]
    return table(["", *map(escape, stages), "how to read it"], rows)
