"""Errors of the disk and power cuts at any operation lose nothing: the old state or the new one, and one sentence."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from faults.scenarios import SCENARIOS, Injector, World, conditions

SAMPLE = {"train": 2, "resume": 2, "overwrite": 2, "predict": 3, "compare": 1, "save": 4}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with conditions():
        yield World(tmp_path_factory.mktemp("world"))


@pytest.mark.parametrize("name", SCENARIOS)
def test_faults_at_a_few_operations(world: World, name: str) -> None:
    injector = Injector(world, SCENARIOS[name])
    injector.sample(SAMPLE[name])
    injector.check()


@pytest.mark.long
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", SCENARIOS)
def test_faults_at_every_operation(world: World, name: str) -> None:
    injector = Injector(world, SCENARIOS[name])
    injector.all()
    injector.check()
    assert injector.count.injected == injector.count.cases
