from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from sentence_transformers import SentenceTransformer

from phasefit.errors import ModelError, PhasefitError, RunError
from phasefit.files.manifest import FORMAT
from phasefit.models.model import Model
from phasefit.models.storage import load_model
from phasefit.runs.results import save_model
from tiny import fresh_model, make_data, make_phase, make_table, read_json, run, tree

pytestmark = pytest.mark.filterwarnings("ignore::phasefit.errors.TextsCut")  # one of the texts is long on purpose

TEXTS = [*make_table(12, seed=8)[0], "🙂", "x " * 200]


@pytest.fixture(scope="module")
def model(tiny_folder: Path) -> Model:
    model = fresh_model(tiny_folder)
    data = make_data(model.encoder, *make_table(60))
    run(make_phase("denoise", model, data, max_steps=2, dense="paper"))
    run(make_phase("finetune", model, data, max_steps=3, lr=1e-3))
    return model.eval()


@pytest.fixture(scope="module")
def saved(model: Model, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("store") / "model"
    save_model(model, folder)
    return folder


@pytest.fixture
def folder(saved: Path, tmp_path: Path) -> Path:
    """A copy to damage."""
    return Path(shutil.copytree(saved, tmp_path / "copy"))


def test_a_loaded_model_is_bit_identical(model: Model, saved: Path) -> None:
    again = load_model(saved)
    assert np.array_equal(again.predict_proba(TEXTS), model.predict_proba(TEXTS))
    assert np.array_equal(again.embed(TEXTS), model.embed(TEXTS))
    assert again.predict(TEXTS) == model.predict(TEXTS)
    assert again.space == model.space
    assert again.encoder.name == model.encoder.name
    assert not again.training


def test_saving_again_gives_the_same_files(saved: Path, tmp_path: Path) -> None:
    save_model(load_model(saved), tmp_path / "again")
    for name in ("heads.safetensors", "labels.json", "encoder/model.safetensors"):
        assert (tmp_path / "again" / name).read_bytes() == (saved / name).read_bytes()


def test_the_encoder_is_plain_sentence_transformers(model: Model, saved: Path) -> None:
    plain = SentenceTransformer(str(saved / "encoder"), device="cpu").encode(TEXTS)
    assert plain == pytest.approx(model.embed(TEXTS), abs=1e-5)


def test_nothing_is_pickled_and_nothing_is_left_over(saved: Path) -> None:
    endings = {path.suffix for path in saved.rglob("*") if path.is_file()}
    assert endings <= {".json", ".safetensors", ".txt"}
    assert {path.name for path in saved.iterdir()} == {"encoder", "heads.safetensors", "labels.json", "phasefit.json"}


@pytest.mark.parametrize(
    "labels", [["a", "b", "c"] * 6, [3, 1, 2] * 6, [True, False, True] * 6, tree(["music", "food", "travel"] * 6)]
)
def test_labels_of_every_type_come_back(tiny_folder: Path, tmp_path: Path, labels) -> None:
    model = fresh_model(tiny_folder)
    make_phase("finetune", model, make_data(model.encoder, make_table(18)[0], labels, validation=0))
    save_model(model, tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert again.space.classes == model.space.classes
    assert [type(label) for label in again.space.classes] == [type(label) for label in model.space.classes]


def test_a_plain_encoder_comes_without_heads(tiny_folder: Path) -> None:
    model = load_model(tiny_folder)
    assert not model.heads
    assert model.embed(TEXTS).shape == (len(TEXTS), 32)
    with pytest.raises(ModelError, match="only embeds"):
        model.predict(TEXTS)


def test_an_encoder_without_heads_can_be_saved(tiny_folder: Path, tmp_path: Path) -> None:
    model = load_model(tiny_folder)
    save_model(model, tmp_path / "model")
    assert np.array_equal(load_model(tmp_path / "model").embed(TEXTS), model.embed(TEXTS))


def test_an_existing_folder_is_rejected(model: Model, folder: Path, tmp_path: Path) -> None:
    with pytest.raises(RunError, match="already holds a run"):
        save_model(model, folder)
    save_model(model, folder, overwrite=True)
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.tex").touch()
    with pytest.raises(RunError, match="not a phasefit run"):
        save_model(model, tmp_path / "other", overwrite=True)
    (tmp_path / "file").touch()
    with pytest.raises(RunError, match="is a file"):
        save_model(model, tmp_path / "file")


@pytest.mark.parametrize("name", ["heads.safetensors", "labels.json", "phasefit.json", "encoder/model.safetensors"])
@pytest.mark.parametrize("damage", ["cut", "empty", "noise", "missing"])
def test_a_damaged_file_is_a_short_error(folder: Path, name: str, damage: str) -> None:
    path = folder / name
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        path.write_bytes({"cut": content[: len(content) // 2], "empty": b"", "noise": b"\x00\xff" * 50}[damage])
    with pytest.raises(ModelError) as caught:
        load_model(folder)
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("labels.json", lambda c: {}),
        ("labels.json", lambda c: []),
        ("labels.json", lambda c: {"default": 3}),
        ("labels.json", lambda c: {"default": {"kind": "single", "classes": ["a", "b"]}}),
        ("labels.json", lambda c: {"default": {"kind": "single", "classes": []}}),
        ("labels.json", lambda c: {"default": {"kind": "odd", "classes": ["a", "b", "c"]}}),
        ("phasefit.json", lambda c: {**c, "heads": {"default": {"kind": "mlp"}}}),
        ("phasefit.json", lambda c: {**c, "heads": {"default": {**c["heads"]["default"], "classes": 2}}}),
        ("phasefit.json", lambda c: {**c, "heads": 3}),
        ("phasefit.json", lambda c: {key: value for key, value in c.items() if key != "heads"}),
        ("phasefit.json", lambda c: {**c, "format": "one"}),
        ("phasefit.json", lambda c: {**c, "decisions": {"default": {"temperature": -1}}}),
        ("phasefit.json", lambda c: {key: value for key, value in c.items() if key != "decisions"}),
        ("phasefit.json", lambda c: {**c, "long": "odd"}),
        ("phasefit.json", lambda c: []),
    ],
)
def test_files_that_do_not_match_are_an_error(folder: Path, name: str, change) -> None:
    (folder / name).write_text(json.dumps(change(read_json(folder / name))))
    with pytest.raises(ModelError, match="damaged"):
        load_model(folder)


def test_a_newer_format_asks_for_an_upgrade(folder: Path) -> None:
    manifest = read_json(folder / "phasefit.json")
    (folder / "phasefit.json").write_text(json.dumps({**manifest, "format": FORMAT + 1}))
    with pytest.raises(ModelError, match=f"format {FORMAT + 1}.*upgrade phasefit"):
        load_model(folder)


def test_an_unfinished_run_is_rejected(folder: Path) -> None:
    manifest = read_json(folder / "phasefit.json")
    (folder / "phasefit.json").write_text(json.dumps({**manifest, "status": "started"}))
    with pytest.raises(ModelError, match="not finished"):
        load_model(folder)


def test_a_missing_encoder_is_not_looked_up_on_the_hub(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.rmtree(folder / "encoder")
    monkeypatch.chdir(folder.parent)
    with pytest.raises(ModelError, match=r"damaged: encoder/modules\.json is missing"):
        load_model(folder.name)


def test_pickles_are_not_read(folder: Path) -> None:
    torch.save({"evil": 1}, folder / "heads.bin")
    (folder / "heads.safetensors").unlink()
    with pytest.raises(ModelError):
        load_model(folder)


def test_a_foreign_folder(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    with pytest.raises(ModelError, match="is not a model"):
        load_model(tmp_path)


def test_a_disk_that_cannot_be_written(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("phasefit.files.system.write", full)
    with pytest.raises(PhasefitError, match="No space left"):
        save_model(model, tmp_path / "model")
    assert not (tmp_path / "model" / "phasefit.json").exists(), "without a manifest it is no model"


def test_saving_over_a_run_leaves_nothing_of_it(model: Model, tmp_path: Path) -> None:
    save_model(model, tmp_path / "model")
    (tmp_path / "model" / "metrics.json").write_text("{}")
    save_model(model, tmp_path / "model", overwrite=True)
    assert not (tmp_path / "model" / "metrics.json").exists(), "it was about another model"
    assert not (tmp_path / "model.old").exists()
