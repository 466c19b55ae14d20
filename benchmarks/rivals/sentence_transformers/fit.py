"""sentence-transformers with scikit-learn's logistic regression; run by its own environment.

`default` does not train the encoder. `batch-hard` first trains it with the library's trainer and batch-hard triplet
loss on batches grouped by label, the library's way to learn from labelled texts.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contest import Job, Prediction

PACKAGES = ("sentence-transformers", "torch", "transformers", "scikit-learn")
BUDGETS: dict[str, dict[str, Any]] = {
    "default": {"encoder": "frozen", "head": "logistic regression", "C": "cross-validation"},
    "batch-hard": {
        "encoder": "BatchHardSoftMarginTripletLoss",
        "head": "logistic regression",
        "C": "cross-validation",
        "num_train_epochs": 10,
        "per_device_train_batch_size": 32,
        "learning_rate": 5e-5,
    },
}


def solve(job: Job) -> Prediction:
    """Encode, fit the regression, predict."""
    from contest import Prediction
    from logistic import best_c
    from sentence_transformers import SentenceTransformer, SentenceTransformerTrainer  # noqa: F401 (imports are not timed)
    from sklearn.linear_model import LogisticRegression

    with job.clock.part("load"):
        model = SentenceTransformer(job.model, device="cpu")

    def head(c: float) -> Any:
        return LogisticRegression(C=c, max_iter=1000)

    with job.clock.part("fit"):
        if job.settings["encoder"] != "frozen":
            train(model, job)
        vectors = model.encode(job.texts, show_progress_bar=False)
        fitted = head(best_c(head, vectors, job.labels, job.settings["C"], job.seed)).fit(vectors, job.labels)
    with job.clock.part("predict"):
        probabilities = fitted.predict_proba(model.encode(job.test_texts, show_progress_bar=False))
    return Prediction(list(fitted.classes_), probabilities.tolist())


def train(model: Any, job: Job) -> None:
    """The library's trainer, without evaluation, checkpoints or trackers."""
    from datasets import Dataset
    from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments, losses
    from sentence_transformers.training_args import BatchSamplers

    options = {name: value for name, value in job.settings.items() if name not in ("encoder", "head", "C")}
    with tempfile.TemporaryDirectory() as folder:
        arguments = SentenceTransformerTrainingArguments(
            **options,
            output_dir=folder,
            seed=job.seed,
            batch_sampler=BatchSamplers.GROUP_BY_LABEL,
            warmup_steps=0.1,
            report_to="none",
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
            use_cpu=True,
        )
        rows = Dataset.from_dict({"text": job.texts, "label": job.codes})
        loss = getattr(losses, job.settings["encoder"])(model)
        SentenceTransformerTrainer(model=model, args=arguments, train_dataset=rows, loss=loss).train()


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[2]))
    from contest import main

    main(BUDGETS, PACKAGES, solve)
