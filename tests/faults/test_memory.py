"""Running out of memory at any point of a command loses nothing, and is one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from faults.scenarios import SCENARIOS, Failure, Injector, World, conditions, invoke
from phasefit.errors import PhasefitError

POINTS = [  # scenario, function, and which of its calls fails
    ("train", "phasefit.runs.job.prepare", 1),
    ("train", "phasefit.runs.train.resolve_recipe", 1),
    ("overwrite", "phasefit.models.storage.load_encoder", 1),
    ("overwrite", "phasefit.models.encoder.encoder.Encoder.tokenise", 1),
    ("train", "phasefit.training.loop._step", 1),
    ("overwrite", "phasefit.training.loop._step", 3),
    ("train", "phasefit.training.loop.add_gradients", 2),
    ("overwrite", "phasefit.training.loop._evaluate", 2),
    ("train", "phasefit.runs.fitting.checkpointer.write_checkpoint", 1),
    ("overwrite", "phasefit.runs.fitting.checkpointer.write_checkpoint", 2),
    ("train", "phasefit.training.checkpoints.write_tensors", 2),
    ("resume", "phasefit.training.checkpoints.load_file", 1),
    ("resume", "phasefit.runs.execution.score", 1),
    ("overwrite", "phasefit.runs.execution.decide", 1),
    ("resume", "phasefit.runs.execution.run_geometry", 1),
    ("overwrite", "phasefit.models.encoder.encoder.Encoder.save", 1),
    ("train", "phasefit.runs.results.write_seen", 1),
    ("overwrite", "phasefit.runs.results.write_json", 2),
    ("resume", "phasefit.runs.folder.RunFolder.finish", 1),
    ("overwrite", "phasefit.runs.folder._discard_run", 1),
    ("predict", "phasefit.models.model.Model.predict_outputs", 1),
    ("predict", "phasefit.data.io.frames._write", 1),
    ("compare", "phasefit.studies.work.slim", 1),
    ("compare", "phasefit.studies.run_study.write_study_page", 1),
    ("save", "phasefit.models.storage.write_tensors", 1),
    ("save", "phasefit.runs.folder._discard_run", 1),
]
SAMPLE = {POINTS[place] for place in (11, 19, 21, 25)}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with conditions():
        yield World(tmp_path_factory.mktemp("world"))


def raise_once(patch: pytest.MonkeyPatch, target: str, count: int) -> list[int]:
    """Let one call of a function raise MemoryError; returns the calls so far."""
    owner_name, _, name = target.rpartition(".")
    owner = _resolved(owner_name)
    real, calls = getattr(owner, name), []

    def call(*arguments: Any, **named: Any) -> Any:
        calls.append(len(calls) + 1)
        if len(calls) == count:
            raise MemoryError
        return real(*arguments, **named)

    patch.setattr(owner, name, call)
    return calls


def _resolved(name: str) -> Any:
    from importlib import import_module

    try:
        return import_module(name)
    except ModuleNotFoundError:
        module, _, attribute = name.rpartition(".")
        return getattr(import_module(module), attribute)


@pytest.mark.parametrize(
    ("scenario", "target", "count"),
    [pytest.param(*point, marks=() if point in SAMPLE else pytest.mark.long, id="-".join(map(str, point)))
     for point in POINTS],
)  # fmt: skip
def test_out_of_memory(world: World, scenario: str, target: str, count: int) -> None:
    injector = Injector(world, SCENARIOS[scenario])
    world.begin(SCENARIOS[scenario].start)
    with pytest.MonkeyPatch.context() as patch:
        calls = raise_once(patch, target, count)
        expected = MemoryError if scenario == "save" else PhasefitError  # Python, or a sentence of the command line
        with pytest.raises(expected, match=None if scenario == "save" else "(?i)memory"):
            SCENARIOS[scenario].run(world)
    assert len(calls) >= count
    injector.check_state()


def test_a_report_that_fails_costs_only_the_report(world: World) -> None:
    world.begin("finished")
    with pytest.MonkeyPatch.context() as patch:
        calls = raise_once(patch, "phasefit.report.run.run_card", 1)
        invoke(*world.training("--overwrite"))
    assert calls
    assert (world.work / "run" / "heads.safetensors").is_file()
    assert not (world.work / "run.old").exists()


def test_other_errors_are_failures_of_the_scenario(world: World) -> None:
    world.begin("predicted")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("phasefit.models.model.Model.predict_outputs", lambda *_, **__: 1 / 0)
        with pytest.raises(Failure, match="a bug in phasefit"):
            SCENARIOS["predict"].run(world)
