"""The structure of the package: the order of imports, forbidden calls, and the cost of importing it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import phasefit

ROOT = Path(phasefit.__file__).parent
FILES = sorted(ROOT.rglob("*.py"))

# A package may import only those on earlier lines; packages on the same line do not import each other.
ORDER = [
    {"control_characters"},
    {"effort_levels", "errors", "process_memory", "seeds"},
    {"events", "files", "registry"},
    {"engines", "hub"},
    {"data", "metrics", "objectives", "parameter_names"},
    {"kinds"},
    {"models"},
    {"phases"},
    {"recipes"},
    {"training"},
    {"prepare"},
    {"baselines"},
    {"runs"},
    {"progress"},
    {"explain"},
    {"report"},
    {"studies"},
    {"estimators", "export", "predicting"},
    {"serve"},
    {"cli"},
    {"__init__", "__main__"},
]
RANK = {package: rank for rank, packages in enumerate(ORDER) for package in packages}
HEAVY = {"torch", "transformers", "sentence_transformers", "pandas", "sklearn", "matplotlib", "pyarrow", "jinja2"}


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def part(path: Path) -> str:
    """The package (or top-level module) of a file."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def dotted(node: ast.AST) -> str:
    """`a.b.c` for a name or an attribute; unnamed parts are empty."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def imported(tree: ast.AST, path: Path) -> Iterator[str]:
    """Every module that a file imports, also inside functions or only for types, as absolute dotted names."""
    package = ("phasefit", *path.relative_to(ROOT).parts[:-1])
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            module = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Call) and dotted(node.func).endswith("import_module") and node.args:
            first = node.args[0]
            if isinstance(first, ast.Constant):
                yield str(first.value)


def ours(tree: ast.AST, path: Path) -> set[str]:
    """The parts of phasefit that a file imports."""
    names = (name.split(".") for name in imported(tree, path))
    return {name[1] if len(name) > 1 else "__init__" for name in names if name[0] == "phasefit"} - {"__version__"}


def calls(tree: ast.AST) -> set[str]:
    return {dotted(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}


@pytest.fixture(scope="module")
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES}


def test_every_part_has_its_place_in_the_order() -> None:
    assert {part(path) for path in FILES} <= set(RANK)


def test_contributing_documents_this_order() -> None:
    page = (ROOT.parent.parent / "CONTRIBUTING.md").read_text(encoding="utf-8")
    written = page.partition("```\ncontrol_characters ->")[2].partition("```")[0].split("->")
    order = [{"control_characters"}, *({name.strip() for name in part.split(",")} for part in written)]
    assert order == ORDER[:-1]


def test_imports_point_one_way(trees: dict[Path, ast.Module]) -> None:
    wrong = [
        f"{relative(path)} imports {name}"
        for path, tree in trees.items()
        for name in sorted(ours(tree, path))
        if name != part(path) and RANK.get(name, len(ORDER)) >= RANK[part(path)]
    ]
    assert not wrong


def test_objectives_import_nothing_from_phasefit(trees: dict[Path, ast.Module]) -> None:
    wrong = {
        relative(path): imports
        for path, tree in trees.items()
        if part(path) == "objectives" and (imports := ours(tree, path) - {"objectives"})
    }
    # the list of objectives is a registry, which other packages add to; the objectives do not use it
    assert wrong == {"objectives/__init__.py": {"registry"}}


def test_only_the_loop_calls_backward(trees: dict[Path, ast.Module]) -> None:
    files = {relative(path) for path, tree in trees.items() if any(call.endswith(".backward") for call in calls(tree))}
    assert files <= {"training/gradients.py"}, "only the gradients of the loop may call backward"


def test_nothing_unpickles_evaluates_or_prints(trees: dict[Path, ast.Module]) -> None:
    forbidden = {"print", "torch.load", "torch.save", "eval", "exec"}
    callers = {relative(path): bad for path, tree in trees.items() if (bad := calls(tree) & forbidden)}
    assert not callers
    pickles = {"pickle", "cloudpickle", "dill", "joblib"}
    importers = [
        relative(path)
        for path, tree in trees.items()
        if {name.split(".")[0] for name in imported(tree, path)} & pickles
    ]
    assert not importers


def test_every_package_has_a_docstring(trees: dict[Path, ast.Module]) -> None:
    undocumented = [
        relative(folder)
        for folder in sorted({path.parent for path in FILES})
        if not (init := trees.get(folder / "__init__.py")) or not ast.get_docstring(init)
    ]
    assert not undocumented


def test_every_package_documents_its_imports(trees: dict[Path, ast.Module]) -> None:
    packages = [folder for folder in ROOT.iterdir() if (folder / "__init__.py").is_file()]
    undocumented = [
        folder.name
        for folder in packages
        if "may import" not in (ast.get_docstring(trees[folder / "__init__.py"]) or "").lower()
    ]
    assert not undocumented


def heavy_after(code: str) -> set[str]:
    """The heavy libraries that a fresh interpreter has imported after running some code."""
    script = f"{code}\nimport sys\nsys.stdout.write('\\n' + ' '.join(sys.modules.keys() & {HEAVY!r}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, timeout=60)
    return set(done.stdout.rpartition("\n")[2].split())


@pytest.mark.parametrize("module", ["phasefit", "phasefit.errors", "phasefit.cli"])
def test_importing_is_light(module: str) -> None:
    assert heavy_after(f"import {module}") == set()


def test_help_is_light() -> None:
    code = """
import runpy, sys
sys.argv = ["phasefit", "--help"]
try:
    runpy.run_module("phasefit", run_name="__main__")
except SystemExit as end:
    assert not end.code, end.code
"""
    assert heavy_after(code) == set()


def test_the_module_is_a_command() -> None:
    done = subprocess.run([sys.executable, "-m", "phasefit", "--help"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert "train" in done.stdout


def test_public_names_are_pinned() -> None:
    errors = "DataError Interrupted LabelError MissingExtra ModelError PhasefitError PhasefitWarning PluginError"
    classes = "Recipe RecipeError RunError TextClassifier TextEncoder TextRegressor TextTasks TextsCut TrainingError"
    functions = "__version__ load read_table resume train"
    assert phasefit.__all__ == sorted([*errors.split(), *classes.split(), *functions.split()])
    assert all(getattr(phasefit, name) is not None for name in phasefit.__all__)
    assert dir(phasefit) == sorted(phasefit.__all__)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = phasefit.no_such_name
