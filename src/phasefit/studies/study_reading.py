"""Finding, reading and checking study files: packaged ones in `library/` and others. Imports no torch."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel, ValidationError

from phasefit.baselines import BASELINES
from phasefit.control_characters import has_controls, one_line
from phasefit.errors import RecipeError, constraint, did_you_mean
from phasefit.studies.claim import Claim, parse_claim
from phasefit.studies.study_file import FULL, FigurePart, StudyFile


@dataclass(frozen=True)
class StudyInfo:
    """A study file and its name."""

    name: str
    path: Path
    file: StudyFile
    packaged: bool


def list_studies() -> list[StudyInfo]:
    """All packaged studies by name."""
    return [StudyInfo(path.stem, path, read_study_file(path), True) for path in sorted(_folder().glob("*.toml"))]


def find_study(name: str) -> StudyInfo:
    """A study by the name of a packaged one, or by the path of a file."""
    given = Path(name).expanduser()
    if given.suffix == ".toml":
        if not given.is_file():
            raise RecipeError(f"there is no study file '{name}'; 'phasefit reproduce' lists the packaged studies")
        return StudyInfo(given.stem, given, read_study_file(given), False)
    packaged = _folder() / f"{name}.toml"
    known = sorted(path.stem for path in _folder().glob("*.toml"))
    if name not in known:
        raise RecipeError(f"there is no study '{name}'; {did_you_mean(name, known)}; or give your own TOML file")
    return StudyInfo(name, packaged, read_study_file(packaged), True)


def read_study_file(path: Path) -> StudyFile:
    """The content of a valid study file; raises for the first error in it."""
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError(
            f"the study file {path} cannot be read: {getattr(error, 'strerror', None) or error}"
        ) from None
    except tomllib.TOMLDecodeError as error:
        raise RecipeError(f"{path.name}: not valid TOML: {error}") from error
    return parse_study(content, path.name)


def parse_study(content: Mapping[str, Any], where: str) -> StudyFile:
    """The study in parsed TOML; raises for the first error in it."""
    try:
        file = StudyFile.model_validate(content)
    except ValidationError as error:
        raise RecipeError(f"{where}{_problem(error)}") from error
    _check_names(file, where)
    return file


def _folder() -> Path:
    return Path(str(files("phasefit.studies") / "library"))


def _problem(error: ValidationError) -> str:
    """Message with the location, the problem and the nearest name."""
    problem = error.errors()[0]
    place = [part for part in problem["loc"] if not _is_type(part)]
    inside = _spelled(place[:-1])
    if problem["type"] == "extra_forbidden":
        return f"{inside}: unknown option '{place[-1]}'; {did_you_mean(str(place[-1]), _known(place[:-1]))}"
    if problem["type"] == "missing":
        return f"{inside}: '{place[-1]}' is missing"
    message = constraint(problem["msg"])
    colon = "" if message.startswith("must ") else ":"
    what = f"entry {place[-1] + 1}" if isinstance(place[-1], int) else f"'{place[-1]}'"
    return f"{inside}: {what}{colon} {message} (found {problem['input']!r:.60})"


def _is_type(part: Any) -> bool:
    """Whether a part of a location is pydantic's name of a union member, which means nothing to users."""
    return isinstance(part, str) and part in ("int", "str", "constrained-int", "list", "float", "bool")


def _spelled(place: Sequence[Any]) -> str:
    """A location as `dataset.SST5` or `table 2`."""
    spelled = ""
    for part in place:
        if isinstance(part, int):
            spelled += f" {part + 1}"
        else:
            spelled += f".{part}" if spelled and not spelled[-1].isdigit() else f", {part}"
    return spelled


def _known(place: Sequence[Any]) -> list[str]:
    """The names that are allowed at a location."""
    model: type[BaseModel] = StudyFile
    for part in place:
        if part in model.model_fields:
            inner = _model_in(model.model_fields[part].annotation)
            if inner is None:
                return []
            model = inner
    return list(model.model_fields)


def _model_in(annotation: Any) -> type[BaseModel] | None:
    """The model inside a list or dict annotation."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    inner = (_model_in(argument) for argument in get_args(annotation))
    return next((model for model in inner if model is not None), None)


def _check_names(file: StudyFile, where: str) -> None:
    """Raise for references to datasets, variants or tables that do not exist, and for unprintable names."""
    for name in (*file.variant, *file.dataset, *(data.title for data in file.dataset.values())):
        if has_controls(name):
            raise RecipeError(f"{where}: the name '{one_line(name)}' has control characters; choose another")
    for name, variant in file.variant.items():
        if variant.recipe in BASELINES and (variant.set or variant.on):
            raise RecipeError(
                f"{where}, variant '{name}': the baseline '{variant.recipe}' has no settings; remove them"
            )
        _all_known([*variant.on, *variant.only], file.dataset, f"{where}, variant '{name}'", "dataset")
    for number, table in enumerate(file.table, start=1):
        place = f"{where}, table {number}"
        _all_known(table.datasets, file.dataset, place, "dataset")
        _all_known(table.variants, file.variant, place, "variant")
        for model, figures in table.published.items():
            at = f"{place}, published '{model}'"
            _all_known(figures, table.datasets or file.dataset, at, "dataset")
            for of_dataset in figures.values():
                _all_known(of_dataset, table.variants or file.variant, at, "variant")
    _check_seeds(file, where)
    claims: dict[Claim, int] = {}
    for number, claim in enumerate(file.claim, start=1):
        if has_controls(claim.text):
            raise RecipeError(f"{where}, claim {number}: the text has control characters; remove them")
        parsed = parse_claim(claim.text, file.variant, file.dataset, f"{where}, claim {number}", claim.ours)
        meaning = replace(parsed, text="", lower=False)
        if meaning in claims:
            raise RecipeError(f"{where}, claim {number}: it repeats claim {claims[meaning]}; remove one of them")
        claims[meaning] = number
    for figure in file.figure:
        _check_figure(figure, file, f"{where}, figure '{figure.title}'")
    for name, scale in file.scale.items():
        place = f"{where}, scale '{name}'"
        if name == FULL:
            raise RecipeError(f"{place}: the file itself is the full scale; rename this one")
        _all_known([*(scale.datasets or ()), *scale.dataset], file.dataset, place, "dataset")
        _all_known([*(scale.variants or ()), *scale.variant], file.variant, place, "variant")
        _all_known(list(map(str, scale.tables or ())), file.numbers(), place, "table")
        for variant_name, change in scale.variant.items():
            _all_known(change.only or (), file.dataset, f"{place}, variant '{variant_name}'", "dataset")
        own = {part: change.seeds for part, change in scale.dataset.items()}
        own |= {part: change.seeds for part, change in scale.variant.items()}
        for part, seeds in own.items():
            for seed in seeds or ():
                if seed not in (scale.seeds or file.seeds):
                    raise RecipeError(f"{place}, '{part}': the seed {seed} is not one of the scale's; add it to them")


def _check_seeds(file: StudyFile, where: str) -> None:
    """Raise for seeds that are listed twice, which would count the same runs as repetitions."""
    lists: dict[str, Sequence[int]] = {where: file.seeds}
    for name, scale in file.scale.items():
        place = f"{where}, scale '{name}'"
        lists[place] = scale.seeds or ()
        lists |= {f"{place}, '{part}'": change.seeds or () for part, change in scale.dataset.items()}
        lists |= {f"{place}, '{part}'": change.seeds or () for part, change in scale.variant.items()}
    for place, seeds in lists.items():
        twice = next((seed for index, seed in enumerate(seeds) if seed in seeds[:index]), None)
        if twice is not None:
            raise RecipeError(f"{place}: 'seeds' lists {twice} twice; list each seed once")


def _check_figure(figure: FigurePart, file: StudyFile, place: str) -> None:
    """Raise for options that the kind of figure lacks or needs, and for unknown names."""
    gain = figure.kind == "gain"
    needed, unused = (("variant", "against"), ("variants",)) if gain else (("tables",), ("variant", "against"))
    for option in needed:
        if not getattr(figure, option):
            raise RecipeError(f"{place}: '{option}' is missing")
    for option in unused:
        if getattr(figure, option):
            raise RecipeError(f"{place}: '{option}' has no effect with kind = '{figure.kind}'; remove it")
    if not gain and len(figure.tables) > 1:
        raise RecipeError(
            f"{place}: kind = 'scores' draws one table (found {len(figure.tables)}); add a figure for each"
        )
    named = [figure.variant, figure.against] if gain else figure.variants
    _all_known(named, file.variant, place, "variant")
    _all_known(list(map(str, figure.tables)), file.numbers(), place, "table")


def _all_known(names: Sequence[str] | Mapping[str, Any], known: Any, where: str, what: str) -> None:
    for name in names:
        if name not in known:
            raise RecipeError(f"{where}: there is no {what} '{name}'; {did_you_mean(name, known)}")
