"""`--long` from the recipe to the saved model."""

from __future__ import annotations

from pathlib import Path

import pytest

from phasefit.errors import RecipeError
from phasefit.events import Event, Note
from phasefit.models.storage import load_model
from phasefit.recipes import read_recipe
from running import train
from specs import run_spec
from tiny import make_table, read_json, write_csv

STEPS = ("finetune.max_steps=2", "finetune.min_steps=1", "max_length=8")
TEXTS, LABELS = make_table(40)
TEXTS = [f"{text} {text} {text} {text}" for text in TEXTS]


@pytest.mark.parametrize("way", ["truncate", "head-tail", "windows"])
def test_a_run_reads_long_texts_as_requested(tiny_folder: Path, tmp_path: Path, way: str) -> None:
    table = write_csv(tmp_path / "long.csv", TEXTS, LABELS)
    events: list[Event] = []
    settings = (*STEPS, f"long={way}")
    request = run_spec(table, recipe="finetune", settings=settings, model=str(tiny_folder), out=tmp_path / "run")
    result = train(request, events.append)
    notes = " ".join(event.text for event in events if isinstance(event, Note))
    assert ("windows" in notes) == (way != "head-tail" or "--long windows" in notes)
    assert ("are cut" in notes) == (way != "windows")
    assert read_json(tmp_path / "run" / "phasefit.json")["long"] == way
    loaded = load_model(tmp_path / "run")
    assert loaded.encoder.long == way
    if way != "windows":
        with pytest.warns(UserWarning, match="longer than 8 tokens"):
            assert loaded.predict_proba(TEXTS[:3]) == pytest.approx(result.model.predict_proba(TEXTS[:3]))
    else:
        assert loaded.predict_proba(TEXTS[:3]) == pytest.approx(result.model.predict_proba(TEXTS[:3]))


def test_the_ways_give_different_vectors(tiny_folder: Path) -> None:
    vectors = []
    for way in ("truncate", "head-tail", "windows"):
        model = load_model(tiny_folder)
        model.encoder.max_length = 8
        model.encoder.set_long(way)
        vectors.append(model.encoder.tokenise([" ".join(TEXTS[:3])]).ids.tolist())
    assert vectors[0] != vectors[1] != vectors[2] != vectors[0]


def test_an_unknown_way_is_refused() -> None:
    with pytest.raises(RecipeError, match="long must be one of 'truncate'"):
        read_recipe("finetune", {"long": "middle"})


def test_a_recipe_keeps_the_option() -> None:
    recipe = read_recipe("finetune", {"long": "windows"})
    assert recipe.long == "windows"
    assert 'long = "windows"' in recipe.to_toml()
