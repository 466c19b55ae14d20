from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from phasefit.models.encoder.encoder import Encoder, load_encoder
from phasefit.models.tokens.noise import delete_stop_words, delete_words, hit_words, mask_words
from phasefit.models.tokens.tokens import SPECIAL, Features, Tokens
from tiny import make_table
from wild import TEXTS


@pytest.fixture(scope="module")
def encoder(tiny_folder) -> Encoder:
    return load_encoder(str(tiny_folder))


@pytest.fixture(scope="module")
def tokens(encoder: Encoder) -> Tokens:
    return encoder.tokenise([*make_table(60)[0], "rain", "tokenisation naïve", "the \u200b song", "", " "])


def rows_of(features: Features) -> list[list[int]]:
    return [
        ids[mask.bool()].tolist() for ids, mask in zip(features["input_ids"], features["attention_mask"], strict=True)
    ]


def everything(tokens: Tokens) -> np.ndarray:
    return np.arange(len(tokens))


@pytest.mark.parametrize("damage", [delete_words, mask_words])
def test_ratio_zero_changes_nothing(tokens: Tokens, damage) -> None:
    noised = damage(tokens, everything(tokens), 0.0, np.random.default_rng(0))
    clean = tokens.batch(everything(tokens))
    assert all((noised[name] == clean[name]).all() for name in clean)


@pytest.mark.parametrize("damage", [delete_words, mask_words])
def test_the_same_generator_gives_the_same_noise(tokens: Tokens, damage) -> None:
    first, again, other = (damage(tokens, everything(tokens), 0.5, np.random.default_rng(seed)) for seed in (3, 3, 4))
    assert rows_of(first) == rows_of(again)
    assert rows_of(first) != rows_of(other)


@pytest.mark.parametrize("damage", [delete_words, mask_words])
def test_noise_is_sampled_again_each_time(tokens: Tokens, damage) -> None:
    random = np.random.default_rng(0)
    assert rows_of(damage(tokens, everything(tokens), 0.5, random)) != rows_of(
        damage(tokens, everything(tokens), 0.5, random)
    )


@pytest.mark.parametrize("ratio", [0.3, 0.6, 0.99])
def test_deletion_leaves_a_word_and_the_special_tokens(encoder: Encoder, tokens: Tokens, ratio: float) -> None:
    rows = np.tile(everything(tokens), 20)
    noised = rows_of(delete_words(tokens, rows, ratio, np.random.default_rng(0)))
    begin, end = encoder.tokenizer.cls_token_id, encoder.tokenizer.sep_token_id
    for row, left in zip(rows.tolist(), noised, strict=True):
        assert (left[0], left[-1]) == (begin, end)
        words = tokens.words[tokens.starts[row] : tokens.starts[row + 1]]
        assert len(left) > 2 or not (words != SPECIAL).any(), "never all words, unless there were none"


def test_remaining_words_are_whole_and_in_order(tokens: Tokens) -> None:
    rows = everything(tokens)
    for row, left in zip(
        rows.tolist(), rows_of(delete_words(tokens, rows, 0.5, np.random.default_rng(1))), strict=True
    ):
        span = slice(tokens.starts[row], tokens.starts[row + 1])
        words: dict[int, list[int]] = {}
        for number, word in zip(tokens.ids[span].tolist(), tokens.words[span].tolist(), strict=True):
            words.setdefault(word, []).append(number)
        words.pop(SPECIAL)
        inner = left[1:-1]
        for part in words.values():  # take the words off the front where they match, in order
            if inner[: len(part)] == part:
                inner = inner[len(part) :]
        assert inner == []


@pytest.mark.parametrize("ratio", [0.3, 0.6])
def test_the_ratio_is_honoured_on_average(encoder: Encoder, ratio: float) -> None:
    tokens = encoder.tokenise(["the a of is to and please find today me some about"] * 400)
    noised = delete_words(tokens, everything(tokens), ratio, np.random.default_rng(0))
    kept = (noised["attention_mask"].sum(1).float().mean().item() - 2) / 12
    assert kept == pytest.approx(1 - ratio, abs=0.02)


def test_every_word_is_equally_likely_to_be_the_last_one(encoder: Encoder) -> None:
    tokens = encoder.tokenise(["the rain storm"] * 3000)
    left = [ids[1] for ids in rows_of(delete_words(tokens, everything(tokens), 0.999, np.random.default_rng(0)))]
    shares = np.unique(left, return_counts=True)[1] / 3000
    assert shares == pytest.approx([1 / 3] * 3, abs=0.04)


def test_a_masked_word_is_one_mask_token(encoder: Encoder) -> None:
    text = "tokenisation naïve rain e-mail song"
    tokens = encoder.tokenise([text] * 50)
    assert tokens.lengths[0] > 7, "some words must have several tokens for this test"
    mask = encoder.tokenizer.mask_token_id
    for ids in rows_of(mask_words(tokens, everything(tokens), 0.5, np.random.default_rng(0))):
        decoded = encoder.tokenizer.decode([number for number in ids if number != mask], skip_special_tokens=True)
        hidden = ids.count(mask)
        assert hidden < 5, "one word is always seen"
        shown = encoder.tokenise([text]).words
        whole = [encoder.tokenizer.decode(tokens.ids[: len(shown)][shown == word].tolist()) for word in range(5)]
        assert len(decoded) == len(" ".join(part for part in whole if part in decoded)), (decoded, whole)


def test_masking_needs_a_mask_token(tokens: Tokens) -> None:
    from dataclasses import replace

    with pytest.raises(ValueError, match="mask token"):
        mask_words(replace(tokens, mask=None), everything(tokens), 0.5, np.random.default_rng(0))


def test_only_stop_words_of_marked_rows_are_deleted(encoder: Encoder) -> None:
    texts = ["the song of rain is a melody", "the storm and the wind"] * 50
    tokens = encoder.tokenise(texts)
    listed = {encoder.tokenizer.convert_tokens_to_ids(word) for word in ("the", "of", "is", "a", "and")}
    stop = np.isin(tokens.ids, list(listed))
    only = np.arange(100) % 2 == 0
    noised = rows_of(delete_stop_words(tokens, everything(tokens), stop, 0.5, np.random.default_rng(0), only))
    shorter = 0
    for row, left in enumerate(noised):
        clean = tokens.ids[tokens.starts[row] : tokens.starts[row + 1]].tolist()
        assert [number for number in left if number not in listed] == [n for n in clean if n not in listed]
        if row % 2:
            assert left == clean
        shorter += len(left) < len(clean)
    assert shorter > 40


def test_a_text_of_only_stop_words_is_unchanged(encoder: Encoder) -> None:
    tokens = encoder.tokenise(["the of and", "the song"])
    stop = tokens.words != SPECIAL
    noised = rows_of(delete_stop_words(tokens, np.arange(2), stop, 1.0, np.random.default_rng(0), np.ones(2, bool)))
    assert all(len(left) > 2 for left in noised)


# --- wild texts -------------------------------------------------------------------------------------------------------

RATIO = st.one_of(st.floats(0, 0.999), st.sampled_from([0.0, 0.6, 0.999]))
WILD = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=40, deadline=None
)


@pytest.fixture(scope="module", params=["bert", "roberta", "xlm-roberta"])
def family(request, tiny_encoder) -> Encoder:
    """One encoder of each kind of tokenizer: WordPiece, byte-level, SentencePiece."""
    return load_encoder(str(tiny_encoder(request.param)))


def row_of(tokens: Tokens, row: int) -> list[tuple[int, int]]:
    """Token and word number of each token of a row."""
    span = slice(tokens.starts[row], tokens.starts[row + 1])
    return list(zip(tokens.ids[span].tolist(), tokens.words[span].tolist(), strict=True))


@WILD
@given(texts=TEXTS, ratio=RATIO, seed=st.integers(0, 9))
@example(texts=["", "\u200b", "\0"], ratio=0.999, seed=0)
def test_whole_words_are_deleted_or_masked_and_nothing_else(
    family: Encoder, texts: list[str], ratio: float, seed: int
) -> None:
    tokens = family.tokenise(texts)
    rows = everything(tokens)
    hit = hit_words(tokens.padded(rows)[1], ratio, np.random.default_rng(seed))
    deleted = rows_of(delete_words(tokens, rows, ratio, np.random.default_rng(seed)))
    masked = rows_of(mask_words(tokens, rows, ratio, np.random.default_rng(seed)))
    for row in rows.tolist():
        clean = row_of(tokens, row)
        words = {word for _, word in clean if word != SPECIAL}
        kept = {word for word in words if not hit[row, word]}
        assert kept or not words, "never all words, unless there were none"
        assert deleted[row] == [token for token, word in clean if word == SPECIAL or word in kept]
        shown: list[int] = []
        before = None
        for token, word in clean:
            if word == SPECIAL or word in kept:
                shown.append(token)
            elif word != before:  # one mask for a whole word, whatever its length
                shown.append(tokens.mask)
            before = word
        assert masked[row] == shown


@WILD
@given(texts=TEXTS, ratio=RATIO, seed=st.integers(0, 9))
def test_whole_stop_words_are_deleted_only_in_marked_rows(
    family: Encoder, texts: list[str], ratio: float, seed: int
) -> None:
    tokens = family.tokenise(texts)
    rows = everything(tokens)
    random = np.random.default_rng(seed)
    stop_word = random.random(max(int(tokens.words.max(initial=0)) + 1, 1)) < 0.5
    stop = (tokens.words != SPECIAL) & stop_word[np.maximum(tokens.words, 0)]
    only = random.random(len(rows)) < 0.5
    noised = rows_of(delete_stop_words(tokens, rows, stop, ratio, random, only))
    for row in rows.tolist():
        clean = row_of(tokens, row)
        if not only[row]:
            assert noised[row] == [token for token, _ in clean]
            continue
        assert len(noised[row]) <= len(clean)
        staying = [token for token, word in clean if word == SPECIAL or not stop_word[word]]
        assert is_inside(staying, noised[row]), "only stop words may go"
        assert is_inside(noised[row], [token for token, _ in clean]), "in their order"
        if any(word != SPECIAL for _, word in clean):
            assert len(noised[row]) > sum(word == SPECIAL for _, word in clean), "one word stays"


def is_inside(few: list[int], many: list[int]) -> bool:
    """Whether `few` is a subsequence of `many`."""
    left = iter(many)
    return all(token in left for token in few)
