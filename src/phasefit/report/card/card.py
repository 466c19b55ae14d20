"""The model card: a run's README.md, which the hub shows as the model's page. Its text is in `templates/card.md`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from phasefit.data.hygiene import Hygiene
from phasefit.hub.library import yaml_of
from phasefit.kinds import kind_named
from phasefit.metrics.geometry import geometry_rows
from phasefit.metrics.registry import metric_at
from phasefit.prepare.notes import data_notes
from phasefit.report.card.markdown import escape, facts, render, table
from phasefit.report.card.metadata import card_metadata
from phasefit.report.facts.classes import class_scores
from phasefit.report.facts.curves import phase_results
from phasefit.report.facts.data import HEAD, part_cells
from phasefit.report.facts.geometry import geometry_reading
from phasefit.report.facts.run import RunFacts, headline
from phasefit.report.facts.scores import Scored, all_scores
from phasefit.report.limits import MOST_LISTED
from phasefit.report.pictures import OF_RUNS, OF_SCORES
from phasefit.report.text import number
from phasefit.runs.evaluation.baselines import baseline_rows, baselines_sentence

if TYPE_CHECKING:
    from phasefit.models.tokens.truncation import Truncation

PICTURES = {picture.file: picture for picture in (*OF_SCORES, *OF_RUNS)}
Results = tuple[str, list[str], list[list[str]]]  # a title, the splits, and the rows of a table


def run_card(run: RunFacts, pictures: Iterable[str], page: str) -> str:
    """Return the card of a finished run; `page` is the file name of its report."""
    return model_card(
        name=run.name,
        recipe_toml=run.recipe,
        manifest=run.manifest,
        metrics=run.metrics,
        classes=() if run.kind == "none" else run.prepared.space.names,
        kind=run.kind,
        pairs=run.pairs,
        encoder=run.encoder,
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
    about_data: Sequence[str] = (),
    kind: str = "",
    pairs: bool = False,
    encoder: bool = True,
    page: str = "",
) -> str:
    """Return the card as Markdown, from the content of `phasefit.json` and `metrics.json`; all of it is optional.

    `classes` are the classes of the model; a model without classes and scores is an encoder. `kind` is the label kind,
    `pairs` whether each label belongs to a pair of texts, `encoder` whether the model has an encoder. `page` is the
    file name of the report.
    """
    kind = kind or ("single" if classes else "none")
    splits = {split: metrics[split] for split in ("validation", "test") if metrics.get(split)}
    scored, last = list(splits.items())[-1] if splits else ("", {})
    geometry = metrics.get("geometry", {})
    metadata = card_metadata(
        name=name, manifest=manifest, metrics=metrics, data=data, embeds=kind == "none", encoder=encoder
    )
    return render(
        "card.md",
        kind=kind,
        headline=headline(kind, len(classes), pairs, phased=metrics.get("phases") != []),
        encoder=encoder,
        front_matter=yaml_of(metadata).strip(),
        page=page,
        results=results(splits),
        baselines=_baselines(metrics.get("baselines")),
        pictures=[PICTURES[file] for file in pictures],
        stages=list(geometry),
        geometry=[[name.replace("_", " "), *map(number, values), how] for name, values, how in geometry_rows(geometry)],
        geometry_reading=geometry_reading(geometry),
        scored=scored,
        classes=[
            [one.name, *map(number, (one.precision, one.recall, one.f1, one.support))]
            for one in class_scores(last.get("per_class", {}))
        ],
        most_listed=MOST_LISTED,
        tasks=list(last.get("tasks", ())),
        **usage_facts(name, f"{name}/encoder", kind=kind, pairs=pairs),
        phases=phase_rows(metrics.get("phases", [])),
        recipe=recipe_toml,
        data=facts(data),
        about_data=list(about_data),
        environment=facts({key: value for key, value in manifest.items() if key not in ("command", "request")}),
        command=manifest.get("command"),
    )


def usage_facts(name: str, encoder_name: str, *, kind: str, pairs: bool, on_hub: bool = False) -> dict[str, Any]:
    """What `usage.md` needs in addition to `kind`, `tasks` and `encoder`; the names are what a reader would type."""
    return {
        "name": name,
        "encoder_name": encoder_name,
        "has_classes": kind in ("none", "tasks") or kind_named(kind).has_classes,
        "text": '("a text", "another")' if pairs else '"a text"',
        "on_hub": on_hub,
    }


def results(splits: Mapping[str, Scored]) -> list[Results]:
    """Return tables of scores with a column for each split: one table, or one per task and one for their mean."""
    tasks = dict.fromkeys(task for scored in splits.values() for task in scored.get("tasks", {}))
    each = []
    for task in tasks:
        own = {split: scored["tasks"][task] for split, scored in splits.items() if task in scored.get("tasks", {})}
        each.append(_result(f"Task `{task}`:", own))
    return [*each, *([_result("All tasks:" if tasks else "", splits)] if splits else [])]


def _baselines(facts: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The sentence about the baselines of a run, and the rows of their table; None without them."""
    return None if facts is None else {"sentence": baselines_sentence(facts), "rows": baseline_rows(facts)}


def _result(title: str, splits: Mapping[str, Scored]) -> Results:
    rows = all_scores(splits)
    return title, list(splits), [[row.title, *("" if one is None else one.text for one in row.splits)] for row in rows]


def phase_rows(phases: Sequence[Mapping[str, Any]]) -> list[list[str]]:
    """Return the steps, seconds and kept score of each phase."""
    rows = []
    for phase in phase_results(phases):
        kept = ", ".join(f"{metric_at(name).title} {number(value)}".strip() for name, value in phase.best.items())
        kept += phase.changes
        rows.append([phase.name, number(phase.steps), f"{phase.seconds or 0:.1f}", kept])
    return rows


def data_paragraphs(hygiene: Hygiene, cut: Truncation | None = None) -> list[str]:
    """Return a table of the splits, and a list of notes on anything worth checking."""
    notes = [note.removeprefix("data: ") for note in data_notes(hygiene)]
    notes += [] if cut is None else [cut.sentence()]
    listed = "\n".join(f"- {escape(note)}" for note in notes)
    return [table(["", *HEAD], [[name, *part_cells(part)] for name, part in hygiene.parts.items()]), listed]
