"""A Study: variants (recipes with settings) on datasets, repeated over seeds and folds, and the tables it fills.

Imports no torch. A cell is one variant on one dataset with one seed and one fold; all variants get the same rows for
the same dataset, seed and fold, so that they can be compared in pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from phasefit.baselines import BASELINES, baseline
from phasefit.errors import RecipeError, did_you_mean
from phasefit.phases import PHASES
from phasefit.recipes import read_recipe
from phasefit.recipes.needs import needs_of
from phasefit.recipes.recipe_files import list_recipes
from phasefit.recipes.settings import Settings, merge_settings, parse_settings, setting_line, setting_lines
from phasefit.runs.specification import DEFAULT_RECIPE, run_spec
from phasefit.studies.cell import Cell
from phasefit.studies.claim import Claim


@dataclass(frozen=True)
class Data:
    """A dataset of a study: its name in tables, its options, and settings for every recipe on it."""

    name: str
    options: Mapping[str, Any]  # options of its runs, by flat name
    settings: Settings = field(default_factory=dict)
    pairs: str | None = None  # score encoders on the test pairs of this dataset
    label: str = ""  # the name to show in tables, if it is another one
    seeds: tuple[int, ...] = ()  # of the study's; empty: all


@dataclass(frozen=True)
class Variant:
    """A recipe with settings: its name in tables, settings for all datasets and for single ones."""

    name: str
    recipe: str
    settings: Settings = field(default_factory=dict)
    on: Mapping[str, Settings] = field(default_factory=dict)
    only: tuple[str, ...] = ()  # the datasets to run it on; empty: all
    options: Mapping[str, Any] = field(default_factory=dict)
    seeds: tuple[int, ...] = ()  # of the study's; empty: all


@dataclass(frozen=True)
class Published:
    """Published results of one model, by dataset and variant."""

    model: str
    figures: Mapping[str, Mapping[str, float]]  # dataset -> variant -> value, in per cent or as in the paper


@dataclass(frozen=True)
class TableSpec:
    """Which scores of which cells a table shows."""

    title: str
    score: str | None = None  # a path into metrics.json such as "test.accuracy"; None: the default for the labels
    datasets: tuple[str, ...] = ()  # empty: all, as for variants
    variants: tuple[str, ...] = ()
    published: tuple[Published, ...] = ()
    number: str = ""
    scale: float = 100.0  # published values are divided by it
    note: str = ""
    against: str = ""  # the variant that others are compared with; default: the first


@dataclass(frozen=True)
class Study:
    """The grid of variants, datasets, seeds and folds, and its tables."""

    name: str
    title: str
    datasets: tuple[Data, ...]
    variants: tuple[Variant, ...]
    seeds: tuple[int, ...] = (0,)
    folds: int | None = None
    tables: tuple[TableSpec, ...] = ()
    notes: tuple[str, ...] = ()
    common: Mapping[str, Any] = field(default_factory=dict)  # options of every run: model, threads, data_dir
    claims: tuple[Claim, ...] = ()  # the most important first

    def cells(self, tables: Sequence[TableSpec] = ()) -> list[Cell]:
        """Every cell that a table needs, in the order in which to run them.

        Seeds come first, so that each is completed before the next; within a seed, those that the first claims need.
        """
        wanted = {pair for table in tables or self.tables for pair in self._pairs(table)} or {
            *self._pairs(TableSpec(""))
        }
        folds: Sequence[int | None] = [None] if self.folds is None else range(1, self.folds + 1)
        importance = self._importance()
        places = [
            (seed, fold, data, variant)
            for seed in self.seeds
            for fold in folds
            for data in self.datasets
            for variant in self.variants
            if (data.name, variant.name) in wanted
            and (not data.seeds or seed in data.seeds)
            and (not variant.seeds or seed in variant.seeds)
        ]
        least = len(self.claims)
        places.sort(
            key=lambda place: (self.seeds.index(place[0]), importance.get((place[2].name, place[3].name), least))
        )
        return [self.cell(data, variant, seed, fold) for seed, fold, data, variant in places]

    def _importance(self) -> dict[tuple[str, str], int]:
        """The number of the first claim about a dataset and variant."""
        first: dict[tuple[str, str], int] = {}
        for number, claim in enumerate(self.claims):
            for side in (claim.left, claim.right):
                first.setdefault((claim.dataset, side), number)
        return first

    def cell(self, data: Data, variant: Variant, seed: int, fold: int | None = None) -> Cell:
        """One cell."""
        settings = merge_settings(variant.settings, data.settings, variant.on.get(data.name, {}))
        given = {**self.common, **data.options, **variant.options}
        if fold is not None and self.folds is not None:
            given["fold"] = (fold, self.folds)
        settings = {} if variant.recipe in BASELINES else applicable_settings(variant.recipe, settings)
        spec = run_spec(**given, recipe=variant.recipe, settings=settings, seed=seed)
        return Cell(data.name, variant.name, spec, data.pairs)

    def variants_of(self, table: TableSpec, dataset: str | None = None) -> list[str]:
        """The variants of a table, or of one dataset in it, in the order of the study."""
        if dataset is None:
            return [one.name for one in self.variants if not table.variants or one.name in table.variants]
        return [name for data, name in self._pairs(table) if data == dataset]

    def _pairs(self, table: TableSpec) -> list[tuple[str, str]]:
        return [
            (data.name, variant.name)
            for data in self.datasets
            for variant in self.variants
            if (not table.datasets or data.name in table.datasets)
            and (not table.variants or variant.name in table.variants)
            and (not variant.only or data.name in variant.only)
        ]


def applicable_settings(recipe: str, settings: Settings) -> dict[str, Any]:
    """Settings without those of phases that the recipe does not have: settings of a study apply to many recipes."""
    if recipe == DEFAULT_RECIPE:
        return dict(settings)
    names = read_recipe(recipe).phase_names
    phases = {path: path.partition(".") for path in settings}
    foreign = [path for path, (phase, dot, _) in phases.items() if dot and phase in PHASES and phase not in names]
    return {path: value for path, value in settings.items() if path not in foreign}


def check_settings(settings: Settings, variants: Sequence[Variant]) -> None:
    """Raise for a setting that applies to none of the recipes."""
    recipes = [variant.recipe for variant in variants if variant.recipe not in BASELINES]
    for path, value in settings.items():
        if not any(applicable_settings(recipe, {path: value}) for recipe in recipes):
            line = setting_line(path, value)
            raise RecipeError(f"the setting {line}: none of the recipes has this phase; remove it")


def variant_of(text: str) -> Variant:
    """A recipe as on the command line: NAME, a file, or NAME:phase.option=value+phase.option=value."""
    recipe, _, settings = text.partition(":")
    return Variant(text, recipe, parse_settings(part for part in settings.split("+") if part))


def check_variants(variants: Sequence[Variant]) -> None:
    """Raise for unknown recipes, wrong settings and missing packages, before anything is trained."""
    for variant in variants:
        if variant.recipe in BASELINES:
            if variant.settings:
                first = setting_lines(variant.settings)[0]
                raise RecipeError(f"the baseline '{variant.recipe}' has no settings; remove '{first}'")
            baseline(variant.recipe).check()
        elif variant.recipe != DEFAULT_RECIPE:
            _check_recipe_name(variant.recipe)
            recipe = read_recipe(variant.recipe, variant.settings)
            recipe.check_files()
            needs_of(recipe)
    names = [variant.name for variant in variants]
    duplicate = next((name for name in names if names.count(name) > 1), None)
    if duplicate is not None:
        raise RecipeError(f"the recipe '{duplicate}' is named twice; remove one")


def _check_recipe_name(name: str) -> None:
    if "/" in name or name.endswith(".toml"):
        return
    known = [*BASELINES, *(info.name for info in list_recipes())]
    if name not in known:
        raise RecipeError(f"there is no recipe '{name}'; {did_you_mean(name, known)}")


def with_common(study: Study, **more: Any) -> Study:
    """The study with more options for every run; None values are ignored."""
    return replace(study, common={**study.common, **{name: value for name, value in more.items() if value is not None}})
