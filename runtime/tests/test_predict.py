"""Answers of every label kind, pairs, windows and several tasks equal those computed with numpy."""

from __future__ import annotations

import numpy as np
import onnx
import pytest

import phasefit_runtime
from graphs import DIMENSION, KINDS, VOCABULARY, WORDS, expected, manifest, sign, task, write_folder
from phasefit_runtime import ExportError, InputError, TextsCut

TEXTS = ["red cat", "good dog one two", "blue", "red cat", "", "bad bad three unknown"]


def ids(text: str) -> list[int]:
    return [2, *(VOCABULARY.get(word, 1) for word in text.split()), 3]


@pytest.mark.parametrize("types", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_outputs_and_answers_of_every_kind(tmp_path, kind: str, types: bool) -> None:
    tasks = {"default": task(kind)}
    inputs = ["input_ids", "attention_mask", *(["token_type_ids"] if types else [])]
    model = phasefit_runtime.load(write_folder(tmp_path, tasks, inputs=inputs), threads=1)
    outputs = model.predict_outputs(TEXTS)
    wanted = expected(tasks, "default", [[ids(text)] for text in TEXTS])
    np.testing.assert_allclose(outputs, wanted, atol=1e-6)
    answers = model.predict(TEXTS)
    if kind == "single":
        assert answers == ["abc"[code] for code in wanted.argmax(axis=1)]
    elif kind == "tree":
        paths = [("top", "left"), ("top", "right"), ("rest",)]
        assert answers == [paths[code] for code in wanted.argmax(axis=1)]
    elif kind == "multi":
        assert answers == [
            frozenset(name for name, p in zip(("x", "y", 3), row, strict=True) if p >= 0.5) for row in wanted
        ]
    elif kind == "number":
        np.testing.assert_allclose(answers, wanted[:, 0], atol=1e-6)
    else:
        assert answers == [("low", "mid", "high")[int(np.clip(np.floor(score + 0.5), 0, 2))] for score in wanted[:, 0]]
    if kind in ("number", "level"):
        with pytest.raises(InputError, match="no probabilities"):
            model.predict_proba(TEXTS)
    else:
        np.testing.assert_array_equal(model.predict_proba(TEXTS), outputs)


def test_answers_are_withheld_below_the_threshold_of_the_run_or_the_given_one(tmp_path) -> None:
    tasks = {"default": task("single", reject_below=0.6)}
    model = phasefit_runtime.load(write_folder(tmp_path, tasks), threads=1)
    best = model.predict_proba(TEXTS).max(axis=1)
    assert 0 < (best < 0.6).sum() < len(TEXTS)
    assert [answer is None for answer in model.predict(TEXTS)] == (best < 0.6).tolist()
    assert None not in model.predict(TEXTS, reject_below=0)
    assert model.predict(TEXTS, reject_below=1.0) == [None] * len(TEXTS)
    with pytest.raises(InputError, match="between 0 and 1"):
        model.predict(TEXTS, reject_below=2.0)


def test_each_label_of_several_has_its_threshold(tmp_path) -> None:
    tasks = {"default": task("multi", thresholds=[0.0, 1.0, 0.5])}
    model = phasefit_runtime.load(write_folder(tmp_path, tasks), threads=1)
    answers = model.predict(TEXTS)
    assert all("x" in answer and "y" not in answer for answer in answers)
    assert [3 in answer for answer in answers] == (model.predict_proba(TEXTS)[:, 2] >= 0.5).tolist()
    with pytest.raises(InputError, match="one class per text"):
        model.predict(TEXTS, reject_below=0.5)


@pytest.mark.parametrize("pair", ["uv", "together"])
def test_pairs_next_to_a_task_of_single_texts(tmp_path, pair: str) -> None:
    tasks = {"same": task("single", pair=pair), "colour": task("single")}
    model = phasefit_runtime.load(write_folder(tmp_path, tasks, max_length=12), threads=1)
    pairs = [("red cat", "blue"), ("blue", "good dog one"), ("red cat", "blue")]
    if pair == "uv":
        sequences = [[ids(text)] for both in pairs for text in both]
    else:
        sequences = [[ids(one) + ids(other)[1:]] for a, b in pairs for one, other in ((a, b), (b, a))]
    np.testing.assert_allclose(model.predict_outputs(pairs, "same"), expected(tasks, "same", sequences), atol=1e-6)
    # An odd number of texts: the graph needs an even one.
    wanted = expected(tasks, "colour", [[ids(text)] for text in TEXTS[:3]])
    np.testing.assert_allclose(model.predict_outputs(TEXTS[:3], "colour"), wanted, atol=1e-6)
    assert model.embed(TEXTS[:3]).shape == (3, DIMENSION)
    with pytest.raises(InputError, match="row 2 is not a pair"):
        model.predict([("a", "b"), "c"], "same")
    with pytest.raises(InputError, match="row 1 is a text pair"):
        model.predict([("a", "b")], "colour")
    with pytest.raises(InputError, match="several tasks; choose one of same, colour"):
        model.predict(TEXTS)
    with pytest.raises(InputError, match="no task 'color'"):
        model.predict(TEXTS, "color")


LONG = "one two three red blue green cat dog good bad"  # ten words


def test_long_texts_are_truncated_at_either_side(tmp_path) -> None:
    for side, kept in (("right", "one two three red blue green"), ("left", "blue green cat dog good bad")):
        tasks = {"default": task()}
        model = phasefit_runtime.load(write_folder(tmp_path / side, tasks, truncation_side=side), threads=1)
        with pytest.warns(TextsCut, match=r"1 of 2 texts are longer than 8 tokens and are cut"):
            outputs = model.predict_outputs([LONG, "cat"])
        np.testing.assert_allclose(outputs, expected(tasks, "default", [[ids(kept)], [ids("cat")]]), atol=1e-6)


def test_head_and_tail_of_long_texts(tmp_path) -> None:
    tasks = {"default": task()}
    model = phasefit_runtime.load(write_folder(tmp_path, tasks, long="head-tail"), threads=1)
    with pytest.warns(TextsCut):
        outputs = model.predict_outputs([LONG, "cat"])
    kept = [[2, *ids(LONG)[1:2], *ids(LONG)[-6:]]]
    np.testing.assert_allclose(outputs, expected(tasks, "default", [kept, [ids("cat")]]), atol=1e-6)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("pair", [None, "uv"])
def test_windows_of_long_texts(tmp_path, pair: str | None) -> None:
    tasks = {"default": task("single", pair=pair)}
    model = phasefit_runtime.load(write_folder(tmp_path, tasks, long="windows", most_windows=2), threads=1)
    texts = [LONG, "cat", "red blue", "one two three red blue green cat"]
    words = [[text.split()[at : at + 6] for at in range(0, len(text.split()), 6)] for text in texts]
    sequences = [[ids(" ".join(window)) for window in text] for text in words]
    inputs = list(zip(texts[::2], texts[1::2], strict=True)) if pair else texts
    np.testing.assert_allclose(model.predict_outputs(inputs), expected(tasks, "default", sequences), atol=1e-6)
    assert model.token_counts(inputs) == ([17, 15] if pair else [14, 3, 4, 11])


def test_too_many_windows_are_cut(tmp_path) -> None:
    model = phasefit_runtime.load(
        write_folder(tmp_path, {"default": task()}, long="windows", most_windows=2), threads=1
    )
    with pytest.warns(TextsCut, match="longer than 16 tokens"):
        cut = model.predict_outputs([" ".join([LONG, LONG])])
    np.testing.assert_array_equal(cut, model.predict_outputs([" ".join([LONG, "one two"])]))


def test_long_pairs_lose_the_end_of_the_longer_text(tmp_path) -> None:
    tasks = {"default": task("single", pair="together")}
    model = phasefit_runtime.load(write_folder(tmp_path, tasks), threads=1)
    with pytest.warns(TextsCut, match="1 of 2 pairs are longer than 8 tokens"):
        outputs = model.predict_outputs([(LONG, "cat"), ("red", "blue")])
    first = [[[*ids("one two three red"), *ids("cat")[1:]]], [[*ids("cat"), *ids("one two three red")[1:]]]]
    second = [[[*ids("red"), *ids("blue")[1:]]], [[*ids("blue"), *ids("red")[1:]]]]
    np.testing.assert_allclose(outputs, expected(tasks, "default", [*first, *second]), atol=1e-6)


def test_the_prompt_precedes_every_text(tmp_path) -> None:
    tasks = {"default": task()}
    model = phasefit_runtime.load(write_folder(tmp_path, tasks, prompt="good "), threads=1)
    wanted = expected(tasks, "default", [[ids(f"good {text}")] for text in TEXTS])
    np.testing.assert_allclose(model.predict_outputs(TEXTS), wanted, atol=1e-6)


def test_an_encoder_only_embeds(tmp_path) -> None:
    model = phasefit_runtime.load(write_folder(tmp_path, {}), threads=1)
    assert model.tasks == []
    assert model.embed(TEXTS).shape == (len(TEXTS), DIMENSION)
    assert model.embed([]).shape == (0, DIMENSION)
    assert model.embed(TEXTS).dtype == np.float32
    with pytest.raises(InputError, match="only embeds"):
        model.predict(TEXTS)


def test_labels_are_in_the_order_of_the_probabilities(tmp_path) -> None:
    model = phasefit_runtime.load(write_folder(tmp_path, {"one": task(), "two": task("level")}), threads=1)
    assert model.tasks == ["one", "two"]
    assert model.labels("one") == ["a", "b", "c"]
    assert model.labels("two") == ["low", "mid", "high"]


def test_nothing_in_nothing_out(tmp_path) -> None:
    for kind in KINDS:
        model = phasefit_runtime.load(write_folder(tmp_path / kind, {"default": task(kind)}), threads=1)
        assert model.predict([]) == []
        assert model.predict_outputs([]).shape == (0, 1 if KINDS[kind]["kind"] == "score" else 3)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["cat", None], "text 2 is not a string: None"),
        (["cat", "\ud800"], "text 2 contains a lone surrogate"),
        ([("a", "b")], "row 1 is a text pair"),
    ],
)
def test_texts_that_cannot_be_used_are_named(tmp_path, texts, message: str) -> None:
    model = phasefit_runtime.load(write_folder(tmp_path, {"default": task()}), threads=1)
    with pytest.raises(InputError, match=message):
        model.predict(texts)
    with pytest.raises(TypeError, match="not one string"):
        model.predict("cat")


def test_the_answers_do_not_depend_on_the_batches(tmp_path) -> None:
    model = phasefit_runtime.load(write_folder(tmp_path, {"default": task()}), threads=1)
    texts = [" ".join(np.random.default_rng(row).choice(WORDS, row % 6 + 1)) for row in range(100)]
    done: list[int] = []
    reference = np.concatenate([model.predict_outputs([text]) for text in texts])
    for size, most in ((1, 2048), (7, 2048), (32, 20), (32, 1)):
        done.clear()
        outputs = model.predict_outputs(texts, batch_size=size, max_tokens=most, progress=done.append)
        np.testing.assert_allclose(outputs, reference, atol=1e-6)
        assert sum(done) == len(texts)
    with pytest.raises(InputError, match="at least 1"):
        model.predict(texts, batch_size=0)


@pytest.mark.parametrize("kind", ["single", "multi", "level"])
def test_a_model_that_returns_no_numbers_is_refused(tmp_path, kind: str) -> None:
    folder = write_folder(tmp_path / "exported", {"default": task(kind)})
    model = onnx.load(folder / "model.onnx")
    table = next(one for one in model.graph.initializer if one.name == "table")
    table.CopyFrom(onnx.numpy_helper.from_array(np.full(table.dims, np.nan, dtype=np.float32), "table"))
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    sign(folder, manifest(folder))
    with pytest.raises(ExportError, match="values that are not finite numbers"):
        phasefit_runtime.load(folder, threads=1).predict(["cat"])
