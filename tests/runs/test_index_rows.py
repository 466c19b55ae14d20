from __future__ import annotations

from math import ceil

import numpy as np

from phasefit.data.labels import NoLabels
from phasefit.data.table import Table
from phasefit.prepare.prepare import Prepared
from phasefit.recipes.needs import Needs
from phasefit.runs.fitting.index_rows import every_text, row_texts, set_max_length, task_numbers
from specs import prepare, run_spec
from tiny import fresh_model

SINGLE = {"text": [f"single {row}" for row in range(30)], "label": ["a", "b"] * 15}
LEFT, RIGHT = ([f"{side} {row}" for row in range(30)] for side in ("left", "right"))
PAIRS = {"text_a": LEFT, "text_b": RIGHT, "label": ["a", "b"] * 15}
OWNERS = {"before": -1, "single": 0, "left": 1, "right": 1}


def tasks(before: bool = False) -> Prepared:
    single, pairs = (prepare(run_spec(data), None, Needs(labels_of_pairs=True)) for data in (SINGLE, PAIRS))
    train = Table("before", ["one before", "another before"])
    own = {"single": single, "pairs": pairs}
    return Prepared("both", NoLabels(), train, None, None, None, "0", single.hygiene, tasks=own, before=before)


def test_every_text_has_the_number_of_its_task() -> None:
    for before in (False, True):
        prepared = tasks(before)
        expected = [
            [-1, 0, 1, 1][["before", "single", "left", "right"].index(_kind(text))] for text in every_text(prepared)
        ]
        assert task_numbers(prepared).tolist() == expected
        assert set(expected) == ({-1, 0, 1} if before else {0, 1})


def test_a_row_of_pairs_has_both_texts_and_a_row_of_tasks_one() -> None:
    prepared = prepare(run_spec(PAIRS), None, Needs(labels_of_pairs=True))
    for left, right in row_texts(prepared, np.arange(len(prepared.train))):
        assert left.split() == ["left", right.removeprefix("right ")]
    several = tasks()
    assert row_texts(several, np.arange(5)) == [(text,) for text in every_text(several)[:5]]


def test_the_maximum_length_may_be_that_of_the_longest_training_text(tiny_folder) -> None:
    long, longest = "word " * 9, "word " * 30
    given = {"text": [f"{long if row == 3 else 'word'} {row}" for row in range(30)], "label": ["a", "b"] * 15}
    held_out = {"text": [longest] * 4, "label": ["a", "b"] * 2}
    prepared = prepare(run_spec(given, validation=held_out, test_size=0.0), None, Needs())
    encoder = fresh_model(tiny_folder).encoder
    tokens = int(encoder.tokenise(prepared.train.texts, max_length=encoder.position_limit).lengths.max())
    set_max_length(encoder, "train", prepared, seed=0)
    assert encoder.max_length == max(min(ceil(1.2 * tokens), encoder.position_limit), 8)
    set_max_length(encoder, "auto", prepared, seed=0)
    assert encoder.max_length > ceil(1.2 * tokens), "it also measures validation texts"


def test_the_longest_text_of_pairs_and_tasks_counts(tiny_folder) -> None:
    prepared = tasks()
    encoder = fresh_model(tiny_folder).encoder
    texts = [text for one in prepared.tasks.values() for side in one.train.sides for text in side]
    tokens = int(encoder.tokenise(texts, max_length=encoder.position_limit).lengths.max())
    set_max_length(encoder, "train", prepared, seed=0)
    assert encoder.max_length == max(min(ceil(1.2 * tokens), encoder.position_limit), 8)


def _kind(text: str) -> str:
    return "before" if text.endswith("before") else text.split()[0]
