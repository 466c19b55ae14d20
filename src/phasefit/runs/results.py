"""Save the results of a run: model, metrics, history, data check and report."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from phasefit.data.hygiene import Hygiene
from phasefit.effort_levels import USUAL_EFFORT
from phasefit.events import Note
from phasefit.files.atomic import write_bytes, write_json, write_text
from phasefit.files.manifest import MANIFEST
from phasefit.prepare.merge import merged
from phasefit.prepare.prepare import Prepared
from phasefit.recipes import Recipe
from phasefit.runs.folder import RunFolder
from phasefit.runs.rows_again import data_request
from phasefit.runs.trained_texts import write_seen

if TYPE_CHECKING:
    from phasefit.events import Listener
    from phasefit.models.predictor import Predictor
    from phasefit.models.tokens.truncation import Truncation
    from phasefit.runs.execution import FitResult
    from phasefit.runs.job import Job
    from phasefit.runs.run import Run

DATA = "data.json"
KEPT_FACTS = (
    *("command", "seed", "recipe", "settings", "effort", "data", "request", "threads", "device", "processes"),
    "max_length",
)
KEPT_FILES = ("recipe.toml", "metrics.json", "history.json", DATA, "trained_on.safetensors", "README.md", "report.html")


@dataclass(frozen=True)
class FinishedRun:
    """The input of a run's report."""

    folder: Path
    recipe: Recipe
    prepared: Prepared
    result: FitResult
    manifest: Mapping[str, Any]


Reporter: TypeAlias = Callable[[FinishedRun], None]


def save_results(path: Path, job: Job, fitted: FitResult) -> dict[str, Any]:
    """Write the model, its metrics and history; the caller writes the manifest last, which makes them valid."""
    model = fitted.model
    facts: dict[str, Any] = {**model.facts(), "threads": fitted.threads, "processes": fitted.processes}
    if job.base is not None:
        facts["went_on_from"] = job.base.name
    elif job.spec.model is not None and (Path(job.spec.model).expanduser() / MANIFEST).is_file():
        facts["went_on_from"] = job.spec.model_name or str(job.spec.model)  # a run without a classifier
    facts |= model.write(path)
    trained = merged(job.prepared) if job.spec.recipe.refit else job.prepared
    before = None if job.base is None else job.base.seen
    write_seen(path, trained.texts_of_pairs, before, [table.same for table in trained.trained_tables])
    write_hygiene(path, job.prepared.hygiene, fitted.fitted.cut)
    write_json(path / "metrics.json", fitted.metrics)
    write_json(path / "history.json", fitted.fitted.history.rows)
    return facts


def report_run(finished: FinishedRun, report: Reporter | None, listen: Listener) -> None:
    """Write the report; if that fails, the model is saved all the same."""
    if report is None:
        return
    try:
        report(finished)
    except OSError:
        raise
    except Exception as error:  # noqa: BLE001 - a plotting library may raise anything
        what = f"{type(error).__name__}: {error}"
        listen(Note(f"the report could not be written ({what}); the model is complete", warning=True))


def write_hygiene(folder: Path, hygiene: Hygiene, cut: Truncation | None = None) -> None:
    """Write `data.json`: facts about the tables and, once the texts are tokenised, about truncation."""
    write_json(folder / DATA, hygiene.to_json() | ({} if cut is None else {"tokens": cut.to_json()}))


def save_fit(
    job: Job,
    fitted: FitResult,
    folder: Path,
    listen: Listener,
    *,
    overwrite: bool = False,
    facts: Mapping[str, Any] | None = None,
    report: Reporter | None = None,
) -> None:
    """Save what was fitted in memory as a run folder; `facts` are added to the manifest."""
    with _new_folder(folder, overwrite) as target:
        target.begin(started_facts(job))
        write_text(folder / "recipe.toml", job.recipe.to_toml())
        own = save_results(folder, job, fitted)
        report_run(FinishedRun(folder, job.recipe, job.prepared, fitted, target.facts | own), report, listen)
        target.finish(own | dict(facts or {}))


def started_facts(job: Job) -> dict[str, Any]:
    """What the manifest of a run says from the start."""
    return {
        "command": job.spec.output.command,
        "seed": job.spec.seed,
        "recipe": job.recipe.name,
        **({"settings": dict(job.spec.recipe.settings)} if job.spec.recipe.settings else {}),
        **({"effort": job.spec.recipe.effort} if job.spec.recipe.effort != USUAL_EFFORT else {}),
        "data": job.prepared.facts(),
        **({"request": request} if (request := data_request(job.spec)) else {}),
    }


def save_model(
    model: Predictor,
    folder: Path,
    *,
    overwrite: bool = False,
    facts: Mapping[str, Any] | None = None,
    source: Run | None = None,
) -> None:
    """Save a model as a folder with a manifest; `facts` are added to the manifest.

    `source` is the run that the model was loaded from: its recipe, metrics, report and card are copied.
    """
    old = {} if source is None else {name: source.manifest[name] for name in KEPT_FACTS if name in source.manifest}
    documents = {} if source is None or source.is_encoder else _documents(source.folder)
    with _new_folder(folder, overwrite) as target:
        target.begin({name: value for name, value in model.facts().items() if name == "model"} | old)
        written = model.write(folder)
        for name, content in documents.items():
            write_bytes(folder / name, content)
        target.finish(written | dict(facts or {}))


def _documents(folder: Path) -> dict[str, bytes]:
    """The files that describe a run, as far as they can be read; links are not followed.

    They are read before the new folder is created, which may replace this one.
    """
    contents: dict[str, bytes] = {}
    for path in (*(folder / name for name in KEPT_FILES), *sorted(folder.glob("*.[ps][nv]g"))):
        if path.is_file() and not path.is_symlink():
            with suppress(OSError):
                contents[path.name] = path.read_bytes()
    return contents


@contextmanager
def _new_folder(folder: Path, overwrite: bool) -> Iterator[RunFolder]:
    """A folder to fill; a failure removes it and restores the one that it replaces."""
    target = RunFolder(folder, overwrite=overwrite)
    try:
        yield target
    except BaseException:
        if target.is_finished:
            target.leave()  # the old model may be gone by now
        else:
            target.abandon()
        raise
