from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from phasefit.errors import RecipeError
from phasefit.models.seeded import seeded
from phasefit.phases.in_batch_negatives.mirror import RandomStrings
from tiny import first_batch, make_phase

LONG = [f"please find some {word} about the storm and the rain today" for word in ("song", "pizza", "hotel", "wind")]


def sides(phase, seed: int = 0) -> dict[str, torch.Tensor]:
    with seeded(seed), torch.no_grad():
        return phase.encode(first_batch(phase))


def test_noise_can_be_span_alone_dropout_alone_heads_alone(model, data) -> None:
    span = sides(make_phase("mirror", model, data, dropout=0.0, min_characters=5).train())
    assert not torch.allclose(span["anchor"], span["positive"])
    again = sides(make_phase("mirror", model, data, dropout=0.0, min_characters=5).train(), seed=7)
    assert torch.equal(span["anchor"], again["anchor"]), "no dropout, so torch's generator does not matter"
    for options in ({"span": 0}, {"span": 0, "drop_head": 0.5}):
        vectors = sides(make_phase("mirror", model, data, **options).train())
        assert not torch.allclose(vectors["anchor"], vectors["positive"])
        still = sides(make_phase("mirror", model, data, **options).eval())
        assert torch.equal(still["anchor"], still["positive"])
    none = sides(make_phase("mirror", model, data, span=0, dropout=0.0).train())
    assert torch.equal(none["anchor"], none["positive"])


def test_short_texts_are_not_masked(model, data) -> None:
    longest = max(map(len, data.texts))
    short = sides(make_phase("mirror", model, data, dropout=0.0, min_characters=longest + 1).train())
    assert torch.allclose(short["anchor"], short["positive"], atol=1e-6)


def test_more_views_follow_the_span(model, data) -> None:
    phase = make_phase("mirror", model, data, dropout=0.0, span=0, views=["adversarial"])
    vectors = sides(phase.train())
    assert not torch.allclose(vectors["anchor"], vectors["positive"])


def test_negatives_alone_are_an_option_of_the_objective(model, data) -> None:
    phase = make_phase("mirror", model, data, objective={"name": "nt-xent", "temperature": 0.04, "pull": False})
    assert torch.isfinite(phase(first_batch(phase)).loss)
    assert phase.objective.pull is False


def test_masking_without_a_mask_token_is_refused(model, data) -> None:
    model.encoder.tokenizer.mask_token = None
    with pytest.raises(RecipeError, match="mirror: view 'mask-span' needs a mask token, and the tokenizer of"):
        make_phase("mirror", model, data)
    make_phase("mirror", model, data, span=0)


def test_random_strings_are_as_long_as_the_texts_and_have_no_meaning() -> None:
    strings = RandomStrings(["the rain\nand  storm ", "the rain", ""], seed=3)
    assert len(strings) == 3
    first = strings[0]
    assert [len(word) for word in first.split()] == [3, 4, 3, 5]
    assert first[8] == "\n"
    assert first.endswith(" ")
    assert first == strings[0], "a row has one string"
    assert strings[1] != first[:8], "each row has its own"
    assert strings[2] == ""
    assert strings[:2] == [strings[0], strings[1]]
    assert RandomStrings(["the rain"], seed=4)[0] != RandomStrings(["the rain"], seed=5)[0]


def test_random_strings_take_the_place_of_texts_on_both_sides(model, data) -> None:
    phase = make_phase("mirror", model, data, random_strings=True, dropout=0.0, span=0).train()
    vectors = sides(phase)
    assert torch.equal(vectors["anchor"], vectors["positive"])
    plain = sides(make_phase("mirror", model, data, dropout=0.0, span=0).train())
    assert not torch.allclose(vectors["anchor"], plain["anchor"])
    assert torch.equal(vectors["anchor"], sides(phase)["anchor"])


def test_texts_are_masked_to_the_model_s_length(model, data) -> None:
    model.encoder.max_length = 8
    long = replace(data, texts=[LONG[row % 4] for row in range(len(data.texts))])
    long = replace(long, tokens=model.encoder.tokenise(long.texts))
    lengths: list[int] = []
    handle = model.encoder.register_forward_pre_hook(lambda _, given: lengths.append(given[0]["input_ids"].shape[1]))
    phase = make_phase("mirror", model, long)
    phase(first_batch(phase))
    handle.remove()
    assert max(lengths) <= 8
