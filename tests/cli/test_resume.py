from __future__ import annotations

from pathlib import Path

import pytest


def test_the_folder_is_enough(phasefit, training):
    result = phasefit("train", "--resume", "runs/mine", "--quiet")
    assert result.exit_code == 0
    assert training.resumed == (Path("runs/mine"), None)
    assert "The run is in" in result.stdout


def test_another_device_may_be_given(phasefit, training):
    assert phasefit("train", "--resume", "runs/mine", "--device", "cuda:1", "--json").exit_code == 0
    assert training.resumed == (Path("runs/mine"), "cuda:1")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["snips"], "DATA"),
        (["--seed", "0"], "--seed"),
        (["--set", "finetune.lr=1"], "--set"),
        (["--checkpoint-minutes", "1"], "--checkpoint-minutes"),
        (["--overwrite"], "--overwrite"),
        (["-o", "there"], "--out"),
        (["--plan"], "--plan"),
    ],
)
def test_nothing_else_may(phasefit, training, sentence, arguments, named):
    message = sentence(phasefit("train", "--resume", "runs/mine", *arguments))
    assert message == f"--resume continues with the options of the run; remove {named}"
    assert training.resumed is None


def test_the_minutes_reach_the_request(phasefit, training):
    assert phasefit("train", "snips", "--checkpoint-minutes", "0.5").exit_code == 0
    assert training.spec.machine.checkpoint_minutes == 0.5
    assert phasefit("train", "snips", "--checkpoint-minutes", "-1").exit_code == 2
