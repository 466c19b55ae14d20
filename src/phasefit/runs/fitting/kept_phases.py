"""The encoder after each phase, saved in the run folder with `--keep-phases`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from phasefit.errors import RunError
from phasefit.files import system
from phasefit.files.atomic import make_folders, new_folder

if TYPE_CHECKING:
    from phasefit.models.encoder.encoder import Encoder

PHASES = "phases"


def keep_phase(run: Path, phase: str, encoder: Encoder) -> None:
    """Save the encoder atomically as RUN/phases/NAME, a sentence-transformers folder."""
    folder = run / PHASES / phase
    try:
        make_folders(folder.parent)
        with new_folder(folder) as temporary:
            system.write(temporary, encoder.save)
    except OSError as error:
        raise RunError(f"cannot write the encoder after {phase} to {folder}: {error}") from error


def kept_phase(run: Path, phase: str) -> Path | None:
    """The folder of the encoder after a phase; None if it was not saved."""
    folder = run / PHASES / phase
    return folder if (folder / "modules.json").is_file() else None
