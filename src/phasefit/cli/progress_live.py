"""Progress on a terminal: one bar for the running phase, a lasting line for each that is over."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from phasefit.cli.progress import duration, print_note, score
from phasefit.cli.progress_plain import ended
from phasefit.training.events import Event, Note, PhaseEnded, PhaseStarted, Scored, Stage, StepDone

if TYPE_CHECKING:
    from rich.console import Console

MEMORY = 0.95  # how much of the running mean of step times and losses a step leaves in place


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
        self.rate = Running()
        self.loss = Running()
        self.watch = ""
        self.now: float | None = None
        self.best: float | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._stop()

    def __call__(self, event: Event) -> None:
        """Bring the display up to date."""
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
                self.best = self.now if event.improved else self.best
            case PhaseEnded():
                self._stop()
                self.console.print(f"{self.phase}: {ended(event, self.watch)}", soft_wrap=True)

    def _start(self, event: PhaseStarted) -> None:
        self._stop()
        self.phase = f"{event.index}/{event.phases} {event.phase}"
        self.rate, self.loss, self.watch = Running(), Running(), event.watch
        self.now = self.best = None
        self.task = self.progress.add_task(self.phase, total=event.steps, numbers="")
        self.progress.start()

    def _step(self, event: StepDone) -> None:
        if self.task is None:
            return
        seconds, loss = self.rate.add(event.seconds), self.loss.add(event.loss)
        numbers = f"{1 / max(seconds, 1e-9):.1f}/s  loss {score(loss)}"
        if self.now is not None:
            numbers += f"  {self.watch} {score(self.now)} (best {score(self.best)})"
        numbers += f"  {duration(seconds * (event.steps - event.step))} left"
        self.progress.update(self.task, completed=event.step, total=event.steps, numbers=numbers)

    def _stop(self) -> None:
        """Take the display off the screen."""
        for display in (self.progress, self.waiting):
            display.stop()
            for task in display.task_ids:
                display.remove_task(task)
        self.task = None


class Running:
    """A mean that forgets: it starts as the plain mean and then follows the latest values."""

    def __init__(self) -> None:
        self.mean = 0.0
        self.seen = 0

    def add(self, value: float) -> float:
        """Take in one value and give the mean."""
        self.seen += 1
        self.mean += (value - self.mean) * max(1 / self.seen, 1 - MEMORY)
        return self.mean
