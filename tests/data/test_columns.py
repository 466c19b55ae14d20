"""Finding the text and the label column."""

from __future__ import annotations

import pytest

from phasefit.data.columns import Columns, find_columns
from phasefit.errors import DataError


def find(names: str, text: str | None = None, label: tuple[str, ...] = (), need_labels: bool = True) -> Columns:
    return find_columns(names.split(), text=text, label=label, need_labels=need_labels, where="t.csv")


@pytest.mark.parametrize(
    ("names", "text", "label"),
    [
        ("text label", "text", "label"),
        ("id Sentence INTENT", "Sentence", "INTENT"),
        ("label title description text label_1", "text", "label"),  # `text` and `label` win
        ("review sentiment", "review", "sentiment"),
        ("y query", "query", "y"),
    ],
)
def test_common_names(names: str, text: str, label: str) -> None:
    assert find(names) == Columns(text, (label,))


def test_given_names_win() -> None:
    assert find("text label a b", text="a", label=("b",)) == Columns("a", ("b",))
    assert find("text coarse fine", label=("coarse", "fine")) == Columns("text", ("coarse", "fine"))


def test_labels_are_optional_if_not_needed() -> None:
    assert find("lines", need_labels=False) == Columns("lines", ())
    assert find("text id", need_labels=False) == Columns("text", ())


@pytest.mark.parametrize(
    ("names", "options", "message"),
    [
        ("foo bar", {}, "no column is recognised as text or label.*'foo', 'bar'.*--text and --label"),
        ("text bar", {}, "no column is recognised as label.*--label"),
        ("foo label", {}, "no column is recognised as text.*--text"),
        ("title body label", {}, "several columns could be the text: 'title', 'body'.*--text"),
        ("text topic intent", {}, "several columns could be the label: 'topic', 'intent'.*--label"),
        ("text_a text_b label", {}, "'text_a' and 'text_b' hold pairs of texts, but single texts are needed here"),
        ("text label", {"text": "txt"}, "there is no column 'txt'; did you mean 'text'"),
        ("text label", {"label": ("zzz",)}, "there is no column 'zzz'; known: label, text"),
    ],
)
def test_ambiguous_columns_are_an_error(names: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(DataError, match=f"^t.csv: .*{message}"):
        find(names, **options)
