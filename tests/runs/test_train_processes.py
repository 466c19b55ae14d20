"""The command on several processes: the model and the scores of one, and one folder."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from safetensors.torch import load_file

from groups import Group
from killing import Nursery
from tiny import make_table, read_json, write_csv

SETTINGS = (
    *("denoise.max_steps=3", "denoise.decoder_dropout=0", "denoise.batch_size=9"),
    *("contrast.max_steps=3", "contrast.min_steps=1", "contrast.batch_size=14"),
    *("finetune.max_steps=3", "finetune.min_steps=1", "finetune.dropout=0", "finetune.batch_size=11"),
)


@pytest.fixture(scope="module")
def nursery() -> Iterator[Nursery]:
    made = Nursery()
    yield made
    made.close()


@pytest.mark.slow
@pytest.mark.parametrize("count", [2, pytest.param(4, marks=pytest.mark.long)])
def test_a_run_has_the_weights_and_scores_of_one_process(
    nursery: Nursery, tiny_encoder, tmp_path: Path, count: int
) -> None:
    table = write_csv(tmp_path / "queries.csv", *make_table(150, sizes=(80, 40, 30)))
    words = [str(table), "-r", "three-phase", "-m", str(tiny_encoder("bert", dropout=0.0)), "--device", "cpu"]
    words += [part for setting in SETTINGS for part in ("--set", setting)]
    runs = {1: tmp_path / "one", count: tmp_path / "several"}
    for processes, run in runs.items():
        group = Group(nursery, tmp_path, *words, "-o", str(run), signals={}, count=processes)
        assert group.wait() == [0] * processes, group.outputs
        assert not any(group.outputs[1:]), "only the first process prints"
    alone, several = runs.values()
    for name in ("encoder/model.safetensors", "heads.safetensors"):
        one, other = load_file(alone / name), load_file(several / name)
        assert one.keys() == other.keys()
        assert max((one[key] - other[key]).abs().max().item() for key in one) < 2e-5
    first, second = (read_json(run / "metrics.json") for run in (alone, several))
    for split in ("validation", "test"):
        same = {name: value for name, value in first[split].items() if isinstance(value, float)}
        assert same
        assert {name: second[split][name] for name in same} == pytest.approx(same, abs=1e-4)
    assert read_json(several / "phasefit.json")["processes"] == count
    written = {path.name for path in tmp_path.iterdir() if not path.name.startswith("output-")}
    assert written == {"queries.csv", "one", "several"}, "only the first process writes"
    files = [sorted(path.relative_to(run).as_posix() for path in run.rglob("*")) for run in (alone, several)]
    assert files[0] == files[1]


def test_the_encoder_was_trained_without_dropout(tiny_encoder) -> None:
    """Otherwise the comparison above would not be about equality."""
    from phasefit.models.encoder.dropout import dropout_rates
    from phasefit.models.encoder.encoder import load_encoder

    assert set(dropout_rates(load_encoder(str(tiny_encoder("bert", dropout=0.0))))) == {0.0}
