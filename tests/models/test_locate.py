"""Locating a model, and rejecting models that would run code or read pickle files."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from phasefit.errors import ModelError
from phasefit.models.encoder import locate as module
from phasefit.models.encoder.encoder import load_encoder
from phasefit.models.encoder.locate import DEFAULT_MODEL, DEFAULT_SHA256, locate, packaged_default


@pytest.fixture
def folder(tiny_folder: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(tiny_folder, tmp_path / "model"))


def test_an_existing_folder_is_returned(folder: Path) -> None:
    assert locate(str(folder)) == str(folder)


@pytest.mark.parametrize("name", ["./missing", "/no/such/folder", "~/no-such-folder-here", "runs/a/encoder"])
def test_a_missing_folder_is_not_looked_up_on_the_hub(name: str) -> None:
    with pytest.raises(ModelError, match="no such folder"):
        load_encoder(name)


def test_a_model_that_is_not_on_this_machine_is_a_short_error() -> None:
    with pytest.raises(ModelError, match="is not on this machine"):
        load_encoder("nobody/no-such-model")


def test_a_file_is_rejected(folder: Path) -> None:
    with pytest.raises(ModelError, match="is a file"):
        load_encoder(str(folder / "config.json"))


def test_an_empty_folder_is_rejected(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is not a model"):
        load_encoder(str(tmp_path))


def test_custom_code_is_rejected(folder: Path) -> None:
    modules = json.loads((folder / "modules.json").read_text())
    modules[1]["type"] = "custom_code.Evil"
    (folder / "modules.json").write_text(json.dumps(modules))
    (folder / "custom_code.py").write_text("raise SystemExit('this must never run')")
    with pytest.raises(ModelError, match=r"custom_code\.Evil.*runs no code"):
        load_encoder(str(folder))


def test_remote_code_in_the_config_is_rejected(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {"AutoConfig": "evil.EvilConfig", "AutoModel": "evil.Evil"}
    config["model_type"] = "evil"
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "evil.py").write_text("raise SystemExit('this must never run')")
    with pytest.raises(ModelError):
        load_encoder(str(folder))


def test_pickled_weights_are_rejected(folder: Path) -> None:
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(ModelError, match="no safetensors weights"):
        load_encoder(str(folder))


def test_pickled_weights_of_one_layer_are_rejected(tiny_folder: Path, tmp_path: Path) -> None:
    encoder = load_encoder(str(tiny_folder))
    encoder.append_dense("paper", seed=0)
    encoder.save(tmp_path / "saved")
    weights = next((tmp_path / "saved").glob("*_Dense/model.safetensors"))
    weights.rename(weights.with_name("pytorch_model.bin"))
    with pytest.raises(ModelError, match="no safetensors weights"):
        load_encoder(str(tmp_path / "saved"))


@pytest.mark.parametrize("content", ["{", "[1]", '[{"path": ""}]', '{"type": "x"}', "\x00"])
def test_damaged_modules(folder: Path, content: str) -> None:
    (folder / "modules.json").write_text(content)
    with pytest.raises(ModelError, match="damaged"):
        load_encoder(str(folder))


@pytest.mark.parametrize("name", ["model.safetensors", "config.json", "tokenizer.json"])
def test_damaged_files(folder: Path, name: str) -> None:
    (folder / name).write_bytes((folder / name).read_bytes()[:30])
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_encoder(str(folder))


def test_missing_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelError):
        load_encoder(str(folder))


def test_the_default_is_the_official_weights() -> None:
    folder = packaged_default()
    if folder is None:
        pytest.skip("the package of the default weights is not installed")
    assert locate(DEFAULT_MODEL) == locate("all-MiniLM-L6-v2") == str(folder)


def test_wrong_weights_in_the_package_are_rejected(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    package = tmp_path / "fake_weights"
    (package / "model").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "model" / "model.safetensors").write_bytes(b"other weights")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(module, "DEFAULT_PACKAGE", "fake_weights")
    with pytest.raises(ModelError, match="does not contain the weights of"):
        locate(DEFAULT_MODEL)


def test_without_the_package_the_hub_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DEFAULT_PACKAGE", "no_such_package_here")
    with pytest.raises(ModelError, match=r"all-MiniLM-L6-v2' is not on this machine.*phasefit\[offline\]"):
        locate(DEFAULT_MODEL)
    assert len(DEFAULT_SHA256) == 64


def test_a_hub_model_is_downloaded_and_checked_like_a_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import huggingface_hub

    download = {}

    def snapshot(name: str, **options: object) -> str:
        download.update(options, name=name)
        return str(folder)

    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda name, file: str(folder / file))
    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    encoder = load_encoder("some/encoder")
    assert encoder.name == download["name"] == "some/encoder"
    assert download["local_files_only"] is True, "a cached model is not downloaded again"
    assert not any("bin" in pattern or "py" in pattern for pattern in download["allow_patterns"])
    modules = folder / "modules.json"
    modules.write_text(modules.read_text().replace("sentence_transformers.", "evil."))
    with pytest.raises(ModelError, match="runs no code"):
        load_encoder("some/encoder")


def test_a_pickled_layer_next_to_a_decoy_is_rejected(folder: Path) -> None:
    layer = folder / "1_Pooling"
    (layer / "pytorch_model.bin").write_bytes(b"pickle")
    (layer / "x.safetensors").write_bytes(b"decoy")
    with pytest.raises(ModelError, match="does not read pickled weights"):
        load_encoder(str(folder))


@pytest.mark.parametrize("name", ["no such model", "a/b c"])
def test_an_invalid_hub_id_is_rejected(name: str) -> None:
    with pytest.raises(ModelError, match="neither an existing folder nor a valid hub id"):
        load_encoder(name)


def test_offline_mode_is_reported() -> None:
    with pytest.raises(ModelError, match="not on this machine and HF_HUB_OFFLINE is set; give a local folder"):
        load_encoder("some/unknown-encoder")


def test_a_hub_model_is_downloaded_once_into_a_plain_folder(
    tiny_folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import huggingface_hub

    downloads = []

    def snapshot(name: str, *, local_dir: Path, **options: object) -> str:
        downloads.append(local_dir)
        shutil.copytree(tiny_folder, local_dir, dirs_exist_ok=True)
        (local_dir / ".cache" / "huggingface").mkdir(parents=True)
        return str(local_dir)

    monkeypatch.setattr("huggingface_hub.constants.HF_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(module, "_check_reachable", lambda *_: None)
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda name, file: None)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    folder = Path(locate("some/encoder"))
    assert folder == tmp_path / "home" / "phasefit" / "some--encoder" == Path(locate("some/encoder"))
    assert len(downloads) == 1
    assert not [path for path in folder.rglob("*") if path.is_symlink()]
    assert not (folder / ".cache").exists()


def test_a_failed_download_leaves_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import huggingface_hub

    def snapshot(name: str, *, local_dir: Path, **options: object) -> str:
        (local_dir / "config.json").touch()
        raise ConnectionError("the connection was reset")

    monkeypatch.setattr("huggingface_hub.constants.HF_HOME", str(tmp_path))
    monkeypatch.setattr(module, "_check_reachable", lambda *_: None)
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", lambda name, file: None)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", snapshot)
    with pytest.raises(ModelError, match=r"cannot be downloaded to .*the connection was reset"):
        locate("some/encoder")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_the_cache_of_the_hub_may_link_to_its_own_files_only(tiny_folder: Path, tmp_path: Path) -> None:
    snapshot, blobs = tmp_path / "cache" / "snapshots" / "abc", tmp_path / "cache" / "blobs"
    shutil.copytree(tiny_folder, snapshot)
    blobs.mkdir()
    (snapshot / "config.json").rename(blobs / "123")
    (snapshot / "config.json").symlink_to(Path("../../blobs/123"))
    load_encoder(str(snapshot))
    (blobs / "123").rename(tmp_path / "elsewhere")
    (snapshot / "config.json").unlink()
    (snapshot / "config.json").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ModelError, match=r"'config\.json' is a link to a file outside of it"):
        load_encoder(str(snapshot))
