"""The lock files, the licence list and the SBOM cover what is installed; the audit fails where nothing was audited."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
from importlib.metadata import distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "requirements"
NOT_LOCKED = {"torch", "setuptools", "phasefit", "pip"}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def pins(path: Path) -> dict[str, str]:
    found = re.findall(r"^([\w.-]+)==(\S+)", path.read_text(encoding="utf-8"), flags=re.M)
    return {normal(name): version for name, version in found}


LOCKS = {name: pins(FOLDER / f"{name}.txt") for name in ("demo", "dev")}


@pytest.mark.parametrize("name", LOCKS)
def test_every_pin_has_a_hash_and_torch_stays_outside(name: str) -> None:
    entries = re.split(r"\n(?=[a-z])", (FOLDER / f"{name}.txt").read_text(encoding="utf-8"))[1:]
    assert len(entries) == len(LOCKS[name]) > 50
    assert all("--hash=sha256:" in entry for entry in entries)
    assert not {pin for pin in LOCKS[name] if pin == "torch" or pin.startswith("nvidia")}


def test_the_locks_agree_with_the_constraints_and_with_each_other() -> None:
    tested = {name: version for name, version in pins(ROOT / "constraints.txt").items() if name != "torch"}
    assert {name: LOCKS["dev"][name] for name in tested} == tested
    assert LOCKS["demo"].items() <= LOCKS["dev"].items()


def test_the_locks_cover_the_project() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    needed = {normal(re.match(r"[\w.-]+", line)[0]) for line in project["dependencies"]}
    assert needed - NOT_LOCKED <= set(LOCKS["demo"])


def test_inventory_lists_every_locked_package() -> None:
    licences = (FOLDER / "licences.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([\w.-]+) \| (\S+) \| (.+) \|$", licences, flags=re.M)
    listed = {normal(name): version for name, version, _ in rows[1:]}
    sbom = json.loads((FOLDER / "sbom.json").read_text(encoding="utf-8"))
    components = {normal(part["name"]): part["version"] for part in sbom["components"]}
    build_only = {"editables", "hatchling", "pathspec", "pluggy", "tomlkit", "trove-classifiers"}
    for inventory in (listed, components):
        assert {*LOCKS["dev"], "torch"} - build_only <= set(inventory)
        assert all(LOCKS["dev"].get(name, version) == version for name, version in inventory.items())
    assert all(licence.strip() and licence != "unknown" for _, _, licence in rows)


def audit():
    spec = importlib.util.spec_from_file_location("audit", FOLDER / "audit.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


CLEAN = {"name": "a", "version": "1", "vulns": []}
FLAWED = {"name": "b", "version": "2", "vulns": [{"id": "X-1", "fix_versions": ["3"]}]}
SKIPPED = {"name": "c", "skip_reason": "not found"}


@pytest.mark.parametrize(
    ("dependencies", "line", "passed"),
    [
        ([CLEAN, CLEAN], "2 packages audited, no known vulnerabilities", True),
        ([CLEAN, FLAWED], "b 2: X-1, fixed in 3", False),
        ([CLEAN, SKIPPED], "1 of 2 packages could not be audited: c", False),
        ([SKIPPED], "1 of 1 packages could not be audited: c", False),
        ([], "no package was audited: the lock file is empty or could not be read", False),
    ],
)
def test_an_audit_passes_only_if_everything_was_audited(dependencies, line: str, passed: bool) -> None:
    assert audit().verdict(dependencies) == ([line], passed)


def test_the_environment_is_the_locked_one() -> None:
    installed = {normal(entry.name): entry.version for entry in distributions()}
    wrong = {name: installed[name] for name, pin in LOCKS["dev"].items() if installed.get(name, pin) != pin}
    assert not wrong, "run `make setup`"
