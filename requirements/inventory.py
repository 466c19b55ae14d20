"""Write the licence list and the SBOM of the development environment: `make licences`.

requirements/licences.md is a table for people; requirements/sbom.json is CycloneDX for scanners. Both describe the
environment of `make setup`, torch included.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
OURS = ("phasefit", "phasefit-runtime", "pip")


def licence_table(python: str) -> str:
    """A Markdown table of every installed package, its version and its licence."""
    tool = Path(sys.executable).with_name("pip-licenses")
    command = [str(tool), "--python", python, "--format", "json", "--from", "mixed"]
    packages = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    rows = [
        f"| {entry['Name']} | {entry['Version']} | {_one_line(entry['License'])} |"
        for entry in sorted(packages, key=lambda entry: entry["Name"].lower())
        if entry["Name"].lower() not in OURS
    ]
    header = (
        "# Licences of the dependencies\n\nWritten by `make licences`.\n\n| package | version | licence |\n|-|-|-|\n"
    )
    return header + "\n".join(rows) + "\n"


def _one_line(licence: str) -> str:
    """The licence's name; some packages put its whole text in this field."""
    lines = [line.strip() for line in licence.splitlines() if line.strip()]
    return (lines or ["unknown"])[0][:80].replace("|", "/")


def main() -> None:
    """Inspect the environment of the interpreter named on the command line."""
    python = sys.argv[1]
    (HERE / "licences.md").write_text(licence_table(python), encoding="utf-8")
    tool = Path(sys.executable).with_name("cyclonedx-py")
    command = [str(tool), "environment", python, "--output-format", "JSON", "--output-reproducible"]
    sbom = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    # The project itself is named in the metadata; its local path is nobody's business.
    sbom["components"] = [part for part in sbom["components"] if part["name"] not in OURS]
    for part in sbom["components"]:
        part.pop("externalReferences", None)  # home pages and donation links: noise in every diff
    (HERE / "sbom.json").write_text(json.dumps(sbom, indent=1, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
