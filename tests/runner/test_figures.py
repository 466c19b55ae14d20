from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.image import imread

from phasefit.runner.figures import class_bars_figure, confusion_figure, history_figure
from phasefit.runner.figures.canvas import printable
from phasefit.runner.figures.history import running_mean

AWKWARD = ["日本語", "العربية", "हिन्दी", "🙂", "$x^2", "$\\frac$", "a\nb", "", "x" * 300, "100 %"]


def pixels(path: Path) -> tuple[int, int]:
    """Height and width of a picture that is not blank."""
    picture = imread(path)
    assert picture.std() > 0
    return picture.shape[:2]


def confusion(names: list[str]) -> dict[str, Any]:
    matrix = np.eye(len(names), dtype=int) * 12345 + 1
    matrix[-1] = 0  # a class that is not there
    return {"labels": names, "matrix": matrix.tolist()}


def per_class(names: list[str]) -> dict[str, dict[str, float]]:
    return {name: {"precision": 0.5, "recall": 1.0, "f1": 2 / 3, "support": place} for place, name in enumerate(names)}


@pytest.mark.parametrize("classes", [1, 2, 10, 50, 210])
def test_size_grows_with_the_classes_within_reason(tmp_path: Path, classes: int) -> None:
    names = [f"class {place}" for place in range(classes)]
    confusion_figure(confusion(names), tmp_path / "confusion.png")
    class_bars_figure(per_class(names), tmp_path / "classes.png")
    for file in ("confusion.png", "classes.png"):
        height, width = pixels(tmp_path / file)
        assert 200 < height < 4000
        assert 300 < width < 4000


def test_names_of_any_kind_are_drawn_without_a_warning(tmp_path: Path) -> None:
    confusion_figure(confusion(AWKWARD), tmp_path / "confusion.png")
    class_bars_figure(per_class(AWKWARD), tmp_path / "classes.png")
    history_figure([{"phase": name, "step": 1, "loss": 1.0} for name in AWKWARD], tmp_path / "history.png")
    assert all(pixels(path) for path in tmp_path.iterdir())


def entries(phase: str, steps: int) -> list[dict[str, Any]]:
    every = [{"phase": phase, "step": step, "loss": 1 / step} for step in range(1, steps + 1)]
    scores = [
        {"phase": phase, "step": step, "scores": {"macro_f1": step / steps}, "improved": step < steps}
        for step in range(5, steps + 1, 5)
    ]
    return every + scores


def test_history_has_a_panel_a_phase(tmp_path: Path) -> None:
    history_figure(entries("finetune", 20), tmp_path / "one.png")
    history_figure([*entries("denoise", 20), *entries("contrast", 10)], tmp_path / "two.png")
    history_figure([entry for phase in "abcd" for entry in entries(phase, 10)], tmp_path / "four.png")
    one, two, four = (pixels(tmp_path / f"{name}.png") for name in ("one", "two", "four"))
    assert two[1] > 1.7 * one[1]
    assert four[0] > 1.7 * one[0]


@pytest.mark.parametrize(
    "history",
    [
        [{"phase": "a", "step": 1, "loss": 0.5}],
        [{"phase": "a", "step": 1, "loss": float("nan")}, {"phase": "a", "step": 2, "loss": 0.5}],
        [{"phase": "a", "step": 1, "scores": {"loss": 0.5}, "improved": False}],
        [{"phase": "a", "step": 1, "scores": {"x": 0.5, "probe": 0.7}, "watch": "probe", "improved": True}],
    ],
    ids=["one step", "not a number", "validation alone", "named watch"],
)
def test_short_histories_are_drawn(tmp_path: Path, history: list[dict[str, Any]]) -> None:
    history_figure(history, tmp_path / "history.png")
    assert pixels(tmp_path / "history.png")


def test_an_empty_history_is_still_a_picture(tmp_path: Path) -> None:
    history_figure([], tmp_path / "history.png")
    assert imread(tmp_path / "history.png").ndim == 3


def test_pictures_are_the_same_every_time_and_in_any_thread(tmp_path: Path) -> None:
    confusion_figure(confusion(["a", "b"]), tmp_path / "main.png")
    thread = threading.Thread(target=confusion_figure, args=(confusion(["a", "b"]), tmp_path / "thread.png"))
    thread.start()
    thread.join()
    assert (tmp_path / "main.png").read_bytes() == (tmp_path / "thread.png").read_bytes()
    assert "matplotlib.pyplot" not in sys.modules


def test_printable_keeps_both_ends() -> None:
    assert printable("short") == "short"
    assert printable("a\tb\x00c") == "a b c"
    assert printable("") == "(empty)"
    long = printable("first " + "x" * 50 + " last", 20)
    assert len(long) == 20
    assert long.startswith("first")
    assert long.endswith("last")


def test_running_mean_by_hand() -> None:
    assert running_mean(np.array([2.0, 4.0, 6.0, 8.0]), 2).tolist() == [2, 3, 5, 7]
