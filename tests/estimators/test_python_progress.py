"""What Python users see: progress, warnings, notes, and HTML in notebooks."""

from __future__ import annotations

import io
import logging
import sys
import threading
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import phasefit
from phasefit import PhasefitWarning, TextClassifier
from phasefit.events import Event, Note, PhaseEnded, PhaseStarted, Scored, Stage, StepDone
from phasefit.progress.notebook import NotebookProgress
from phasefit.progress.python import python_progress
from phasefit.runs.job import TrainResult
from tiny import make_table

TEXTS, LABELS = make_table(40)
JOB: list[Event] = [
    Stage("reading"),
    Note("10 classes <b>"),
    PhaseStarted("contrast", 1, 2, 100, "macro_f1"),
    StepDone("contrast", 1, 100, 0.1, 1.5, 1e-4, 0.5),
    Scored("contrast", 1, 0.1, {"macro_f1": 0.8125}, "macro_f1", improved=True),
    StepDone("contrast", 2, 100, 0.2, 1.5, 1e-4, 0.5),
    StepDone("contrast", 3, 100, 0.3, 1.5, 1e-4, 0.5),
    PhaseEnded("contrast", 60, 30.0, 50, {"macro_f1": 0.8125}, stopped_early=True),
    Stage("evaluating"),
]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Shown:
    """Stands for IPython's display: what is shown, and every update of it."""

    def __init__(self) -> None:
        self.first: list[str] = []
        self.updates: list[str] = []

    def display(self, content: str, *, display_id: bool) -> Shown:
        assert display_id
        self.first.append(content)
        return self

    def update(self, content: str) -> None:
        self.updates.append(content)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> Shown:
    shown = Shown()
    ipython, display = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    display.HTML, display.display = str, shown.display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shown


def played(verbose: Any = None, events: list[Event] = JOB, listener: Any = None) -> None:
    with python_progress(listener, verbose) as listen:
        for event in events:
            listen(event)


def stderr_of(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, verbose: Any) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", "xterm")
    played(verbose)
    return stream.getvalue()


def test_progress_is_shown_where_somebody_is_watching(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "1/2 contrast" in stderr_of(monkeypatch, Terminal(), None)
    assert stderr_of(monkeypatch, Terminal(), False) == ""
    assert stderr_of(monkeypatch, io.StringIO(), None) == ""
    plain = stderr_of(monkeypatch, io.StringIO(), True)
    assert "phase 1/2 contrast: up to 100 steps" in plain
    assert "10 classes <b>" in plain
    with pytest.raises(phasefit.RecipeError, match="verbose must be None, True or False, not 'yes'"):
        played("yes")


def test_other_threads_show_nothing_by_default(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    worker = threading.Thread(target=played)
    worker.start()
    worker.join()
    assert stream.getvalue() == ""


def test_a_notebook_is_updated_in_place(notebook: Shown) -> None:
    played()
    assert len(notebook.first) == 1, "one output, which is then updated"
    last = notebook.updates[-1]
    assert '<progress value="100" max="100">' in last
    assert "1/2 contrast" in last
    assert "60 steps in 30 s, stopped early; kept macro_f1 0.8125" in last
    assert "evaluating" not in last
    assert "<li>10 classes &lt;b&gt;</li>" in last
    played(False)
    assert len(notebook.first) == 1


def test_a_notebook_gets_few_updates(notebook: Shown) -> None:
    now = [0.0]
    with NotebookProgress(lambda: now[0]) as listen:
        listen(JOB[2])
        for step in range(1, 101):
            now[0] += 0.01
            listen(StepDone("contrast", step, 100, 0.1, 1.5, 1e-4, 0.5))
    assert 4 <= len(notebook.updates) <= 7
    assert "100/100 · loss 1.5000" in notebook.updates[-1]


def test_warnings_are_warnings_and_notes_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    events: list[Event] = [Note("use --leaked keep", warning=True), Note("12 rows\nand --label")]
    received: list[Event] = []
    with caplog.at_level(logging.INFO, logger="phasefit"), pytest.warns(PhasefitWarning) as caught:
        played(None, events, received.append)
    assert [str(each.message) for each in caught] == ['use leaked="keep"']
    assert caught[0].filename == __file__
    assert [record.getMessage() for record in caplog.records] == ["12 rows and `label`"]
    assert [type(event) for event in received] == [Note, Note]


def test_logged_notes_are_not_shown_twice(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="phasefit"):
        assert "10 classes" not in stderr_of(monkeypatch, io.StringIO(), True)


def test_a_warning_of_fit_names_the_line_that_called_it(tiny_folder: Path) -> None:
    settings = {"finetune.max_steps": 1}
    classifier = TextClassifier("finetune", model=str(tiny_folder), settings=settings)
    with pytest.warns(PhasefitWarning, match="validation texts are also training texts") as caught:
        classifier.fit(TEXTS, LABELS, validation=(TEXTS, LABELS))
    assert {each.filename for each in caught} == {__file__}
    assert str(caught[0].message).endswith("remove them from one of the two"), "fit has no parameter `leaked`"


def test_estimators_are_html_with_facts_once_fitted(tiny_folder: Path) -> None:
    labels = [f"<i>{label}" for label in LABELS]
    classifier = TextClassifier("finetune", model=str(tiny_folder), settings={"finetune.max_steps": 1})
    assert "fitted</b>" not in classifier._repr_html_()
    classifier.fit(TEXTS, labels)
    page = classifier._repr_html_()
    assert "TextClassifier, fitted</b>" in page
    assert "3: &lt;i&gt;food, &lt;i&gt;music" in page
    assert "<i>food" not in page
    assert "macro F1" in page
    assert classifier._repr_mimebundle_()["text/html"].count("fitted</b>") == 1


def test_runs_are_html() -> None:
    scores = {"accuracy": 0.75, "rows": 12, "per_class": {}}
    phase = {"name": "fine<tune", "steps": 3, "seconds": 1.0, "watch": "macro_f1", "best": {"macro_f1": 0.5}}
    result = TrainResult(Path("runs/<b>"), {"test": scores, "phases": [phase]}, model=None)  # type: ignore[arg-type]
    page = result._repr_html_()
    assert "runs/&lt;b&gt;" in page
    assert "fine&lt;tune" in page
    assert "0.7500" in page
    assert "macro F1 0.5000" in page
    tasks = {"tasks": {"sst": {"accuracy": 0.25}}}
    assert "<b>sst</b>" in TrainResult(Path("r"), {"test": tasks}, model=None)._repr_html_()  # type: ignore[arg-type]
    assert repr(result) == f"TrainResult(folder={Path('runs/<b>')!r})"
