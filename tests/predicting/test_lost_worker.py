"""A worker that is lost while it writes, and replaced, as on a Ray cluster: nothing of it is left."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from phasefit.files.atomic import is_temporary
from phasefit.predicting.engine import ThisProcess
from phasefit.predicting.shards import Shard
from phasefit.predicting.worker import Job, ShardResult
from sharded import content, invoke, save_small

LEFT = ".phasefit-0123456789abcdef.tmp"


class LostWhileWriting(ThisProcess):
    """Leaves half a shard under a temporary name, as a killed worker does, and runs all shards."""

    def run(self, job: Job, shards: Sequence[Shard], progress: Callable[[int], None]) -> Iterator[ShardResult]:
        (job.folder / LEFT).write_text("text,pred")
        assert is_temporary(job.folder / LEFT)
        yield from super().run(job, shards, progress)


def test_no_temporary_file_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = save_small(tmp_path / "model")
    (tmp_path / "in.csv").write_text("text\n" + "good day\n" * 9)
    words = ["predict", model, tmp_path / "in.csv", "--shard-rows", "2", "--threads", "1", "--quiet"]
    assert invoke(*words, "-o", f"{tmp_path}/whole/").exit_code == 0
    monkeypatch.setattr("phasefit.predicting.engine.ThisProcess", LostWhileWriting)
    result = invoke(*words, "-o", f"{tmp_path}/lost/")
    assert result.exit_code == 0, (result.output, result.exception)
    assert content(tmp_path / "lost") == content(tmp_path / "whole")
