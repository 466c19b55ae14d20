"""A study's tables on the terminal: columns go before names or figures are cut."""

from __future__ import annotations

import pytest

from phasefit.cli.study_tables import LEAST_FIRST, columns_of, fitting, show_table
from phasefit.studies.tables import Row, Table

FULL = {"difference": 0.1, "difference_low": -0.9, "difference_high": 0.9, "p": 0.5, "rank": 1.0}
PAPERS = {"first of them": (0.8, "BERT-base, one run"), "second": (0.9, "RoBERTa"), "ours": (None, None)}
ROWS = tuple(
    Row("d", name, 2, 0.5, 0.1, 0.25, 0.75, **FULL, minutes=1.5, memory_mb=9.0, published=paper, published_model=model)
    for name, (paper, model) in PAPERS.items()
)
TABLE = Table("Table 1", "test.accuracy", ROWS)


def test_all_columns_where_there_is_room() -> None:
    columns = columns_of(TABLE, ROWS)
    assert list(columns)[:4] == ["recipe", "runs", "mean ± sd", "published, BERT-base, one run"]
    assert columns["published, BERT-base, one run"] == ["80.00", "90.00 RoBERTa", ""]
    assert fitting(columns, 400) == (columns, [])
    assert {*LEAST_FIRST} < {*columns}


def test_names_and_figures_are_never_cut(capsys) -> None:
    show_table(TABLE)  # without a terminal: 120 columns
    shown = capsys.readouterr().out
    for piece in ("first of them", "second", "ours", "50.00 ± 10.00", "+10.00 [-90.00, +90.00]", "90.00 RoBERTa"):
        assert piece in shown
    assert "the terminal is too narrow for MB, rank" in shown


@pytest.mark.parametrize("width", [40, 80, 120])
def test_what_goes_goes_in_order(width: int) -> None:
    kept, left_out = fitting(columns_of(TABLE, ROWS), width)
    assert tuple(left_out) == LEAST_FIRST[: len(left_out)]
    assert {"recipe", "mean ± sd", "difference", "p"} <= {*kept}


def test_reverted_phases_and_reduced_rows_are_shown(capsys) -> None:
    row = Row("TREC-1k", "joint", 2, 0.5, 0.1, reverted="joint in 1 of 2 runs")
    show_table(Table("Table 2", "test.accuracy", (row,), labels={"TREC-1k": "TREC, 400 rows"}))
    shown = " ".join(capsys.readouterr().out.split())
    assert "TREC, 400 rows" in shown
    assert "TREC-1k" not in shown
    assert "50.00 ± 10.00 †" in shown
    assert "† TREC, 400 rows, joint: joint in 1 of 2 runs: no evaluation was better" in shown
