"""Rows that are written down come back as they were, whatever their labels are; none of them is of the test."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from phasefit.data.sources import read_table
from phasefit.prepare.prepare import Prepared
from phasefit.recipes.needs import Needs
from phasefit.runs.specification import RunSpec
from phasefit.studies.rows import has_part, reading, rows_without_test, spec_on_rows, write_rows, write_rows_once
from specs import prepare, run_spec
from tiny import make_table, tree

TEXTS, NAMES = make_table(60)
LABELS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "names": (NAMES, {}),
    "numbers": ([len(name) for name in NAMES], {"kind": "single"}),
    "paths": (tree(NAMES), {}),
    "paths of different depths": ([path if row % 3 else path[:1] for row, path in enumerate(tree(NAMES))], {}),
    "several": ([[name, "all"] if row % 2 else [name] for row, name in enumerate(NAMES)], {}),
    "scores": ([row / 7 for row in range(60)], {"kind": "score"}),
    "levels": ([["bad", "fair", "good"][row % 3] for row in range(60)], {"levels": ("bad", "fair", "good")}),
}


def prepared_of(request: RunSpec) -> Prepared:
    return prepare(request, None, Needs(labels=True, labels_of_pairs=True))


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("pairs", [False, True])
def test_a_round_trip(name: str, pairs: bool, tmp_path: Path) -> None:
    labels, how = LABELS[name]
    frame = pd.DataFrame({"text_a": TEXTS, "text_b": TEXTS[::-1]} if pairs else {"text": TEXTS})
    frame["label"] = labels
    prepared = prepared_of(run_spec(frame, **how))
    table = rows_without_test(prepared)
    options = reading(table, prepared.space.kind)
    path = write_rows(table, tmp_path / "rows.parquet")
    again = read_table(str(path), **options, sides="two")
    assert again.sides == tuple(list(side) for side in table.sides)
    assert again.labels == table.labels
    assert again.levels == table.levels
    assert prepared.test is not None
    assert not {*prepared.test.inputs} & {*table.inputs}
    assert len(table) == len(prepared.train) + len(prepared.validation or ())


def test_written_rows_are_kept_and_options_of_the_source_are_reset(tmp_path: Path) -> None:
    frame = pd.DataFrame({"words": TEXTS, "y": NAMES})
    request = run_spec(frame, text=("words",), label=("y",), rows=40, leaked="drop-train", seed=3)
    prepared = prepared_of(request)
    table = rows_without_test(prepared)
    path = write_rows_once(table, tmp_path / "rows.parquet")
    before = Path(path).read_bytes()
    assert write_rows_once(prepared.train, tmp_path / "rows.parquet") == path
    assert Path(path).read_bytes() == before
    bare = spec_on_rows(request, data=path, **reading(table, "single"))
    assert (bare.data.text, bare.data.label) == (("text",), ("label",))
    assert (bare.split.rows, bare.split.leaked, bare.seed) == (None, "keep", 3)
    assert not has_part(bare, "test")
    assert has_part(spec_on_rows(bare, test=path), "test")


def test_test_rows_can_stay_unscored(tmp_path: Path) -> None:
    frame = pd.DataFrame({"text": TEXTS, "label": NAMES})
    whole, blind = prepared_of(run_spec(frame)), prepared_of(run_spec(frame, score_test=False))
    assert blind.test is None
    assert whole.test is not None
    assert blind.train.texts == whole.train.texts
    assert blind.validation is not None
    assert whole.validation is not None
    assert blind.validation.texts == whole.validation.texts
