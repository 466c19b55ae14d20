"""Progress of a job: a live display on a terminal, plain lines elsewhere, only warnings with `--quiet`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol, Self

from phasefit.cli.console import stderr
from phasefit.events import Event, Note
from phasefit.progress.text import print_note
from phasefit.runs.processes import is_main_process

if TYPE_CHECKING:
    from rich.console import Console


class Listener(Protocol):
    """A context manager that receives the events of a job in order."""

    def __enter__(self) -> Self: ...
    def __exit__(self, *error: object) -> None: ...
    def __call__(self, event: Event) -> None: ...


class Quiet:
    """Prints only warnings."""

    def __init__(self, console: Console) -> None:
        self.console = console

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        return

    def __call__(self, event: Event) -> None:
        """Print the event if it is a warning; of several processes, only the first prints it."""
        if isinstance(event, Note) and event.warning and is_main_process():
            print_note(self.console, event)


def listener(quiet: bool = False) -> Listener:
    """A listener for this terminal, for a pipe, or a quiet one."""
    console = stderr()
    if quiet:
        return Quiet(console)
    if console.is_terminal and not console.is_dumb_terminal:
        from phasefit.progress.live import LiveProgress

        return LiveProgress(console)
    from phasefit.progress.plain import PlainProgress

    return PlainProgress(console)


@contextmanager
def counting(what: str, total: int, quiet: bool = False) -> Iterator[Callable[[int], None]]:
    """A progress bar for `total` texts; call it with the number of texts just done. Only on a terminal."""
    console = stderr()
    if quiet or not console.is_terminal:
        yield lambda _: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.advance(task, done)


@contextmanager
def waiting(what: str, quiet: bool = False) -> Iterator[None]:
    """A spinner for work that cannot be counted. Only on a terminal."""
    console = stderr()
    if quiet or not console.is_terminal:
        yield
        return
    with console.status(f"{what} ..."):
        yield
