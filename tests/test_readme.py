"""What the README shows runs: its Python and its commands, on a tiny encoder in place of the default weights."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pandas as pd
import pytest
from typer.testing import CliRunner

from inline_cells import inline_cells
from phasefit.cli.app import app
from phasefit.models.encoder.long_texts import WAYS
from phasefit.models.encoder.packing import FAMILIES as PACKED
from phasefit.phases.options import PhaseOptions
from phasefit.recipes import parse_recipe
from phasefit.training.schedule import Schedule
from tiny import make_table, write_csv

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGE = (ROOT / "docs" / "objectives.md").read_text(encoding="utf-8")


SHORTER = {"--seeds": "1", "--trials": "2", "--minutes": "0.05"}  # studies, as long as a test has time for


def blocks(language: str, text: str = README) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", text, flags=re.S)


def carried_out(text: str) -> int:
    """Run the phasefit commands of a page in their order; how many there were."""
    ran = 0
    for line in "".join(blocks("console", text)).splitlines():
        command = shlex.split(line.removeprefix("$ "), comments=True)
        if command[0] != "phasefit":
            continue
        for place, word in enumerate(command[:-1]):
            command[place + 1] = SHORTER.get(word, command[place + 1])
        result = CliRunner().invoke(app, command[1:])
        assert result.exit_code == 0, f"{line}\n{result.output}\n{result.exception!r}"
        ran += 1
    return ran


@pytest.fixture
def beginner(tmp_path: Path, tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the files that the README speaks of, small default weights, and few steps of each phase."""
    whole = Schedule.of

    def short(options: PhaseOptions, batches: int, total: int | None = None) -> Schedule:
        return whole(options.model_copy(update={"min_steps": 1, "max_steps": 4}), batches, total)

    monkeypatch.setattr(Schedule, "of", short)
    inline_cells(monkeypatch)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("phasefit.models.encoder.locate.packaged_default", lambda: tiny_folder)
    texts, labels = make_table()
    write_csv(tmp_path / "reviews.csv", texts, labels)
    write_csv(tmp_path / "other.csv", texts[:12], labels[:12])
    pd.DataFrame({"text": texts}).to_csv(tmp_path / "texts.csv", index=False)
    pd.DataFrame({"question": texts, "answer": texts[::-1]}).to_csv(tmp_path / "pairs.csv", index=False)
    sides = {"anchor": texts, "positive": texts[::-1], "negative": texts[1:] + texts[:1]}
    pd.DataFrame(sides).to_csv(tmp_path / "triples.csv", index=False)
    (tmp_path / "new.csv").write_text("id,text\n1,a fine thing\n2,another\n", encoding="utf-8")
    return tmp_path


def test_the_two_commands_come_first() -> None:
    first = blocks("console")[0]
    assert [line.split("#")[0].strip() for line in first.splitlines()] == ["$ make demo", "$ make test"]
    assert README.index(first) < 100


@pytest.mark.filterwarnings("ignore::phasefit.errors.TextsCut")  # the tiny encoder takes few tokens
def test_the_python_runs(beginner: Path) -> None:
    (code,) = blocks("python")
    names: dict[str, object] = {}
    exec(compile(code, "README.md", "exec"), names)
    assert (beginner / "model" / "phasefit.json").is_file()
    assert set(names["clf"].classes_) == set(names["snips"].labels)


def test_the_commands_run_in_their_order(beginner: Path) -> None:
    assert carried_out(README) >= 10
    assert (beginner / "out.csv").read_text().startswith("id,text,prediction,probability,probability_")
    assert (beginner / "vectors.npy").is_file()


@pytest.mark.filterwarnings("ignore::phasefit.errors.TextsCut")
def test_the_page_about_objectives_runs(beginner: Path) -> None:
    assert carried_out(PAGE) >= 4
    names: dict[str, object] = {"texts": make_table()[0]}
    for code in blocks("python", PAGE):
        exec(compile(code, "objectives.md", "exec"), names)
    assert (beginner / "encoder" / "phasefit.json").is_file()
    for text in blocks("toml", PAGE):
        parse_recipe(text, name="mine", where="objectives.md").check()


def test_the_page_about_speed_runs(beginner: Path) -> None:
    page = (ROOT / "docs" / "speed.md").read_text(encoding="utf-8")
    assert carried_out(page) == 1
    for option in re.findall(r"^\| `(\w+) = ", page, flags=re.M):
        assert option in PhaseOptions.model_fields
    for family in re.findall(r"`([\w-]+)`", page.partition("families ")[2].partition(";")[0]):
        assert family in PACKED


def test_the_page_about_trust_runs(beginner: Path) -> None:
    page = (ROOT / "docs" / "trust.md").read_text(encoding="utf-8")
    assert carried_out(page) == 3
    told = set(re.findall(r"^\| `([a-z][a-z-]+)` \|", page, flags=re.M))
    assert told == set(WAYS)


def test_the_recipe_is_one() -> None:
    (text,) = blocks("toml")
    assert parse_recipe(text, name="my-recipe", where="README.md").phase_names == ["contrast", "finetune"]


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)#]+)\)", README))
def test_links_lead_somewhere(link: str) -> None:
    assert link.startswith("http") or (Path(__file__).parent.parent / link).is_file()
