"""What the estimators share: the parameters, the training job, vectors, saving and loading."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import NotFittedError

from phasefit.errors import RecipeError
from phasefit.estimators.inputs import as_texts
from phasefit.runs.specification import DEFAULT_RECIPE, run_spec

if TYPE_CHECKING:
    from phasefit.events import Event
    from phasefit.models.model import Model
    from phasefit.runs.execution import FitResult


class TextEstimator(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A model trained in phases, by scikit-learn's rules: `__init__` stores, `fit` builds, `clone` works."""

    recipe: str
    model: str | None
    settings: Mapping[str, Any] | None
    validation_fraction: float
    seed: int
    device: str
    precision: str
    batch_size: int  # of prediction; training's is an option of each phase
    listener: Callable[[Event], None] | None

    def transform(self, X: Sequence[str]) -> np.ndarray:
        """Embeddings (n, d)."""
        texts = as_texts(X)
        if not texts:
            return np.empty((0, self._fitted().encoder.dimension), dtype=np.float32)
        return self._fitted().embed(texts, batch_size=self.batch_size)

    def save(self, folder: str | Path, *, overwrite: bool = False) -> None:
        """Save the model; an existing folder is refused unless it holds a model and may be overwritten."""
        from phasefit.runs.saving import save_model

        save_model(self._fitted(), Path(folder), overwrite=overwrite, facts=self._facts())

    @classmethod
    def load(cls, folder: str | Path, *, device: str = "auto") -> Self:
        """A saved model or a finished run, ready to use."""
        from phasefit.files.manifest import MANIFEST, read_manifest
        from phasefit.models.storage import load_model

        estimator = cls(device=device)
        estimator.model_ = load_model(folder, device)
        estimator._take_over()
        place = Path(folder).expanduser()
        estimator._restore(read_manifest(place) if (place / MANIFEST).is_file() else {})
        return estimator

    def _train(self, data: Any, validation: Any, unlabelled: Sequence[str] | None, **more: Any) -> FitResult:
        """Train on tables in memory, and keep what comes out; `more` is what only some estimators ask for."""
        from phasefit.runs.execution import fit_spec

        spec = run_spec(
            data,
            validation=validation,
            unlabelled=None if unlabelled is None else as_texts(unlabelled) or None,
            validation_size=self.validation_fraction,
            test_size=0.0,
            recipe=self.recipe,
            settings=tuple(_settings(self.settings or {})),
            model=self.model,
            seed=self.seed,
            device=self.device,
            precision=self.precision,
            **more,
        )
        result = fit_spec(spec, self.listener or _silent)
        self.model_ = result.model
        self.history_ = result.fitted.history.rows
        self.phases_ = result.fitted.phases
        self._take_over()
        return result

    def _refuse_encoders(self, wanted: str) -> None:
        """A recipe that trains no head is for another estimator."""
        from phasefit.recipes import read_recipe

        if self.recipe == DEFAULT_RECIPE:
            return
        recipe = read_recipe(self.recipe)
        if not any(phase.trains_head for phase in recipe.phases):
            raise RecipeError(f"recipe '{recipe.name}' trains an encoder and no {wanted}; use TextEncoder for it")

    def _take_over(self) -> None:
        """Set what follows from the model."""

    def _facts(self) -> dict[str, Any]:
        """What is saved beside the model, for `_restore`."""
        return {}

    def _restore(self, facts: Mapping[str, Any]) -> None:
        """Take what was saved beside the model; a run of the command line has nothing."""

    def _fitted(self) -> Model:
        if not hasattr(self, "model_"):
            raise NotFittedError(f"this {type(self).__name__} is not fitted yet; call fit, or load a saved one")
        return self.model_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.non_deterministic = False
        return tags


def _settings(settings: Mapping[str, Any]) -> list[str]:
    if not isinstance(settings, Mapping):
        raise RecipeError(f"settings is a dict such as {{'finetune.epochs': 4}}, not {settings!r}")
    return [f"{name}={_toml(name, value)}" for name, value in settings.items()]


def _toml(name: str, value: Any) -> str:
    import tomli_w

    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(name, inner)}" for key, inner in value.items()) + " }"
    plain = value.item() if isinstance(value, np.generic) else value
    try:
        return tomli_w.dumps({"v": plain}).partition("=")[2].strip()
    except TypeError as error:
        raise RecipeError(f"settings: {name} cannot be {value!r}; leave it out or give a value") from error


def _silent(_: Event) -> None:
    """Nobody listens."""
