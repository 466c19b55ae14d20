"""From exception to exit code: 0 done, 1 a bug, 2 something to put right, 130 interrupted (143 by SIGTERM).

Every failure is one line on standard error that starts with `phasefit:`; tracebacks are for `--debug`.
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


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Say what went wrong in one line and leave with the code that fits."""
    try:
        yield
    except (typer.Exit, typer.Abort):
        raise
    except KeyboardInterrupt as error:
        left = str(error) or "nothing was written"
        code = SIGNALLED + getattr(error, "signal", 2)
        raise typer.Exit(_say(f"interrupted; {left}", code)) from None
    except typer.TyperException as error:
        _usage(error)
    except PhasefitError as error:
        raise typer.Exit(_say(str(error), BAD_INPUT)) from None
    except BrokenPipeError:
        _silence_output()
        raise typer.Exit(0) from None
    except OSError as error:
        if error.errno is None:  # not the system speaking: a library that raised OSError for its own reasons
            raise typer.Exit(_say(_bug(error), BUG)) from None
        where = f" ({error.filename})" if error.filename else ""
        raise typer.Exit(_say(f"{error.strerror or error}{where}", BAD_INPUT)) from None
    except Exception as error:  # noqa: BLE001 - the last stop before the user
        raise typer.Exit(_say(_bug(error), BUG)) from None


@contextmanager
def one_line_warnings() -> Iterator[None]:
    """What phasefit itself warns of is a sentence, without the place in the code that Python adds."""
    before = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if issubclass(category, TextsCut):
            sys.stderr.write(f"phasefit: warning: {message}\n")
        else:
            before(message, category, *where, **more)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = before


def debugging() -> bool:
    """Whether tracebacks are wanted: `phasefit --debug` or PHASEFIT_DEBUG=1."""
    return os.environ.get("PHASEFIT_DEBUG", "0") not in ("", "0")


def _say(message: str, code: int) -> int:
    if debugging():
        traceback.print_exc()
    sys.stderr.write(f"phasefit: {' '.join(message.splitlines())}\n")
    return code


def _bug(error: Exception) -> str:
    what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    return f"{what} (this is a bug in phasefit; PHASEFIT_DEBUG=1 shows where)"


def _usage(error: typer.TyperException) -> None:
    """Report a wrong command line in one line; without any arguments, print the help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        typer.echo(error.format_message(), nl=False)
        raise typer.Exit(BAD_INPUT) from None
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "phasefit"
    message = error.format_message().replace("Value error, ", "").strip().rstrip(".")
    raise typer.Exit(_say(f"{message[:1].lower()}{message[1:]}; see '{command} --help'", BAD_INPUT)) from None


def _silence_output() -> None:
    """The reader has gone (`| head`): let what is still buffered go nowhere, without a complaint at exit."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
