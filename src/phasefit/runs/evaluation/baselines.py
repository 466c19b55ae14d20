"""What the training bought: TF-IDF and the frozen encoder on the same split, after a run. They choose nothing.

Large tables are sampled, so that this takes seconds; the sample is reported.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit.baselines.contract import predictions_of
from phasefit.data.table import Table
from phasefit.errors import PhasefitError
from phasefit.events import Note, Stage
from phasefit.kinds import kind_of
from phasefit.kinds.decision import Decision
from phasefit.metrics.jackknife import standard_error
from phasefit.metrics.registry import metric_at
from phasefit.models.predictor import TASK
from phasefit.prepare.prepare import Prepared
from phasefit.recipes import read_recipe
from phasefit.recipes.recipe import FROZEN, TFIDF
from phasefit.runs.evaluation.score import row_replicates, score_outputs
from phasefit.runs.fitting.baseline import baseline_model
from phasefit.seeds import generator

if TYPE_CHECKING:
    from phasefit.events import Listener
    from phasefit.recipes import Recipe
    from phasefit.runs.execution import FitResult
    from phasefit.runs.specification import RunSpec

BASELINES = "baselines"  # the key in metrics.json
NAMES = (TFIDF, FROZEN)


@dataclass(frozen=True)
class Limit:
    """The size of a sample; its texts are never more than these rows and, except the first, these characters."""

    rows: int
    characters: int


FEWEST_JUDGED = 10  # scored rows; with fewer, a verdict would be chance
ROUNDING = 1e-9  # if one row differs, the difference equals its standard error exactly
LIMITS = {TFIDF: Limit(4_000, 2_000_000), FROZEN: Limit(1_000, 200_000)}
SCORED = Limit(1_000, 200_000)


def add_baselines(spec: RunSpec, recipe: Recipe, prepared: Prepared, fitted: FitResult, listen: Listener) -> None:
    """Add the scores of the baselines to the metrics of a run; nothing if the option is off."""
    if not spec.output.baselines:
        return
    reason = _why_not(prepared, fitted)
    if reason:
        listen(Note(f"{' and '.join(NAMES)} are not compared with this run: {reason}"))
        return
    fitted.metrics[BASELINES] = baseline_facts(spec, recipe, prepared, fitted, listen)


def _why_not(prepared: Prepared, fitted: FitResult) -> str:
    """Why the run cannot be compared; empty if it can."""
    if not fitted.model.heads:
        return "it is an encoder without predictions"
    if prepared.tasks:
        return "it has several tasks"
    if _scored(prepared, fitted) is None:
        return "there are no scored test or validation rows"
    return ""


def _scored(prepared: Prepared, fitted: FitResult) -> tuple[str, Table] | None:
    """The test rows, or the validation rows if there are none."""
    for split in ("test", "validation"):
        table: Table | None = getattr(prepared, split)
        if table is not None and table.labels is not None and TASK in fitted.outputs.get(split, {}):
            return split, table
    return None


def baseline_facts(
    spec: RunSpec, recipe: Recipe, prepared: Prepared, fitted: FitResult, listen: Listener
) -> dict[str, Any]:
    """The scores of the run and of each baseline on the same rows, with the paired standard error of the difference."""
    scored = _scored(prepared, fitted)
    assert scored is not None
    split, table = scored
    rows = sample(table, SCORED, spec.seed)
    metric, own = kind_of(prepared.space).judged, fitted.outputs[split][TASK][rows]
    part = table.take(rows)
    score, parts = _scores(prepared, fitted.model.decision(), part, own, metric)
    if len(rows) == len(table):
        score = fitted.metrics[split].get(metric)  # outputs are stored as float32
    facts: dict[str, Any] = {"split": split, "metric": metric, "rows": len(rows), "of_rows": len(table), "run": score}
    facts |= {"scores": {}, "left_out": {}}
    for name in NAMES:
        if name == recipe.baseline:
            continue
        listen(Stage(f"comparing with {name}"))
        try:
            one, theirs = _one(name, spec, recipe, prepared, part, metric)
        except PhasefitError as error:
            facts["left_out"][name] = str(error)
        except Exception as error:  # noqa: BLE001 - the run is complete, whatever happens to a baseline
            facts["left_out"][name] = f"{type(error).__name__}: {error}"
        else:
            judged = len(rows) >= FEWEST_JUDGED
            facts["scores"][name] = one | _difference(score, one["score"], parts, theirs, judged)
    return facts


def _difference(
    run: float | None, baseline: float | None, ours: Sequence[float], theirs: Sequence[float], judged: bool
) -> dict[str, Any]:
    """How much better the run is, the paired standard error, and whether the baseline is as good."""
    paired = len(ours) == len(theirs) > 1
    error = standard_error(np.subtract(ours, theirs).tolist()) if paired else None
    difference = None if run is None or baseline is None else run - baseline
    good = judged and difference is not None and difference <= (error or 0.0) + ROUNDING
    return {"difference": difference, "error": error, "as_good": good}


def _one(
    name: str, spec: RunSpec, recipe: Recipe, prepared: Prepared, scored: Table, metric: str
) -> tuple[dict[str, Any], list[float]]:
    """The score of a baseline with the number of rows it was fitted on, and the replicates of the score."""
    rows = sample(prepared.train, LIMITS[name], spec.seed)
    fewer = replace(prepared, train=prepared.train.take(rows))
    own = replace(read_recipe(name), prompt=recipe.prompt, max_length=recipe.max_length, long=recipe.long)
    predict = predictions_of(baseline_model(spec, own, fewer))
    decision, space, validation = Decision(), prepared.space, prepared.validation
    if kind_of(space).answer == "set" and validation is not None and validation.labels is not None:
        some = validation.take(sample(validation, SCORED, spec.seed))
        decision = kind_of(space).decide(space, prepared.values(some), predict(some), calibrate=False)[0]
    score, parts = _scores(prepared, decision, scored, predict(scored), metric)
    return {"score": score, "rows": len(rows), "of_rows": len(prepared.train)}, parts


def _scores(
    prepared: Prepared, decision: Decision, table: Table, outputs: np.ndarray, metric: str
) -> tuple[float | None, list[float]]:
    score = score_outputs(prepared.space, decision, table, outputs).get(metric)
    return score, row_replicates(prepared.space, decision, table, outputs).get(metric, [])


def sample(table: Table, limit: Limit, seed: int) -> np.ndarray:
    """The numbers of the rows of a sample within the limits, in order; all rows if they fit."""
    order = generator(seed, "baselines").permutation(len(table))[: limit.rows]
    lengths = np.array([sum(len(side[row]) for side in table.sides) for row in order.tolist()], dtype=np.int64)
    fits = np.cumsum(lengths) <= limit.characters
    fits[:1] = True
    return np.sort(order[fits])


def baselines_sentence(facts: Mapping[str, Any]) -> str:
    """One line: the score of the run, those of the baselines, and whether one is as good."""
    title = metric_at(facts["metric"]).title or facts["metric"]
    rows = f"{facts['rows']:,} {facts['split']} row{'s' * (facts['rows'] != 1)}" + _of(facts)
    known = [f"{name} {_figure(one['score'])}{_fitted_on(one)}" for name, one in facts["scores"].items()]
    known += [f"{name} left out ({reason})" for name, reason in facts["left_out"].items()]
    line = f"{title} on {rows}: this run {_figure(facts['run'])}, {', '.join(known)}"
    names: dict[str, list[str]] = {}
    for name, one in facts["scores"].items():
        names.setdefault(_remark(one), []).append(name)
    judged = [f"{' and '.join(names[one])} {'is' if len(names[one]) == 1 else 'are'} {one}" for one in names if one]
    if not judged:
        return line
    best = max(facts["scores"], key=lambda name: facts["scores"][name]["score"] or 0.0)
    return f"{line}; {' and '.join(judged)} (--recipe {best} trains in seconds)"


def baseline_rows(facts: Mapping[str, Any]) -> list[tuple[str, str, str, str]]:
    """For a report: name, score, difference from the run with its standard error, and a remark."""
    rows = []
    for name, one in facts["scores"].items():
        error = "" if one["error"] is None else f" (standard error {one['error']:.4f})"
        difference = "" if one["difference"] is None else f"{-one['difference']:+.4f}{error}"
        remark = _remark(one) + _fitted_on(one)
        rows.append((name, _figure(one["score"]), difference, remark.strip()))
    return [*rows, *((name, "", "", f"left out: {reason}") for name, reason in facts["left_out"].items())]


def _remark(one: Mapping[str, Any]) -> str:
    """Whether a baseline is as good as the run or better; empty if it is worse."""
    if not one["as_good"]:
        return ""
    better = one["difference"] is not None and -one["difference"] > (one["error"] or 0.0) + ROUNDING
    return "better than this run" if better else "as good as this run"


def _of(one: Mapping[str, Any]) -> str:
    return f" (a sample of {one['of_rows']:,})" if one["rows"] < one["of_rows"] else ""


def _fitted_on(one: Mapping[str, Any]) -> str:
    return f" (fitted on {one['rows']:,} of {one['of_rows']:,} rows)" if one["rows"] < one["of_rows"] else ""


def _figure(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
