"""Wild texts with every kind of tokenizer: the stored arrays are always consistent."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from phasefit.models.encoder.encoder import Encoder, load_encoder
from phasefit.models.tokens.tokens import SPECIAL
from wild import TEXTS


@pytest.fixture(scope="module", params=["bert", "roberta", "xlm-roberta", "deberta-v3"])
def encoder(request, tiny_encoder) -> Encoder:
    return load_encoder(str(tiny_encoder(request.param)))


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=40, deadline=None
)
@given(texts=TEXTS, longest=st.integers(4, 64), prompt=st.sampled_from(["", "please find: ", "\u05e9 "]))
@example(texts=["\ufdfa " * 9], longest=64, prompt="")
@example(texts=["", " ", "\n"], longest=4, prompt="the ")
def test_tokens_are_consistent(encoder: Encoder, texts: list[str], longest: int, prompt: str) -> None:
    encoder.prompt = prompt
    tokens = encoder.tokenise(texts, max_length=longest)
    encoder.prompt = ""
    assert len(tokens) == len(texts)
    assert tokens.starts[0] == 0
    assert tokens.starts[-1] == len(tokens.ids) == len(tokens.words)
    assert (tokens.lengths >= 2).all(), "the ends are always there"
    assert (tokens.lengths <= longest).all()
    plain = [len(encoder.tokenizer(prompt + text)["input_ids"]) for text in texts]
    assert tokens.cut == sum(length > longest for length in plain)
    assert tokens.lengths.tolist() == [min(length, longest) for length in plain]
    ends = {encoder.tokenizer.cls_token_id, encoder.tokenizer.sep_token_id}
    for row, text in enumerate(texts):
        span = slice(tokens.starts[row], tokens.starts[row + 1])
        ids, words = tokens.ids[span], tokens.words[span]
        assert {int(ids[0]), int(ids[-1])} == ends
        assert words[0] == words[-1] == SPECIAL
        inner = words[words != SPECIAL]
        assert (np.diff(inner) >= 0).all(), "words come in order"
        assert inner.max(initial=-1) < max(len(text.split()), 1)
    batch = tokens.batch(np.arange(len(texts)))
    assert batch["attention_mask"].sum(1).tolist() == tokens.lengths.tolist()
    assert (batch["input_ids"] < len(encoder.tokenizer)).all()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20, deadline=None)
@given(texts=TEXTS)
def test_vectors_of_wild_texts_are_numbers(encoder: Encoder, texts: list[str]) -> None:
    batch = encoder.tokenise(texts).batch(np.arange(len(texts)))
    assert encoder(batch)["sentence_embedding"].isfinite().all()
