"""In words, what a scale cuts of a study: found by comparing the two, so that nothing is left unsaid."""

from __future__ import annotations

from collections.abc import Sequence

from phasefit.studies.study import Study
from phasefit.studies.study_file import ScalePart, StudyFile, flat

SPELLED = {
    "rows": "training rows",
    "validation_rows": "validation rows",
    "test_rows": "test rows",
    "top_classes": "classes",
}


def cuts_of(file: StudyFile, scale: ScalePart, study: Study, whole: Study) -> list[str]:
    """In words, what a scale changes; found by comparing, so that nothing is left unsaid."""
    found = []
    if study.folds != whole.folds:
        found.append(f"{study.folds} folds instead of {whole.folds}")
    if study.seeds != whole.seeds:
        found.append(f"{_counted(study.seeds)} instead of {_counted(whole.seeds)}")
    kept = {data.name for data in study.datasets}
    found += _left_out("datasets", [data.name for data in whole.datasets if data.name not in kept])
    names = {variant.name for variant in study.variants}
    found += _left_out("variants", [variant.name for variant in whole.variants if variant.name not in names])
    tables = {table.number for table in study.tables}
    found += _left_out("tables", [table.number for table in whole.tables if table.number not in tables])
    found += _row_cuts(study, whole)
    found += _setting_cuts(file, scale, kept, names)
    return list(dict.fromkeys(found))


def _counted(seeds: Sequence[int]) -> str:
    return f"{len(seeds)} seed{'' if len(seeds) == 1 else 's'} ({', '.join(map(str, seeds))})"


def _left_out(what: str, names: Sequence[str]) -> list[str]:
    once = list(dict.fromkeys(names))
    return [f"{what} left out: {', '.join(once)}"] if once else []


def _row_cuts(study: Study, whole: Study) -> list[str]:
    """`at most 400 training rows`, with the datasets it is said of unless it is all of them."""
    before = {data.name: data.request for data in whole.datasets}
    changed: dict[tuple[str, str], list[str]] = {}
    for data in study.datasets:
        for key, value in data.request.items():
            old = before[data.name].get(key)
            if key != "data" and value != old:
                of_old = "" if old is None or key not in SPELLED else f" instead of {old:,}"
                said = f"at most {value:,} {SPELLED[key]}" if key in SPELLED else f"{key} = {value}"
                changed.setdefault((said, of_old), []).append(data.name)
    by_said: dict[str, list[str]] = {}
    for (said, of_old), names in changed.items():
        by_said.setdefault(said, []).extend(f"{name}{of_old}" for name in names)
    return [
        said
        if len(names) == len(study.datasets) and not any(" instead " in name for name in names)
        else f"{said} ({', '.join(names)})"
        for said, names in by_said.items()
    ]


def _setting_cuts(file: StudyFile, scale: ScalePart, kept: set[str], names: set[str]) -> list[str]:
    """Settings that the scale changes: of all, of single datasets, of single variants."""
    found = [f"{path} = {value}" for path, value in flat(scale.set).items()]
    by_setting: dict[str, list[str]] = {}
    for dataset, change in scale.dataset.items():
        before = flat(file.dataset[dataset].set)
        for path, value in flat(change.set).items() if dataset in kept else ():
            old = f" instead of {before[path]}" if path in before else ""
            by_setting.setdefault(f"{path} = {value}", []).append(f"{dataset}{old}")
    for variant, of_variant in scale.variant.items():
        for path, value in flat(of_variant.set).items() if variant in names else ():
            by_setting.setdefault(f"{path} = {value}", []).append(variant)
        if of_variant.only is not None and variant in names:
            found.append(f"{variant} only on {', '.join(of_variant.only)}")
    return found + [f"{said} ({', '.join(where)})" for said, where in by_setting.items()]
