"""The contestants of `deploy.py`: one few-shot run, its exports, its encoder in sentence-transformers, and SetFit.

All are made from the same training rows. What cannot be made is kept with the reason, which the table shows.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from contest import environment, write_rows
from contestants import ENVIRONMENTS, RIVALS
from deploy_process import last_line
from few_shot import default_model, own_environment

HERE = Path(__file__).parent
WORKER = HERE / "deploy_worker.py"
THREADS = 1
TORCH, REFERENCE = "phasefit, torch", "SentenceTransformer.encode + head"
SETFIT, SETFIT_ONNX = "SetFit, predict", "SetFit, ONNX export"
EXPORTS = {
    "phasefit, ONNX fp32": ("onnx",),
    "phasefit, ONNX int8": ("onnx", "--int8"),
    "phasefit, OpenVINO int8": ("openvino", "--int8"),
}
RUN_FILES = ("encoder", "heads.safetensors", "labels.json", "phasefit.json")  # without reports and pictures


@dataclass(frozen=True)
class Contestant:
    """The command of a worker and the files of its model."""

    name: str
    command: tuple[str, ...]
    files: tuple[Path, ...]
    environment: Mapping[str, str]
    same_model: bool = True  # whether it should answer as the run does
    problem: str = ""  # why it is not run

    @property
    def size(self) -> int:
        """Bytes of its files."""
        return sum(map(bytes_of, self.files))


@dataclass(frozen=True)
class Rows:
    """Labelled test rows of the run."""

    texts: list[str]
    labels: list[str]


def make(work: Path, data: str, rows: int) -> tuple[list[Contestant], Rows]:
    """Train, export and list all contestants; finished folders in `work` are used again."""
    run = work / "run"
    if not run.exists():
        train = ["train", data, "--recipe", "few-shot", "--rows", str(rows), "--threads", str(THREADS), "-q"]
        problem = phasefit([*train, "-o", str(run)])
        if problem:
            raise SystemExit(f"phasefit train failed: {problem}")
    check_run(run, data, rows)
    training, test = read_rows(run, work / "train.csv")
    write_head(run, work / "head.npz")
    ours = ours_environment()
    contestants = [
        Contestant(TORCH, worker(sys.executable, "phasefit", run), tuple(run / name for name in RUN_FILES), ours),
        *exports(run, work, ours),
        Contestant(
            REFERENCE,
            worker(sys.executable, "sentence_transformers", run / "encoder", work / "head.npz"),
            (run / "encoder", work / "head.npz"),
            ours,
        ),
        *setfit(work, training),
    ]
    return contestants, test


def check_run(run: Path, data: str, rows: int) -> None:
    """A run that was kept must be the one that the options describe."""
    request = json.loads((run / "phasefit.json").read_text(encoding="utf-8"))["request"]
    if (request["data"], request["rows"]) != (data, rows):
        raise SystemExit(f"{run} is a run on {request['rows']} rows of {request['data']}; choose another --work")


def exports(run: Path, work: Path, ours: Mapping[str, str]) -> Iterator[Contestant]:
    """What `phasefit export` writes, without `--force`: a refused export is not run."""
    for name, (engine, *options) in EXPORTS.items():
        folder = work / "-".join(["export", engine, *(option.strip("-") for option in options)])
        problem = ""
        if not folder.exists():
            problem = phasefit(["export", str(run), "-o", str(folder), "--format", engine, *options, "-q"])
        yield Contestant(name, worker(sys.executable, "runtime", folder), (folder,), ours, problem=problem)


def setfit(work: Path, training: Path) -> list[Contestant]:
    """SetFit, trained on the same rows in its own environment, and its export."""
    python, folder, classes = ENVIRONMENTS / "setfit" / "bin" / "python", work / "setfit", work / "classes.json"
    own = own_environment(THREADS)
    predict = Contestant(SETFIT, worker(python, "setfit", folder, classes), (folder,), own, same_model=False)
    # The export needs the tokenizer of the model, but neither its weights nor its head.
    files = tuple(folder / name for name in ("model.onnx", "tokenizer.json", "tokenizer_config.json"))
    onnx = Contestant(SETFIT_ONNX, worker(python, "setfit_onnx", folder, classes), files, own, same_model=False)
    if not python.exists():
        why = "not installed; run python3 benchmarks/rivals/install.py setfit"
        return [replace(one, problem=why) for one in (predict, onnx)]
    script = RIVALS / "setfit" / "deploy.py"
    if not classes.exists():
        train = [str(python), str(script), "train", str(training), str(folder), default_model(), str(classes)]
        problem = failure(train, own)
        if problem:
            return [replace(one, problem=problem) for one in (predict, onnx)]
    exported = (folder / "model.onnx").exists()
    problem = "" if exported else failure([str(python), str(script), "export", str(folder)], own)
    # The exported file is not a part of SetFit's own model.
    others = tuple(file for file in sorted(folder.iterdir()) if file.name != "model.onnx")
    return [replace(predict, files=others), replace(onnx, problem=problem)]


def read_rows(run: Path, training: Path) -> tuple[Path, Rows]:
    """The rows of the run: training rows for SetFit as a table, test rows to score all contestants on."""
    from phasefit.runs.rows_again import read_rows_again
    from phasefit.runs.run import Run

    prepared = read_rows_again(Run.open(run), lambda event: None)
    if prepared.test is None or prepared.test.labels is None or prepared.train.labels is None:
        raise SystemExit("the data has no labelled test rows; choose another with --data")
    write_rows(training, list(prepared.train.texts), list(map(str, prepared.train.labels)))
    return training, Rows(list(prepared.test.texts), list(map(str, prepared.test.labels)))


def write_head(run: Path, file: Path) -> None:
    """The head of the run as one linear layer on vectors of length 1, which its encoder returns."""
    from safetensors.numpy import load_file

    from phasefit.models.heads import SCALE
    from phasefit.runs.run import Run

    opened = Run.open(run)
    (task, head), weights = next(iter(opened.heads.items())), load_file(run / "heads.safetensors")
    names = [name.removesuffix(".weight") for name in weights if name.endswith(".weight")]
    if head["kind"] != "cosine" or len(names) != 1:
        raise SystemExit(f"a head of the kind '{head['kind']}' is not one linear layer; use the few-shot recipe")
    classes = np.array([str(name) for name in opened.spaces[task].classes])
    np.savez(file, weight=SCALE * weights[f"{names[0]}.weight"], bias=weights[f"{names[0]}.bias"], classes=classes)


def worker(python: str | Path, loader: str, *arguments: Path) -> tuple[str, ...]:
    """The command of a worker."""
    return (str(python), str(WORKER), loader, *map(str, arguments))


def phasefit(arguments: Sequence[str]) -> str:
    """Run a phasefit command; returns the error, if any."""
    print(f"phasefit {' '.join(arguments)}", flush=True)
    return failure([sys.executable, "-m", "phasefit", *arguments], ours_environment())


def failure(command: Sequence[str], own: Mapping[str, str]) -> str:
    """Run a command; returns its error, or nothing if it succeeded."""
    done = subprocess.run(command, env=dict(own), capture_output=True, text=True, check=False)
    if not done.returncode:
        return ""
    return last_line(done.stderr) or f"exit code {done.returncode}"


def ours_environment() -> dict[str, str]:
    """The environment of our own contestants; long lines, because the last line of an error is shown."""
    return {**os.environ, **environment(THREADS), "COLUMNS": "1000"}


def bytes_of(path: Path) -> int:
    """The size of a file, or of all files in a folder."""
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return path.stat().st_size if path.exists() else 0


def facts(work: Path) -> dict[str, Any]:
    """The number of training rows and the classes of the run."""
    data: dict[str, Any] = json.loads((work / "run" / "phasefit.json").read_text(encoding="utf-8"))["data"]
    return {"rows": data["rows"]["train"], "classes": data["classes"]}
