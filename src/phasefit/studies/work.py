"""Runs one cell in its own process: trains or resumes it, scores it, measures time and memory, writes the result.

The fork server imports this module before it forks, so that torch is loaded once and not once per cell.
"""

from __future__ import annotations

import os
import re
import sys
import time
import traceback
import warnings
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from phasefit.baselines import baseline
from phasefit.baselines.contract import FitOptions, Predict, predictions_of
from phasefit.data.sources import read_test
from phasefit.engines.parent import end_with_parent
from phasefit.errors import PhasefitError, TextsCut
from phasefit.events import Event, Note, PhaseEnded, Scored
from phasefit.files.atomic import (
    discard_file,
    discard_temporaries,
    discard_tree,
    make_folders,
    read_json,
    write_json,
    write_text,
)
from phasefit.files.lock import acquire_lock, release_lock
from phasefit.files.manifest import FINISHED, MANIFEST, versions
from phasefit.kinds import kind_of
from phasefit.kinds.decision import Decision
from phasefit.metrics.jackknife import replicates
from phasefit.models.predictor import TASK, Predictor
from phasefit.prepare.prepare import Prepared, prepare
from phasefit.prepare.splitting import subsample
from phasefit.recipes import read_recipe
from phasefit.recipes.recipe_files import is_baseline_recipe
from phasefit.runs.evaluation.score import row_replicates, score_outputs
from phasefit.runs.evaluation.similarity import check_scores, pair_cosines, similarity_metrics
from phasefit.runs.fitting.baseline import baseline_model
from phasefit.runs.folder import read_started
from phasefit.runs.results import FinishedRun
from phasefit.runs.resume import resume
from phasefit.runs.specification import RunSpec
from phasefit.runs.train import train
from phasefit.studies.cell import Cell
from phasefit.studies.checks import needs_of_cell
from phasefit.studies.result import ERROR, PROGRESS, RESULT, RUN, append_evaluation, finished_result, has_own, slim
from phasefit.training.device import set_threads

Replicates = dict[str, list[float]]
LOG, SPENT = "log.txt", "spent.txt"
BAD_INPUT = 2
STATUS = Path("/proc/self/status")


def main(cell: Cell, folder: Path, keep: bool) -> None:
    """Entry point of the process; it writes a result or an error message."""
    end_with_parent()  # after writing a checkpoint
    make_folders(folder)
    discard_file(folder / ERROR)
    code = 0
    try:
        with (folder / LOG).open("a", encoding="utf-8", buffering=1) as log:
            os.dup2(log.fileno(), 1)
            os.dup2(log.fileno(), 2)
            sys.stdout = sys.stderr = log
            carry_out(cell, folder, keep)
    except KeyboardInterrupt:
        code = 130
    except PhasefitError as error:
        code = BAD_INPUT
        write_text(folder / ERROR, str(error))
    except BaseException as error:  # noqa: BLE001 - top level of the process
        code = 1
        with (folder / LOG).open("a", encoding="utf-8") as log:
            traceback.print_exc(file=log)
        write_text(folder / ERROR, f"{type(error).__name__}: {error} (see {folder / LOG})")
    os._exit(code)  # threads of libraries must not delay the exit


def carry_out(cell: Cell, folder: Path, keep: bool = False) -> dict[str, Any]:
    """Run what is missing and write the result."""
    lock = acquire_lock(folder)
    started = time.perf_counter()
    try:
        if finished_result(folder, with_model=keep and not cell.is_baseline) is not None:
            return dict(read_json(folder / RESULT))
        discard_temporaries(folder)  # of a process that was killed
        set_threads(cell.threads or cell.spec.machine.threads)
        started = time.perf_counter() - _spent(folder)
        metrics, rows, left_out = _baseline(cell) if cell.is_baseline else _trained(cell, folder)
        result = {
            "format": 1,
            "cell": cell.name,
            "command": cell.command(),
            "metrics": slim(metrics),
            "rows": rows,
            "replicates": left_out,
            "own_test": True if cell.pairs is not None else has_own(cell.spec, "test"),
            "own_validation": has_own(cell.spec, "validation"),
            "seconds": round(time.perf_counter() - started, 3),
            "memory_mb": round(peak_megabytes(), 1),
            "threads": set_threads(None),  # a resumed run keeps its number of threads
            "versions": versions(),
            "identity": cell.identity(),
        }
        write_json(folder / RESULT, result)
        discard_file(folder / SPENT)
        if not keep:
            discard_tree(folder / RUN)
        return result
    except KeyboardInterrupt:
        write_text(folder / SPENT, f"{time.perf_counter() - started:.3f}")  # added to the time when resumed
        raise
    finally:
        release_lock(folder, lock)


def _spent(folder: Path) -> float:
    """Seconds that interrupted attempts at this cell took; unknown (0) for killed ones."""
    with suppress(OSError, ValueError):
        return float((folder / SPENT).read_text(encoding="utf-8"))
    return 0.0


def _trained(cell: Cell, folder: Path) -> tuple[dict[str, Any], dict[str, Any], Replicates]:
    """Metrics, rows and replicates of a run without pictures; a stopped run is resumed."""
    run = folder / RUN
    spec = cell.spec.replace(out=run, report=True, baselines=False, threads=cell.threads or cell.spec.machine.threads)
    listen, left_out = partial(_log, folder / PROGRESS), Replicates()

    def collect(finished: FinishedRun) -> None:
        prepared, outputs = finished.prepared, finished.result.outputs.get("test", {})
        if cell.pairs is None and not prepared.tasks and prepared.test is not None and TASK in outputs:
            decision = finished.result.model.decision()
            left_out.update(row_replicates(prepared.space, decision, prepared.test, outputs[TASK]))

    if _is_resumable(run):
        result = resume(run, listen, report=collect)
    else:
        result = train(spec.replace(overwrite=run.exists()), listen, report=collect)
    metrics = dict(result.metrics)
    rows = _rows(read_json(run / MANIFEST).get("data", {}))
    if cell.pairs is not None:
        metrics["test"], left_out = pair_scores(result.model, cell.pairs, cell.spec)
        rows["test"] = metrics["test"]["rows"]
    return metrics, rows, left_out


def _is_resumable(run: Path) -> bool:
    """Whether a run was stopped. A finished run without a result is trained again: its predictions are gone."""
    with suppress(PhasefitError):
        return read_started(run).get("status") != FINISHED
    return False


def _rows(facts: dict[str, Any]) -> dict[str, Any]:
    if "tasks" in facts:
        return {name: task.get("rows", {}) for name, task in facts["tasks"].items()}
    return dict(facts.get("rows", {}))


def _baseline(cell: Cell) -> tuple[dict[str, Any], dict[str, Any], Replicates]:
    """Metrics, rows and replicates of a baseline, on the same rows and with the same scoring."""
    if cell.pairs is not None:
        scores, left_out = pair_scores(_untrained(cell.spec), cell.pairs, cell.spec)
        return {"test": scores}, {"test": scores["rows"]}, left_out
    spec = cell.spec
    prepared = prepare(spec.data, spec.split, seed=spec.seed, needs=needs_of_cell(cell))
    predict = _fitted_baseline(spec, prepared)
    metrics: dict[str, Any] = {"phases": []}
    left_out = Replicates()
    decision = _decision(prepared, predict)
    for split in ("validation", "test"):
        table = getattr(prepared, split)
        if table is not None and table.labels is not None:
            outputs = predict(table)
            metrics[split] = score_outputs(prepared.space, decision, table, outputs)
            if split == "test":
                left_out = row_replicates(prepared.space, decision, table, outputs)
    return metrics, _rows(prepared.facts()), left_out


def _fitted_baseline(spec: RunSpec, prepared: Prepared) -> Predict:
    """The predictions of a baseline; one that a recipe can name is fitted as a run would fit it."""
    if is_baseline_recipe(spec.recipe.name):
        return predictions_of(baseline_model(spec, read_recipe(spec.recipe.name, spec.recipe.settings), prepared))
    options = FitOptions(spec.seed, spec.model, spec.machine.device, spec.machine.precision)
    return baseline(spec.recipe.name).fit(prepared, options)


def _decision(prepared: Prepared, predict: Any) -> Decision:
    """With multiple labels, the best thresholds on validation, as for trained heads."""
    table, space = prepared.validation, prepared.space
    if table is None or table.labels is None:
        return Decision()
    return kind_of(space).decide(space, prepared.values(table), predict(table), calibrate=False)[0]


def _untrained(spec: RunSpec) -> Predictor:
    from phasefit.models.encoder.locate import DEFAULT_MODEL
    from phasefit.models.storage import load_model

    return load_model(DEFAULT_MODEL if spec.model is None else spec.model, spec.machine.device)


def _log(progress: Path, event: Event) -> None:
    """Write notes and scores to the log, and scores to the progress file."""
    if isinstance(event, Note | Scored | PhaseEnded):
        sys.stderr.write(f"{event}\n")
    if isinstance(event, Scored):
        append_evaluation(progress, event)


def peak_megabytes() -> float:
    """Peak memory in MB (10^6 bytes); on Linux VmHWM, because `getrusage` includes the peak of the parent."""
    if STATUS.is_file():
        peak = re.search(r"^VmHWM:\s+(\d+) kB", STATUS.read_text(encoding="ascii"), re.MULTILINE)
        if peak is not None:
            return int(peak[1]) * 1024 / 1e6
    try:
        import resource
    except ImportError:  # not on this system
        return 0.0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 1e6


def pair_scores(model: Predictor, pairs: str, spec: RunSpec) -> tuple[dict[str, Any], Replicates]:
    """Metrics of cosine similarities against the scores of the test pairs of a dataset, and their replicates."""
    whole = read_test(pairs, data_dir=spec.data.data_dir, sides="two", kind="score")  # few scores look like classes
    table = subsample(whole, spec.split.test_rows, spec.seed, "test", []) or whole
    check_scores(table)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TextsCut)
        cosines = pair_cosines(model, table)
    left_out = replicates(lambda rows: similarity_metrics(table.take(rows), cosines[rows]), len(table))
    return similarity_metrics(table, cosines), left_out
