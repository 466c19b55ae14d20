"""SetFit: pairs of texts, then scikit-learn's logistic regression; run by its own environment.

`num_iterations` pairs of each kind (same class, other class) are drawn for every text: 20 as in its paper, or 1, the
minimum. Batch size, epochs, learning rate and head are SetFit's defaults.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contest import Job, Prediction

PACKAGES = ("setfit", "torch", "transformers", "sentence-transformers", "scikit-learn")
BUDGETS: dict[str, dict[str, Any]] = {
    "quick": {"num_iterations": 1, "batch_size": 16, "num_epochs": 1},
    "default": {"num_iterations": 20, "batch_size": 16, "num_epochs": 1},
}


def solve(job: Job) -> Prediction:
    """Train like SetFit's quick start, without evaluation, checkpoints or trackers."""
    from contest import Prediction
    from datasets import Dataset
    from setfit import SetFitModel, Trainer, TrainingArguments

    with job.clock.part("load"):
        model = SetFitModel.from_pretrained(job.model, device="cpu")
    with tempfile.TemporaryDirectory() as folder, job.clock.part("fit"):
        arguments = TrainingArguments(
            **job.settings,
            output_dir=folder,
            seed=job.seed,
            report_to="none",
            save_strategy="no",
            logging_strategy="no",
            logging_first_step=False,
            show_progress_bar=False,
        )
        rows = Dataset.from_dict({"text": job.texts, "label": job.codes})
        Trainer(model=model, args=arguments, train_dataset=rows).train()
    with job.clock.part("predict"):
        probabilities = model.predict_proba(job.test_texts, as_numpy=True, show_progress_bar=False)
    return Prediction(job.classes, probabilities.tolist())  # the head sorts its classes, which are codes


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[2]))
    from contest import main

    main(BUDGETS, PACKAGES, solve)
