from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.metrics import silhouette_score

from phasefit.metrics.calibration import confidence_entropy
from phasefit.metrics.geometry import (
    alignment,
    anisotropy,
    cosines,
    geometry,
    silhouette,
    uniformity,
    unit,
)
from phasefit.metrics.registry import GEOMETRY, metrics_of

RANGES = {
    "alignment": (0, 4),
    "uniformity": (-8, 0),
    "within": (-1, 1),
    "between": (-1, 1),
    "silhouette": (-1, 1),
    "anisotropy": (-1, 1),
}


def mat(rows: int, columns: int, start: float) -> np.ndarray:
    return np.sin(start + np.arange(rows * columns).reshape(rows, columns))


@st.composite
def labelled(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Vectors, zeros and equal ones among them, and their classes, some without any."""
    rows, columns = draw(st.integers(2, 12)), draw(st.integers(1, 4))
    vectors = draw(arrays(np.float64, (rows, columns), elements=st.integers(-3, 3).map(float)))
    return vectors, np.array(draw(st.lists(st.integers(-1, 3), min_size=rows, max_size=rows)))


def test_reference_values() -> None:
    assert alignment(mat(3, 4, 1), mat(3, 4, 2.5)) == pytest.approx(1.900870561, abs=1e-9)
    assert uniformity(mat(6, 4, 1)) == pytest.approx(-2.030418406, abs=1e-9)


def test_by_hand() -> None:
    # Two texts of one class at a right angle; one of another class opposite to the first.
    figures = geometry(np.array([[2.0, 0.0], [0.0, 1.0], [-5.0, 0.0]]), [0, 0, 1])
    assert figures == pytest.approx(
        {
            "texts": 3,
            "alignment": 2.0,
            "uniformity": math.log((2 * math.exp(-4) + math.exp(-8)) / 3),
            "within": 0.0,
            "between": -0.5,
            "silhouette": ((2 - 1) / 2 + 0 + 0) / 3,  # the second is as near to the third; the third is alone
            "anisotropy": -1 / 3,
        }
    )


@given(labelled())
@settings(max_examples=60)
def test_figures_are_in_their_ranges(given: tuple[np.ndarray, np.ndarray]) -> None:
    figures = geometry(*given)
    assert figures.pop("texts") == len(given[0])
    assert list(figures) == [metric.name for metric in metrics_of(GEOMETRY) if metric.name in figures]
    for name, value in figures.items():
        low, high = RANGES[name]
        assert low <= value <= high, name


@given(labelled(), st.integers(0, 99), st.sampled_from([1e-200, 1e-3, 7.0, 1e200]))
@settings(max_examples=60)
def test_neither_order_nor_length_nor_the_codes_of_classes_matter(
    given: tuple[np.ndarray, np.ndarray], seed: int, scale: float
) -> None:
    vectors, codes = given
    random = np.random.default_rng(seed)
    order = random.permutation(len(codes))
    lengths = scale * random.uniform(0.5, 2, size=(len(codes), 1))
    names = np.where(codes < 0, -1, 9 - codes)
    assert geometry((vectors * lengths)[order], names[order]) == pytest.approx(geometry(vectors, codes), abs=1e-9)


@given(labelled())
@settings(max_examples=60)
def test_silhouette_is_scikit_learns(given: tuple[np.ndarray, np.ndarray]) -> None:
    vectors, codes = given
    if 2 <= len(np.unique(codes)) < len(codes):
        near = cosines(vectors)
        distances = 1 - near
        np.fill_diagonal(distances, 0)
        expected = silhouette_score(np.maximum(distances, 0), codes, metric="precomputed")
        assert silhouette(near, codes) == pytest.approx(expected, abs=1e-9)


def test_alignment_is_that_of_all_pairs_of_a_class() -> None:
    vectors, codes = mat(6, 4, 1), np.array([0, 0, 0, 1, 1, 2])
    first, second = np.array([0, 0, 1, 3]), np.array([1, 2, 2, 4])
    figures = geometry(vectors, codes)
    assert figures["alignment"] == pytest.approx(alignment(vectors[first], vectors[second]))
    assert figures["alignment"] == pytest.approx(2 - 2 * figures["within"])


@pytest.mark.parametrize(
    ("codes", "missing"),
    [
        (None, {"alignment", "within", "between", "silhouette"}),
        ([-1] * 4, {"alignment", "within", "between", "silhouette"}),
        ([0] * 4, {"between", "silhouette"}),
        ([0, 1, 2, 3], {"alignment", "within", "silhouette"}),
        ([0, 0, 1, -1], set()),
    ],
)
def test_undefined_figures_are_dropped(codes: Any, missing: set[str]) -> None:
    assert set(geometry(mat(4, 3, 1), codes)) == {"texts", *RANGES} - missing


@pytest.mark.parametrize("rows", [0, 1])
def test_fewer_than_two_texts_have_no_geometry(rows: int) -> None:
    assert geometry(np.ones((rows, 3)), [0] * rows) == {"texts": rows}


def test_zero_and_nan_vectors_have_no_direction() -> None:
    odd = np.array([[0.0, 0.0], [np.nan, np.inf], [3.0, 4.0]], dtype=np.float32)
    assert unit(odd).tolist() == [[0, 0], [0, 0], [pytest.approx(0.6), pytest.approx(0.8)]]
    figures = geometry(odd, [0, 0, 1])
    assert (figures["alignment"], figures["within"], figures["between"]) == (0, 0, 0)


@given(labelled())
def test_anisotropy_is_the_mean_cosine_of_all_pairs(given: tuple[np.ndarray, np.ndarray]) -> None:
    vectors, _ = given
    assert anisotropy(vectors) == pytest.approx(geometry(vectors)["anisotropy"], abs=1e-12)


def test_anisotropy_by_hand() -> None:
    # A right angle, the same direction, and a right angle again.
    assert anisotropy(np.array([[2.0, 0.0], [0.0, 1.0], [5.0, 0.0]])) == pytest.approx(1 / 3)
    assert anisotropy(np.ones((1, 3))) is None


def test_entropy_of_confidence() -> None:
    assert confidence_entropy(np.full((3, 8), 1 / 8)) == pytest.approx(3)
    assert confidence_entropy(np.eye(4)) == 0
    assert confidence_entropy(np.array([[0.5, 0.5, 0.0], [1.0, 0.0, 0.0]])) == pytest.approx(0.5)
