from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from phasefit.data.labels import label_space
from phasefit.errors import DataError, RecipeError
from phasefit.phases.class_text_loss import TEMPERATURE, class_text_loss
from phasefit.phases.class_texts import ClassTexts, readable
from phasefit.phases.contract import Batch
from phasefit.phases.contrast.options import Options
from tiny import first_batch, fresh_model, make_data, make_phase, make_table, run, same, tree, weights

NAMES = ["food", "music", "weather"]  # the classes of a table of three, in the order of their codes


@pytest.mark.parametrize(
    ("label", "words"),
    [
        ("flight_time", "flight time"),
        ("AddToPlaylist", "Add To Playlist"),
        ("HTTPServer", "HTTP Server"),
        ("comp.sys.ibm-pc", "comp sys ibm pc"),
        ("DESC/manner", "DESC manner"),
        (("leisure", "board_games"), "leisure board games"),
        ("atis_flight#atis_airfare", "atis flight atis airfare"),
        ("C++", "C++"),
        ("version 3.5", "version 3.5"),
        ("日本_語", "日本 語"),
        (7, ""),
        ("-1", ""),
        ("3.5", ""),
    ],
)
def test_names_are_made_readable(label, words) -> None:
    assert readable(label) == words


def texts_at(phase, places) -> list[str]:
    features = phase.grown.features(np.asarray(places), np.random.default_rng(0))
    return phase.encoder.tokenizer.batch_decode(features["input_ids"], skip_special_tokens=True)


def test_names_join_every_batch(model, data) -> None:
    phase = make_phase("contrast", model, data, class_texts="names", batch_size=8, balance={"mode": "none"})
    rows = len(data.train)
    assert len(phase.grown) == rows + 3 == phase.facts()["rows"]
    assert texts_at(phase, [rows, rows + 1, rows + 2]) == NAMES
    assert any("3 class texts" in note for note in phase.notes())
    for draw in phase.batches.epoch(0):
        codes = phase.grown.codes[draw["rows"]]
        stand = draw["rows"] >= rows
        assert sorted(codes[stand]) == sorted(set(codes[~stand]))


def test_rows_and_names_may_be_mixed(model, data) -> None:
    phase = make_phase("contrast", model, data, class_texts="names")
    rows = len(phase.grown.rows)
    assert texts_at(phase, [rows + 1, 4, rows, 2]) == [
        "music",
        data.texts[data.train[4]],
        "food",
        data.texts[data.train[2]],
    ]


def test_the_loss_sees_them_as_texts_of_their_class(tiny_encoder) -> None:
    model = fresh_model(tiny_encoder("bert", dropout=0.0))
    texts, labels = make_table(60)
    data = make_data(model.encoder, texts, labels, validation=0)
    phase = make_phase("contrast", model, data, class_texts="names", balance={"mode": "none"})
    batch = first_batch(phase)
    in_table = make_data(model.encoder, [*texts, *NAMES], [*labels, *NAMES], validation=0)  # the same, in the table
    other = make_phase("contrast", model, in_table, balance={"mode": "none"})
    assert phase(batch).loss.item() == pytest.approx(other(batch).loss.item(), abs=1e-6)


def test_names_are_never_noised_and_never_copied(model) -> None:
    data = make_data(model.encoder, *make_table(sizes=[40, 12, 3]), validation=0)
    phase = make_phase("contrast", model, data, class_texts="names", balance={"noise": 1.0, "min_words": 1})
    assert phase.grown.noisy.any()
    places = range(len(phase.grown.rows), len(phase.grown))
    assert texts_at(phase, places) == NAMES
    assert phase.grown.clean.tolist() == [*range(len(data.train)), *places]


def test_explicit_pairs_hold_them(model, data) -> None:
    phase = make_phase("contrast", model, data, class_texts="names", pairs="explicit", batch_size=16)
    pairs = np.concatenate([draw["pairs"] for draw in phase.batches.epoch(0)])
    assert (pairs >= len(phase.grown.rows)).any()
    assert phase(first_batch(phase)).loss.isfinite()


def test_paths_of_a_tree(model, tree_data) -> None:
    phase = make_phase("contrast", model, tree_data, class_texts="names")
    places = np.arange(len(phase.grown.rows), len(phase.grown))
    assert texts_at(phase, places)[0] == "leisure food"
    targets = tree_data.space.targets(phase.grown.codes[places])
    assert targets.shape == (4, 2)
    assert phase(first_batch(phase)).loss.isfinite()


def test_texts_of_a_file(model, data, tmp_path) -> None:
    file = tmp_path / "classes.jsonl"
    file.write_text('{"label": "food", "text": "pizza and bread"}\n{"label": "food", "text": "a kitchen"}\n')
    phase = make_phase("contrast", model, data, class_texts=str(file))
    assert texts_at(phase, [len(phase.grown.rows), len(phase.grown.rows) + 1]) == ["pizza and bread", "a kitchen"]
    notes = " ".join(phase.notes())
    assert "2 class texts" in notes
    assert "2 classes without a class text: 'music', 'weather'" in notes


def test_a_file_may_spell_paths(model, tree_data, tmp_path) -> None:
    file = tmp_path / "classes.csv"
    file.write_text("label,text\nworld/travel,flight and train\n")
    phase = make_phase("contrast", model, tree_data, class_texts=str(file))
    assert tree_data.space.names[phase.grown.codes[-1]] == "world/travel"


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ("label,text\nfod,pizza\n", RecipeError, "label 'fod'.*did you mean 'food'"),
        ("label,text\nfood,\n", DataError, "empty or missing"),
        ("a,b\nfood,pizza\n", RecipeError, "needs the columns label and text; it has 'a', 'b'"),
        ("", DataError, "empty"),
    ],
)
def test_bad_files(model, data, tmp_path, content, error, message) -> None:
    file = tmp_path / "classes.csv"
    file.write_text(content)
    with pytest.raises(error, match=message):
        make_phase("contrast", model, data, class_texts=str(file))


def test_what_reading_can_see_is_refused_before_training(model, data, tmp_path) -> None:
    options = make_phase("contrast", model, data).options
    with pytest.raises(
        RecipeError, match=r"recipe, contrast: class_texts: there is no file 'nams'; use 'none', 'names'"
    ):
        options.model_copy(update={"class_texts": "nams"}).check("recipe, contrast")
    with pytest.raises(DataError, match="is a folder"):
        options.model_copy(update={"class_texts": str(tmp_path)}).check("contrast")


def test_numbers_are_no_names(model) -> None:
    texts, labels = make_table(30)
    data = make_data(model.encoder, texts, [NAMES.index(label) for label in labels], validation=0)
    with pytest.raises(RecipeError, match="contrast: class_texts 'names': no class name has words; give a file"):
        make_phase("contrast", model, data, class_texts="names")


def test_classes_without_training_rows_have_no_text(model) -> None:
    texts, labels = make_table(60)
    data = make_data(model.encoder, texts, tree(labels), validation=0)
    kept = data.train[data.codes[data.train] != 1]
    phase = make_phase("contrast", model, type(data)(**{**vars(data), "train": kept}), class_texts="names")
    assert set(phase.grown.codes.tolist()) == {0, 2}


def test_it_trains_also_within_joint_and_in_chunks(tiny_folder) -> None:
    model = fresh_model(tiny_folder)
    data = make_data(model.encoder, *make_table(40), validation=10)
    few = {"max_steps": 1, "batch_size": 8}
    for kind, options in (("joint", {"contrast": {"class_texts": "names"}}), ("contrast", {"class_texts": "names"})):
        before = weights(model.encoder)
        chunk = {"chunk": 3} if kind == "contrast" else {}
        run(make_phase(kind, model, data, **options, **chunk, **few), fixed_steps=1)
        assert not same(before, weights(model.encoder)), kind


def test_places_split_over_chunks_join_to_the_same_vectors(tiny_encoder) -> None:
    model = fresh_model(tiny_encoder("bert", dropout=0.0))
    data = make_data(model.encoder, *make_table(60), validation=0)
    phase = make_phase("contrast", model, data, class_texts="names", balance={"mode": "none"})
    batch = first_batch(phase)
    parts = [
        phase.encode(Batch({"rows": rows}, batch.generator, batch.device))
        for rows in np.array_split(batch.draw["rows"], 3)
    ]
    assert torch.allclose(phase.join(parts)["vectors"], phase.encode(batch)["vectors"], atol=1e-5)


# --- cross-entropy against class texts --------------------------------------------------------------------------------


def test_the_loss_against_class_texts_is_cross_entropy_of_cosines() -> None:
    vectors = torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    texts = torch.tensor([[1.0, 0.0], [0.0, 3.0]])
    agreement = torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])  # the third row has no text
    wrong = np.log1p(np.exp(-1 / TEMPERATURE))  # cosines 1 and 0
    assert class_text_loss(vectors, texts, agreement, None).item() == pytest.approx(wrong, abs=1e-7)
    # Both labels: half of the loss is that of the other text.
    both = class_text_loss(vectors[:1], texts, torch.tensor([[0.5, 0.5]]), None).item()
    assert both == pytest.approx(wrong + 0.5 / TEMPERATURE, abs=1e-5)
    # A path agrees fully with its own text and half with that of a sibling: only its own counts.
    own = class_text_loss(vectors[:1], texts, torch.tensor([[1.0, 0.5]]), None).item()
    assert own == pytest.approx(wrong, abs=1e-7)
    weighted = class_text_loss(vectors[:2], texts, agreement[:2], torch.tensor([2.0, 0.0])).item()
    assert weighted == pytest.approx(wrong, abs=1e-7)
    nothing = class_text_loss(vectors.requires_grad_(), texts, torch.zeros(3, 2), None)
    nothing.backward()
    assert nothing.item() == 0.0


def anchored(model, data, **options):
    given = {"class_texts": "names", "ce_weight": 0.8, "objective": "supcon", "balance": {"mode": "none"}} | options
    return make_phase("contrast", model, data, **given)


def test_every_batch_is_compared_with_all_names(model, data) -> None:
    phase = anchored(model, data, batch_size=4, per_class=2)
    rows = len(data.train)
    for draw in phase.batches.epoch(0):
        assert sorted(phase.grown.codes[draw["rows"][draw["rows"] >= rows]]) == [0, 1, 2]


def test_with_many_classes_the_names_of_a_batch_come_first(model, monkeypatch) -> None:
    monkeypatch.setattr("phasefit.phases.contrast.phase.COMPARED", 3)
    data = make_data(model.encoder, *make_table(60, classes=4), validation=0)
    phase = anchored(model, data, batch_size=4, per_class=2)
    for draw in phase.batches.epoch(0):
        own = draw["rows"][draw["rows"] < len(data.train)]
        named = phase.grown.codes[draw["rows"][draw["rows"] >= len(data.train)]]
        assert len(named) == len(set(named)) == 3
        assert {*phase.grown.codes[own]} <= {*named}


def test_the_weights_of_both_losses_add_up(tiny_encoder) -> None:
    model = fresh_model(tiny_encoder("bert", dropout=0.0))
    data = make_data(model.encoder, *make_table(60), validation=0)
    batch = first_batch(anchored(model, data))
    loss = {
        share: anchored(model, data, ce_weight=share)(batch).loss.item() for share in (1e-9, 0.25, 1.0)
    }  # 0 would make the names rows
    assert loss[0.25] == pytest.approx(0.75 * loss[1e-9] + 0.25 * loss[1.0], abs=1e-5)


@pytest.mark.parametrize(("share", "noted"), [(0.8, False), (1.0, True)])
def test_an_objective_without_weight_is_noted(model, data, share, noted) -> None:
    notes = anchored(model, data, ce_weight=share).notes()
    assert any("objective 'supcon' has no effect" in note for note in notes) == noted


def test_classes_with_the_same_text_are_noted() -> None:
    texts = ClassTexts(["play music", "flight time", "flight time", "food"], np.array([0, 1, 2, 3]), [])
    (_, same_text) = texts.notes("contrast")
    assert "two classes have the class text 'flight time'" in same_text
    assert len(ClassTexts(["a song", "music"], np.array([0, 0]), []).notes("contrast")) == 1


@pytest.mark.parametrize("kind", ["single", "tree", "multi"])
def test_texts_move_to_the_names_of_their_classes(model, kind) -> None:
    texts, labels = make_table(60)
    data = make_data(model.encoder, texts, tree(labels) if kind == "tree" else labels, validation=0)
    if kind == "multi":
        sets = [frozenset({label}) for label in labels]
        space = label_space(sets)
        data = replace(data, space=space, values=space.values(sets))
    phase = anchored(model, data, ce_weight=1.0, max_steps=40, min_steps=40, lr=5e-3)
    batch = first_batch(phase)
    before = phase(batch).loss.item()
    run(phase)
    assert phase.eval()(batch).loss.item() < before / 2


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"class_texts": "none"}, "ce_weight compares texts with class texts, but there are none"),
        ({"pairs": "explicit", "objective": "cosine"}, "ce_weight needs pairs = 'batch'"),
        ({"ce_weight": 1.5}, "less than or equal to 1"),
    ],
)
def test_impossible_comparisons_are_refused(options, why) -> None:
    with pytest.raises(ValueError, match=why):
        Options(**{"class_texts": "names", "ce_weight": 0.5} | options)
