"""The limits of the checks, with injected figures."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from phasefit.data.labels import label_space
from phasefit.data.labels.score import ScoreLabels
from phasefit.export.card import card, figure_rows
from phasefit.export.checks import same_decisions
from phasefit.export.figures import Figures, TaskFigures
from phasefit.kinds.decision import Decision

TASK = TaskFigures(1000, 2e-6, 1000, 0, "accuracy", 1000, 0.9471, 0.9471)
FP32 = Figures("fp32", {"default": TASK}, 200, 1e-7, 1.0, 12, 1e-6, {1: 2.0, 32: 1.0}, "", 90_000_000)
INT8 = replace(FP32, precision="int8", speed={1: 5.0, 32: 2.5}, size=23_000_000)


def with_task(figures: Figures, **changes: object) -> Figures:
    return replace(figures, tasks={"default": replace(TASK, **changes)})


@pytest.mark.parametrize("figures", [FP32, INT8], ids=["fp32", "int8"])
def test_good_figures_pass(figures: Figures) -> None:
    assert figures.problems() == []


@pytest.mark.parametrize(
    ("figures", "problem"),
    [
        (with_task(FP32, difference=2e-4), r"outputs differ from those of torch by 0\.0002 \(at most 0\.0001\)"),
        (replace(FP32, wild_difference=0.01), r"outputs differ from those of torch by 0\.01"),
        (replace(FP32, embedding_difference=0.01), r"outputs differ from those of torch by 0\.01"),
        (with_task(FP32, equal=998), r"2 of 1,000 decisions differ from those of torch"),
        (replace(FP32, wild_difference=float("nan")), "some outputs are not numbers"),
        (
            with_task(INT8, after=0.9420),
            r"accuracy falls from 94\.71 to 94\.20 on 1,000 rows \(at most 0\.5 points are allowed\)",
        ),
        (with_task(INT8, labelled=399, rows=399, equal=394), r"only 98\.7 % of the 399 decisions equal those of torch"),
        (with_task(INT8, before=None, after=None, labelled=0, equal=900), r"only 90\.0 % of the 1,000 decisions"),
        (replace(INT8, speed={1: 1.49, 32: 3.0}), r"at batch size 1 it is only 1\.49 times as fast as torch"),
        (replace(INT8, speed={1: 3.0, 32: 1.2}), r"at batch size 32 it is only 1\.20 times as fast as torch"),
        (replace(INT8, tasks={}, cosine=0.98), r"the mean cosine with torch's embeddings is only 0\.9800"),
        (with_task(INT8, difference=float("nan")), "some outputs are not numbers"),
    ],
)
def test_what_is_refused(figures: Figures, problem: str) -> None:
    (found,) = figures.problems()
    assert re.match(problem, found), found


@pytest.mark.parametrize(
    "figures",
    [
        with_task(INT8, after=0.9421),  # exactly half a point
        with_task(INT8, equal=800),  # with labels, the score counts
        with_task(INT8, labelled=399, rows=399, equal=396, after=0.5),  # too few rows for a score
        with_task(INT8, after=0.97),
        with_task(FP32, equal=998, ties=2),
        replace(INT8, speed={1: 1.5, 32: 1.5}),
        replace(FP32, speed={1: 0.5, 32: 0.5}),  # float32 may be slow
        replace(INT8, wild_difference=0.4),
    ],
)
def test_what_passes(figures: Figures) -> None:
    assert figures.problems() == []


def test_several_tasks_are_named() -> None:
    figures = replace(INT8, tasks={"a": TASK, "b": replace(TASK, after=0.9)})
    (problem,) = figures.problems()
    assert problem.startswith("accuracy of task 'b' falls from 94.71 to 90.00 on 1,000 rows")


def test_ties_of_classes() -> None:
    space = label_space(["a", "b", "c"])
    ours = np.array([[0.40001, 0.4, 0.19999], [0.6, 0.3, 0.1], [0.35001, 0.34, 0.30999]])
    theirs = np.array([[0.4, 0.40001, 0.19999], [0.3, 0.6, 0.1], [0.34999, 0.34, 0.31001]])
    equal, ties = same_decisions(space, Decision(reject_below=0.35), ours, theirs, 1e-4)
    assert equal.tolist() == [False, False, False]
    assert ties.tolist() == [True, False, True]


def test_ties_of_several_labels() -> None:
    space = label_space([frozenset({"a"}), frozenset({"b"})])
    decision = Decision(thresholds=(0.5, 0.2))
    ours = np.array([[0.50001, 0.3], [0.50001, 0.3], [0.7, 0.1]])
    theirs = np.array([[0.49999, 0.3], [0.49999, 0.1], [0.7, 0.1]])
    equal, ties = same_decisions(space, decision, ours, theirs, 1e-4)
    assert equal.tolist() == [False, False, True]
    assert ties.tolist() == [True, False, True]


def test_scores() -> None:
    plain = ScoreLabels([], mean=10, spread=2)
    ours, theirs = np.array([[10.0], [12.0]]), np.array([[10.09], [12.2]])
    assert same_decisions(plain, Decision(), ours, theirs, 0.05)[0].tolist() == [True, False]
    levels = ScoreLabels([0.5, 1.5], mean=1, spread=1, levels=["bad", "fair", "good"])
    ours, theirs = np.array([[0.50001], [1.2], [0.3]]), np.array([[0.49999], [1.3], [0.7]])
    equal, ties = same_decisions(levels, Decision(), ours, theirs, 0.05)
    assert equal.tolist() == [False, True, False]
    assert (ties & ~equal).tolist() == [True, False, False]


def test_the_card_has_the_figures() -> None:
    facts = {
        "run": "re|views",
        "model": "some/model",
        "engine": "onnx",
        "precision": "int8",
        "tasks": {"default": {"kind": "single", "pair": None, "space": label_space(["a", "b"]).to_json()}},
    }
    figures = replace(INT8, variant="the heads")
    text = card(facts, figures, forced=True)
    assert "re&#124;views" in text
    assert "--force" in text
    assert "a, b" in text
    for name, value in figure_rows(figures):
        assert name in text
        assert value in text
    assert dict(figure_rows(figures))["size on disk"] == "23.0 MB"


def test_forced_figures_are_valid_json() -> None:
    figures = replace(with_task(INT8, difference=float("nan")), wild_difference=float("inf"))
    content = json.loads(json.dumps(figures.to_json(), allow_nan=False))
    assert content["wild_difference"] is None
    assert content["tasks"]["default"]["difference"] is None
    assert content["speed"] == {"1": 5.0, "32": 2.5}
