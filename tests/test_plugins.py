"""Plugins: the package in docs/plugins.md can be installed, listed and trained with."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
import torch
from typer.testing import CliRunner

from phasefit.baselines import BASELINES
from phasefit.cli.app import COMMANDS, app
from phasefit.data.labels import LABEL_KINDS
from phasefit.errors import PluginError
from phasefit.metrics.registry import METRICS, Metric, added_scores
from phasefit.models.storage import load_model
from phasefit.models.views import VIEWS
from phasefit.objectives import OBJECTIVES, NothingToLearn
from phasefit.phases import PHASES
from phasefit.recipes import RECIPES, read_recipe
from phasefit.registry import Registry
from test_readme import beginner, blocks, run_commands  # noqa: F401 - `beginner` is a fixture
from tiny import read_json

PAGE = (Path(__file__).parent.parent / "docs" / "plugins.md").read_text(encoding="utf-8")
PROJECT, RECIPE = blocks("toml", PAGE)
MODULES = {re.match(r"# (\w+)\.py\n", code)[1]: code for code in blocks("python", PAGE)}  # type: ignore[index]
REGISTRIES: dict[str, Registry[Any]] = {
    one.group: one for one in (OBJECTIVES, PHASES, VIEWS, LABEL_KINDS, METRICS, BASELINES, RECIPES, COMMANDS)
}
ENTRY_POINTS: dict[str, dict[str, str]] = tomllib.loads(PROJECT)["project"]["entry-points"]


@pytest.fixture
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make the modules of the page importable; undo all registrations afterwards."""
    folder = tmp_path / "site-packages"
    (folder / "example_recipes_files").mkdir(parents=True)
    (folder / "example_recipes_files" / "centre-spread.toml").write_text(RECIPE, encoding="utf-8")
    for name, code in MODULES.items():
        (folder / f"{name}.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(folder))
    for registry in REGISTRIES.values():
        built_in = {name: entry for name, entry in registry._entries.items() if name not in registry._sources}
        monkeypatch.setattr(registry, "_entries", built_in)
        monkeypatch.setattr(registry, "_sources", {})
        monkeypatch.setattr(registry, "_complete", False)
    yield folder
    for name in MODULES:
        sys.modules.pop(name, None)


@pytest.fixture
def installed(modules: Path) -> Path:
    """Install the package of the page."""
    info = modules / "phasefit_example-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: phasefit-example\nVersion: 1.0\n", encoding="utf-8")
    groups = (
        f"[{group}]\n" + "".join(f"{name} = {place}\n" for name, place in entries.items())
        for group, entries in ENTRY_POINTS.items()
    )
    (info / "entry_points.txt").write_text("\n".join(groups), encoding="utf-8")
    return modules


def output_of(*words: str) -> str:
    result = CliRunner().invoke(app, list(words), env={"COLUMNS": "200"})
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def test_the_page_has_an_example_for_every_registry() -> None:
    assert set(ENTRY_POINTS) == set(REGISTRIES)
    assert {place.partition(":")[0] for entries in ENTRY_POINTS.values() for place in entries.values()} <= set(MODULES)
    for group, registry in REGISTRIES.items():
        (row,) = re.findall(rf"^\|.*\| `{group}` \| `([\w.]+)` \|$", PAGE, flags=re.M)
        module, _, name = row.rpartition(".")
        assert getattr(import_module(module), name) is registry


def test_the_project_of_the_page_installs_every_file(modules: Path, tmp_path: Path) -> None:
    pytest.importorskip("setuptools", minversion="77")
    (tmp_path / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    modules.rename(tmp_path / "src")
    build = "from setuptools.build_meta import build_wheel; build_wheel('.')"
    subprocess.run([sys.executable, "-c", build], cwd=tmp_path, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    files = {name for name in ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert files == {*(f"{name}.py" for name in MODULES), "example_recipes_files/centre-spread.toml"}


def test_the_objective_of_the_page_is_zero_for_batches_without_pairs(modules: Path) -> None:
    objective = import_module("centre").Centre()
    for targets in ([], [3], [0, 1, 2]):
        embeddings = torch.ones(len(targets), 4, requires_grad=True)
        with pytest.warns(NothingToLearn, match="objective 'centre'"):
            loss = objective(embeddings, torch.tensor(targets, dtype=torch.long))
        loss.backward()
        assert loss == 0
        assert not embeddings.grad.any()


@pytest.mark.usefixtures("installed")
def test_names_are_known_before_anything_is_imported() -> None:
    for group, entries in ENTRY_POINTS.items():
        assert list(REGISTRIES[group])[-1:] == list(entries)
    assert not set(MODULES) & set(sys.modules)


@pytest.mark.usefixtures("installed")
def test_listings_show_plugins() -> None:
    assert "count" in output_of("--help")
    listed = output_of("recipes")
    assert "centre-spread" in listed
    assert "the class that a text's first word has most often" in listed
    assert re.search(r"spread +centre-spread", output_of("recipes", "options"))
    assert re.search(r"sharpness +2\.0 +how much more", output_of("recipes", "options", "spread"))
    assert re.search(r"centre +weight = 1\.0 +Squared", output_of("recipes", "options", "objectives"))
    assert re.search(r"lower-case +ratio = 0\.5 +Some words", output_of("recipes", "options", "views"))


def check_run(folder: Path) -> None:
    metrics = read_json(folder / "metrics.json")
    assert [phase["name"] for phase in metrics["phases"]] == ["spread", "finetune"]
    assert [phase["watch"] for phase in metrics["phases"]] == ["loss", "worst_recall"]
    assert 0 <= metrics["validation"]["worst_recall"] <= metrics["validation"]["macro_recall"]
    recipe = read_recipe(str(folder / "recipe.toml"))
    assert recipe.phases[0].model_dump()["sharpness"] == 3
    assert recipe.phases[1].model_dump()["objective"] == {"name": "centre", "weight": 0.5}


def check_ordinal(folder: Path) -> None:
    metrics, manifest = read_json(folder / "metrics.json"), read_json(folder / "phasefit.json")
    for split in ("validation", "test"):
        assert 0 <= 1 - metrics[split]["accuracy"] <= metrics[split]["mean_distance"]
    assert manifest["data"]["kind"] == "ordinal"
    model = load_model(folder)
    assert (model.space.kind, model.head().classes) == ("ordinal", len(model.space) - 1)
    assert set(model.predict(["a fine thing", "another"])) <= set(model.space.classes)
    assert model.predict_proba(["a fine thing"]).shape == (1, len(model.space))


@pytest.mark.filterwarnings("ignore::phasefit.errors.TextsCut")  # the tiny encoder accepts few tokens
def test_an_installed_package_trains_and_compares(installed: Path, beginner: Path) -> None:  # noqa: F811
    assert run_commands(PAGE) == 9
    check_run(beginner / "runs" / "plugins")
    check_ordinal(beginner / "runs" / "ordinal")
    predicted = pd.read_csv(beginner / "ordinal.csv")
    assert predicted.filter(like="probability_").sum(axis=1).tolist() == pytest.approx([1, 1])


@pytest.mark.filterwarnings("ignore::phasefit.errors.TextsCut")
def test_plugins_registered_by_a_call_train(modules: Path, beginner: Path) -> None:  # noqa: F811
    for group, entries in ENTRY_POINTS.items():
        for name, place in entries.items():
            module, _, attribute = place.partition(":")
            REGISTRIES[group].add(name, getattr(import_module(module), attribute))
    output_of("train", "reviews.csv", "--recipe", "centre-spread", "-o", "run", "-q")
    check_run(beginner / "run")
    output_of("train", "reviews.csv", "--recipe", "finetune", "--kind", "ordinal", "-o", "ordinal", "-q")
    check_ordinal(beginner / "ordinal")
    assert "60 rows" in output_of("count", "reviews.csv")


@pytest.mark.usefixtures("installed")
def test_options_of_plugins_are_validated(beginner: Path) -> None:  # noqa: F811
    for setting, sentence in {
        "spread.sharpnes=1": "unknown option 'sharpnes'; did you mean 'sharpness'?",
        "spread.sharpness=0": "option 'sharpness' must be greater than 0 (found 0)",
        "finetune.objective.weight=much": "objective 'centre', weight must be a number",
        "finetune.watch=worst_recal": "unknown metric 'worst_recal' to watch; did you mean 'worst_recall'?",
    }.items():
        result = CliRunner().invoke(app, ["train", "reviews.csv", "--recipe", "centre-spread", "--set", setting])
        assert result.exit_code == 2
        assert sentence in " ".join(result.output.split())


def test_a_broken_command_is_one_sentence(installed: Path) -> None:
    (installed / "count_rows.py").write_text("import no_such_library\n", encoding="utf-8")
    result = CliRunner().invoke(app, ["count", "reviews.csv", "--quick"])
    assert result.exit_code == 2
    assert result.output.strip() == (
        "phasefit: the command 'count' of phasefit-example 1.0 cannot be loaded: ModuleNotFoundError: No module named "
        "'no_such_library'; fix, update or uninstall that package"
    )
    assert "cannot be loaded" in output_of("--help")  # the rest works
    assert "three-phase" in output_of("recipes")


def test_a_phase_without_its_class_is_one_sentence(installed: Path, beginner: Path) -> None:  # noqa: F811
    (installed / "spread.py").write_text("", encoding="utf-8")
    result = CliRunner().invoke(app, ["train", "reviews.csv", "--recipe", "centre-spread", "-o", "run", "-q"])
    assert result.exit_code == 2
    assert result.output.strip().splitlines()[-1] == (
        "phasefit: spread_options.SpreadOptions: the class of the phase cannot be loaded: module 'spread' has no "
        "attribute 'Spread'"
    )


def test_a_packaged_recipe_cannot_be_replaced(installed: Path) -> None:
    (installed / "example_recipes_files" / "finetune.toml").write_text(RECIPE, encoding="utf-8")
    result = CliRunner().invoke(app, ["recipes"])
    assert result.exit_code == 2
    assert "two recipes have the name 'finetune'" in " ".join(result.output.split())


def test_a_broken_plugin_does_not_affect_others(installed: Path) -> None:
    for module in ("example_recipes", "first_word", "centre"):
        (installed / f"{module}.py").write_text("import no_such_library\n", encoding="utf-8")
    listed = " ".join(output_of("recipes").split())
    assert listed.count("cannot be loaded") == 2  # the recipes and the baseline
    assert "three-phase" in listed
    assert "majority" in listed
    assert "cannot be loaded" in output_of("recipes", "options", "objectives")
    assert read_recipe("finetune").name == "finetune"
    with pytest.raises(PluginError, match=r"the source of recipes 'example' of phasefit-example 1\.0 cannot be loaded"):
        read_recipe("centre-spread")


def test_a_metric_that_fails_is_one_sentence(modules: Path) -> None:
    def failing(values: object, outputs: object) -> float:
        raise ZeroDivisionError("no rows")

    METRICS.add("failing", Metric("failing", "failing", of=("single",), compute=failing))
    with pytest.raises(PluginError, match="the metric 'failing' cannot be computed: ZeroDivisionError: no rows; fix"):
        added_scores(["single"], np.zeros(2), np.zeros((2, 2)))
