"""Check out revisions and train cases for `same_weights.py`."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from same_weights_cases import MACHINE, OUTPUTS, RUN, Case, digest, write_tables
from same_weights_compare import steps_of, untrained_phases

ROOT = Path(__file__).resolve().parents[1]
WORKING_TREE = ("WORK", ".")
SOURCE = "src"
LIMIT = 1200  # time limit of a command in seconds
LAST_LINES = 15  # shown for a failed command
FIXED = {
    **{"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"},
    **{"PYTHONUTF8": "1", "PHASEFIT_DEBUG": "1"},
}
# They would import another copy of the package, or make every process compile every module.
DROPPED = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")


RUNNING: set[subprocess.Popen[str]] = set()


class CaseFailedError(Exception):
    """A case could not be trained; the message gives the reason."""


@dataclass(frozen=True)
class Revision:
    """A revision and its checked-out source."""

    name: str  # as given
    commit: str | None  # None: the working tree
    source: Path  # the folder that holds the package


@dataclass(frozen=True)
class Result:
    """The folder of a trained case."""

    folder: Path
    seconds: float | None  # None: kept from an earlier call


def check_out(name: str, folder: Path) -> Revision:
    """Copy the source of a revision into its own folder."""
    folder.mkdir(parents=True)
    if name in WORKING_TREE:
        shutil.copytree(ROOT / SOURCE, folder / SOURCE, ignore=shutil.ignore_patterns("__pycache__"))
        commit = None
    else:
        commit = resolve(name)
        archive = subprocess.run(["git", "archive", commit, SOURCE], cwd=ROOT, capture_output=True, check=True).stdout
        with tarfile.open(fileobj=BytesIO(archive)) as files:
            files.extractall(folder, filter="data")
    revision = Revision(name, commit, folder / SOURCE)
    _check_import(revision)
    return revision


def resolve(name: str) -> str:
    """The full hash of a commit."""
    command = ["git", "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"revision {name!r} not found in this repository")
    return done.stdout.strip()


def kept_folder(keep: Path, case: Case, commit: str) -> Path:
    """Where the result of a commit is kept."""
    return keep / commit / f"{case.name}-{digest(case)}"


def result_of(case: Case, revision: Revision, scratch: Path, keep: Path | None) -> Result:
    """Train a case or return its kept result; without `keep` the result goes to `scratch`."""
    kept = kept_folder(keep, case, revision.commit) if keep and revision.commit else None
    if kept and kept.is_dir():
        return Result(kept, None)
    parent = kept.parent if kept else scratch
    parent.mkdir(parents=True, exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{case.name}.part-", dir=parent))
    start = time.monotonic()
    try:
        make_result(case, revision, folder)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    if kept and not kept.is_dir():
        folder = folder.rename(kept)
    return Result(folder, time.monotonic() - start)


def make_result(case: Case, revision: Revision, folder: Path) -> None:
    """Train a case and run its commands in a folder."""
    write_tables(folder)
    (folder / OUTPUTS).mkdir()
    command = ("train", *case.train, "-o", RUN, *MACHINE)
    if case.stop_after:
        stopped_at = _stop(command, case.stop_after, revision, folder)
        _run(("train", "--resume", RUN, "--quiet"), revision, folder)
    else:
        stopped_at = 0
        _run(command, revision, folder)
    _check_phases(folder, stopped_at)
    for name, words in case.outputs:
        printed, file = _run((*words, *MACHINE), revision, folder), folder / OUTPUTS / name
        if "-o" not in words:
            file.write_text(printed, encoding="utf-8")
        elif not file.is_file():
            raise CaseFailedError(f"`phasefit {' '.join(words)}` did not write {name}")


def stop_all() -> None:
    """Kill all running commands."""
    for process in list(RUNNING):
        process.kill()


def _check_import(revision: Revision) -> None:
    """Check that phasefit is imported from the revision, not from the interpreter's own packages."""
    command = [sys.executable, "-c", "import phasefit; print(phasefit.__file__)"]
    done = subprocess.run(command, env=_environment(revision), capture_output=True, text=True, check=False)
    if done.returncode or not Path(done.stdout.strip()).is_relative_to(revision.source):
        raise SystemExit(f"{revision.name}: phasefit cannot be imported from its source\n{_last_lines(done.stderr)}")


def _check_phases(folder: Path, stopped_at: int) -> None:
    """Check that every phase was trained, and that a stopped run was in the middle of its first phase."""
    try:
        problems, (first, *_) = untrained_phases(folder), steps_of(folder).values()
    except (OSError, KeyError, ValueError) as error:
        raise CaseFailedError(f"cannot read the steps of its phases from metrics.json: {error!r}") from error
    if stopped_at and stopped_at >= first:
        problems.append(f"it was stopped after step {stopped_at}, not in the middle of its first phase")
    if problems:
        raise CaseFailedError("; ".join(problems))


def _run(words: tuple[str, ...], revision: Revision, folder: Path) -> str:
    """Run a command and return its output."""
    with _started(words, revision, folder) as process:
        printed, errors = process.communicate(timeout=LIMIT)
    if process.returncode:
        raise CaseFailedError(_failure(words, process.returncode, errors))
    return printed


def _stop(words: tuple[str, ...], checkpoints: int, revision: Revision, folder: Path) -> int:
    """Start a command, stop it after that many checkpoints, and return the number of the last one.

    With a checkpoint after every step, this is the last step before the stop.
    """
    with _started(words, revision, folder) as process:
        limit = time.monotonic() + LIMIT
        while _last_checkpoint(folder) < checkpoints and process.poll() is None and time.monotonic() < limit:
            time.sleep(0.02)
        running = process.poll() is None
        if running:
            process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=LIMIT)
    if not running or not process.returncode:
        raise CaseFailedError(f"it finished before it could be stopped: {_failure(words, process.returncode, errors)}")
    return _last_checkpoint(folder)


@contextmanager
def _started(words: tuple[str, ...], revision: Revision, folder: Path) -> Iterator[subprocess.Popen[str]]:
    """A `phasefit` command that ends with the block."""
    process = subprocess.Popen(
        [sys.executable, "-m", "phasefit", *words],
        cwd=folder,
        env=_environment(revision),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    RUNNING.add(process)
    try:
        yield process
    except subprocess.TimeoutExpired as error:
        raise CaseFailedError(f"`phasefit {' '.join(words)}` took more than {LIMIT} seconds") from error
    finally:
        RUNNING.discard(process)
        if process.poll() is None:
            process.kill()
            process.communicate()


def _environment(revision: Revision) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in DROPPED}
    return kept | FIXED | {"PYTHONPATH": str(revision.source)}


def _last_checkpoint(folder: Path) -> int:
    numbers = [path.name for path in (folder / RUN / "checkpoints").glob("*") if path.name.isdecimal()]
    return max(map(int, numbers), default=0)


def _failure(words: tuple[str, ...], code: int, errors: str) -> str:
    return f"`phasefit {' '.join(words)}` failed with exit code {code}; its last lines:\n{_last_lines(errors)}"


def _last_lines(errors: str) -> str:
    return "\n".join(f"    {line}" for line in errors.splitlines()[-LAST_LINES:])
