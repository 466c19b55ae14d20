"""Shards and cells on a real Ray cluster of two nodes: the same output as on this machine, whatever is lost."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from phasefit.data.labels import label_space
from phasefit.models.encoder.encoder import load_encoder
from phasefit.models.heads import Head
from phasefit.models.model import TASK as TASK_NAME
from phasefit.models.model import Model
from phasefit.runs.results import save_model
from ray_nodes import TwoNodes, during
from sharded import content, invoke, save_small
from tiny import make_table

pytestmark = [pytest.mark.long, pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed")]

SHARDS = 300
ACTOR, TASK = "ShardActor.execute", "run_cell"


@pytest.fixture(scope="module")
def nodes() -> Iterator[TwoNodes]:
    cluster = TwoNodes()
    yield cluster
    cluster.close()


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, a table, and its predictions by one process."""
    folder = tmp_path_factory.mktemp("world")
    save_small(folder / "model")
    rows = [f"{word} day number {row}" for row in range(SHARDS) for word in ("good", "bad", "", "the na")]
    pd.DataFrame({"text": rows}).to_csv(folder / "in.csv", index=False)
    run(folder, "local")
    assert len(content(folder / "local")) == SHARDS + 1
    return folder


def run(world: Path, out: str, *words: str) -> None:
    asked = ["predict", world / "model", world / "in.csv", "-o", f"{world}/{out}/", "--shard-rows", 4, "--quiet"]
    result = invoke(*asked, *(words or ("--threads", "1")))
    assert result.exit_code == 0, (result.output, result.exception)


def finished(folder: Path) -> int:
    return len(list(folder.glob("part-*.csv")))


def lost_in_the_middle(folder: Path, lose: Any) -> Any:
    """Lose something once a few shards are finished, and note how many are when it is lost."""

    def attempt() -> bool:
        before = finished(folder)
        if not 3 <= before < SHARDS or not lose():
            return False
        assert finished(folder) < SHARDS, "too late"
        return True

    return attempt


def test_actors_write_what_one_process_writes(nodes: TwoNodes, world: Path) -> None:
    run(world, "ray", "--engine", nodes.engine)
    assert content(world / "ray") == content(world / "local")


def test_a_killed_actor_loses_nothing(nodes: TwoNodes, world: Path) -> None:
    lose = lost_in_the_middle(world / "actor", lambda: nodes.lose_worker(ACTOR))
    during(lambda: run(world, "actor", "--engine", nodes.engine), lose)
    assert content(world / "actor") == content(world / "local")


def test_a_killed_node_loses_nothing(nodes: TwoNodes, world: Path) -> None:
    lose = lost_in_the_middle(world / "node", lambda: nodes.lose_node(ACTOR))
    try:
        during(lambda: run(world, "node", "--engine", nodes.engine), lose)
    finally:
        nodes.add_node()
    assert content(world / "node") == content(world / "local")


def test_output_is_resumed_on_the_other_engine(nodes: TwoNodes, world: Path) -> None:
    for first, then in ((("--threads", "1"), ("--engine", nodes.engine)), (("--engine", nodes.engine), ())):
        run(world, "both", *first)
        for number, part in enumerate(sorted((world / "both").glob("part-*.csv"))):
            if number % 3:
                part.unlink()
        run(world, "both", *then)
        assert content(world / "both") == content(world / "local")


@pytest.mark.parametrize(("command", "format"), [("predict", "jsonl"), ("embed", "npy")])
def test_an_encoder_gives_the_same_bytes(
    nodes: TwoNodes, world: Path, tiny_folder: Path, tmp_path: Path, command: str, format: str
) -> None:
    model = Model(load_encoder(str(tiny_folder)))
    model.heads[TASK_NAME] = Head("linear", model.encoder.dimension, 3).eval()
    model.spaces[TASK_NAME] = label_space(["a", "b", "c"])
    save_model(model, tmp_path / "model")
    texts, _ = make_table(90)
    pd.DataFrame({"text": texts}).to_csv(tmp_path / "in.csv", index=False)
    asked = [command, tmp_path / "model", tmp_path / "in.csv", "--out-format", format, "--shard-rows", "20", "--quiet"]
    for out, words in (("local", ("--threads", "1")), ("ray", ("--engine", nodes.engine))):
        result = invoke(*asked, "-o", f"{tmp_path}/{out}/", *words)
        assert result.exit_code == 0, (result.output, result.exception)
    assert content(tmp_path / "ray") == content(tmp_path / "local")
    assert len(content(tmp_path / "ray")) == 6


def test_usage_statistics_are_off(nodes: TwoNodes) -> None:
    from ray._common.usage import usage_lib

    assert not usage_lib.usage_stats_enabled()


def test_a_model_that_a_worker_cannot_use_is_one_sentence(nodes: TwoNodes, world: Path) -> None:
    asked = ["predict", world / "model", world / "in.csv", "-o", f"{world}/wide.csv", "--engine", nodes.engine]
    result = invoke(*asked, "--threads", "3")
    assert result.exit_code == 2
    assert "the largest node of the Ray cluster has 1 CPUs, fewer than the 3 threads" in " ".join(result.output.split())
    result = invoke(*asked, "--reject-below", "0.5", "--probabilities", "top:9", "--text", "none")
    assert (result.exit_code, "there is no column 'none'" in result.output) == (2, True), result.output


def compare(world: Path, tiny_folder: Path, out: str, *words: str) -> dict[str, Any]:
    recipes = "tfidf,finetune:finetune.max_steps=12"
    asked = ["compare", world / "topics.csv", "-r", recipes, "--seeds", "2", "--model", tiny_folder, "--threads", "1"]
    result = invoke(*asked, "-o", world / out, "--ledger", world / f"{out}-ledger", "--json", "--quiet", *words)
    assert result.exit_code == 0, (result.output, result.exception)
    return {"table": without_costs(json.loads(result.stdout)), "ledger": ledger(world / f"{out}-ledger")}


def without_costs(value: Any) -> Any:
    """A study without what differs between two runs of the same command: time and memory."""
    if isinstance(value, dict):
        costs = ("seconds", "minutes", "memory_mb", "folder", "command", "report")
        return {name: without_costs(one) for name, one in value.items() if name not in costs}
    return [without_costs(one) for one in value] if isinstance(value, list) else value


def ledger(folder: Path) -> dict[str, Any]:
    entries = {path.name: without_costs(json.loads(path.read_text(encoding="utf-8"))) for path in folder.iterdir()}
    for entry in entries.values():
        del entry["checksum"]  # of a content with times
        for phase in entry["metrics"].get("phases", []):
            phase.pop("seconds", None)
    return entries


@pytest.fixture(scope="module")
def compared(world: Path, tiny_folder: Path) -> dict[str, Any]:
    texts, labels = make_table(60)
    pd.DataFrame({"text": texts, "label": labels}).to_csv(world / "topics.csv", index=False)
    return compare(world, tiny_folder, "compared")


def test_cells_give_the_table_of_local_processes(
    nodes: TwoNodes, world: Path, tiny_folder: Path, compared: dict[str, Any]
) -> None:
    assert len(compared["ledger"]) == 4
    assert compare(world, tiny_folder, "tasks", "--engine", nodes.engine) == compared


@pytest.mark.parametrize("what", ["worker", "node"])
def test_cells_of_a_lost_worker_or_node_are_run_again(
    nodes: TwoNodes, world: Path, tiny_folder: Path, compared: dict[str, Any], what: str
) -> None:
    cells = world / f"lost-{what}" / "cells"

    def lose() -> bool:
        unfinished = [log for log in cells.glob("*/log.txt") if not (log.parent / "result.json").exists()]
        return bool(unfinished) and (nodes.lose_worker(TASK) if what == "worker" else nodes.lose_node(TASK))

    try:
        again = during(lambda: compare(world, tiny_folder, f"lost-{what}", "--engine", nodes.engine), lose)
    finally:
        if what == "node":
            nodes.add_node()
    assert again == compared


def test_a_search_loses_no_trial_with_a_worker(nodes: TwoNodes, world: Path, tiny_folder: Path) -> None:
    optuna = pytest.importorskip("optuna")
    texts, labels = make_table(60)
    pd.DataFrame({"text": texts, "label": labels}).to_csv(world / "search.csv", index=False)
    journal = world / "trials.journal"
    asked = ["search", world / "search.csv", "--model", tiny_folder, "--set", "finetune.max_steps=12", "--trials", "4"]
    asked += ["--try", "finetune.lr=1e-5..1e-2", "--fresh-seeds", "0", "--pruner", "none", "--threads", "1", "--quiet"]
    asked += ["--storage", journal, "--study", world / "searched", "--engine", nodes.engine]
    result = during(lambda: invoke(*asked), lambda: nodes.lose_worker(TASK))
    assert result.exit_code == 0, (result.output, result.exception)
    storage = optuna.storages.JournalStorage(optuna.storages.journal.JournalFileBackend(str(journal)))
    (summary,) = optuna.get_all_study_summaries(storage)
    trials = optuna.load_study(study_name=summary.study_name, storage=storage).get_trials()
    assert [trial.state.name for trial in trials] == ["COMPLETE"] * 4
