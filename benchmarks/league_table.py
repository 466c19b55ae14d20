"""The Markdown report and the CSV file of the league. Missing cells are counted and shown."""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from statistics import geometric_mean, mean

from contest import words
from few_shot_table import markdown, time_text
from league_ledger import SCORES, Result
from league_plan import DEVELOPMENT, FINAL, Contestant, Plan
from league_scores import MANY, Comparison, Scoreboard, accuracy_on_set, cpu, overall
from league_spread import Spread

from phasefit.studies.statistics import Difference, Estimate

TITLES = {"accuracy": "accuracy", "macro_f1": "macro F1", "log_loss": "log loss", "ece": "ECE"}
FIELDS = (
    *("stage", "regime", "set", "draw", "contestant", "status", "train_rows", "classes", "scored_rows"),
    *(*SCORES, "fit_cpu_seconds", "predict_cpu_seconds", "peak_mb", "machine", "versions"),
)
MARK = "*"  # of a mean over fewer cells than planned
NONE = "-"
ROWS_OF = {
    DEVELOPMENT: "Scored on rows held out of the training rows of the development sets, while settings are chosen: no "
    "figure here is a test score.",
    FINAL: "Scored on the test rows of all sets (at most 2,000; held-out training rows where there is no test split), "
    "with the settings of `settings-frozen.toml`.",
}
EXPLAINED = (
    "**Scores**: means over sets of the means over draws, with 95 % intervals over sets; accuracy, macro F1 and "
    f"expected calibration error (15 bins) in per cent. {MARK}: fewer cells than planned, so the mean is over other "
    "draws than those of the others. CPU s: geometric mean of the CPU seconds of training on one thread, without "
    "loading the model; on CPUs of AMD, phasefit trains 1.7 times as fast as with torch's own products, which rivals "
    "use (step.md). Rank: mean rank by accuracy over the sets and draws that all ranked contestants have; those "
    "with results on less than half of their sets are not ranked.",
    "**Sets**: mean accuracy over draws in per cent, ± half its 95 % interval over draws and scored rows. The variance "
    "between draws is pooled over the sets of the regime; contestants with one draw get the mean variance of the "
    "others.",
    "**Compared with a reference**: on the sets and draws that both have. Difference: mean over sets in points of "
    f"accuracy, with its 95 % interval over sets; next to it the same on sets with at least {MANY} classes. p: "
    "Wilcoxon's signed-rank test over sets, corrected for the number of contestants (Holm). Higher, lower: sets by "
    "their mean. Wins, ties, losses: sets by a paired test over draws and scored rows at 5 %, corrected for the number "
    "of sets (Holm), with variances as above. CPU: CPU seconds of training divided by those of the reference.",
)


def report(
    board: Scoreboard, plan: Plan, references: Sequence[str], *, stage: str, pictures: Sequence[str], unplanned: int
) -> str:
    """The whole report: for each regime the scores, the sets, and everyone compared with the references."""
    parts = ["# The league" + (" in development" if stage == DEVELOPMENT else "")]
    parts += [f"`python benchmarks/league.py --stage {stage} --no-run`", ROWS_OF[stage], f"{board.counted()}."]
    machines = Counter(one.machine for one in board.results)
    listed = "; ".join(f"{name}: {count} cells" for name, count in machines.most_common())
    if listed:
        parts.append(f"Machines: {listed}. CPU seconds are compared only between cells of the same machine.")
    if unplanned:
        parts.append(f"The ledger has {unplanned} other results, of other settings or of the other stage.")
    if board.other_rows:
        names = "; ".join(one.cell.name for one in board.other_rows)
        parts.append(f"Left out, because they were trained or scored on other rows than the rest: {names}.")
    parts += [f"![{name.removesuffix('.png')}]({name})" for name in pictures]
    parts += EXPLAINED
    for regime in board.regimes:
        parts += _regime(board, regime, references)
    if plan.seen:
        parts += ["## Scores of held-out sets seen before the settings were frozen"]
        parts.append("\n".join(f"- {name}: {plan.seen[name]}" for name in plan.held_out))
    parts += ["## Contestants", "\n".join(_described(one) for one in plan.contestants)]
    return "\n\n".join(parts) + "\n"


def cells_csv(board: Scoreboard) -> str:
    """One line for every planned cell, also for missing ones."""
    results = {one.cell.key: one for one in board.results}
    out = io.StringIO()
    writer = csv.DictWriter(out, FIELDS, lineterminator="\n", restval="")
    writer.writeheader()
    for cell in board.cells:
        line = {"stage": cell.stage, "regime": cell.regime.name, "set": cell.dataset, "draw": cell.draw}
        line |= {"contestant": cell.contestant.name, "status": "missing"}
        result = results.get(cell.key)
        writer.writerow(line if result is None else line | {"status": "done", **_line(result)})
    return out.getvalue()


def _line(result: Result) -> dict[str, object]:
    rows = {"train_rows": result.rows["train"], "classes": result.rows["classes"], "scored_rows": result.rows["scored"]}
    seconds = {f"{part}_cpu_seconds": result.cpu_seconds[part] for part in ("fit", "predict")}
    return {
        **rows,
        **result.scores,
        **seconds,
        "peak_mb": result.peak_mb,
        "machine": result.machine,
        "versions": result.versions,
    }


def _regime(board: Scoreboard, regime: str, references: Sequence[str]) -> list[str]:
    planned = board.planned(regime)
    done = [one for one in board.results if one.cell.regime.name == regime]
    parts = [f"## {regime}", f"{len(done)} of {len(planned)} cells. {_missing(board, regime)}".strip()]
    if not done:
        return parts
    parts += ["### Scores", _scores(board, regime)]
    if common := board.common(regime):
        parts += ["### Scores on the sets and draws that all ranked contestants have", _common(common)]
    parts += ["### Sets", _sets(board, regime)]
    for reference in references:
        if comparisons := board.compare(regime, reference):
            parts += [f"### Compared with {reference}", _compared(comparisons)]
    return parts


def _missing(board: Scoreboard, regime: str) -> str:
    """The contestants with missing cells, with their number."""
    counts = {
        name: (len(board.of(regime, name)), len(board.planned(regime, name))) for name in board.contestants(regime)
    }
    short = [f"{name} {planned - done} of {planned}" for name, (done, planned) in counts.items() if done < planned]
    return f"Missing: {', '.join(short)}." if short else ""


def _scores(board: Scoreboard, regime: str) -> str:
    columns = ["contestant", *TITLES.values(), "CPU s", "rank", "cells"]
    placed, lines = board.set_ranks(regime), []
    for name in board.contestants(regime):
        own, planned = board.of(regime, name), len(board.planned(regime, name))
        mark = MARK if 0 < len(own) < planned else ""
        cells = [_estimate(overall(own, score), score, mark) for score in TITLES]
        seconds = time_text(geometric_mean(map(cpu, own))) if own else NONE
        rank = f"{mean(placed[name]):.1f}" if name in placed else NONE
        lines.append([name, *cells, seconds, rank, f"{len(own)} of {planned}"])
    sets = len(next(iter(placed.values()), []))
    note = (
        f"\n\nRanks over {sets} of {len(board.sets(regime))} sets." if sets else "\n\nNo ranks: too few shared cells."
    )
    return markdown(columns, lines) + note


def _common(results: Mapping[str, Sequence[Result]]) -> str:
    """Scores of contestants on the same sets and draws, which can be compared directly."""
    lines = [
        [
            name,
            *(_estimate(overall(own, score), score, "") for score in TITLES),
            time_text(geometric_mean(map(cpu, own))),
        ]
        for name, own in results.items()
    ]
    return markdown(["contestant", *TITLES.values(), "CPU s"], lines)


def _estimate(value: Estimate | None, score: str, mark: str) -> str:
    if value is None:
        return NONE
    write = _writer(score)
    interval = "" if value.low is None or value.high is None else f" [{write(value.low)}, {write(value.high)}]"
    return f"{write(value.mean)}{mark}{interval}"


def _writer(score: str) -> Callable[[float], str]:
    return "{:.3f}".format if score == "log_loss" else lambda value: f"{100 * value:.1f}"


def _sets(board: Scoreboard, regime: str) -> str:
    names = board.contestants(regime)
    spreads = {name: board.spread(regime, name) for name in names}
    lines = [
        [each, *(_on_set(board, regime, name, each, spreads[name]) for name in names)] for each in board.sets(regime)
    ]
    return markdown(["set", *names], lines)


def _on_set(board: Scoreboard, regime: str, name: str, dataset: str, spread: Spread | None) -> str:
    """The accuracy on a set; `2 of 3` draws if some are missing."""
    own, planned = board.of(regime, name, dataset), len(board.planned(regime, name, dataset))
    if not own:
        return "missing" if planned else NONE
    value = accuracy_on_set(own, spread)
    half = "" if value.low is None or value.high is None else f" ± {50 * (value.high - value.low):.1f}"
    return f"{100 * value.mean:.1f}{half}" + (f" ({len(own)} of {planned})" if len(own) < planned else "")


def _compared(comparisons: Sequence[Comparison]) -> str:
    columns = [
        "contestant",
        "difference",
        f"{MANY}+ classes",
        "p",
        "higher, lower",
        "wins, ties, losses",
        "CPU",
        "sets, draws",
    ]
    lines = [
        [
            one.name,
            _difference(one.difference),
            NONE if one.many is None else _difference(one.many),
            NONE if one.p is None else "<0.001" if one.p < 0.001 else f"{one.p:.3f}",
            f"{one.better}, {one.worse}",
            f"{one.wins}, {one.ties}, {one.losses}",
            _ratio(one.cpu_ratio),
            f"{one.sets}, {one.draws}",
        ]
        for one in comparisons
    ]
    return markdown(columns, lines)


def _ratio(value: float | None) -> str:
    return NONE if value is None else f"{value:.2g} ×" if value < 10 else f"{value:.0f} ×"


def _difference(value: Difference) -> str:
    interval = "" if value.low is None or value.high is None else f" [{100 * value.low:+.1f}, {100 * value.high:+.1f}]"
    return f"{100 * value.mean:+.1f}{interval}"


def _described(contestant: Contestant) -> str:
    return f"- **{contestant.name}** (`rivals/{contestant.script}`): {words(contestant.settings)}"
