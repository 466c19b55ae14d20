"""Held-out sets and test rows stay unread until the settings are frozen: `settings-frozen.toml`, committed."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path

from league_plan import DEVELOPMENT, FINAL, Plan, with_contestants

FROZEN = Path(__file__).parent / "settings-frozen.toml"


def plan_of(stage: str, plan: Plan, path: Path = FROZEN) -> Plan:
    """The plan of a stage; the final one has the frozen contestants and is refused before they are committed."""
    if stage == DEVELOPMENT:
        return plan
    why = not_frozen(path)
    if why is not None:
        raise SystemExit(
            f"--stage {FINAL} reads held-out sets and test rows, but {why}; commit the frozen settings in "
            f"benchmarks/{path.name} first, or use --stage {DEVELOPMENT}"
        )
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    missing = [name for name in plan.held_out if not isinstance(content.get("seen", {}).get(name), str)]
    if missing:
        raise SystemExit(
            f"benchmarks/{path.name} does not state which scores of {', '.join(missing)} had been seen before; add "
            'them to its table [seen] ("none" if none) and commit it'
        )
    if not content.get("contestants"):
        raise SystemExit(f"benchmarks/{path.name} has no [[contestants]]; copy those of league.toml and commit it")
    return with_contestants(plan, content)


def refuse_held_out(sets: str | None, plan: Plan, stage: str) -> None:
    """Refuse held-out sets that are named while settings are being chosen."""
    named = [name.strip() for name in (sets or "").split(",")]
    held = [name for name in named if name in plan.held_out]
    if held and stage == DEVELOPMENT:
        raise SystemExit(
            f"{', '.join(held)}: held out until the settings are frozen; commit benchmarks/{FROZEN.name}, then use "
            f"--stage {FINAL}"
        )


def not_frozen(path: Path) -> str | None:
    """Why the settings are not frozen; None if the file is committed and unchanged since."""
    if not path.is_file():
        return f"benchmarks/{path.name} does not exist"
    command = ["git", "show", f"HEAD:./{path.name}"]
    try:
        done = subprocess.run(command, cwd=path.parent, capture_output=True, check=False)
    except OSError:
        return "git is not installed"
    if done.returncode:
        return f"benchmarks/{path.name} is not committed"
    return None if done.stdout == path.read_bytes() else f"benchmarks/{path.name} has changes that are not committed"
