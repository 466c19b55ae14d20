"""Which rows a search may look at: none that its proof is scored on, whatever the seed."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from phasefit.errors import DataError, RunError
from phasefit.recipes.needs import needs_of
from phasefit.studies.folder import StudyFolder
from phasefit.studies.search.question import Question, question_for, without_test_rows
from phasefit.studies.search.space import Choices, Space
from specs import prepare, run_spec
from tiny import make_table

THREE = Space("three", {"finetune.dropout": Choices(("0.0", "0.1", "0.3"))})
TASKS = Space("tasks", {"multitask.dropout": Choices(("0.0", "0.1"))})


def write_table(path: Path, rows: int = 60, *, word: str = "", labels: bool = True) -> str:
    texts, names = make_table(rows)
    texts = [f"{text} {word}{row}" for row, text in enumerate(texts)]
    path.parent.mkdir(exist_ok=True)
    pd.DataFrame({"text": texts, "label": names if labels else [""] * rows}).to_csv(path, index=False)
    return str(path)


def assert_never_scored(question: Question, seeds: range = range(5)) -> None:
    """No row that is trained or validated on with one seed is scored with another."""
    seen, scored = set[str](), set[str]()
    for seed in seeds:
        prepared = prepare(question.spec.replace(seed=seed), None, needs_of(question.recipe))
        assert prepared.validation is not None
        assert prepared.test is not None
        seen |= {*prepared.train.texts, *prepared.validation.texts}
        scored |= {*prepared.test.texts}
    assert not seen & scored


def test_test_rows_that_are_split_off_stay_separate_for_every_seed(tmp_path: Path) -> None:
    request = run_spec(write_table(tmp_path / "topics.csv"), recipe="finetune")
    question, prepared = question_for("topics", request, THREE, None)
    assert_never_scored(without_test_rows(question, prepared, tmp_path))


def test_a_test_table_without_labels_does_not_count(tmp_path: Path) -> None:
    write_table(tmp_path / "topics" / "train.csv")
    write_table(tmp_path / "topics" / "test.csv", 20, word="secret", labels=False)
    question, prepared = question_for("topics", run_spec(str(tmp_path / "topics"), recipe="finetune"), THREE, None)
    kept = without_test_rows(question, prepared, tmp_path)
    assert kept.spec.data.source == str(tmp_path / "rows" / "train.parquet")
    assert_never_scored(kept)


def test_a_replaced_study_has_the_rows_of_the_new_table(tmp_path: Path) -> None:
    kept = {}
    for name in ("first", "second"):
        request = run_spec(write_table(tmp_path / f"{name}.csv", word=name), recipe="finetune")
        question, prepared = question_for(name, request, THREE, None)
        known = {"search": question.digest}
        if kept:
            with pytest.raises(RunError, match="another study"):
                StudyFolder.open(name, known, tmp_path / "study")
        folder = StudyFolder.open(name, known, tmp_path / "study", overwrite=True)
        kept[name] = without_test_rows(question, prepared, folder.path)
    spec = kept["second"].spec
    for path in (spec.data.source, spec.data.test):
        assert pd.read_parquet(path)["text"].str.contains("second").all()


def test_a_task_without_a_test_table_is_refused_by_name(tmp_path: Path) -> None:
    write_table(tmp_path / "one.csv")
    write_table(tmp_path / "one-test.csv", 20, word="test")
    write_table(tmp_path / "two.csv")
    tasks = tmp_path / "tasks.toml"
    own = '[[task]]\nname = "one"\ndata = "one.csv"\ntest = "one-test.csv"\n'
    tasks.write_text(own + '[[task]]\nname = "two"\ndata = "two.csv"\n')
    request = run_spec(str(tasks), recipe="multitask")
    with pytest.raises(DataError, match=r"tasks, task 'two' has no separate test rows.*--test-size 0"):
        question_for("tasks", request, TASKS, None)
    question_for("tasks", request.replace(test_size=0.0), TASKS, None)
    tasks.write_text(own)
    question, prepared = question_for("tasks", request, TASKS, None)
    assert without_test_rows(question, prepared, tmp_path) == question
