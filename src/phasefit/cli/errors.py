"""Exceptions as exit codes: 0 success, 1 a bug, 2 wrong input, 130 interrupted (143 by SIGTERM).

Every error is one line on standard error that starts with `phasefit:`; `--debug` adds the traceback.
"""

from __future__ import annotations

import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import typer

from phasefit.errors import PhasefitError, TextsCut

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
        _silence_output()
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
        if issubclass(category, TextsCut):
            sys.stderr.write(f"phasefit: warning: {message}\n")
        else:
            original(message, category, *where, **more)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = original


def debugging() -> bool:
    """Whether to print tracebacks: `phasefit --debug` or PHASEFIT_DEBUG=1."""
    return os.environ.get("PHASEFIT_DEBUG", "0") not in ("", "0")


def _report(message: str, code: int) -> int:
    if debugging():
        traceback.print_exc()
    sys.stderr.write(f"phasefit: {' '.join(message.splitlines())}\n")
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
    message = error.format_message().replace("Value error, ", "").strip().rstrip(".")
    raise typer.Exit(_report(f"{message[:1].lower()}{message[1:]}; see '{command} --help'", BAD_INPUT)) from None


def _silence_output() -> None:
    """Discard buffered output after the reader has closed the pipe (`| head`)."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
