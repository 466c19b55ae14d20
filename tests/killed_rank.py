"""`phasefit` as one of several processes, one of which kills itself; a launcher starts it with `-m killed_rank`.

The environment variable KILL names the victim as RANK:PLACE:COUNT; it writes the time of its death to the file KILLED.
"""

from __future__ import annotations

import importlib
import os
import signal
import time
from pathlib import Path
from typing import Any

CHECKPOINTER = "phasefit.runs.fitting.checkpointer"
PLACES = {  # the module, the class if any, and the function before which the process dies
    "join": ("phasefit.runs.execution", "", "wait_for_processes"),
    "gradient": ("phasefit.training.loop", "", "add_gradients"),  # the others wait in the middle of a step
    "evaluation": ("phasefit.training.loop", "", "_evaluate"),
    "step": (CHECKPOINTER, "Checkpointer", "_agreed"),  # before the checkpoint of the step
    "phase": (CHECKPOINTER, "Checkpointer", "on_phase_end"),
    "score": ("phasefit.runs.execution", "", "_evaluate"),
    "end": ("phasefit.runs.execution", "", "FitResult"),  # after the last exchange, before anything is saved
}


def die_at(place: str, count: int) -> None:
    """Arrange to die at a place, the `count`th time it is reached."""
    module, inside, name = PLACES[place]
    owner: Any = importlib.import_module(module)
    owner = getattr(owner, inside) if inside else owner
    real, left = getattr(owner, name), count

    def counted(*arguments: Any, **named: Any) -> Any:
        nonlocal left
        left -= 1
        if left == 0:
            Path(os.environ["KILLED"]).write_text(str(time.time()), encoding="utf-8")
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*arguments, **named)

    setattr(owner, name, counted)


def main() -> None:
    """Run `phasefit` without reports, which take longer than all the rest."""
    from phasefit import report
    from phasefit.cli import main as phasefit

    report.write_run_report = lambda *_, **__: None  # type: ignore[assignment]
    victim, _, where = os.environ.get("KILL", "").partition(":")
    if where and victim == os.environ["RANK"]:
        place, _, count = where.partition(":")
        die_at(place, int(count))
    phasefit()


if __name__ == "__main__":
    main()
