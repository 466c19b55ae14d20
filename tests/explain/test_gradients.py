"""Integrated gradients of tiny encoders: complete, the same each time, and for every kind of label, pair and length."""

from __future__ import annotations

import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from explaining import KINDS, add_task, encoder_model
from phasefit.errors import MissingExtra
from phasefit.explain import captum_gradients, explain_texts, to_json
from phasefit.explain.gradients import gradients
from phasefit.explain.reading import Reader
from phasefit.explain.rows import cut_quietly
from phasefit.explain.targets import Task
from tiny import FAMILIES

TEXT = "find the song and cook bread today"
LONG = "the storm is about pizza " * 40


def attribution(model, text, task="default", steps=256):
    """The weights of the words for the first output, and the output at both ends of the path."""
    about = Task(model, task)
    row = Reader(model, task).read((text,) if isinstance(text, str) else text)
    return gradients(about, row, text, [0], steps=steps)[0]


def assert_complete(model, text, task="default") -> None:
    found = attribution(model, text, task)
    total = np.nansum(found.weights)
    assert total == pytest.approx(found.value - found.neutral, abs=0.02 * max(1.0, abs(found.value - found.neutral)))
    with cut_quietly():
        outputs = Task(model, task).values(model.predict_outputs([text], task=task))
    assert found.value == pytest.approx(outputs[0, 0], abs=1e-3 * max(1.0, abs(outputs[0, 0])))


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_complete_for_every_kind(tiny_folder: Path, kind: str) -> None:
    assert_complete(encoder_model(tiny_folder, kind), TEXT)


@pytest.mark.parametrize("pair", ["uv", "uv_diff_prod", "cosine", "together"])
def test_gradients_are_complete_for_pairs(tiny_folder: Path, pair) -> None:
    model = encoder_model(tiny_folder, "score", pair=pair)
    texts = (TEXT, "a hotel and some rain")
    assert_complete(model, texts)
    (one,) = explain_texts(model, [texts])
    assert {word.side for word in one.words if word.weight} == {0, 1}


@pytest.mark.parametrize("family", FAMILIES)
def test_every_family(tiny_encoder, family: str) -> None:
    model = encoder_model(tiny_encoder(family), "single")
    assert_complete(model, TEXT)
    (one,) = explain_texts(model, ["Please  find\tsome tokenisation, 🙂!"])
    assert [word.text for word in one.words] == ["Please", "find", "some", "tokenisation,", "🙂!"]
    assert all(word.weight is not None for word in one.words)


@pytest.mark.parametrize("way", ["truncate", "head-tail", "windows"])
def test_words_that_are_cut_have_no_weight(tiny_folder: Path, way) -> None:
    model = encoder_model(tiny_folder, "single")
    model.encoder.max_length = 16
    model.encoder.set_long(way)
    for method in ("gradients", "occlusion"):
        (one,) = explain_texts(model, [LONG], method=method)
        assert one.method == method
        weights = np.array([np.nan if word.weight is None else word.weight for word in one.words])
        read = ~np.isnan(weights)
        assert len(weights) == 200
        if way == "windows":  # 16 windows of 14 words
            assert read.all()
            continue
        assert read.sum() == 14
        assert read[0]
        assert read[-1] == (way == "head-tail")
        assert one.notes == (
            "186 of 200 words have no weight: the text is too long for the model, which does not read them",
        )
    assert_complete(model, LONG)


def test_prompts_and_templates_have_no_weight(tiny_folder: Path) -> None:
    plain, prompted = (encoder_model(tiny_folder, "single") for _ in range(2))
    prompted.encoder.prompt = "please find: "
    prompted.encoder.set_template("{text} is about {mask}")
    assert_complete(prompted, TEXT)
    words = [[word.text for word in explain_texts(model, [TEXT])[0].words] for model in (plain, prompted)]
    assert words[0] == words[1] == TEXT.split()


def test_several_tasks(tiny_folder: Path) -> None:
    model = encoder_model(tiny_folder, "single", task="topic")
    add_task(model, "degree", "score")
    add_task(model, "tags", "multi")
    assert {one.label for one in explain_texts(model, [TEXT], task="degree")} == {None}
    assert explain_texts(model, [TEXT], task="topic")[0].label in ("food", "music", "weather")
    assert explain_texts(model, [TEXT], task="tags", label="music")[0].label == "music"
    with pytest.raises(ValueError, match="several tasks"):
        explain_texts(model, [TEXT])


def test_the_same_input_gives_the_same_weights(tiny_folder: Path) -> None:
    model = encoder_model(tiny_folder)
    model.train()
    first = explain_texts(model, [TEXT, LONG], method="gradients")
    assert model.training, "the mode of the model is kept"
    assert explain_texts(model, [TEXT, LONG], method="gradients") == first
    alone = explain_texts(model, [TEXT], method="gradients")[0]
    assert alone.words == first[0].words, "other texts do not change them"


def test_the_model_is_left_as_it_was(tiny_folder: Path) -> None:
    model = encoder_model(tiny_folder)
    before = model.predict_outputs([TEXT])
    explain_texts(model, [TEXT])
    assert np.array_equal(model.predict_outputs([TEXT]), before)
    assert all(parameter.grad is None for parameter in model.parameters())


def test_another_thread_can_predict_at_the_same_time(tiny_folder: Path) -> None:
    model = encoder_model(tiny_folder)
    before, wrong, done = model.predict_outputs([TEXT]), [], threading.Event()

    def predict() -> None:
        while not done.is_set():
            wrong.extend([1] * (not np.allclose(model.predict_outputs([TEXT]), before, atol=1e-6)))

    thread = threading.Thread(target=predict)
    thread.start()
    for _ in range(3):
        explain_texts(model, [TEXT])
    done.set()
    thread.join()
    assert not wrong


def test_gradients_need_captum_and_the_default_does_not(tiny_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(captum_gradients, "is_installed", lambda: False)
    model = encoder_model(tiny_folder)
    assert explain_texts(model, [TEXT])[0].method == "occlusion"
    with pytest.raises(MissingExtra, match=r"pip install 'phasefit\[explain\]'"):
        explain_texts(model, [TEXT], method="gradients")


@pytest.fixture(scope="module")
def wild_model(tiny_folder: Path):
    return encoder_model(tiny_folder)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=30), st.sampled_from(["gradients", "occlusion"]))
def test_wild_texts(wild_model, text: str, method: str) -> None:
    (one,) = explain_texts(wild_model, [text], method=method)
    assert all(text[word.start : word.end] == word.text for word in one.words)
    assert all(word.weight is None or np.isfinite(word.weight) for word in one.words)
    assert to_json(one)["text"] == text


@pytest.mark.parametrize("method", ["gradients", "occlusion"])
def test_odd_texts(wild_model, method: str) -> None:
    empty, spaces, emoji, huge = explain_texts(wild_model, ["", " \n ", "🙂🙂 👩‍👩‍👧", "song " * 10_000], method=method)
    assert empty.words == spaces.words == ()
    assert empty.notes == ("the text has no words",)
    assert len(emoji.words) == 2
    assert len(huge.words) == 10_000
    assert len(huge.read) == 62
