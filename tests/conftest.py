"""Shared fixtures: a tiny encoder of every family, made once per session, and no network."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis  # noqa: F401 - if imported after `gc.freeze`, it takes its known generators for garbage
import pytest

os.environ["HF_HUB_OFFLINE"] = "1"  # before anything imports huggingface_hub
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
os.environ.setdefault("OMP_WAIT_POLICY", "passive")  # waiting threads leave the cores to the other test processes

TinyEncoder = Callable[..., Path]

# The slowest files start first, so that no test process runs one of them at the end while the others are idle; the rest
# follows in the usual order. Missing or outdated names do no harm.
LONGEST = (
    *("runs/test_resume.py", "runs/test_determinism.py", "report/test_figures.py", "training/test_processes.py"),
    *("runs/test_resume_processes.py", "runs/test_real.py", "cli/test_bad_input.py", "test_readme.py"),
    *("runs/test_train.py", "models/test_wild.py", "test_benchmarks_memory.py", "runs/test_resume_refused.py"),
    *("training/test_state.py", "training/test_loop.py", "runs/test_families.py", "phases/test_finetune.py"),
    *("studies/test_study_file.py", "phases/test_contract.py", "cli/test_every_kind.py", "cli/test_compare.py"),
    *("recipes/test_library.py", "runs/test_geometry.py", "report/test_report.py", "studies/test_auto.py"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the slowest files first; xdist distributes them in this order."""
    positions = {Path(__file__).parent / name: position for position, name in enumerate(LONGEST)}
    items.sort(key=lambda item: positions.get(item.path, len(LONGEST)))


@pytest.fixture(scope="module", autouse=True)
def _skip_imports_in_garbage_collection() -> None:
    """Exclude imported objects, half a million, from garbage collection, which runs at the end of every phase."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory: pytest.TempPathFactory) -> TinyEncoder:
    """`tiny_encoder("roberta", normalize=False, dropout=0.0)` -> a folder, the same for the same arguments."""
    from tiny import save_tiny

    made: dict[tuple[object, ...], Path] = {}

    def make(family: str = "bert", *, normalize: bool = True, dropout: float = 0.1) -> Path:
        key = (family, normalize, dropout)
        if key not in made:
            made[key] = save_tiny(tmp_path_factory.mktemp(family), family, normalize=normalize, dropout=dropout)
        return made[key]

    return make


@pytest.fixture(scope="session")
def tiny_folder(tiny_encoder: TinyEncoder) -> Path:
    """The folder of the tiny BERT; ends in Normalize, like the default model."""
    return tiny_encoder("bert")


@pytest.fixture(scope="module", autouse=True)
def _pictures_only_if_marked(request: pytest.FixtureRequest) -> Iterator[None]:
    """Runs have a card but no pictures and no map, which take longer to draw than a tiny encoder takes to train.

    Test files that need pictures have the mark `pictures`.
    """
    if request.node.get_closest_marker("pictures"):
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        without_pictures(patch)
        yield


@pytest.fixture
def no_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """For tests that need no pictures in a file with the mark `pictures`."""
    without_pictures(monkeypatch)


def without_pictures(patch: pytest.MonkeyPatch) -> None:
    """Patch runs to draw no pictures and no map, and to explain no mistakes."""
    patch.setattr("phasefit.report.run.draw_run", lambda *_, **__: [])
    patch.setattr("phasefit.report.facts.run.stage_layouts", lambda *_: {})
    patch.setattr("phasefit.report.run.mistake_words", lambda *_: {})
