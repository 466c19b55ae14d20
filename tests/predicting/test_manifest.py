"""A manifest of a stranger, and files that are not ours in an output folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phasefit.models.tfidf.model import TfidfModel
from phasefit.predicting.manifest import model_hash
from phasefit.runs.run import Run
from sharded import content, invoke, save_small
from tiny import without_checksums

Damage = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_small(tmp_path_factory.mktemp("model") / "run")


@pytest.fixture
def words(model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A command that writes ten rows to the folder out in three shards."""
    monkeypatch.chdir(tmp_path)
    Path("in.csv").write_text("text\n" + "good day\n" * 10)
    return ["predict", model, "in.csv", "-o", "out/", "--shard-rows", "4", "--threads", "1"]


DAMAGES: dict[str, Damage] = {
    "threads": lambda manifest: manifest["request"].update(threads="x"),
    "too many threads": lambda manifest: manifest["request"].update(threads=10**9),
    "first": lambda manifest: manifest["shards"][1].update(first=10**15),
    "rows": lambda manifest: manifest["shards"][2].update(rows=10**15),
    "no shards": lambda manifest: manifest["shards"].clear(),
    "a shard too few": lambda manifest: manifest["shards"].pop(),
    "a shard twice": lambda manifest: manifest["shards"].append(manifest["shards"][0]),
    "another file": lambda manifest: (
        manifest["files"].append(manifest["files"][0]),
        manifest["shards"].append({**manifest["shards"][0], "file": 1}),
    ),
    "delimiter": lambda manifest: manifest["files"][0].update(delimiter="xx"),
    "encoding": lambda manifest: manifest["files"][0].update(encoding="hex"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_manifest_of_a_stranger_is_one_sentence(words: list[Any], name: str) -> None:
    assert invoke(*words).exit_code == 0
    path = Path("out/predict.json")
    manifest = json.loads(path.read_text())
    DAMAGES[name](manifest)
    path.write_text(json.dumps(manifest))
    for part in Path("out").glob("part-*"):
        part.unlink()
    result = invoke(*words[:-2])
    assert result.exit_code == 2, result.output
    assert len(result.stderr.splitlines()) == 1
    assert "predict.json is damaged" in result.stderr
    assert [part.name for part in Path("out").iterdir()] == ["predict.json"]


def test_the_hash_of_a_model_without_checksums_covers_its_files(tmp_path: Path) -> None:
    folder = without_checksums(save_small(tmp_path / "run"))
    before = model_hash(Run.open_model(folder))
    other = save_small(tmp_path / "other", reject_below=0.9)
    assert model_hash(Run.open_model(folder)) == before
    (folder / "heads.safetensors").write_bytes(b"x" + (other / "heads.safetensors").read_bytes())
    assert model_hash(Run.open_model(folder)) != before


def test_a_link_in_place_of_a_shard_is_replaced(words: list[Any]) -> None:
    assert invoke(*words).exit_code == 0
    before = content(Path("out"))
    part = sorted(Path("out").glob("part-*"))[1]
    part.unlink()
    Path("secret").write_text("secret")
    part.symlink_to(Path("secret").absolute())
    assert invoke(*words).exit_code == 0
    assert content(Path("out")) == before
    assert not part.is_symlink()
    assert Path("secret").read_text() == "secret"


def test_only_shards_are_replaced(words: list[Any]) -> None:
    assert invoke(*words).exit_code == 0
    notes = Path("out/part-00000-000000000004.notes.md")
    notes.write_text("mine")
    assert invoke(*words, "--shard-rows", "5", "--overwrite").exit_code == 0
    assert sorted(content(Path("out"))) == [
        "part-00000-000000000000.csv",
        notes.name,
        "part-00000-000000000005.csv",
        "predict.json",
    ]


def test_a_file_of_the_user_with_the_name_of_left_out_rows(words: list[Any]) -> None:
    Path("in.csv").write_text("text\ngood\na,b\n")
    aside = Path("out.csv.skipped.jsonl")
    aside.write_text("mine")
    words = [*words[:4], "out.csv", *words[5:], "--on-error", "skip"]
    result = invoke(*words)
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert "out.csv.skipped.jsonl exists already" in result.stderr
    assert aside.read_text() == "mine"
    assert invoke(*words, "--overwrite").exit_code == 0
    assert json.loads(aside.read_text())["row"] == 2
    Path("in.csv").write_text("text\ngood\n")
    assert invoke(*words, "--overwrite").exit_code == 0
    assert not aside.exists()  # it would be about other output


@pytest.mark.parametrize("damage", [False, True])
def test_a_file_that_appears_meanwhile_is_kept(words: list[Any], monkeypatch: pytest.MonkeyPatch, damage: bool) -> None:
    words = [*words[:4], "out.csv", *words[5:]]
    real = TfidfModel.predict_outputs

    def predict_outputs(*arguments: Any, **named: Any) -> Any:
        Path("out.csv").write_text("mine")
        return real(*arguments, **named)

    monkeypatch.setattr(TfidfModel, "predict_outputs", predict_outputs)
    result = invoke(*words)
    assert (result.exit_code, len(result.stderr.splitlines())) == (2, 1)
    assert "out.csv was written by another program" in result.stderr
    assert Path("out.csv").read_text() == "mine"
    if damage:
        Path(".out.csv.phasefit/finished.json").write_text("{")
        assert "out.csv exists already" in invoke(*words).stderr
    Path("out.csv").unlink()
    assert invoke(*words).exit_code == 0
    assert len(Path("out.csv").read_text().splitlines()) == 11
    assert not Path(".out.csv.phasefit").exists()


def test_a_link_in_place_of_the_working_folder(words: list[Any]) -> None:
    assert invoke(*words).exit_code == 0
    before = content(Path("out"))
    Path(".out.csv.phasefit").symlink_to("out")
    result = invoke(*words[:4], "out.csv", *words[5:])
    assert (result.exit_code, "is a symbolic link; remove it" in result.stderr) == (2, True)
    assert content(Path("out")) == before
