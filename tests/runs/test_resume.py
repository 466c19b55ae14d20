"""A killed and resumed run matches an uninterrupted one: the same weights, bit for bit."""

from __future__ import annotations

import os
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from killing import Nursery
from phasefit.models.storage import load_model
from tiny import make_table, read_json, write_csv

KILLED = -9
SETTINGS = (
    *("denoise.max_steps=4", "contrast.max_steps=4", "finetune.max_steps=6", "finetune.lr=1e-3"),
    *("denoise.evaluate_every=2", "contrast.evaluate_every=2", "finetune.evaluate_every=2"),
)


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    made.close()


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_csv(tmp_path_factory.mktemp("data") / "queries.csv", *make_table(80))


@pytest.fixture(scope="module")
def wishes(table: Path, tiny_folder: Path) -> dict[str, Any]:
    return {"data": table, "model": tiny_folder, "settings": SETTINGS, "checkpoint_minutes": 0}


@pytest.fixture(scope="module")
def never_killed(nursery: Nursery, wishes, tmp_path_factory: pytest.TempPathFactory) -> Path:
    run = tmp_path_factory.mktemp("never") / "run"
    assert nursery.train(**wishes, out=run) == 0
    return run


def timeless(value: Any) -> Any:
    """Without times."""
    if isinstance(value, dict):
        return {key: timeless(inner) for key, inner in value.items() if key != "seconds"}
    return [timeless(inner) for inner in value] if isinstance(value, list) else value


def assert_same_run(one: Path, other: Path) -> None:
    """The same files with the same content, except for times and names."""
    names = sorted(str(path.relative_to(one)) for path in one.rglob("*") if path.is_file())
    assert names == sorted(str(path.relative_to(other)) for path in other.rglob("*") if path.is_file())
    assert "encoder/model.safetensors" in names
    for name in names:
        if name == "metrics.json":
            assert timeless(read_json(one / name)) == timeless(read_json(other / name))
        elif name == "phasefit.json":
            assert without_times(one / name) == without_times(other / name)
        elif name == "README.md":
            assert card(one) == card(other)
        elif name == "report.html":
            assert page(one) == page(other)
        else:
            assert (one / name).read_bytes() == (other / name).read_bytes(), name


def without_times(manifest: Path) -> dict[str, object]:
    """A manifest without the checksum of metrics.json, which contains times."""
    content: dict[str, object] = read_json(manifest)
    files = {name: checksum for name, checksum in content["files"].items() if name != "metrics.json"}
    return content | {"files": files}


def card(run: Path) -> str:
    """The model card without the folder's name and the seconds of the phases."""
    text = (run / "README.md").read_text(encoding="utf-8").replace(run.name, "RUN")
    return re.sub(r"(\| [\w-]+ \| [\d,]+ \| )[\d.]+ \|", r"\1seconds |", text)


def page(run: Path) -> str:
    """The page without the folder's name and the seconds of the phases."""
    text = (run / "report.html").read_text(encoding="utf-8").replace(run.name, "RUN")
    return re.sub(r"The phases</caption>.*?</table>", "", text, flags=re.DOTALL)


PLACES = [
    ("begin", 1),  # before torch is imported: it starts over
    ("step", 14),  # the last; those before it: killed again and again
    ("scored", 5),
    ("started", 2),
    ("ended", 3),
    ("tensors", 11),  # while the tensors of a checkpoint are written
    *(("flush", count) for count in (1, 6)),  # all of a checkpoint is written, but not yet named
    ("rotate", 3),  # while an old checkpoint is removed
    ("model", 1),
    ("finish", 1),
    ("finished", 1),
]
MORE_PLACES = [
    *(("step", step) for step in (1, 3, 6, 9)),
    *(("started", phase) for phase in (1, 3)),
    *(("ended", phase) for phase in (1, 2)),
    *(("tensors", count) for count in (1, 2)),
    ("flush", 2),
    *(("scored", 1), ("rotate", 1)),
]
KILLS, MORE_KILLS = 2, int(os.environ.get("PHASEFIT_KILLS", "10"))  # more: PHASEFIT_KILLS=50 make test-long
LONG = pytest.mark.long


@pytest.mark.parametrize(
    ("place", "count"),
    [
        *(pytest.param(*place, id="-".join(map(str, place))) for place in PLACES),
        *(pytest.param(*place, id="-".join(map(str, place)), marks=LONG) for place in MORE_PLACES),
    ],
)
def test_killed_at_any_place(nursery: Nursery, wishes, never_killed: Path, tmp_path: Path, place, count) -> None:
    run = tmp_path / "run"
    assert nursery.train(**wishes, out=run, kill=[place, count]) == KILLED
    assert len([path for path in (run / "checkpoints").glob("*") if path.name.isdecimal()]) <= 3
    assert nursery.resume(run) == 0
    assert_same_run(run, never_killed)
    load_model(run)


def test_the_pictures_are_the_same_too(nursery: Nursery, wishes, tmp_path: Path) -> None:
    wishes = {**wishes, "recipe": "finetune", "settings": ("finetune.max_steps=4", "finetune.evaluate_every=2")}
    assert nursery.train(**wishes, out=tmp_path / "unbroken", pictures=True) == 0
    assert nursery.train(**wishes, out=tmp_path / "resumed", pictures=True, kill=["report", 1]) == KILLED
    assert nursery.resume(tmp_path / "resumed", pictures=True) == 0
    assert list((tmp_path / "resumed").glob("*.png"))
    assert_same_run(tmp_path / "unbroken", tmp_path / "resumed")


def test_killed_again_and_again(nursery: Nursery, wishes, never_killed: Path, tmp_path: Path) -> None:
    run, kills = tmp_path / "run", 1
    assert nursery.train(**wishes, out=run, kill=["step", 2]) == KILLED
    while nursery.resume(run, kill=["step", 3]) == KILLED:
        kills += 1
    assert kills >= 4
    assert_same_run(run, never_killed)


@pytest.mark.parametrize(
    "seed", [*range(KILLS), *(pytest.param(seed, marks=LONG) for seed in range(KILLS, MORE_KILLS))]
)
def test_killed_from_outside_at_any_time(nursery: Nursery, wishes, never_killed: Path, tmp_path: Path, seed) -> None:
    clock, run, kills = random.Random(seed), tmp_path / "run", 0
    if nursery.train(**wishes, out=run, after=clock.uniform(0.1, 1.5)) == KILLED:
        kills += 1
    if not (run / "phasefit.json").exists():  # not even started
        assert nursery.train(**wishes, out=run) == 0
    while kills < 4 and nursery.resume(run, after=clock.uniform(0.2, 1.5)) == KILLED:
        kills += 1
    assert nursery.resume(run) == 0
    assert_same_run(run, never_killed)


@pytest.mark.parametrize(("place", "count"), [("begin", 1), ("step", 8)])
def test_a_large_table_is_read_again(
    nursery: Nursery, wishes, never_killed: Path, tmp_path: Path, place: str, count: int
) -> None:
    run = tmp_path / "run"
    assert nursery.train(**wishes, out=run, kill=[place, count], large=1) == KILLED
    assert nursery.resume(run, large=1) == 0
    assert_same_run(run, never_killed)


OTHERS: dict[str, dict[str, Any]] = {
    "joint": {"recipe": "joint", "settings": ("joint.max_steps=4", "finetune.max_steps=4")},
    "paper": {
        "recipe": "three-phase-paper",  # explicit pairs, random layers, a frozen encoder
        "settings": (
            "denoise.max_steps=3",
            "contrast.max_steps=3",
            "finetune.max_steps=4",
            "finetune.evaluate_every=2",
        ),
    },
    "accumulated": {
        "recipe": "finetune",
        "settings": ("finetune.max_steps=8", "finetune.batch_size=4", "finetune.accumulate=3", "finetune.patience=1"),
    },
    "tied": {"settings": (*SETTINGS, "denoise.decoder=tied", "denoise.noise=mask")},
    "blended and solved": {
        "recipe": "few-shot",
        "refit": True,
        "settings": (
            *("contrast.min_steps=4", "contrast.max_steps=4", "contrast.evaluate_every=2", "contrast.lr=1e-3"),
            *(
                "contrast.watch=pairs",
                "contrast.blend=auto",
                "contrast.average=0.5",
                "finetune.solve=true",
                "finetune.ridge=auto",
            ),
        ),
    },
    "refit": {"recipe": "contrast-finetune", "refit": True, "settings": SETTINGS[1:4] + SETTINGS[5:]},
}


@pytest.mark.parametrize("name", OTHERS)
def test_every_way_to_train(nursery: Nursery, wishes, tmp_path: Path, name: str) -> None:
    wishes = {**wishes, **OTHERS[name]}
    assert nursery.train(**wishes, out=tmp_path / "whole") == 0
    history = read_json(tmp_path / "whole" / "history.json")
    steps = sum("loss" in row for row in history)
    if wishes.get("refit"):
        steps += sum(phase["steps"] for phase in read_json(tmp_path / "whole" / "metrics.json")["refit"]["phases"])
    # One run, killed early, in the middle and at its last step: a step that is killed is taken again.
    run, before = tmp_path / "run", 0
    for step in (2, steps // 2 + 1, steps):
        kill = ["step", step - before]
        assert (nursery.resume(run, kill=kill) if before else nursery.train(**wishes, out=run, kill=kill)) == KILLED
        before = step - 1
    assert nursery.resume(run) == 0
    assert_same_run(run, tmp_path / "whole")


def test_an_encoder_from_texts_alone(nursery: Nursery, tiny_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "texts.txt").write_text("\n".join(make_table(40)[0]))
    wishes = {"data": tmp_path / "texts.txt", "model": tiny_folder, "recipe": "simcse", "checkpoint_minutes": 0}
    wishes["settings"] = ("simcse.max_steps=4", "simcse.batch_size=8", "simcse.evaluate_every=2")
    assert nursery.train(**wishes, out=tmp_path / "whole") == 0
    assert nursery.train(**wishes, out=tmp_path / "run", kill=["step", 3]) == KILLED
    assert nursery.resume(tmp_path / "run") == 0
    assert_same_run(tmp_path / "run", tmp_path / "whole")
    assert not load_model(tmp_path / "run").heads
