"""Encoders as they were after each phase, kept in a run's folder for whoever wants to look at them."""

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
    """Save the encoder as RUN/phases/NAME, a folder for plain sentence-transformers, whole or not at all."""
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
        raise RunError(f"the encoder after {phase} cannot be written to {folder}: {error}") from error


def kept_phase(run: Path, phase: str) -> Path | None:
    """Where the encoder after a phase is, if it was kept."""
    folder = run / PHASES / phase
    return folder if (folder / "modules.json").is_file() else None
