"""A cell's key: the same for the same ingredients under other names, another for anything that changes the result."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from phasefit.errors import DataError
from phasefit.studies import key
from phasefit.studies.cell import Cell
from specs import run_spec


@pytest.fixture(autouse=True)
def forget() -> None:
    """Tests write other content under one name."""
    key._of_source.cache_clear()
    key.model_fingerprint.cache_clear()


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "one.csv"
    path.write_text("text,label\na song,music\nsome rain,weather\n")
    return path


def cell(data: Path | str, **changes: object) -> Cell:
    request = run_spec(str(data), recipe="finetune")
    return Cell("one", "finetune", request.replace(**changes))  # type: ignore[arg-type]


def test_names_and_locations_are_not_part_of_the_key(table: Path, tmp_path: Path) -> None:
    copy = tmp_path / "elsewhere.csv"
    copy.write_bytes(table.read_bytes())
    assert cell(table).key == cell(copy).key
    assert cell(table).key == replace(cell(table), dataset="other", variant="mine").key
    assert cell(table).key == cell(table, out=tmp_path, report=False, keep_phases=True, command="x").key


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 1},
        {"settings": {"finetune.lr": 1e-3}},
        {"recipe": "three-phase"},
        {"recipe": "majority"},
        {"rows": 100},
        {"fold": (1, 5)},
        {"threads": 7},
        {"classes": ("a", "b")},
        {"model": "some/model"},
        {"precision": "bf16"},
    ],
)
def test_whatever_changes_the_result_changes_the_key(table: Path, changes: dict[str, object]) -> None:
    assert cell(table).key != cell(table, **changes).key


def test_other_content_is_another_cell(table: Path) -> None:
    before = cell(table).key
    table.write_text("text,label\na song,music\nmuch rain,weather\n")
    key._of_source.cache_clear()
    assert cell(table).key != before


def test_a_recipe_counts_by_its_content(table: Path, tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('base = "finetune"\n')
    assert cell(table, recipe=str(own)).key == cell(table).key
    own_with = tmp_path / "changed.toml"
    own_with.write_text('base = "finetune"\nset.finetune.lr = 1e-3\n')
    assert cell(table, recipe=str(own_with)).key == cell(table, settings={"finetune.lr": 1e-3}).key


def test_tables_in_memory_are_refused() -> None:
    with pytest.raises(DataError, match="reads its tables from files"):
        _ = Cell("one", "finetune", run_spec([("a", "b")], recipe="finetune")).key


def test_a_baseline_has_no_command(table: Path) -> None:
    assert cell(table, recipe="majority").command() == ""
    assert "--test-size 0.3 --leaked drop-train" in cell(table, test_size=0.3, leaked="drop-train").command()


def test_its_command_has_all_options(table: Path) -> None:
    command = cell("snips", seed=3, rows=50, fold=(2, 5), settings={"finetune.lr": 1e-3}).command()
    assert command == ("phasefit train snips --recipe finetune --set finetune.lr=0.001 --rows 50 --fold 2/5 --seed 3")


def test_the_content_of_a_recipes_files_is_part_of_the_key(tmp_path: Path) -> None:
    described = tmp_path / "described.csv"
    described.write_text("label,text\na,one\nb,two\n")
    settings = {"contrast.class_texts": str(described)}
    request = run_spec("snips", recipe="contrast-finetune", settings=settings)
    before = Cell("d", "v", request).key
    assert Cell("d", "v", request).key == before
    described.write_text("label,text\na,other\nb,two\n")
    assert Cell("d", "v", request).key != before
