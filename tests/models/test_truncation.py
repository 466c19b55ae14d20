"""Truncated tokens are counted exactly, for every family and both sides."""

from __future__ import annotations

import json

import numpy as np
import pytest

from phasefit.models.encoder.encoder import load_encoder
from phasefit.models.tokens.truncation import Truncation, truncation
from tiny import FAMILIES

TEXTS = [
    "the " * 200,
    "rain",
    "song " * 62 + "song",
    "[SEP] a b [CLS] <s> </s> " * 40,
    "x" * 3000,
    "日本語 🙂 " * 50,
    "",
]


@pytest.mark.parametrize("side", ["right", "left"])
@pytest.mark.parametrize("family", FAMILIES)
def test_lost_tokens_are_counted_exactly(tiny_encoder, family: str, side: str) -> None:
    encoder = load_encoder(str(tiny_encoder(family)))
    encoder.tokenizer.truncation_side = side
    whole = encoder.tokenise(TEXTS, max_length=1_000_000)
    assert not whole.lost.any()
    for limit in (8, 13, 64):
        cut = encoder.tokenise(TEXTS, max_length=limit)
        assert (cut.lengths + cut.lost).tolist() == whole.lengths.tolist()
        assert cut.cut == (whole.lengths > limit).sum()


def test_chunks_make_no_difference(tiny_encoder, monkeypatch: pytest.MonkeyPatch) -> None:
    encoder = load_encoder(str(tiny_encoder("bert")))
    whole = encoder.tokenise(TEXTS).lost
    monkeypatch.setattr("phasefit.models.tokens.tokens.CHUNK", 2)
    assert np.array_equal(encoder.tokenise(TEXTS).lost, whole)
    assert encoder.tokenise([]).cut == 0


def test_the_sentence_and_the_record(tiny_encoder) -> None:
    encoder = load_encoder(str(tiny_encoder("bert")))
    statistics = truncation(encoder.tokenise(["the " * 100, "the", "the", "the"], max_length=12), 12)
    assert (statistics.texts, statistics.cut, statistics.tokens, statistics.lost) == (4, 1, 111, 90)
    assert statistics.sentence() == (
        "1 of 4 texts are longer than 12 tokens and are cut: 81.1 % of all tokens are lost "
        "(median 3 tokens, 95 % up to 102, the longest 102)"
    )
    record = json.loads(json.dumps(statistics.to_json()))
    assert record["lost_share"] == round(90 / 111, 6)
    assert Truncation.from_json(record).sentence() == statistics.sentence()
    fits = truncation(encoder.tokenise(["the", "the the"]), 64)
    assert fits.sentence() == "no text is longer than 64 tokens (median 3.5 tokens, 95 % up to 4, the longest 4)"
