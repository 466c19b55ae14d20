"""Task files: several tables that are learned together."""

from __future__ import annotations

from pathlib import Path

import pytest

from phasefit.data import named_datasets
from phasefit.data.task_file import is_task_file, packaged_tasks, read_task_file
from phasefit.errors import DataError, LabelError

GOOD = """
shared = true
dropout = 0.2

[[task]]
name = "mood"
data = "mood.csv"
text = "review"
label = ["top", "leaf"]
kind = "tree"
validation = "held/out.csv"
test = "hub:owner/name"
rows = 100
weight = 2
head = "mlp"

[[task]]
name = "alike-2"
data = "stsb"
text = ["one", "two"]
levels = ["low", "high"]

[before]
data = "pairs.csv"
text = ["anchor", "positive"]
"""
TASK = '[[task]]\nname = "a"\ndata = "b"\n'


def test_a_file_with_everything(tmp_path: Path, write) -> None:
    for name in ("mood.csv", "pairs.csv"):
        write(name, "text\n")
    (tmp_path / "held").mkdir()
    write("held/out.csv", "text\n")
    file = read_task_file(write("mine.toml", GOOD))
    assert (file.name, file.shared, file.dropout) == ("mine", True, 0.2)
    mood, alike = file.tasks
    assert mood.options() == {
        "text": ("review",),
        "label": ("top", "leaf"),
        "kind": "tree",
        "tree": None,
        "separator": None,
        "levels": (),
        **dict.fromkeys(("delimiter", "encoding", "sheet", "empty")),
    }
    assert (mood.name, mood.rows, mood.head) == ("mood", 100, {"weight": 2, "head": "mlp"})
    assert (mood.data, mood.validation) == (str(tmp_path / "mood.csv"), str(tmp_path / "held" / "out.csv"))
    assert [mood.part(split) for split in ("train", "validation", "test")] == [
        mood.data,
        mood.validation,
        "hub:owner/name",
    ]
    assert (alike.name, alike.data, alike.text, alike.levels) == ("alike-2", "stsb", ("one", "two"), ("low", "high"))
    assert alike.part("validation") == alike.part("test") == "stsb"
    assert (alike.rows, alike.head) == (None, {})
    assert file.before is not None
    assert (file.before.data, file.before.text) == (str(tmp_path / "pairs.csv"), ("anchor", "positive"))


def test_options_that_are_not_set_are_left_to_detection(write) -> None:
    file = read_task_file(write("t.toml", TASK))
    assert (file.shared, file.dropout, file.before) == (False, None, None)
    assert not any(file.tasks[0].options().values())
    assert (file.tasks[0].validation, file.tasks[0].test) == (None, None)


def test_files_next_to_the_task_file_come_first(tmp_path: Path, write, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    write("near.csv", "text\n")
    write("elsewhere/far.csv", "text\n")
    tables = [f'[[task]]\nname = "t{n}"\ndata = "{data}"\n' for n, data in enumerate(["near.csv", "far.csv", "snips"])]
    file = read_task_file(write("t.toml", "".join(tables)))
    assert [task.data for task in file.tasks] == [str(tmp_path / "near.csv"), "far.csv", "snips"]
    whole = read_task_file(write("whole.toml", f'[[task]]\nname = "a"\ndata = "{tmp_path / "near.csv"}"\n'))
    assert whole.tasks[0].data == str(tmp_path / "near.csv")


def test_a_validation_file_without_a_name_is_not_the_folder(write) -> None:
    task = read_task_file(write("t.toml", f'{TASK}validation = ""\n')).tasks[0]
    assert task.validation == ""  # the reader of the data refuses it


@pytest.mark.parametrize("name", packaged_tasks())
def test_packaged_files_name_packaged_datasets(name: str) -> None:
    assert is_task_file(name)
    file = read_task_file(name)
    assert file.name == name
    assert len(file.tasks) > 1
    known = {card.name for card in named_datasets()}
    assert {task.data for task in (*file.tasks, *([file.before] if file.before else []))} <= known


def test_what_is_a_task_file(tmp_path: Path) -> None:
    assert is_task_file("mine.toml")
    assert is_task_file(tmp_path / "mine.toml")
    assert is_task_file("cs224n")
    for source in ("snips", "mine.csv", "", "a text " * 1000, "a\0b", ["mine.toml"], None):
        assert not is_task_file(source)


WRONG = {
    "no TOML": ("= 1", "not valid TOML: "),
    "no text": (b"\xff\xfe", "not valid TOML: "),
    "unknown option": (f"sharde = true\n{TASK}", "unknown option 'sharde'; did you mean 'shared'?"),
    "nothing": ("", "a task file needs at least one [[task]] table, with a name and data"),
    "one table": ('[task]\nname = "a"', "a task file needs at least one [[task]] table"),
    "no tables": ("task = [1, 2]", "a task file needs at least one [[task]] table"),
    "no name": ('[[task]]\ndata = "b"', "'name' is missing; each task needs a name and data", 1),
    "no data": (f'{TASK}[[task]]\nname = "b"', "'data' is missing; each task needs a name and data", 2),
    "empty data": ('[[task]]\nname = "a"\ndata = ""', "'data' is missing", 1),
    "a number for data": ('[[task]]\nname = "a"\ndata = 3', "'data' is missing", 1),
    "odd name": (
        '[[task]]\nname = "a b"\ndata = "b"',
        "the name 'a b' may contain only letters, digits, - and _; choose another",
        1,
    ),
    "same name": (TASK * 2, "two tasks are named 'a'; rename one"),
    "no rows": (f"{TASK}rows = 0", "rows must be a whole number above 0, not 0", 1),
    "half a row": (f"{TASK}rows = 1.5", "rows must be a whole number above 0, not 1.5", 1),
    "true rows": (f"{TASK}rows = true", "rows must be a whole number above 0, not True", 1),
    "text": (f"{TASK}text = 3", "text must be a name or a list of names, not 3", 1),
    "label": (f'{TASK}label = ["a", 1]', "label must be a name or a list of names, not ['a', 1]", 1),
    "levels": (f"{TASK}levels = [1, 2]", "levels must be a name or a list of names, not [1, 2]", 1),
    "kind": (f"{TASK}kind = 1", "kind must be a string, not 1", 1),
    "validation": (f"{TASK}validation = 1", "validation must be a string, not 1", 1),
    "unknown kind": (f'{TASK}kind = "scores"', "unknown kind of labels 'scores'; did you mean 'score'?", 1),
    "contradiction": (
        f'{TASK}kind = "single"\nseparator = ";"',
        "--separator is for labels of kind 'multi', but --kind is 'single'",
        1,
    ),
    "one level": (f'{TASK}levels = "low"', "--levels needs at least two different levels", 1),
    "shared": (f"shared = 1\n{TASK}", "shared must be true or false, not 1"),
    "no dropout": (f'dropout = "x"\n{TASK}', "dropout must be a number of at least 0 and below 1, not 'x'"),
    "all dropped": (f"dropout = 1\n{TASK}", "dropout must be a number of at least 0 and below 1, not 1"),
    "true dropout": (f"dropout = true\n{TASK}", "dropout must be a number of at least 0 and below 1, not True"),
    "before is no table": (f"before = 1\n{TASK}", "[before] must be a table with data"),
    "before without data": (f"{TASK}[before]\n", "'data' is missing", "before"),
    "before with a head": (
        f'{TASK}[before]\ndata = "b"\nweight = 2',
        "unknown option 'weight'; [before] has no head",
        "before",
    ),
}


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_errors_are_one_sentence(write, wrong: tuple) -> None:
    content, message, *place = wrong
    where = "".join(f", {'task ' if isinstance(part, int) else ''}{part}" for part in place)
    with pytest.raises(DataError) as caught:
        read_task_file(write("t.toml", content))
    assert str(caught.value).startswith(f"t.toml{where}: {message}")
    assert "\n" not in str(caught.value)


def test_contradictory_label_options_are_a_label_error(write) -> None:
    with pytest.raises(LabelError, match=r"^t\.toml, task 1: --tree and --separator are for"):
        read_task_file(write("t.toml", f'{TASK}tree = "/"\nseparator = ";"\n'))


@pytest.mark.parametrize("name", ["gone.toml", "x" * 5000 + ".toml"])
def test_no_such_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match=r"there is no task file '.*'; give a TOML file with .*, or one of: cs224n$"):
        read_task_file(tmp_path / name)
