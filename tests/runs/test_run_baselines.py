"""After a run: TF-IDF and the frozen encoder on the same split, for every kind of label, or left out by name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from phasefit.events import Note
from phasefit.metrics.registry import METRICS
from phasefit.report import write_run_report
from phasefit.runs.evaluation import baselines
from phasefit.runs.evaluation.baselines import Limit, baseline_rows, baselines_sentence, sample
from phasefit.runs.run import Run
from phasefit.runs.train import train
from specs import prepare, run_spec
from tiny import make_table, tree

TEXTS, NAMES = make_table(60)
TEXTS = [f"{text} {row}" for row, text in enumerate(TEXTS)]
SHORT = {"finetune.max_steps": 2}
LABELS: dict[str, tuple[Any, dict[str, Any]]] = {
    "single": (NAMES, {}),
    "tree": (tree(NAMES), {}),
    "multi": ([[name, "all"] if row % 2 else [name] for row, name in enumerate(NAMES)], {}),
    "score": ([len(name) + row / 100 for row, name in enumerate(NAMES)], {"kind": "score"}),
}


def trained(model: Path, out: Path, kind: str = "single", *, pairs: bool = False, **more: Any) -> tuple[Any, list[str]]:
    labels, options = LABELS[kind]
    frame = pd.DataFrame({"text_a": TEXTS, "text_b": TEXTS[::-1]} if pairs else {"text": TEXTS})
    frame["label"] = labels
    notes: list[str] = []
    given = {"recipe": "finetune", "settings": SHORT, "baselines": True, "model": str(model), **options, **more}
    spec = run_spec(frame, out=out, device="cpu", **given)
    result = train(spec, lambda event: notes.append(event.text) if isinstance(event, Note) else None)
    return result.metrics.get("baselines"), notes


@pytest.mark.parametrize(("kind", "pairs"), [*((kind, False) for kind in LABELS), ("single", True), ("score", True)])
def test_every_kind_of_label(tiny_folder: Path, tmp_path: Path, kind: str, pairs: bool) -> None:
    facts, _ = trained(tiny_folder, tmp_path / "run", kind, pairs=pairs)
    assert facts["left_out"] == {}
    assert list(facts["scores"]) == ["tfidf", "frozen"]
    assert facts["split"] == "test"
    assert (facts["rows"], facts["of_rows"]) == (6, 6)
    metrics = Run.open(tmp_path / "run").metrics
    assert metrics["baselines"] == facts
    assert facts["run"] == metrics["test"][facts["metric"]]
    assert baselines_sentence(facts).startswith(f"{METRICS[facts['metric']].title} on 6 test rows: this run ")
    assert [row[0] for row in baseline_rows(facts)] == ["tfidf", "frozen"]


def test_a_baseline_that_is_better_is_named_in_the_report(
    tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(baselines, "LIMITS", {"tfidf": Limit(20, 10**6), "frozen": Limit(20, 200)})
    pd.DataFrame({"text": TEXTS, "label": NAMES}).to_csv(tmp_path / "table.csv", index=False)
    spec = run_spec(str(tmp_path / "table.csv"), recipe="finetune", settings=SHORT, model=str(tiny_folder), seed=1)
    spec = spec.replace(baselines=True, test_size=0.4, out=tmp_path / "run", device="cpu")
    facts = train(spec, lambda event: None, report=write_run_report).metrics["baselines"]
    assert facts["scores"]["tfidf"]["rows"] == 20
    assert 0 < facts["scores"]["frozen"]["rows"] < 20
    sentence = baselines_sentence(facts)
    assert " (fitted on 20 of 24 rows), frozen " in sentence
    assert "tfidf is better than this run" in sentence
    assert sentence.endswith("(--recipe tfidf trains in seconds)")
    for file in ("report.html", "README.md"):
        text = (tmp_path / "run" / file).read_text(encoding="utf-8")
        assert "better than this run" in text
        assert "standard error" in text
    again = spec.replace(out=tmp_path / "again", report=False)
    other = train(again.replace(baselines=False), lambda event: None).metrics
    assert "baselines" not in other
    assert other["test"] == json.loads((tmp_path / "run" / "metrics.json").read_text())["test"]


def test_what_is_left_out_is_named(tiny_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run_spec((TEXTS, None), recipe="simcse", settings={"simcse.max_steps": 1}, model=str(tiny_folder))
    notes: list[str] = []
    listen = lambda event: notes.append(event.text) if isinstance(event, Note) else None  # noqa: E731
    train(plain.replace(baselines=True, out=tmp_path / "encoder", device="cpu"), listen)
    assert "tfidf and frozen are not compared with this run: it is an encoder without predictions" in notes
    facts, notes = trained(tiny_folder, tmp_path / "unscored", validation_size=0.0, test_size=0.0)
    assert facts is None
    assert notes[-1].endswith("there are no scored test or validation rows")
    monkeypatch.setattr(baselines, "baseline_model", lambda *given: 1 / 0)
    facts, _ = trained(tiny_folder, tmp_path / "failed", test_size=0.0)
    assert facts["split"] == "validation"
    assert facts["left_out"]["frozen"] == "ZeroDivisionError: division by zero"
    assert "tfidf left out (ZeroDivisionError: division by zero)" in baselines_sentence(facts)
    assert baseline_rows(facts)[0] == ("tfidf", "", "", "left out: ZeroDivisionError: division by zero")


def test_several_tasks_are_left_out_by_name(tiny_folder: Path, tmp_path: Path) -> None:
    pd.DataFrame({"text": TEXTS, "label": NAMES}).to_csv(tmp_path / "one.csv", index=False)
    (tmp_path / "tasks.toml").write_text(
        '[[task]]\nname = "a"\ndata = "one.csv"\n[[task]]\nname = "b"\ndata = "one.csv"\n', encoding="utf-8"
    )
    spec = run_spec(
        str(tmp_path / "tasks.toml"), recipe="multitask", settings={"multitask.max_steps": 1}, model=str(tiny_folder)
    )
    notes: list[str] = []
    listen = lambda event: notes.append(event.text) if isinstance(event, Note) else None  # noqa: E731
    result = train(spec.replace(baselines=True, out=tmp_path / "run", device="cpu"), listen)
    assert "baselines" not in result.metrics
    assert "tfidf and frozen are not compared with this run: it has several tasks" in notes


def test_a_run_of_a_baseline_is_compared_with_the_other(tiny_folder: Path, tmp_path: Path) -> None:
    facts, _ = trained(tiny_folder, tmp_path / "run", recipe="frozen", settings={})
    assert list(facts["scores"]) == ["tfidf"]


def test_samples_are_repeatable_and_within_their_limits() -> None:
    table = prepare(run_spec(pd.DataFrame({"text": TEXTS, "label": NAMES}))).train
    assert sample(table, Limit(10**6, 10**9), 0).tolist() == list(range(len(table)))
    some = sample(table, Limit(10, 10**9), 0)
    assert len(some) == 10
    assert some.tolist() == sample(table, Limit(10, 10**9), 0).tolist() != sample(table, Limit(10, 10**9), 1).tolist()
    assert len(sample(table, Limit(10, 1), 0)) == 1


def test_one_row_is_no_verdict() -> None:
    scored = {"score": 1.0, "rows": 9, "of_rows": 9, "difference": -0.05555555555555558, "error": 0.05555555555555557}
    facts = {"split": "test", "metric": "accuracy", "rows": 18, "of_rows": 18, "run": 0.9444, "left_out": {}}
    both = {"tfidf": {**scored, "as_good": True}, "frozen": {**scored, "as_good": True}}
    sentence = baselines_sentence({**facts, "scores": both})
    assert "; tfidf and frozen are as good as this run (" in sentence
    one = baselines._difference(1.0, 0.5, [1.0] * 4, [0.5] * 4, judged=False)
    assert not one["as_good"]
    tie = baselines._difference(0.6, 0.6, [0.6, 0.6], [0.6, 0.6], judged=True)
    assert tie["as_good"]
