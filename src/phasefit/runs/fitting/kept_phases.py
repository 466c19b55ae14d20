"""The encoder after each phase, saved in the run folder with `--keep-phases`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from phasefit.errors import RunError
from phasefit.files.atomic import apply_umask_and_flush, flush

if TYPE_CHECKING:
    from phasefit.models.encoder.encoder import Encoder

PHASES = "phases"


def keep_phase(run: Path, phase: str, encoder: Encoder) -> None:
    """Save the encoder atomically as RUN/phases/NAME, a sentence-transformers folder."""
    folder = run / PHASES / phase
    part = folder.with_name(f"{phase}.part")
    try:
        folder.parent.mkdir(exist_ok=True)
        shutil.rmtree(part, ignore_errors=True)
        encoder.save(part)
        for file in filter(Path.is_file, part.rglob("*")):
            apply_umask_and_flush(file)
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(part, folder)
        flush(folder.parent)
    except OSError as error:
        raise RunError(f"cannot write the encoder after {phase} to {folder}: {error}") from error


def kept_phase(run: Path, phase: str) -> Path | None:
    """The folder of the encoder after a phase; None if it was not saved."""
    folder = run / PHASES / phase
    return folder if (folder / "modules.json").is_file() else None
