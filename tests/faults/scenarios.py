"""Short commands on a tiny encoder, each run with a fault at a given operation, then repeated, then checked.

After a fault the disk has the old state or the new one; a repeated command ends with the same files as an undisturbed
one, bit for bit; files that the user made are as they were; the error is one sentence.
"""

from __future__ import annotations

import errno
import random
import re
import shutil
import types
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from conftest import without_pictures
from faults.harness import LOSSES, Disk, Loss, PowerCut, state_of
from inline_cells import InlineContext, InlineProcess
from phasefit import TextClassifier
from phasefit.cli.app import app
from phasefit.errors import ModelError, PhasefitError, RunError
from phasefit.events import PhaseStarted
from phasefit.files.atomic import discard_file, write_text
from phasefit.files.manifest import MANIFEST, read_manifest
from phasefit.runs.folder import read_started
from phasefit.runs.train import train
from phasefit.studies import work
from phasefit.studies.result import PROGRESS
from specs import run_spec
from tiny import make_table, save_tiny, write_csv

ERRORS = (errno.ENOSPC, errno.EIO)
USER_FILES = {"notes.txt": "mine", "y.csv.part": "also mine", "run.part": "this too", "recipe.toml.part": "and this"}
SETTINGS = ("contrast.max_steps=2", "finetune.max_steps=2", "contrast.evaluate_every=2", "finetune.evaluate_every=2")


class Failure(AssertionError):  # noqa: N818 - as tests call it
    """A fault after which something was lost, left behind or explained badly."""


@dataclass(frozen=True)
class Scenario:
    """A command, the folder that it starts from, and what it must not lose."""

    name: str
    start: str  # the folder of `World` with the files before the command
    run: Callable[[Any], None]
    result: str  # the file or folder that the command writes or replaces
    repeat: Callable[[Any], None]
    replaces: bool = False  # `result` exists before


class Place:
    """One folder to work in, whose path is always the same, and prepared folders to start from."""

    def __init__(self, root: Path) -> None:
        self.root, self.work = root, root / "work"

    def begin(self, start: str | None) -> None:
        """Make the working folder anew, as a copy; None: with the files of the user only."""
        shutil.rmtree(self.work, ignore_errors=True)
        if start is not None:
            shutil.copytree(self.root / "starts" / start, self.work)
            return
        self.work.mkdir()
        for name, text in USER_FILES.items():
            (self.work / name).write_text(text, encoding="utf-8")

    def keep(self, name: str) -> None:
        """Keep the working folder as one to start from."""
        shutil.copytree(self.work, self.root / "starts" / name)


class World(Place):
    """Folders with runs of a tiny encoder: none, a finished one, a stopped one that replaces it, predictions."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.encoder = save_tiny(root / "tiny")
        self.table = write_csv(root / "queries.csv", *make_table(40))
        self.texts = write_csv(root / "texts.csv", *make_table(12, seed=5))
        self.other = write_csv(root / "other.csv", *make_table(9, seed=7))
        self.begin(None)
        self.keep("empty")
        invoke(*self.training(seed=1))
        self.keep("finished")
        shutil.copytree(self.work / "run", root / "saved")  # outside the folder in which files get lost
        self.classifier = TextClassifier.load(root / "saved", device="cpu")
        with pytest.raises(KeyboardInterrupt):
            train(run_spec(self.table, **self.options()), _stop_in_the_second_phase)
        assert (self.work / "run.old").is_dir()
        self.keep("stopped")
        self.begin("finished")
        invoke("predict", str(self.work / "run"), str(self.other), "-o", str(self.work / "y.csv"), "--threads", "1")
        self.keep("predicted")

    def options(self) -> dict[str, Any]:
        return {
            **{"model": str(self.encoder), "recipe": "contrast-finetune", "settings": SETTINGS, "overwrite": True},
            **{"out": self.work / "run", "command": "phasefit train", "threads": 1},
        }

    def training(self, *more: str, seed: int = 0) -> list[str]:
        words = ["train", str(self.table), "--model", str(self.encoder), "--recipe", "contrast-finetune"]
        words += [word for setting in SETTINGS for word in ("--set", setting)]
        return [*words, "--seed", str(seed), "--threads", "1", "-o", str(self.work / "run"), *more]


def _stop_in_the_second_phase(event: Any) -> None:
    if isinstance(event, PhaseStarted) and event.index == 2:
        raise KeyboardInterrupt


def invoke(*words: str) -> None:
    """Run a command; PhasefitError with its sentence if it fails with one, Failure if it fails otherwise."""
    result = CliRunner().invoke(app, words, prog_name="phasefit")
    if result.exit_code == 0:
        return
    last = result.stderr.rstrip("\n").splitlines()[-1:]
    if result.exit_code != 2 or not last or not last[0].startswith("phasefit: ") or "a bug in phasefit" in last[0]:
        raise Failure(f"exit code {result.exit_code}: {result.stderr or result.exception!r}")
    raise PhasefitError(last[0])


# --- the scenarios ----------------------------------------------------------------------------------------------------


def _train(world: World) -> None:
    invoke(*world.training())


def _train_over(world: World) -> None:
    invoke(*world.training("--overwrite"))


def _resume(world: World) -> None:
    invoke("train", "--resume", str(world.work / "run"))


def _resume_or(again: Callable[[World], None]) -> Callable[[World], None]:
    """Resume the run if there is one to resume, otherwise repeat the command: what the messages advise."""

    def repeat(world: World) -> None:
        try:
            read_started(world.work / "run")
        except RunError:
            again(world)
        else:
            _resume(world)

    return repeat


def _resume_new_or_train(world: World) -> None:
    """After `train --overwrite`, the folder may contain the old run, which is finished."""
    try:
        finished = read_started(world.work / "run").get("status") == "finished"
    except RunError:
        finished = True
    if finished:
        _train_over(world)
    else:
        _resume(world)


def _predict(world: World) -> None:
    words = ["predict", str(world.work / "run"), str(world.texts), "-o", str(world.work / "y.csv"), "--overwrite"]
    invoke(*words, "--threads", "1", "--device", "cpu")


def _compare(world: World) -> None:
    words = ["compare", str(world.table), "-r", "majority,finetune:finetune.max_steps=2", "--seeds", "1"]
    invoke(*words, "--model", str(world.encoder), "--threads", "1", "-o", str(world.work / "study"))


def _save(world: World) -> None:
    world.classifier.save(world.work / "run", overwrite=True)


SCENARIOS = {
    scenario.name: scenario
    for scenario in (
        Scenario("train", "empty", _train, "run", _resume_or(_train)),
        Scenario("resume", "stopped", _resume, "run", _resume),
        Scenario("overwrite", "finished", _train_over, "run", _resume_new_or_train, replaces=True),
        Scenario("predict", "predicted", _predict, "y.csv", _predict, replaces=True),
        Scenario("compare", "empty", _compare, "study", _compare),
        Scenario("save", "finished", _save, "run", _save, replaces=True),
    )
}


class _Cell(InlineProcess):
    """A cell in this process that reports its errors as a separate process would (`studies.work.main`)."""

    def start(self) -> None:
        cell, folder, keep = self.args
        try:
            work.make_folders(folder)
            discard_file(folder / work.ERROR)
            work.carry_out(cell, folder, keep)
        except PhasefitError as error:
            write_text(folder / work.ERROR, str(error))
        except Exception as error:  # noqa: BLE001 - as at the top level of a process
            write_text(folder / work.ERROR, f"{type(error).__name__}: {error}")


class _Context(InlineContext):
    Process = _Cell


@contextmanager
def conditions() -> Iterator[None]:
    """No pictures, no clock and no memory figures in results, and cells in this process."""
    context: Any = _Context()
    clock = types.SimpleNamespace(perf_counter=lambda: 0.0)
    with pytest.MonkeyPatch.context() as patch:
        without_pictures(patch)
        patch.setattr("phasefit.training.loop.time", clock)
        patch.setattr("phasefit.studies.work.time", clock)
        patch.setattr("phasefit.studies.work.peak_megabytes", lambda: 1.0)
        patch.setattr("phasefit.studies.processes.get_context", lambda method: context)
        yield


# --- injecting and checking -------------------------------------------------------------------------------------------


@dataclass
class Count:
    """How many faults of a scenario were injected, and those after which something was wrong."""

    scenario: str
    operations: int = 0
    cases: int = 0
    injected: int = 0
    repeated: int = 0  # the other cases left a state that had been checked before
    failures: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.scenario:10} {self.operations:4} operations  {self.injected:5} of {self.cases:5} faults injected  "
            f"{self.repeated:4} different states repeated  {len(self.failures)} failures"
        )


class Injector:
    """Runs one scenario with faults; the undisturbed run is the reference."""

    def __init__(self, world: Place, scenario: Scenario) -> None:
        self.world, self.scenario = world, scenario
        self.count = Count(scenario.name)
        self._different: Sequence[Loss] = LOSSES  # at the operation that failed last
        self._passed: set[tuple[tuple[str, str], ...]] = set()
        world.begin(scenario.start)
        self.old = state_of(world.work / scenario.result) if scenario.replaces else {}
        disk = self._disk()
        with disk.installed():
            scenario.run(world)
        self.operations = disk.operations
        self.count.operations = len(self.operations)
        self.new = state_of(world.work)
        assert self._is_new()
        assert not self._left_over()

    def all(self) -> None:
        """Fail every operation in every way."""
        self.some(range(1, len(self.operations) + 2))

    def some(self, numbers: Sequence[int], losses: Sequence[Loss] = LOSSES, errors: Sequence[int] = ERRORS) -> None:
        """Fail some operations. Number `count + 1` is a power cut after the last one."""
        for number in numbers:
            if number <= len(self.operations):
                for error in errors:
                    self._attempt(number, errno.errorcode[error], partial(self._fail, number, error))
            waiting = list(losses)
            while waiting:
                loss = waiting.pop(0)
                self._attempt(number, f"power cut, {loss}", partial(self._cut, number, loss))
                waiting = [each for each in waiting if each in self._different]

    def sample(self, size: int, seed: int = 0) -> None:
        """Fail a few operations, each in one way."""
        chance = random.Random(f"{self.scenario.name} {seed}")
        numbers = sorted(chance.sample(range(1, len(self.operations) + 2), min(size, len(self.operations) + 1)))
        for number in numbers:
            way = chance.randrange(len(ERRORS) + len(LOSSES)) if number <= len(self.operations) else len(ERRORS)
            self.some([number], LOSSES[way - len(ERRORS) :][:1] if way >= len(ERRORS) else (), ERRORS[way:][:1])

    def check(self) -> None:
        """Print the counts; AssertionError with every failure."""
        print(self.count)  # noqa: T201 - shown by pytest -s and by report.py
        assert not self.count.failures, "\n".join([str(self.count), *self.count.failures])

    def _attempt(self, number: int, case: str, attempt: Callable[[], None]) -> None:
        self.count.cases += 1
        try:
            attempt()
        except Failure as failure:
            operation = (*self.operations, "end")[number - 1].replace(str(self.world.work), "")
            self.count.failures.append(f"{self.scenario.name}, operation {number} ({operation}), {case}: {failure}")

    def _disk(self, at: int = 0, error: int | None = None) -> Disk:
        aside = self.world.root / "aside"
        shutil.rmtree(aside, ignore_errors=True)
        return Disk(self.world.work, aside, at, error)

    def _fail(self, number: int, error: int) -> None:
        """An operation fails with an error of the system; the process goes on."""
        self.world.begin(self.scenario.start)
        disk = self._disk(number, error)
        succeeded = self._run(disk)
        if succeeded and not self._is_new(strictly=False):
            raise Failure("the command reported success, but the result is not complete")
        self._check_and_repeat()

    def _cut(self, number: int, loss: Loss) -> None:
        """The power fails; what was not synced is lost."""
        self.world.begin(self.scenario.start)
        disk = self._disk(number)
        finished = False
        try:
            finished = self._run(disk)
        except PowerCut:
            pass
        else:
            if disk.injected:
                raise Failure("the power cut was swallowed")
        self._different = disk.distinct(LOSSES)
        disk.lose(loss, number)
        if finished and not self._is_new():
            raise Failure("the command had ended, but the result is lost")
        self._check_and_repeat(finished)

    def _run(self, disk: Disk) -> bool:
        """Whether the command succeeded; anything but a PhasefitError of one line is a Failure."""
        try:
            with disk.installed():
                self.scenario.run(self.world)
        except PhasefitError as error:
            if "\n" in str(error):
                raise Failure(f"more than one sentence: {error}") from error
            return False
        except Exception as error:
            if isinstance(error, Failure):
                raise
            raise Failure(f"{type(error).__name__}: {error}") from error
        finally:
            self.count.injected += disk.injected or disk.at > len(self.operations)
        return True

    def check_state(self) -> None:
        """Check the files after a fault, repeat the command and check them again; Failure if anything is wrong."""
        self._check_and_repeat()

    def _check_and_repeat(self, finished: bool = False) -> None:
        self._check_kept()
        state = tuple(state_of(self.world.work).items())
        if state in self._passed:
            return
        self.count.repeated += 1
        if not finished:
            try:
                self.scenario.repeat(self.world)
            except PhasefitError as error:
                raise Failure(f"repeating failed: {error}; before it: {sorted(dict(state))}") from error
        if not self._is_new():
            raise Failure(f"the repeated command gave another result: {self._difference()}")
        if left := self._left_over():
            raise Failure(f"left behind: {left}")
        self._check_user_files()
        self._passed.add(state)

    def _check_kept(self) -> None:
        """What was there before, or what takes its place, must be complete."""
        self._check_user_files()
        if not self.scenario.replaces or self._is_new(strictly=False):
            return
        result = self.world.work / self.scenario.result
        places = [result, *sorted(self.world.work.glob(f"{result.name}.old*"))]
        if not any(_contains(state_of(place), self.old) for place in places):
            raise Failure(f"neither the old nor the new result is complete: {sorted(state_of(self.world.work))}")

    def _check_user_files(self) -> None:
        for name, text in USER_FILES.items():
            path = self.world.work / name
            if not path.is_file() or path.read_text(encoding="utf-8") != text:
                raise Failure(f"a file of the user is lost or changed: {name}")

    def _is_new(self, *, strictly: bool = True) -> bool:
        """Whether the result is complete: every file of the undisturbed run, bit for bit."""
        return not self._difference(strictly=strictly)

    def _difference(self, *, strictly: bool = True) -> list[str]:
        """The files that differ; unless strictly, a manifest may still name the run that it replaces.

        The log of evaluations may lack lines, or have lines twice, which its readers know.
        """
        now = state_of(self.world.work)
        different = [
            name for name, digest in self.new.items() if now.get(name) != digest and Path(name).name != PROGRESS
        ]
        return [name for name in different if strictly or name != f"run/{MANIFEST}" or not self._is_finished()]

    def _is_finished(self) -> bool:
        try:
            return bool(read_manifest(self.world.work / "run"))
        except ModelError:
            return False

    def _left_over(self) -> list[str]:
        """Files that an undisturbed run does not leave.

        If the power fails after the old run was moved away and before the new one names it, the old run stays where it
        is: it looks like a copy that the user made. A cell that has its result may keep its lock, and also its run: it
        looks like one that --keep-runs kept. Predictions that could not be written stay in the JSON Lines file that the
        error named.
        """
        left = sorted(set(state_of(self.world.work)) - set(self.new))
        kept = self.world.work / f"{self.scenario.result}.old"
        if self.scenario.replaces and kept.is_dir() and _contains(state_of(kept), self.old):
            left = [name for name in left if Path(name).parts[0] != kept.name]
        kept_on_purpose = re.compile(r"study/cells/[0-9a-f]+/(run(/|$)|\.lock$)|y(-\d+)?\.jsonl$")
        return [name for name in left if not kept_on_purpose.match(name)]


def _contains(state: dict[str, str], part: dict[str, str]) -> bool:
    return all(state.get(name) == digest for name, digest in part.items())
