"""Run cases against a target, under limits, and sort the outcomes: refused, accepted, failed.

A target builds intact folders once. A case is a copy of one of them with one file edited. The oracle: the code raises
a PhasefitError or gives the right result, within the limits of time and memory, and nothing outside the copy changes.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import signal
import time
import traceback
import unicodedata
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from fuzz.edits import Edit, edited
from phasefit.control_characters import message_line
from phasefit.errors import PhasefitError

CORPUS = Path(__file__).parent / "corpus"
MEMORY = 2 << 30  # bytes that a case may allocate
REFUSED, ACCEPTED, FAILED = "refused", "accepted", "failed"


@dataclass(frozen=True)
class Case:
    """One file of an intact folder, and its edits."""

    target: str
    base: str
    file: str
    form: str
    edits: list[Edit]
    seed: str = ""
    more: dict[str, Any] = field(default_factory=dict)  # what else the target draws, such as the command

    @classmethod
    def read(cls, path: Path) -> Case:
        content = json.loads(path.read_text(encoding="utf-8"))
        content.pop("found", None)
        return cls(**content)

    def write(self, folder: Path, found: str) -> Path:
        """Add the case to the corpus."""
        content = asdict(self) | {"found": found[:300]}
        number = 1
        while (path := folder / f"{self.target}-{number:03d}.json").exists():
            number += 1
        path.write_text(json.dumps(content, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        return path


@dataclass(frozen=True)
class Outcome:
    """What a case led to; `where` groups failures with the same cause."""

    kind: str
    why: str = ""
    where: str = ""


class WrongResult(AssertionError):  # noqa: N818
    """The code accepted a file and gave a wrong result."""


class Refused(PhasefitError):  # noqa: N818
    """A command refused a folder with a sentence."""


class Bug(Exception):  # noqa: N818
    """A command ended as no command should; the second argument is the place."""


class TooSlow(BaseException):
    """The time is up; not an Exception, so that no handler swallows it."""


class Target(ABC):
    """A reader of files from strangers."""

    name: ClassVar[str]
    dangerous: ClassVar[bool] = False  # loads models: each case runs in a process of its own
    seconds: ClassVar[float] = 5.0

    def __init__(self, place: Path) -> None:
        """Work in `place`, which is outside every case: intact folders, a neighbour and a home are there."""
        self.place = place
        self.bases = place / "bases"
        self.work = place / "work"
        self.bases.mkdir(parents=True, exist_ok=True)
        for name in ("neighbour", "home", "here"):
            (place / name).mkdir(exist_ok=True)
        (place / "neighbour" / "precious.txt").write_text("of the user")
        (place / "neighbour" / "phasefit.json").write_text('{"format": 1, "status": "finished"}')

    @abstractmethod
    def draw(self, random: random.Random) -> Case:
        """A case."""

    @abstractmethod
    def execute(self, folder: Path, case: Case) -> None:
        """Read the edited copy as phasefit does; raises a PhasefitError or WrongResult."""

    @abstractmethod
    def base(self, name: str) -> Path:
        """The intact folder with this name, made when first asked for."""

    def intact(self) -> list[Case]:
        """Cases without edits, which must succeed."""
        return []

    def may_change(self, folder: Path, case: Case) -> Path | None:
        """The folder that the code may change: for commands that only read, not even the copy."""
        return None

    def case(self, seed: int, number: int) -> Case:
        """Case `number` of a seed."""
        drawn = self.draw(random.Random(f"{seed} {self.name} {number}"))
        return Case(**{**asdict(drawn), "seed": f"{seed} {number}"})

    def prepare(self, case: Case) -> Path:
        """A fresh copy of the intact folder with the edit."""
        base = self.base(case.base)
        shutil.rmtree(self.work, ignore_errors=True)
        shutil.copytree(base, self.work)
        found = sorted(self.work.glob(case.file)) if "*" in case.file else []
        file = found[-1] if found else self.work / case.file
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(edited(file.read_bytes() if file.is_file() else b"", case.edits, case.form))
        return self.work

    def try_case(self, case: Case) -> Outcome:
        """Run a case in this process, under the limits."""
        folder = self.prepare(case)
        free = self.may_change(folder, case)
        before = listing(self.place, without=free)
        try:
            with limits(self.seconds):
                self.execute(folder, case)
            outcome = Outcome(ACCEPTED)
        except (Exception, TooSlow) as error:  # noqa: BLE001 - whatever it is, it is a finding
            outcome = outcome_of(error)
        if outcome.kind != FAILED:
            changed = changes(before, listing(self.place, without=free))
            if changed:
                return Outcome(FAILED, f"changed {', '.join(changed[:3])}", "changed files")
        return outcome


def outcome_of(error: BaseException) -> Outcome:
    """Errors of phasefit refuse a file, in one sentence; any other error is a failure."""
    if not isinstance(error, PhasefitError):
        return Outcome(FAILED, f"{type(error).__name__}: {str(error)[:200]}", _where(error))
    if not is_sentence(message_line(error)):  # as the command line shows it
        return Outcome(FAILED, f"not a sentence: {error!r:.300}", "message")
    return Outcome(REFUSED, str(error))


def is_sentence(message: str) -> bool:
    """Whether an error message is one line of a sane length without control characters."""
    return 0 < len(message) < 1_500 and not any(map(_is_hidden, message))


def _is_hidden(character: str) -> bool:
    """Whether a character can hide or reorder text; joiners and direction marks belong to scripts."""
    return (
        unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp")
        and character not in "\u200c\u200d\u200e\u200f"
    )


def _where(error: BaseException) -> str:
    """The type of an error and the last place in phasefit that it passed."""
    if isinstance(error, Bug):
        return str(error.args[1])
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "/src/phasefit/" in frame.filename]
    last = frames[-1] if frames else None
    place = f" in {last.filename.partition('/src/phasefit/')[2]}:{last.name}" if last else ""
    return f"{type(error).__name__}{place}"


def listing(folder: Path, without: Path | None = None) -> dict[str, tuple[int, int, int]]:
    """Size, time and inode of everything below a folder: any change shows."""
    seen = {}
    pending = [str(folder)]
    while pending:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if without is not None and entry.path == str(without):
                    continue
                status = entry.stat(follow_symlinks=False)
                is_folder = entry.is_dir(follow_symlinks=False)
                seen[entry.path] = (
                    (0, 0, status.st_ino) if is_folder else (status.st_size, status.st_mtime_ns, status.st_ino)
                )
                if is_folder:
                    pending.append(entry.path)
    return seen


def changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What differs between two listings."""
    return sorted(name for name in {*before, *after} if before.get(name) != after.get(name))


@contextmanager
def limits(seconds: float, memory: int = MEMORY) -> Iterator[None]:
    """Stop after some seconds; allocations beyond the memory fail. The alarm of an outer limit is kept."""

    def stop(*_: Any) -> None:
        raise TooSlow(f"more than {seconds:g} s")

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    handler = signal.signal(signal.SIGALRM, stop)
    began = time.monotonic()
    left, _ = signal.setitimer(signal.ITIMER_REAL, seconds)
    resource.setrlimit(resource.RLIMIT_AS, (_address_space() + memory, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
        signal.setitimer(signal.ITIMER_REAL, max(left - (time.monotonic() - began), 0.01) if left else 0)
        signal.signal(signal.SIGALRM, handler)


def _address_space() -> int:
    with suppress(OSError, ValueError), open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * resource.getpagesize()
    return 0


@dataclass
class Tally:
    """The outcomes of one target."""

    counts: Counter[str] = field(default_factory=Counter)
    failures: dict[str, tuple[Case, Outcome, int]] = field(default_factory=dict)  # by place: the first, and how many

    @property
    def cases(self) -> int:
        return sum(self.counts.values())

    def add(self, case: Case, outcome: Outcome, expected: bool = False) -> None:
        self.counts["expected" if expected and outcome.kind == FAILED else outcome.kind] += 1
        if outcome.kind == FAILED and not expected:
            first, seen, times = self.failures.get(outcome.where, (case, outcome, 0))
            self.failures[outcome.where] = (first, seen, times + 1)
