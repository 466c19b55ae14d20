"""The picture of predicted against true scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from phasefit.metrics.regression import regression_metrics
from phasefit.report.pictures import canvas, scatter_figure
from phasefit.report.pictures.scatter import means
from pictures import pixels, words


@pytest.fixture(autouse=True)
def _coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few pixels draw quickly."""
    monkeypatch.setattr(canvas, "DPI", 40)


def points(rows: int = 50) -> list[list[float]]:
    random = np.random.default_rng(0)
    true = random.normal(2, 1, size=rows)
    return regression_metrics(true, true + random.normal(0, 0.5, size=rows))["points"]


def test_rows_and_correlation_are_shown(tmp_path: Path) -> None:
    scatter_figure(points(), tmp_path / "scores.png", "test")
    height, width = pixels(tmp_path / "scores.png")
    assert 150 < height < 300
    assert 150 < width < 300
    read = words(tmp_path / "scores.png")
    assert any(text.startswith("50 test rows, Pearson 0.") for text in read)
    assert {"true score", "predicted score", "one row", "perfect prediction", "mean prediction"} <= set(read)


@pytest.mark.parametrize(
    ("given", "title"),
    [
        ([[1.0, 2.0]], "1 row"),
        ([[1.0, 1.0]], "1 row"),
        ([[3.0, 0.5], [3.0, 0.7], [3.0, 0.1]], "3 rows"),
        ([[0.0, 3.0], [1.0, 3.0]], "2 rows"),
        ([[0.0, 0.0]] * 4, "4 rows"),
        ([[1e9, -1e9], [2e9, 1e9]], "2 rows, Pearson 1.000"),
    ],
)
def test_few_rows_and_constant_scores_are_drawn(tmp_path: Path, given: list[list[float]], title: str) -> None:
    scatter_figure(given, tmp_path / "scores.png")
    assert pixels(tmp_path / "scores.png")
    assert title in words(tmp_path / "scores.png")


def test_it_is_the_same_every_time(tmp_path: Path) -> None:
    for name in ("one", "two"):
        scatter_figure(points(), tmp_path / f"{name}.png")
    for kind in ("png", "svg"):
        assert (tmp_path / f"one.{kind}").read_bytes() == (tmp_path / f"two.{kind}").read_bytes()


def test_means_are_of_groups_in_the_order_of_the_true_score() -> None:
    true = np.arange(100.0)
    middle, mean = means(true, 2 * true, bins=4)
    assert middle.tolist() == [12.0, 37.0, 62.0, 87.0]
    assert mean == pytest.approx(2 * middle)


@pytest.mark.parametrize("true", [[5.0], [5.0] * 9, [0.0] * 60 + [1.0] * 40])
def test_groups_without_rows_are_skipped(true: list[float]) -> None:
    middle, mean = means(np.array(true), np.arange(len(true), dtype=float))
    assert len(middle) == len(mean) == len(set(true))
    assert middle.tolist() == sorted(set(true))
