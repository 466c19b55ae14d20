"""Every kind of label from the command line to the model card: train, predict, evaluate, resume; on a tiny encoder."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner, Result

from phasefit.cli.app import app
from phasefit.data.labels import LABEL_KINDS
from phasefit.models.storage import load_model
from phasefit.recipes.needs import Needs
from phasefit.runs.fitting.starting import base_run
from specs import prepare, run_spec
from tiny import make_table

TEXTS, TOPICS = make_table(60, classes=3)
PLACES = {name: place for place, name in enumerate(sorted(set(TOPICS)))}
NUMBERS = [PLACES[topic] for topic in TOPICS]
QUICK = "-r finetune -s finetune.max_steps=3"


@dataclass(frozen=True)
class Kind:
    """A table, the options it needs, and what to expect of it."""

    labels: list[str]
    judged: str  # a metric that it must have
    says: str  # what the card calls it
    pairs: bool = False
    options: str = ""


PATHS = [f"all/{topic}" if PLACES[topic] else topic for topic in TOPICS]  # one ends a level sooner
SETS = ["|".join(sorted(PLACES)[: 1 + place % 3]) for place in range(60)]
SEMICOLONS = [labels.replace("|", ";") for labels in SETS]
KINDS = {
    "semicolons": Kind(
        [labels.replace("|", ";") for labels in SETS],
        "micro_f1",
        "multi-label text classifier with 3 labels",
        options="--kind multi --separator ;",
    ),
    "multi": Kind(SETS, "micro_f1", "multi-label text classifier with 3 labels"),
    "tree": Kind(PATHS, "hierarchical_f1", "hierarchical text classifier with 3 classes", options="--tree /"),
    "score": Kind([f"{number}.{row}5" for row, number in enumerate(NUMBERS)], "pearson", "predicts a score"),
    "levels": Kind(
        TOPICS, "quadratic_kappa", "predicts one of 3 levels for texts", options=f"--levels {','.join(PLACES)}"
    ),
    "pair": Kind(
        [str(number % 2) for number in NUMBERS], "accuracy", "classifier with 2 classes for text pairs", pairs=True
    ),
    "pair-score": Kind(
        [f"{n}.{row}5" for row, n in enumerate(NUMBERS)], "spearman", "a score for text pairs", pairs=True
    ),
}
KIND_OF = {"semicolons": "multi", "levels": "score", "pair": "single", "pair-score": "score"}


def phasefit(line: str) -> Result:
    result = CliRunner().invoke(app, line.split(), prog_name="phasefit")
    assert result.exit_code == 0, (result.output, result.exception)
    return result


def frame_of(kind: Kind) -> pd.DataFrame:
    if not kind.pairs:
        return pd.DataFrame({"text": TEXTS, "label": kind.labels})
    return pd.DataFrame({"one": TEXTS, "other": TEXTS[::-1], "label": kind.labels})


@pytest.fixture(scope="module", params=KINDS)
def case(request, tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A table of that kind with its finished run, in a folder."""
    name, kind = request.param, KINDS[request.param]
    folder = tmp_path_factory.mktemp(name)
    frame_of(kind).to_csv(folder / "t.csv", index=False)
    texts = "--text one --text other" if kind.pairs else ""
    phasefit(f"train {folder}/t.csv {texts} {kind.options} -q -m {tiny_folder} {QUICK} -o {folder}/run")
    return name, folder


def test_every_registered_kind_is_here() -> None:
    assert {KIND_OF.get(name, name) for name in KINDS} == set(LABEL_KINDS)


def test_the_kind_is_detected_and_kept(case) -> None:
    name, folder = case
    manifest = json.loads((folder / "run" / "phasefit.json").read_text())
    assert manifest["data"]["kind"] == KIND_OF.get(name, name)
    assert load_model(folder / "run").space.kind == KIND_OF.get(name, name)


def test_going_on_reads_a_table_as_the_run_did(case) -> None:
    _, folder = case
    base = base_run(str(folder / "run"))
    again = prepare(run_spec(str(folder / "t.csv")), base, Needs(labels=True, labels_of_pairs=True))
    assert base is not None
    assert again.space == base.space, "no class is new"
    assert (
        json.loads(json.dumps(again.columns))
        == json.loads((folder / "run" / "phasefit.json").read_text())["data"]["columns"]
    )


def test_its_own_metrics_are_kept(case) -> None:
    name, folder = case
    metrics = json.loads((folder / "run" / "metrics.json").read_text())
    for split in ("validation", "test"):
        assert np.isfinite(metrics[split][KINDS[name].judged] or 0.0)


def test_predictions_are_added_to_the_columns_of_the_table(case) -> None:
    name, folder = case
    phasefit(f"predict {folder}/run {folder}/t.csv -q -o {folder}/out.csv --overwrite")
    frame = pd.read_csv(folder / "out.csv")
    assert len(frame) == 60
    assert list(frame.columns)[: len(frame_of(KINDS[name]).columns)] == list(frame_of(KINDS[name]).columns)
    predicted = frame["prediction"].dropna()
    if KIND_OF.get(name, name) == "multi":
        assert {part for cell in predicted for part in cell.split("|")} <= set(PLACES)
        assert {f"probability_{topic}" for topic in PLACES} <= set(frame.columns)
    elif name in ("score", "pair-score"):
        assert predicted.map(lambda value: isinstance(value, float)).all()
        assert "probability" not in frame.columns
    elif name == "levels":
        assert set(predicted) <= set(PLACES)
        assert frame["score"].notna().all()
    else:
        assert set(map(str, predicted)) <= set(KINDS[name].labels)
        assert frame["probability"].between(0, 1).all()


def test_evaluating_gives_what_predicting_comes_to(case) -> None:
    name, folder = case
    shown = phasefit(f"evaluate {folder}/run {folder}/t.csv -q --json -o {folder}/scores --overwrite")
    metrics = json.loads(shown.stdout)
    assert metrics == json.loads((folder / "scores" / "metrics.json").read_text())
    assert metrics["rows"] == 60
    predicted = pd.read_csv(folder / "scores" / "predictions.csv")["prediction"]
    truth = pd.Series(KINDS[name].labels)
    if name in ("score", "pair-score"):
        error = predicted.astype(float) - truth.astype(float)
        assert metrics["mse"] == pytest.approx(float((error**2).mean()))
        assert (folder / "scores" / "scores.png").is_file()
    elif KIND_OF.get(name, name) == "multi":
        truth = truth.str.replace(";", "|")
        sets = [set(cell.split("|")) if isinstance(cell, str) else set() for cell in predicted]
        right = [one == set(other.split("|")) for one, other in zip(sets, truth, strict=True)]
        assert metrics["accuracy"] == pytest.approx(np.mean(right))
    else:
        assert metrics["accuracy"] == pytest.approx(float((predicted.astype(str) == truth).mean()))


def test_what_it_makes_of_one_row_is_shown(case) -> None:
    name, folder = case
    options = "--say song --say rain" if KINDS[name].pairs else "--say song"
    assert "song" in phasefit(f"predict {folder}/run {options} -q").stdout


def test_the_card_says_what_it_is(case) -> None:
    name, folder = case
    card = (folder / "run" / "README.md").read_text()
    assert KINDS[name].says in card
    assert ("TextRegressor" if KIND_OF.get(name, name) == "score" else "TextClassifier") in card


def test_scores_of_pairs_continue_from_their_run_with_its_head(tiny_folder: Path, tmp_path: Path) -> None:
    frame_of(KINDS["pair-score"]).to_csv(tmp_path / "t.csv", index=False)
    line = f"train {tmp_path}/t.csv --text one --text other -q -r finetune -s finetune.max_steps=1"
    phasefit(f"{line} -m {tiny_folder} -o {tmp_path}/run")
    phasefit(f"{line} -m {tmp_path}/run -o {tmp_path}/again")
    before, after = load_model(tmp_path / "run"), load_model(tmp_path / "again")
    assert after.space == before.space
    assert after.head().config() == before.head().config()


@pytest.fixture(scope="module")
def tasks(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A task file of four kinds and its run."""
    folder = tmp_path_factory.mktemp("tasks")
    chosen = ("pair", "multi", "levels", "pair-score")
    lines = []
    for name in chosen:
        frame_of(KINDS[name]).to_csv(folder / f"{name}.csv", index=False)
        lines += ["[[task]]", f'name = "{name}"', f'data = "{name}.csv"']
        lines += ['text = ["one", "other"]'] if KINDS[name].pairs else []
        lines += [f"levels = {json.dumps(list(PLACES))}"] if name == "levels" else []
    (folder / "tasks.toml").write_text("\n".join(lines))
    phasefit(f"train {folder}/tasks.toml -q -m {tiny_folder} -s multitask.max_steps=4 -o {folder}/run")
    return folder


def test_several_tasks_are_learned_scored_and_predicted(tasks: Path) -> None:
    metrics = json.loads((tasks / "run" / "metrics.json").read_text())
    assert set(metrics["test"]["tasks"]) == {"pair", "multi", "levels", "pair-score"}
    judged = [KINDS[name].judged for name in ("pair", "multi")]
    own = [metrics["test"]["tasks"][name][score] for name, score in zip(("pair", "multi"), judged, strict=True)]
    own += [metrics["test"]["tasks"][name]["pearson"] or 0.0 for name in ("levels", "pair-score")]
    assert metrics["test"]["mean"] == pytest.approx(np.mean(own))
    phasefit(f"predict {tasks}/run --task levels {tasks}/levels.csv -q -o {tasks}/levels-out.csv")
    assert set(pd.read_csv(tasks / "levels-out.csv")["prediction"]) <= set(PLACES)
    phasefit(f"predict {tasks}/run --task pair-score {tasks}/pair-score.csv -q -o {tasks}/pairs-out.csv")
    assert pd.read_csv(tasks / "pairs-out.csv")["prediction"].notna().all()


def test_evaluating_a_task_file_does_all(tasks: Path) -> None:
    evaluation = json.loads(phasefit(f"evaluate {tasks}/run {tasks}/tasks.toml -q --json").stdout)
    assert set(evaluation["tasks"]) == {"pair", "multi", "levels", "pair-score"}
    assert all(metrics["rows"] == 60 for metrics in evaluation["tasks"].values())
    one = json.loads(phasefit(f"evaluate {tasks}/run {tasks}/pair.csv --task pair -q --json").stdout)
    assert one == evaluation["tasks"]["pair"]


def test_the_card_of_several_tasks_has_each(tasks: Path) -> None:
    card = (tasks / "run" / "README.md").read_text()
    for name in ("pair", "multi", "levels", "pair-score"):
        assert f"Task `{name}`" in card
    assert "mean of the tasks" in card


def test_heads_alone_can_be_trained_after_all(tasks: Path, tiny_folder: Path) -> None:
    (tasks / "heads.toml").write_text(
        '[[phase]]\nkind = "multitask"\nmax_steps = 2\n\n'
        '[[phase]]\nkind = "multitask"\nfreeze = true\nmix = "sequential"\nmax_steps = 4\n'
    )
    phasefit(f"train {tasks}/tasks.toml -q -m {tiny_folder} -r {tasks}/heads.toml -o {tasks}/heads")
    phases = json.loads((tasks / "heads" / "metrics.json").read_text())["phases"]
    assert [phase["name"] for phase in phases] == ["multitask", "multitask-2"]


def test_an_encoder_of_labelled_pairs(tiny_folder: Path, tmp_path: Path) -> None:
    frame_of(KINDS["pair-score"]).to_csv(tmp_path / "t.csv", index=False)
    texts = "--text one --text other"
    line = f"train {tmp_path}/t.csv {texts} -r cosine -s cosine.max_steps=2 -s cosine.min_steps=1 -q -m {tiny_folder}"
    phasefit(f"{line} -o {tmp_path}/run")
    assert not load_model(tmp_path / "run").heads
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text())
    assert "spearman" in metrics["phases"][0]["best"]


def test_a_task_without_the_split_is_skipped_and_reported(tasks: Path) -> None:
    (tasks / "split").mkdir()
    frame_of(KINDS["pair"]).to_csv(tasks / "split" / "train.csv", index=False)
    (tasks / "some.toml").write_text(
        '[[task]]\nname = "pair"\ndata = "split"\n[[task]]\nname = "multi"\ndata = "multi.csv"\n'
    )
    result = phasefit(f"evaluate {tasks}/run {tasks}/some.toml --json")
    assert set(json.loads(result.stdout)["tasks"]) == {"multi"}
    assert "pair is not scored: split has no split 'test'" in result.stderr
