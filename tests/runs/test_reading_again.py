"""A run records how its files were read, and reads them in the same way when it is resumed."""

from __future__ import annotations

from pathlib import Path

from phasefit.data.io import delimited
from phasefit.prepare.prepare import prepare
from phasefit.prepare.tasks import prepare_tasks
from phasefit.recipes.needs import Needs
from phasefit.runs.saved_specification import spec_from_json, spec_to_json
from specs import run_spec
from tiny import make_table


def written(path: Path, mark: str, encoding: str) -> Path:
    rows = zip(*make_table(40), strict=True)
    lines = [f"text{mark}label", *(f"{text} é{mark}{label}" for text, label in rows)]
    path.write_bytes("\n".join(lines).encode(encoding))
    return path


def test_resuming_reads_files_as_before(tmp_path: Path, monkeypatch) -> None:
    data = written(tmp_path / "t.csv", ";", "cp1252")
    test = written(tmp_path / "test.csv", ",", "utf-16")
    spec = run_spec(str(data), test=str(test))
    before = prepare(spec.data, spec.split)
    assert before.read_as == {
        str(data): {"delimiter": ";", "encoding": "cp1252"},
        str(test): {"delimiter": ",", "encoding": "utf-16"},
    }
    assert before.notes[0] == (
        "t.csv: separated by semicolons, read as Windows-1252; --delimiter and --encoding change that"
    )
    request = spec_to_json(spec) | {"read_as": before.read_as}
    monkeypatch.setattr(delimited, "detect_separator", None)  # nothing is detected again
    again = spec_from_json(request, tmp_path)
    after = prepare(again.data, again.split)
    assert after.sha256 == before.sha256
    assert after.read_as == before.read_as
    assert not any("separated by" in note for note in after.notes)


def test_files_of_tasks(tmp_path: Path) -> None:
    data = written(tmp_path / "t.csv", ";", "cp1252")
    file = tmp_path / "tasks.toml"
    tasks = ('delimiter = ";"\nencoding = "windows-1252"', 'empty = "drop"')
    file.write_text("".join(f'[[task]]\nname = "n{n}"\ndata = "t.csv"\n{one}\n' for n, one in enumerate(tasks)))
    spec = run_spec(str(file))
    prepared = prepare_tasks(spec.data, spec.split, 0, Needs(labels=False, tasks=True))
    assert prepared.read_as == {str(data): {"delimiter": ";", "encoding": "cp1252"}}
    assert [note for note in prepared.notes if "separated" in note] == [
        "n1: t.csv: separated by semicolons, read as Windows-1252; --delimiter and --encoding change that"
    ]
