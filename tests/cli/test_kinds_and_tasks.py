"""Runs of pairs, of several labels, of levels and of tasks remember how their tables are read."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from phasefit.cli.app import app
from tiny import make_table, read_json

QUICK = ["-r", "finetune", "-s", "finetune.max_steps=1", "-s", "finetune.min_steps=1", "-q"]
TASKS = ["-r", "multitask", "-s", "multitask.max_steps=2", "-s", "multitask.min_steps=1", "-q"]
TEXTS, NAMES = make_table(60)
OTHER, _ = make_table(60, seed=1)
FEW = ["a fresh song", "some fresh rain", "a fresh pizza", "the fresh bread"]
Train = Callable[..., Path]


def phasefit(*args: str | Path) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args], prog_name="phasefit")


def write(path: Path, **columns: Any) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([list(columns), *zip(*columns.values(), strict=True)])
    return path


def task(name: str, data: str) -> str:
    return f'[[task]]\nname = "{name}"\ndata = "{data}"\n\n'


@pytest.fixture(scope="module", autouse=True)
def _no_reports() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("phasefit.report.run.write_report", lambda *_, **__: None)
        yield


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Tables, task files, and the runs that are trained on them."""
    folder = tmp_path_factory.mktemp("work")
    write(folder / "topics.csv", text=TEXTS, label=NAMES)
    write(folder / "stars.csv", text=OTHER, label=[f"{row / 12:.2f}" for row in range(60)])
    write(folder / "pairs.csv", id=range(60), links=TEXTS, rechts=OTHER, gleich=["ja", "nein"] * 30)
    write(folder / "tags.csv", text=TEXTS, tags=["a;b", "b;c", "a", "c"] * 15)
    write(folder / "moods.csv", text=TEXTS, mood=["bad", "fair", "good"] * 20)
    (folder / "one.toml").write_text(task("topics", "topics.csv"))
    (folder / "two.toml").write_text(task("topics", "topics.csv") + task("stars", "stars.csv"))
    return folder


@pytest.fixture(scope="module")
def train(folder: Path, tiny_folder: Path) -> Train:
    """`train("pairs.csv", ...)`: the folder of a run of one or two steps."""

    def train(data: str, *options: str) -> Path:
        out = folder / data.replace(".", "-")
        how = TASKS if data.endswith(".toml") else QUICK
        result = phasefit("train", folder / data, "-m", tiny_folder, "-o", out, *options, *how)
        assert result.exit_code == 0, result.stderr
        return out

    return train


@pytest.fixture(scope="module")
def pairs(train: Train) -> Path:
    return train("pairs.csv", "--text", "links", "--text", "rechts", "--label", "gleich")


@pytest.fixture(scope="module")
def tags(train: Train) -> Path:
    return train("tags.csv", "--label", "tags", "--separator", ";")


@pytest.fixture(scope="module")
def moods(train: Train) -> Path:
    return train("moods.csv", "--label", "mood", "--levels", "bad,fair,good")


@pytest.fixture(scope="module")
def one(train: Train) -> Path:
    return train("one.toml")


@pytest.fixture(scope="module")
def two(train: Train) -> Path:
    return train("two.toml")


def scores(*args: str | Path) -> dict[str, Any]:
    result = phasefit("evaluate", *args, "--json", "-q")
    assert result.exit_code == 0, (result.stderr, result.exception)
    return json.loads(result.stdout)


# --- pairs ------------------------------------------------------------------------------------------------------------


def test_the_columns_of_a_pair_are_reused(pairs: Path, folder: Path, tmp_path: Path) -> None:
    columns = read_json(pairs / "phasefit.json")["data"]["columns"]
    assert columns == {"text": "links", "labels": ["gleich"], "others": ["rechts"]}
    new = write(tmp_path / "new.csv", no=range(4), rechts=FEW[::-1], links=FEW, gleich=["ja", "nein"] * 2)
    assert scores(pairs, new)["rows"] == 4
    predicted = phasefit("predict", pairs, new, "-q")
    assert predicted.exit_code == 0, predicted.stderr
    rows = list(csv.DictReader(io.StringIO(predicted.stdout)))
    assert [row["links"] for row in rows] == FEW
    assert {row["prediction"] for row in rows} <= {"ja", "nein"}
    named = phasefit("predict", pairs, new, "--text", "links", "--text", "rechts", "-q")
    assert named.stdout == predicted.stdout


def test_predicting_pairs_needs_no_labels(pairs: Path, tmp_path: Path) -> None:
    new = write(tmp_path / "new.csv", rechts=FEW[::-1], links=FEW)
    assert phasefit("predict", pairs, new, "-q").exit_code == 0


def test_a_table_with_usual_names_for_a_pair_is_read_by_its_own(pairs: Path, tmp_path: Path) -> None:
    new = write(tmp_path / "new.csv", text_a=FEW, text_b=FEW[::-1], label=["ja", "nein"] * 2)
    assert scores(pairs, new)["rows"] == 4


def test_pairs_that_were_trained_on_are_reported(pairs: Path, folder: Path, tmp_path: Path) -> None:
    result = phasefit("evaluate", pairs, folder / "pairs.csv", "--json", "-q")
    assert re.search(r"\d+ of the 60 texts in 'pairs' were used to train \S", " ".join(result.stderr.split()))
    loud = write(tmp_path / "loud.csv", links=[t.upper() for t in TEXTS], rechts=OTHER, gleich=["ja", "nein"] * 30)
    result = phasefit("evaluate", pairs, loud, "--json", "-q")
    assert re.search(r"\d+ of the 60 texts in 'loud' were used to train \S", " ".join(result.stderr.split()))
    half = write(tmp_path / "half.csv", links=TEXTS[:4], rechts=FEW, gleich=["ja", "nein"] * 2)
    assert "trained on" not in phasefit("evaluate", pairs, half, "--json", "-q").stderr


# --- another column of labels -----------------------------------------------------------------------------------------


def test_another_column_of_labels_has_the_separator_of_the_run(tags: Path, tmp_path: Path) -> None:
    new = write(tmp_path / "new.csv", text=FEW, other=["a;b", "c", "", "b;c"], tags=["a", "b", "c", ""])
    metrics = scores(tags, new, "--label", "other")
    assert metrics["rows"] == 4
    assert set(metrics["per_class"]) == {"a", "b", "c"}
    assert {name: one["support"] for name, one in metrics["per_class"].items()} == {"a": 1, "b": 2, "c": 2}
    assert scores(tags, new)["rows"] == 4


def test_another_column_of_labels_has_the_levels_of_the_run(moods: Path, tmp_path: Path) -> None:
    new = write(tmp_path / "new.csv", text=FEW, other=["bad", "good", "bad", "fair"])
    metrics = scores(moods, new, "--label", "other")
    assert metrics["rows"] == 4
    assert "mae" in metrics or "spearman" in metrics, metrics
    same = scores(moods, new, "--label", "other", "--levels", "bad,fair,good")
    assert same == metrics
    wrong = write(tmp_path / "wrong.csv", text=FEW, other=["bad", "great", "bad", "fair"])
    result = phasefit("evaluate", moods, wrong, "--label", "other", "-q")
    assert result.exit_code == 2
    assert "'great' is not one of the levels" in result.stderr


def test_a_few_scores_are_scores_for_a_run_of_them(two: Path, tmp_path: Path) -> None:
    new = write(tmp_path / "new.csv", text=FEW, other=["0.5", "1.5", "0.5", "1"])
    assert scores(two, new, "--task", "stars", "--label", "other")["rows"] == 4


# --- tasks ------------------------------------------------------------------------------------------------------------


def test_a_run_of_one_task_is_scored_on_a_table_and_on_its_task_file(one: Path, folder: Path, tmp_path: Path) -> None:
    new = write(tmp_path / "new.csv", text=FEW, label=["music", "weather", "food", "food"])
    table = scores(one, new)
    assert table["rows"] == 4
    assert scores(one, new, "--task", "topics") == table
    of_file = scores(one, folder / "one.toml")
    assert of_file["tasks"]["topics"] == scores(one, folder / "topics.csv")
    assert set(of_file) == {"mean", "tasks"}
    assert scores(one, folder / "two.toml")["tasks"].keys() == {"topics"}, "the tasks that the run has"


def test_a_task_file_that_names_a_column_is_read_as_the_run_was(two: Path, tmp_path: Path) -> None:
    write(tmp_path / "few.csv", text=FEW, other=["0.5", "1.5", "0.5", "1"])
    (tmp_path / "named.toml").write_text(task("stars", "few.csv") + 'label = "other"\n')
    assert scores(two, tmp_path / "named.toml")["tasks"]["stars"]["rows"] == 4


def test_the_mean_is_of_what_tasks_were_judged_by(folder: Path, tiny_folder: Path, tmp_path: Path) -> None:
    watch = ("--set", "multitask.tasks.topics.watch=macro_f1")
    given = ("-m", tiny_folder, "-o", tmp_path / "run", *watch, *TASKS)
    result = phasefit("train", folder / "two.toml", *given)
    assert result.exit_code == 0, result.stderr
    kept = json.loads((tmp_path / "run" / "metrics.json").read_text())["validation"]
    for metrics in (kept, scores(tmp_path / "run", folder / "two.toml")):
        each = metrics["tasks"]["topics"]["macro_f1"], metrics["tasks"]["stars"]["pearson"] or 0.0
        assert metrics["mean"] == pytest.approx(sum(each) / 2)


def test_a_run_of_one_task_predicts(one: Path, folder: Path) -> None:
    result = phasefit("predict", one, folder / "topics.csv", "-q")
    assert result.exit_code == 0, result.stderr
    assert len(list(csv.DictReader(io.StringIO(result.stdout)))) == 60


def test_one_task_of_a_task_file_may_be_named(two: Path, folder: Path, tmp_path: Path) -> None:
    every = scores(two, folder / "two.toml")
    assert every["tasks"].keys() == {"topics", "stars"}
    only = scores(two, folder / "two.toml", "--task", "stars", "-o", tmp_path / "scores")
    assert only["tasks"] == {"stars": every["tasks"]["stars"]}
    assert (tmp_path / "scores" / "stars" / "metrics.json").is_file()
    assert not (tmp_path / "scores" / "topics").exists()


def test_tasks_that_do_not_fit_are_one_sentence(one: Path, two: Path, folder: Path) -> None:
    for run, data, more, says in (
        (two, "two.toml", ("--task", "star"), "did you mean 'stars'"),
        (one, "two.toml", ("--task", "stars"), "has no task 'stars'"),
        (two, "two.toml", ("--label", "label"), "do not apply to a task file; set them there"),
    ):
        result = phasefit("evaluate", run, folder / data, *more, "-q")
        assert result.exit_code == 2, (result.output, result.exception)
        assert len(result.stderr.splitlines()) == 1
        assert says in result.stderr


def test_a_task_without_its_table_is_named_with_its_file(one: Path, tiny_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "lost.toml").write_text(task("topics", "gone.csv"))
    message = "lost.toml, task 'topics': no such file: gone.csv"
    for words in (("evaluate", one, tmp_path / "lost.toml"), ("train", tmp_path / "lost.toml", "-m", tiny_folder)):
        result = phasefit(*words)
        assert result.exit_code == 2
        assert message in " ".join(result.stderr.split())


def test_a_model_of_pairs_asks_for_pairs_whatever_it_is_used_for(pairs: Path, folder: Path) -> None:
    for command in ("predict", "evaluate"):
        result = phasefit(command, pairs, folder / "topics.csv", "-q")
        assert result.exit_code == 2
        message = " ".join(result.stderr.split())
        assert "pairs of texts are needed here" in message
        assert "--text A --text B" in message
        assert "recipe" not in message


def test_a_split_that_no_dataset_has_is_refused(one: Path, folder: Path) -> None:
    result = phasefit("evaluate", one, folder / "topics.csv", "--split", "xyz")
    assert result.exit_code == 2
    assert "--split must be train, validation or test, not 'xyz'" in " ".join(result.stderr.split())


def test_a_table_is_scored_by_one_of_several_tasks_that_must_be_named(two: Path, folder: Path) -> None:
    result = phasefit("evaluate", two, folder / "topics.csv", "-q")
    assert result.exit_code == 2, (result.output, result.exception)
    assert "has several tasks; choose one with --task: topics, stars" in result.stderr
    assert scores(two, folder / "topics.csv", "--task", "topics")["rows"] == 60


def test_texts_that_tasks_were_trained_on_are_reported(two: Path, folder: Path, tmp_path: Path) -> None:
    result = phasefit("evaluate", two, folder / "two.toml", "--json", "-q")
    message = " ".join(result.stderr.split())
    assert re.search(r"\d+ of the 60 texts in 'topics' were used to train \S", message)
    assert re.search(r"\d+ of the 60 texts in 'stars' were used to train \S", message)
    new = write(tmp_path / "new.csv", text=FEW, label=["music", "weather", "food", "food"])
    assert phasefit("evaluate", two, new, "--task", "topics", "--json", "-q").stderr == ""


# --- names of tasks ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["items", "keys", "values", "pop", "train", "to", "type", "_hidden", "forward"])
def test_names_that_no_head_can_have_are_refused(folder: Path, tiny_folder: Path, tmp_path: Path, name: str) -> None:
    file = tmp_path / "tasks.toml"
    file.write_text(task(name, str(folder / "topics.csv")))
    result = phasefit("train", file, "-m", tiny_folder, "-o", tmp_path / "run", *TASKS)
    assert result.exit_code == 2, (result.output, result.exception)
    assert len(result.stderr.splitlines()) == 1
    assert f"a task cannot be named '{name}', which is reserved; choose another name" in result.stderr
    assert not (tmp_path / "run").exists()


def test_whatever_torch_keeps_for_itself_is_refused() -> None:
    from torch import nn

    from phasefit.data.task_file import NAME, RESERVED

    # Those that torch itself defines: other libraries may hang more of them on its classes.
    attributes = {**vars(nn.Module), **vars(nn.ModuleDict)}
    own = {
        name
        for name, value in attributes.items()
        if NAME.fullmatch(name)
        and not name.startswith("_")
        and str(getattr(value, "__module__", "torch")).startswith("torch")
    }
    assert not own - RESERVED


def test_unlabelled_texts_with_a_task_file_are_refused(folder: Path, tiny_folder: Path, tmp_path: Path) -> None:
    more = ["--unlabelled", folder / "topics.csv", "-o", tmp_path / "run"]
    result = phasefit("train", folder / "one.toml", "-m", tiny_folder, *more, *TASKS)
    assert result.exit_code == 2
    assert "--unlabelled applies to a single table" in result.stderr
    assert not (tmp_path / "run").exists()
