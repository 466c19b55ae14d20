"""Cells of `--recipe auto` train and score on rows of every kind of label."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from phasefit.kinds import kind_named
from phasefit.runs.specification import RunSpec
from phasefit.studies.auto.candidates import candidates_for, facts_of
from phasefit.studies.auto.halving import Round
from phasefit.studies.auto.trial_data import prepare_tables, write_trial_data
from phasefit.studies.result import figure
from phasefit.studies.work import carry_out
from specs import run_spec
from tiny import make_table, tree

SHORT = {"finetune.max_steps": 2}
KINDS: dict[str, dict[str, Any]] = {
    "single": {},
    "tree": {},
    "multi": {},
    "score": {"kind": "score"},
}


def labels_of(kind: str, names: list[str]) -> list[Any]:
    if kind == "tree":
        return tree(names)
    if kind == "multi":
        return [[name, "all"] if row % 2 else [name] for row, name in enumerate(names)]
    return [len(name) + row / 100 for row, name in enumerate(names)] if kind == "score" else names


def request_for(kind: str, rows: int, model: Path, *, pairs: bool = False, **more: Any) -> RunSpec:
    texts, names = make_table(rows)
    texts = [f"{text} {row}" for row, text in enumerate(texts)]
    frame = pd.DataFrame({"text_a": texts, "text_b": texts[::-1]} if pairs else {"text": texts})
    frame["label"] = labels_of(kind, names)
    return run_spec(frame, model=str(model), settings=SHORT, threads=1, **KINDS[kind], **more)


@pytest.mark.parametrize(("kind", "pairs"), [*((kind, False) for kind in KINDS), ("single", True), ("score", True)])
def test_a_fold_of_every_kind(kind: str, pairs: bool, tiny_folder: Path, tmp_path: Path) -> None:
    request = request_for(kind, 60, tiny_folder, pairs=pairs)
    prepared = prepare_tables(request)
    data = write_trial_data(request, prepared, tmp_path, 1)
    assert data.folds == 3  # of 54 rows
    candidate = candidates_for(facts_of(prepared), SHORT)[0]
    cell = data.cell(candidate, Round(54, 1, whole=True), 0)
    (tmp_path / "cell").mkdir()
    result = carry_out(cell, tmp_path / "cell")
    assert figure(result["metrics"], f"test.{kind_named(kind).judged}") is not None
    assert sum(result["rows"].values()) == 54


def test_early_rounds_are_scored_on_the_same_rows(tiny_folder: Path, tmp_path: Path) -> None:
    unlabelled = tmp_path / "more.csv"
    unlabelled.write_text("text\nsome song about rain\nanother flight\n", encoding="utf-8")
    request = request_for("single", 700, tiny_folder, unlabelled=str(unlabelled))
    prepared = prepare_tables(request)
    data = write_trial_data(request, prepared, tmp_path, 1)
    assert data.folds is None
    candidate = candidates_for(facts_of(prepared), SHORT)[0]
    early, whole = (
        data.cell(candidate, Round(260, 1, whole=False), 0),
        data.cell(candidate, Round(630, 3, True), 2),
    )
    (tmp_path / "cell").mkdir()
    result = carry_out(early, tmp_path / "cell")
    assert result["rows"] == {"train": 208, "validation": 52, "test": 126, "unlabelled": 2}
    assert (whole.spec.seed, whole.spec.data.test, whole.spec.split.rows) == (2, None, 630)
    held, some = (set(pd.read_parquet(path)["text"]) for path in (data.held, data.some))
    assert not held & some
    assert prepared.test is not None
    assert not {*prepared.test.texts} & (held | some)
