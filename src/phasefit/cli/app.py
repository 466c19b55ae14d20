"""The `phasefit` program and its commands."""

from __future__ import annotations

import os
from collections import UserDict
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import typer

from phasefit.cli.errors import one_line_errors, one_line_warnings, reserve_standard_streams
from phasefit.cli.help import HELP_NAMES, HelpCommand, HelpGroup
from phasefit.errors import PluginError
from phasefit.registry import Registry
from phasefit.runs.processes import shutdown_process_group

PANELS = {  # of --help, with their commands
    "Train and use a model": {
        "train": "phasefit.cli.train:train",
        "predict": "phasefit.cli.predict:predict",
        "evaluate": "phasefit.cli.evaluate:evaluate",
        "embed": "phasefit.cli.embed:embed",
        "geometry": "phasefit.cli.geometry:geometry",
        "verify": "phasefit.cli.verify:verify",
        "export": "phasefit.cli.export:export",
    },
    "Compare and tune": {
        "compare": "phasefit.cli.compare:compare",
        "search": "phasefit.cli.search:search",
        "reproduce": "phasefit.cli.reproduce:reproduce",
    },
    "Recipes and data": {
        "recipes": "phasefit.cli.recipes:recipes",
        "datasets": "phasefit.cli.datasets:datasets",
        "demo": "phasefit.cli.demo:demo",
    },
}
COMMANDS: Registry[Callable[..., Any] | typer.Typer] = Registry(
    "command", "phasefit.commands", entries={name: path for panel in PANELS.values() for name, path in panel.items()}
)


class LazyCommands(UserDict[str, Any]):
    """The registered commands for Typer, each imported when it is called or listed in --help."""

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)

    def __contains__(self, name: object) -> bool:
        return name in COMMANDS

    def __missing__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        panel = next((title for title, names in PANELS.items() if name in names), "From other packages")
        parent = typer.Typer(rich_markup_mode="rich")
        try:
            entry = COMMANDS[name]
        except PluginError as error:  # --help lists it with the reason; calling it fails
            anything = {"ignore_unknown_options": True, "allow_extra_args": True}
            parent.command(name, help=str(error), rich_help_panel=panel, context_settings=anything)(_raising(error))
        else:
            if isinstance(entry, typer.Typer):
                parent.add_typer(entry, name=name, rich_help_panel=panel)
            else:
                parent.command(name, cls=HelpCommand, rich_help_panel=panel)(entry)
        self.data[name] = typer.main.get_group(parent).commands[name]
        return self.data[name]


def _raising(error: PluginError) -> Callable[[], None]:
    def fail() -> None:
        raise error

    return fail


class Commands(HelpGroup):
    """A group whose commands report errors in one line, in a terminal and in tests."""

    def __init__(self, **attrs: Any) -> None:
        super().__init__(**attrs)
        self.commands = LazyCommands()

    def make_context(self, *args: Any, **extra: Any) -> Any:
        """Parse the options before the command."""
        with one_line_errors():
            return super().make_context(*args, **extra)

    def invoke(self, ctx: Any) -> Any:
        """Run the command."""
        with one_line_errors(), one_line_warnings():
            return super().invoke(ctx)


HELP = """Train text classifiers in phases: denoise, contrast, fine-tune.

$ phasefit demo                                     a two-minute demo
$ phasefit train reviews.csv                        train on your table
$ phasefit predict runs/reviews new.csv -o out.csv  classify new texts
"""

app = typer.Typer(
    name="phasefit",
    help=HELP,
    cls=Commands,
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": HELP_NAMES},
)


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
        bool, typer.Option("--debug", help="Show tracebacks (same as PHASEFIT_DEBUG=1).", callback=_switch_debug)
    ] = False,
) -> None:
    """Options before the command."""


def main() -> None:
    """The console entry point."""
    reserve_standard_streams()
    with shutdown_process_group():
        app(prog_name="phasefit")
