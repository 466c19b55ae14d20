"""List every sentence that phasefit shows to a person: `make sentences`.

Help comes from the commands themselves, docstrings from the public names, and everything else from the source: string
literals (errors, warnings, notes, titles), page and card templates, and the packaged recipes, studies and datasets.
Read the listing from top to bottom after a change to the wording.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import phasefit
from phasefit.cli.app import app

ROOT = Path(phasefit.__file__).parent
TEMPLATES = {".html", ".md", ".js"}
NOT_OURS = "echarts"
WARNINGS = {"Note", "warn", "append"}  # calls that pass a sentence on as a note or a warning
MARKUP = re.compile(r"{%.*?%}|{#.*?#}|<style.*?</style>|</?[a-zA-Z][^>]*>", re.S)
JS_STRING = re.compile(r"\"([^\"\n]*)\"|'([^'\n]*)'|`([^`]*)`")


class Sentence(NamedTuple):
    """One text with the place it comes from."""

    kind: str  # help, docstring, error, note, text, template, packaged
    place: str
    text: str


def sentences() -> Iterator[Sentence]:
    """All of them, in the order of the listing."""
    yield from _help()
    yield from _docstrings()
    for path in sorted(ROOT.rglob("*.py")):
        yield from _literals(path)
    for path in sorted(path for path in ROOT.rglob("*") if path.suffix in TEMPLATES and NOT_OURS not in path.name):
        yield from _template(path)
    for path in sorted(ROOT.rglob("*.toml")):
        yield from _packaged(path)


def _help() -> Iterator[Sentence]:
    import typer

    group = typer.main.get_command(app)
    places: dict[str, list[str]] = {_plain(group.help or ""): ["phasefit"]}
    for name in sorted(group.commands):
        for place, text in _command_help(f"phasefit {name}", group.commands[name]):
            places.setdefault(text, []).append(place)
    for text, commands in places.items():  # an option that several commands share is listed once
        yield Sentence("help", ", ".join(commands), text)


def _command_help(path: str, command: Any) -> Iterator[tuple[str, str]]:
    yield path, _plain(command.help or "")
    for parameter in command.params:
        if text := getattr(parameter, "help", None):
            yield f"{path} {'/'.join(parameter.opts)}", _plain(text)
    for name, nested in sorted(getattr(command, "commands", {}).items()):
        yield from _command_help(f"{path} {name}", nested)


def _docstrings() -> Iterator[Sentence]:
    for name in sorted(phasefit.__all__):
        thing = getattr(phasefit, name)
        if not (inspect.isclass(thing) or inspect.isfunction(thing)):
            continue
        yield Sentence("docstring", f"phasefit.{name}", inspect.getdoc(thing) or "")
        if inspect.isclass(thing) and not issubclass(thing, BaseException):
            for method, function in inspect.getmembers(thing, inspect.isroutine):
                own = not method.startswith("_") and getattr(function, "__module__", "").startswith("phasefit")
                if own and (text := inspect.getdoc(function)):
                    yield Sentence("docstring", f"phasefit.{name}.{method}", text)


def _literals(path: Path) -> Iterator[Sentence]:
    """String literals of more than one word, docstrings left out; what is filled in appears in braces."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    place = path.relative_to(ROOT)

    def visit(node: ast.AST, kind: str) -> Iterator[Sentence]:
        if isinstance(node, ast.Raise):
            kind = "error"
        elif isinstance(node, ast.Call) and kind == "text":
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            kind = "note" if called in WARNINGS else kind
        if isinstance(node, ast.keyword) and node.arg == "help":
            return  # listed with its command
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            text = _filled(node)
            if id(node) not in docstrings and _is_sentence(text):
                yield Sentence(kind, f"{place}:{node.lineno}", text)
            if isinstance(node, ast.JoinedStr):
                for value in node.values:
                    if isinstance(value, ast.FormattedValue):
                        yield from visit(value.value, kind)
            return
        for child in ast.iter_child_nodes(node):
            yield from visit(child, kind)

    yield from visit(tree, "text")


def _filled(node: ast.JoinedStr | ast.Constant) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    return "".join(
        str(part.value) if isinstance(part, ast.Constant) else "{" + ast.unparse(part.value) + "}"
        for part in node.values
    )


def _is_sentence(text: str) -> bool:
    words = re.findall(r"[^\W\d_]{2,}", re.sub(r"{.*?}", "", text))
    return len(words) >= 2 and " " in text.strip()


def _template(path: Path) -> Iterator[Sentence]:
    text = path.read_text(encoding="utf-8")
    place = str(path.relative_to(ROOT))
    if path.suffix == ".js":
        lines = ["".join(match) for match in JS_STRING.findall(text)]
    else:
        lines = MARKUP.sub("\n", text).splitlines()
    for line in lines:
        if _is_sentence(line):
            yield Sentence("template", place, line.strip())


def _packaged(path: Path) -> Iterator[Sentence]:
    """Comments and texts of a packaged recipe, study, search space, task file or dataset card."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        comment = re.fullmatch(r'(?:[^"#]|"[^"]*")*#(.*)', line)
        text = comment[1] if comment else line if re.search(r'= ?"[^"]* [^"]*"|^ *"[^"]* [^"]* ', line) else ""
        if _is_sentence(text):
            yield Sentence("packaged", f"{path.relative_to(ROOT)}:{number}", text.strip())


def _plain(text: str) -> str:
    return re.sub(r"\[/?[a-z ]*\]", "", text)


def main() -> None:
    """Print the listing."""
    for sentence in sentences():
        text = " ".join(sentence.text.split()) if sentence.kind not in ("help", "docstring") else sentence.text.strip()
        sys.stdout.write(f"{sentence.kind:9} {sentence.place}\n    " + text.replace("\n", "\n    ") + "\n")


if __name__ == "__main__":
    main()
