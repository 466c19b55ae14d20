"""The fake hub, and a tiny run to push."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from fake_hub import TOKEN, FakeHub


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """A hub that the library talks to instead of the real one, with a token and an empty home."""
    from huggingface_hub import constants
    from huggingface_hub.utils import close_session

    from phasefit.runs.hub_model import _downloaded

    fake = FakeHub()
    server = fake.start()
    home = tmp_path / "home"
    template = "/{repo_id}/resolve/{revision}/{filename}"
    for name, value in {
        "ENDPOINT": fake.endpoint,
        "HUGGINGFACE_CO_URL_TEMPLATE": fake.endpoint + template,
        "HF_HUB_OFFLINE": False,
        "HF_HUB_DISABLE_XET": True,  # another protocol, of a server that this one does not replace
        "HF_HOME": str(home),
        "HF_HUB_CACHE": str(home / "hub"),
        "HF_TOKEN_PATH": str(home / "token"),
    }.items():
        monkeypatch.setattr(constants, name, value)
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # the pauses before the library tries again
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    _downloaded.cache_clear()
    yield fake
    close_session()
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="session")
def trained(tiny_folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run with a test split."""
    from phasefit.runs.specification import run_spec
    from running import train
    from tiny import make_table, write_csv

    folder = tmp_path_factory.mktemp("pushed")
    table = write_csv(folder / "reviews.csv", *make_table(90))
    options = {"recipe": "finetune", "settings": {"finetune.epochs": 2}, "model": str(tiny_folder), "device": "cpu"}
    spec = run_spec(str(table), **options, out=folder / "run", keep_phases=True, baselines=False, threads=1)
    with pytest.MonkeyPatch.context() as patch:  # a fixture of the session is made before pictures are turned off
        patch.setattr("phasefit.report.run.draw_run", lambda *_, **__: [])
        patch.setattr("phasefit.report.facts.run.stage_layouts", lambda *_: {})
        train(spec.replace(command="phasefit train /home/alice/reviews.csv"), lambda event: None)
    return folder / "run"


@pytest.fixture
def run(trained: Path, tmp_path: Path) -> Path:
    """A copy of that run, which a test may change."""
    return Path(shutil.copytree(trained, tmp_path / "run"))
