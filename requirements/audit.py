"""Look up the known vulnerabilities of every locked package: `make audit`.

pip-audit exits with 0 when it could look up nothing, for example without a network. Here a package that was not
audited counts as a failure, so that a green audit means that every package was looked up.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def verdict(dependencies: Sequence[dict[str, Any]]) -> tuple[list[str], bool]:
    """Lines to print for the dependencies that pip-audit reported, and whether the audit passed."""
    skipped = [entry["name"] for entry in dependencies if "skip_reason" in entry]
    lines = [
        f"{entry['name']} {entry['version']}: {flaw['id']}, fixed in {', '.join(flaw['fix_versions']) or 'none yet'}"
        for entry in dependencies
        for flaw in entry.get("vulns", ())
    ]
    vulnerable = bool(lines)
    if not dependencies:
        lines.append("no package was audited: the lock file is empty or could not be read")
    elif skipped:
        lines.append(f"{len(skipped)} of {len(dependencies)} packages could not be audited: {', '.join(skipped)}")
    if not vulnerable and not skipped and dependencies:
        lines.append(f"{len(dependencies)} packages audited, no known vulnerabilities")
    return lines, bool(dependencies) and not skipped and not vulnerable


def main() -> int:
    """Audit the lock file named on the command line."""
    tool = Path(sys.executable).with_name("pip-audit")
    command = [str(tool), "-r", sys.argv[1], "--require-hashes", "--disable-pip", "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True)
    try:
        dependencies = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        print(f"pip-audit failed: {done.stderr.strip().splitlines()[-1:] or done.returncode}")
        return 1
    lines, passed = verdict(dependencies)
    print("\n".join(lines))
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main())
