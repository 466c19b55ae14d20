"""SetFit (Tunstall et al., 2022) with the settings of its quick start: contrastive pairs, then logistic regression."""

from __future__ import annotations

import tempfile
from importlib.util import find_spec
from typing import Any

import numpy as np

from phasefit.baselines.contract import Baseline, FitOptions, Predict
from phasefit.data.table import Table
from phasefit.errors import DataError, MissingExtra
from phasefit.kinds import kind_of
from phasefit.prepare.prepare import Prepared

SETTINGS: dict[str, Any] = {"num_iterations": 20, "batch_size": 16, "num_epochs": 1}  # of its paper, and its defaults


class SetFit(Baseline):
    """Supports what its quick start covers: single texts with one class each."""

    title = "SetFit with the settings of its quick start, if it is installed"

    def check(self) -> None:
        """Raise if SetFit is not installed."""
        if find_spec("setfit") is None:
            raise MissingExtra("the baseline 'setfit' needs SetFit; install it with: pip install 'phasefit[setfit]'")

    def check_rows(self, prepared: Prepared) -> None:
        """Raise for labels and texts that its quick start does not cover."""
        if kind_of(prepared.space).answer != "class" or prepared.train.others:
            raise DataError(
                "the baseline 'setfit' supports only single texts with one class each; remove it from the comparison"
            )

    def fit(self, prepared: Prepared, options: FitOptions) -> Predict:
        """Train on the training rows; validation rows are not used, as in its quick start."""
        self.check_rows(prepared)
        self.check()
        from datasets import Dataset
        from setfit import SetFitModel, Trainer, TrainingArguments

        from phasefit.models.encoder.locate import DEFAULT_MODEL, locate
        from phasefit.training.device import make_accelerator

        device = str(make_accelerator(options.device, options.precision).device)
        where = str(locate(DEFAULT_MODEL if options.model is None else options.model))
        model = SetFitModel.from_pretrained(where, device=device)
        quiet = {"report_to": "none", "save_strategy": "no", "logging_strategy": "no", "show_progress_bar": False}
        codes = [int(code) for code in prepared.codes(prepared.train)]
        rows = Dataset.from_dict({"text": list(prepared.train.texts), "label": codes})
        with tempfile.TemporaryDirectory() as folder:
            arguments = TrainingArguments(
                **SETTINGS, **quiet, output_dir=folder, seed=options.seed, logging_first_step=False
            )
            Trainer(model=model, args=arguments, train_dataset=rows).train()

        def predict(table: Table) -> np.ndarray:
            probabilities = np.zeros((len(table), len(prepared.space)))
            probabilities[:, model.model_head.classes_] = model.predict_proba(list(table.texts), as_numpy=True)
            return probabilities

        return predict


BASELINE = SetFit()
