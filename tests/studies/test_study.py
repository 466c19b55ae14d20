"""The grid of a study: which cells there are, in which order, with which settings."""

from __future__ import annotations

import pytest

from phasefit.baselines import BASELINES, baseline
from phasefit.errors import MissingExtra, RecipeError
from phasefit.recipes.settings import parse_settings
from phasefit.studies.study import Data, Study, TableSpec, Variant, applicable_settings, check_variants, variant_of


def study(**changes: object) -> Study:
    datasets = (Data("A", {"data": "snips"}), Data("B", {"data": "snips2", "rows": 70}))
    variants = (Variant("base", "finetune"), Variant("ours", "three-phase", on={"B": {"denoise.lr": 1e-5}}))
    known: dict[str, object] = {"datasets": datasets, "variants": variants, "seeds": (0, 1)}
    return Study("s", "S", **(known | changes))  # type: ignore[arg-type]


def test_every_variant_on_every_dataset_with_every_seed_and_fold() -> None:
    cells = study(folds=3).cells()
    assert len(cells) == 2 * 2 * 2 * 3
    assert len({cell.key for cell in cells}) == len(cells)
    assert [cell.spec.seed for cell in cells] == sorted(cell.spec.seed for cell in cells)
    assert cells[0].spec.split.fold == (1, 3)


def test_settings_of_single_datasets_and_shared_options() -> None:
    cells = {(cell.dataset, cell.variant): cell.spec for cell in study(common={"threads": 1}).cells()}
    assert cells["B", "ours"].recipe.settings == {"denoise.lr": 1e-5}
    assert cells["A", "ours"].recipe.settings == {}
    assert cells["B", "base"].split.rows == 70
    assert all(spec.machine.threads == 1 for spec in cells.values())


def test_tables_decide_which_cells_are_needed() -> None:
    wanted = study().cells([TableSpec("one", datasets=("A",)), TableSpec("two", variants=("ours",))])
    assert {(cell.dataset, cell.variant) for cell in wanted} == {("A", "base"), ("A", "ours"), ("B", "ours")}


def test_a_variant_may_be_limited_to_some_datasets() -> None:
    limited = (Variant("base", "finetune"), Variant("ours", "three-phase", only=("A",)))
    assert ("B", "ours") not in {(cell.dataset, cell.variant) for cell in study(variants=limited).cells()}


def test_settings_of_other_phases_are_ignored_and_later_ones_win() -> None:
    settings = parse_settings(["denoise.lr=1", "finetune.lr=2", "max_length=16", "finetune.lr=3"])
    assert [*applicable_settings("finetune", settings).items()] == [("max_length", 16), ("finetune.lr", 3)]


def test_recipes_as_on_the_command_line() -> None:
    assert variant_of("finetune") == Variant("finetune", "finetune")
    variant = variant_of("finetune:finetune.lr=1e-5+finetune.epochs=3")
    assert (variant.recipe, variant.settings) == ("finetune", {"finetune.lr": 1e-5, "finetune.epochs": 3})


@pytest.mark.parametrize(
    ("recipes", "message"),
    [
        (["finetun"], "did you mean 'finetune'"),
        (["finetune", "finetune"], "named twice"),
        (["tfidf:tfidf.c=1"], "has no settings"),
        (["finetune:finetune.epoch=1"], "did you mean 'epochs'"),
        (["mine.toml"], "no such file"),
    ],
)
def test_wrong_recipes_are_refused_before_anything_is_trained(recipes: list[str], message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        check_variants([variant_of(recipe) for recipe in recipes])


def test_setfit_is_refused_if_it_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("phasefit.baselines.setfit.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match="phasefit\\[setfit\\]"):
        check_variants([variant_of("setfit")])


@pytest.mark.parametrize("name", BASELINES)
def test_every_baseline_is_registered(name: str) -> None:
    known = baseline(name)
    assert callable(known.check)
    assert callable(known.fit)
