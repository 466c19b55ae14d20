"""Help in two lengths: `--help` shows the options most people need, `--help-all` shows all of them.

An option is advanced if its panel is: `rich_help_panel=DATA.advanced` in `options.py`. Commands with few options show
all of them in `--help` too. The help text of an option may have details after a form feed, which only the complete
help shows. In the docstring of a command, lines that start with `$` are examples; they are not wrapped.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from typer.core import TyperArgument, TyperCommand, TyperGroup

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.panel import Panel as RichPanel
    from rich.text import Text

HELP_NAMES = ["-h", "--help", "--help-all"]
HELP_ALL = "phasefit.help_all"  # in a context's meta
FEW_OPTIONS = 20  # a command with at most this many shows them all in --help
SHORT_PARAGRAPHS, SHORT_EXAMPLES = 2, 4
WIDEST_NAME = 24  # columns for the names of options; longer ones are wrapped
WIDEST = 120
BRACES = str.maketrans("", "", "{}")  # Typer's mark of required arguments
ARGUMENTS, OPTIONS, COMMANDS = "Arguments", "Options", "Commands"


class Panel(str):
    """The title of a panel of options; `title.advanced` is the same panel for options that only --help-all shows."""

    is_advanced = False

    @property
    def advanced(self) -> Panel:
        """This panel, for advanced options."""
        panel = Panel(self)
        panel.is_advanced = True
        return panel


class HelpCommand(TyperCommand):
    """A command with `--help` and `--help-all`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments; remember which help is requested."""
        ctx.meta[HELP_ALL] = "--help-all" in args
        return super().parse_args(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the requested help."""
        formatter.write(render_help(self, ctx))


class HelpGroup(TyperGroup):
    """A group of commands with the same layout of help."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help, which lists the commands."""
        formatter.write(render_help(self, ctx))


def render_help(command: TyperCommand | TyperGroup, ctx: Any) -> str:
    """The help of a command as wide as the terminal, with colours if the terminal has them."""
    from rich.console import Console, Group
    from rich.padding import Padding
    from rich.text import Text

    params = [param for param in command.get_params(ctx) if not getattr(param, "hidden", False)]
    advanced = [] if ctx.meta.get(HELP_ALL) or len(params) <= FEW_OPTIONS else list(filter(_is_advanced, params))
    brief = bool(advanced)
    console = Console(highlight=False, emoji=False)
    console.width = min(console.width, WIDEST)
    with console.capture() as capture:
        usage = command.get_usage(ctx).translate(BRACES)
        console.print(Padding(Text(usage, style="bold"), (1, 1)))
        console.print(Padding(Group(*_description(command.help or "", brief)), (0, 1)))
        shown = [param for param in params if param not in advanced]
        width = min(WIDEST_NAME, max(_left(param, ctx).cell_len for param in shown))
        for title, listed in _panels(shown).items():
            console.print(_panel(title, [(_left(one, ctx), _right(one, ctx, brief)) for one in listed], width))
        if isinstance(command, TyperGroup):
            commands = _commands(command, ctx)
            width = max(len(name) for lines in commands.values() for name, _ in lines)
            for title, lines in commands.items():
                console.print(_panel(title, [(Text(name), Text.from_markup(line)) for name, line in lines], width))
        if brief:
            console.print(f" {len(advanced)} more options: {ctx.command_path} --help-all")
    return capture.get()


def _is_advanced(param: Any) -> bool:
    panel = getattr(param, "rich_help_panel", None)
    return isinstance(panel, Panel) and panel.is_advanced


def _description(text: str, brief: bool) -> list[Text]:
    """Paragraphs, then examples (lines that start with `$`), each followed by an empty line."""
    from rich.text import Text

    prose, examples = [], []
    for paragraph in inspect.cleandoc(text).split("\n\n"):
        if paragraph.startswith("$ "):
            examples += [f"  {line.removeprefix('$ ')}\n" for line in paragraph.split("\n")]
        elif paragraph:
            prose.append(Text.from_markup(f"{' '.join(paragraph.split())}\n"))
    if brief:
        prose, examples = prose[:SHORT_PARAGRAPHS], examples[:SHORT_EXAMPLES]
    shown = Text("".join(examples), style="bold", no_wrap=True, overflow="ignore")
    return [*prose, shown] if examples else prose


def _detailed(text: str, brief: bool) -> str:
    """The help text of an option with the details after a form feed, or `brief` without them."""
    short, _, details = text.partition("\f")
    return short if brief else short + details


def _panels(params: Sequence[Any]) -> dict[str, list[Any]]:
    """Parameters by panel in the order of the command: arguments first, options without a panel last."""
    panels: dict[str, list[Any]] = {ARGUMENTS: []}
    for param in params:
        usual = ARGUMENTS if isinstance(param, TyperArgument) else OPTIONS
        panels.setdefault(getattr(param, "rich_help_panel", None) or usual, []).append(param)
    last = panels.pop(OPTIONS, [])
    return {title: listed for title, listed in {**panels, OPTIONS: last}.items() if listed}


def _commands(group: TyperGroup, ctx: Any) -> dict[str, list[tuple[str, str]]]:
    """The commands by panel, each with the first paragraph of its help."""
    panels: dict[str, list[tuple[str, str]]] = {}
    for name in group.list_commands(ctx):
        command: Any = group.get_command(ctx, name)
        if not command.hidden:
            first = inspect.cleandoc(command.short_help or command.help or "").partition("\n\n")[0]
            panels.setdefault(command.rich_help_panel or COMMANDS, []).append((name, " ".join(first.split())))
    return panels


def _panel(title: str, rows: Sequence[tuple[Text, Text]], left_width: int) -> RichPanel:
    from rich.panel import Panel as RichPanel
    from rich.table import Table

    table = Table(box=None, show_header=False, pad_edge=False, expand=True)
    table.add_column(width=left_width, style="bold cyan")
    table.add_column(ratio=1)
    for left, right in rows:
        table.add_row(left, right)
    return RichPanel(table, title=title, title_align="left", border_style="dim")


def _left(param: Any, ctx: Any) -> Text:
    """`-o, --out FOLDER`; the values of a choice are listed on the right."""
    from rich.text import Text

    if isinstance(param, TyperArgument):
        return Text(param.display_name_raw.upper())
    if _is_help(param):
        return Text("-h, --help")
    names = ", ".join([*sorted(param.opts, key=len), *param.secondary_opts])
    value = "CHOICE" if _choices(param, ctx) else param.metavar or param.display_type(ctx).strip("<>").upper()
    return Text(names) if param.is_flag else Text.assemble(names, (f" {value}", "not bold yellow"))


def _right(param: Any, ctx: Any, brief: bool) -> Text:
    """The help text, then choices and default in brackets."""
    from rich.text import Text

    if _is_help(param):
        return Text("Show this help; --help-all shows all options.")
    facts = [f"one of {', '.join(choices)}"] if (choices := _choices(param, ctx)) else []
    default = param.get_default(ctx, call=False)
    if param.required and not isinstance(param, TyperArgument):
        facts.append("required")
    elif param.show_default and default not in (None, "", (), []) and default is not False and not callable(default):
        value = param.opts[0] if default is True else f"{default:g}" if isinstance(default, float) else default
        facts.append(f"default: {value}")
    text = Text.from_markup(" ".join(_detailed(param.help or "", brief).split()))
    return text.append(f" [{'; '.join(facts)}]", style="dim") if facts else text


def _is_help(param: Any) -> bool:
    return "--help-all" in param.opts


def _choices(param: Any, ctx: Any) -> list[str]:
    """The values of an option that accepts only some, such as <a|b>."""
    names: list[str] = param.display_type(ctx).strip("<>").split("|")
    return names if len(names) > 1 and param.metavar is None else []
