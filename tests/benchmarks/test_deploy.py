"""The deployment benchmark with fake contestants: the protocol, ratios, failures, and where tables are written."""

from __future__ import annotations

import csv
import os
import sys
from argparse import Namespace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))

import deploy  # noqa: E402
import deploy_models  # noqa: E402
import deploy_table  # noqa: E402
from deploy_models import REFERENCE, SETFIT, TORCH, Contestant, Rows  # noqa: E402
from deploy_process import Worker, WorkerFailedError, last_line  # noqa: E402
from deploy_table import Measured, Times  # noqa: E402

from exporting import one_task  # noqa: E402
from phasefit.models.heads import SCALE, Head  # noqa: E402
from phasefit.runs.results import save_model  # noqa: E402
from tiny import make_table  # noqa: E402

FAKE = """
import sys
sys.path.append({folder!r})
from deploy_worker import serve

def load():
    print("a library prints")
    return answer

def answer(texts):
    {body}

serve(load)
"""
INT8 = "phasefit, ONNX int8"


def fake(place: Path, name: str, body: str = "return [text[0] for text in texts]", **more: Any) -> Contestant:
    script = place / f"{abs(hash(name))}.py"
    script.write_text(FAKE.format(folder=str(BENCHMARKS), body=body), encoding="utf-8")
    return Contestant(name, (sys.executable, str(script)), (script,), os.environ, **more)


def test_workers_answer_one_line_per_request(tmp_path: Path) -> None:
    one = fake(tmp_path, "one")
    with Worker(one.command, one.environment) as worker:
        many, singles = worker.ask("answer", ["ab", "cd\n"]), worker.ask("singles", ["ab", "ünï"])
        figures = worker.ask("figures")
    assert many["labels"] == ["a", "c"]
    assert singles["labels"] == ["a", "ü"]
    assert (len(many["seconds"]), len(singles["cpu_seconds"])) == (1, 2)
    assert many["process_seconds"] > 0
    assert 5 < figures["peak_mb"] < 500
    assert not figures["imports_torch"]


def test_the_last_line_of_a_worker_that_ended_is_the_reason(tmp_path: Path) -> None:
    one = fake(tmp_path, "one", "raise ValueError('no | such\\nmodel | file')")
    with Worker(one.command, one.environment) as worker, pytest.raises(WorkerFailedError, match=r"^model / file$"):
        worker.ask("answer", ["ab"])
    assert last_line(" \n") == ""


def test_a_contestant_that_fails_or_is_missing_has_a_row_with_the_reason(tmp_path: Path) -> None:
    contestants = [
        fake(tmp_path, TORCH),
        fake(tmp_path, INT8, "return ['x'] * len(texts)"),
        fake(tmp_path, REFERENCE),
        fake(tmp_path, "late", "assert len(texts) < 4, 'too many'; return texts"),
        fake(tmp_path, SETFIT, problem="not installed", same_model=False),
    ]
    test = Rows(["ab", "bc", "cd"], ["a", "b", "x"])
    measured, problems = deploy.measure(contestants, list("abcde"), test, rounds=2, singles=2)
    assert list(measured) == [TORCH, INT8, REFERENCE]
    assert problems == {"late": "AssertionError: too many", SETFIT: "not installed"}
    assert [len(measured[TORCH].singles), len(measured[TORCH].singles[0].cpu), len(measured[TORCH].start.cpu)] == [
        2,
        2,
        2,
    ]

    cells = {cell["contestant"]: cell for cell in deploy_table.cells_of(contestants, measured, problems, test, 5)}
    assert cells[REFERENCE]["speed_ratio"] == cells[REFERENCE]["size_ratio"] == 1
    assert (cells[TORCH]["accuracy"], cells[TORCH]["equal_answers"]) == (0.66667, 1)
    assert (cells[INT8]["accuracy"], cells[INT8]["equal_answers"]) == (0.33333, 0)
    assert cells[SETFIT]["status"] == "not run: not installed"

    args = Namespace(texts=5, rounds=2, singles=2, data="snips2", rows=3)
    described = deploy.described(args, list("abcde"), test, measured, {"rows": 3, "classes": 3})
    text = deploy_table.markdown(list(cells.values()), command=deploy.command(args), description=described)
    assert "`python benchmarks/deploy.py --texts 5 --rounds 2 --singles 2 --data snips2 --rows 3`" in text
    assert "| late | not run: AssertionError: too many | | | | | | |" in text
    deploy_table.write(tmp_path / "out", list(cells.values()), text)
    with (tmp_path / "out" / "deploy.csv").open(newline="", encoding="utf-8") as file:
        assert [row["contestant"] for row in csv.DictReader(file)] == [one.name for one in contestants]


def test_ratios_are_medians_over_rounds_of_ratios_within_a_round() -> None:
    def measured(scale: float) -> Measured:
        seconds = [scale * second for second in (8.0, 80.0, 4.0)]  # the machine was slow in the second round
        singles = [Times([second / 100, second / 10, second / 50], [1.0] * 3) for second in seconds]
        return Measured([], Times(seconds, seconds), singles, Times(seconds, seconds), peak_mb=1000 * scale)

    base, own = measured(1), measured(0.25)
    own.many.cpu[1] = 80  # a disturbed round does not change the median
    assert set(deploy_table.ratios_of((base, 800), (own, 200)).values()) == {4}
    figures = deploy_table.figures_of(own, 2_500_000, 100, 0.9, 1.0)
    assert (figures["texts_per_cpu_second"], figures["start_seconds"], figures["size_mb"]) == (50, 2, 2.5)
    assert figures["p50_cpu_ms"] < figures["p99_cpu_ms"] <= 2000


def test_goals_are_called_met_or_missed() -> None:
    good = {"contestant": INT8, "status": "done", "speed_ratio": 4.2, "p50_cpu_ms": 3.5, "start_seconds": 0.4}
    lines = deploy_table.goal_lines([good, {"contestant": "phasefit, OpenVINO int8", "status": "not run: refused"}])
    assert [line.rpartition(": ")[2] for line in lines] == [
        "ONNX int8 4.20 (met).",
        "ONNX int8 3.50 (**missed**).",
        "ONNX int8 0.40 (met).",
    ]
    assert all(line.endswith(": not run.") for line in deploy_table.goal_lines([]))


def test_a_trial_never_replaces_the_results(tmp_path: Path) -> None:
    def options(**changed: Any) -> Namespace:
        full = {"texts": deploy.TEXTS, "rounds": deploy.ROUNDS, "singles": deploy.SINGLES, "work": None, "out": None}
        return Namespace(**full | changed)

    assert deploy.target(options()) == deploy.RESULTS
    assert deploy.target(options(texts=200)) is None
    assert deploy.target(options(work=tmp_path)) is None
    assert deploy.target(options(rounds=1, out=tmp_path)) == tmp_path
    with pytest.raises(SystemExit, match="this is a trial"):
        deploy.target(options(texts=200, out=deploy.RESULTS))


def test_the_reference_answers_as_the_run_does(tmp_path: Path, tiny_folder: Path) -> None:
    import deploy_worker

    model = one_task(tiny_folder)
    head = Head("cosine", model.encoder.dimension, 3, dropout=0.0, seed=1).eval()
    texts = make_table(40)[0]
    weight = np.random.default_rng(0).standard_normal((3, model.encoder.dimension)).astype(np.float32)
    head.set_output(weight, -SCALE * weight @ model.embed(texts).mean(axis=0))  # so that answers differ
    model.heads["default"] = head
    save_model(model, tmp_path / "run")
    deploy_models.write_head(tmp_path / "run", tmp_path / "head.npz")
    answers = deploy_worker.sentence_transformers(str(tmp_path / "run" / "encoder"), str(tmp_path / "head.npz"))(texts)
    codes = model.predict_proba(texts).argmax(axis=1)
    assert list(answers) == [str(model.space.classes[code]) for code in codes]
    assert len(np.unique(codes)) > 1


def test_a_kept_run_must_be_the_one_that_was_asked_for(tmp_path: Path) -> None:
    (tmp_path / "phasefit.json").write_text('{"request": {"data": "snips2", "rows": 56}}', encoding="utf-8")
    deploy_models.check_run(tmp_path, "snips2", 56)
    with pytest.raises(SystemExit, match="56 rows of snips2; choose another --work"):
        deploy_models.check_run(tmp_path, "snips2", 112)
