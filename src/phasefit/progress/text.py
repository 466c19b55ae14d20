"""The words and numbers of progress: notes, durations, scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from phasefit.control_characters import one_line
from phasefit.events import Note, Scored

if TYPE_CHECKING:
    from rich.console import Console

MEMORY = 0.95  # weight of the old mean in the running means of step times and losses


def print_note(console: Console, note: Note) -> None:
    """Print a note as one line; warnings have a prefix."""
    text = one_line(note.text)
    if note.warning:
        console.print(f"warning: {text}", style="yellow", soft_wrap=True)
    else:
        console.print(text, style="dim", soft_wrap=True)


def duration(seconds: float) -> str:
    """A readable duration: 0.4 s, 12 s, 3 min 05 s, 2 h 10 min."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"


def score(value: float | None) -> str:
    """A loss or a score with a sensible number of digits."""
    return "-" if value is None else f"{value:.4f}" if abs(value) < 10 else f"{value:.2f}"


def count(value: float) -> str:
    """A count with thousands separators."""
    return f"{value:,.0f}" if float(value).is_integer() else score(value)


def watched(name: str) -> str:
    """The name of a watched score; the validation loss must not be confused with the training loss."""
    return "validation loss" if name == "loss" else name


class KeptReason:
    """Why weights are kept: their score is the best so far, or within noise of it (the option `slack`)."""

    def __init__(self) -> None:
        self._best: float | None = None

    def __call__(self, event: Scored) -> str:
        """The reason to print after a score; empty if its weights are not kept."""
        from phasefit.metrics.registry import metric_at

        value = event.scores.get(event.watch)
        if not event.improved or value is None:
            return ""
        if self._best is not None and metric_at(event.watch).higher_is_better and value <= self._best:
            return "kept: within noise of the best"
        self._best = value
        return "kept"


def of_steps(number: int) -> str:
    """`1 step`, `20 steps`."""
    return f"{count(number)} step{'s' * (number != 1)}"


class RunningMean:
    """An exponential moving average that starts as the plain mean."""

    def __init__(self) -> None:
        self.mean = 0.0
        self.count = 0

    def add(self, value: float) -> float:
        """Add a value and return the mean."""
        self.count += 1
        self.mean += (value - self.mean) * max(1 / self.count, 1 - MEMORY)
        return self.mean
