"""Make each rival's virtual environment, once: benchmarks/.rivals/NAME from rivals/NAME/requirements.txt.

    python3 benchmarks/rivals/install.py [NAME ...]

An environment is left alone while its stamp, a copy of requirements.txt, is that file. Standard library only.
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
    """Install what is missing; one that fails does not keep the others from being installed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", default=names(), help=f"of {', '.join(names())}; all by default")
    failed = [name for name in parser.parse_args().names if not install(name)]
    if failed:
        raise SystemExit(f"not installed: {', '.join(failed)} (see above)")


def names() -> list[str]:
    """The rivals that have an environment of their own."""
    return sorted(file.parent.name for file in RIVALS.glob("*/requirements.txt"))


def python_of(name: str) -> Path:
    """The rival's interpreter."""
    return ENVIRONMENTS / name / "bin" / "python"


def install(name: str) -> bool:
    """Whether the rival is there now."""
    requirements, stamp = RIVALS / name / "requirements.txt", ENVIRONMENTS / name / STAMP
    wanted = requirements.read_text(encoding="utf-8")
    if stamp.exists() and stamp.read_text(encoding="utf-8") == wanted:
        return True
    print(f"installing {name} (the first time takes some minutes) ...", flush=True)
    python = str(python_of(name))
    commands = [] if Path(python).exists() else [[sys.executable, "-m", "venv", str(ENVIRONMENTS / name)]]
    pip = [python, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    # torch by itself and first: its build (CPU or CUDA) decides the rest, which may want any torch.
    torch = [line for line in wanted.splitlines() if line.startswith("torch==")]
    commands += [[*pip, *torch]] if torch else []
    commands.append([*pip, "-r", str(requirements)])
    if any(subprocess.run(command, check=False).returncode for command in commands):
        return False
    stamp.write_text(wanted, encoding="utf-8")
    return True


if __name__ == "__main__":
    main()
