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
    """Raise RunError if a folder contains a link, a pipe or a device; the folder itself may be a link."""
    for parent, folders, files in os.walk(folder, followlinks=False):
        for name in (*folders, *files):
            path = Path(parent) / name
            place = path.relative_to(folder)
            if path.is_symlink():
                raise RunError(
                    f"'{folder}' contains a symbolic link ('{place}'), which phasefit does not follow; "
                    "replace it with a copy of its target, or remove it"
                )
            if not (path.is_file() or path.is_dir()):  # reading a pipe or a device could block forever
                raise RunError(f"'{folder}' contains '{place}', which is neither a file nor a folder; remove it")


def refuse_controls(folder: Path) -> None:
    """Raise RunError if the name of a new folder contains control characters."""
    if has_controls(str(folder)):
        raise RunError(f"the folder '{one_line(folder)}' has control characters in its name; choose another name")
