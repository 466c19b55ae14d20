"""Specifications of runs by flat option names, and their rows, for tests."""

from __future__ import annotations

from typing import Any

from phasefit.prepare import prepare as preparing
from phasefit.prepare.base import Base
from phasefit.prepare.prepare import LABELS, Prepared
from phasefit.recipes.needs import Needs
from phasefit.recipes.settings import parse_settings
from phasefit.runs.specification import RunSpec
from phasefit.runs.specification import run_spec as specified


def run_spec(data: Any, **options: Any) -> RunSpec:
    """A specification, as the command line and Python build it; settings may be lines as on the command line.

    Runs are not compared with baselines unless a test asks for it, to save time.
    """
    if isinstance(options.get("settings"), list | tuple):
        options["settings"] = parse_settings(options["settings"])
    return specified(data, **{"baselines": False, **options})


def prepare(spec: RunSpec, base: Base | None = None, needs: Needs = LABELS) -> Prepared:
    """The rows of a specification."""
    return preparing.prepare(spec.data, spec.split, seed=spec.seed, base=base, needs=needs)
