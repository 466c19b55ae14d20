from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from phasefit.report.facts.layout import agreement, principal_axes, rotated, stable_layouts
from phasefit.report.facts.map import MapPoints, embedding_map
from phasefit.report.limits import MOST_COLOURED
from phasefit.report.pictures import canvas, map_figure
from phasefit.report.pictures.map import COLOURS, MARKERS, legend_columns
from pictures import pixels, words


@pytest.fixture(autouse=True)
def _coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few pixels draw quickly."""
    monkeypatch.setattr(canvas, "DPI", 40)


def clusters(classes: int, each: int, spread: float = 0.3, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return vectors around one centre per class, and their classes."""
    random = np.random.default_rng(seed)
    codes = np.repeat(np.arange(classes), each)
    return random.normal(size=(classes, 16))[codes] + spread * random.normal(size=(len(codes), 16)), codes


@pytest.mark.parametrize("classes", [2, 6, 20, 50, 150])
def test_the_legend_names_every_class_or_the_largest(tmp_path: Path, classes: int) -> None:
    vectors, codes = clusters(classes, 1)
    vectors, codes = np.vstack([vectors, vectors[:1]]), np.append(codes, classes - 1)  # the last class is the largest
    names = [f"a class of a long name {code}" for code in range(classes)]
    map_figure(
        embedding_map({"before training": vectors}, MapPoints(names, codes, caption="rhymes")), tmp_path / "map.png"
    )
    read = words(tmp_path / "map.png")
    method = "PCA" if classes < 9 else "t-SNE"
    assert f"{classes + 1} rhymes ({method}): nearby points are similar, the axes have no meaning" in read
    assert {"before training", names[0], names[-1]} <= set(read)
    assert sum(text in names for text in read) == min(classes, MOST_COLOURED)
    assert ("90 smaller classes" in read) == (classes == 150)
    height, width = pixels(tmp_path / "map.png")
    assert 100 < height < 400
    assert 200 < width < 700


@pytest.mark.parametrize("stages", [1, 2, 4, 7])
def test_one_panel_per_stage(tmp_path: Path, stages: int) -> None:
    vectors, codes = clusters(2, 4)
    taken = {"before training": vectors} | {f"phase-{stage}": vectors[:, stage:] for stage in range(1, stages)}
    map_figure(embedding_map(taken, MapPoints(["yes", "no"], codes)), tmp_path / "map.png")
    read = words(tmp_path / "map.png")
    assert [text for text in read if text.startswith("after")] == [f"after phase-{stage}" for stage in range(1, stages)]
    assert sum(text.startswith("nearest text in the same class: ") for text in read) == stages


def test_the_share_names_the_groups(tmp_path: Path) -> None:
    vectors, codes = clusters(2, 6)
    map_figure(
        embedding_map({"before training": vectors}, MapPoints(["bad", "good"], codes, "level")), tmp_path / "map.png"
    )
    assert any(text.startswith("nearest text in the same level: ") for text in words(tmp_path / "map.png"))


def test_texts_without_labels_are_one_cloud(tmp_path: Path) -> None:
    vectors, codes = clusters(2, 4)
    taken = {"before training": vectors, "simcse": vectors + 1}
    map_figure(embedding_map(taken, MapPoints([], codes * 0 - 1, caption="rhymes")), tmp_path / "map.png")
    read = words(tmp_path / "map.png")
    assert {"before training", "after simcse"} <= set(read)
    assert any(text.startswith("8 rhymes") for text in read)
    assert not any("same class" in text for text in read)
    assert pixels(tmp_path / "map.png")


def test_sixty_classes_have_different_markers() -> None:
    assert len(set(COLOURS)) == 12
    assert len(set(MARKERS)) == 5


def test_legend_columns_fit_the_width() -> None:
    assert legend_columns(["short"] * 4, 8.0, 8.5) == 4
    assert legend_columns(["a rather long name"] * 50, 8.0, 7.5) * (0.35 + 0.0083 * 7.5 * 18) <= 8.0
    assert legend_columns(["x" * 500], 8.0, 7.5) == 1


@pytest.mark.parametrize(
    "vectors",
    [
        np.zeros((20, 4)),
        np.ones((20, 4)),
        np.repeat(np.eye(2, 4), 10, axis=0),
        np.full((20, 4), np.nan),
        np.where(np.arange(80).reshape(20, 4) % 7 == 0, np.inf, 1.0),
        np.arange(20.0).reshape(20, 1),
        np.eye(1, 4),
        np.eye(2, 4),
        np.eye(9),
        np.eye(10),
    ],
    ids=["zeros", "one place", "duplicates", "nan", "inf", "one dimension", "one", "two", "nine", "ten"],
)
def test_odd_vectors_have_finite_layouts(vectors: np.ndarray) -> None:
    first, second = stable_layouts([vectors, vectors + np.random.default_rng(0).normal(size=vectors.shape)])
    assert first.shape == second.shape == (len(vectors), 2)
    assert np.isfinite(first).all()
    assert np.isfinite(second).all()


def test_layouts_keep_clusters_apart_and_in_their_place() -> None:
    before, codes = clusters(4, 12, spread=0.8)
    after, _ = clusters(4, 12, spread=0.3)
    first, second = stable_layouts([before, after])
    assert agreement(second, codes) is not None
    centres = [np.array([layout[codes == code].mean(axis=0) for code in range(4)]) for layout in (first, second)]
    gaps = np.linalg.norm(centres[1][:, None] - centres[1], axis=2)
    moved = np.linalg.norm(centres[0] - centres[1], axis=1)
    assert moved.max() < gaps[gaps > 0].min(), "no class moves as far as its nearest neighbour"
    nearest = np.linalg.norm(second[:, None] - centres[1], axis=2).argmin(axis=1)
    assert (nearest == codes).all()


def test_layouts_are_the_same_every_time_and_still_when_nothing_changed() -> None:
    vectors, _ = clusters(3, 5)
    one, two, three = stable_layouts([vectors, vectors * 2, vectors[::-1]])
    assert one is two, "cosines do not see length"
    for layout, again in zip((one, two, three), stable_layouts([vectors, vectors * 2, vectors[::-1]]), strict=True):
        assert np.array_equal(layout, again)


def test_a_rotated_and_mirrored_layout_is_rotated_back() -> None:
    layout = np.random.default_rng(0).normal(size=(9, 2))
    turn = np.array([[0.6, -0.8], [-0.8, -0.6]])
    assert rotated(layout @ turn + 5, layout) == pytest.approx(layout - layout.mean(axis=0))


def test_principal_axes_come_in_order() -> None:
    points = np.random.default_rng(0).normal(size=(50, 3)) * [1, 9, 3]
    axes = principal_axes(points)
    assert axes.std(axis=0) == pytest.approx([points[:, 1].std(), points[:, 2].std()], rel=0.1)


def test_agreement_by_hand() -> None:
    vectors = np.array([[1, 0], [1, 0.1], [0, 1], [0.1, 1], [1, 1]])
    # The first two are nearest to each other, so are the next two; the last is the only text of its class.
    assert agreement(vectors, np.array([0, 0, 1, 1, 2])) == 1
    assert agreement(vectors, np.array([0, 1, 0, 1, 2])) == 0
    assert agreement(vectors, np.arange(5)) is None
