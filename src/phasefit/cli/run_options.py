"""The options of a run: one list for all commands that train, and the conversion of their values to a specification.

`options.py` declares each option once (`validation_size` is `ValidationSize`), the specification has its default; a
command lists its options in the order of its help.
"""

from __future__ import annotations

import inspect
import shlex
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

from phasefit.cli import options as opt
from phasefit.cli.short_options import short_settings
from phasefit.errors import PhasefitError
from phasefit.runs.hub_model import with_local_model
from phasefit.runs.specification import DEFAULTS, OPTIONS, RunSpec, run_spec

TABLES = (
    *("text", "label", "kind", "tree", "separator", "levels", "validation", "test", "unlabelled"),
    *("delimiter", "encoding", "sheet", "empty"),
    *("validation_size", "test_size", "rows", "validation_rows", "test_rows", "classes", "top_classes"),
)
ROWS = ("unseen", "leaked", "data_dir")
MACHINE = ("device", "threads", "precision")


def run_options(*names: str, **defaults: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command these options, in this order; the command receives those of a run as `**options`.

    A name may also be a parameter of the command, which sets its place in the order. `defaults` replace those of a run.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command, eval_str=True).parameters
        first = [one for name, one in own.items() if name not in names and one.kind is not one.VAR_KEYWORD]
        listed = [own[name] if name in own else _parameter(name, defaults.get(name)) for name in names]

        @wraps(command)
        def run(**values: Any) -> None:
            command(**values)

        keywords = [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in (*first, *listed)]
        run.__signature__ = inspect.Signature(keywords)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in keywords}
        return run

    return decorate


def spec_from(params: Mapping[str, Any]) -> RunSpec:
    """The specification of a run from the options of the command line."""
    return run_spec(**options_from(params), command=typed_command())


def options_from(params: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a run that are set on the command line, by their flat names."""
    from phasefit.recipes.settings import merge_settings, parse_settings

    options = {name: params[name] for name in OPTIONS if params.get(name) is not None}
    options = {name: CONVERTERS[name](value) if name in CONVERTERS else value for name, value in options.items()}
    long = {"long": params["long"]} if params.get("long") else {}  # a recipe setting with its own option
    settings = parse_settings(params.get("settings") or ())
    options["settings"] = merge_settings(settings, short_settings(params, settings), long)
    return with_local_model({name: value for name, value in options.items() if value != ()})


def typed_command() -> str:
    """The command line as typed."""
    return shlex.join(["phasefit", *sys.argv[1:]])


def as_levels(value: str | None) -> tuple[str, ...]:
    """The comma-separated names."""
    return tuple(name.strip() for name in value.split(",")) if value else ()


def _fold(value: str) -> tuple[int, int]:
    """The number of the fold and the number of folds, from K/N."""
    which, slash, number = value.partition("/")
    if not slash or not which.isdecimal() or not number.isdecimal():
        raise PhasefitError(f"--fold {value} is not of the form K/N; write 2/5 for the second of five folds")
    return int(which), int(number)


def _source(value: str) -> str:
    path = Path(value).expanduser()
    return str(path) if path.exists() else value


def _parameter(name: str, default: Any) -> inspect.Parameter:
    annotation = getattr(opt, "".join(part.capitalize() for part in name.split("_")))
    usual = DEFAULTS[name] if default is None else default
    value = None if usual in ((), {}) else usual
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=value, annotation=annotation)


CONVERTERS: dict[str, Callable[[Any], Any]] = {
    **{"text": tuple, "label": tuple, "levels": as_levels, "classes": as_levels, "fold": _fold},
    **dict.fromkeys(("validation", "test", "unlabelled"), _source),
}
