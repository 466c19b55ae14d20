"""The folder of a run, for tests with a fake model."""

from __future__ import annotations

from pathlib import Path


def write_fake_run(folder: Path) -> None:
    """A finished manifest and nothing else."""
    folder.mkdir(exist_ok=True)
    (folder / "phasefit.json").write_text('{"format": 2, "status": "finished", "files": {}}', encoding="utf-8")
