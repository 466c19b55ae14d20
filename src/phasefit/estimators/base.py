"""The base class of the estimators: parameters, training, embeddings, saving and loading."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError

from phasefit.effort_levels import USUAL_EFFORT
from phasefit.errors import ModelError, RecipeError
from phasefit.estimators.auto import check_minutes, choose_spec, trials_of
from phasefit.estimators.inputs import as_texts
from phasefit.events import Note
from phasefit.hub.names import is_hub_name
from phasefit.parameter_names import python_errors
from phasefit.progress.python import python_progress
from phasefit.recipes.settings import as_settings
from phasefit.runs.html import as_html, metrics_html, phases_html, table_html
from phasefit.runs.specification import AUTO, DEFAULT_RECIPE, run_spec

if TYPE_CHECKING:
    from phasefit.data.labels import LabelSpace
    from phasefit.events import Event, Listener
    from phasefit.models.predictor import Predictor
    from phasefit.prepare.prepare import Prepared
    from phasefit.runs.execution import FitResult
    from phasefit.runs.run import Run

PARAMETERS = "estimator"  # in the manifest of a saved estimator: the arguments of `__init__`
MOST_CLASSES = 10  # that a notebook lists
TASK = "default"  # the task name of a model with one task
DROP_LEAKED = re.compile(r"drop them with --leaked [\w-]+( or --leaked [\w-]+)?")
SETTING = "settings__"  # start of the parameters of single settings
UNPICKLED = ("_result", "_source", "_vectors", "_trained_on")  # the training rows, or where they are
NOT_SAVED = ("listener", "verbose", "device")  # they belong to the process, not to the model


class TextEstimator(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A model trained in phases that follows scikit-learn: `__init__` only stores parameters and `clone` works."""

    _predicts: ClassVar[bool] = True  # whether it needs a head
    recipe: str
    model: str | None
    settings: Mapping[str, Any] | None
    validation_size: float
    seed: int
    device: str
    precision: str
    batch_size: int  # for prediction; each phase has its own for training
    minutes: float | None
    verbose: bool | int | None
    listener: Callable[[Event], None] | None

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters and, with `deep`, each setting as `settings__PHASE__OPTION`."""
        parameters: dict[str, Any] = super().get_params(deep=deep)
        if deep and isinstance(self.settings, Mapping):
            own = as_settings(self.settings)
            parameters |= {f"{SETTING}{name.replace('.', '__')}": value for name, value in own.items()}
        return parameters

    def set_params(self, **params: Any) -> Self:
        """Set parameters; `settings__finetune__lr=1e-4` sets one setting, None removes it, the others stay."""
        own = {name: value for name, value in params.items() if not name.startswith(SETTING)}
        single = {name: value for name, value in params.items() if name not in own}
        super().set_params(**own)
        if single:
            changed = {name.removeprefix(SETTING).replace("__", "."): value for name, value in single.items()}
            kept = {name: value for name, value in as_settings(self.settings or {}).items() if name not in changed}
            self.settings = kept | {name: value for name, value in changed.items() if value is not None}
        return self

    @python_errors
    def transform(self, X: Sequence[str]) -> np.ndarray:
        """Return the embeddings of the texts, an array (n, d)."""
        texts = as_texts(X)
        return self._fitted().embed(texts, batch_size=self.batch_size)

    @python_errors
    def save(self, folder: str | Path, *, overwrite: bool = False, report: bool = True) -> None:
        """Save the model and the parameters of the estimator, with the recipe, metrics, report and card of a run.

        An estimator that was loaded saves the recipe, metrics, report and card of what it was loaded from; one that
        was pickled saves only the model, because pickles do not contain the training texts.

        Parameters
        ----------
        folder
            The folder to write.
        overwrite
            Replace a saved model in this folder. Folders with other files are never replaced.
        report
            Write the pictures, the report page and the model card, which takes a few seconds.
        """
        from phasefit.report import write_run_report
        from phasefit.runs.results import save_fit, save_model

        model, result = self._fitted(), getattr(self, "_result", None)
        more: dict[str, Any] = {"overwrite": overwrite, "facts": self._facts()}
        if result is None or result.job is None:
            save_model(model, Path(folder), source=getattr(self, "_source", None), **more)
            return
        with python_progress(self.listener, self.verbose) as listen:
            reporter = write_run_report if report else None
            save_fit(result.job, result, Path(folder), listen, report=reporter, **more)

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto", task: str | None = None) -> Self:
        """Load a saved model or a finished run, with the parameters that it was trained with.

        Parameters
        ----------
        folder
            A run folder, a folder that `save` wrote, or `hub:owner/name[@revision]`.
        device
            Where to predict: "auto", "cpu", "cuda", "cuda:1", "mps".
        task
            The task to load from a run with several tasks; `phasefit.load` loads all of them.
        """
        return python_errors(cls._load)(folder, device, task)

    @classmethod
    def _load(cls, folder: str | Path, device: str, task: str | None) -> Self:
        from phasefit.runs.run import Run

        if cls._predicts and not is_hub_name(folder) and not Path(folder).expanduser().exists():
            raise ModelError(
                f"there is no folder '{folder}'; give a run folder, one that `save` wrote, or hub:owner/name"
            )
        run = Run.open_model(folder)
        return cls._of(run.predictor(device) if cls._predicts else run.embedder(device), run, device, task)

    @classmethod
    def _of(cls, model: Predictor, run: Run, device: str = "auto", task: str | None = None) -> Self:
        """Return an estimator for a model that is already loaded."""
        known = cls._get_param_names()
        parameters = {name: value for name, value in _parameters(run.manifest, run.folder).items() if name in known}
        estimator = cls(**parameters, device=device)
        estimator.model_ = model
        estimator.task_ = model.known_task(task) if cls._predicts else TASK
        estimator._source = run
        estimator._adopt()
        estimator._restore(run.manifest)
        return estimator

    def _train(self, data: Any, validation: Any, unlabelled: Sequence[str] | None, **more: Any) -> FitResult:
        """Train on tables in memory and store the result; `more` are options that only some estimators have."""
        from phasefit.runs.execution import fit_spec

        spec = run_spec(
            data,
            validation=validation,
            unlabelled=None if unlabelled is None else as_texts(unlabelled) or None,
            validation_size=self.validation_size,
            test_size=0.0,
            recipe=self.recipe,
            settings=self.settings,
            effort=getattr(self, "effort", USUAL_EFFORT),
            model=self.model,
            seed=self.seed,
            device=self.device,
            precision=self.precision,
            **more,
        )
        trials = None
        check_minutes(self.recipe, getattr(self, "minutes", None))
        with python_progress(self.listener, self.verbose) as show:
            listen = _estimator_notes(show)
            if self.recipe == AUTO and self._predicts:
                if getattr(data, "weights", None) is not None:
                    listen(Note("the trials do not use sample_weight; the final training does", warning=True))
                spec, files = choose_spec(spec, self.minutes, listen)
                trials = trials_of(files)
            result = fit_spec(spec, listen)
        if self._predicts:
            self.trials_ = trials
        self._result = result
        self._vectors: Any = None  # of the training texts, if they were needed
        self.model_ = result.model
        self.task_ = TASK
        self.history_ = result.fitted.history.rows
        self.phases_ = result.fitted.phases
        self._adopt()
        return result

    def _refuse_encoders(self, wanted: str) -> None:
        """Raise an error for a recipe that trains no head."""
        from phasefit.recipes import read_recipe

        if self.recipe in (DEFAULT_RECIPE, AUTO):
            return
        recipe = read_recipe(self.recipe)
        if not recipe.trains_head:
            raise RecipeError(f"recipe '{recipe.name}' trains an encoder without a {wanted}; use TextEncoder")

    task_: str
    _trained_on: Prepared | Run | None  # of one of several tasks: that of all of them

    def _adopt(self) -> None:
        """Set the attributes that follow from the model."""

    def _facts(self) -> dict[str, Any]:
        """Return what `save` stores with the model, for `load`."""
        parameters = {name: value for name, value in self.get_params(deep=False).items() if name not in NOT_SAVED}
        return {PARAMETERS: {name: _plain(value) for name, value in parameters.items()}}

    def _restore(self, facts: Mapping[str, Any]) -> None:
        """Restore what `save` stored with the model; runs of the command line store nothing."""

    def __getstate__(self) -> dict[str, Any]:
        """Leave the training rows out of pickles: they are only needed to write a report."""
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name not in UNPICKLED}

    def _training_source(self) -> Prepared | Run | None:
        """The training rows, or the run that can read them again; None for a copy, which has neither."""
        result, run = getattr(self, "_result", None), getattr(self, "_source", None)
        prepared = None if result is None or result.job is None else result.job.prepared
        return prepared or run or getattr(self, "_trained_on", None)

    def _fitted(self) -> Predictor:
        if not hasattr(self, "model_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit, or load a saved model")
        return self.model_

    @property
    def _space(self) -> LabelSpace:
        """The label space of the task that this estimator predicts."""
        return self._fitted().space_of(self.task_)

    def _html_repr(self) -> str:
        """The diagram of scikit-learn and, once fitted, facts about the model."""
        from sklearn.utils import estimator_html_repr

        return f"{estimator_html_repr(self)}{self._fitted_html()}"

    def _repr_html_inner(self) -> str:
        return self._html_repr()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)
        return bundle | ({"text/html": self._html_repr()} if "text/html" in bundle else {})

    def _fitted_html(self) -> str:
        if not hasattr(self, "model_"):
            return ""
        encoder = getattr(self.model_, "encoder", None)  # TF-IDF has none
        facts: dict[str, object] = {"encoder": encoder.name, "dimension": encoder.dimension} if encoder else {}
        if hasattr(self, "classes_"):
            some = ", ".join(map(str, self.classes_[:MOST_CLASSES]))
            facts["classes"] = f"{len(self.classes_)}: {some}{' ...' if len(self.classes_) > MOST_CLASSES else ''}"
        metrics = {"validation": getattr(self, "validation_metrics_", None)}
        title = f"<div><b>{as_html(type(self).__name__)}, fitted</b></div>"
        phases = phases_html(getattr(self, "phases_", []))
        return f"<div>{title}{table_html(facts.items())}{phases}{metrics_html(metrics)}</div>"

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.non_deterministic = False
        return tags


def _estimator_notes(listen: Listener) -> Listener:
    """Replace advice in notes that names options which only `train` has."""

    def received(event: Event) -> None:
        if isinstance(event, Note):
            text = event.text.replace("--long ", "--set long=")
            event = replace(event, text=DROP_LEAKED.sub("remove them from one of the two", text))
        listen(event)

    return received


def _parameters(manifest: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the arguments of `__init__` for this model: saved with it, or taken from its run."""
    saved = manifest.get(PARAMETERS)
    if isinstance(saved, Mapping):
        return dict(saved)
    if "recipe" not in manifest:
        return {}
    return {"seed": manifest.get("seed", 0), **_recipe_of_run(manifest, folder)}


def _recipe_of_run(manifest: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Return the recipe's name and settings if they still give the recipe of the run, else the recipe file."""
    from phasefit.recipes import read_recipe

    name, settings, file = str(manifest["recipe"]), manifest.get("settings"), folder / "recipe.toml"
    effort = manifest.get("effort", USUAL_EFFORT)
    with suppress(ValueError, OSError):
        if read_recipe(name, as_settings(settings or {}), effort).to_toml() == file.read_text(encoding="utf-8"):
            return {"recipe": name, "settings": settings} | ({"effort": effort} if effort != USUAL_EFFORT else {})
    return {"recipe": str(file)}


def _plain(value: Any) -> Any:
    """Convert a parameter to a value that JSON supports."""
    if isinstance(value, Mapping):
        return {str(name): _plain(inner) for name, inner in value.items()}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    return str(value) if isinstance(value, Path) else value
