"""Fakes for the code that the command line calls."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

import phasefit.files.manifest
from fake_run import write_fake_run
from phasefit.cli.app import app
from phasefit.data.labels import LabelSpace, label_space
from phasefit.kinds.decision import Decision
from phasefit.runs.specification import RunSpec
from specs import run_spec

SMALL_TABLES = re.compile(r"warning: (\w+: )?(only \d+ (validation|test) row|the tokenizer of '.*' cannot read)")
CLASSES = ["[bold]", "good", "ünïcode 🙂"]


class FakeModel:
    """Predicts the class at index `len(text) % len(classes)`."""

    def __init__(self, classes: Sequence[Any] = CLASSES) -> None:
        self.space: LabelSpace = label_space(list(classes))
        self.heads = {"default": None}
        self.reject_below = 0.0

    def known_task(self, task: str | None) -> str:
        return "default"

    def space_of(self, task: str) -> LabelSpace:
        return self.space

    def head(self, task: str) -> Any:
        return SimpleNamespace(pair=None)

    def decision(self, task: str = "default") -> Decision:
        return Decision(reject_below=self.reject_below)

    def predict_outputs(
        self,
        texts: Sequence[str],
        *,
        task: str = "default",
        batch_size: int = 64,
        progress: Callable[[int], None] | None = None,
    ) -> np.ndarray:
        outputs = np.full((len(texts), len(self.space)), 0.1)
        outputs[np.arange(len(texts)), [len(text) % len(self.space) for text in texts]] = 0.8
        if progress is not None:
            progress(len(texts))
        return outputs / outputs.sum(axis=1, keepdims=True)

    def embed(
        self, texts: Sequence[str], *, batch_size: int = 64, progress: Callable[[int], None] | None = None
    ) -> np.ndarray:
        return np.array([[len(text), 0.5] for text in texts], dtype=np.float32)


@dataclass
class FakeTraining:
    """Replaces `runs.train`: stores the specification, emits events, then returns or raises."""

    events: list[Any] = field(default_factory=list)
    error: BaseException | None = None
    metrics: dict[str, Any] = field(default_factory=dict)
    spec: RunSpec | None = None
    resumed: tuple[Path, str | None] | None = None

    def resume(
        self, path: Path, listen: Callable[[Any], None], *, device: str | None = None, report: Any = None
    ) -> Any:
        self.resumed = (path, device)
        return self(run_spec(None), listen)

    def __call__(self, spec: RunSpec, listen: Callable[[Any], None], *, report: Any = None) -> Any:
        self.spec = spec
        for event in self.events:
            listen(event)
        if self.error is not None:
            raise self.error
        return SimpleNamespace(folder=Path("runs/some data"), metrics=self.metrics, model=FakeModel())


Invoke = Callable[..., Result]


@pytest.fixture
def phasefit() -> Invoke:
    """Run a command line; `Result` has exit_code, stdout and stderr apart."""

    def invoke(*args: str, input: str | bytes | None = None) -> Result:
        return CliRunner().invoke(app, list(args), input=input, prog_name="phasefit")

    return invoke


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Replace a module with a fake."""

    def put(name: str, **names: Any) -> None:
        module = ModuleType(name)
        module.__dict__.update(names)
        monkeypatch.setitem(sys.modules, name, module)

    return put


@pytest.fixture
def model(
    install: Callable[..., None], tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> FakeModel:
    """A fake model in a folder called run."""
    fake = FakeModel()
    folder = tmp_path_factory.mktemp("work")
    write_fake_run(folder / "run")
    monkeypatch.chdir(folder)
    install("phasefit.models.storage", load_model=lambda run, device="auto", manifest=None: fake)
    install("phasefit.training.device", set_threads=lambda count: count or 1)
    return fake


@pytest.fixture
def training(install: Callable[..., None]) -> FakeTraining:
    """A fake training job."""
    part = {"rows": 66, "accuracy": 0.9, "accuracy_ci95": [0.8, 0.95], "macro_f1": 0.85, "roc_auc": None}
    phase = {"name": "finetune", "steps": 40, "seconds": 12.5, "best": {"macro_f1": 0.85}}
    fake = FakeTraining(metrics={"validation": part, "test": {**part, "accuracy": 0.7}, "phases": [phase]})
    install("phasefit.runs.train", train=fake)
    install("phasefit.runs.resume", resume=fake.resume)
    return fake


@pytest.fixture
def sentence() -> Callable[..., str]:
    """The single line of an error, without its prefix; warnings about the small tables of tests may precede it."""

    def check(result: Result, code: int = 2) -> str:
        assert result.exit_code == code, (result.output, result.exception)
        lines = [line for line in result.stderr.splitlines() if not SMALL_TABLES.match(line)]
        assert len(lines) == 1, lines
        assert lines[0].startswith("phasefit: ")
        assert "Traceback" not in result.output
        return lines[0].removeprefix("phasefit: ")

    return check
