"""A run that was killed while it replaced another one."""

from __future__ import annotations

import pytest

from phasefit.errors import RunError
from phasefit.store.folder import RunFolder
from phasefit.store.manifest import MANIFEST, read_json


def test_a_killed_replacement_can_be_replaced_and_the_old_run_is_still_there(tmp_path) -> None:
    RunFolder(tmp_path / "run").begin({"seed": 1})
    RunFolder(tmp_path / "run", overwrite=True).begin({"seed": 2})  # and then nothing more: killed
    again = RunFolder(tmp_path / "run", overwrite=True)
    again.begin({"seed": 3})
    assert read_json(tmp_path / "run.old" / MANIFEST)["seed"] == 1
    again.finish({})
    assert not (tmp_path / "run.old").exists()
    assert read_json(tmp_path / "run" / MANIFEST)["seed"] == 3


def test_a_stranger_in_the_way_is_never_deleted(tmp_path) -> None:
    RunFolder(tmp_path / "run").finish({"format": 1})
    (tmp_path / "run.old").mkdir()
    with pytest.raises(RunError, match="is in the way"):
        RunFolder(tmp_path / "run", overwrite=True)
    assert (tmp_path / "run" / MANIFEST).is_file()
