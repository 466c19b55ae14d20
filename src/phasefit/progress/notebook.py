"""Progress in a notebook: one output of the cell, updated in place."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, Self

from phasefit.events import Event, Note, PhaseEnded, PhaseStarted, Scored, Stage, StepDone
from phasefit.progress.plain import ended
from phasefit.progress.text import RunningMean, duration, score, watched
from phasefit.runs.html import as_html

APART = 0.2  # seconds between two updates: every update is sent to the browser


def in_notebook() -> bool:
    """Whether this process is the kernel of a notebook; imports nothing."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return getattr(shell, "kernel", None) is not None


@dataclass
class PhaseLine:
    """What is shown of one phase."""

    title: str
    steps: int
    watch: str
    step: int = 0
    numbers: str = ""
    loss: RunningMean = field(default_factory=RunningMean)
    seconds: RunningMean = field(default_factory=RunningMean)
    score: float | None = None
    kept: float | None = None

    def update(self, event: StepDone) -> None:
        """Count a step."""
        self.step, self.steps = event.step, event.steps
        seconds, loss = self.seconds.add(event.seconds), self.loss.add(event.loss)
        parts = [f"{event.step}/{event.steps}", f"loss {score(loss)}"]
        if self.score is not None:
            parts.append(f"{watched(self.watch)} {score(self.score)} (kept {score(self.kept)})")
        parts.append(f"{duration(seconds * (event.steps - event.step))} left")
        self.numbers = " · ".join(parts)

    def to_html(self) -> str:
        """A row of a table: title, bar, numbers."""
        bar = f'<progress value="{self.step}" max="{max(self.steps, 1)}"></progress>'
        cells = (as_html(self.title), bar, as_html(self.numbers))
        return "<tr>" + "".join(f'<td style="text-align:left">{cell}</td>' for cell in cells) + "</tr>"


class NotebookProgress:
    """A bar and figures for each phase, the current stage, and the notes, which can be unfolded."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._display: Any = import_module("IPython.display")  # not a dependency: a notebook has it
        self._handle: Any = None
        self._last = -APART
        self.phases: list[PhaseLine] = []
        self.notes: list[str] = []
        self.stage = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.stage = ""
        if self._handle is not None:
            self._show()

    def __call__(self, event: Event) -> None:
        """Update the display; steps only every now and then."""
        match event:
            case Note():
                self.notes.append(event.text)
            case Stage():
                self.stage = f"{event.name} ..."
            case PhaseStarted():
                self.stage = ""
                self.phases.append(PhaseLine(f"{event.index}/{event.phases} {event.phase}", event.steps, event.watch))
            case StepDone() if self.phases:
                self.phases[-1].update(event)
                if self._clock() - self._last < APART:
                    return
            case Scored() if self.phases:
                line = self.phases[-1]
                line.score = event.scores.get(event.watch)
                line.kept = line.score if event.improved else line.kept
                return  # shown with the next step
            case PhaseEnded() if self.phases:
                line = self.phases[-1]
                line.step = line.steps  # early stopping ends a phase too
                line.numbers = ended(event, line.watch)
        self._show()

    def to_html(self) -> str:
        """The whole display."""
        rows = "".join(line.to_html() for line in self.phases)
        table = f"<table>{rows}</table>" if rows else ""
        stage = f"<div>{as_html(self.stage)}</div>" if self.stage else ""
        items = "".join(f"<li>{as_html(note)}</li>" for note in self.notes)
        many = f"{len(self.notes)} note{'s' * (len(self.notes) != 1)}"
        notes = f"<details><summary>{many}</summary><ul>{items}</ul></details>" if items else ""
        return f"<div>{table}{stage}{notes}</div>"

    def _show(self) -> None:
        self._last = self._clock()
        content = self._display.HTML(self.to_html())
        if self._handle is None:
            self._handle = self._display.display(content, display_id=True)
        else:
            self._handle.update(content)
