"""A share of the fuzzers, and every case that they ever failed; `make fuzz` runs them for minutes.

The fuzzers prove that they can fail: with a check removed, they must find it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from fuzz import expected, harness, tables
from fuzz.edits import edited
from fuzz.harness import FAILED, Case, Outcome, Target
from fuzz.targets import TARGETS, make
from fuzz.worker import Worker
from phasefit.data.io.dialect import Dialect
from phasefit.kinds.decision import Decision

LIGHT = [name for name, target in TARGETS.items() if not target.dangerous]
CASES = {"tables": 60, "labels": 60, "decisions": 60, "recipes": 40, "tasks": 40, "studies": 12}
IN_FORKS = 120  # cases of each dangerous target in `make test-long`
CORPUS = sorted(harness.CORPUS.glob("*.json"))
BIGGEST = 4_000  # bytes of a case in the corpus

pytestmark = pytest.mark.filterwarnings("ignore")  # readers that we compare with warn about what they repair


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Target]:
    """The targets, each in a folder of its own."""
    return {name: make(name, tmp_path_factory.mktemp(name)) for name in TARGETS}


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def check(case: Case, outcome: Outcome) -> None:
    """Fail with a case that can be copied into the corpus."""
    if outcome.kind == FAILED and not expected.is_expected(case, outcome):
        pytest.fail(f"{outcome.where}: {outcome.why}\n{case}")


@pytest.mark.parametrize("name", LIGHT)
def test_a_share_of_the_cases(name: str, made: dict[str, Target]) -> None:
    for number in range(CASES[name]):
        case = made[name].case(1, number)
        check(case, made[name].try_case(case))


@pytest.mark.parametrize("path", CORPUS, ids=lambda path: path.stem)
def test_what_once_failed(path: Path, made: dict[str, Target]) -> None:
    case = Case.read(path)
    assert path.stat().st_size < BIGGEST
    check(case, made[case.target].try_case(case))


@pytest.mark.parametrize("bomb", tables.BOMBS)
def test_zip_bombs_are_refused(bomb: str, made: dict[str, Target]) -> None:
    outcome = made["tables"].try_case(Case("tables", f"{tables.BOMB}.{bomb}", "table.xlsx", "bytes", []))
    assert outcome.kind == harness.REFUSED, outcome


@pytest.mark.long
@pytest.mark.parametrize("name", LIGHT)
def test_many_cases(name: str, made: dict[str, Target]) -> None:
    for number in range(20 * CASES[name]):
        case = made[name].case(2, number)
        check(case, made[name].try_case(case))


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Worker]:
    """A process that forks for every case."""
    worker = Worker(tmp_path_factory.mktemp("worker"))
    yield worker
    worker.close()


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in TARGETS if name not in LIGHT])
def test_many_cases_in_forks(name: str, worker: Worker) -> None:
    for number in range(IN_FORKS):
        check(*worker.run(name, seed=2, number=number))


def test_tables_are_compared_with_duckdb(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text('text,label\n"a, b",c\n')
    assert tables.with_duckdb(tmp_path / "t.csv", Dialect(",", "utf-8")) == [["text", "label"], ["a, b", "c"]]


# --- the fuzzers themselves -------------------------------------------------------------------------------------------


def test_the_same_seed_draws_the_same_cases(made: dict[str, Target]) -> None:
    for name in LIGHT:
        assert [made[name].case(3, number) for number in range(5)] == [
            made[name].case(3, number) for number in range(5)
        ]


def test_a_removed_check_is_found(made: dict[str, Target], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Decision, "__post_init__", lambda _: None)
    target = made["decisions"]
    assert any(target.try_case(target.case(1, number)).kind == FAILED for number in range(200))


def test_a_wrong_reader_is_found(made: dict[str, Target], monkeypatch: pytest.MonkeyPatch) -> None:
    from phasefit.data.io import frames

    right = frames.read_file

    def stripped(path: Path, *given: Dialect) -> frames.FileContent:
        content = right(path, *given)
        return replace(content, frame=content.frame.map(lambda one: one.strip() if isinstance(one, str) else one))

    monkeypatch.setattr(frames, "read_file", stripped)
    target = made["tables"]
    assert any(target.try_case(target.case(1, number)).where == "WrongResult" for number in range(100))


def test_slowness_memory_and_changed_files_are_found(tmp_path: Path) -> None:
    class Bad(Target):
        name = "bad"
        seconds = 0.2

        def draw(self, random: object) -> Case:
            raise NotImplementedError

        def base(self, name: str) -> Path:
            (self.bases / name).mkdir(exist_ok=True)
            (self.bases / name / "file").write_bytes(b"{}")
            return self.bases / name

        def execute(self, folder: Path, case: Case) -> None:
            if case.base == "slow":
                while True:
                    pass
            if case.base == "greedy":
                bytearray(2 * harness.MEMORY)
            (self.place / "neighbour" / "precious.txt").write_text("gone")

    target = Bad(tmp_path / "bad")
    for name, where in {"slow": "TooSlow", "greedy": "MemoryError", "rude": "changed files"}.items():
        assert target.try_case(Case("bad", name, "file", "json", [])).where == where


def test_edits_apply_to_files_that_have_changed_since() -> None:
    edits = [
        {"do": "set", "at": ["a", "b", 3], "to": 1},
        {"do": "delete", "at": ["x"]},
        {"do": "append", "at": [0], "to": 1},
    ]
    assert edited(b'{"a": 1}', edits, "json") == b'{"a": 1}'
    assert edited(b"", [{"do": "flip", "share": 0.5, "bit": 1}], "json") == b""
