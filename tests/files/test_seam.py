"""Everything that phasefit writes goes through `files/system.py`, where tests inject faults (tests/faults)."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "phasefit"
SEAM = "files/system.py"

OF_MODULES = {  # functions that change a disk, or that do so in a library
    "os": {
        *("replace", "rename", "renames", "remove", "unlink", "mkdir", "makedirs", "rmdir", "removedirs", "open"),
        *("symlink", "link", "truncate", "fdopen", "mknod", "mkfifo"),
    },
    "shutil": {"rmtree", "move", "copy", "copy2", "copyfile", "copytree", "copyfileobj", "make_archive"},
    "tempfile": {"TemporaryFile", "NamedTemporaryFile", "TemporaryDirectory", "mkstemp", "mkdtemp"},
    "np": {"save", "savez", "savetxt"},
    "torch": {"save"},
}
OF_PATHS = {
    *("write_text", "write_bytes", "mkdir", "rmdir", "unlink", "touch", "symlink_to", "hardlink_to", "rmtree"),
    *("save_pretrained", "savefig", "to_parquet", "to_excel", "to_pickle"),
}
WITH_ONE_ARGUMENT = {"rename", "replace"}  # str.replace takes two, and dataclasses name theirs
FUNCTIONS = {"save_file"}  # of safetensors

ALLOWED = {
    "cli/embed.py: open": "writes the temporary file that write_file gives it",
    "cli/embed.py: np.save": "writes the temporary file that write_file gives it",
    "cli/errors.py: os.open": "opens the null device",
    **dict.fromkeys(
        (
            *("export/run_export.py: tempfile.TemporaryDirectory", "export/run_export.py: mkdir"),
            *("export/run_export.py: write_text", "export/run_export.py: write_bytes"),
            *("export/folder.py: write_text", "export/folder.py: np.save"),
        ),
        "an export is built in the system's folder for temporary files, and published through the seam",
    ),
    **dict.fromkeys(
        (
            *("predicting/merge.py: open", "predicting/merge.py: np.save", "predicting/merge.py: shutil.copyfileobj"),
            *("predicting/writers.py: open", "predicting/writers.py: np.save", "predicting/writers.py: write_text"),
        ),
        "writes the temporary file that write_file gives it",
    ),
    "estimators/auto.py: tempfile.TemporaryDirectory": "the trials of an estimator; deleted, never a result",
    "cli/errors.py: open": "opens the null device",
    "cli/outputs.py: tempfile.mkdtemp": "the last place for a result that cannot be written anywhere else",
    "cli/inputs.py: tempfile.TemporaryDirectory": "standard input, in the system's folder for temporary files",
    "cli/inputs.py: write_bytes": "standard input, in the system's folder for temporary files",
    "baselines/setfit.py: tempfile.TemporaryDirectory": "the output folder of a library; deleted, never a result",
    "models/tokens/store.py: tempfile.TemporaryFile": "tokens that do not fit into memory; has no name",
    "data/stored_texts.py: tempfile.TemporaryFile": "texts that do not fit into memory; has no name",
    "data/io/frames.py: open": "writes the temporary file that write_file gives it",
    "data/io/frames.py: to_parquet": "writes the temporary file that write_file gives it",
    "models/encoder/encoder.py: save": "called by system.write in models/storage.py and runs/fitting/kept_phases.py",
    "report/pictures/canvas.py: savefig": "writes the temporary file that write_file gives it",
    "runs/trained_texts.py: save_file": "writes the temporary file that write_file gives it",
    "files/tensors.py: save_file": "writes the temporary file that write_file gives it",
    "files/held.py: os.open": "opens a file to lock it; writes nothing",
    "files/atomic.py: write_bytes": "writes the temporary file that write_file gives it",
    "studies/work.py: open": "the log of a cell, which takes the place of standard output; diagnostics only",
}


def writing_calls(source: str) -> Iterator[str]:
    """The calls in a module that may change a disk, by name."""
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.Call):
            continue
        function = node.func
        if isinstance(function, ast.Name):
            if function.id in FUNCTIONS or (function.id == "open" and _writes(node, 1)):
                yield function.id
        elif isinstance(function, ast.Attribute):
            owner = function.value.id if isinstance(function.value, ast.Name) else ""
            name = function.attr
            if owner in OF_MODULES:
                if name in OF_MODULES[owner]:
                    yield f"{owner}.{name}"
            elif owner == "system":
                continue
            elif (
                name in OF_PATHS
                or (name in WITH_ONE_ARGUMENT and len(node.args) == 1 and not node.keywords)
                or (name == "open" and _writes(node, 1 if owner in ("gzip", "io", "bz2", "lzma") else 0))
                or (name == "save" and any(keyword.arg == "safe_serialization" for keyword in node.keywords))
            ):
                yield name


def _writes(call: ast.Call, position: int) -> bool:
    """Whether `open` is given a mode that writes."""
    modes = [keyword.value for keyword in call.keywords if keyword.arg == "mode"] + call.args[position : position + 1]
    return any(isinstance(mode, ast.Constant) and set(str(mode.value)) & set("wax+") for mode in modes)


def found() -> set[str]:
    return {
        f"{file.relative_to(PACKAGE).as_posix()}: {call}"
        for file in PACKAGE.rglob("*.py")
        if file.relative_to(PACKAGE).as_posix() != SEAM
        for call in writing_calls(file.read_text(encoding="utf-8"))
    }


def test_nothing_else_writes() -> None:
    assert found() - set(ALLOWED) == set()


def test_the_list_of_exceptions_is_current() -> None:
    assert set(ALLOWED) - found() == set()


@pytest.mark.parametrize(
    "line",
    [
        *("os.replace(a, b)", "path.rename(b)", "path.replace(b)", "shutil.rmtree(a)", "path.write_text(t)"),
        *("path.write_bytes(t)", "path.mkdir()", "open(a, 'w')", "open(a, mode='xb')", "path.open('a')"),
        *("path.unlink(missing_ok=True)", "gzip.open(a, 'wb')", "(folder / 'x').rmdir()", "os.open(a, flags)"),
    ],
)
def test_writing_calls_are_recognised(line: str) -> None:
    assert list(writing_calls(line))


@pytest.mark.parametrize(
    "line",
    ["text.replace(a, b)", "replace(spec, a=1)", "spec.replace(a=1)", "open(a)", "path.open('rb')", "Run.open(a)"],
)
def test_other_calls_are_left_alone(line: str) -> None:
    assert not list(writing_calls(line))
