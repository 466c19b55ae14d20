"""The `phasefit` program: its commands, one line each."""

from __future__ import annotations

import os
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from phasefit.cli.compare import compare
from phasefit.cli.datasets import datasets
from phasefit.cli.demo import demo
from phasefit.cli.embed import embed
from phasefit.cli.errors import one_line_errors, one_line_warnings
from phasefit.cli.evaluate import evaluate
from phasefit.cli.geometry import geometry
from phasefit.cli.predict import predict
from phasefit.cli.recipes import recipes
from phasefit.cli.reproduce import reproduce
from phasefit.cli.search import search
from phasefit.cli.train import train
from phasefit.runs.processes import shutdown_process_group


class Commands(TyperGroup):
    """A group whose commands fail in one line, in a terminal and in tests alike."""

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Read the command line up to the command."""
        with one_line_errors():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Run the command that was asked for."""
        with one_line_errors(), one_line_warnings():
            return super().invoke(ctx)


HELP = """Train text classifiers in phases: denoise, contrast, fine-tune.

[bold]phasefit demo[/]                                          see it work, in two minutes
[bold]phasefit train reviews.csv[/]                             train on a table of texts and labels
[bold]phasefit predict runs/reviews new.csv -o out.csv[/]       use what came out
"""

app = typer.Typer(
    name="phasefit",
    help=HELP.replace("\n[", "\n\n["),
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(rich_help_panel="The main job")(train)
app.command(rich_help_panel="The main job")(predict)
app.command(rich_help_panel="The main job")(evaluate)
app.command(rich_help_panel="The main job")(embed)
app.command(rich_help_panel="The main job")(geometry)
app.command(rich_help_panel="Studies")(compare)
app.command(rich_help_panel="Studies")(search)
app.command(rich_help_panel="Studies")(reproduce)
app.add_typer(recipes, name="recipes", rich_help_panel="What there is")
app.command(rich_help_panel="What there is")(datasets)
app.command(rich_help_panel="What there is")(demo)


def _print_version(wanted: bool) -> None:
    if wanted:
        from phasefit import __version__

        typer.echo(f"phasefit {__version__}")
        raise typer.Exit


def _switch_debug(wanted: bool) -> None:
    if wanted:
        os.environ["PHASEFIT_DEBUG"] = "1"


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version.", is_eager=True, callback=_print_version)
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show tracebacks (as PHASEFIT_DEBUG=1 does).", callback=_switch_debug)
    ] = False,
) -> None:
    """Options that stand before the command."""


def main() -> None:
    """The console entry point."""
    with shutdown_process_group():
        app(prog_name="phasefit")
