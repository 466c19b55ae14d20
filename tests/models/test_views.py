"""All registered views, including future ones: they are seeded and change only what they document."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from phasefit.data.io.files import open_bytes
from phasefit.errors import DataError, RecipeError
from phasefit.models.encoder.encoder import Encoder, load_encoder
from phasefit.models.views import VIEWS, View, Views, build_views
from phasefit.models.views.synonyms import PACKAGED, read_synonyms
from phasefit.models.views.words import core, words_of
from phasefit.studies.key import PROTOCOL
from tiny import make_table
from wild import TEXT, TEXTS

MASK = "[MASK]"
TEXT_OF_60 = "the storm and the rain are in the forecast of today, I hear!"


@pytest.fixture(scope="module")
def encoder(tiny_folder) -> Encoder:
    return load_encoder(str(tiny_folder))


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("synonyms") / "synonyms.csv"
    path.write_text("rain,shower,drizzle\nthe,this\nstorm,heavy weather\n", encoding="utf-8")
    return path


def made(name: str, table: Path, **options: Any) -> View:
    """A view with strong settings, so that its effect is visible."""
    strong: dict[str, dict[str, Any]] = {
        "delete-words": {"ratio": 0.5},
        "delete-stop-words": {"ratio": 0.7},
        "mask-span": {"min_characters": 6},
        "synonyms": {"table": str(table), "ratio": 0.9},
    }
    (view,) = build_views("here", [{"name": name, **strong.get(name, {}), **options}])
    return view


def drawn(view: View, text: str, seed: int = 0) -> str:
    return view.text(text, np.random.default_rng(seed), MASK)


# --- all of them ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", VIEWS)
@settings(max_examples=25, deadline=None)
@given(text=TEXT, seed=st.integers(0, 99))
def test_the_same_generator_gives_the_same_view(table, name: str, text: str, seed: int) -> None:
    view = made(name, table)
    first = drawn(view, text, seed)
    assert first == drawn(view, text, seed)
    assert isinstance(first, str)
    if not view.changes_text:
        assert first == text


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_has_its_registered_name_and_is_frozen(table, name: str) -> None:
    view = made(name, table)
    assert view.name == name
    assert view.__doc__
    with pytest.raises(AttributeError):
        view.ratio = 1.0  # type: ignore[attr-defined]


@pytest.mark.parametrize("name", [name for name, view in VIEWS.items() if view.changes_text])
def test_a_view_is_sampled_again_each_time(table, name: str) -> None:
    view, random = made(name, table), np.random.default_rng(0)
    seen = {view.text(TEXT_OF_60, random, MASK) for _ in range(20)}
    assert len(seen) > 3


@pytest.mark.parametrize("name", ["delete-words", "delete-stop-words", "synonyms"])
@settings(max_examples=15, deadline=None)
@given(text=TEXT)
def test_ratio_zero_changes_nothing(table, name: str, text: str) -> None:
    assert drawn(made(name, table, ratio=0.0), text) == text


# --- one by one -------------------------------------------------------------------------------------------------------


def is_subsequence(part: list[str], whole: list[str]) -> bool:
    rest = iter(whole)
    return all(word in rest for word in part)


@settings(max_examples=60, deadline=None)
@given(text=TEXT, seed=st.integers(0, 9), ratio=st.sampled_from([0.1, 0.5, 0.99]))
@example(text=" lead  tail \n", seed=0, ratio=0.5)
def test_deleted_words_leave_a_subsequence(text: str, seed: int, ratio: float) -> None:
    (view,) = build_views("here", [{"name": "delete-words", "ratio": ratio}])
    after = drawn(view, text, seed)
    assert is_subsequence(after.split(), text.split())
    assert bool(after.split()) == bool(text.split()), "one word always stays"
    if len(after.split()) == len(text.split()):
        assert after == text, "where no word goes, nothing changes"


def test_words_are_deleted_at_the_given_ratio() -> None:
    (view,) = build_views("here", [{"name": "delete-words", "ratio": 0.3}])
    text = " ".join(map(str, range(2000)))
    assert len(drawn(view, text).split()) == pytest.approx(1400, abs=70)


def test_remaining_words_keep_their_whitespace() -> None:
    (view,) = build_views("here", [{"name": "delete-stop-words", "ratio": 1.0}])
    assert drawn(view, "The rain\n\tand the  storm ") == "rain  storm "
    assert drawn(view, "rain, AND.\nstorm") == "rain,\nstorm"


@settings(max_examples=40, deadline=None)
@given(text=TEXT, seed=st.integers(0, 9))
@example(text="the of and", seed=1)
def test_only_stop_words_are_deleted(text: str, seed: int) -> None:
    from phasefit.data.stop_words import stop_words

    listed = stop_words("english")
    (view,) = build_views("here", [{"name": "delete-stop-words", "ratio": 1.0}])
    after = drawn(view, text, seed).split()
    assert is_subsequence(after, text.split())
    assert bool(after) == bool(text.split())
    real = [word for word in text.split() if core(word)[1].casefold() not in listed]
    assert after == real or (not real and len(after) <= 1)


@settings(max_examples=60, deadline=None)
@given(text=TEXT, seed=st.integers(0, 9), characters=st.integers(1, 9), least=st.integers(0, 40))
def test_one_span_is_masked(text: str, seed: int, characters: int, least: int) -> None:
    options = {"name": "mask-span", "characters": characters, "min_characters": least}
    (view,) = build_views("here", [options])
    after = view.text(text, np.random.default_rng(seed), "\ue000")
    if len(text) < least or len(text) <= characters:
        assert after == text
        return
    assert len(after) == len(text) - characters + 1
    places = [place for place, letter in enumerate(after) if letter == "\ue000"]
    assert any(after[:at] == text[:at] and after[at + 1 :] == text[at + characters :] for at in places)


def test_every_span_can_be_masked_and_short_texts_are_unchanged() -> None:
    (view,) = build_views("here", ["mask-span"])
    assert drawn(view, "x" * 29) == "x" * 29
    text = "".join(chr(97 + i) for i in range(26)) + "0123"
    random = np.random.default_rng(0)
    begins = {view.text(text, random, "*").index("*") for _ in range(400)}
    assert begins == set(range(26))


def test_the_mask_is_one_token_of_the_tokenizer(tiny_encoder) -> None:
    for family in ("bert", "roberta", "xlm-roberta"):
        encoder = load_encoder(str(tiny_encoder(family)))
        views = Views(build_views("here", ["mask-span"]), encoder, where="here")
        texts = [TEXT_OF_60, "short"]
        tokens = encoder.tokenise(texts)
        ids = views.features(texts, tokens, np.array([0, 1]), np.random.default_rng(0))["input_ids"]
        assert (ids == encoder.tokenizer.mask_token_id).sum(1).tolist() == [1, 0]


@settings(max_examples=40, deadline=None)
@given(text=TEXT, seed=st.integers(0, 9))
@example(text='  "The rain," \n', seed=0)
def test_only_words_of_the_table_are_replaced(table, text: str, seed: int) -> None:
    known = read_synonyms(table)
    after = drawn(made("synonyms", table, ratio=1.0), text, seed)
    pattern = ""
    for word in words_of(text):
        leading, inner, trailing = core(word)
        choices = known.get(inner.casefold())
        middle = "|".join(map(re.escape, choices)) if choices else re.escape(inner)
        pattern += f"{re.escape(leading)}(?i:{middle}){re.escape(trailing)}"
    assert re.fullmatch(pattern + r"\s*", after), (text, after)
    assert len(after) - len(after.rstrip()) == len(text) - len(text.rstrip())


def test_synonyms_keep_a_capital_and_punctuation(table) -> None:
    view = made("synonyms", table, ratio=1.0)
    assert drawn(view, "(The storm). RAIN!").split()[:3] == ["(This", "heavy", "weather)."]
    assert drawn(view, "Rain!") in {"Shower!", "Drizzle!"}


@settings(max_examples=40, deadline=None)
@given(text=TEXT, seed=st.integers(0, 9), most=st.integers(1, 4))
@example(text="rain the storm rain the storm rain", seed=0, most=2)
def test_a_fixed_share_of_all_words_is_replaced(text: str, seed: int, most: int) -> None:
    (view,) = build_views("here", [{"name": "synonyms", "max_words": most}])
    words = text.split()
    known = read_synonyms(PACKAGED / "english.csv.gz")
    listed = sum(core(word)[1].casefold() in known for word in words)
    after = drawn(view, text, seed).split()
    changed = sum(old != new for old, new in zip(words, after, strict=True))
    assert changed == min(listed, most, max(3 * len(words) // 10, 1))


def test_every_listed_word_can_be_one_of_the_replaced() -> None:
    (view,) = build_views("here", [{"name": "synonyms", "max_words": 10}])
    text, random = "The nervous children stopped and slept without the ideas", np.random.default_rng(0)
    seen = [view.text(text, random, MASK).split() for _ in range(200)]
    places = {place for words in seen for place, word in enumerate(text.split()) if words[place] != word}
    assert places == {1, 2, 3, 5, 8}
    assert {sum(new != old for new, old in zip(words, text.split(), strict=True)) for words in seen} == {2}


def test_without_listed_words_a_text_is_unchanged() -> None:
    (view,) = build_views("here", [{"name": "synonyms", "max_words": 10}])
    text = "Der Hund bellt, \n und das Wetter wird schlechter "
    assert drawn(view, text) == text
    (note,) = view.text_notes([text, text])
    assert "'english' has no word of the training texts" in note
    assert view.text_notes([text, "The children slept"]) == view.text_notes([]) == []


# --- the table of synonyms --------------------------------------------------------------------------------------------


def test_with_a_header_words_are_replaced_in_one_direction(tmp_path) -> None:
    path = tmp_path / "one-way.tsv"
    path.write_text("word\tsynonym\nBig\tlarge\nbig\tas big as a house\n", encoding="utf-8")
    assert read_synonyms(path) == {"big": ("large", "as big as a house")}
    path.write_text("big\tlarge\tgreat\n\n", encoding="utf-8")
    assert read_synonyms(path)["large"] == ("big", "great")


def test_a_changed_packaged_table_needs_a_higher_protocol() -> None:
    with open_bytes(PACKAGED / "english.csv.gz") as file:
        checksum = hashlib.sha256(file.read()).hexdigest()
    assert (PROTOCOL, checksum[:16]) == (3, "77274bf4363ed099")


def test_the_packaged_table_has_inflected_single_words_and_its_licence() -> None:
    known = read_synonyms(PACKAGED / "english.csv.gz")
    assert known["scared"] == ("frightened",)
    assert known["children"][0] == "kids"
    assert known["felt"] == ("experienced", "sensed"), "irregular pasts are replaced, but not inserted"
    every = {*known, *(other for others in known.values() for other in others)}
    assert all(re.fullmatch("[a-z]{2,}", word) for word in every)
    assert not {"not", "no", "never", "the", "have"} & set(known)
    assert all(word not in others and 1 <= len(others) <= 5 for word, others in known.items())
    assert "WordNet 3.0 Copyright 2006" in (PACKAGED / "WordNet.LICENSE.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "no such file"),
        (b"", "no synonyms"),
        (b"word,synonym\n", "no synonyms"),
        (b"alone\nalone\n", "no synonyms"),
        (b"word,synonym\na,b,c\n", "row 2"),
        (b"caf\xe9,coffee\n", "not UTF-8"),
        (b"PK\x03\x04", "zip archive"),
    ],
)
def test_a_bad_table_is_a_short_error(tmp_path, content: bytes | None, message: str) -> None:
    path = tmp_path / "table.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_synonyms(path)
    with pytest.raises(RecipeError, match=f"phase 1: view 'synonyms': .*{message}"):
        build_views("phase 1", [{"name": "synonyms", "table": str(path)}])


def test_the_note_counts_the_words_of_the_table(table, encoder) -> None:
    views = Views([made("synonyms", table), made("dropout", table)], encoder, where="finetune")
    size = f"finetune: view 'synonyms': '{table}' has synonyms for 7 words"
    assert views.notes() == views.notes(["rain"]) == [size]
    assert len(views.notes(["snow"])) == 2


# --- what a recipe may say --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("delete-word", "did you mean 'delete-words'"),
        ({"ratio": 0.1}, "needs a name"),
        ({"name": "delete-words", "rate": 0.1}, "no option 'rate'; did you mean 'ratio'"),
        ({"name": "delete-words", "ratio": 2}, "'delete-words', ratio must be less than 1"),
        ({"name": "mask-span", "characters": 0}, "characters"),
        ({"name": "synonyms", "table": "englsh"}, "no such file: englsh"),
        ({"name": "synonyms", "max_words": 0}, "max_words"),
        (
            {"name": "delete-stop-words", "words": "klingon"},
            "stop words 'klingon' are neither a packaged list",
        ),
        ({"name": "adversarial", "epsilon": 0}, "epsilon"),
    ],
)
def test_invalid_options_are_rejected(options: Any, message: str) -> None:
    with pytest.raises(RecipeError, match=f"^simcse: .*{message}"):
        build_views("simcse", [options])


def test_a_span_needs_a_mask_token(tiny_folder) -> None:
    encoder = load_encoder(str(tiny_folder))
    encoder.tokenizer.mask_token = None
    with pytest.raises(RecipeError, match="'mask-span' needs a mask token, and the tokenizer of"):
        Views(build_views("mirror", ["dropout", "mask-span"]), encoder, where="mirror")
    Views(build_views("mirror", ["delete-words"]), encoder, where="mirror")


def test_two_adversarial_views_are_rejected(encoder: Encoder) -> None:
    with pytest.raises(RecipeError, match="listed twice"):
        Views(build_views("simcse", ["adversarial", "adversarial"]), encoder, where="simcse")


# --- put to work ------------------------------------------------------------------------------------------------------


def test_stored_tokens_are_used_if_no_view_changes_texts(encoder: Encoder) -> None:
    texts, _ = make_table(12)
    tokens, rows, random = encoder.tokenise(texts), np.array([3, 0, 7]), np.random.default_rng(0)
    views = Views(build_views("here", ["dropout", "adversarial"]), encoder, where="here")
    assert not views.changes_text
    assert views.adversarial is not None
    features, stored = views.features(["not", "looked", "at"], tokens, rows, random), tokens.batch(rows)
    assert all(torch.equal(features[name], stored[name]) for name in stored)
    assert random.random() == np.random.default_rng(0).random(), "nothing was drawn"


def test_views_are_applied_in_order(encoder: Encoder) -> None:
    options = [{"name": "delete-stop-words", "ratio": 1.0}, {"name": "mask-span", "min_characters": 0, "characters": 3}]
    views = Views(build_views("here", options), encoder, where="here")
    assert views.texts(["the rain"], np.random.default_rng(0))[0] in {"[MASK]n", "r[MASK]"}
    assert views.adversarial is None


@settings(max_examples=20, deadline=None)
@given(texts=TEXTS)
def test_wild_texts_are_tokenised_after_the_change(encoder: Encoder, texts: list[str]) -> None:
    views = Views(build_views("here", ["delete-words", "mask-span"]), encoder, where="here")
    rows = np.arange(len(texts))[::-1].copy()
    features = views.features(texts, encoder.tokenise(texts), rows, np.random.default_rng(5))
    changed = views.texts([texts[row] for row in rows], np.random.default_rng(5))
    expected = encoder.tokenise(changed).batch(np.arange(len(rows)))
    assert all(torch.equal(features[name], expected[name]) for name in expected)
