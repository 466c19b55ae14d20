"""The default trains with the class names if they help: the test on the training rows, and the choice."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from phasefit.data.labels import label_space
from phasefit.data.table import Table
from phasefit.errors import RecipeError
from phasefit.runs.recipe import class_names
from phasefit.runs.recipe.class_names import ENOUGH, MOST_ROWS, NameScores, score_class_names
from phasefit.runs.recipe.resolve import NAMED_ROWS, requested_recipe, resolve_recipe
from specs import run_spec

MEALS = ["soup", "bread", "cake"]


def prepared_of(texts: list[str], labels: list[Any]) -> Any:
    space = label_space(labels)
    train = Table("some", texts, labels=labels)
    return SimpleNamespace(
        train=train,
        space=space,
        unlabelled=None,
        file=None,
        tasks={},
        trained_tables=[train],
        codes=lambda table: space.encode(table.labels),
    )


@pytest.fixture
def vectors(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[float]]:
    """Vectors of texts; the others get zeros."""
    known: dict[str, list[float]] = {}

    def encode(model: str | None, texts: list[str]) -> np.ndarray:
        return np.array([known.get(text, [0.0, 0.0, 0.0]) for text in texts])

    monkeypatch.setattr(class_names, "_vectors", encode)
    return known


def test_scores_are_accuracies_of_names_and_of_other_rows(vectors: dict[str, list[float]]) -> None:
    vectors |= {"hot": [1, 0, 0], "cold": [0, 1, 0]}
    vectors |= {"a": [0.8, 0.6, 0], "b": [0.6, 0.8, 0], "c": [0, 1, 0], "d": [0, 0.8, 0.6]}
    scores = score_class_names(None, prepared_of(["a", "b", "c", "d"], ["hot", "hot", "cold", "cold"]), seed=0)
    # Names: b is nearer to cold. Other rows: a has b (.96) and c + d (.57); b has a (.96) and c + d (.76); c has d (.8)
    # and a + b (.71); d has c (.8) and a + b (.57).
    assert scores == NameScores(names=0.75, rows=1.0)
    assert scores.help == (ENOUGH <= 0.75)


def test_the_only_row_of_a_class_counts_as_wrong(vectors: dict[str, list[float]]) -> None:
    vectors |= {"a": [1, 0, 0], "b": [1, 0, 0], "c": [0.1, 0, 1]}
    scores = score_class_names(None, prepared_of(["a", "b", "c"], ["hot", "hot", "cold"]), seed=0)
    assert scores is not None
    assert scores.rows == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    "labels", [[1, 2, 1, 2], [0.5, 1.5, 0.5, 1.5], [frozenset({"a"}), frozenset({"b"})] * 2, ["hot", "7", "hot", "7"]]
)
def test_labels_without_names_are_not_compared(labels: list[Any], vectors: dict[str, list[float]]) -> None:
    assert score_class_names(None, prepared_of(["a", "b", "c", "d"], labels), seed=0) is None


def test_many_rows_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []

    def encode(model: str | None, texts: list[str]) -> np.ndarray:
        counts.append(len(texts))
        return np.eye(len(texts))

    monkeypatch.setattr(class_names, "_vectors", encode)
    score_class_names(None, prepared_of(["a"] * 600, MEALS * 200), seed=0)
    assert counts == [len(MEALS) + MOST_ROWS]


@pytest.mark.parametrize(("names", "recipe"), [(0.75, "label-names"), (0.7, "few-shot")])
def test_the_default_uses_names_that_help(names: float, recipe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "phasefit.runs.recipe.class_names.score_class_names", lambda *given: NameScores(names=names, rows=1.0)
    )
    request, notes = run_spec("some.csv"), []
    prepared = prepared_of(["a text"] * 12, MEALS * 4)
    assert resolve_recipe(request, requested_recipe(request), prepared, notes.append).name == recipe
    verdict = "help" if recipe == "label-names" else "help little"
    note = (
        f"with 4 training rows per class whose names {verdict}: before training, they predict {names:.0%} of the rows"
    )
    assert note in notes[0].text


@pytest.mark.parametrize(("each", "recipe"), [(NAMED_ROWS, "label-names"), (NAMED_ROWS + 1, "one-phase")])
def test_the_default_uses_names_up_to_a_number_of_rows(each: int, recipe: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "phasefit.runs.recipe.class_names.score_class_names", lambda *given: NameScores(names=1.0, rows=1.0)
    )
    request = run_spec("some.csv")
    prepared = prepared_of(["a text"] * 3 * each, MEALS * each)
    assert resolve_recipe(request, requested_recipe(request), prepared, lambda note: None).name == recipe


def test_settings_that_label_names_refuses_select_few_shot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "phasefit.runs.recipe.class_names.score_class_names", lambda *given: NameScores(names=1.0, rows=1.0)
    )
    request = run_spec("some.csv", settings=("finetune.head=mlp",))
    prepared = prepared_of(["a text"] * 12, MEALS * 4)
    assert resolve_recipe(request, requested_recipe(request), prepared, lambda note: None).name == "few-shot"


def test_settings_that_only_label_names_accepts_select_it(tmp_path: Path) -> None:
    file = tmp_path / "classes.csv"
    file.write_text("label,text\n" + "".join(f"{name},about {name}\n" for name in MEALS), encoding="utf-8")
    request = run_spec("some.csv", settings=(f"contrast.class_texts={file}", f"finetune.class_texts={file}"))
    monotone = prepared_of(["a text"] * 12, [1, 2, 3] * 4)
    assert requested_recipe(request).name == "label-names"
    with pytest.raises(
        RecipeError, match=r"contrast: class_texts: classes\.csv, row 1: label '.*' is not one of the 3"
    ):
        resolve_recipe(request, requested_recipe(request), monotone, lambda note: None)
    named = prepared_of(["a text"] * 12, MEALS * 4)
    assert resolve_recipe(request, requested_recipe(request), named, lambda note: None).name == "label-names"


def test_the_encoder_that_training_starts_from_is_asked(tiny_folder: Any) -> None:
    texts = ["soup of the day", "fresh bread", "cake for two"] * 3
    scores = score_class_names(str(tiny_folder), prepared_of(texts, MEALS * 3), seed=0)
    assert scores is not None
    assert scores.rows == 1.0  # every text has copies among the other rows
