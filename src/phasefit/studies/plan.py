"""The plan of a study: its runs, missing datasets, and a description of what its scale changes. Imports no torch."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from phasefit.data.sources import source_files
from phasefit.data.task_file import is_task_file, read_task_file
from phasefit.errors import DataError
from phasefit.files.toml import toml_value
from phasefit.recipes.settings import as_settings
from phasefit.studies.study import Data, Study
from phasefit.studies.study_file import ScalePart, StudyFile

SPELLED = {
    "rows": "training rows",
    "validation_rows": "validation rows",
    "test_rows": "test rows",
    "top_classes": "classes",
}


def needed(study: Study) -> list[Data]:
    """The datasets that the tables of a study use."""
    used = {cell.dataset for cell in study.cells()}
    return [data for data in study.datasets if data.name in used]


def missing(study: Study, data_dir: Path | None = None) -> dict[str, str]:
    """Datasets of a study that are not on this machine, with the missing source."""
    lacking: dict[str, str] = {}
    for data in needed(study):
        for source in _sources(data):
            try:
                source_files(source, data_dir)
            except DataError:
                lacking[data.name] = source
                break
    return lacking


def refuse_missing(study: Study, data_dir: Path | None = None) -> None:
    """Raise an error that lists all missing datasets."""
    lacking = missing(study, data_dir)
    if not lacking:
        return
    here = [data.name for data in needed(study) if data.name not in lacking]
    names = ", ".join(name if name == source else f"{name} ({source})" for name, source in lacking.items())
    way = f"use only the others with --datasets {','.join(here)!r}" if here else "name other datasets with --datasets"
    raise DataError(
        f"these datasets are not on this machine: {names}; set PHASEFIT_DATA (or --data-dir) to the folder that "
        f"contains them, or {way}"
    )


def _sources(data: Data) -> list[str]:
    source = str(data.options["data"])
    parts = [source, *([data.pairs] if data.pairs else [])]
    parts += [str(data.options[name]) for name in ("validation", "test", "unlabelled") if data.options.get(name)]
    if not is_task_file(source):
        return parts
    tasks = read_task_file(source).tasks
    return [part for task in tasks for part in (task.data, task.validation, task.test) if part is not None]


def plan_of(study: Study, data_dir: Path | None = None) -> dict[str, Any]:
    """What would be run, and which datasets are missing."""
    cells = study.cells()
    used = {cell.variant for cell in cells}
    return {
        "runs": len(cells),
        "datasets": [data.name for data in needed(study)],
        "variants": [variant.name for variant in study.variants if variant.name in used],
        "seeds": list(study.seeds),
        "folds": study.folds,
        "tables": [table.title for table in study.tables],
        "missing": missing(study, data_dir),
        "notes": list(study.notes),
    }


def runs_per_dataset(study: Study) -> dict[str, int]:
    """Number of runs per dataset."""
    counted: dict[str, int] = {}
    for cell in study.cells():
        counted[cell.dataset] = counted.get(cell.dataset, 0) + 1
    return counted


def changes_of(file: StudyFile, scale: ScalePart, study: Study, whole: Study) -> list[str]:
    """Descriptions of everything a scale changes, derived by comparing both studies so that the list is complete."""
    changes: list[str] = []
    if study.folds != whole.folds:
        changes.append(f"{study.folds} folds instead of {whole.folds or 'the test split'}")
    if study.seeds != whole.seeds:
        changes.append(f"{_counted(study.seeds)} instead of {_counted(whole.seeds)}")
    kept = {data.name for data in study.datasets}
    changes += _left_out("datasets", [data.name for data in whole.datasets if data.name not in kept])
    names = {variant.name for variant in study.variants}
    changes += _left_out("variants", [variant.name for variant in whole.variants if variant.name not in names])
    tables = {table.number for table in study.tables}
    changes += _left_out("tables", [table.number for table in whole.tables if table.number not in tables])
    own = [(data.name, data.seeds) for data in study.datasets] + [(one.name, one.seeds) for one in study.variants]
    changes += [f"{name} only with {_counted(seeds)}" for name, seeds in own if seeds and {*seeds} != {*study.seeds}]
    changes += _row_changes(study, whole)
    changes += [f"{scale.steps:.0%} of the steps of every phase"] if scale.steps is not None else []
    changes += _setting_changes(file, scale, kept, names)
    return list(dict.fromkeys(changes))


def _counted(seeds: Sequence[int]) -> str:
    return f"{len(seeds)} seed{'' if len(seeds) == 1 else 's'} ({', '.join(map(str, seeds))})"


def _left_out(what: str, names: Sequence[str]) -> list[str]:
    once = list(dict.fromkeys(names))
    return [f"{what} left out: {', '.join(once)}"] if once else []


def _row_changes(study: Study, whole: Study) -> list[str]:
    """`at most 400 training rows`, with the datasets concerned unless it applies to all."""
    before = {data.name: data.options for data in whole.datasets}
    changed: dict[tuple[str, str], list[str]] = {}
    for data in study.datasets:
        for key, value in data.options.items():
            old = before[data.name].get(key)
            if key != "data" and value != old:
                of_old = "" if old is None or key not in SPELLED else f" instead of {old:,}"
                change = f"at most {value:,} {SPELLED[key]}" if key in SPELLED else f"{key} = {value}"
                changed.setdefault((change, of_old), []).append(data.name)
    by_change: dict[str, list[str]] = {}
    for (change, of_old), names in changed.items():
        by_change.setdefault(change, []).extend(f"{name}{of_old}" for name in names)
    return [
        change
        if len(names) == len(study.datasets) and not any(" instead " in name for name in names)
        else f"{change} ({', '.join(names)})"
        for change, names in by_change.items()
    ]


def _setting_changes(file: StudyFile, scale: ScalePart, kept: set[str], names: set[str]) -> list[str]:
    """Settings that the scale changes: for all cells, single datasets or single variants."""
    whole = [f"{path} = {toml_value(value)}" for path, value in as_settings(scale.set).items()]
    by_setting: dict[str, list[str]] = {}
    for dataset, change in scale.dataset.items():
        before = as_settings(file.dataset[dataset].set)
        for path, value in as_settings(change.set).items() if dataset in kept else ():
            old = f" instead of {toml_value(before[path])}" if path in before else ""
            by_setting.setdefault(f"{path} = {toml_value(value)}", []).append(f"{dataset}{old}")
    for variant, of_variant in scale.variant.items():
        for path, value in as_settings(of_variant.set).items() if variant in names else ():
            by_setting.setdefault(f"{path} = {toml_value(value)}", []).append(variant)
        if of_variant.only is not None and variant in names:
            whole.append(f"{variant} only on {', '.join(of_variant.only)}")
    return whole + [f"{setting} ({', '.join(where)})" for setting, where in by_setting.items()]
