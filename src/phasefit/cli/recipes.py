"""`phasefit recipes`: list, show, copy, check."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from phasefit.cli.console import echo
from phasefit.cli.help import HelpCommand, HelpGroup
from phasefit.control_characters import one_line
from phasefit.errors import PhasefitError, RecipeError
from phasefit.files.atomic import write_new_text
from phasefit.phases import PHASES

recipes = typer.Typer(
    help="""List, show, copy and check recipes, and list the options of a phase.

$ phasefit recipes
$ phasefit recipes show three-phase
$ phasefit recipes copy three-phase mine.toml
$ phasefit recipes check mine.toml
""",
    cls=HelpGroup,
    invoke_without_command=True,
    rich_markup_mode="rich",
)
KINDS = f"{', '.join(PHASES)}, objectives or views; by default lists the kinds of phases."
USAGE = {
    "objectives": 'In a recipe: objective = { name = "supcon", temperature = 0.3 }; on the command line: '
    "--set contrast.objective.temperature=0.3",
    "views": 'In a recipe: views = ["dropout", { name = "delete-words", ratio = 0.2 }]; on the command line: '
    "--set finetune.views=delete-words",
}
Name = Annotated[str, typer.Argument(metavar="NAME", help="A name from 'phasefit recipes', or a recipe file.")]


@recipes.callback()
def list_all(ctx: typer.Context) -> None:
    """List the recipes unless a command follows."""
    if ctx.invoked_subcommand is not None:
        return
    from phasefit.baselines import BASELINES
    from phasefit.cli.console import stdout
    from phasefit.cli.tables import new_table
    from phasefit.recipes import RECIPES, list_recipes

    table = new_table("recipe", "phases", "description")
    for info in list_recipes():
        table.add_row(info.name, ", ".join(info.phases), info.title)
    for name, problem in RECIPES.loadable()[1].items():
        table.add_row(name, "", str(problem))
    stdout().print(table)
    baseline_table = new_table("baseline (for 'phasefit compare')", "description")
    baselines, broken = BASELINES.loadable()
    for name, title in [*((name, one.title) for name, one in baselines.items()), *broken.items()]:
        baseline_table.add_row(name, str(title))
    stdout().print(baseline_table)
    stdout().print(
        "Next: phasefit recipes show NAME, phasefit recipes copy NAME mine.toml, phasefit train DATA -r NAME"
    )


@recipes.command(cls=HelpCommand)
def show(
    name: Name,
    resolved: Annotated[
        bool, typer.Option("--resolved", help="Show every option with its value, including defaults.")
    ] = False,
) -> None:
    """Print a recipe with its comments.

    $ phasefit recipes show three-phase
    $ phasefit recipes show finetune --resolved
    """
    from phasefit.recipes import read_recipe, recipe_text

    echo((read_recipe(name).to_toml() if resolved else recipe_text(name)).rstrip("\n"))


@recipes.command(cls=HelpCommand)
def options(
    kind: Annotated[str | None, typer.Argument(metavar="KIND", help=KINDS)] = None,
) -> None:
    """List the options of a phase, or all objectives or views, for a recipe or --set.

    $ phasefit recipes options
    $ phasefit recipes options contrast
    $ phasefit recipes options objectives
    """
    from phasefit.cli.console import stdout
    from phasefit.cli.tables import new_table
    from phasefit.recipes.listing import REGISTERED, WHOLE_RUN, list_options

    if kind is None:
        show_kinds()
        return
    if kind in REGISTERED:
        show_registered(kind)
        return
    table = new_table("option", "default", "description")
    for option in (*list_options(kind), *WHOLE_RUN):
        choices = f" ({option.choices})" if option.choices else ""
        table.add_row(option.name, option.default, option.description + choices)
    stdout().print(table)
    stdout().print(f'In a recipe: [[phase]] with kind = "{kind}"; on the command line: --set {kind}.epochs=4')
    named = ", ".join(option.name for option in WHOLE_RUN)
    stdout().print(
        f"{named} apply to the whole run: put them above the phases of a recipe, or use --set max_length=128"
    )


def show_kinds() -> None:
    """Print the kinds of phases."""
    from phasefit.cli.console import stdout
    from phasefit.cli.tables import new_table
    from phasefit.recipes import list_recipes

    table = new_table("kind of phase", "recipes with such a phase")
    phases_by_recipe = [(info.name, {name.partition("-")[0] for name in info.phases}) for info in list_recipes()]
    for kind in PHASES:
        table.add_row(kind, ", ".join(name for name, kinds in phases_by_recipe if kind in kinds))
    stdout().print(table)
    stdout().print("Next: phasefit recipes options KIND, where KIND is one of these, objectives or views")


def show_registered(registry: str) -> None:
    """Print all objectives, or all views, with their options."""
    from phasefit.cli.console import stdout
    from phasefit.cli.tables import new_table
    from phasefit.recipes.listing import list_registered

    table = new_table(registry.removesuffix("s"), "options", "description")
    for info in list_registered(registry):
        table.add_row(info.name, "\n".join(info.options), info.description)
    stdout().print(table)
    stdout().print(USAGE[registry])


@recipes.command(cls=HelpCommand)
def copy(
    name: Name,
    file: Annotated[Path | None, typer.Argument(metavar="FILE", help="The new file; default: NAME.toml.")] = None,
) -> None:
    """Copy a recipe to a file that you can change and train with.

    $ phasefit recipes copy three-phase mine.toml
    $ phasefit train reviews.csv --recipe mine.toml
    """
    from phasefit.recipes import recipe_text

    text = recipe_text(name)
    file_name = f"{Path(name).stem}.toml"
    target = file if file is not None else Path(file_name)
    if target.is_dir():
        target = target / file_name
    try:
        write_new_text(target, text)
    except FileExistsError:
        raise RecipeError(f"{target} exists already; choose another file name") from None
    echo(f"Copied to {target}; train with it: phasefit train DATA --recipe {target}")


@recipes.command(cls=HelpCommand)
def check(
    files: Annotated[list[str], typer.Argument(metavar="FILE", help="Recipe files or names.")],
) -> None:
    """Check recipes without training.

    Prints one line per file: ok, or its first problem. The exit code is 2 if any file has a problem.

    $ phasefit recipes check mine.toml other.toml
    """
    from phasefit.recipes.reading import efforts_of, read_recipe

    problems = 0
    for file in files:
        try:
            read_recipe(file).check()
            for effort in efforts_of(file):
                read_recipe(file, effort=effort).check()
        except PhasefitError as error:
            problems += 1
            echo(f"phasefit: {one_line(error)}", stderr=True)
        else:
            echo(f"{one_line(file)}: ok")
    if problems:
        raise typer.Exit(2)
