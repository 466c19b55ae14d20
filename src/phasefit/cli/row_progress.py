"""Progress of shards: rows, rows per second and the time left; a bar on a terminal, a line per minute elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any, Self

from phasefit.cli.console import stderr

EVERY = 60.0  # seconds between lines without a terminal


class RowProgress:
    """Receives the progress of `run_shards`; quiet: only warnings."""

    def __init__(self, what: str, quiet: bool = False) -> None:
        self._what, self._quiet = what, quiet
        self._console = stderr()
        self._bar: Any = None
        self._task: Any = None
        self._total = self._done = self._new = 0
        self._started = self._shown = time.monotonic()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def note(self, text: str) -> None:
        """Print a note above the bar; warnings also with `--quiet`."""
        if not self._quiet or text.startswith("warning"):
            self._console.print(f"phasefit: {text}" if text.startswith("warning") else text, soft_wrap=True)

    def reading(self, name: str, number: int, files: int) -> None:
        """Print a line per minute: reading takes seconds per million rows."""
        now = time.monotonic()
        if not self._quiet and now - self._shown >= EVERY:
            self._shown = now
            self._console.print(f"reading {name} ({number + 1:,} of {files:,})", soft_wrap=True)

    def start(self, total: int, done: int) -> None:
        """Show the bar."""
        self._total, self._done = total, done
        self._started = self._shown = time.monotonic()
        if self._quiet or not self._console.is_terminal:
            return
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}"),  # Rich's time left is empty if shards take more than half a minute
        )
        self._bar = Progress(*columns, console=self._console, transient=True)
        self._task = self._bar.add_task(self._what, total=total, completed=done, rate="")
        self._bar.start()

    def advance(self, rows: int) -> None:
        """Count rows."""
        self._done += rows
        self._new += rows
        if self._bar is not None:
            self._bar.update(self._task, advance=rows, rate=self._speed())
            return
        now = time.monotonic()
        if not self._quiet and now - self._shown >= EVERY:
            self._shown = now
            self._console.print(self.line(), soft_wrap=True)

    @property
    def rate(self) -> float:
        """Rows per second of this session."""
        return self._new / max(time.monotonic() - self._started, 1e-9)

    def line(self) -> str:
        """The progress in one line."""
        return f"{self._what}: {self._done:,} of {self._total:,} rows, {self._speed()}"

    def _speed(self) -> str:
        seconds = round((self._total - self._done) / max(self.rate, 1e-9))
        hours, minutes = divmod(round(seconds / 60), 60)
        left = f"{seconds} s" if seconds < 100 else f"{hours}:{minutes:02d} h"
        return f"{self.rate:,.0f} rows/s, {left} left"
