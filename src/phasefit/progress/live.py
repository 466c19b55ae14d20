"""Progress on a terminal: a bar for the current phase, a line for each finished one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from phasefit.events import Event, Note, PhaseEnded, PhaseStarted, Scored, Stage, StepDone
from phasefit.progress.plain import ended
from phasefit.progress.text import RunningMean, duration, print_note, score, watched

if TYPE_CHECKING:
    from rich.console import Console


class LiveProgress:
    """A Rich progress display fed by events."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[numbers]}", markup=False),
            console=console,
            transient=True,
        )
        self.waiting = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self.task: TaskID | None = None
        self.phase = ""
        self.rate = RunningMean()
        self.loss = RunningMean()
        self.watch = ""
        self.now: float | None = None
        self.kept: float | None = None  # the score of the weights kept so far

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stop()

    def __call__(self, event: Event) -> None:
        """Update the display."""
        match event:
            case Note():
                print_note(self.console, event)
            case Stage():
                self._stop()
                self.task = self.waiting.add_task(f"{event.name} ...", total=None)
                self.waiting.start()
            case PhaseStarted():
                self._start(event)
            case StepDone():
                self._step(event)
            case Scored():
                self.now = event.scores.get(event.watch)
                self.kept = self.now if event.improved else self.kept
            case PhaseEnded():
                self._stop()
                self.console.print(f"{self.phase}: {ended(event, self.watch)}", soft_wrap=True)

    def _start(self, event: PhaseStarted) -> None:
        self._stop()
        self.phase = f"{event.index}/{event.phases} {event.phase}"
        self.rate, self.loss, self.watch = RunningMean(), RunningMean(), event.watch
        self.now = self.kept = None
        self.task = self.progress.add_task(self.phase, total=event.steps, numbers="")
        self.progress.start()

    def _step(self, event: StepDone) -> None:
        if self.task is None:
            return
        seconds, loss = self.rate.add(event.seconds), self.loss.add(event.loss)
        numbers = f"{1 / max(seconds, 1e-9):.1f}/s  loss {score(loss)}"
        if self.now is not None:
            numbers += f"  {watched(self.watch)} {score(self.now)} (kept {score(self.kept)})"
        numbers += f"  {duration(seconds * (event.steps - event.step))} left"
        self.progress.update(self.task, completed=event.step, total=event.steps, numbers=numbers)

    def _stop(self) -> None:
        """Remove the display."""
        for display in (self.progress, self.waiting):
            display.stop()
            for task in display.task_ids:
                display.remove_task(task)
        self.task = None
