"""Single settings as scikit-learn parameters, and arguments that people try first."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import phasefit
from phasefit import PhasefitWarning, TextClassifier, TextEncoder, TextRegressor
from tiny import make_table

TEXTS, LABELS = make_table(48)
STEPS = {"finetune.max_steps": 2, "finetune": {"batch_size": 16}}


@pytest.fixture
def make(tiny_folder: Path):
    def make(**options: Any) -> TextClassifier:
        return TextClassifier(**{"recipe": "finetune", "model": str(tiny_folder), "settings": STEPS, **options})

    return make


def test_single_settings_are_parameters(make) -> None:
    classifier = make()
    names = {name for name in classifier.get_params() if name.startswith("settings__")}
    assert names == {"settings__finetune__max_steps", "settings__finetune__batch_size"}
    classifier.set_params(settings__finetune__lr=1e-3, seed=4, **{"settings__finetune.batch_size": 8})
    assert classifier.settings == {"finetune.max_steps": 2, "finetune.lr": 1e-3, "finetune.batch_size": 8}
    assert classifier.seed == 4
    assert STEPS == {"finetune.max_steps": 2, "finetune": {"batch_size": 16}}, "the given dict is not changed"
    classifier.set_params(settings__finetune__lr=None)
    assert "finetune.lr" not in classifier.settings
    assert clone(classifier).get_params() == classifier.get_params()
    assert TextClassifier().set_params(settings__finetune__lr=1e-3).settings == {"finetune.lr": 1e-3}


def test_grid_search_over_single_settings(make) -> None:
    grid = {"settings__finetune__lr": [1e-5, 2e-3], "settings__finetune.epochs": [1]}
    search = GridSearchCV(make(), grid, cv=2, error_score="raise").fit(TEXTS, LABELS)
    assert set(search.best_params_) == set(grid)
    assert search.best_estimator_.settings["finetune.lr"] == search.best_params_["settings__finetune__lr"]
    assert search.best_estimator_.settings["finetune.max_steps"] == 2


def test_settings_inside_a_pipeline(make) -> None:
    pipeline = make_pipeline(FunctionTransformer(), make())
    pipeline.set_params(textclassifier__settings__finetune__lr=1e-3)
    assert pipeline[-1].settings["finetune.lr"] == 1e-3


def test_a_fitted_estimator_is_pickled_with_its_model(make) -> None:
    classifier = make().fit(TEXTS, LABELS)
    again = pickle.loads(pickle.dumps(classifier))  # noqa: S301 - joblib sends estimators like this
    assert np.array_equal(again.predict_proba(TEXTS[:5]), classifier.predict_proba(TEXTS[:5]))


@pytest.mark.long
def test_grid_search_in_two_processes(make) -> None:
    grid = {"settings__finetune__lr": [1e-5, 2e-3]}
    one, two = (
        GridSearchCV(make(), grid, cv=2, n_jobs=jobs, error_score="raise").fit(TEXTS, LABELS) for jobs in (1, 2)
    )
    assert one.cv_results_["mean_test_score"].tolist() == two.cv_results_["mean_test_score"].tolist()


@pytest.mark.parametrize("public", [TextClassifier, TextRegressor, TextEncoder, phasefit.train])
def test_options_of_a_phase_as_arguments_get_a_hint(public: Any) -> None:
    with pytest.raises(TypeError, match=r'argument .epochs.; .*settings=\{"finetune.epochs": ...\}'):
        public(epochs=3)
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'nonsense'$"):
        public(nonsense=3)


def test_unlabelled_texts_that_no_phase_uses_are_a_warning(make) -> None:
    with pytest.warns(PhasefitWarning, match="recipe 'finetune' does not use the 2 unlabelled texts") as caught:
        make().fit(TEXTS, LABELS, unlabelled=["a song", "some rain"])
    text = str(caught[0].message)
    assert "recipes that use them: denoise-finetune, joint, self-train, self-train-names, three-phase" in text
    assert "simcse" not in text, "it trains no classifier"
    assert caught[0].filename == __file__
    three = {"denoise.max_steps": 1, "contrast.max_steps": 1, "finetune.max_steps": 1}
    make(recipe="three-phase", settings=three).fit(TEXTS, LABELS, unlabelled=["a song", "some rain"])
