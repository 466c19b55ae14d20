"""`phasefit datasets`: the datasets that go by a name."""

from __future__ import annotations

from typing import Annotated

import typer

from phasefit.cli import options as opt


def datasets(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="One of them, to see it closer.")] = None,
    data_dir: opt.DataDir = None,
) -> None:
    """List the datasets that go by a name, or look at one.

    [bold]phasefit datasets[/]

    [bold]phasefit datasets snips[/]
    """
