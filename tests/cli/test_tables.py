from __future__ import annotations

import io

import numpy as np
import pytest
from rich.console import Console

from phasefit.cli.console import as_json, printable
from phasefit.cli.tables import classes_table, facts_table, metrics_table, phases_table
from phasefit.report.limits import MOST_LISTED

NASTY = ["[bold]", "[/]", ":smile:", "🙂", "a\nb", "\x1b[31mred", "x" * 500, "مرحبا"]


def drawn(table, width: int = 120) -> str:
    console = Console(file=io.StringIO(), width=width, markup=False, emoji=False, highlight=False)
    console.print(table)
    return console.file.getvalue()


def test_metrics_of_several_parts_are_columns():
    part = {
        "rows": 1066,
        "accuracy": 0.5,
        "accuracy_ci95": [0.4, 0.6],
        "macro_f1": 0.25,
        "roc_auc": None,
        "per_class": {},
    }
    output = drawn(metrics_table({"validation": part, "test": {"rows": 5, "accuracy": 1.0}}))
    assert "0.5000 (0.4000 to 0.6000)" in output
    assert "macro F1" in output
    assert "1,066" in output
    assert "per class" not in output


def test_levels_of_a_tree_are_shown():
    levels = [{"accuracy": 0.9, "macro_f1": 0.8}, {"accuracy": 0.7, "macro_f1": 0.6}]
    output = drawn(metrics_table({"test": {"accuracy": 0.7, "levels": levels}}))
    assert "level 1 accuracy" in output
    assert "level 2 macro F1" in output


@pytest.mark.parametrize("width", [20, 80, 200])
def test_class_names_are_shown_as_they_are(width):
    figures = {"precision": 0.5, "recall": 0.5, "f1": 0.5, "support": 3}
    output = drawn(classes_table(dict.fromkeys(NASTY, figures)), width)
    assert "\x1b" not in output
    if width > 20:
        assert "[bold]" in output
        assert ":smile:" in output
        assert max(map(len, output.splitlines())) <= width


def test_very_many_classes_show_the_weakest():
    figures = {f"class {n}": {"precision": 0.5, "recall": 0.5, "f1": n / 1000, "support": 1} for n in range(1000)}
    output = drawn(classes_table(dict(reversed(figures.items()))))
    assert f"The {MOST_LISTED} weakest of 1,000 classes" in " ".join(output.split())
    assert "class 0 " in output
    assert "class 999" not in output


def test_phases():
    phases = [
        {"name": "denoise", "steps": 10, "seconds": 1.0, "best": {"loss": 2.0}},
        {"name": "x", "steps": 1, "seconds": 1, "best": 0.5},
    ]
    output = drawn(phases_table(phases))
    assert "loss 2.0000" in output
    assert "0.5000" in output


def test_the_score_before_a_phase_is_shown_with_the_one_it_kept() -> None:
    phase = {"name": "denoise", "steps": 60, "seconds": 1, "watch": "probe", "best": {"probe": 0.95}, "best_step": 40}
    assert "0.9500 (before: 0.9400)" in drawn(phases_table([{**phase, "before": 0.94}]))
    assert "before" not in drawn(phases_table([{**phase, "before": None}]))
    discarded = drawn(phases_table([{**phase, "before": 0.94, "reverted": True}]))
    assert "no improvement, changes discarded" in discarded
    assert "before" not in discarded
    assert "0.9500 (skipped)" in drawn(phases_table([{**phase, "before": 0.95, "skipped": True}]))


def test_facts():
    output = drawn(facts_table({"max_length": 256, "rows": {"train": 1000}, "classes": ["[a]", "b"]}))
    for piece in ("max length", "256", "train 1,000", "[a], b"):
        assert piece in output


def test_printable():
    assert printable(("a", "b")) == "a / b"
    assert printable("x" * 100, 10) == "x" * 9 + "…"
    assert printable("a\nb\x00c") == r"a b\u0000c"


def test_json_is_strict():
    value = {"a": np.float64("inf"), "b": np.arange(2), 3: ("é", None, True)}
    assert as_json(value).replace("\n", "").replace(" ", "") == '{"a":null,"b":[0,1],"3":["é",null,true]}'
