"""Runs without labels: reading, splitting, the result, and how it can be used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from phasefit.data.labels import NoLabels
from phasefit.errors import DataError, LabelError, ModelError, RecipeError
from phasefit.events import Note
from phasefit.models.storage import load_model
from phasefit.prepare.merge import merged
from phasefit.prepare.prepare import Prepared
from phasefit.recipes.needs import Needs, needs_of
from phasefit.recipes.reading import parse_recipe, read_recipe
from phasefit.runs.execution import fit_spec
from phasefit.runs.fitting.index_rows import index_others, index_rows
from phasefit.runs.fitting.starting import base_run
from phasefit.runs.job import TrainResult
from phasefit.runs.plan import plan
from phasefit.runs.results import save_model
from phasefit.runs.saved_specification import spec_from_json, spec_to_json
from running import train
from specs import prepare, run_spec
from tiny import fresh_model, make_table

TEXTS, LABELS = make_table(80)
PAIRS = list(zip(TEXTS, TEXTS[1:] + TEXTS[:1], strict=True))
ALONE, PAIRED = Needs(labels=False, texts=True), Needs(labels=False, pairs=True)
DENOISE = '[[phase]]\nkind = "denoise"\nmax_steps = 3\nbatch_size = 16\nevaluate_every = 1\n'
FINETUNE: dict[str, Any] = {"recipe": "finetune", "settings": ("finetune.max_steps=2",)}


@pytest.fixture(scope="module")
def recipe(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("recipe") / "alone.toml"
    path.write_text(DENOISE)
    return str(path)


def silent(_: Any) -> None:
    """Ignore all events."""


def read(data: Any, needs: Needs = ALONE, **options: Any) -> Prepared:
    return prepare(run_spec(data, **options), None, needs)


# --- needs ------------------------------------------------------------------------------------------------------------


def test_needs() -> None:
    assert needs_of(read_recipe("three-phase")) == Needs(labels=True, texts=True)
    assert needs_of(read_recipe("finetune")) == Needs(labels=True, labels_of_pairs=True)
    assert needs_of(read_recipe("multitask")) == Needs(labels=False, tasks=True)
    assert needs_of(parse_recipe(DENOISE, name="r", where="r")) == ALONE
    assert needs_of(read_recipe("mnr")) == PAIRED
    assert [needs.sides for needs in (Needs(), ALONE, PAIRED)] == ["one", "each", "pairs"]


def test_pairs_and_labels_in_one_recipe_are_refused() -> None:
    both = parse_recipe('[[phase]]\nkind = "mnr"\n[[phase]]\nkind = "finetune"\n', name="both", where="both.toml")
    with pytest.raises(RecipeError, match="both: mnr needs pairs of texts and finetune needs labels"):
        needs_of(both)


# --- splitting --------------------------------------------------------------------------------------------------------


def test_texts_alone_are_split_at_random_and_not_tested() -> None:
    prepared = read(TEXTS)
    assert (len(prepared.train), len(prepared.validation), prepared.test) == (64, 16, None)
    assert sorted([*prepared.train.texts, *prepared.validation.texts]) == sorted(TEXTS)
    assert prepared.validation.texts != read(TEXTS, seed=1).validation.texts
    assert isinstance(prepared.space, NoLabels)
    assert (prepared.space.names, len(prepared.space), prepared.space.kind) == ([], 0, "none")
    assert prepared.codes(prepared.train).tolist() == [-1] * 64
    assert prepared.facts()["rows"] == {"train": 64, "validation": 16}
    assert "split off before training (at random): 20% for validation" in prepared.notes
    assert "data: 80 rows (64 train, 16 validation), 6 to 8 words per text; no repeated texts" in prepared.notes
    assert len(merged(prepared).train) == 80


def test_copies_stay_together() -> None:
    prepared = read([text for text in TEXTS for _ in range(3)])
    assert not {*prepared.train.texts} & {*prepared.validation.texts}


def test_pairs_stay_together() -> None:
    prepared = read([*PAIRS, *PAIRS[:20]], PAIRED)
    rows = [{*zip(*part.sides, strict=True)} for part in (prepared.train, prepared.validation)]
    assert rows[0] | rows[1] == {*PAIRS}
    assert not rows[0] & rows[1]
    again = merged(prepared).train
    assert sorted(zip(*again.sides, strict=True)) == sorted([*PAIRS, *PAIRS[:20]])


def test_available_labels_are_used_for_evaluation() -> None:
    prepared = read((TEXTS, LABELS))
    assert prepared.space.names == ["food", "music", "weather"]
    assert {*prepared.validation.labels} == {*LABELS}
    assert prepared.test is None


@pytest.mark.parametrize(
    ("data", "options", "note"),
    [
        ((TEXTS, ["x"] * 80), {}, "ignoring the labels: there is only one class"),
        ((TEXTS, [f"x{row}" for row in range(80)]), {}, "ignoring the labels: there are 80 classes for 80 rows"),
        (
            {"text": TEXTS, "label": [*LABELS[1:], None]},
            {},
            "ignoring the label column 'label': it does not have one class",
        ),
        ((TEXTS, LABELS), {"validation": make_table(9, seed=4)[0]}, "ignoring the labels: validation has no labels"),
        ({"anchor": TEXTS, "positive": TEXTS, "label": LABELS}, {}, "ignoring the label column 'label': it describes"),
    ],
    ids=["one class", "one class per row", "missing", "validation without", "of pairs"],
)
def test_unusable_labels_are_ignored(data: Any, options: dict[str, Any], note: str) -> None:
    prepared = read(data, **options)
    assert any(note in text for text in prepared.notes)
    assert isinstance(prepared.space, NoLabels)
    assert prepared.train.labels is None
    assert prepared.validation is None or prepared.validation.labels is None


def test_labels_of_pairs_are_a_warning() -> None:
    prepared = read({"text_a": TEXTS, "text_b": TEXTS, "label": LABELS}, PAIRED)
    events: list[Note] = []
    prepared.report(events.append)
    [warned] = [note.text for note in events if note.warning]
    assert "is used as a positive pair and its column 'label' is ignored" in warned
    assert prepared.columns == {"text": "text_a", "others": ("text_b",)}
    assert "columns: texts 'text_a', 'text_b' (one pair per row)" in prepared.notes


def test_a_test_is_not_scored() -> None:
    assert "test is not scored: the recipe trains no classifier" in read(TEXTS, test=(TEXTS, LABELS)).notes
    prepared = read(TEXTS, test=TEXTS[:9])
    assert any("test has no labels and is not scored" in note for note in prepared.notes)
    assert prepared.test is None


def test_a_sample_is_random() -> None:
    prepared = read(TEXTS, rows=30)
    assert len(prepared.train) + len(prepared.validation) == 30
    assert "using a random sample of 30 of the 80 training rows" in prepared.notes


def test_unlabelled_texts_that_validate_are_dropped() -> None:
    prepared = read(PAIRS, PAIRED, unlabelled=[*TEXTS, "another one"])
    held_out = {text for row in zip(*prepared.validation.sides, strict=True) for text in row}
    assert {*prepared.unlabelled.texts} == {*TEXTS, "another one"} - held_out


def test_pairs_as_more_texts() -> None:
    prepared = prepare(run_spec((TEXTS, LABELS), unlabelled={"anchor": ["a b"], "positive": ["c d"]}))
    assert prepared.unlabelled.texts == ["a b", "c d"]


def test_too_few_texts_to_split() -> None:
    with pytest.raises(DataError, match="too few distinct texts; give --validation, or use --validation-size"):
        read(["a b", "a b"])


def test_recipes_that_need_labels_still_do() -> None:
    with pytest.raises(LabelError, match="labels are needed"):
        prepare(run_spec(TEXTS))


def test_the_specification_survives_json(tmp_path: Path) -> None:
    request = run_spec("d.csv", text=("a", "b"), out=tmp_path)
    saved = spec_to_json(request)
    assert spec_from_json(saved, tmp_path).data.text == ("a", "b")
    assert spec_from_json({**saved, "text": "a"}, tmp_path).data.text == ("a",)
    assert spec_from_json({**saved, "text": None}, tmp_path).data.text == ()


# --- the numbers of the texts -----------------------------------------------------------------------------------------


def test_other_texts_have_their_own_numbers(tiny_folder: Path) -> None:
    triples = [(first, second, f"{first} not") for first, second in PAIRS]
    prepared = read(triples, PAIRED, validation=PAIRS[:4], unlabelled=["the rain", "a song"])
    recipe = parse_recipe(DENOISE, name="r", where="r")
    data = index_rows(fresh_model(tiny_folder), prepared, recipe, 0, silent)
    texts = np.array(data.texts, dtype=object)
    assert len(texts) == len(data.tokens.lengths) == 3 * 80 + 2 * 4 + 2
    assert (data.others.shape, data.codes.shape) == ((len(texts), 2), (len(texts),))
    assert [*zip(texts[data.train], *texts[data.others[data.train]].T, strict=True)] == triples
    assert [*zip(texts[data.validation], texts[data.others[data.validation, 0]], strict=True)] == PAIRS[:4]
    assert (data.others[data.validation, 1] == -1).all()
    assert texts[data.unlabelled].tolist() == ["the rain", "a song"]
    assert (data.others[data.unlabelled] == -1).all()
    assert (data.codes == -1).all()


def test_no_other_texts() -> None:
    texts = list(TEXTS)
    assert index_others([read(TEXTS).train], texts) is None
    assert texts == TEXTS


# --- whole runs -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def encoder_run(recipe: str, tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> TrainResult:
    folder = tmp_path_factory.mktemp("alone")
    (folder / "texts.txt").write_text("\n".join(TEXTS))
    request = run_spec(folder / "texts.txt", recipe=recipe, model=str(tiny_folder), out=folder / "run", refit=True)
    return train(request, silent)


def test_a_run_ends_with_an_encoder(encoder_run: TrainResult) -> None:
    assert {*encoder_run.metrics} >= {"phases", "refit"}
    assert not {"validation", "test"} & {*encoder_run.metrics}
    assert encoder_run.metrics["refit"]["rows"] == 80
    saved = load_model(encoder_run.folder)
    assert not saved.heads
    assert np.array_equal(saved.embed(TEXTS), encoder_run.model.embed(TEXTS))
    plain = SentenceTransformer(str(encoder_run.folder / "encoder"), device="cpu").encode(TEXTS)
    assert plain == pytest.approx(saved.embed(TEXTS), abs=1e-5)
    with pytest.raises(ModelError, match="only embeds"):
        _ = saved.space
    card = (encoder_run.folder / "README.md").read_text()
    assert "0 classes" not in card


def test_a_classifier_continues_from_an_encoder(encoder_run: TrainResult) -> None:
    assert base_run(str(encoder_run.folder)) is None
    result = fit_spec(run_spec((TEXTS, LABELS), model=str(encoder_run.folder), **FINETUNE), silent)
    assert result.model.space.names == ["food", "music", "weather"]
    assert result.metrics["test"]["rows"] == 8


def test_texts_alone_after_a_classifier(recipe: str, tiny_folder: Path, tmp_path: Path) -> None:
    first = fit_spec(run_spec((TEXTS, LABELS), model=str(tiny_folder), **FINETUNE), silent)
    save_model(first.model, tmp_path / "first")
    events: list[Any] = []
    more = run_spec(make_table(40, seed=5)[0], recipe=recipe, model=str(tmp_path / "first"))
    result = fit_spec(more, events.append)
    assert result.model.space.names == ["food", "music", "weather"]
    assert {*result.metrics} == {"phases"}
    warned = [note.text for note in events if isinstance(note, Note) and note.warning]
    assert any("changes the encoder but neither trains nor scores the classifier of" in text for text in warned)
    scored = prepare(run_spec(TEXTS, test=(TEXTS, LABELS)), base_run(str(tmp_path / "first")), ALONE)
    assert len(scored.test) == 80
    parts = {"train": TEXTS, "test": TEXTS[:9]}
    assert prepare(run_spec(parts), base_run(str(tmp_path / "first")), ALONE).test is None


def test_the_plan(recipe: str, tiny_folder: Path) -> None:
    prepared = plan(run_spec(TEXTS, recipe=recipe, model=str(tiny_folder)), silent)
    assert [phase.rows for phase in prepared.phases] == [64]
    assert not {"classes", "kind"} & {*prepared.facts}


@pytest.mark.parametrize("name", ["simcse", "mnr"])
def test_the_packaged_recipes(name: str, tiny_folder: Path) -> None:
    settings = (f"{name}.max_steps=2", f"{name}.batch_size=8")
    result = fit_spec(run_spec(PAIRS, recipe=name, settings=settings, model=str(tiny_folder)), silent)
    assert [phase["name"] for phase in result.metrics["phases"]] == [name]
    assert not result.model.heads
