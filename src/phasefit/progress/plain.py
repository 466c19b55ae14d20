"""Progress as plain lines, for logs and pipes: the start, scores and end of each phase."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Self

from phasefit.events import Event, Note, PhaseEnded, PhaseStarted, Scored, Stage, StepDone
from phasefit.progress.text import KeptReason, RunningMean, count, duration, of_steps, print_note, score, watched

if TYPE_CHECKING:
    from rich.console import Console

SCORES_APART = 1.0  # seconds between lines of scores whose weights are not kept
STEPS_APART = 30.0  # seconds without a line after which a step is printed


class PlainProgress:
    """Prints one line per event of interest."""

    def __init__(self, console: Console, clock: Callable[[], float] = time.monotonic) -> None:
        self.console = console
        self.clock = clock
        self.place = ""  # "phase 1/3 denoise"
        self.steps = 0
        self.loss: float | None = None
        self.watch = ""
        self.seconds = RunningMean()
        self.kept_reason = KeptReason()
        self.last_line = clock()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return

    def __call__(self, event: Event) -> None:
        """Print the event if it is of interest."""
        match event:
            case Note():
                print_note(self.console, event)
            case Stage():
                self._line(f"{event.name} ...")
            case PhaseStarted():
                self._start(event)
            case StepDone():
                self._step(event)
            case Scored():
                self._scored(event)
            case PhaseEnded():
                self._line(f"{self.place}: {ended(event, self.watch)}")

    def _start(self, event: PhaseStarted) -> None:
        self.place = f"phase {event.index}/{event.phases} {event.phase}"
        self.steps, self.watch, self.loss = event.steps, event.watch, None
        self.seconds, self.kept_reason = RunningMean(), KeptReason()
        self._line(f"{self.place}: {started(event)}")

    def _step(self, event: StepDone) -> None:
        self.loss, seconds = event.loss, self.seconds.add(event.seconds)
        if self.clock() - self.last_line >= STEPS_APART:
            left = duration((event.steps - event.step) * seconds)
            self._line(f"  step {event.step}/{event.steps}  loss {score(event.loss)}  at most {left} left")

    def _scored(self, event: Scored) -> None:
        reason = self.kept_reason(event)
        if event.improved or self.clock() - self.last_line >= SCORES_APART:
            value = score(event.scores.get(event.watch))
            kept = f"  ({reason})" if reason else ""
            step = f"  step {event.step}/{self.steps}" if self.steps else f"  step {event.step}"
            loss = "" if self.loss is None else f"  loss {score(self.loss)}"
            self._line(f"{step}{loss}  {watched(event.watch)} {value}{kept}")

    def _line(self, text: str) -> None:
        self.last_line = self.clock()
        self.console.print(text, soft_wrap=True)


def started(event: PhaseStarted) -> str:
    """The line for the start of a phase."""
    facts = "".join(f", {count(value)} {name.replace('_', ' ')}" for name, value in event.facts.items())
    chosen = f"watching {watched(event.watch)}" if event.watch else "keeping the last weights"
    steps = f"up to {of_steps(event.steps)}" if event.steps else "solved without steps"
    return f"{steps}, {chosen}{facts}"


def ended(event: PhaseEnded, watch: str) -> str:
    """The line for the end of a phase."""
    best = (
        f"; kept {watched(watch)} {score(event.best[watch])} at step {event.best_step}" if watch in event.best else ""
    )
    early = ", stopped early" if event.stopped_early else ""
    return f"{of_steps(event.steps)} in {duration(event.seconds)}{early}{best}"
