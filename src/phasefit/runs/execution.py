"""Fit a specification in memory, for the estimators and for runs with a folder."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from accelerate import Accelerator

from phasefit.data.table import Table
from phasefit.errors import LabelError, ModelError, TextsCut
from phasefit.events import Listener, Note, Stage
from phasefit.kinds import kind_of
from phasefit.kinds.decision import Decision
from phasefit.metrics.registry import MEAN
from phasefit.models.encoder.sharing import shared_encoding
from phasefit.models.model import TASK, Model
from phasefit.models.predictor import Predictor
from phasefit.prepare.merge import merged
from phasefit.prepare.prepare import Prepared
from phasefit.recipes import Recipe
from phasefit.runs.evaluation.calibrate import decide
from phasefit.runs.evaluation.geometry import run_geometry
from phasefit.runs.evaluation.score import mean_of_tasks, score
from phasefit.runs.fitting.baseline import baseline_model
from phasefit.runs.fitting.checkpointer import Checkpointer, NullCheckpointer, fingerprint
from phasefit.runs.fitting.fit import Fitted, fit
from phasefit.runs.fitting.history import History
from phasefit.runs.fitting.starting import starting_model
from phasefit.runs.job import Job, read_job
from phasefit.runs.processes import check_processes, is_main_process
from phasefit.runs.recipe.resolve import requested_recipe, resolve_recipe
from phasefit.runs.specification import RunSpec
from phasefit.runs.tracking import tracked
from phasefit.training.device import make_accelerator, set_threads
from phasefit.training.joining import wait_for_processes


@dataclass(frozen=True)
class FitResult:
    """A trained model with its metrics and history."""

    model: Predictor
    metrics: dict[str, Any]
    fitted: Fitted
    threads: int
    processes: int = 1
    outputs: dict[str, dict[str, np.ndarray]] = field(default_factory=dict)  # of the scored rows, by split and task
    job: Job | None = None  # what was trained on, if it was read for this fit


def fit_spec(spec: RunSpec, listen: Listener) -> FitResult:
    """Read, split, train and evaluate; nothing is written."""
    job = read_job(spec, requested_recipe(spec), listen)
    job = replace(job, recipe=resolve_recipe(spec, job.recipe, job.prepared, listen))
    return replace(fit_prepared(spec, job.recipe, job.prepared, listen), job=job)


def fit_prepared(
    spec: RunSpec,
    recipe: Recipe,
    prepared: Prepared,
    listen: Listener,
    folder: str | None = None,
    checkpointer: Checkpointer | NullCheckpointer | None = None,
) -> FitResult:
    """Train phase by phase, evaluate, then refit if requested. Validation chooses the weights; test is scored once."""
    recipe.check()
    _check_weights(recipe, prepared)
    checkpointer = checkpointer or NullCheckpointer()
    saved = checkpointer.facts
    threads = _threads(spec, saved, listen)
    if recipe.baseline is not None:
        return _fit_baseline(spec, recipe, prepared, listen, threads)
    skips = any(options.skips_parameters for options in recipe.phases)
    store = wait_for_processes(listen, checkpointer.check_stop)  # alive until the processes have connected
    accelerator = make_accelerator(
        spec.machine.device, spec.machine.precision, skips_parameters=skips, track=spec.machine.track, folder=folder
    )
    del store
    processes = _report_processes(accelerator, saved, listen)
    listen(Stage("loading the model"))
    model = starting_model(spec, prepared).to(accelerator.device)
    if isinstance(checkpointer, Checkpointer):
        checkpointer.share_folder(accelerator)
        checkpointer.common = {
            "threads": threads,
            "processes": processes,
            "began_with": _same_start(model, saved),
        }
    outputs: dict[str, dict[str, np.ndarray]] = {}
    if "first" in saved:  # the run was stopped while refitting
        fitted, metrics = Fitted.from_json(saved["first"], checkpointer.snapshots), saved["first"]["metrics"]
        model.decisions = _decisions(metrics)
    else:
        steps = History(saved.get("history", ())).steps
        with tracked(accelerator, spec, recipe.name, listen, steps) as tracker:
            fitted = fit(
                model, prepared, recipe, accelerator, seed=spec.seed, listen=tracker, checkpointer=checkpointer
            )
        with shared_encoding(model.encoder):
            metrics = _evaluate(model, prepared, recipe, spec, listen, outputs) | {"phases": fitted.phases}
        if stages := run_geometry(fitted.snapshots, model):
            metrics["geometry"] = stages
    if spec.recipe.refit:
        if isinstance(checkpointer, Checkpointer):
            checkpointer.common["first"] = fitted.to_json() | {"metrics": metrics}
        listen(Stage("refitting on all rows"))
        decisions = model.decisions  # no rows are left to choose new ones on
        model = starting_model(spec, prepared).to(accelerator.device)
        everything = merged(prepared)
        how: dict[str, Any] = {"seed": spec.seed, "listen": listen, "repeat": fitted, "checkpointer": checkpointer}
        again = fit(model, everything, recipe, accelerator, **how)
        model.decisions = decisions
        rows = sum(len(task.train) for task in everything.tasks.values()) or len(everything.train)
        metrics["refit"] = {"rows": rows, "phases": again.phases}
    accelerator.wait_for_everyone()
    return FitResult(model, metrics, fitted, threads, processes, outputs)


def _check_weights(recipe: Recipe, prepared: Prepared) -> None:
    """Refuse weights of rows that a phase, an objective or the loss of a label kind would ignore."""
    weighted = [one for one in (prepared, *prepared.tasks.values()) if one.train.weights is not None]
    if not weighted:
        return
    recipe.check_row_weights()
    for one in weighted:
        if one.train.labels is not None and not kind_of(one.space).weighs_rows:
            raise LabelError(f"the loss of labels of kind '{one.space.kind}' does not support sample_weight; remove it")


def _fit_baseline(spec: RunSpec, recipe: Recipe, prepared: Prepared, listen: Listener, threads: int) -> FitResult:
    """Fit a recipe without phases, evaluate, then refit if requested; there is nothing to resume."""
    listen(Stage(f"fitting {recipe.baseline}"))
    model, outputs = baseline_model(spec, recipe, prepared), dict[str, dict[str, np.ndarray]]()
    metrics = _evaluate(model, prepared, recipe, spec, listen, outputs) | {"phases": []}
    if spec.recipe.refit:
        listen(Stage("refitting on all rows"))
        everything, decisions = merged(prepared), model.decisions
        model = baseline_model(spec, recipe, everything)
        model.decisions = decisions
        metrics["refit"] = {"rows": len(everything.train), "phases": []}
    return FitResult(model, metrics, Fitted(), threads, 1, outputs)


def _report_processes(accelerator: Accelerator, saved: dict[str, Any], listen: Listener) -> int:
    """The number of processes that train together; reported if there are several or if it has changed."""
    processes = int(accelerator.num_processes)
    warning = check_processes(processes)
    if warning is not None:
        listen(Note(warning, warning=True))
    if processes > 1:
        listen(Note(f"training on {processes} processes"))
    before = saved.get("processes", processes)
    if before != processes:
        change = f"was {before} at the last checkpoint and is {processes} now"
        listen(Note(f"the number of processes {change}: results may differ slightly", warning=True))
    return processes


def _threads(spec: RunSpec, saved: dict[str, Any], listen: Listener) -> int:
    """Set the threads of torch: those that a resumed run started with; a warning if this machine would use others."""
    here = set_threads(spec.machine.threads)
    before = saved.get("threads", here)
    threads = set_threads(before)
    if before != here and is_main_process():
        text = (
            f"the run started with {before} threads, but {here} would be used here: torch continues with {threads}, "
            f"and the last digits of the results may differ; to avoid this, resume with OMP_NUM_THREADS={before}"
        )
        listen(Note(text, warning=True))
    return threads


def _same_start(model: Model, saved: dict[str, Any]) -> int:
    """The checksum of the model that training starts from; a resumed run needs the same model."""
    checksum = fingerprint(model)
    if saved.get("began_with", checksum) != checksum:
        raise ModelError(
            f"the model '{model.encoder.name}' has changed since the run started; restore it, or train again with "
            "--overwrite"
        )
    return checksum


def _evaluate(
    model: Predictor,
    prepared: Prepared,
    recipe: Recipe,
    spec: RunSpec,
    listen: Listener,
    outputs: dict[str, dict[str, np.ndarray]],
) -> dict[str, Any]:
    """Score validation, where the decision thresholds are chosen, then test: each task, and the mean of the tasks.

    The model's outputs for each row are added to `outputs`, as float32.
    """
    metrics: dict[str, Any] = {}
    tasks = prepared.tasks or ({TASK: prepared} if TASK in model.heads else {})
    for split in ("validation", "test"):
        tables = {name: getattr(task, split) for name, task in tasks.items()}
        labelled = {name: table for name, table in tables.items() if table is not None and table.labels is not None}
        if not labelled:
            continue
        listen(Stage(f"evaluating on {split}"))
        watches = {name: _watched(model, recipe, name) for name in labelled}
        predicted = {
            name: _outputs(model, table, name, split, spec, listen, watches[name]) for name, table in labelled.items()
        }
        outputs[split] = {name: each.astype(np.float32) for name, each in predicted.items()}
        scores = {name: score(model, table, predicted[name], name) for name, table in labelled.items()}
        if prepared.tasks:
            kinds = {name: model.space_of(name).kind for name in scores}
            metrics[split] = {MEAN: mean_of_tasks(scores, kinds, recipe.watched_tasks()), "tasks": scores}
        else:
            metrics[split] = scores[TASK]
    decisions = {name: decision.to_json() for name, decision in model.decisions.items()}
    if prepared.tasks and decisions:
        metrics["decisions"] = decisions
    elif TASK in decisions:
        metrics["decision"] = decisions[TASK]
    return metrics


def _watched(model: Predictor, recipe: Recipe, task: str) -> str:
    """The metric that the weights of a task were selected by."""
    kind = kind_of(model.space_of(task))
    if task == TASK:
        return kind.check_watch(recipe.watched_tasks().get("", "auto"), recipe.name)
    watch = recipe.watched_tasks().get(task, "auto")
    return kind.judged if watch == "auto" else watch


def _outputs(
    model: Predictor, table: Table, task: str, split: str, spec: RunSpec, listen: Listener, watch: str
) -> np.ndarray:
    """The model's outputs for one table; on validation, the decision thresholds are chosen first."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TextsCut)
        predicted = model.predict_outputs(table.inputs, task=task)
    for warning in caught:
        if split == "test":  # validation texts were reported when they were tokenised
            listen(Note(f"{split}: {warning.message}", warning=True))
    if split == "validation":
        of = "" if task == TASK else f"{task}: "
        for note in decide(model, table, predicted, spec, task, watch=watch):
            listen(Note(of + note))
        predicted = model.decision(task).calibrated(predicted)
    return predicted


def _decisions(metrics: dict[str, Any]) -> dict[str, Decision]:
    """The decisions of an earlier fit."""
    decisions = metrics.get("decisions", {TASK: metrics["decision"]} if "decision" in metrics else {})
    return {task: Decision.from_json(content) for task, content in decisions.items()}
