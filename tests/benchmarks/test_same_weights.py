"""The comparison of two revisions without training them: results, cases, kept folders, the table."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))

import same_weights  # noqa: E402
import same_weights_run  # noqa: E402
from same_weights_cases import CASES, chosen, digest, write_tables  # noqa: E402
from same_weights_compare import compare, flatten, untrained_phases  # noqa: E402
from same_weights_run import CaseFailedError, Result, Revision, kept_folder, result_of  # noqa: E402

FEW_SHOT = next(case for case in CASES if case.name == "few-shot")
RESUMED = next(case for case in CASES if case.name == "resumed")
COMMIT = "0123456789" * 4


def make_result(folder: Path, *, seconds: float = 1.5) -> Path:
    """A minimal result."""
    (folder / "run" / "encoder").mkdir(parents=True)
    (folder / "outputs").mkdir()
    save_file(
        {"a": np.arange(6.0).reshape(2, 3), "b": np.ones(2, np.float32)}, folder / "run/encoder/model.safetensors"
    )
    save_file({"default.weight": np.zeros((2, 2), np.float32)}, folder / "run/heads.safetensors")
    phase = {"name": "finetune", "steps": 20, "best_step": 10, "seconds": seconds}
    write_json(folder / "run/metrics.json", {"test": {"accuracy": 0.75, "log_loss": float("nan")}, "phases": [phase]})
    write_json(folder / "run/history.json", [{"phase": "finetune", "step": 1, "loss": 2.5}])
    write_json(folder / "run/labels.json", {"default": {"names": ["no", "yes"]}})
    (folder / "outputs/predictions.csv").write_text("text,prediction\nyes!,yes\nno!,no\n", encoding="utf-8")
    (folder / "outputs/vectors.npy").write_bytes(b"\x93NUMPY\xff")
    return folder


def write_json(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


@pytest.fixture
def results(tmp_path: Path) -> tuple[Path, Path]:
    return make_result(tmp_path / "one"), make_result(tmp_path / "other", seconds=99.0)


def change_tensor(result: Path, name: str, change: Callable[[np.ndarray], np.ndarray]) -> None:
    path = result / "run/encoder/model.safetensors"
    tensors = load_file(path)
    save_file(tensors | {name: change(tensors[name])}, path)


def change_json(result: Path, file: str, change: Callable[[Any], Any]) -> None:
    path = result / "run" / file
    content = json.loads(path.read_text(encoding="utf-8"))
    change(content)
    write_json(path, content)


def test_timings_are_ignored(results):
    comparison = compare(*results)
    assert comparison.differences == []
    assert (comparison.tensors, comparison.largest) == (3, 0.0)


def test_a_changed_tensor_is_named_with_its_distance(results):
    change_tensor(results[1], "b", lambda value: value + np.float32(0.25))
    comparison = compare(*results)
    assert comparison.differences == ["encoder/model.safetensors: b differs by up to 0.25"]
    assert comparison.largest == 0.25


def test_a_sign_of_zero_is_a_difference(results):
    for result, zero in zip(results, (0.0, -0.0), strict=True):
        change_tensor(result, "b", lambda value, zero=zero: value * np.float32(zero))
    assert compare(*results).differences == ["encoder/model.safetensors: b differs by up to 0"]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (lambda value: value.astype(np.float32), "a is float64(2, 3) and float32(2, 3)"),
        (lambda value: value.T.copy(), "a is float64(2, 3) and float64(3, 2)"),
        (lambda value: value * np.nan, "a differs by up to inf"),
    ],
)
def test_other_kinds_of_tensors(results, change, sentence):
    change_tensor(results[1], "a", change)
    comparison = compare(*results)
    assert comparison.differences == [f"encoder/model.safetensors: {sentence}"]
    assert comparison.largest == np.inf


def test_names_of_files_and_tensors_must_be_the_same(results):
    shutil.copytree(results[1] / "run/encoder", results[1] / "run/encoder/2_Dense")
    save_file({"head.weight": np.zeros((2, 2), np.float32)}, results[1] / "run/heads.safetensors")
    (results[0] / "outputs/vectors.npy").unlink()
    assert compare(*results).differences == [
        "encoder/2_Dense/model.safetensors is only in the second",
        "heads.safetensors: default.weight is only in the first",
        "heads.safetensors: head.weight is only in the second",
        "vectors.npy is only in the second",
    ]


@pytest.mark.parametrize(
    ("file", "change", "sentence"),
    [
        ("metrics.json", lambda it: it["test"].update(accuracy=0.5), "test.accuracy is 0.75 and 0.5"),
        ("metrics.json", lambda it: it["phases"][0].pop("seconds"), "phases[0].seconds is null and missing"),
        ("history.json", lambda it: it[0].update(loss=2.6), "[0].loss is 2.5 and 2.6"),
        ("labels.json", lambda it: it["default"]["names"].append("so"), 'default.names[2] is missing and "so"'),
    ],
)
def test_a_changed_value_is_named(results, file, change, sentence):
    change_json(results[1], file, change)
    comparison = compare(*results)
    assert comparison.differences == comparison.metrics == [f"{file}: {sentence}"]


def test_changed_predictions_are_named(results):
    (results[1] / "outputs/predictions.csv").write_text("text,prediction\nyes!,yes\nno!,yes\n", encoding="utf-8")
    (results[1] / "outputs/vectors.npy").write_bytes(b"\x93NUMPY\xfe")
    comparison = compare(*results)
    assert comparison.differences == comparison.outputs
    assert comparison.outputs == ["predictions.csv differs from line 3 on", "vectors.npy differs"]


def test_many_differences_are_counted(results):
    change_json(results[1], "metrics.json", lambda it: it["test"].update({str(number): 1 for number in range(7)}))
    assert compare(*results).differences[-1] == "metrics.json: and 2 more differences"
    assert len(compare(*results).differences) == 6


def test_nothing_to_compare_is_a_difference(tmp_path):
    files = ["weights", "metrics.json", "history.json", "labels.json", "predictions"]
    assert compare(tmp_path, tmp_path).differences == [f"{name}: nothing to compare" for name in files]


def test_leaves_have_paths():
    value = {"a": {"b": [1, {"c": None}]}, "seconds": 3, "d": [], "e": {}}
    assert flatten(value) == {"a.b[0]": "1", "a.b[1].c": "null", "seconds": "null", "d": "[]", "e": "{}"}


def test_every_phase_must_be_trained(results):
    assert untrained_phases(results[0]) == []
    change_json(results[0], "metrics.json", lambda it: it["phases"][0].update(steps=19))
    change_json(results[1], "metrics.json", lambda it: it["phases"][0].update(best_step=0))
    assert untrained_phases(results[0]) == ["finetune took 19 steps, fewer than 20"]
    assert untrained_phases(results[1]) == ["finetune kept its initial weights"]


def test_cases_are_chosen_by_name():
    assert chosen(None) == CASES
    assert chosen("resumed") == [FEW_SHOT, RESUMED]
    with pytest.raises(SystemExit, match="no case 'fewshot'"):
        chosen("fewshot")


def test_tables_are_the_same_each_time(tmp_path):
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        write_tables(tmp_path / name)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert files == ["areas.csv", "labelled.csv", "pairs.csv", "tags.csv", "tasks.toml", "texts.csv"]
    assert all((tmp_path / "one" / name).read_bytes() == (tmp_path / "other" / name).read_bytes() for name in files)


def test_kept_results_belong_to_a_commit_and_a_case(tmp_path):
    longer = replace(FEW_SHOT, train=(*FEW_SHOT.train, "--seed", "4"))
    folders = {kept_folder(tmp_path, case, commit) for case in (FEW_SHOT, longer) for commit in (COMMIT, COMMIT[::-1])}
    assert len(folders) == 4
    assert kept_folder(tmp_path, FEW_SHOT, COMMIT) == tmp_path / COMMIT / f"few-shot-{digest(FEW_SHOT)}"


def test_only_results_of_commits_are_kept(tmp_path, monkeypatch):
    trained = []
    monkeypatch.setattr(same_weights_run, "make_result", lambda case, side, folder: trained.append(side.name))
    keep, scratch = tmp_path / "keep", tmp_path / "scratch"
    for side in [Revision("main", COMMIT, tmp_path), Revision("WORK", None, tmp_path)] * 2:
        result_of(FEW_SHOT, side, scratch, keep)
    assert trained == ["main", "WORK", "WORK"]
    assert len(list(scratch.iterdir())) == 2
    assert [path.name for path in keep.iterdir()] == [COMMIT]


def test_a_failed_training_leaves_no_files(tmp_path, monkeypatch):
    def fail(*_: object) -> None:
        raise CaseFailedError("no")

    monkeypatch.setattr(same_weights_run, "make_result", fail)
    with pytest.raises(CaseFailedError):
        result_of(FEW_SHOT, Revision("main", COMMIT, tmp_path), tmp_path, tmp_path / "keep")
    assert not list((tmp_path / "keep" / COMMIT).iterdir())


def compared(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, folders: dict[tuple[str, str], Path]) -> list[Any]:
    """The outcomes of `few-shot` and `resumed` with these results; cases without a result fail."""

    def find(case: Any, side: Revision, *_: object) -> Result:
        if (case.name, side.name) not in folders:
            raise CaseFailedError("`phasefit train` ended with exit code 1")
        return Result(folders[case.name, side.name], 2.0)

    monkeypatch.setattr(same_weights, "result_of", find)
    sides = [Revision("old", COMMIT, tmp_path), Revision("new", None, tmp_path)]
    return same_weights.compare_all([FEW_SHOT, RESUMED], sides, tmp_path, None, 2)


def test_a_resumed_run_must_equal_the_uninterrupted_one(monkeypatch, tmp_path, results, capsys):
    one, other = results
    change_tensor(other, "b", lambda value: value + np.float32(0.25))
    few_shot = {("few-shot", side): one for side in ("old", "new")}
    resumed = {("resumed", side): other for side in ("old", "new")}
    whole, stopped = compared(monkeypatch, tmp_path, few_shot | resumed)
    assert whole.problems == []
    assert stopped.comparison.differences == []
    start = "differs from the uninterrupted one: encoder/model.safetensors: b differs by up to 0.25"
    assert stopped.problems == [f"the resumed run of {side} {start}" for side in ("old", "new")]
    assert capsys.readouterr().out == "few-shot: the same (2 s, 2 s)\nresumed: DIFFERENT (2 s, 2 s)\n"


def test_the_table_has_failures_too(monkeypatch, tmp_path, results):
    change_json(results[1], "metrics.json", lambda it: it["test"].update(accuracy=0.5))
    folders = {("few-shot", "old"): results[0], ("few-shot", "new"): results[1], ("resumed", "old"): results[0]}
    outcomes = compared(monkeypatch, tmp_path, folders)
    _, few_shot, resumed = same_weights.table(outcomes).splitlines()
    assert few_shot.split() == ["few-shot", "finetune", "20", "3", "0", "different", "equal"]
    assert resumed.split() == ["resumed", "-", "-", "-", "failed", "failed"]
    assert outcomes[1].problems == ["the training of new failed: `phasefit train` ended with exit code 1"]
