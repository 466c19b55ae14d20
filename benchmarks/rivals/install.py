"""Create the virtual environment of each rival: benchmarks/.rivals/NAME from rivals/NAME/requirements.txt.

    python3 benchmarks/rivals/install.py [NAME ...]

An environment is reused while its stamp, a copy of requirements.txt, matches that file. Standard library only.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

RIVALS = Path(__file__).parent
ENVIRONMENTS = RIVALS.parent / ".rivals"
STAMP = ".installed"


def main() -> None:
    """Install missing rivals; if one fails, the others are still installed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=names(), help=f"any of {', '.join(names())}; default: all")
    failed = [name for name in parser.parse_args().names if not install(name)]
    if failed:
        raise SystemExit(f"not installed: {', '.join(failed)} (see above)")


def names() -> list[str]:
    """The rivals that have their own environment."""
    return sorted(file.parent.name for file in RIVALS.glob("*/requirements.txt"))


def python_of(name: str) -> Path:
    """The rival's interpreter."""
    return ENVIRONMENTS / name / "bin" / "python"


def install(name: str) -> bool:
    """Install a rival if necessary; return whether it is installed."""
    requirements, stamp = RIVALS / name / "requirements.txt", ENVIRONMENTS / name / STAMP
    wanted = requirements.read_text(encoding="utf-8")
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return True
    print(f"installing {name} (the first time takes some minutes) ...", flush=True)
    python = str(python_of(name))
    commands = [] if Path(python).exists() else [[sys.executable, "-m", "venv", str(ENVIRONMENTS / name)]]
    pip = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    # Install torch first and separately, so that its build (CPU or CUDA) is kept.
    torch = [line for line in wanted.splitlines() if line.startswith("torch==")]
    commands += [[*pip, *torch]] if torch else []
    commands.append([*pip, "-r", str(requirements)])
    if any(subprocess.run(command, check=False).returncode for command in commands):
        return False
    stamp.write_text(wanted, encoding="utf-8")
    return True


if __name__ == "__main__":
    main()
