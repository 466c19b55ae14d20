"""The main job on a small table with a tiny encoder."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from phasefit.errors import DataError, LabelError, ModelError, PhasefitError, RecipeError, RunError, TrainingError
from phasefit.events import Event, Note, PhaseEnded, PhaseStarted, Stage, StepDone
from phasefit.models.storage import load_model
from phasefit.recipes import parse_recipe
from phasefit.runs.fitting.starting import base_run
from phasefit.runs.job import TrainResult
from phasefit.runs.specification import RunSpec
from running import resume, train
from specs import prepare, run_spec
from tiny import make_table, read_json, tree, write_csv

pytestmark = pytest.mark.pictures

SHORT = ("denoise.max_steps=2", "contrast.max_steps=2", "finetune.max_steps=4", "finetune.lr=1e-3")
QUICK = ("finetune.max_steps=2", "finetune.min_steps=1")


class Listener:
    def __init__(self) -> None:
        self.events: list[Event] = []

    def __call__(self, event: Event) -> None:
        self.events.append(event)

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def notes(self) -> str:
        return " ".join(note.text for note in self.of(Note))


def silent(_: Event) -> None:
    pass


@pytest.fixture
def with_pictures() -> None:
    """For the tests that need them; the run of the fixture `whole` has them too."""


@pytest.fixture(autouse=True)
def _mostly_no_pictures(request: pytest.FixtureRequest) -> None:
    if "with_pictures" not in request.fixturenames:
        request.getfixturevalue("no_pictures")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "queries.csv", *make_table(80))


@pytest.fixture(scope="module")
def whole(table: Path, tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[TrainResult, Listener]:
    listener = Listener()
    out = tmp_path_factory.mktemp("runs") / "run"
    request = run_spec(table, model=str(tiny_folder), settings=SHORT, out=out, command="phasefit train queries.csv")
    return train(request, listener), listener


def quick(table: Any, folder: Path, out: Path, **options: Any) -> RunSpec:
    settings = QUICK + tuple(options.pop("settings", ()))
    return run_spec(table, **{"model": str(folder), "recipe": "finetune", "settings": settings, "out": out, **options})


# --- the folder -------------------------------------------------------------------------------------------------------


def test_the_folder_is_complete(whole) -> None:
    result, _ = whole
    names = {path.name for path in result.folder.iterdir()}
    assert names >= {
        *("phasefit.json", "encoder", "heads.safetensors", "labels.json", "recipe.toml"),
        *("metrics.json", "history.json", "README.md", "report.html", "confusion.png"),
    }
    assert not [path for path in result.folder.rglob("*") if path.name.endswith(".part")]
    endings = {path.suffix for path in result.folder.rglob("*") if path.is_file()}
    assert endings <= {".json", ".safetensors", ".toml", ".md", ".html", ".png", ".svg", ".txt"}


def test_the_manifest(whole, tiny_folder: Path) -> None:
    manifest = read_json(whole[0].folder / "phasefit.json")
    assert (manifest["format"], manifest["status"], manifest["seed"]) == (2, "finished", 0)
    assert manifest["command"] == "phasefit train queries.csv"
    assert manifest["model"] == str(tiny_folder)
    assert manifest["threads"] >= 1
    assert len(manifest["data"]["sha256"]) == 64
    assert manifest["data"]["rows"] == {"train": 56, "validation": 16, "test": 8}


def test_the_metrics(whole) -> None:
    metrics = read_json(whole[0].folder / "metrics.json")
    assert metrics == whole[0].metrics
    assert set(metrics) == {"validation", "test", "phases", "geometry", "decision"}
    for split, rows in (("validation", 16), ("test", 8)):
        assert {
            "accuracy",
            "macro_f1",
            "macro_precision",
            "macro_recall",
            "weighted_f1",
            "roc_auc",
            "per_class",
        } <= set(metrics[split])
        assert metrics[split]["rows"] == rows
    assert [phase["name"] for phase in metrics["phases"]] == ["denoise", "contrast", "finetune"]
    for phase in metrics["phases"]:
        assert {"name", "steps", "seconds", "best"} <= set(phase)
    assert [phase["steps"] for phase in metrics["phases"]] == [2, 2, 4]


def test_the_history_has_every_step_and_every_evaluation(whole) -> None:
    rows = read_json(whole[0].folder / "history.json")
    losses = [(row["phase"], row["step"]) for row in rows if "loss" in row]
    assert losses == [
        (name, step)
        for name, steps in (("denoise", 2), ("contrast", 2), ("finetune", 4))
        for step in range(1, steps + 1)
    ]
    evaluations = [row for row in rows if "scores" in row]
    assert all(row["watch"] in row["scores"] for row in evaluations)
    assert {row["phase"] for row in evaluations} == {"denoise", "contrast", "finetune"}


def test_the_saved_recipe_is_the_one_that_was_run(whole) -> None:
    text = (whole[0].folder / "recipe.toml").read_text()
    recipe = parse_recipe(text, name="three-phase", where="recipe.toml")
    assert [phase.max_steps for phase in recipe.phases] == [2, 2, 4]


def test_the_card_names_the_classes(whole) -> None:
    card = (whole[0].folder / "README.md").read_text()
    assert all(name in card for name in ("music", "weather", "food", "phasefit train queries.csv"))


def test_the_model_that_is_returned_is_the_one_that_is_saved(whole) -> None:
    texts = make_table(20, seed=4)[0]
    saved = load_model(whole[0].folder)
    assert np.array_equal(saved.predict_proba(texts), whole[0].model.predict_proba(texts))
    plain = SentenceTransformer(str(whole[0].folder / "encoder"), device="cpu").encode(texts)
    assert plain == pytest.approx(saved.embed(texts), abs=1e-5)


def test_events_follow_the_phases(whole) -> None:
    listener = whole[1]
    assert [event.phase for event in listener.of(PhaseStarted)] == ["denoise", "contrast", "finetune"]
    assert [(event.index, event.phases) for event in listener.of(PhaseStarted)] == [(1, 3), (2, 3), (3, 3)]
    assert len(listener.of(PhaseEnded)) == 3
    stages = [stage.name for stage in listener.of(Stage)]
    assert stages[0] == "reading"
    assert stages[-1] == "saving"
    assert "split off" in listener.notes


# --- what is trained on -----------------------------------------------------------------------------------------------


def test_test_rows_never_reach_the_phases(table: Path, tiny_folder: Path, tmp_path: Path, monkeypatch) -> None:
    from phasefit.runs.fitting import fit

    seen: list[str] = []
    original = fit.index_rows

    def spy(model, prepared, *rest):
        data = original(model, prepared, *rest)
        seen.extend(data.texts)
        return data

    monkeypatch.setattr(fit, "index_rows", spy)
    texts, labels = make_table(20, seed=77)
    texts = [f"{text} never" for text in texts]
    test = write_csv(tmp_path / "test.csv", texts, labels)
    result = train(quick(table, tiny_folder, tmp_path / "run", test=test), silent)
    assert seen
    assert not set(seen) & set(texts)
    assert result.metrics["test"]["rows"] == 20


def test_unlabelled_texts_reach_denoising_and_are_never_scored(table: Path, tiny_folder: Path, tmp_path: Path) -> None:
    more = tmp_path / "more.txt.csv"
    more.write_text("text\n" + "\n".join(make_table(30, seed=3)[0]) + "\n")
    listener = Listener()
    request = run_spec(
        table,
        unlabelled=more,
        model=str(tiny_folder),
        recipe="denoise-finetune",
        settings=("denoise.max_steps=1", *QUICK),
        out=tmp_path / "run",
    )
    train(request, listener)
    started = {event.phase: event.facts["rows"] for event in listener.of(PhaseStarted)}
    assert started["denoise"] == started["finetune"] + 30


def test_given_splits_are_used(table: Path, tiny_folder: Path, tmp_path: Path) -> None:
    validation = write_csv(tmp_path / "v.csv", *make_table(15, seed=1))
    test = write_csv(tmp_path / "t.csv", *make_table(9, seed=2))
    result = train(quick(table, tiny_folder, tmp_path / "run", validation=validation, test=test), silent)
    rows = read_json(result.folder / "phasefit.json")["data"]["rows"]
    assert rows == {"train": 80, "validation": 15, "test": 9}


@pytest.mark.usefixtures("with_pictures")
def test_without_held_out_rows_all_rows_are_trained_on(table: Path, tiny_folder: Path, tmp_path: Path) -> None:
    result = train(quick(table, tiny_folder, tmp_path / "run", validation_size=0.0, test_size=0.0), silent)
    assert set(result.metrics) == {"phases", "geometry"}
    assert not (result.folder / "confusion.png").exists()
    assert read_json(result.folder / "phasefit.json")["data"]["rows"] == {"train": 80}


def test_a_sample_of_the_rows(table: Path, tiny_folder: Path, tmp_path: Path) -> None:
    listener = Listener()
    result = train(quick(table, tiny_folder, tmp_path / "run", rows=40), listener)
    assert sum(read_json(result.folder / "phasefit.json")["data"]["rows"].values()) == 40
    assert "sample of 40" in listener.notes


def test_tree_labels(tiny_folder: Path, tmp_path: Path) -> None:
    texts, labels = make_table(60, classes=4)
    paths = ["/".join(path) for path in tree(labels)]
    table = write_csv(tmp_path / "tree.csv", texts, paths)
    request = run_spec(table, tree="/", model=str(tiny_folder), settings=SHORT, out=tmp_path / "run")
    result = train(request, silent)
    assert len(result.metrics["test"]["levels"]) == 2
    assert load_model(result.folder).space.kind == "tree"
    assert all(isinstance(label, tuple) for label in load_model(result.folder).predict(texts[:3]))


def test_long_texts_are_cut_with_a_warning(tiny_folder: Path, tmp_path: Path) -> None:
    texts, labels = make_table(60)
    table = write_csv(tmp_path / "long.csv", [text + " rain" * 80 for text in texts], labels)
    listener = Listener()
    train(quick(table, tiny_folder, tmp_path / "run"), listener)
    warning, of_test = [note for note in listener.of(Note) if note.warning and "tokens" in note.text]
    assert of_test.text.startswith("test: ")
    assert "longer than 64 tokens" in warning.text
    assert "of all tokens are lost (median" in warning.text


def test_the_maximum_length_can_be_detected_or_set(table: Path, tiny_folder: Path, tmp_path: Path) -> None:
    for wanted, low, high in (("auto", 8, 24), ("12", 12, 12)):
        out = tmp_path / wanted
        result = train(quick(table, tiny_folder, out, settings=(f"max_length={wanted}",)), silent)
        assert low <= load_model(result.folder).encoder.max_length <= high
        assert low <= read_json(out / "phasefit.json")["max_length"] <= high


# --- refit, continuing, unseen labels ---------------------------------------------------------------------------------


def test_refit_repeats_the_share_and_the_penalty(table: Path, tiny_folder: Path, tmp_path: Path) -> None:
    settings = (
        *("contrast.min_steps=4", "contrast.max_steps=4", "contrast.evaluate_every=2", "contrast.lr=1e-3"),
        *("contrast.watch=pairs", "contrast.blend=auto", "finetune.solve=true", "finetune.ridge=auto"),
    )
    spec = run_spec(
        table, model=str(tiny_folder), recipe="few-shot", settings=settings, out=tmp_path / "run", refit=True
    )
    listener = Listener()
    metrics = train(spec, listener).metrics
    first, again = metrics["phases"], metrics["refit"]["phases"]
    assert first[0]["best_step"], "otherwise there is nothing to blend"
    assert first[0]["blend"]["share"] == again[0]["blend"]["share"]
    assert len(first[0]["blend"]["scores"]) == 4
    assert first[1]["ridge"] == again[1]["ridge"]
    assert (first[1]["steps"], again[1]["steps"]) == (0, 0)
    assert "contrast: " in listener.notes
    assert "finetune: solved the head; cross-validation chose ridge" in listener.notes
    card = (tmp_path / "run" / "README.md").read_text(encoding="utf-8")
    assert "| finetune | 0 |" in card
    assert load_model(tmp_path / "run").head().kind == "cosine"
    continued = replace(spec, model=str(tmp_path / "run"), output=replace(spec.output, folder=tmp_path / "more"))
    assert train(continued, silent).metrics["phases"][1]["steps"] == 0, "the head of a run is solved again"


def test_refit_uses_all_rows_and_the_chosen_steps(table: Path, tiny_folder: Path, tmp_path: Path) -> None:
    listener = Listener()
    result = train(quick(table, tiny_folder, tmp_path / "run", refit=True), listener)
    assert result.metrics["refit"]["rows"] == 80
    chosen = {phase["name"]: phase["best_step"] for phase in result.metrics["phases"]}
    assert {phase["name"]: phase["steps"] for phase in result.metrics["refit"]["phases"]} == chosen
    assert "refitting on all rows" in [stage.name for stage in listener.of(Stage)]
    plain = train(quick(table, tiny_folder, tmp_path / "plain"), silent)
    assert plain.metrics["test"] == result.metrics["test"], "what is reported was measured before"
    texts = make_table(9, seed=9)[0]
    assert not np.array_equal(plain.model.predict_proba(texts), result.model.predict_proba(texts))


def test_continuing_keeps_the_classes_and_adds_new_ones(whole, tmp_path: Path) -> None:
    texts, labels = make_table(60, classes=4, seed=6)
    table = write_csv(tmp_path / "more.csv", texts, labels)
    result = train(quick(table, whole[0].folder, tmp_path / "run"), silent)
    assert list(result.model.space.classes) == ["food", "music", "weather", "travel"]
    assert load_model(result.folder).predict_proba(texts).shape == (60, 4)


def test_continuing_with_fewer_classes_forgets_none(whole, tmp_path: Path) -> None:
    texts, labels = make_table(40, classes=2, seed=6)
    result = train(quick(write_csv(tmp_path / "few.csv", texts, labels), whole[0].folder, tmp_path / "run"), silent)
    assert list(result.model.space.classes) == ["food", "music", "weather"]


def test_new_classes_without_a_finetune_phase_are_refused(whole, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "more.csv", *make_table(60, classes=4, seed=6))
    recipe = tmp_path / "only.toml"
    recipe.write_text('[[phase]]\nkind = "contrast"\nmax_steps = 1\n')
    request = run_spec(table, model=str(whole[0].folder), recipe=str(recipe), out=tmp_path / "run")
    with pytest.raises(RecipeError, match=r"travel.*finetune"):
        train(request, silent)


def test_a_recipe_without_a_head_leaves_an_encoder(table: Path, tiny_folder: Path, tmp_path: Path) -> None:
    recipe = tmp_path / "only.toml"
    recipe.write_text('[[phase]]\nkind = "contrast"\nmax_steps = 1\n')
    result = train(run_spec(table, model=str(tiny_folder), recipe=str(recipe), out=tmp_path / "run"), silent)
    model = load_model(result.folder)
    assert not model.heads
    assert model.embed(["rain"]).shape == (1, 32)


def test_continuing_with_another_label_kind_is_refused(whole, tmp_path: Path) -> None:
    texts, labels = make_table(40, classes=4)
    table = write_csv(tmp_path / "tree.csv", texts, ["/".join(path) for path in tree(labels)])
    with pytest.raises(LabelError, match="kind 'single', but the table has kind 'tree'"):
        train(quick(table, whole[0].folder, tmp_path / "run", tree="/"), silent)


@pytest.mark.parametrize("damage", ["unfinished", "labels", "list"])
def test_continuing_from_a_damaged_run_is_refused(whole, table: Path, tmp_path: Path, damage: str) -> None:
    import json
    import shutil

    base = Path(shutil.copytree(whole[0].folder, tmp_path / "base"))
    if damage == "unfinished":
        (base / "phasefit.json").write_text(json.dumps({"format": 1, "status": "started"}))
        (base / "labels.json").unlink()
    else:
        (base / "labels.json").write_text({"labels": '{"default": 3}', "list": "[1]"}[damage])
    with pytest.raises(ModelError, match="not finished" if damage == "unfinished" else "damaged"):
        train(quick(table, base, tmp_path / "run"), silent)
    assert not (tmp_path / "run").exists()


def test_unseen_labels(tiny_folder: Path, tmp_path: Path) -> None:
    table = write_csv(tmp_path / "train.csv", *make_table(60))
    texts, labels = make_table(20, classes=4, seed=2)
    test = write_csv(tmp_path / "test.csv", texts, labels)
    with pytest.raises(
        LabelError, match=r"test.*: 5 rows with a label that is not in the training rows, e.g. 'travel'.*--unseen"
    ):
        train(quick(table, tiny_folder, tmp_path / "error", test=test), silent)
    assert not (tmp_path / "error").exists()
    dropped = train(quick(table, tiny_folder, tmp_path / "drop", test=test, unseen="drop"), silent)
    assert dropped.metrics["test"]["rows"] == 15
    assert len(dropped.model.space) == 3
    kept = train(quick(table, tiny_folder, tmp_path / "keep", test=test, unseen="keep"), silent)
    assert kept.metrics["test"]["rows"] == 20
    assert load_model(kept.folder).predict_proba(texts).shape == (20, 3), "the fourth class was not trained"


# --- failing ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"data": "missing.csv"}, DataError),
        ({"recipe": "no-such-recipe"}, RecipeError),
        ({"settings": ("finetune.epoch=1",)}, RecipeError),
        ({"model": "./no-such-model"}, ModelError),
        ({"device": "banana"}, PhasefitError),
        ({"track": "nothing"}, PhasefitError),
        ({"settings": ("max_length=9999",)}, ModelError),
        ({"text": "nope"}, DataError),
        ({"threads": 0}, PhasefitError),
        ({"precision": "half"}, PhasefitError),
    ],
)
def test_failing_early_leaves_no_folder_and_the_old_run(
    whole, table: Path, tiny_folder: Path, tmp_path: Path, options, error
) -> None:
    import shutil

    old = Path(shutil.copytree(whole[0].folder, tmp_path / "old"))
    before = read_json(old / "metrics.json")
    settings = {"data": table, "model": str(tiny_folder), "recipe": "finetune", **options}
    with pytest.raises(error):
        train(run_spec(**settings, out=tmp_path / "new"), silent)
    with pytest.raises(error):
        train(run_spec(**settings, out=old, overwrite=True), silent)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old"]
    assert read_json(old / "metrics.json") == before
    load_model(old)


def test_a_loss_that_is_not_a_number_leaves_no_folder(table: Path, tiny_folder: Path, tmp_path: Path) -> None:
    request = quick(
        table, tiny_folder, tmp_path / "run", settings=("finetune.lr=1e30", "finetune.max_steps=6", "finetune.clip=0")
    )
    with pytest.raises(TrainingError, match=r"--set finetune\.lr="):
        train(request, silent)
    assert not (tmp_path / "run").exists()


def test_an_existing_run_is_not_overwritten(whole, table: Path, tiny_folder: Path) -> None:
    with pytest.raises(RunError, match="--overwrite"):
        train(quick(table, tiny_folder, whole[0].folder), silent)


# --- again ------------------------------------------------------------------------------------------------------------


def without_times(metrics: dict[str, Any]) -> dict[str, Any]:
    phases = [{key: value for key, value in phase.items() if key != "seconds"} for phase in metrics["phases"]]
    return {**metrics, "phases": phases}


def test_the_same_seed_gives_the_same_run(whole, table: Path, tiny_folder: Path, tmp_path: Path) -> None:
    again, other = (
        train(run_spec(table, model=str(tiny_folder), settings=SHORT, out=tmp_path / str(seed), seed=seed), silent)
        for seed in (0, 1)
    )
    assert without_times(again.metrics) == without_times(whole[0].metrics)
    for name in ("heads.safetensors", "encoder/model.safetensors", "history.json"):
        assert (again.folder / name).read_bytes() == (whole[0].folder / name).read_bytes(), name
        assert (other.folder / name).read_bytes() != (whole[0].folder / name).read_bytes(), name


def test_runs_without_a_name_are_numbered(table: Path, tiny_folder: Path, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    request = run_spec(table, model=str(tiny_folder), recipe="finetune", settings=QUICK)
    assert [train(request, silent).folder for _ in range(2)] == [Path("runs/queries"), Path("runs/queries-2")]


def test_a_tracker_receives_the_scores(table: Path, tiny_folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    result = train(quick(table, tiny_folder, tmp_path / "run", track="tensorboard"), silent)
    assert any("tfevents" in path.name for path in result.folder.rglob("*"))


def test_unlabelled_texts_that_will_be_scored_are_dropped(table: Path, tiny_folder: Path, tmp_path: Path) -> None:
    prepared = prepare(quick(table, tiny_folder, tmp_path / "run", unlabelled=str(table)))
    scored = {*prepared.validation.texts, *prepared.test.texts}
    assert not scored & set(prepared.unlabelled.texts)
    assert "unlabelled texts dropped because they are also validation or test texts" in " ".join(prepared.notes)


def test_continuing_with_a_single_new_class(whole, tmp_path: Path) -> None:
    more = write_csv(tmp_path / "more.csv", [f"a journey number {row}" for row in range(20)], ["travel"] * 20)
    result = train(quick(more, whole[0].folder, tmp_path / "run", recipe="finetune"), silent)
    assert set(result.model.space.classes) == {*whole[0].model.space.classes, "travel"}


def test_a_run_cannot_be_replaced_by_its_continuation(whole, table: Path) -> None:
    folder = whole[0].folder
    with pytest.raises(RunError, match="holds the run to continue from"):
        train(quick(table, folder, folder, overwrite=True), silent)
    assert load_model(folder).spaces


@pytest.mark.usefixtures("with_pictures")
def test_a_picture_that_cannot_be_drawn_does_not_cost_the_model(
    table: Path, tiny_folder: Path, tmp_path: Path, monkeypatch
) -> None:
    def broken(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr("phasefit.report.pictures.confusion_figure", broken)
        with pytest.raises(RunError, match="No space left on device; when this is fixed, resume it with"):
            train(quick(table, tiny_folder, tmp_path / "run"), silent)
    listener = Listener()
    assert resume(tmp_path / "run", listener).model.spaces
    assert not listener.of(StepDone), "nothing was trained again"


def test_refit_repeats_the_learning_rates(table: Path, tiny_folder: Path, tmp_path: Path) -> None:
    listener = Listener()
    settings = ("finetune.epochs=2", "finetune.slack=100")
    request = quick(table, tiny_folder, tmp_path / "run", recipe="finetune", settings=settings, refit=True)
    train(request, listener)
    rates = [event.lr for event in listener.of(StepDone)]
    half = len(rates) // 2
    assert rates[:half] == rates[half:], "with much slack the last step is the one to keep"


def test_long_test_texts_are_counted(tiny_folder: Path, tmp_path: Path) -> None:
    texts, labels = make_table()
    listener = Listener()
    test = ([*texts[:5], "word " * 500], [*labels[:5], labels[0]])
    train(quick((texts, labels), tiny_folder, tmp_path / "run", test=test, recipe="finetune"), listener)
    assert "test: 1 of 6 texts are longer than" in listener.notes


def test_continuing_never_scores_training_texts_of_the_base_run(whole, table: Path, tmp_path: Path) -> None:
    texts, labels = make_table(80)
    new = [f"a journey number {row} by train" for row in range(30)]
    grown = write_csv(tmp_path / "grown.csv", [*texts, *new], [*labels, *["travel"] * 30])
    folder = whole[0].folder
    prepared = prepare(quick(grown, folder, tmp_path / "run"), base_run(str(folder)))
    trained = prepare(run_spec(table, settings=SHORT)).train
    assert not set(trained.texts) & {*prepared.validation.texts, *prepared.test.texts}
    assert len(prepared.train) + len(prepared.validation) + len(prepared.test) == 110
    assert "known classes, 1 new: travel" in " ".join(prepared.notes)
    again = prepare(quick(table, folder, tmp_path / "run", test=str(table)), base_run(str(folder)))
    assert re.search(r"\d+ of the \d+ texts in 'test' were used to train \S", " ".join(again.notes))


def test_texts_on_both_sides_are_counted(tiny_folder: Path, tmp_path: Path) -> None:
    texts, labels = make_table(80)
    prepared = prepare(quick((texts, labels), tiny_folder, tmp_path / "run", test=(texts[:7], labels[:7])))
    assert "of the 7 test texts are also training texts" in " ".join(prepared.notes)


def test_labels_kept_as_mistakes_are_not_classes_of_the_model(tiny_folder: Path, tmp_path: Path) -> None:
    texts, labels = make_table(80)
    request = quick((texts, labels), tiny_folder, tmp_path / "run", test=(texts[:4], ["unheard"] * 4), unseen="keep")
    result = train(request, silent)
    assert "unheard" not in result.model.space.names
    assert result.metrics["test"]["accuracy"] == 0
    assert result.metrics["test"]["per_class"]["unheard"]["support"] == 4
