"""Explanations as JSON and as HTML."""

from __future__ import annotations

import json

from explaining import BagOfWords
from phasefit.explain import Neighbour, deletion_test, explain_texts, to_json
from phasefit.explain.html import LEVELS, level, words_html


def test_everything_becomes_strict_json() -> None:
    model = BagOfWords()
    found = explain_texts(model, ["a very good film", ""])
    content = {"explanations": found, "test": deletion_test(model, found), "nearest": [Neighbour("x", "y", 0.1234567)]}
    read = json.loads(json.dumps(to_json(content), allow_nan=False))
    assert read["explanations"][0]["words"][2] == {"start": 7, "end": 11, "text": "good", "weight": 2.0, "side": 0}
    assert read["test"]["sentence"].startswith("deleting the most important word")
    assert read["nearest"] == [{"text": "x", "label": "y", "similarity": 0.123457}]


def test_the_words_are_escaped_and_marked_without_colour() -> None:
    weights = {"<b>good</b>": 2.0, "bad": -1.5}
    (one,) = explain_texts(BagOfWords(weights=weights), ["<b>good</b> \x1b\u202e bad & co"])
    html = words_html(one)
    assert "&lt;b&gt;good" in html
    assert "\x1b" not in html
    assert "\u202e" not in html
    assert 'class="for for4"' in html
    assert 'class="against against' in html
    assert 'title="+2.00"' in html
    assert "…" in words_html(one, 14)


def test_levels_are_relative_to_the_largest_weight() -> None:
    assert [level(weight, 2.0) for weight in (0.0, 0.05, 0.2, -1.0, 2.0)] == [0, 0, 1, 3, LEVELS]
    assert level(0.0, 0.0) == 0
