"""Means, intervals, paired tests and ranks of the league, all computed by `phasefit.studies.statistics`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import geometric_mean, mean

import numpy as np
from league_ledger import Result
from league_plan import Cell
from league_spread import Spread, average, pooled, with_interval

from phasefit.studies.statistics import Difference, Estimate, estimate, holm, paired, ranks, wilcoxon

LEVEL = 0.05
MANY = 20  # classes
LEAST_SHARE = 0.5  # of its planned sets on which a contestant must have a result to be ranked
SHORTEST = 0.01  # CPU seconds
BOUNDS = {"accuracy": (0.0, 1.0), "macro_f1": (0.0, 1.0), "ece": (0.0, 1.0), "log_loss": (0.0, float("inf"))}


@dataclass(frozen=True)
class Comparison:
    """A contestant compared with a reference on the draws that both have."""

    name: str
    sets: int
    draws: int
    difference: Difference
    many: Difference | None  # on the sets with many classes
    p: float | None  # Wilcoxon's test over sets, corrected for the number of contestants
    better: int
    worse: int
    wins: int
    losses: int
    cpu_ratio: float | None  # of the draws that one machine has run for both

    @property
    def ties(self) -> int:
        """Sets without a significant difference."""
        return self.sets - self.wins - self.losses


class Scoreboard:
    """The planned cells and those of their results that can be compared."""

    def __init__(self, cells: Sequence[Cell], results: Sequence[Result | None]) -> None:
        self.cells = list(cells)
        finished = [result for result in results if result is not None]
        usual = _usual_rows(finished)
        self.results = [one for one in finished if one.fingerprint == usual[one.cell.block]]
        self.other_rows = [one for one in finished if one.fingerprint != usual[one.cell.block]]
        self._cells: dict[str, list[Cell]] = {}
        for cell in self.cells:
            self._cells.setdefault(cell.regime.name, []).append(cell)
        self._results: dict[tuple[str, str], list[Result]] = {}
        for one in self.results:
            self._results.setdefault((one.cell.regime.name, one.cell.contestant.name), []).append(one)

    @property
    def regimes(self) -> list[str]:
        """The names of the regimes, in the order of the plan."""
        return list(self._cells)

    def contestants(self, regime: str) -> list[str]:
        """The names of the contestants of a regime, in the order of the plan."""
        return list(dict.fromkeys(cell.contestant.name for cell in self._cells[regime]))

    def sets(self, regime: str) -> list[str]:
        """The sets of a regime."""
        return list(dict.fromkeys(cell.dataset for cell in self._cells[regime]))

    def planned(self, regime: str, name: str | None = None, dataset: str | None = None) -> list[Cell]:
        """The planned cells of a regime, of one contestant or on one set."""
        chosen = [cell for cell in self._cells[regime] if name is None or cell.contestant.name == name]
        return [cell for cell in chosen if dataset is None or cell.dataset == dataset]

    def of(self, regime: str, name: str, dataset: str | None = None) -> list[Result]:
        """The results of a contestant, of one set or of all."""
        own = self._results.get((regime, name), [])
        return [one for one in own if dataset is None or one.cell.dataset == dataset]

    def counted(self) -> str:
        """How many cells are finished, in words."""
        missing = len(self.cells) - len(self.results)
        return f"{len(self.results)} of {len(self.cells)} cells are finished, {missing} are missing"

    def ranked(self, regime: str) -> list[str]:
        """The contestants that have results on enough of their sets to be ranked."""
        ranked = []
        for name in self.contestants(regime):
            planned = {cell.dataset for cell in self.planned(regime, name)}
            if len(by_set(self.of(regime, name))) >= LEAST_SHARE * len(planned):
                ranked.append(name)
        return ranked

    def common(self, regime: str) -> dict[str, list[Result]]:
        """The results of each ranked contestant on the draws that all of them have."""
        results = {name: self.of(regime, name) for name in self.ranked(regime)}
        blocks = [{one.cell.block for one in own} for own in results.values()]
        shared = set.intersection(*blocks) if blocks else set()
        return (
            {name: [one for one in own if one.cell.block in shared] for name, own in results.items()} if shared else {}
        )

    def set_ranks(self, regime: str) -> dict[str, list[float]]:
        """The rank of each ranked contestant on every set that all have; empty if they share none."""
        means = {name: by_set(own) for name, own in self.common(regime).items()}
        if not means:
            return {}
        sets = list(next(iter(means.values())))
        places = [ranks([mean(one.accuracy for one in own[each]) for own in means.values()]) for each in sets]
        return {name: [place[number] for place in places] for number, name in enumerate(means)}

    def spread(self, regime: str, name: str) -> Spread | None:
        """How the accuracy of a contestant varies between draws; with one draw each, as that of the others."""
        own = [
            pooled([[one.accuracy for one in own] for own in by_set(self.of(regime, each)).values()])
            for each in [name, *self.contestants(regime)]
        ]
        return own[0] or average(own)

    def compare(self, regime: str, reference: str) -> list[Comparison]:
        """All contestants that share draws with the reference, compared with it."""
        names = [name for name in self.contestants(regime) if name != reference]
        pairs = {name: own for name in names if (own := self._pairs(regime, name, reference))}
        spreads = {
            name: pooled([[a.accuracy - b.accuracy for a, b in group] for group in own.values()])
            for name, own in pairs.items()
        }
        usual = average(list(spreads.values()))
        compared = [_compared(name, own, spreads[name] or usual) for name, own in pairs.items()]
        corrected = holm([one.p for one in compared])
        return [replace(one, p=p) for one, p in zip(compared, corrected, strict=True)]

    def _pairs(self, regime: str, name: str, reference: str) -> dict[str, list[tuple[Result, Result]]]:
        """The results of both on the same draws, by set."""
        base = {one.cell.block: one for one in self.of(regime, reference)}
        shared = [one for one in self.of(regime, name) if one.cell.block in base]
        return {each: [(one, base[one.cell.block]) for one in own] for each, own in by_set(shared).items()}


def _compared(name: str, pairs: Mapping[str, list[tuple[Result, Result]]], spread: Spread | None) -> Comparison:
    groups = list(pairs.values())
    gains = [set_difference([one for one, _ in group], [other for _, other in group], spread) for group in groups]
    p_values = holm([gain.p for gain in gains])
    ours, theirs = ([mean(pair[side].accuracy for pair in group) for group in groups] for side in (0, 1))
    significant = [gain.mean for gain, p in zip(gains, p_values, strict=True) if p is not None and p < LEVEL]
    alike = [pair for group in groups for pair in group if pair[0].machine == pair[1].machine]
    ratios = [cpu(one) / cpu(other) for one, other in alike]
    many = [place for place, group in enumerate(groups) if group[0][0].rows["classes"] >= MANY]
    return Comparison(
        name,
        sets=len(groups),
        draws=sum(map(len, groups)),
        difference=paired(ours, theirs) if len(groups) > 1 else gains[0],
        many=paired([ours[place] for place in many], [theirs[place] for place in many]) if many else None,
        p=wilcoxon(ours, theirs),
        better=sum(gain.mean > 0 for gain in gains),
        worse=sum(gain.mean < 0 for gain in gains),
        wins=sum(gain > 0 for gain in significant),
        losses=sum(gain < 0 for gain in significant),
        cpu_ratio=geometric_mean(ratios) if ratios else None,
    )


def by_set(results: Sequence[Result]) -> dict[str, list[Result]]:
    """Results grouped by their set, sets in alphabetical order."""
    sets = sorted({one.cell.dataset for one in results})
    return {name: [one for one in results if one.cell.dataset == name] for name in sets}


def cpu(result: Result) -> float:
    """CPU seconds of training."""
    return max(float(result.cpu_seconds["fit"]), SHORTEST)


def overall(results: Sequence[Result], score: str) -> Estimate | None:
    """The mean over sets of the means over draws, with its interval over sets; None if a score is missing.

    With one set, the interval is over its draws.
    """
    values = {name: [one.scores[score] for one in own] for name, own in by_set(results).items()}
    known = {name: [float(value) for value in own if value is not None] for name, own in values.items()}
    if not known or known != values:
        return None
    alone = next(iter(known.values()))
    return estimate([mean(own) for own in known.values()] if len(known) > 1 else alone, bounds=BOUNDS[score])


def accuracy_on_set(results: Sequence[Result], spread: Spread | None) -> Difference:
    """The mean accuracy over the draws of one set; its interval covers the draws and the scored rows."""
    return with_interval(np.array([one.right for one in results], dtype=float), spread)


def set_difference(ours: Sequence[Result], theirs: Sequence[Result], spread: Spread | None) -> Difference:
    """The difference in accuracy on one set, paired by draw; all draws are scored on the same rows."""
    answers = [one.right.astype(float) - other.right for one, other in zip(ours, theirs, strict=True)]
    return with_interval(np.array(answers), spread)


def _usual_rows(results: Sequence[Result]) -> dict[tuple[str, str, int], str]:
    """The most frequent fingerprint of the rows of each block."""
    counts: dict[tuple[str, str, int], Counter[str]] = {}
    for one in results:
        counts.setdefault(one.cell.block, Counter())[one.fingerprint] += 1
    return {block: own.most_common(1)[0][0] for block, own in counts.items()}
