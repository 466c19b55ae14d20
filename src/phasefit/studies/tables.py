"""From results to tables: one row per dataset and variant, and rows over all datasets."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from phasefit.metrics.registry import metric_at
from phasefit.studies.cell import Cell
from phasefit.studies.missing_cells import missing_cells, state
from phasefit.studies.result import Result, figure, usual_score
from phasefit.studies.row_errors import difference_error, row_error, row_groups, same_rows
from phasefit.studies.statistics import Difference, RowError, estimate, holm, paired, ranks, wilcoxon
from phasefit.studies.study import Study, TableSpec

ALL = "all datasets"
MARK = "†"  # of a mean with runs in which a phase was reverted


@dataclass(frozen=True)
class Row:
    """Results of a variant on a dataset; differences are from the first variant on the same repetitions."""

    dataset: str
    variant: str
    n: int
    mean: float
    sd: float | None = None
    low: float | None = None
    high: float | None = None
    difference: float | None = None
    difference_low: float | None = None
    difference_high: float | None = None
    p: float | None = None  # after Holm's correction for the variants compared on this dataset
    rank: float | None = None
    minutes: float | None = None
    memory_mb: float | None = None
    published: float | None = None
    published_model: str | None = None
    note: str = ""
    reverted: str = ""  # phases whose training was discarded, and in how many runs
    needs_rows: bool = False  # whether the scored rows alone leave the difference open, whatever the seeds
    planned: int | None = None  # number of runs if some are missing


@dataclass(frozen=True)
class Table:
    """A table of a study; `overall` has the rows over all datasets if there are several."""

    title: str
    metric: str
    rows: tuple[Row, ...]
    overall: tuple[Row, ...] = ()
    number: str = ""
    note: str = ""
    scale: float = 1.0  # factor to compare values with published ones
    labels: Mapping[str, str] = field(default_factory=dict)  # names to show instead of those of datasets
    cells: int = 0  # with a result
    planned: int = 0  # cells

    def label(self, dataset: str) -> str:
        """The name of a dataset to show: it states the number of rows if a scale reduced it."""
        return self.labels.get(dataset, dataset)

    def to_json(self) -> dict[str, Any]:
        """Content for files and pages."""
        return {
            "title": self.title,
            "metric": self.metric,
            "number": self.number,
            "note": self.note,
            "labels": dict(self.labels),
            "cells": self.cells,
            "planned": self.planned,
            "rows": [asdict(row) for row in self.rows],
            "overall": [asdict(row) for row in self.overall],
        }


Scores = dict[tuple[str, str], dict[tuple[int, int], tuple[float, Result]]]  # by dataset and variant, seed and fold


def fill(study: Study, spec: TableSpec, cells: Sequence[Cell], results: Mapping[str, Result]) -> Table:
    """The table of a specification, from the cells that have results."""
    cells = [cell for cell in cells if _is_of(spec, cell)]
    scores, metrics = _scores(spec, cells, results)
    present = sum(cell.key in results for cell in cells)
    distinct = list(dict.fromkeys(metrics.values()))
    metric = ", ".join(distinct) or spec.score or "test.accuracy"
    datasets = [data.name for data in study.datasets if any(name == data.name for name, _ in scores)]
    rows: list[Row] = []
    missing: list[str] = []
    for dataset in datasets:
        variants = study.variants_of(spec, dataset)
        own = {variant: scores[dataset, variant] for variant in variants if (dataset, variant) in scores}
        base = spec.against or variants[0]
        rows += _rows_of(dataset, own, base, spec, metrics[dataset])
        missing += [f"{variant} on {dataset}" for variant in variants if variant not in own]
    rows, missing = _with_planned(rows, cells, results), _without_cells(missing, cells, results)
    note, overall = spec.note, _overall(rows, spec.against or study.variants_of(spec)[0], _sign(metric))
    labels = {data.name: data.label for data in study.datasets if data.label}
    note = " ".join(filter(None, (note, reverted_note(rows, labels))))
    if present < len(cells):
        note = f"{state(cells, results)} {note}"
    if missing:  # otherwise a missing row looks as if it was never requested
        note = f"No value of '{metric}' for: {', '.join(missing)}. {note}"
    if len(distinct) > 1:  # a mean over accuracies and correlations is meaningless
        judged = "; ".join(f"{dataset} by {metrics[dataset].partition('.')[2]}" for dataset in datasets)
        note, overall = f"There are no rows over all datasets, because their scores differ ({judged}). {note}", ()
    sums = {"cells": present, "planned": len(cells)}
    return Table(spec.title, metric, tuple(rows), overall, spec.number, note.strip(), spec.scale, labels, **sums)


def _is_of(spec: TableSpec, cell: Cell) -> bool:
    of_datasets = not spec.datasets or cell.dataset in spec.datasets
    return of_datasets and (not spec.variants or cell.variant in spec.variants)


def _with_planned(rows: Sequence[Row], cells: Sequence[Cell], results: Mapping[str, Result]) -> list[Row]:
    """The rows with the number of planned runs where some are missing."""
    planned = {(one.dataset, one.variant): one.planned for one in missing_cells(cells, results)}
    return [replace(row, planned=planned.get((row.dataset, row.variant))) for row in rows]


def _without_cells(names: Sequence[str], cells: Sequence[Cell], results: Mapping[str, Result]) -> list[str]:
    """The names of variants on datasets that have a result; the others are reported as missing cells."""
    present = {f"{cell.variant} on {cell.dataset}" for cell in cells if cell.key in results}
    return [name for name in names if name in present]


def _scores(spec: TableSpec, cells: Sequence[Cell], results: Mapping[str, Result]) -> tuple[Scores, dict[str, str]]:
    """The scores, and the metric of each dataset."""
    scores: Scores = {}
    metrics: dict[str, str] = {}
    for cell in cells:
        result = results.get(cell.key)
        if result is None:
            continue
        score = spec.score or usual_score(result)
        value = figure(result.metrics, score)
        if value is None:
            continue
        metrics[cell.dataset] = score
        repetition = (cell.spec.seed, cell.spec.split.fold[0] if cell.spec.split.fold else 0)
        scores.setdefault((cell.dataset, cell.variant), {})[repetition] = (value, result)
    return scores, metrics


def _rows_of(
    dataset: str, own: Mapping[str, dict[tuple[int, int], Any]], base: str, spec: TableSpec, metric: str
) -> list[Row]:
    """One row per variant; without a score of the base there are no differences."""
    sign, split = _sign(metric), metric.partition(".")[0]
    first = own.get(base)
    means = [float(np.mean([value for value, _ in cells.values()])) for cells in own.values()]
    ranking = ranks([sign * mean for mean in means])
    compared = [_against(cells, first, metric) for cells in own.values()]
    p_values = holm([None if one is None else one.p for one in compared], sum(one is not None for one in compared))
    bounds = metric_at(metric).bounds
    rows = []
    for (variant, cells), gain, p, rank in zip(own.items(), compared, p_values, ranking, strict=True):
        runs = list(cells.values())
        known = estimate([value for value, _ in runs], _overlap(cells, split), bounds, _rows_error(runs, metric))
        published, model, others = _published(spec, dataset, variant)
        rows.append(
            Row(
                dataset,
                variant,
                known.n,
                known.mean,
                known.sd,
                known.low,
                known.high,
                None if gain is None else gain.mean,
                None if gain is None or gain.low is None else max(gain.low, bounds[0] - bounds[1]),
                None if gain is None or gain.high is None else min(gain.high, bounds[1] - bounds[0]),
                p=p,
                rank=rank,
                minutes=float(np.mean([result.seconds for _, result in cells.values()])) / 60,
                memory_mb=max(result.memory_mb for _, result in cells.values()),
                published=published,
                published_model=model,
                note=others,
                reverted=_reverted([result for _, result in runs]),
                needs_rows=_needs_rows(cells, first, metric),
            )
        )
    return rows


def _reverted(results: Sequence[Result]) -> str:
    """`denoise in 1 of 2 runs`, for each phase that was reverted in some."""
    counts = Counter(name for result in results for name in result.reverted)
    return ", ".join(f"{name} in {count} of {len(results)} runs" for name, count in counts.items())


def reverted_note(rows: Sequence[Row], labels: Mapping[str, str]) -> str:
    """The footnote of the rows with runs in which a phase was reverted; empty without them."""
    marked = [f"{labels.get(row.dataset, row.dataset)}, {row.variant}: {row.reverted}" for row in rows if row.reverted]
    why = "no evaluation was better than the one before the first step, so the phase changed nothing"
    return f"{MARK} {'; '.join(marked)}: {why}." if marked else ""


def _against(cells: Mapping[Any, Any], base: Mapping[Any, Any] | None, metric: str) -> Difference | None:
    """Paired difference on the repetitions that both have; None for the base itself."""
    ours, theirs = _shared(cells, base)
    if not ours:
        return None
    split = metric.partition(".")[0]
    error = difference_error(ours, theirs, metric)
    rows = None if error is None else RowError(error, same_rows(ours, split), row_groups(ours, metric))
    return paired([value for value, _ in ours], [value for value, _ in theirs], _overlap(cells, split), rows)


def _shared(cells: Mapping[Any, Any], base: Mapping[Any, Any] | None) -> tuple[list[Any], list[Any]]:
    """The repetitions that a variant and the base both have; none for the base itself."""
    both = [key for key in cells if base is not None and cells is not base and key in base]
    return [cells[key] for key in both], [(base or {})[key] for key in both]


def _rows_error(runs: Sequence[tuple[float, Result]], metric: str) -> RowError | None:
    error = row_error(runs, metric)
    if error is None:
        return None
    return RowError(error, same_rows(runs, metric.partition(".")[0]), row_groups(runs, metric))


def _needs_rows(cells: Mapping[Any, Any], base: Mapping[Any, Any] | None, metric: str) -> bool:
    """Whether a difference is within two standard errors of rows that all repetitions share."""
    ours, theirs = _shared(cells, base)
    error = difference_error(ours, theirs, metric) if ours else None
    if error is None or not same_rows(ours, metric.partition(".")[0]):
        return False
    gain = float(np.mean([one - other for (one, _), (other, _) in zip(ours, theirs, strict=True)]))
    return abs(gain) < 2 * error


def _overlap(cells: Mapping[Any, tuple[float, Result]], split: str) -> float:
    return float(np.mean([result.overlap_on(split) for _, result in cells.values()]))


def _published(spec: TableSpec, dataset: str, variant: str) -> tuple[float | None, str | None, str]:
    """The published result and its model, and a note with the results of other models."""
    sources = [(source.figures.get(dataset, {}).get(variant), source.model) for source in spec.published]
    known = [(figure, model) for figure, model in sources if figure is not None]
    if not known:
        return None, None, ""
    (figure, model), *others = known
    return figure / spec.scale, model, ", ".join(f"{other} {value:g}" for value, other in others)


def _overall(rows: Sequence[Row], against: str, sign: int) -> tuple[Row, ...]:
    """Rows over the datasets that all variants have: mean of means, mean rank, Wilcoxon's test against the base."""
    by_variant: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_variant.setdefault(row.variant, {})[row.dataset] = row
    shared = [
        name for name in dict.fromkeys(row.dataset for row in rows) if all(name in own for own in by_variant.values())
    ]
    if len(shared) < 2 or len(by_variant) < 2:
        return ()
    first = by_variant.get(against)
    base = None if first is None else [first[name].mean for name in shared]
    rankings = [ranks([sign * own[name].mean for own in by_variant.values()]) for name in shared]
    overall = []
    for index, (variant, own) in enumerate(by_variant.items()):
        means = [own[name].mean for name in shared]
        compared = base is not None and own is not first
        overall.append(
            Row(
                ALL,
                variant,
                len(shared),
                float(np.mean(means)),
                difference=float(np.mean(means) - np.mean(base)) if base is not None and compared else None,
                p=wilcoxon(means, base) if base is not None and compared else None,
                rank=float(np.mean([ranking[index] for ranking in rankings])),
                minutes=float(np.sum([own[name].minutes or 0.0 for name in shared])),
                memory_mb=max(own[name].memory_mb or 0.0 for name in shared),
            )
        )
    p_values = holm([row.p for row in overall], sum(row.difference is not None for row in overall))
    return tuple(Row(**{**asdict(row), "p": p}) for row, p in zip(overall, p_values, strict=True))


def _sign(metric: str) -> int:
    """1 if higher is better, -1 if lower is better."""
    return -1 if metric_at(metric).higher_is_better is False else 1
