"""Rows of single texts or pairs: the input of an encoder and the predictions of a model."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from phasefit.data.labels import ScoreLabels, label_space
from phasefit.errors import DataError, ModelError, TextsCut
from phasefit.models.encoder.encoder import Encoder, load_encoder
from phasefit.models.encoder.inference import encode_rows
from phasefit.models.heads import Head, PairKind
from phasefit.models.model import TASK, Model
from phasefit.models.tokens import rows as token_rows
from phasefit.models.tokens.rows import Rows, tokenise_pairs
from tiny import FAMILIES, HIDDEN, POSITIONS, fresh_model, make_table

LEFT = [*make_table(9)[0], "rain", ""]
RIGHT = [*make_table(9, seed=1)[0], "the sunny concert", "a song"]
LONG = " ".join(make_table(12, seed=2)[0]), " ".join(make_table(12, seed=3)[0])
TEXTS = [*LEFT, *RIGHT]
OTHERS = np.array([*range(len(LEFT), len(TEXTS)), *[-1] * len(RIGHT)])
ROWS = np.array([3, 0, 10, 3, 7])


@pytest.fixture(scope="module")
def encoder(tiny_encoder) -> Encoder:
    return load_encoder(str(tiny_encoder("roberta")))  # whose tokenizer joins pairs with special tokens


def of_pairs(folder: Path, pair: PairKind | None) -> Model:
    model = fresh_model(folder)
    model.heads[TASK], model.spaces[TASK] = Head("mlp", HIDDEN, 3, pair=pair), label_space(["no", "maybe", "yes"])
    return model.eval()


# --- tokens of pairs --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("family", FAMILIES)
def test_tokens_equal_those_of_the_tokenizer(tiny_encoder, family: str) -> None:
    encoder = load_encoder(str(tiny_encoder(family)))
    left, right = [*LEFT, LONG[0], LONG[1], "rain"], [*RIGHT, "song", LONG[0], LONG[1]]
    tokens = tokenise_pairs(encoder, left, right)
    theirs = encoder.tokenizer(left, right, truncation="longest_first", max_length=POSITIONS)["input_ids"]
    whole = encoder.tokenizer(left, right)["input_ids"]
    for row, (cut, uncut) in enumerate(zip(theirs, whole, strict=True)):
        assert tokens.ids[tokens.starts[row] : tokens.starts[row + 1]].tolist() == cut
        assert tokens.lost[row] == len(uncut) - len(cut)
    assert tokens.cut == sum(len(uncut) > POSITIONS for uncut in whole) == 3


@pytest.mark.parametrize("side", ["right", "left"])
def test_a_pair_is_truncated_on_the_side_of_the_tokenizer(tiny_encoder, side: str) -> None:
    encoder = load_encoder(str(tiny_encoder("roberta")))
    encoder.tokenizer.truncation_side = side
    tokens = tokenise_pairs(encoder, [LONG[0]], [LONG[1]])
    theirs = encoder.tokenizer([LONG[0]], [LONG[1]], truncation="longest_first", max_length=POSITIONS)["input_ids"]
    assert tokens.ids.tolist() == theirs[0]


def test_the_tokenizer_is_not_changed(encoder: Encoder) -> None:
    before = encoder.tokenizer.backend_tokenizer.to_str()
    tokenise_pairs(encoder, [LONG[0]], [LONG[1]])
    assert encoder.tokenizer.backend_tokenizer.to_str() == before


def test_a_prompt_comes_before_the_first_text(tiny_encoder) -> None:
    encoder = load_encoder(str(tiny_encoder("roberta")))
    plain = tokenise_pairs(encoder, ["find the rain"], ["song"])
    encoder.prompt = "find "
    assert tokenise_pairs(encoder, ["the rain"], ["song"]).ids.tolist() == plain.ids.tolist()


def test_chunks_make_no_difference(encoder: Encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tokenise_pairs(encoder, [*LEFT, LONG[0]], [*RIGHT, LONG[1]])
    monkeypatch.setattr(token_rows, "CHUNK", 2)
    parts = tokenise_pairs(encoder, [*LEFT, LONG[0]], [*RIGHT, LONG[1]])
    for name in ("ids", "words", "starts", "lost"):
        assert np.array_equal(getattr(parts, name), getattr(whole, name))
    assert len(tokenise_pairs(encoder, [], [])) == 0


# --- rows -------------------------------------------------------------------------------------------------------------


def test_single_rows_have_one_sequence_per_text(encoder: Encoder) -> None:
    tokens = encoder.tokenise(TEXTS)
    rows = Rows.single(tokens)
    assert torch.equal(rows.encode(encoder, ROWS), encode_rows(encoder, tokens, ROWS))
    assert rows.lengths(ROWS).tolist() == tokens.lengths[ROWS].tolist()


def test_separate_rows_concatenate_the_vectors_of_both_texts(encoder: Encoder) -> None:
    tokens = encoder.tokenise(TEXTS)
    rows = Rows.apart(tokens, OTHERS)
    own = encode_rows(encoder, tokens)
    expected = torch.cat([own[ROWS], own[OTHERS[ROWS]]], dim=1)
    assert torch.allclose(rows.encode(encoder, ROWS), expected, atol=1e-5)
    assert rows.lengths(ROWS).tolist() == (tokens.lengths[ROWS] + tokens.lengths[OTHERS[ROWS]]).tolist()


def test_joint_rows_concatenate_both_orders(encoder: Encoder) -> None:
    rows = Rows.together(encoder, TEXTS, OTHERS)
    one, other = (encode_rows(encoder, tokenise_pairs(encoder, *sides)) for sides in ((LEFT, RIGHT), (RIGHT, LEFT)))
    vectors = rows.encode(encoder, ROWS)
    assert torch.allclose(vectors, torch.cat([one[ROWS], other[ROWS]], dim=1), atol=1e-5)
    assert not torch.allclose(vectors[:, :HIDDEN], vectors[:, HIDDEN:], atol=1e-3)
    assert (rows.index[OTHERS < 0] == -1).all()


def test_rows_without_a_second_text_can_be_at_any_position(encoder: Encoder) -> None:
    others = np.array([-1, 3, -1, -1, 0])
    texts = ["a song", "rain", "the", "sunny", "pizza"]
    rows = Rows.together(encoder, texts, others)
    alone = Rows.together(encoder, ["rain", "pizza", "sunny", "a song"], np.array([2, 3, -1, -1]))
    vectors, expected = rows.encode(encoder, np.array([1, 4])), alone.encode(encoder, np.array([0, 1]))
    assert torch.allclose(vectors, expected, atol=1e-5)


@pytest.mark.parametrize("how", ["single", "uv", "uv_diff_prod", "cosine", "together"])
def test_a_training_batch_gives_the_same_vectors_as_encoding(encoder: Encoder, how: PairKind) -> None:
    tokens = encoder.tokenise(TEXTS)
    rows = Rows.single(tokens) if how == "single" else Rows.of(encoder, TEXTS, tokens, OTHERS, how)
    encoder.eval()
    with torch.no_grad():
        vectors = rows.vectors(encoder(rows.features(ROWS)))
    assert vectors.shape == (len(ROWS), HIDDEN * (1 if how == "single" else 2))
    assert torch.allclose(vectors, rows.encode(encoder, ROWS), atol=1e-5)


@pytest.mark.parametrize("how", ["uv", "together"])
def test_no_rows_give_an_empty_tensor_of_the_right_width(encoder: Encoder, how: PairKind) -> None:
    rows = Rows.of(encoder, TEXTS, encoder.tokenise(TEXTS), OTHERS, how)
    assert rows.encode(encoder, np.empty(0, dtype=np.int64)).shape == (0, 2 * HIDDEN)


@pytest.mark.parametrize("how", ["uv", "together"])
@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_progress_counts_rows_not_texts(encoder: Encoder, how: PairKind, batch_size: int) -> None:
    rows = Rows.of(encoder, TEXTS, encoder.tokenise(TEXTS), OTHERS, how)
    counts: list[int] = []
    rows.encode(encoder, np.arange(len(LEFT)), batch_size=batch_size, progress=counts.append)
    assert sum(counts) == len(LEFT)
    assert all(count > 0 for count in counts)


# --- a model over pairs -----------------------------------------------------------------------------------------------

PAIRS = list(zip(LEFT, RIGHT, strict=True))
every_pair = pytest.mark.parametrize("pair", ["uv", "uv_diff_prod", "cosine", "together"])


@every_pair
def test_a_model_predicts_pairs(tiny_encoder, pair: PairKind) -> None:
    model = of_pairs(tiny_encoder("roberta"), pair)
    table = model.predict_proba(PAIRS)
    assert table.shape == (len(PAIRS), 3)
    assert table.sum(axis=1) == pytest.approx(np.ones(len(PAIRS)))
    assert model.predict(PAIRS) == [model.space.classes[code] for code in table.argmax(axis=1)]
    assert model.predict_proba([list(row) for row in PAIRS[:2]]) == pytest.approx(table[:2], abs=1e-6)
    assert model.predict([]) == []
    assert model.predict_proba([]).shape == (0, 3)


@every_pair
def test_a_prediction_does_not_depend_on_other_rows(tiny_encoder, pair: PairKind) -> None:
    model = of_pairs(tiny_encoder("roberta"), pair)
    alone = np.concatenate([model.predict_proba([row]) for row in PAIRS])
    assert model.predict_proba(PAIRS, batch_size=4) == pytest.approx(alone, abs=1e-5)


@pytest.mark.parametrize("pair", ["uv", "together"])
def test_a_models_progress_counts_pairs(tiny_encoder, pair: PairKind) -> None:
    counts: list[int] = []
    of_pairs(tiny_encoder("roberta"), pair).predict_proba(PAIRS, batch_size=3, progress=counts.append)
    assert sum(counts) == len(PAIRS)


def test_scores_of_pairs_are_numbers_without_probabilities(tiny_encoder) -> None:
    model = of_pairs(tiny_encoder("roberta"), "cosine")
    model.heads[TASK], model.spaces[TASK] = Head("mlp", HIDDEN, 1, pair="cosine"), ScoreLabels.of([0.0, 2.5, 5.0])
    scores = model.predict(PAIRS)
    assert all(isinstance(score, float) for score in scores)
    assert scores == model.predict_outputs(PAIRS)[:, 0].tolist()
    with pytest.raises(ModelError, match="predicts scores, which have no probabilities"):
        model.predict_proba(PAIRS)


@pytest.mark.parametrize("pair", ["uv", "together"])
@pytest.mark.parametrize("wrong", ["rain", ("a", "b", "c"), ("a",), None, 7], ids=repr)
def test_the_error_names_the_row_that_is_not_a_pair(tiny_encoder, pair: PairKind, wrong: object) -> None:
    with pytest.raises(
        DataError, match=r"^row 2 is not a pair; this model expects text pairs, given as tuples of two$"
    ):
        of_pairs(tiny_encoder("roberta"), pair).predict([("a song", "rain"), wrong])


@pytest.mark.parametrize("pair", ["uv", "together"])
@pytest.mark.parametrize(("odd", "message"), [(None, "is not a string: None"), ("\ud800", "contains a lone surrogate")])
def test_an_invalid_text_of_a_pair_is_a_short_error(tiny_encoder, pair, odd, message: str) -> None:
    with pytest.raises(DataError, match=message):
        of_pairs(tiny_encoder("roberta"), pair).predict([("a song", odd)])


@pytest.mark.parametrize("wrong", [("a", "b"), ["a", "b"]])
def test_a_model_of_single_texts_rejects_a_pair(tiny_encoder, wrong: object) -> None:
    with pytest.raises(DataError, match=r"^row 3 is a text pair, but this model expects single texts$"):
        of_pairs(tiny_encoder("roberta"), None).predict(["rain", "a song", wrong])


@pytest.mark.parametrize("pair", [None, "uv", "together"])
def test_a_single_string_is_rejected(tiny_encoder, pair: PairKind | None) -> None:
    with pytest.raises(TypeError, match="not one string"):
        of_pairs(tiny_encoder("roberta"), pair).predict("ab")


@pytest.mark.parametrize("long", ["truncate", "windows"])
def test_truncated_pairs_are_counted_once(tiny_encoder, long) -> None:
    model = of_pairs(tiny_encoder("roberta"), "together")
    model.encoder.set_long(long)
    with pytest.warns(TextsCut, match=f"^1 of 3 pairs are longer than {POSITIONS} tokens and are cut$"):
        model.predict([LONG, *PAIRS[:2]])


def test_a_pair_truncated_in_only_one_order_is_counted(tiny_encoder) -> None:
    model = of_pairs(tiny_encoder("roberta"), "together")
    model.encoder.prompt = "find "  # its space becomes a separate token before an unknown word
    one, other = "x" * (POSITIONS - 6), "song"
    assert tokenise_pairs(model.encoder, [one, other], [other, one]).lost.tolist() == [1, 0]
    with pytest.warns(TextsCut, match="^1 of 1 pairs are longer"):
        model.predict([(one, other)])
