"""Refuse folders that are not what they seem.

Symbolic links in a folder from a stranger could point at any file of the user. Control characters in its name would
reach terminals and commands to copy.
"""

from __future__ import annotations

import os
from pathlib import Path

from phasefit.control_characters import has_controls, one_line
from phasefit.errors import RunError


def refuse_links(folder: Path) -> None:
    """Raise RunError if anything in a folder is a symbolic link; the folder itself may be reached through one."""
    for parent, folders, files in os.walk(folder, followlinks=False):
        for name in (*folders, *files):
            if (Path(parent) / name).is_symlink():
                place = (Path(parent) / name).relative_to(folder)
                raise RunError(
                    f"'{folder}' contains a symbolic link ('{place}'), which phasefit does not follow; "
                    "replace it with a copy of its target, or remove it"
                )


def refuse_controls(folder: Path) -> None:
    """Raise RunError if the name of a new folder contains control characters."""
    if has_controls(str(folder)):
        raise RunError(f"the folder '{one_line(folder)}' has control characters in its name; choose another name")
