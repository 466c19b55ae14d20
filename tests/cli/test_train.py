from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

from phasefit.cli.train import plan_facts
from phasefit.events import Note, PhaseStarted, Stage
from phasefit.runs.specification import OPTIONS
from specs import run_spec


def test_defaults_are_those_of_the_request(phasefit, training, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["phasefit", "train", "my data.csv"])
    monkeypatch.delenv("PHASEFIT_DATA", raising=False)
    assert phasefit("train", "my data.csv").exit_code == 0
    assert training.spec == run_spec("my data.csv", baselines=True, command="phasefit train 'my data.csv'")


def test_every_option_arrives(phasefit, training, monkeypatch):
    line = (
        "train d.csv --text t --label a --label b --tree / --validation v.csv --test e.csv --unlabelled u.csv "
        "--validation-size 0.3 --test-size 0 --rows 9 --unseen drop --leaked drop-train -r finetune "
        "-s finetune.epochs=1 --set a.b=c -m enc --seed 7 -o out --overwrite --refit --device cpu "
        "--threads 2 --precision bf16 --track tensorboard --data-dir dd --no-calibrate --reject 0.1 --long windows"
    )
    monkeypatch.setattr(sys, "argv", ["phasefit", *line.split()])
    assert phasefit(*line.split()).exit_code == 0
    assert training.spec == run_spec(
        data="d.csv", text=("t",), label=("a", "b"), tree="/", validation="v.csv", test="e.csv", unlabelled="u.csv",
        validation_size=0.3, test_size=0.0, rows=9, unseen="drop", leaked="drop-train", recipe="finetune",
        settings=("finetune.epochs=1", "a.b=c", "long=windows"), model="enc", seed=7, out=Path("out"), overwrite=True,
        refit=True, calibrate=False, reject=0.1, device="cpu", threads=2, precision="bf16",
        track="tensorboard", data_dir=Path("dd"), command="phasefit " + line, baselines=True,
    )  # fmt: skip


def test_no_field_of_a_request_lacks_its_option():
    from phasefit.cli.train import train

    only_python = {"command", "model_name", "report", "score_test", "recipe_toml", "read_as"}
    assert {*OPTIONS} - only_python <= set(signature(train).parameters)


def test_the_result_is_on_stdout_and_the_progress_on_stderr(phasefit, training):
    training.events = [Stage("reading"), Note("a note"), PhaseStarted("finetune", 1, 1, 40, "macro_f1")]
    result = phasefit("train", "snips")
    assert result.exit_code == 0
    assert "0.9000 (0.8000 to 0.9500)" in result.stdout
    assert "12 s" in result.stdout
    assert "runs/some data" in result.stdout
    assert "phasefit predict 'runs/some data'" in result.stdout
    assert "a note" in result.stderr
    assert "a note" not in result.stdout


def test_quiet_leaves_warnings_and_the_result(phasefit, training):
    training.events = [Stage("reading"), Note("a note"), Note("look here", warning=True)]
    result = phasefit("train", "snips", "--quiet")
    assert result.stderr == "warning: look here\n"
    assert "accuracy" in result.stdout


def test_json_is_all_there_is_on_stdout(phasefit, training):
    training.metrics["validation"]["roc_auc"] = float("nan")
    result = phasefit("train", "snips", "--json")
    metrics = json.loads(result.stdout, parse_constant=pytest.fail)
    assert metrics["test"]["accuracy"] == 0.7
    assert metrics["validation"]["roc_auc"] is None


def test_no_test_split_no_test_column(phasefit, training):
    del training.metrics["test"]
    result = phasefit("train", "snips")
    assert result.exit_code == 0
    assert "test" not in result.stdout.replace("latest", "")


@dataclass
class Phase:
    name: str = "contrast"
    rows: int = 230
    steps: int = 1200
    pairs: int | None = 26335
    parameters: int = 22_713_216
    trained_parameters: int = 22_713_216
    seconds: float = 75.0


@dataclass
class Plan:
    phases: list[Phase]
    facts: dict[str, Any]
    notes: list[str]
    seconds: float = 99.0


@pytest.fixture
def plan(install):
    facts = {"data": "snips", "rows": {"train": 230, "validation": 65}, "classes": 10, "model": "[red]"}
    planned = Plan([Phase(), Phase("finetune", pairs=None)], facts, ["balanced: nothing to correct"])
    install("phasefit.runs.plan", plan=lambda request, listen: planned)
    return planned


def test_a_plan_is_shown_and_nothing_is_trained(phasefit, training, plan):
    result = phasefit("train", "snips", "--plan")
    assert result.exit_code == 0
    assert training.spec is None
    for piece in (
        "contrast",
        "1,200",
        "26,335",
        "1 min 15 s",
        "1 min 39 s",
        "train 230",
        "[red]",
        "nothing to correct",
    ):
        assert piece in result.stdout


def test_a_plan_as_json(phasefit, plan):
    plan = json.loads(phasefit("train", "snips", "--plan", "--json").stdout)
    assert plan["phases"][1]["pairs"] is None


def test_several_texts_are_a_pair(phasefit, training):
    assert phasefit("train", "d.csv", "--text", "a", "--text", "b").exit_code == 0
    assert training.spec.data.text == ("a", "b")


def test_the_columns_of_a_plan_are_words():
    rows = {"train": 8, "validation": 2}
    columns = {"text": "q", "others": ("a",)}
    facts = plan_facts({"rows": rows, "sha256": "x", "columns": columns, "max_length": None})
    assert facts == {"rows": rows, "columns": "text q, a"}
    tree = {"text": "body", "labels": ("area", "topic"), "tree": "/"}
    assert plan_facts({"columns": tree})["columns"] == "text body; label area, topic, separator '/'"
