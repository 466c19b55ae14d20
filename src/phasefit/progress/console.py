"""The consoles: results go to standard output, everything else to standard error. Strings are printed literally."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from phasefit.control_characters import escape_controls, one_line

if TYPE_CHECKING:
    from rich.console import Console

PIPE_WIDTH = 120  # at least, without a terminal; 80 would cut tables that a file can hold


def stdout() -> Console:
    """The console for results."""
    return _console(stderr=False)


def stderr() -> Console:
    """The console for progress, notes and warnings."""
    return _console(stderr=True)


def _console(stderr: bool) -> Console:
    console: Console = _safe_console()(stderr=stderr, markup=False, emoji=False, highlight=False)
    if not console.is_terminal:
        console.width = max(console.width, PIPE_WIDTH)
    return console


@cache
def _safe_console() -> type[Console]:
    """A console that escapes the control characters of everything it prints; imports rich on first use."""
    from rich.console import Console
    from rich.segment import Segment

    class SafeConsole(Console):
        def print(self, *objects: Any, **options: Any) -> None:
            """Print; a string with `soft_wrap` is a sentence, in which a line break could forge another one."""
            if options.get("soft_wrap"):
                objects = tuple(_sentence(one) if isinstance(one, str) else one for one in objects)
            super().print(*objects, **options)

        def render_str(self, text: str, **options: Any) -> Any:
            """Escape strings before they are measured, so that tables keep their layout."""
            return super().render_str(escape_controls(text), **options)

        def render(self, renderable: Any, options: Any = None) -> Any:
            """Escape everything else when it is rendered; Rich's own control codes are separate segments."""
            for segment in super().render(renderable, options):
                text = segment.text if segment.control else escape_controls(segment.text)
                yield segment if text == segment.text else Segment(text, segment.style)

    return SafeConsole


def _sentence(text: str) -> str:
    """The text on one line, with an empty line after it if it ends in a line break."""
    return one_line(text.removesuffix("\n")) + "\n" * text.endswith("\n")
