from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from phasefit.data.balance import corrected_sizes
from phasefit.data.stop_words import stop_words
from phasefit.errors import RecipeError
from tiny import FILLERS, KEYWORDS, first_batch, fresh_model, make_data, make_phase, make_table, run

SIZES = [40, 12, 3]


@pytest.fixture
def uneven(model):
    return make_data(model.encoder, *make_table(sizes=SIZES), validation=0)


@pytest.mark.parametrize("mode", ["code", "paper", "none"])
def test_the_imbalance_correction(model, uneven, mode) -> None:
    phase = make_phase("contrast", model, uneven, balance={"mode": mode})
    sizes = np.bincount(uneven.codes[phase.grown.rows])
    before = np.bincount(uneven.codes[uneven.train])
    assert sizes.tolist() == corrected_sizes(before, mode).tolist()
    assert phase.facts()["rows"] == sizes.sum()
    assert (~phase.grown.noisy).sum() == len(uneven.train), "every row itself is still there, without noise"
    notes = " ".join(phase.notes())
    assert ("adds" in notes) == (mode != "none")


def test_balanced_classes_are_not_corrected_and_a_note_reports_it(model) -> None:
    phase = make_phase("contrast", model, make_data(model.encoder, *make_table(60), validation=0))
    assert "no imbalance correction needed" in phase.notes()[0]


def test_only_copies_lose_words_and_only_stop_words(model, uneven) -> None:
    phase = make_phase("contrast", model, uneven, balance={"noise": 0.9, "min_words": 4})
    grown = phase.grown
    assert grown.noisy.any()
    places = np.arange(len(grown))
    features = grown.features(places, np.random.default_rng(0))
    keywords = {word for words in KEYWORDS.values() for word in words}
    listed = stop_words("english")
    lost = 0
    for place in places:
        ids = features["input_ids"][place][features["attention_mask"][place].bool()]
        left = model.encoder.tokenizer.decode(ids, skip_special_tokens=True).split()
        text = uneven.texts[grown.rows[place]].split()
        if not grown.noisy[place]:
            assert left == text
        gone = list(text)
        for word in left:
            gone.remove(word)
        assert set(gone) <= listed
        assert [word for word in left if word in keywords] == [word for word in text if word in keywords]
        lost += len(gone)
    assert lost > 0
    assert {"the", "of", "and"} <= listed & set(FILLERS)


def test_short_texts_are_repeated_as_they_are(model, uneven) -> None:
    phase = make_phase("contrast", model, uneven, balance={"noise": 1.0, "min_words": 50})
    places = np.flatnonzero(phase.grown.noisy)
    features = phase.grown.features(places, np.random.default_rng(0))
    clean = uneven.tokens.batch(phase.grown.rows[places])
    assert torch.equal(features["input_ids"], clean["input_ids"])


def test_explicit_pairs_are_even_and_never_of_a_text_with_its_copy(model, uneven) -> None:
    phase = make_phase("contrast", model, uneven, pairs="explicit", batch_size=16, augmentation=3)
    pairs = np.concatenate([draw["pairs"] for draw in phase.batches.epoch(0)])
    assert phase.facts()["pairs"] == len(pairs)
    rows = phase.grown.rows[pairs]
    assert (rows[:, 0] != rows[:, 1]).all()
    alike = uneven.codes[rows[:, 0]] == uneven.codes[rows[:, 1]]
    assert alike.sum() * 2 == len(pairs)


def test_both_kinds_of_pairs_are_the_same_objective(tiny_encoder) -> None:
    """All pairs of a batch, spelled out as explicit pairs, have the loss of the batch."""
    model = fresh_model(tiny_encoder("bert", dropout=0.0))
    data = make_data(model.encoder, *make_table(60), validation=0)
    batchwise, pairwise = (
        make_phase("contrast", model, data, batch_size=8, pairs=pairs, balance={"mode": "none"})
        for pairs in ("batch", "explicit")
    )
    batch = first_batch(batchwise)
    rows = np.unique(batch.draw["rows"])
    first, second = np.triu_indices(len(rows), 1)
    one = batchwise(type(batch)({"rows": rows}, batch.generator, batch.device)).loss
    pairs = np.stack([rows[first], rows[second]], axis=1)
    other = pairwise(type(batch)({"pairs": pairs}, batch.generator, batch.device)).loss
    assert one.item() == pytest.approx(other.item(), abs=1e-6)


def test_it_pulls_classes_apart(tiny_folder) -> None:
    model = fresh_model(tiny_folder)
    data = make_data(model.encoder, *make_table(90))
    phase = make_phase("contrast", model, data, epochs=6, lr=2e-3, watch="pairs", batch_size=16)
    assert phase.lower_is_better
    before = phase.validate()
    run(phase)
    after = phase.validate()
    assert after["pairs"] < before["pairs"] * 0.7
    assert after["probe"] >= before["probe"]


def test_trees_have_targets_in_between(model, tree_data) -> None:
    phase = make_phase("contrast", model, tree_data, pairs="explicit", batch_size=8)
    codes = tree_data.codes[phase.grown.rows]
    pairs = np.concatenate([draw["pairs"] for draw in phase.batches.epoch(0)])
    parents = tree_data.space.targets(codes)[:, 0]
    same_leaf = codes[pairs[:, 0]] == codes[pairs[:, 1]]
    same_parent = parents[pairs[:, 0]] == parents[pairs[:, 1]]
    assert same_leaf.sum() == (same_parent & ~same_leaf).sum() == (~same_parent).sum()


def test_one_class_is_refused(model, data) -> None:
    few = data.train[data.codes[data.train] == 0]
    with pytest.raises(RecipeError, match="two classes"):
        make_phase("contrast", model, replace(data, train=few))


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        ("cosin", "did you mean 'cosine'"),
        ({"temperature": 0.1}, "needs a name"),
        ({"name": "supcon", "temprature": 0.1}, "did you mean 'temperature'"),
        ({"name": "supcon", "temperature": "warm"}, "temperature"),
    ],
)
def test_a_wrong_objective_is_named(model, data, objective, message) -> None:
    with pytest.raises(RecipeError, match=message):
        make_phase("contrast", model, data, objective=objective)


def test_supcon_takes_no_explicit_pairs(model, data) -> None:
    options = make_phase("contrast", model, data, objective="supcon").options
    with pytest.raises(RecipeError, match="contrast: objective 'supcon' does not support explicit pairs"):
        options.model_copy(update={"pairs": "explicit"}).check("contrast")


def test_own_stop_words(model, uneven, tmp_path) -> None:
    file = tmp_path / "words.txt"
    file.write_text("please\nfind\n")
    phase = make_phase("contrast", model, uneven, balance={"stop_words": str(file), "noise": 1.0, "min_words": 4})
    places = np.flatnonzero(phase.grown.noisy)
    features = phase.grown.features(places, np.random.default_rng(0))
    decoded = model.encoder.tokenizer.batch_decode(features["input_ids"])
    assert not any("please" in text or "find" in text for text in decoded)


def test_stop_words_are_detected_after_a_prompt(tiny_folder) -> None:
    model = fresh_model(tiny_folder)
    model.encoder.prompt = "find a song: "
    data = make_data(model.encoder, *make_table(sizes=SIZES), validation=0)
    phase = make_phase("contrast", model, data, balance={"noise": 1.0, "min_words": 4})
    places = np.flatnonzero(phase.grown.noisy)
    features = phase.grown.features(places, np.random.default_rng(0))
    for place, ids in zip(places, features["input_ids"], strict=True):
        decoded = model.encoder.tokenizer.decode(ids, skip_special_tokens=True)
        assert decoded.startswith("find a song"), "the prompt stays whole"
        for word in data.texts[phase.grown.rows[place]].split():
            if any(word in words for words in KEYWORDS.values()):
                assert word in decoded
