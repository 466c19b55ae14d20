"""One honest sentence per dataset: what is better, by how much, how certain; or that these runs cannot tell.

Printed first by `compare`, and shown at the top of the page of a study.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from phasefit.metrics.registry import metric_at

Content = Mapping[str, Any]
ENOUGH_SEEDS = 5  # suggested if fewer were run
LEVEL = 0.05
EQUAL = 1e-10  # rounding errors of means


@dataclass(frozen=True)
class Repetitions:
    """How often a variant was run on a dataset."""

    seeds: int
    rows: Mapping[str, int] = field(default_factory=dict)  # scored rows of a seed by split, if known


@dataclass(frozen=True)
class Evidence:
    """What verdicts need in addition to the tables: repetitions by dataset and variant, and the option for seeds."""

    repetitions: Mapping[tuple[str, str], Repetitions] = field(default_factory=dict)
    seeds_option: str = "--seeds"


NO_EVIDENCE = Evidence()


def verdicts(tables: Sequence[Content], evidence: Evidence = NO_EVIDENCE) -> list[str]:
    """A sentence for each table and dataset."""
    sentences = []
    for one in tables:
        title = f"{one['title']}: " if len(tables) > 1 else ""
        for dataset in dict.fromkeys(row["dataset"] for row in one["rows"]):
            rows = [row for row in one["rows"] if row["dataset"] == dataset and row.get("mean") is not None]
            if rows:
                shown = one.get("labels", {}).get(dataset, dataset)
                sentences.append(title + _verdict(shown, rows, one["metric"], evidence))
    return sentences


def _verdict(dataset: str, rows: Sequence[Content], metric: str, evidence: Evidence) -> str:
    ranked = all(row.get("rank") is not None for row in rows)  # ranks are right if lower is better, too
    best = min(rows, key=lambda row: row["rank"]) if ranked else max(rows, key=lambda row: row["mean"])
    first = [row["variant"] for row in rows if abs(row["mean"] - best["mean"]) < EQUAL]
    if len(rows) == 1:
        return f"On {dataset}, {best['variant']} reaches {best['mean']:.4f}."
    if len(first) > 1:
        repeated = _repeated(best, evidence)
        tied = f"On {dataset}, {', '.join(first[:-1])} and {first[-1]} are tied at {best['mean']:.4f}"
        return f"{tied}; {_runs(repeated, best)} cannot tell which is better{_advice([best], repeated, evidence)}."
    lead = f"On {dataset}, {best['variant']} leads with {best['mean']:.4f}"
    if best.get("difference") is not None:
        return f"{lead}; {_lead_over_first(best, rows[0]['variant'], metric, evidence)}."
    compared = [row for row in rows if row is not best and row.get("difference") is not None]
    if not compared:
        return f"{lead}; the difference was not tested."
    return f"{lead}; {_first_leads(best, compared, metric, evidence)}."


def _lead_over_first(best: Content, base: str, metric: str, evidence: Evidence) -> str:
    """The leader is compared with the first variant."""
    repeated = _repeated(best, evidence)
    gain = f"{spelled_gain(best['difference'], metric)}{_on(repeated, metric)}"
    test = ", ".join([gain, *_test(best, metric)])
    if is_significant(best):
        return f"it is better than {base} ({test}; {_runs(repeated, best)})"
    unclear = f"{_runs(repeated, best)} cannot tell whether {best['variant']} is better than {base} ({test})"
    return unclear + _advice([best], repeated, evidence)


def _first_leads(best: Content, compared: Sequence[Content], metric: str, evidence: Evidence) -> str:
    """The first variant leads; each of the others was compared with it."""
    repeated = _repeated(best, evidence)
    worse = [row["variant"] for row in compared if is_significant(row)]
    unclear = [row for row in compared if not is_significant(row)]
    parts = [f"it is better than {_listed(worse)}{_on(repeated, metric)}"] if worse else []
    if unclear:
        nearest = min(unclear, key=lambda row: abs(row["difference"]))
        names = _listed([row["variant"] for row in unclear])
        test = ", ".join([spelled_gain(nearest["difference"], metric) + _on(repeated, metric), *_test(nearest, metric)])
        closest = f"{nearest['variant']}: {test}" if len(unclear) > 1 else test
        text = f"{_runs(repeated, best)} cannot tell whether it is better than {names} ({closest})"
        parts.append(text + _advice(unclear, repeated, evidence))
    return "; ".join(parts)


def _repeated(row: Content, evidence: Evidence) -> Repetitions:
    return evidence.repetitions.get((row["dataset"], row["variant"])) or Repetitions(row["n"])


def _runs(repeated: Repetitions, row: Content) -> str:
    """`3 seeds`, or `1 seed with 5 folds`."""
    folds = row["n"] // max(repeated.seeds, 1)
    return _count(repeated.seeds, "seed") + (f" with {folds} folds" if folds > 1 else "")


def _advice(rows: Sequence[Content], repeated: Repetitions, evidence: Evidence) -> str:
    """More seeds; more test rows if these alone leave the difference open."""
    more = ENOUGH_SEEDS if repeated.seeds < ENOUGH_SEEDS else 2 * repeated.seeds
    seeds = f"{evidence.seeds_option} {more}"
    if all(row.get("needs_rows") for row in rows):
        return f"; use {seeds} and more test rows" if repeated.seeds < ENOUGH_SEEDS else "; use more test rows"
    return f"; use {seeds}"


def _on(repeated: Repetitions, metric: str) -> str:
    split = metric.partition(".")[0]
    rows = repeated.rows.get(split)
    return "" if rows is None else f" on {_count(rows, f'{split} row')}"


def spelled_gain(difference: float, metric: str) -> str:
    """A difference of shares (accuracy, F1) in points, any other as a plain number."""
    if metric_at(metric).bounds != (0.0, 1.0):
        return f"{difference:+.4f}"
    points = _points(difference)
    return f"{points} point" if points in ("+1", "-1") else f"{points} points"


def spelled_interval(low: float, high: float, metric: str) -> str:
    """The ends of an interval of a difference, in points or as plain numbers."""
    share = metric_at(metric).bounds == (0.0, 1.0)
    ends = [_points(end) if share else f"{end:+.4f}" for end in (low, high)]
    return f"{ends[0]} to {ends[1]}"


def _points(difference: float) -> str:
    return f"{100 * difference:+.2f}".rstrip("0").rstrip(".")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def is_significant(row: Content) -> bool:
    """Whether p (corrected for the number of variants) is small; without p, whether the interval excludes zero."""
    low, high, p = row.get("difference_low"), row.get("difference_high"), row.get("p")
    if p is not None:
        return bool(p < LEVEL)
    return low is not None and high is not None and bool(low > 0 or high < 0)


def _test(row: Content, metric: str) -> list[str]:
    """The interval and p value of a difference, where they are known."""
    low, high, p = row.get("difference_low"), row.get("difference_high"), row.get("p")
    known = []
    if low is not None and high is not None:
        known.append(f"95 % interval {spelled_interval(low, high, metric)}")
    return [*known, *([] if p is None else [f"p = {p:.3g}"])]
