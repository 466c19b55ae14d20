"""The steps that new and resumed runs share: read the rows, fit the phases, save the results.

Torch is imported when the phases are fitted.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phasefit.errors import LostProcess
from phasefit.events import Note, Stage
from phasefit.files.atomic import write_text
from phasefit.prepare.base import Base
from phasefit.prepare.prepare import Prepared, prepare
from phasefit.recipes import Recipe
from phasefit.recipes.needs import needs_of
from phasefit.runs.cleanup import advise_on_failure
from phasefit.runs.fitting.starting import base_run
from phasefit.runs.folder import RunFolder
from phasefit.runs.processes import is_lost_process, is_main_process
from phasefit.runs.results import FinishedRun, Reporter, report_run, save_results, write_hygiene
from phasefit.runs.saved_specification import finished_request
from phasefit.runs.specification import DEFAULT_RECIPE, RunSpec
from phasefit.runs.stop import Stop

if TYPE_CHECKING:
    from phasefit.events import Listener
    from phasefit.models.predictor import Predictor
    from phasefit.runs.execution import FitResult
    from phasefit.runs.fitting.checkpointer import Checkpointer


@dataclass(frozen=True)
class TrainResult:
    """A finished run."""

    folder: Path
    metrics: dict[str, Any] = field(repr=False)
    model: Predictor = field(repr=False)

    def _repr_html_(self) -> str:
        """The run in a notebook: its folder, phases and metrics."""
        from phasefit.runs.html import as_html, metrics_html, phases_html

        where = f"<div>A finished run in <code>{as_html(self.folder)}</code></div>"
        return f"<div>{where}{phases_html(self.metrics.get('phases', []))}{metrics_html(self.metrics)}</div>"


@dataclass(frozen=True)
class Job:
    """The input of a new or resumed run."""

    spec: RunSpec
    recipe: Recipe
    base: Base | None
    prepared: Prepared
    resumed: bool = False


def read_job(spec: RunSpec, recipe: Recipe, listen: Listener) -> Job:
    """Read and split the rows that the recipe needs."""
    listen(Stage("reading"))
    base = base_run(spec.model, spec.model_name)
    needs = needs_of(recipe, open=spec.recipe.name == DEFAULT_RECIPE)
    prepared = prepare(spec.data, spec.split, seed=spec.seed, base=base, needs=needs)
    prepared.report(listen)
    return Job(spec, recipe, base, prepared)


def carry_out(folder: RunFolder, job: Job, stop: Stop, listen: Listener, report: Reporter | None) -> TrainResult:
    """Fit, save and report a started run; a resumed run repeats whatever was interrupted here."""
    write_text(folder.path / "recipe.toml", job.recipe.to_toml())
    write_hygiene(folder.path, job.prepared.hygiene)
    result, fitted = fit_job(job, folder.path, stop, listen)
    from phasefit.runs.evaluation.baselines import add_baselines

    add_baselines(job.spec, job.recipe, job.prepared, fitted, listen)
    listen(Stage("saving"))
    facts = save_results(folder.path, job, fitted)
    finished = FinishedRun(folder.path, job.recipe, job.prepared, fitted, folder.facts | facts)
    report_run(finished, report if job.spec.output.report else None, listen)
    folder.finish(facts | finished_request(job.spec, job.prepared.read_as))
    return result


def fit_job(job: Job, path: Path, stop: Stop, listen: Listener) -> tuple[TrainResult, FitResult]:
    """Train the model phase by phase, from a checkpoint if the run is resumed."""
    checkpointer: Checkpointer | None = None
    writes = is_main_process()
    with nullcontext() if writes else advise_on_failure(lambda: path if checkpointer is None else checkpointer.run):
        listen(Stage("starting torch"))
        from phasefit.runs.execution import fit_prepared

        checkpointer = _checkpointer(job, path, stop, listen)
        try:
            fitted = fit_prepared(
                job.spec, job.recipe, job.prepared, listen, folder=str(path / "track"), checkpointer=checkpointer
            )
        except Exception as error:
            if not is_lost_process(error):
                raise
            raise LostProcess("another process of this run has ended") from error
    return TrainResult(path, fitted.metrics, fitted.model), fitted


def _checkpointer(job: Job, path: Path, stop: Stop, listen: Listener) -> Checkpointer:
    """The checkpointer of a run, with the newest checkpoint if the run is resumed."""
    from phasefit.runs.fitting.checkpoint_facts import check_checkpoint
    from phasefit.runs.fitting.checkpointer import Checkpointer
    from phasefit.training.checkpoints import read_checkpoint

    # A new run reads none: another process may not yet have moved away the run that it replaces.
    checkpoint, damaged = read_checkpoint(path, partial(check_checkpoint, job.recipe)) if job.resumed else (None, [])
    for note in damaged:
        listen(Note(note, warning=True))
    if job.resumed and checkpoint is None:
        listen(Note("there is no checkpoint yet; starting from the beginning"))
    how: dict[str, Any] = {"minutes": job.spec.machine.checkpoint_minutes, "keep_phases": job.spec.output.keep_phases}
    return Checkpointer(path, stop, checkpoint=checkpoint, **how)
