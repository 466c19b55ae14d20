"""The only file that imports Optuna: studies and storages, samplers, pruners, importances."""

from __future__ import annotations

import hashlib
import os
import socket
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import numpy as np

from phasefit.errors import MissingExtra, RecipeError, RunError
from phasefit.seeds import generator
from phasefit.studies.search.space import Choices, Dimension, Space

Sampler = Literal["tpe", "random", "grid"]
Pruner = Literal["median", "hyperband", "none"]
JOURNAL = "trials.journal"
SAME_AS = "same_as"  # number of the earlier trial with the same settings
RESTARTS = "restarts"  # how often a trial was killed and restarted
STARTUP = 5  # trials before pruning starts


def optuna() -> Any:
    """Optuna itself; raises if it is not installed."""
    try:
        import optuna
    except ImportError:
        raise MissingExtra("phasefit search needs Optuna; install it with: pip install 'phasefit[search]'") from None
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna


@contextmanager
def without_warnings() -> Iterator[None]:
    """Suppress Optuna's warnings about experimental features."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def open_study(name: str, storage: str | None, folder: Path, *, maximise: bool, pruner: Pruner) -> Any:
    """The study of that name, existing or new; without a storage it is kept in the folder."""
    library = optuna()
    with without_warnings():
        try:
            return library.create_study(
                study_name=name,
                storage=_storage(library, storage, folder),
                direction="maximize" if maximise else "minimize",
                pruner=_pruner(library, pruner),
                load_if_exists=True,
            )
        except Exception as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            if storage is None:
                raise RunError(
                    f"'{folder / JOURNAL}' cannot be used ({reason}); remove it to start the search again"
                ) from error
            raise RunError(f"--storage {_without_password(storage)} cannot be used: {reason}") from error


def ask(study: Any, space: Space, sampler: Sampler, seed: int) -> Any:
    """The next trial: one that waits in the queue, or a new draw.

    Each trial gets a new sampler, seeded with the seed and the number of trials drawn before it, so that a search that
    was stopped or killed at any moment resumes with the same draws.
    """
    state = optuna().trial.TrialState
    with without_warnings():
        if sampler == "grid":
            _enqueue_next(study, space, seed)
        if not study.get_trials(deepcopy=False, states=(state.WAITING,)):
            enqueue(study, {})
        drawn = sum(_is_drawn(trial, space) for trial in study.get_trials(deepcopy=False))
        study.sampler = _sampler(sampler, seed, drawn)
        trial = study.ask(fixed_distributions={name: distribution(one) for name, one in space.dimensions.items()})
    for name, value in _owner().items():  # another process may have queued it
        trial.set_user_attr(name, value)
    return trial


def enqueue(study: Any, point: Mapping[str, Any]) -> None:
    """Queue a trial of a point, or of one to be drawn; it has its owner from the start, even if killed right after."""
    with without_warnings():
        study.enqueue_trial(dict(point), user_attrs=_owner())


def _owner() -> dict[str, Any]:
    return {"machine": socket.gethostname(), "process": os.getpid()}


def distribution(dimension: Dimension) -> Any:
    """A dimension as an Optuna distribution; choices are strings as --set writes them."""
    of = optuna().distributions
    if isinstance(dimension, Choices):
        return of.CategoricalDistribution(list(dimension.values))
    if dimension.whole:
        low, high, step = int(dimension.low), int(dimension.high), int(dimension.step or 1)
        return of.IntDistribution(low, high, log=dimension.log, step=1 if dimension.log else step)
    return of.FloatDistribution(dimension.low, dimension.high, log=dimension.log, step=dimension.step)


def requeue_stopped(study: Any, space: Space) -> int:
    """Queue trials that were killed on this machine again, under their numbers; return how many.

    A trial that was killed while its point was being drawn is discarded; the next one draws the same point.
    """
    state = optuna().trial.TrialState
    stopped = 0
    for trial in study.get_trials(states=(state.RUNNING,)):
        own = trial.user_attrs.get("machine") == socket.gethostname()
        if not own or _is_alive(trial.user_attrs.get("process")):
            continue
        stopped += 1
        if _is_drawn(trial, space) or trial.system_attrs.get("fixed_params"):
            storage, number = study._storage, trial._trial_id  # a study has no public method for this
            storage.set_trial_user_attr(number, RESTARTS, trial.user_attrs.get(RESTARTS, 0) + 1)
            storage.set_trial_state_values(number, state=state.WAITING)
        else:
            study.tell(trial.number, state=state.FAIL)
    return stopped


def _is_drawn(trial: Any, space: Space) -> bool:
    """Whether the point of a trial is complete."""
    return all(name in trial.params for name in space.dimensions)


def importances(study: Any) -> dict[str, float]:
    """Share of the variance of the scores that each option explains (fANOVA); empty with too few trials."""
    library = optuna()
    state = library.trial.TrialState
    scores = {trial.value for trial in study.get_trials(deepcopy=False, states=(state.COMPLETE,))}
    if len(scores) < STARTUP - 1:
        return {}
    with without_warnings():
        try:
            evaluator = library.importance.FanovaImportanceEvaluator(seed=0)
            shares: Mapping[str, float] = library.importance.get_param_importances(study, evaluator=evaluator)
        except (ImportError, RuntimeError, ValueError):
            return {}
    return {name: float(share) for name, share in shares.items()}


def is_storage(text: str) -> bool:
    """Whether a text is a storage: a URL or a journal file."""
    return "://" in text or Path(text).suffix in (".journal", ".log")


def _storage(library: Any, url: str | None, folder: Path) -> Any:
    if url is not None and "://" in url and not url.startswith("journal://"):
        return library.storages.RDBStorage(url)
    path = folder / JOURNAL if url is None else Path(url.removeprefix("journal://")).expanduser()
    backend = library.storages.journal.JournalFileBackend
    return library.storages.JournalStorage(backend(str(path)))


def _sampler(name: Sampler, seed: int, number: int) -> Any:
    samplers = optuna().samplers
    drawn = int(hashlib.sha256(f"{seed} {number}".encode()).hexdigest()[:8], 16)
    return samplers.TPESampler(seed=drawn, constant_liar=True) if name == "tpe" else samplers.RandomSampler(seed=drawn)


def _enqueue_next(study: Any, space: Space, seed: int) -> None:
    """Queue the next point of the grid, in an order given by the seed; Optuna's grid sampler requires its own loop."""
    state = optuna().trial.TrialState
    if study.get_trials(deepcopy=False, states=(state.WAITING,)):
        return
    seen = {tuple(trial.params.get(name) for name in space.dimensions) for trial in study.get_trials(deepcopy=False)}
    for point in points(space, seed):
        if tuple(point.values()) not in seen:
            enqueue(study, point)
            return


def points(space: Space, seed: int) -> Iterator[dict[str, Any]]:
    """Every point of a finite space, in an order given by the seed."""
    values = {name: _listed(name, dimension) for name, dimension in space.dimensions.items()}
    for number in generator(seed, "grid").permutation(space.size or 0):
        indices = np.unravel_index(int(number), [len(one) for one in values.values()])
        yield {name: one[index] for (name, one), index in zip(values.items(), indices, strict=True)}


def check_grid(space: Space) -> None:
    """Raise if the space has no grid, before anything is written."""
    for name, dimension in space.dimensions.items():
        _listed(name, dimension)


def _listed(name: str, dimension: Dimension) -> list[Any]:
    values = dimension.listed()
    if values is None:
        raise RecipeError(f"{name} is a range without steps, which has no grid; list its values or use --sampler tpe")
    return values


def _pruner(library: Any, name: Pruner) -> Any:
    if name == "none":
        return library.pruners.NopPruner()
    if name == "hyperband":
        return library.pruners.HyperbandPruner(min_resource=1, reduction_factor=3)
    return library.pruners.MedianPruner(n_startup_trials=STARTUP, n_warmup_steps=1)


def _is_alive(process: Any) -> bool:
    if not isinstance(process, int) or process == os.getpid():
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _without_password(url: str) -> str:
    head, at, tail = url.rpartition("@")
    return f"{head.partition('://')[0]}://...@{tail}" if at else url
