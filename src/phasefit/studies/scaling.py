"""A study file at a scale: the Study, and a description of what the scale reduces. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from phasefit.baselines import BASELINES
from phasefit.data.task_file import is_task_file
from phasefit.errors import RecipeError, did_you_mean
from phasefit.recipes import read_recipe
from phasefit.recipes.settings import as_settings, merge_settings
from phasefit.runs.specification import DEFAULT_RECIPE
from phasefit.studies.claim import parse_claim
from phasefit.studies.gains import training_rows
from phasefit.studies.plan import changes_of
from phasefit.studies.study import Data, Published, Study, TableSpec, Variant, applicable_settings, check_settings
from phasefit.studies.study_file import (
    FULL,
    DatasetPart,
    FigurePart,
    ScalePart,
    Settings,
    StudyFile,
    TablePart,
    VariantPart,
)

CAPPED = ("rows", "validation_rows", "test_rows")
TABLES = ("validation", "test", "unlabelled")


@dataclass(frozen=True)
class Selection:
    """The part of a study to run; an explicit selection overrides the scale."""

    scale: str = FULL
    datasets: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    seeds: int | None = None
    model: str | None = None  # some options depend on the model


@dataclass(frozen=True)
class ScaledStudy:
    """A study at a scale, with its figures and the changes of the scale."""

    study: Study
    figures: tuple[FigurePart, ...]
    changes: tuple[str, ...]  # descriptions
    whole: Study  # the study at full scale


def scale_study(file: StudyFile, name: str, selection: Selection, folder: Path | None = None) -> ScaledStudy:
    """The study of a file; `folder` is searched first for its recipes and tables."""
    scale = scale_of(file, name, selection.scale)
    whole = _study(
        file, name, ScalePart(), Selection(FULL, selection.datasets, selection.tables, model=selection.model), folder
    )
    for part in (file.set, *(data.set for data in file.dataset.values())):
        check_settings(settings_of([part]), whole.variants)
    study = _study(file, name, scale, selection, folder)
    changes = tuple(changes_of(file, scale, study, whole))
    shown = {str(table.number) for table in study.tables}
    figures = [one for one in file.figure if not one.tables or {*map(str, one.tables)} & shown]
    notes = [f"Reduced to the {selection.scale} scale: {'; '.join(changes)}."] if changes else []
    notes += [scale.note] if scale.note else []
    compared = tuple(_compared(table, study) for table in study.tables)
    tables = tuple(_noted(table, whole, selection.scale if changes else "") for table in compared)
    study = replace(study, tables=tables, notes=(*notes, *study.notes))
    return ScaledStudy(study, tuple(figures), changes, whole)


def scale_of(file: StudyFile, name: str, scale: str) -> ScalePart:
    """The changes of a scale; none at full scale."""
    if scale == FULL:
        return ScalePart()
    if scale not in file.scale:
        raise RecipeError(f"{name} has no scale '{scale}'; {did_you_mean(scale, [FULL, *file.scale])}")
    return file.scale[scale]


def chosen_datasets(file: StudyFile, wanted: Sequence[str]) -> list[str]:
    """Datasets by their name in tables or by the name of their data, ignoring case."""
    chosen: list[str] = []
    for one in wanted:
        named = [name for name in file.dataset if name.casefold() == one.casefold()]
        named = named or [name for name, part in file.dataset.items() if part.data.casefold() == one.casefold()]
        if not named:
            raise RecipeError(f"--datasets: the study has no dataset '{one}'; {did_you_mean(one, file.dataset)}")
        chosen += named
    return chosen


def _study(file: StudyFile, name: str, scale: ScalePart, selection: Selection, folder: Path | None) -> Study:
    kept = chosen_datasets(file, selection.datasets) or scale.datasets or list(file.dataset)
    tables = _tables(file, scale, selection, kept)
    seeds = scale.seeds or file.seeds
    if selection.seeds is not None:
        seeds = [*seeds, *(seed for seed in range(selection.seeds) if seed not in seeds)][: selection.seeds]
    variants = scale.variants or list(file.variant)
    study = Study(
        name=name,
        title=file.title,
        datasets=tuple(_data(one, file, scale, folder) for one in file.dataset if one in kept),
        variants=tuple(
            _variant(one, file.variant[one], file, scale, selection.model, folder)
            for one in file.variant
            if one in variants
        ),
        seeds=tuple(seeds),
        folds=scale.folds or file.folds,
        tables=tables,
        notes=tuple(file.notes),
        common={key: value for key, value in file.common.options().items() if key not in CAPPED},
        claims=tuple(parse_claim(one.text, file.variant, file.dataset, name, one.ours) for one in file.claim),
    )
    return study if selection.seeds is None else _with_all_seeds(study)


def _with_all_seeds(study: Study) -> Study:
    """The study with all its seeds on every dataset and for every variant: an explicit number overrides the scale."""
    return replace(
        study,
        datasets=tuple(replace(data, seeds=()) for data in study.datasets),
        variants=tuple(replace(variant, seeds=()) for variant in study.variants),
    )


def _tables(file: StudyFile, scale: ScalePart, selection: Selection, kept: Sequence[str]) -> tuple[TableSpec, ...]:
    numbers = [*map(str, scale.tables)] if scale.tables else file.numbers()
    for number in selection.tables:
        if number not in file.numbers():
            known = ", ".join(file.numbers()) or "none"
            raise RecipeError(f"--table {number}: the study has no table with this number; known: {known}")
    wanted = selection.tables or (*numbers, "")
    tables = []
    for table in file.table:
        if str(table.number) not in wanted:
            continue
        datasets = [name for name in table.datasets or file.dataset if name in kept]
        if not {*(scale.variants or file.variant)} & {*(table.variants or file.variant)}:
            if selection.tables:
                raise RecipeError(f"--table {table.number}: this scale leaves out all its variants; use --scale full")
        elif datasets:
            tables.append(_spec(table, datasets, selection.model))
        elif selection.tables:
            names = ", ".join(table.datasets)
            raise RecipeError(
                f"--table {table.number} uses {names}, which this scale or --datasets leaves out; name them with "
                "--datasets, or use --scale full"
            )
    if file.table and not tables:
        raise RecipeError(f"no table of the study uses {', '.join(kept)}; name other datasets")
    return tuple(tables) or (TableSpec(file.title),)


def _spec(table: TablePart, datasets: Sequence[str], model: str | None) -> TableSpec:
    """The table's specification; published results of the given model come first."""
    sources = sorted(table.published, key=lambda name: not is_of(name.partition(" ")[0], model))
    published = tuple(Published(name, table.published[name]) for name in sources)
    label = f"Table {table.number}: {table.title}" if table.number != "" else table.title
    return TableSpec(
        label,
        table.score,
        tuple(datasets),
        tuple(table.variants),
        published,
        str(table.number),
        table.scale,
        table.note,
    )


def _compared(table: TableSpec, study: Study) -> TableSpec:
    """The table without datasets that have only one variant at this scale, where there is nothing to compare."""
    variants = [one for one in study.variants if not table.variants or one.name in table.variants]
    counts = {name: sum(not one.only or name in one.only for one in variants) for name in table.datasets}
    if max(counts.values(), default=0) < 2:
        return table
    return replace(table, datasets=tuple(name for name in table.datasets if counts[name] > 1))


def _noted(table: TableSpec, whole: Study, scale: str) -> TableSpec:
    """The table with a note about what the scale leaves out."""
    if not scale:
        return table
    full = next(one for one in whole.tables if one.title == table.title)
    missing = ", ".join(name for name in full.datasets if name not in table.datasets)
    note = f"Reduced to the {scale} scale (see the notes)" + (f"; without {missing}" if missing else "") + "."
    return replace(table, note=f"{note} {table.note}".strip())


def _data(name: str, file: StudyFile, scale: ScalePart, folder: Path | None) -> Data:
    part, change = file.dataset[name], scale.dataset.get(name)
    common = {key: value for key, value in file.common.options().items() if key in CAPPED}
    options: dict[str, Any] = {**common, **part.options()}
    for key in CAPPED:
        most = getattr(scale, key)
        if most is not None:
            options[key] = min(options.get(key, most), most)
    options |= {} if change is None else change.options()
    tables = {key: _resolve(str(options[key]), folder) for key in TABLES if options.get(key) is not None}
    pairs = None if part.pairs is None else _resolve(part.pairs, folder)
    seeds = () if change is None else tuple(change.seeds or ())
    data = Data(name, {**options, **tables, "data": _resolve(part.data, folder)}, pairs=pairs, seeds=seeds)
    most = ({**common, **part.options()}).get("rows")  # at full scale
    return data if options.get("rows") == most else replace(data, label=_row_name(part.title or name, data))


def _row_name(title: str, data: Data) -> str:
    """The name of a dataset with fewer rows than at full scale, e.g. "TREC, 400 rows"; empty if it has no more rows."""
    limit, rows = data.options.get("rows"), training_rows(data)
    available = training_rows(replace(data, options={**data.options, "rows": None}))
    if limit is None or rows is None or rows == available:
        return ""
    bound = "at most " if available is None else ""
    return f"{title}, {bound}{rows:,} rows" + (" per task" if is_task_file(str(data.options["data"])) else "")


def _variant(
    name: str, part: VariantPart, file: StudyFile, scale: ScalePart, model: str | None, folder: Path | None
) -> Variant:
    """A variant with all settings by dataset; later layers override: file, variant, dataset, both, scale."""
    change = scale.variant.get(name)
    on: dict[str, dict[str, Any]] = {}
    if part.recipe not in BASELINES:
        for dataset, data in file.dataset.items():
            scaled = scale.dataset.get(dataset)
            of_dataset = {} if part.own_settings else settings_for(data, model)
            layers = [file.set, part.set, of_dataset, part.on.get(dataset, {}), scale.set]
            layers += [{} if scaled is None or part.own_settings else scaled.set, {} if change is None else change.set]
            settings = settings_of(layers)
            on[dataset] = settings | _fewer_steps(_resolve(part.recipe, folder), settings, scale.steps)
    only = part.only if change is None or change.only is None else change.only
    options = {} if part.model is None else {"model": part.model}
    seeds = () if change is None else tuple(change.seeds or ())
    return Variant(name, _resolve(part.recipe, folder), {}, on, tuple(only), options, seeds)


def _fewer_steps(recipe: str, settings: Settings, share: float | None) -> dict[str, Any]:
    """Settings that reduce the steps of every phase to the same share."""
    if share is None:
        return {}
    if recipe == DEFAULT_RECIPE:
        raise RecipeError("the scale reduces the steps of every phase, which needs the name of a recipe; name one")
    whole = read_recipe(recipe, applicable_settings(recipe, settings))
    fewer: dict[str, Any] = {}
    for name, options in zip(whole.phase_names, whole.phases, strict=True):
        fewer[f"{name}.epochs"] = options.epochs * share
        for limit in ("min_steps", "max_steps"):
            steps = getattr(options, limit)
            if steps is not None and steps > 1:
                fewer[f"{name}.{limit}"] = max(round(steps * share), 1)
    return fewer


def settings_for(data: DatasetPart, model: str | None) -> Settings:
    """The paper's settings on a dataset: those of the model's family if given, else the general ones."""
    family = next((name for name in data.by_model if is_of(name, model)), None)
    return data.set if family is None else data.by_model[family]


def is_of(family: str, model: str | None) -> bool:
    """Whether a model's name contains the name of a family: FacebookAI/roberta-base is a RoBERTa."""
    return model is not None and family.casefold() in Path(model).name.casefold()


def settings_of(layers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """All options by path; later layers override earlier ones."""
    return merge_settings(*map(as_settings, layers))


def _resolve(source: str, folder: Path | None) -> str:
    """The path of a file in the folder of the study file, or else the name unchanged."""
    if folder is None or source.startswith("hub:"):
        return source
    path = folder / Path(source).expanduser()
    return str(path) if path.is_file() else source
