"""The error due to the number of scored rows, for correlations of pairs."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from phasefit.metrics.jackknife import standard_error
from phasefit.studies.result import Result
from phasefit.studies.row_errors import difference_error, row_groups

SPEARMAN = "test.spearman"


def run(score: float, left_out: list[float] | None = None) -> tuple[float, Result]:
    replicates = {} if left_out is None else {"spearman": left_out}
    metrics = {"test": {"spearman": score, "rows": 1001}}
    return score, Result(metrics, {"train": 50}, own_test=True, seconds=1.0, memory_mb=1.0, replicates=replicates)


def test_a_difference_of_correlations_uses_the_replicates_of_both() -> None:
    one, other = [0.50, 0.52, 0.51], [0.49, 0.48, 0.50]
    known = difference_error([run(0.51, one)], [run(0.49, other)], SPEARMAN)
    assert known == pytest.approx(standard_error(np.subtract(one, other).tolist()))


def test_without_replicates_a_small_difference_of_correlations_proves_nothing() -> None:
    known = difference_error([run(0.6), run(0.6)], [run(0.0), run(0.0)], SPEARMAN)
    assert known == pytest.approx(sqrt(0.64**2 + 1) / sqrt(1000))


def test_few_rows_have_few_groups() -> None:
    def of(rows: int) -> list[tuple[float, Result]]:
        return [(0.5, Result({"test": {}}, {"test": rows}, own_test=True, seconds=1.0, memory_mb=1.0))]

    assert [row_groups(of(rows), "test.accuracy") for rows in (1, 6, 20, 500)] == [2, 6, 20, 20]
    assert row_groups([(0.5, of(6)[0][1]), (0.5, of(9)[0][1])], "test.accuracy") == 6
    assert row_groups(of(6), "validation.accuracy") == 20, "unknown"
