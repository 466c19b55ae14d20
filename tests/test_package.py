"""Both wheels build; the runtime's works in an environment that contains nothing else (`make package` tests both)."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


def test_the_runtime_needs_three_packages() -> None:
    project = tomllib.loads((ROOT / "runtime" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = [requirement.partition(">=")[0] for requirement in project["dependencies"]]
    assert names == ["onnxruntime", "tokenizers", "numpy"]
    assert (ROOT / "runtime" / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


def test_the_runtime_imports_only_what_it_needs() -> None:
    allowed = {"numpy", "tokenizers", "onnxruntime", "openvino", "phasefit_runtime", *sys.stdlib_module_names}
    importers: dict[str, list[str]] = {}
    for path in sorted((ROOT / "runtime" / "src" / "phasefit_runtime").glob("*.py")):
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        modules = [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
        nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        modules += [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
        for name in {module.split(".")[0] for module in modules}:
            importers.setdefault(name, []).append(path.name)
    assert set(importers) <= allowed
    assert importers["onnxruntime"] == ["onnx_engine.py"]
    assert importers["openvino"] == ["openvino_engine.py"]
    assert importers["tokenizers"] == ["tokens.py"]


@pytest.mark.long
def test_the_wheels_build_and_the_runtime_works_alone(tmp_path) -> None:
    command = [sys.executable, str(ROOT / "wheels" / "build.py"), "--only", "runtime", "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=290)
    assert done.returncode == 0, done.stderr
    assert "the answers are the expected ones" in done.stdout
    contents = {path.name.partition("-")[0]: zipfile.ZipFile(path).namelist() for path in tmp_path.glob("*.whl")}
    assert set(contents) == {"phasefit", "phasefit_runtime"}
    assert "phasefit_runtime/py.typed" in contents["phasefit_runtime"]
    assert not [name for name in contents["phasefit"] if name.startswith(("tests", "runtime"))]
