"""Two processes that share the journal of a search: no trial is lost, doubled or tried twice."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from tiny import make_table

optuna = pytest.importorskip("optuna")
pytestmark = pytest.mark.long
TRIALS = 6


def test_two_processes_share_a_journal(tmp_path: Path, tiny_folder: Path) -> None:
    texts, labels = make_table(60)
    pd.DataFrame({"text": texts, "label": labels}).to_csv(tmp_path / "topics.csv", index=False)
    journal = tmp_path / "trials.journal"
    words = ["search", str(tmp_path / "topics.csv"), "--model", str(tiny_folder), "--set", "finetune.max_steps=2"]
    words += ["--try", "finetune.lr=1e-5..1e-2", "--trials", str(TRIALS), "--fresh-seeds", "0", "--pruner", "none"]
    words += ["--threads", "1", "--quiet", "--storage", str(journal)]
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "phasefit", *words, "--study", str(tmp_path / f"study-{number}")],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        for number in range(2)
    ]
    outputs = [process.communicate(timeout=250)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0], outputs
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(journal)))
    (summary,) = optuna.get_all_study_summaries(storage)
    trials = optuna.load_study(study_name=summary.study_name, storage=storage).get_trials()
    complete = [trial for trial in trials if trial.state == optuna.trial.TrialState.COMPLETE]
    assert TRIALS <= len(complete) <= TRIALS + 1  # both may start the last one at the same moment
    assert len({trial.params["finetune.lr"] for trial in complete}) == len(complete)
    assert {trial.user_attrs["process"] for trial in complete} == {process.pid for process in started}
