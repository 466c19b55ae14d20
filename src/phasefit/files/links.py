"""Refuse symbolic links in folders that may come from a stranger: they could point at any file of the user."""

from __future__ import annotations

import os
from pathlib import Path

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
