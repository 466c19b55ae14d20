"""Runs that are stopped, resumed in odd circumstances, or cannot be: in this process, without a kill."""

from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from phasefit.errors import DataError, Interrupted, ModelError, RecipeError, RunError
from phasefit.events import Event, Note, PhaseEnded, Stage, StepDone
from phasefit.files import system
from phasefit.models.storage import load_model
from phasefit.runs.folder import RunFolder
from phasefit.runs.specification import RunSpec
from phasefit.training import checkpoints
from running import resume, train
from specs import run_spec
from tiny import make_table, read_json, save_tiny, write_csv

SETTINGS = ("finetune.max_steps=6", "finetune.evaluate_every=2", "finetune.lr=1e-3")


@pytest.fixture
def request_of(tiny_folder: Path, tmp_path: Path, monkeypatch) -> Callable[..., RunSpec]:
    monkeypatch.setattr("phasefit.report.run.write_report", lambda *_, **__: None)
    table = write_csv(tmp_path / "queries.csv", *make_table(60))

    def make(**options: Any) -> RunSpec:
        wishes = {"model": str(tiny_folder), "recipe": "finetune", "settings": SETTINGS, "out": tmp_path / "run"}
        return run_spec(table, **{**wishes, "checkpoint_minutes": 0, **options})

    return make


def silent(_: Event) -> None:
    pass


class At:
    """Calls an action at the `count`th event of a kind, and collects the notes."""

    def __init__(self, kind: type, count: int, what: Callable[[], object]) -> None:
        self.kind, self.left, self.what = kind, count, what
        self.notes: list[str] = []

    def __call__(self, event: Event) -> None:
        if isinstance(event, Note):
            self.notes.append(event.text)
        if isinstance(event, self.kind):
            self.left -= 1
            if self.left == 0:
                self.what()


def interrupt(number: int = signal.SIGINT) -> Callable[[], None]:
    return lambda: os.kill(os.getpid(), number)


def weights(run: Path) -> dict[str, torch.Tensor]:
    return load_file(run / "encoder" / "model.safetensors") | load_file(run / "heads.safetensors")


def assert_same_weights(one: Path, other: Path) -> None:
    first, second = weights(one), weights(other)
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)


def stopped(request: RunSpec, step: int = 3) -> Path:
    with pytest.raises(Interrupted):
        train(request, At(StepDone, step, interrupt()))
    assert request.output.folder is not None
    return request.output.folder


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_for_the_step_and_names_the_command_to_resume(request_of, tmp_path: Path, number) -> None:
    whole = train(request_of(out=tmp_path / "whole"), silent).folder
    run = tmp_path / "a run"
    before = signal.getsignal(number)
    with pytest.raises(Interrupted, match=r"phasefit train --resume '.*a run'") as caught:
        train(request_of(out=run, checkpoint_minutes=1000), At(StepDone, 3, interrupt(number)))
    assert caught.value.signal == number
    assert signal.getsignal(number) == before
    checkpoint, _ = checkpoints.read_checkpoint(run)
    assert checkpoint is not None
    assert checkpoint.facts["state"]["step"] == 3, "the step was finished and saved"
    listener = At(StepDone, 0, interrupt())
    resume(run, listener)
    assert "resumed finetune after step 3" in listener.notes
    assert_same_weights(run, whole)
    assert not (run / "checkpoints").exists()
    assert not (run / ".lock").exists()


def test_a_second_signal_does_not_wait(request_of, tmp_path: Path) -> None:
    def twice() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted):
        train(request_of(checkpoint_minutes=1000), At(StepDone, 3, twice))
    assert checkpoints.read_checkpoint(tmp_path / "run") == (None, [])
    resume(tmp_path / "run", silent)
    load_model(tmp_path / "run")


@pytest.mark.parametrize("stage", range(2, 6))
def test_a_signal_between_the_steps_stops_at_once(request_of, tmp_path: Path, stage: int) -> None:
    stages: list[str] = []

    def listen(event: Event) -> None:
        if isinstance(event, Stage):
            stages.append(event.name)
            if len(stages) == stage:
                os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(Interrupted):
        train(request_of(), listen)
    assert len(stages) == stage
    resume(tmp_path / "run", silent)
    load_model(tmp_path / "run")


def test_an_unfinished_run_is_neither_loaded_nor_overwritten(request_of, tmp_path: Path) -> None:
    run = stopped(request_of())
    with pytest.raises(ModelError, match=r"not finished.*--resume"):
        load_model(run)
    with pytest.raises(RunError, match=r"unfinished run; resume it with --resume .*--overwrite"):
        train(request_of(), silent)
    train(request_of(overwrite=True), silent)
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("run")] == ["run"]


def test_a_stopped_replacement_keeps_the_old_run_until_it_is_finished(request_of, tmp_path: Path) -> None:
    old = train(request_of(seed=1), silent).folder
    kept = (old / "heads.safetensors").read_bytes()
    run = stopped(request_of(overwrite=True))
    assert (tmp_path / "run.old" / "heads.safetensors").read_bytes() == kept
    resume(run, silent)
    assert not (tmp_path / "run.old").exists()
    assert read_json(run / "phasefit.json")["seed"] == 0
    assert not {"resume", "replaces"} & read_json(run / "phasefit.json").keys()


def test_a_finished_run_is_reported_and_unchanged(request_of, tmp_path: Path) -> None:
    done = train(request_of(), silent)
    listener = At(StepDone, 0, interrupt())
    again = resume(done.folder, listener)
    assert again.metrics == done.metrics
    assert "already finished" in " ".join(listener.notes)


def test_two_checkpoints_are_kept(request_of, tmp_path: Path) -> None:
    counts = []
    train(request_of(), At(StepDone, 6, lambda: counts.append(len(list((tmp_path / "run" / "checkpoints").iterdir())))))
    assert counts == [2]


def cut_short(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-100])


def flip_a_bit(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[-9] ^= 1
    file.write_bytes(content)


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        (checkpoints.TENSORS, cut_short),
        (checkpoints.TENSORS, flip_a_bit),
        (checkpoints.FACTS, flip_a_bit),
        (checkpoints.CHECKSUMS, Path.unlink),
    ],
)
def test_a_damaged_checkpoint_is_skipped(request_of, tmp_path: Path, name: str, damage) -> None:
    whole = train(request_of(out=tmp_path / "whole"), silent).folder
    run = stopped(request_of(), 4)
    older, newest = sorted((run / "checkpoints").iterdir())
    damage(newest / name)
    listener = At(StepDone, 0, interrupt())
    resume(run, listener)
    assert any("is damaged" in note and newest.name in note for note in listener.notes)
    assert "resumed finetune after step 3" in listener.notes
    assert_same_weights(run, whole)
    assert older.name < newest.name


def test_without_any_good_checkpoint_it_starts_over(request_of, tmp_path: Path) -> None:
    whole = train(request_of(out=tmp_path / "whole"), silent).folder
    run = stopped(request_of())
    for folder in (run / "checkpoints").iterdir():
        (folder / checkpoints.FACTS).write_text("{}", encoding="utf-8")
    resume(run, silent)
    assert_same_weights(run, whole)


def test_relative_paths_work_from_another_folder_and_keep_their_names(request_of, tmp_path: Path, monkeypatch) -> None:
    save_tiny(tmp_path / "models", "bert").rename(tmp_path / "tiny")
    monkeypatch.chdir(tmp_path)
    wishes = request_of().replace(data="queries.csv", model="tiny")
    whole = train(wishes.replace(out=tmp_path / "whole"), silent).folder
    run = stopped(wishes)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    resume(run, silent)
    manifests = [read_json(folder / "phasefit.json") for folder in (run, whole)]
    for manifest in manifests:
        del manifest["files"]["metrics.json"]  # it has the seconds that each phase took
    assert manifests[0] == manifests[1]


def test_the_folder_of_named_datasets_is_remembered(request_of, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "named" / "mine").mkdir(parents=True)
    write_csv(tmp_path / "named" / "mine" / "train.csv", *make_table(60))
    monkeypatch.setenv("PHASEFIT_DATA", str(tmp_path / "named"))
    run = stopped(request_of().replace(data="mine"))
    monkeypatch.delenv("PHASEFIT_DATA")
    assert resume(run, silent).metrics["test"]["rows"] > 0
    assert read_json(run / "phasefit.json")["status"] == "finished"


def test_the_current_folder_can_be_resumed(request_of, monkeypatch) -> None:
    run = stopped(request_of())
    monkeypatch.chdir(run)
    resume(Path(), silent)
    assert read_json(run / "phasefit.json")["status"] == "finished"
    assert load_model(run).heads


# --- refused ----------------------------------------------------------------------------------------------------------


def test_changed_data_are_refused_and_nothing_is_lost(request_of, tmp_path: Path) -> None:
    whole = train(request_of(out=tmp_path / "whole"), silent).folder
    run = stopped(request_of())
    table = tmp_path / "queries.csv"
    before = table.read_text()
    table.write_text(before + "one more song,music\n")
    with pytest.raises(DataError, match=r"have changed since it started; restore them"):
        resume(run, silent)
    table.unlink()
    with pytest.raises(DataError, match=r"queries\.csv"):
        resume(run, silent)
    table.write_text(before)
    resume(run, silent)
    assert_same_weights(run, whole)


def test_a_changed_file_of_the_recipe_is_refused(request_of, tmp_path: Path) -> None:
    words = tmp_path / "words.txt"
    words.write_text("the\na\n")
    run = stopped(request_of(recipe="contrast-finetune", settings=(*SETTINGS, f"contrast.balance.stop_words={words}")))
    words.write_text("the\n")
    with pytest.raises(RecipeError, match=r"words\.txt', which the recipe of the run .* has changed since"):
        resume(run, silent)
    words.write_text("the\na\n")
    resume(run, silent)
    assert read_json(run / "phasefit.json")["status"] == "finished"


def test_a_changed_model_is_refused(request_of, tmp_path: Path) -> None:
    model = save_tiny(tmp_path / "model", "bert")
    run = stopped(request_of(model=str(model)))
    shutil.rmtree(tmp_path / "model")
    assert save_tiny(tmp_path / "model", "bert", seed=1) == model
    with pytest.raises(ModelError, match="has changed since the run started"):
        resume(run, silent)
    assert (run / "checkpoints").is_dir()


def test_a_folder_that_is_not_a_run(tmp_path: Path, request_of) -> None:
    with pytest.raises(RunError, match="no such folder"):
        resume(tmp_path / "nowhere", silent)
    with pytest.raises(RunError, match=r"no run to resume.*phasefit\.json is missing"):
        resume(tmp_path, silent)
    run = stopped(request_of())
    manifest = run / "phasefit.json"
    manifest.write_text(manifest.read_text().replace('"format": 2', '"format": 99'))
    with pytest.raises(RunError, match="upgrade phasefit"):
        resume(run, silent)
    manifest.write_text('{"format": 1, "status": "started"}')
    with pytest.raises(RunError, match=r"the run in .* cannot be resumed; train again with --overwrite"):
        resume(run, silent)
    manifest.write_text('{"format": 1, "status": "started", "resume": {}}')
    with pytest.raises(RunError, match="manifest is damaged"):
        resume(run, silent)


@pytest.mark.parametrize(("key", "value"), [("request", 3), ("recipe", 5), ("recipe", ["a"])])
def test_a_manifest_with_unexpected_values_is_damaged(request_of, key: str, value: object) -> None:
    run = stopped(request_of())
    manifest = json.loads((run / "phasefit.json").read_text())
    manifest["resume"][key] = value
    (run / "phasefit.json").write_text(json.dumps(manifest))
    with pytest.raises(RunError, match="manifest is damaged"):
        resume(run, silent)


def test_missing_versions_are_only_a_warning(request_of) -> None:
    run = stopped(request_of())
    manifest = json.loads((run / "phasefit.json").read_text())
    (run / "phasefit.json").write_text(json.dumps({**manifest, "versions": 3}))
    events: list[Event] = []
    resume(run, events.append)
    assert any(isinstance(event, Note) and "was None when the run started" in event.text for event in events)


def test_a_table_from_python_cannot_be_resumed(request_of, tmp_path: Path) -> None:
    import pandas as pd

    run = stopped(request_of().replace(data=pd.read_csv(tmp_path / "queries.csv")))
    expected = (
        r"started from Python with a table in memory \(data\) and cannot be resumed; train again with --overwrite$"
    )
    with pytest.raises(RunError, match=expected):
        resume(run, silent)


def test_stopping_a_run_with_a_table_from_python_does_not_suggest_resuming(request_of, tmp_path: Path) -> None:
    import pandas as pd

    def stop() -> None:
        raise KeyboardInterrupt

    spec = request_of().replace(data=pd.read_csv(tmp_path / "queries.csv"))
    with pytest.raises(Interrupted, match=r"^train again with --overwrite \(tables in memory cannot be resumed\)$"):
        train(spec, At(StepDone, 1, stop))


def test_two_processes_do_not_work_in_one_folder(request_of, tmp_path: Path) -> None:
    refused = []

    def meddle() -> None:
        for job in (lambda: resume(tmp_path / "run", silent), lambda: train(request_of(overwrite=True), silent)):
            with pytest.raises(RunError, match="another process is using") as caught:
                job()
            refused.append(caught.value)

    train(request_of(), At(StepDone, 3, meddle))
    assert len(refused) == 2
    load_model(tmp_path / "run")


def test_the_lock_holds_between_processes_and_ends_with_them(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; from phasefit.runs.folder import RunFolder\n"
        "folder = RunFolder(Path(sys.argv[1])); folder.begin({'resume': {}}); print('held', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "run")], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(RunError, match="another process is using"):
            RunFolder.reopen(tmp_path / "run")
    finally:
        holder.kill()
        holder.wait()
        holder.stdout.close()
    RunFolder.reopen(tmp_path / "run").leave()


# --- no room ----------------------------------------------------------------------------------------------------------


def full(*_: Any, **__: Any) -> None:
    raise OSError(errno.ENOSPC, "No space left on device")


def test_a_full_disk_is_one_sentence_and_the_last_checkpoint_stays(request_of, tmp_path: Path, monkeypatch) -> None:
    whole = train(request_of(out=tmp_path / "whole"), silent).folder
    run = tmp_path / "run"
    with (
        monkeypatch.context() as patch,
        pytest.raises(RunError, match="No space left on device; when this is fixed") as caught,
    ):
        train(request_of(), At(StepDone, 4, lambda: patch.setattr(checkpoints, "write_tensors", full)))
    assert f"phasefit train --resume {run}" in str(caught.value)
    checkpoint, damaged = checkpoints.read_checkpoint(run)
    assert checkpoint is not None
    assert checkpoint.facts["state"]["step"] == 3
    assert damaged == []
    assert not list((run / "checkpoints").glob(".phasefit-*"))
    resume(run, silent)
    assert_same_weights(run, whole)


def test_a_limit_of_the_system_is_one_sentence(request_of, tmp_path: Path) -> None:
    """The system refuses to write more: a real failure in the middle of a file."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))  # noqa: E731
    try:
        with pytest.raises(RunError, match=r"checkpoint.*--resume"):
            train(request_of(), At(StepDone, 3, limit))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    assert not list((tmp_path / "run" / "checkpoints").glob(".phasefit-*"))
    resume(tmp_path / "run", silent)


def test_no_room_for_the_model_leaves_a_run_that_can_be_resumed(request_of, tmp_path: Path, monkeypatch) -> None:
    with monkeypatch.context() as patch, pytest.raises(RunError, match=r"cannot be written.*--resume"):
        train(request_of(), At(PhaseEnded, 1, lambda: patch.setattr("phasefit.models.storage.write_tensors", full)))
    with pytest.raises(ModelError, match="not finished"):
        load_model(tmp_path / "run")
    resume(tmp_path / "run", silent)
    load_model(tmp_path / "run")


def test_a_folder_that_cannot_be_written_to(request_of, tmp_path: Path, monkeypatch) -> None:
    """As root only a mount is read-only, so the error of the system is faked."""

    def read_only(*_: Any, **__: Any) -> None:
        raise OSError(errno.EROFS, "Read-only file system")

    run = stopped(request_of())
    before = {path: path.read_bytes() for path in run.rglob("*") if path.is_file()}
    with monkeypatch.context() as patch:
        patch.setattr("filelock.FileLock.acquire", read_only)
        with pytest.raises(RunError, match=r"run cannot be written to: Read-only file system"):
            resume(run, silent)
        with pytest.raises(RunError, match=r"other cannot be written to: Read-only file system"):
            train(request_of(out=tmp_path / "other"), silent)
        patch.setattr(system, "make_folder", read_only)
        with pytest.raises(RunError, match=r"cannot create the run folder .*third: Read-only file system"):
            train(request_of(out=tmp_path / "third"), silent)
    assert {path: path.read_bytes() for path in run.rglob("*") if path.is_file()} == before
    resume(run, silent)


def test_no_room_from_the_start_leaves_nothing(request_of, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(checkpoints, "write_tensors", full)
    with pytest.raises(RunError, match="No space left"):
        train(request_of(), silent)
    assert not (tmp_path / "run").exists()


def test_a_bug_after_a_checkpoint_keeps_what_was_done(request_of, tmp_path: Path) -> None:
    def bug() -> None:
        raise ZeroDivisionError

    listener = At(StepDone, 3, bug)
    with pytest.raises(ZeroDivisionError):
        train(request_of(), listener)
    assert f"phasefit train --resume {tmp_path / 'run'}" in listener.notes[-1]
    resume(tmp_path / "run", silent)


def test_a_picture_that_fails_does_not_cost_the_model(request_of, tmp_path: Path, monkeypatch) -> None:
    def broken(*_: Any, **__: Any) -> None:
        raise ValueError("no such colour")

    request = request_of()
    monkeypatch.setattr("phasefit.report.run.write_report", broken)
    listener = At(StepDone, 0, interrupt())
    train(request, listener)
    assert "no such colour" in listener.notes[-1]
    load_model(tmp_path / "run")


def test_resuming_with_other_threads_warns(request_of, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before, notes = torch.get_num_threads(), []
    monkeypatch.setenv("OMP_NUM_THREADS", str(before))  # restored after the test
    try:
        torch.set_num_threads(1)
        whole = train(request_of(out=tmp_path / "whole"), silent).folder
        run = stopped(request_of())
        torch.set_num_threads(2)
        resume(
            run, lambda event: notes.append(event.text) if isinstance(event, Note) and "threads" in event.text else None
        )
        assert torch.get_num_threads() == 1
    finally:
        torch.set_num_threads(before)
    assert notes == [
        "the run started with 1 threads, but 2 would be used here: torch continues with 1, and the last digits of the "
        "results may differ; to avoid this, resume with OMP_NUM_THREADS=1"
    ]
    assert read_json(run / "phasefit.json")["threads"] == 1
    assert_same_weights(whole, run)


def test_resuming_with_the_same_threads_does_not_warn(request_of) -> None:
    run, notes = stopped(request_of()), []
    resume(run, lambda event: notes.append(event.text) if isinstance(event, Note) and "threads" in event.text else None)
    assert notes == []
