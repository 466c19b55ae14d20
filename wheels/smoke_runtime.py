"""Smoke test of the runtime's wheel, run by the Python of an environment that contains nothing else.

smoke_runtime.py FOLDER EXPECTED [EXPORTED]
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import time
from pathlib import Path

SECONDS = 1.0  # of the first answer since the process started; a warning only, because machines differ
FIRST = """
import sys, phasefit_runtime
phasefit_runtime.load(sys.argv[1]).predict(["play jazz"])
"""


def main(folder: str, expected: str, exported: str | None = None) -> None:
    """Answers, the command, and how long the first answer takes."""
    import numpy as np

    import phasefit_runtime

    absent = ("torch", "transformers", "phasefit", "onnx", "pandas")
    present = [name for name in absent if importlib.util.find_spec(name)]
    assert not present, f"the environment contains {present}"
    wanted = json.loads(Path(expected).read_text(encoding="utf-8"))
    model = phasefit_runtime.load(folder, threads=1)
    probabilities = model.predict_proba(wanted["texts"])
    np.testing.assert_allclose(probabilities, wanted["probabilities"], atol=1e-5)
    withheld = [answer is None for answer in model.predict(wanted["texts"])]
    assert withheld == (probabilities.max(axis=1) < 0.5).tolist()
    command = [sys.executable, "-m", "phasefit_runtime", folder, "--say", wanted["texts"][0]]
    answer = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    assert answer["text"] == wanted["texts"][0]
    print(f"phasefit-runtime {phasefit_runtime.__version__}: the answers are the expected ones", flush=True)
    for place in filter(None, [folder, exported]):
        wall, cpu = first_answer(place)
        note = "" if wall <= SECONDS else f"; the goal is {SECONDS:g} s"
        print(
            f"first answer of {Path(place).name}: {wall:.2f} s after the start of the process (CPU {cpu:.2f} s{note})"
        )
        spent = one_text_ms(phasefit_runtime.load(place, threads=1))
        print(f"one short text with {Path(place).name}: {spent:.2f} ms of CPU time", flush=True)


def first_answer(folder: str, times: int = 3) -> tuple[float, float]:
    """The shortest seconds of a process that answers one text, by the clock and of CPU time; the first compiles."""
    walls, cpus = [], []
    for _ in range(times):
        start, before = time.perf_counter(), os.times()
        subprocess.run([sys.executable, "-c", FIRST, folder], check=True)
        after = os.times()
        walls.append(time.perf_counter() - start)
        cpus.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return min(walls), min(cpus)


def one_text_ms(model: object, times: int = 200) -> float:
    """Median milliseconds of CPU time for one short text."""
    spent = []
    for number in range(times):
        start = time.process_time()
        model.predict([f"play quiet jazz {number}"])  # type: ignore[attr-defined]
        spent.append(time.process_time() - start)
    return sorted(spent)[times // 2] * 1e3


if __name__ == "__main__":
    main(*sys.argv[1:])
