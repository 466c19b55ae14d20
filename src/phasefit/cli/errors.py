"""Exceptions as exit codes: 0 success, 1 a bug, 2 wrong input, 130 interrupted (143 by SIGTERM).

Every error is one line on standard error that starts with `phasefit:`; `--debug` adds the traceback.
"""

from __future__ import annotations

import os
import re
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import typer

from phasefit.control_characters import message_line
from phasefit.errors import PhasefitError, TextsCut, UnverifiedModel, constraint

BUG, BAD_INPUT, SIGNALLED = 1, 2, 128
NO_MEMORY = "there is not enough memory; use a smaller batch size or fewer rows, or close other programs"


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Report an error in one line and exit with its code."""
    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except KeyboardInterrupt as error:
        outcome = str(error) or "nothing was written"
        code = SIGNALLED + getattr(error, "signal", 2)
        raise typer.Exit(_report(f"interrupted; {outcome}", code)) from None
    except typer.TyperException as error:
        _usage(error)
    except PhasefitError as error:
        raise typer.Exit(_report(str(error), BAD_INPUT)) from None
    except BrokenPipeError:
        silence_output()
        raise typer.Exit(0) from None
    except OSError as error:
        if error.errno is None:  # not an error of the system, but raised by a library
            raise typer.Exit(_report(_bug(error), BUG)) from None
        where = f" ({error.filename})" if error.filename else ""
        raise typer.Exit(_report(f"{error.strerror or error}{where}", BAD_INPUT)) from None
    except MemoryError:
        raise typer.Exit(_report(NO_MEMORY, BAD_INPUT)) from None
    except Exception as error:  # noqa: BLE001 - users never see a traceback
        raise typer.Exit(_report(_bug(error), BUG)) from None


@contextmanager
def one_line_warnings() -> Iterator[None]:
    """Print the warnings of phasefit without the place in the code that Python adds."""
    original = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, TextsCut | UnverifiedModel):
            sys.stderr.write(f"phasefit: warning: {message_line(message)}\n")
        else:
            original(message, category, *where, **more)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = original


def reserve_standard_streams() -> None:
    """Open the null device in place of closed standard streams (`>&-`), so that no other file gets their numbers."""
    for number in (0, 1, 2):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # gets the lowest free number, which is this one
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - open until the process ends


def debugging() -> bool:
    """Whether to print tracebacks: `phasefit --debug` or PHASEFIT_DEBUG=1."""
    return os.environ.get("PHASEFIT_DEBUG", "0") not in ("", "0")


def _report(message: str, code: int) -> int:
    if debugging():
        traceback.print_exc()
    sys.stderr.write(f"phasefit: {message_line(message)}\n")
    return code


def _bug(error: Exception) -> str:
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"{what} (this is a bug in phasefit; set PHASEFIT_DEBUG=1 for the traceback)"


def _usage(error: typer.TyperException) -> None:
    """Report a wrong command line in one line; without any arguments, print the help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(error.format_message(), nl=False)
        raise typer.Exit(BAD_INPUT) from None
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "phasefit"
    raise typer.Exit(_report(f"{_plain(error.format_message())}; see '{command} --help'", BAD_INPUT)) from None


def _plain(message: str) -> str:
    """Typer's message about a wrong command line in our words."""
    message = " ".join(message.split()).rstrip(".?")
    if match := re.fullmatch(r"Invalid value for '?([^':]+)'?: (.*)", message):
        problem = constraint(match[2])
        return f"{match[1]} {problem}" if problem.startswith("must ") else f"{match[1]}: {problem}"
    if match := re.fullmatch(r"No such option:? (\S+?)\.? (?:\(Possible options: (.*)\)|Did you mean (.*))", message):
        return f"there is no option {match[1]}; did you mean {(match[2] or match[3]).replace(', ', ' or ')}"
    message = message.replace(". Did you mean", "; did you mean")
    return f"{message[:1].lower()}{message[1:]}"


def silence_output() -> None:
    """Discard buffered output after the reader has closed the pipe (`| head`)."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
