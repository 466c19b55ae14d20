"""What can be wrong with a push or a model on the hub: one sentence each, and nothing half written."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from fake_hub import TOKEN, FakeHub, FakeRepository
from phasefit.cli.app import app
from phasefit.errors import ModelError
from phasefit.files.manifest import MANIFEST
from phasefit.hub.contents import ModelFolder, open_folder
from phasefit.hub.download import local_source
from phasefit.hub.names import is_repository, parse_hub_name
from phasefit.hub.upload import PushOptions, plan_push, push

pytestmark = pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")  # of huggingface_hub's uploads
CARD = "---\nlibrary_name: phasefit\n---\n\n# a model\n"


def command(*args: str) -> Result:
    return CliRunner().invoke(app, list(args), prog_name="phasefit")


def refused(*args: str) -> str:
    done = command(*args)
    assert done.exit_code == 2, done.output
    assert TOKEN not in done.output
    assert done.stderr.count("\n") == 1
    return done.stderr


@pytest.fixture
def model(tmp_path: Path) -> ModelFolder:
    """A folder with a manifest and two files, without any training."""
    return write_model(tmp_path / "model")


def write_model(folder: Path) -> ModelFolder:
    from phasefit.files.integrity import hash_files

    (folder / "encoder").mkdir(parents=True)
    (folder / "encoder" / "model.safetensors").write_bytes(b"weights")
    (folder / "labels.json").write_text("{}")
    content = {"format": 2, "status": "finished", "files": hash_files(folder)}
    (folder / MANIFEST).write_text(json.dumps(content))
    return open_folder(folder)


def push_model(model: ModelFolder, **options: bool) -> str:
    return push(plan_push(model, "alice/m", CARD, PushOptions(**options))).commit


def downloads(hub_home: Path) -> list[str]:
    return sorted(path.name for path in (hub_home / "home" / "phasefit").glob("*"))


@pytest.mark.parametrize(
    "name",
    ["hub:", "hub:a", "hub:a/b/c", "hub:../b", "hub:a/b@", "hub:a/b@../c", "hub:a/b c", "hub:a--b/c", "hub:a/b@x\n"],
)
def test_names_that_cannot_be(name: str) -> None:
    with pytest.raises(ModelError, match="write hub:owner/name"):
        parse_hub_name(name)


def test_names() -> None:
    name = parse_hub_name("hub:alice/my.model-2@refs/pr/1")
    assert (name.repository, name.revision, str(name)) == (
        "alice/my.model-2",
        "refs/pr/1",
        "hub:alice/my.model-2@refs/pr/1",
    )
    assert not is_repository("alice/model.git")


def test_without_a_token(hub: FakeHub, run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN")
    said = refused("push", str(run), "alice/m")
    assert "needs a token with write access; log in with `hf auth login`, or set HF_TOKEN" in said
    assert not hub.requests


def test_a_wrong_token(hub: FakeHub, model: ModelFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_wrongwrongwrong")
    with pytest.raises(ModelError, match=r"does not accept your token \(401\)") as caught:
        push_model(model)
    assert "hf_wrong" not in str(caught.value)
    with pytest.raises(ModelError, match=r"hub:alice/m: the hub does not accept your token \(401\)"):
        local_source("hub:alice/m")


def test_a_token_that_may_only_read(hub: FakeHub, model: ModelFolder) -> None:
    hub.read_only = True
    with pytest.raises(ModelError, match=r"your token does not allow it \(403\)"):
        push_model(model)
    assert not hub.repositories


def test_offline(hub: FakeHub, model: ModelFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    with pytest.raises(ModelError, match="pushing to alice/m needs the network, and HF_HUB_OFFLINE is set; unset it"):
        push_model(model)


def test_an_unreachable_hub(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(ModelError, match=r"hub:alice/m: the hub cannot be reached"):
        local_source("hub:alice/m")


def test_a_missing_repository(hub: FakeHub) -> None:
    assert "hub:alice/none: there is no such model on the hub, or you may not see it" in refused(
        "predict", "hub:alice/none", "--say", "a"
    )


def test_a_private_one_is_not_seen_without_a_token(
    hub: FakeHub, model: ModelFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    push_model(model)
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(ModelError, match="or you may not see it"):
        local_source("hub:alice/m")


def test_an_existing_repository_needs_overwrite(hub: FakeHub, model: ModelFolder) -> None:
    first = push_model(model)
    with pytest.raises(ModelError, match=f"already holds files; add --overwrite .*@{first[:12]}"):
        push_model(model)
    assert len(hub.repositories["alice/m"].commits) == 2
    again = push(plan_push(model, "alice/m", CARD, PushOptions(overwrite=True, message="again")))
    assert again.replaced == first


def test_visibility_is_never_changed(hub: FakeHub, model: ModelFolder) -> None:
    hub.repositories["alice/m"] = repository = FakeRepository(private=False)
    repository.add({}, "empty")
    with pytest.raises(ModelError, match="alice/m on the hub is public; add --public"):
        push_model(model, overwrite=True)
    push_model(model, public=True)
    repository.private = True
    with pytest.raises(ModelError, match="is private; remove --public"):
        push_model(model, public=True, overwrite=True)


def test_an_interrupted_upload_leaves_the_repository_as_it_was(hub: FakeHub, model: ModelFolder) -> None:
    hub.break_uploads = True
    with pytest.raises(ModelError, match=r"pushing to alice/m: the hub cannot be reached, or the connection broke"):
        push_model(model)
    assert set(hub.repositories["alice/m"].files) == {".gitattributes"}
    hub.break_uploads = False
    push_model(model)  # needs no --overwrite
    assert "phasefit.json" in hub.repositories["alice/m"].files


def test_a_file_that_the_hub_ignores_is_reported(hub: FakeHub, model: ModelFolder) -> None:
    hub.ignored = ("labels.json",)
    with pytest.raises(ModelError, match=r"did not accept 'labels.json'; remove .gitignore"):
        push_model(model)


def test_a_damaged_model_is_not_pushed(hub: FakeHub, model: ModelFolder) -> None:
    (model.folder / "labels.json").write_text("[]")
    with pytest.raises(ModelError, match=r"'labels.json' has changed since it was written"):
        push_model(model)
    assert not hub.requests


def test_a_tampered_file_is_refused(hub: FakeHub, model: ModelFolder, tmp_path: Path) -> None:
    push_model(model)
    repository = hub.repositories["alice/m"]
    repository.add({**repository.files, "encoder/model.safetensors": b"evil weights"}, "tampered")
    with pytest.raises(ModelError, match=r"'hub:alice/m@\w+' is damaged: 'encoder/model.safetensors' has changed"):
        local_source("hub:alice/m")
    assert downloads(tmp_path) == []


def test_a_missing_file_is_refused(hub: FakeHub, model: ModelFolder, tmp_path: Path) -> None:
    push_model(model)
    repository = hub.repositories["alice/m"]
    repository.add({name: data for name, data in repository.files.items() if name != "labels.json"}, "removed")
    with pytest.raises(ModelError, match=r"hub:alice/m is incomplete: 'labels.json' is missing"):
        local_source("hub:alice/m")
    assert downloads(tmp_path) == []


@pytest.mark.parametrize("name", ["../evil", "/etc/passwd", "encoder/../../evil", "run.py", "C:\\evil"])
def test_a_manifest_names_only_files_of_a_model(hub: FakeHub, tmp_path: Path, name: str) -> None:
    hub.repositories["alice/m"] = repository = FakeRepository(private=False)
    manifest = {"format": 2, "status": "finished", "files": {name: "0" * 64}}
    repository.add({"phasefit.json": json.dumps(manifest).encode(), name: b"x"}, "evil")
    with pytest.raises(ModelError, match="the checksums in its manifest are damaged"):
        local_source("hub:alice/m")
    assert downloads(tmp_path) == []
    assert not (tmp_path / "evil").exists()


def test_code_and_pickles_are_not_downloaded(hub: FakeHub, model: ModelFolder) -> None:
    push_model(model)
    repository = hub.repositories["alice/m"]
    repository.add({**repository.files, "encoder/evil.py": b"x", "pytorch_model.bin": b"x"}, "more")
    folder = Path(local_source("hub:alice/m"))
    assert {path.name for path in folder.rglob("*") if path.is_file()} == {
        "phasefit.json",
        "labels.json",
        "model.safetensors",
    }


def test_a_download_that_is_damaged_later_is_refused(hub: FakeHub, run: Path) -> None:
    from phasefit.runs.run import Run

    assert command("push", str(run), "alice/m", "-q").exit_code == 0
    folder = Run.open("hub:alice/m").folder
    (folder / "labels.json").write_text("{}")
    with pytest.raises(ModelError, match=r"'labels.json' has changed"):
        Run.open("hub:alice/m")
    (folder / "labels.json").unlink()
    (folder / "labels.json").symlink_to("/etc/hostname")
    with pytest.raises(OSError, match="contains a symbolic link"):
        Run.open("hub:alice/m")


def test_a_plain_encoder_is_left_to_the_encoders(hub: FakeHub) -> None:
    hub.repositories["alice/e"] = repository = FakeRepository(private=False)
    commit = repository.add({"config.json": b"{}"}, "an encoder")
    assert local_source("hub:alice/e") == "alice/e"
    with pytest.raises(ModelError, match="is not a model of phasefit, and an encoder has no @revision"):
        local_source(f"hub:alice/e@{commit}")


def test_someone_else_pushed_at_the_same_time(
    hub: FakeHub, model: ModelFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    from phasefit.hub import library

    push_model(model)
    real = library.commit

    def late(*args: object, **options: object) -> library.Commit:
        hub.repositories["alice/m"].add({"other": b""}, "someone else")
        return real(*args, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(library, "commit", late)
    with pytest.raises(ModelError, match=r"someone else has changed it in the meantime \(412\)"):
        push_model(model, overwrite=True)


def test_an_exported_folder_is_pushed_and_loaded_alike(hub: FakeHub, tmp_path: Path) -> None:
    from phasefit.files.integrity import sha256

    folder = tmp_path / "export"
    folder.mkdir()
    for name in ("model.onnx", "tokenizer.json", "texts.jsonl", "README.md"):
        (folder / name).write_text(f"content of {name}")
    facts = {path.name: {"sha256": sha256(path), "size": path.stat().st_size} for path in folder.iterdir()}
    (folder / "export.json").write_text(json.dumps({"format": 1, "engine": "onnx", "files": facts}))
    push(plan_push(open_folder(folder), "alice/m", CARD, PushOptions()))
    files = hub.repositories["alice/m"].files
    assert set(files) == {".gitattributes", "README.md", "export.json", "model.onnx", "tokenizer.json"}
    loaded = Path(local_source("hub:alice/m"))
    assert (loaded / "model.onnx").read_text() == "content of model.onnx"
    assert set(json.loads((loaded / "export.json").read_text())["files"]) == {"model.onnx", "tokenizer.json"}
    shutil.rmtree(loaded)


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (("no-such-run", "a/b"), "there is no run 'no-such-run'"),
        (("hub:a/b", "a/b"), "is on the hub already"),
        (("RUN", "reviews"), "'reviews' cannot be the name of a model on the hub; write owner/name"),
        (("RUN", "a/b", "--licence", "My Licence"), "the licence 'My Licence' must be an identifier"),
        (("RUN", "a/b", "--language", "English"), "the language 'English' must be a code"),
        (("RUN", "a/b", "--dataset", "a b"), "the dataset 'a b' must be the name of a dataset"),
    ],
)
def test_wrong_options(run: Path, args: tuple[str, ...], expected: str) -> None:
    assert expected in refused("push", *(str(run) if one == "RUN" else one for one in args))


def test_train_checks_before_it_trains(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN")
    assert "needs a token" in refused("train", "none.csv", "--push", "alice/m")
    assert "--plan trains nothing" in refused("train", "none.csv", "--push", "alice/m", "--plan")
