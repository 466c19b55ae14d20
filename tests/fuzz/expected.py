"""Failures that are known and will be fixed elsewhere: they are counted, but do not fail a run.

The list is to be emptied; an entry is a target and patterns for the file and for the place of the failure.
"""

from __future__ import annotations

import re

from fuzz.harness import Case, Outcome

EXPECTED: list[tuple[str, str, str]] = []


def is_expected(case: Case, outcome: Outcome) -> bool:
    """Whether a failure is in the list."""
    return any(
        re.fullmatch(target, case.target) and re.fullmatch(file, case.file) and re.fullmatch(where, outcome.where)
        for target, file, where in EXPECTED
    )
