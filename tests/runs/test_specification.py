"""The specification of a run: flat option names for users, sections inside, the same from every interface."""

from __future__ import annotations

import json
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from phasefit.cli.compare import compare
from phasefit.cli.search import search
from phasefit.cli.train import train
from phasefit.errors import RecipeError, RunError
from phasefit.runs.saved_specification import spec_from_json, spec_to_json
from phasefit.runs.specification import DEFAULTS, OPTIONS, SECTIONS, run_spec


def test_options_are_sorted_into_sections() -> None:
    spec = run_spec("some.csv", rows=9, recipe="finetune", threads=2, out=Path("out"), seed=3, text=("a", "b"))
    assert (spec.data.source, spec.data.text, spec.split.rows) == ("some.csv", ("a", "b"), 9)
    assert (spec.recipe.name, spec.machine.threads, spec.output.folder, spec.seed) == ("finetune", 2, Path("out"), 3)
    assert spec.options() == {**DEFAULTS, "data": "some.csv", "text": ("a", "b"), "rows": 9, "recipe": "finetune"} | {
        "threads": 2,
        "out": Path("out"),
        "seed": 3,
    }


def test_no_two_sections_have_an_option_of_the_same_name() -> None:
    inside = sum(len(signature(section).parameters) for section in SECTIONS.values())
    assert len(OPTIONS) == inside + len({"model", "model_name", "seed"})


def test_replace_changes_only_the_given_options() -> None:
    spec = run_spec("some.csv", rows=9, seed=3)
    other = spec.replace(seed=4, test_size=0.0, data="other.csv")
    assert (other.seed, other.split.test_size, other.split.rows, other.data.source) == (4, 0.0, 9, "other.csv")
    assert (spec.seed, spec.split.test_size, spec.data.source) == (3, 0.1, "some.csv")
    assert other.replace(seed=3, test_size=0.1, data="some.csv") == spec


def test_an_unknown_option_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(TypeError, match="a run has no option 'test_sise'; did you mean 'test_size'"):
        run_spec("some.csv", test_sise=0.1)
    with pytest.raises(TypeError, match="'epochs'"):
        run_spec("some.csv").replace(epochs=3)


def test_settings_may_be_tables_or_dotted_paths() -> None:
    nested = run_spec("some.csv", settings={"contrast": {"epochs": 4}, "long": "windows"})
    assert nested.recipe.settings == {"contrast.epochs": 4, "long": "windows"}
    assert nested == run_spec("some.csv", settings={"contrast.epochs": 4, "long": "windows"})
    assert run_spec("some.csv", settings=None) == run_spec("some.csv")


def test_a_specification_survives_json(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PHASEFIT_DATA", raising=False)
    (tmp_path / "some.csv").write_text("text,label\n")
    settings = {"contrast.objective": {"name": "supcon"}, "finetune.views": ["a"], "prompt": 'say "{text}"\n\\'}
    options = {"levels": ("low", "high"), "fold": (2, 5), "data_dir": tmp_path, "model": "enc", "reject": 0.1}
    spec = run_spec("some.csv", settings=settings, **options)
    saved = json.loads(json.dumps(spec_to_json(spec)))
    assert saved["data"] == str(tmp_path / "some.csv"), "wherever it is resumed from"
    again = spec_from_json(saved, Path("out"))
    assert again == spec.replace(out=Path("out"), data=str(tmp_path / "some.csv"), model_name="enc")


def test_tables_in_memory_cannot_be_resumed() -> None:
    for name in ("data", "validation", "test", "unlabelled"):
        frame = pd.DataFrame({"text": ["a"]})
        spec = run_spec(frame if name == "data" else "some.csv", **({} if name == "data" else {name: frame}))
        with pytest.raises(RunError, match=rf"a table in memory \({name}\)"):
            spec_from_json(json.loads(json.dumps(spec_to_json(spec))), Path("out"))


@pytest.mark.parametrize("command", [compare, search])
def test_commands_declare_an_option_once(command: object) -> None:
    known, own = signature(train).parameters, signature(command).parameters  # type: ignore[arg-type]
    shared = {*OPTIONS} & {*known} & {*own} - {"data", "out", "recipe"}
    assert len(shared) > 20
    for name in shared:
        assert own[name].annotation == known[name].annotation
        assert own[name].default == known[name].default or (name, own[name].default) == ("unseen", "drop")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"seed": True}, "--seed must be a whole number, not True"),
        ({"validation_size": "0.2"}, "--validation-size must be a number, not '0.2'"),
        ({"rows": 1.5}, "--rows must be a whole number or None, not 1.5"),
        ({"fold": (1, "b")}, "--fold must be 2 whole numbers or None, not (1, 'b')"),
        ({"text": (1,)}, "--text must be a list of strings, not (1,)"),
        ({"kind": ["single"]}, "--kind must be a string or None, not ['single']"),
        ({"model": 3}, "--model must be a string or None, not 3"),
        ({"data_dir": 3}, "--data-dir must be a path or None, not 3"),
        ({"refit": 1}, "--refit must be True or False, not 1"),
        ({"settings": {3: 4}}, "settings: 3 is not the name of an option; names look like 'finetune.epochs'"),
        ({"settings": {"finetune.objective": {3: 4}}}, "settings: 3 is not the name of an option"),
    ],
)
def test_values_of_a_wrong_type_are_refused_by_name(options: dict[str, Any], message: str) -> None:
    with pytest.raises(RecipeError) as caught:
        run_spec("some.csv", **options)
    assert str(caught.value).startswith(message)


def test_numbers_and_paths_of_libraries_are_accepted() -> None:
    spec = run_spec(
        "some.csv", seed=np.int64(3), test_size=np.float32(0.5), reject=0, fold=(1, np.int64(5)), model=Path("m")
    )
    assert (spec.seed, spec.split.test_size, spec.split.fold, spec.model) == (3, 0.5, (1, 5), Path("m"))


@pytest.mark.parametrize(
    "request_", [3, [], None, {"settings": ["finetune.epochs=2"]}, {"rows": "x"}, {"fold": "x"}, {"text": 3}]
)
def test_a_damaged_request_is_one_sentence(request_: Any, tmp_path: Path) -> None:
    content = {"data": "some.csv", **request_} if isinstance(request_, dict) else request_
    with pytest.raises(RunError, match="cannot be resumed: its manifest is damaged"):
        spec_from_json(content, tmp_path)
