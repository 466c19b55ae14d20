"""Progress of a study: a bar on a terminal, a line for each cell elsewhere; a line for each trial of a search."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Self

from phasefit.cli.console import stderr
from phasefit.progress.text import duration, print_note, score
from phasefit.studies.pool import CellDone, CellEvent, CellStarted
from phasefit.studies.result import figure, usual_score

if TYPE_CHECKING:
    from rich.console import Console

    from phasefit.studies.search.trials import TrialDone


class StudyProgress:
    """A context manager that receives the events of a study."""

    def __init__(self, console: Console, quiet: bool) -> None:
        self.console, self.quiet = console, quiet
        self.live = console.is_terminal and not console.is_dumb_terminal and not quiet
        self.bar: Any = None
        self.task: Any = None
        self.started = time.monotonic()
        self.fresh = 0  # cells that were not in the cache
        self.running: list[str] = []
        self.cached = 0

    def __enter__(self) -> Self:
        if self.live:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
            more = (TimeElapsedColumn(), TextColumn("{task.fields[left]}", markup=False))
            self.bar = Progress(*columns, *more, console=self.console, transient=True)
            self.task = self.bar.add_task("reading", total=None, left="")
            self.bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.stop()

    def __call__(self, event: CellEvent) -> None:
        """Show the event."""
        if isinstance(event, CellStarted):
            self.running.append(event.cell.name)
        elif isinstance(event, CellDone):
            self._done(event)
        elif not self.quiet:
            print_note(self.console, event)
        if self.bar is not None and self.running:
            self.bar.update(self.task, description=self.running[-1])

    def _done(self, event: CellDone) -> None:
        if event.cell.name in self.running:
            self.running.remove(event.cell.name)
        if event.cached:
            self.cached += 1
        else:
            self.fresh += 1
        left = self._left(event)
        if self.bar is not None:
            self.bar.update(self.task, completed=event.done, total=event.total, left=left)
        if self.quiet or event.cached:
            return
        name = usual_score(event.result)
        value = figure(event.result.metrics, name)
        line = f"{event.done}/{event.total}  {event.cell.name}: {name.partition('.')[2]} {score(value)} in "
        self.console.print(
            f"{line}{duration(event.result.seconds)}{left and f'; {left}'}", soft_wrap=True, markup=False
        )

    def _left(self, event: CellDone) -> str:
        if self.fresh < 2 or event.done == event.total:  # the first cell includes the start of torch
            return ""
        each = (time.monotonic() - self.started) / self.fresh
        return f"about {duration(each * (event.total - event.done))} left"


def study_listener(quiet: bool = False) -> StudyProgress:
    """The progress display of a study."""
    return StudyProgress(stderr(), quiet)


def show_trial(done: TrialDone, quiet: bool) -> None:
    """Print a line for a trial of a search."""
    from phasefit.recipes.settings import setting_lines

    if quiet:
        return
    outcomes = {"complete": f"{score(done.score)} in {duration(done.seconds)}", "pruned": "stopped early"}
    outcome = outcomes.get(done.state, f"failed: {done.why}")
    best = f"; best {score(done.best)}" if done.best is not None else ""
    line = (
        f"{done.done}/{done.total}  trial {done.number}: {outcome}{best}  ({', '.join(setting_lines(done.settings))})"
    )
    stderr().print(line, soft_wrap=True, markup=False)
