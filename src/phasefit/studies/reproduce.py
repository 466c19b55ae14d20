"""Papers' tables as studies: the packaged study files, which datasets are missing, and the gain against rows.

A study file is one TOML in `library/`. Imports no torch.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from phasefit.data.sources import source_files
from phasefit.data.task_file import is_task_file, read_task_file
from phasefit.errors import DataError, RecipeError, did_you_mean
from phasefit.studies.study import Data, Study
from phasefit.studies.study_file import StudyFile, read_study_file


@dataclass(frozen=True)
class StudyInfo:
    """A study file that was found."""

    name: str
    path: Path
    file: StudyFile
    packaged: bool


def list_studies() -> list[StudyInfo]:
    """The packaged ones by name."""
    return [StudyInfo(path.stem, path, read_study_file(path), True) for path in sorted(_folder().glob("*.toml"))]


def find_study(name: str) -> StudyInfo:
    """A study by the name of a packaged one, or by the path of a file."""
    given = Path(name).expanduser()
    if given.suffix == ".toml":
        if not given.is_file():
            raise RecipeError(f"there is no study file '{name}'; 'phasefit reproduce' lists the packaged ones")
        return StudyInfo(given.stem, given, read_study_file(given), False)
    packaged = _folder() / f"{name}.toml"
    known = sorted(path.stem for path in _folder().glob("*.toml"))
    if name not in known:
        raise RecipeError(f"there is no study '{name}'; {did_you_mean(name, known)}; or give a TOML file of your own")
    return StudyInfo(name, packaged, read_study_file(packaged), True)


def needed(study: Study) -> list[Data]:
    """The datasets that some table of a study has runs on."""
    used = {cell.dataset for cell in study.cells()}
    return [data for data in study.datasets if data.name in used]


def missing(study: Study, data_dir: Path | None = None) -> dict[str, str]:
    """Datasets of a study that are not on this machine, with the source that is missing."""
    found: dict[str, str] = {}
    for data in needed(study):
        for source in _sources(data):
            try:
                source_files(source, data_dir)
            except DataError:
                found[data.name] = source
                break
    return found


def refuse_missing(study: Study, data_dir: Path | None = None) -> None:
    """One sentence about all that are missing, and the ways out."""
    lacking = missing(study, data_dir)
    if not lacking:
        return
    here = [data.name for data in needed(study) if data.name not in lacking]
    said = ", ".join(name if name == source else f"{name} ({source})" for name, source in lacking.items())
    way = f"leave them out with --datasets {','.join(here)!r}" if here else "name other datasets with --datasets"
    raise DataError(
        f"these datasets are not on this machine: {said}; set PHASEFIT_DATA (or --data-dir) to the folder that holds "
        f"them, or {way}"
    )


def training_rows(data: Data, data_dir: Path | None = None) -> int | None:
    """How many rows a dataset of a study has, after any cut; None where its card does not say."""
    from phasefit.data.named.lookup import find_card

    card = find_card(str(data.request["data"]))
    there = None if card is None else card.rows.get("train")
    asked = data.request.get("rows")
    known = [int(number) for number in (there, asked) if number is not None]
    return min(known, default=None)


def _sources(data: Data) -> list[str]:
    source = str(data.request["data"])
    parts = [source, *([data.pairs] if data.pairs else [])]
    parts += [str(data.request[name]) for name in ("validation", "test", "unlabelled") if data.request.get(name)]
    if not is_task_file(source):
        return parts
    tasks = read_task_file(source).tasks
    return [part for task in tasks for part in (task.data, task.validation, task.test) if part is not None]


def _folder() -> Path:
    return Path(str(files("phasefit.studies") / "library"))


def plan_of(study: Study, data_dir: Path | None = None) -> dict[str, Any]:
    """What would be run: cells by dataset and variant, and what is missing."""
    cells = study.cells()
    return {
        "runs": len(cells),
        "datasets": [data.name for data in needed(study)],
        "variants": list(dict.fromkeys(cell.variant for cell in cells)),
        "seeds": list(study.seeds),
        "folds": study.folds,
        "tables": [table.title for table in study.tables],
        "missing": missing(study, data_dir),
        "notes": list(study.notes),
    }


def runs_per_dataset(study: Study) -> dict[str, int]:
    """How many runs each dataset takes."""
    counted: dict[str, int] = {}
    for cell in study.cells():
        counted[cell.dataset] = counted.get(cell.dataset, 0) + 1
    return counted


def spelled(names: Sequence[Any]) -> str:
    """Names in a row."""
    return ", ".join(map(str, names))
