from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

from phasefit.metrics import classification_metrics
from phasefit.report.facts.calibration import Calibration
from phasefit.report.facts.confusion import Confusion
from phasefit.report.facts.curves import running_mean
from phasefit.report.facts.map import MapPoints, embedding_map
from phasefit.report.pictures import (
    canvas,
    class_bars_figure,
    confusion_figure,
    fonts,
    history_figure,
    map_figure,
    reliability_figure,
)
from phasefit.report.pictures.fonts import printable, replace_undrawable
from phasefit.report.pictures.history import band_widths
from pictures import pixels, words

SCRIPT = "<script>alert('&')</script>"
AWKWARD = ["日本語", "العربية", "हिन्दी", "🙂", "$x^2", "$\\frac$", "a\nb", "", "x" * 300, "100 %", SCRIPT, "]]>--"]


@pytest.fixture(autouse=True)
def _coarse(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few pixels draw quickly."""
    monkeypatch.setattr(canvas, "DPI", 40)


def confusion(names: list[str]) -> dict[str, Any]:
    matrix = (
        np.eye(len(names), dtype=int) * 12345 + np.eye(len(names), k=1, dtype=int) + np.eye(len(names), k=-3, dtype=int)
    )
    matrix[-1] = 0  # a class that is not there
    return {"labels": names, "matrix": matrix.tolist()}


def per_class(names: list[str]) -> dict[str, dict[str, float]]:
    return {
        name: {"precision": 0.5, "recall": 1.0, "f1": 2 / 3, "support": place} for place, name in enumerate(names, 1)
    }


def numbered(classes: int) -> list[str]:
    return [f"class of {place}" for place in range(1, classes + 1)]


# --- all --------------------------------------------------------------------------------------------------------------


def test_names_of_any_kind_are_drawn_without_a_warning_and_run_nothing(tmp_path: Path) -> None:
    confusion_figure(confusion(AWKWARD), tmp_path / "confusion.png")
    class_bars_figure(per_class(AWKWARD), tmp_path / "classes.png")
    history_figure([{"phase": name, "step": 1, "loss": 1.0} for name in AWKWARD[:4]], tmp_path / "history.png")
    map_figure(embedding_map({"one": np.eye(12, 4)}, MapPoints(AWKWARD, np.arange(12))), tmp_path / "map.png")
    for path in tmp_path.glob("*.png"):
        assert pixels(path)
        assert "<script" not in path.with_suffix(".svg").read_text(encoding="utf-8")
        assert any("العربية" in text for text in words(path)), "the SVG has the names as they are"
        assert any("日本語" in text for text in words(path))


def test_names_without_a_font_are_numbered_in_the_png(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fonts, "FALLBACKS", ())
    assert replace_undrawable(["tea", "日本語", "茶 tea", "🙂", "naïve"]) == [
        "tea",
        "class 2",
        "tea (class 3)",
        "class 4",
        "naïve",
    ]
    names = ["tea", "日本語"]
    confusion_figure(confusion(names), tmp_path / "with.png")
    confusion_figure(confusion(["tea", "class 2"]), tmp_path / "without.png")
    assert "日本語" in words(tmp_path / "with.png")
    assert pixels(tmp_path / "with.png")[0] > pixels(tmp_path / "without.png")[0], "a note below explains it"


def test_an_installed_font_is_used_where_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    has = {"DejaVu Sans": frozenset(b"tea"), "Noto Sans CJK SC": frozenset({ord("茶")})}
    monkeypatch.setattr(fonts, "letters_of", lambda family: has.get(family, frozenset()))
    assert fonts.families_for(["tea"]) == []
    assert fonts.families_for(["tea", "茶"]) == ["Noto Sans CJK SC"]
    assert replace_undrawable(["tea", "茶", "🙂"]) == ["tea", "茶", "class 3"]


def test_pictures_are_the_same_every_time_and_in_any_thread(tmp_path: Path) -> None:
    vectors = np.random.default_rng(0).normal(size=(2, 20, 8))
    stages = {"before training": vectors[0], "contrast": vectors[1]}
    for folder in ("main", "thread"):
        (tmp_path / folder).mkdir()

    def draw(folder: Path) -> None:
        confusion_figure(confusion(["a", "b"]), folder / "confusion.png")
        map_figure(embedding_map(stages, MapPoints(["a", "b", "c"], np.arange(20) % 3)), folder / "map.png")

    draw(tmp_path / "main")
    thread = threading.Thread(target=draw, args=[tmp_path / "thread"])
    thread.start()
    thread.join()
    files = sorted(path.name for path in (tmp_path / "main").iterdir())
    assert files == ["confusion.png", "confusion.svg", "map.png", "map.svg"]
    for name in files:
        assert (tmp_path / "main" / name).read_bytes() == (tmp_path / "thread" / name).read_bytes()
    assert "matplotlib.pyplot" not in sys.modules


def test_matplotlibs_settings_are_left_alone(tmp_path: Path) -> None:
    from matplotlib import rcParams

    before = dict(rcParams)
    reliability_figure([], 0.0, tmp_path / "reliability.png")
    assert dict(rcParams) == before


def test_printable_keeps_both_ends() -> None:
    assert printable("short") == "short"
    assert printable("a\tb\x00c") == r"a b\u0000c"
    assert printable("") == "(empty)"
    assert printable("می\u200cخواهم") == "می\u200cخواهم", "joiners are part of the word"
    long = printable("first " + "x" * 50 + " last", 20)
    assert len(long) == 20
    assert long.startswith("first")
    assert long.endswith("last")


# --- confusion and classes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("classes", [1, 2, 6, 20, 50, 150, 400])
def test_size_grows_with_the_classes_within_reason(tmp_path: Path, classes: int) -> None:
    names = numbered(classes)
    confusion_figure(confusion(names), tmp_path / "confusion.png")
    class_bars_figure(per_class(names), tmp_path / "classes.png")
    for file in ("confusion.png", "classes.png"):
        height, width = pixels(tmp_path / file)
        assert 50 < height < 1000
        assert 90 < width < 700


def test_few_classes_have_names_and_counts(tmp_path: Path) -> None:
    confusion_figure({"labels": ["yes", "no"], "matrix": [[7, 2], [0, 5]]}, tmp_path / "confusion.png")
    read = words(tmp_path / "confusion.png")
    assert {"7", "2", "5", "12 of 14 correct (85.7%)"} <= set(read)
    assert "0" not in read
    assert read.count("yes") == read.count("no") == 2


def test_many_classes_have_numbers_a_key_and_the_worst_pairs(tmp_path: Path) -> None:
    matrix = np.eye(70, dtype=int) * 9
    matrix[3, 4] = 5
    confusion_figure({"labels": numbered(70), "matrix": matrix.tolist()}, tmp_path / "confusion.png")
    read = words(tmp_path / "confusion.png")
    assert "5 of 14\u20034\u2002class of 4 predicted as 5\u2002class of 5" in read
    assert sum("class of" in text for text in read) == 71, "the key, once each, and the pair"
    assert {"1", "10", "70"} <= set(read)


def test_fifty_classes_keep_their_names(tmp_path: Path) -> None:
    confusion_figure(confusion(numbered(50)), tmp_path / "confusion.png")
    read = words(tmp_path / "confusion.png")
    assert all(read.count(name) == 2 for name in numbered(50))
    assert "Most often confused" in read


def test_confused_pairs_come_in_order() -> None:
    confused = Confusion(["a", "b", "c"], np.array([[5, 2, 0], [3, 1, 2], [0, 0, 9]])).pairs(12)
    pairs = [(pair.true, pair.predicted) for pair in confused]
    assert pairs == [(1, 0), (1, 2), (0, 1)], "by count, then by the share of the true class"
    assert [(pair.rows, pair.share) for pair in confused] == [(3, 1 / 2), (2, 1 / 3), (2, 2 / 7)]
    assert Confusion(["a", "b", "c"], np.array([[5, 2, 0], [3, 1, 2], [0, 0, 9]])).pairs(1) == confused[:1]


def test_the_weakest_of_very_many_classes_are_shown(tmp_path: Path) -> None:
    each = {f"c{place}": {"precision": 1, "recall": 1, "f1": place / 100, "support": 1} for place in range(100)}
    each["absent"] = {"precision": 0, "recall": 0, "f1": 0, "support": 0}
    class_bars_figure(each, tmp_path / "classes.png")
    read = words(tmp_path / "classes.png")
    assert "The 60 weakest of 100 classes (1 without rows not shown)" in read
    assert {f"c{place}" for place in range(60)} == {text for text in read if text.startswith("c")}


# --- reliability ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rows", "classes"), [(33, 2), (1, 3), (400, 150)])
def test_reliability_shows_every_bin(tmp_path: Path, rows: int, classes: int) -> None:
    random = np.random.default_rng(0)
    true, probabilities = random.integers(classes, size=rows), random.dirichlet(np.ones(classes) / 5, size=rows)
    report = classification_metrics(true, probabilities, numbered(classes))
    reliability_figure(report["calibration"], report["ece"], tmp_path / "reliability.png")
    assert pixels(tmp_path / "reliability.png")
    read = words(tmp_path / "reliability.png")
    assert f"Expected calibration error (ECE) {report['ece']:.3f}" in read
    assert {str(each["rows"]) for each in report["calibration"]} <= set(read)


@pytest.mark.parametrize(
    ("rows", "confidence", "accuracy", "verdict"),
    [
        (1000, 0.9, 0.7, "accuracy 70.0%: overconfident."),
        (1000, 0.6, 0.7, "accuracy 70.0%: underconfident."),
        (10, 0.85, 0.7, "well calibrated\n(the difference is within noise for 10 rows)."),
    ],
)
def test_the_verdict_depends_on_the_number_of_rows(rows: int, confidence: float, accuracy: float, verdict: str) -> None:
    bins = [{"from": 0.6, "to": 1.0, "rows": rows, "confidence": confidence, "accuracy": accuracy}]
    assert Calibration.of(bins).verdict.endswith(verdict)


# --- history ----------------------------------------------------------------------------------------------------------


def entries(phase: str, steps: int, watch: str = "macro_f1") -> list[dict[str, Any]]:
    every = [{"phase": phase, "step": step, "loss": 1 / step} for step in range(1, steps + 1)]
    scores = [
        {"phase": phase, "step": step, "scores": {watch: step / steps}, "watch": watch, "improved": step < steps}
        for step in range(5, steps + 1, 5)
    ]
    return every + scores


@pytest.mark.parametrize("phases", [1, 3, 6, 8])
def test_history_shows_all_phases_in_one_picture(tmp_path: Path, phases: int) -> None:
    names = [f"phase-{place}" for place in range(phases)]
    history_figure([entry for name in names for entry in entries(name, 10)], tmp_path / "history.png")
    height, width = pixels(tmp_path / "history.png")
    assert 150 < height < 700
    assert 250 < width < 750
    read = words(tmp_path / "history.png")
    assert [text for text in read if text.startswith("phase-")] == names
    assert sum("kept 0.500 after 5 steps" in text for text in read) == phases


def test_steps_are_counted_across_all_phases(tmp_path: Path) -> None:
    history_figure([*entries("a", 100), *entries("b", 100)], tmp_path / "history.png")
    ticks = [int(text) for text in words(tmp_path / "history.png") if text.isdigit()]
    assert min(ticks) == 0
    assert max(ticks) == 200


def test_a_long_history_is_a_small_file(tmp_path: Path) -> None:
    history_figure(entries("finetune", 20_000), tmp_path / "history.png")
    assert (tmp_path / "history.svg").stat().st_size < 300_000


@pytest.mark.parametrize(
    "history",
    [
        [{"phase": "a", "step": 1, "loss": 0.5}],
        [{"phase": "a", "step": 1, "loss": float("nan")}, {"phase": "a", "step": 2, "loss": 0.5}],
        [{"phase": "a", "step": 1, "loss": float("inf")}],
        [{"phase": "a", "step": 1, "scores": {"loss": 0.5}, "improved": False}],
        [{"phase": "a", "step": 1, "scores": {"loss": float("nan")}, "improved": False}],
        [{"phase": "a", "step": 1, "scores": {"x": 0.5, "probe": 0.7}, "watch": "probe", "improved": True}],
        [{"phase": "a", "step": 0, "scores": {"probe": 0.7}, "watch": "probe", "improved": True}],
    ],
    ids=["one step", "a gap", "no number", "validation alone", "score no number", "named watch", "no step"],
)
def test_short_histories_are_drawn(tmp_path: Path, history: list[dict[str, Any]]) -> None:
    history_figure(history, tmp_path / "history.png")
    assert pixels(tmp_path / "history.png")


def test_missing_losses_and_scores_are_noted(tmp_path: Path) -> None:
    history_figure([{"phase": "a", "step": 1, "loss": float("nan")}, *entries("b", 4)], tmp_path / "history.png")
    read = words(tmp_path / "history.png")
    assert "no loss" in read
    assert read.count("not validated") == 2


def test_an_empty_history_is_still_a_picture(tmp_path: Path) -> None:
    history_figure([], tmp_path / "history.png")
    assert imread(tmp_path / "history.png").ndim == 3


def test_short_phases_stay_wide_enough_to_read() -> None:
    assert min(band_widths([5, 10_000, 20])) > 0.2
    assert band_widths([10, 10]) == pytest.approx([0.5, 0.5])
    assert band_widths([]) == []


def test_running_mean_by_hand() -> None:
    assert running_mean(np.array([2.0, 4.0, 6.0, 8.0]), 2).tolist() == [2, 3, 5, 7]
