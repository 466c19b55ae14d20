"""FastFit: supervised contrast of texts and class names with token-level similarity; run by its own environment.

Settings are those of its README (40 epochs, batches of 32, Adafactor, texts of up to 128 tokens) without fp16, which
CPUs do not support. The README repeats every batch four times (`num_repeats`); the default of the package is once.
`readme` is the former, `default` the latter, which encodes a quarter as many texts.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contest import Job, Prediction

PACKAGES = ("fast-fit", "torch", "transformers", "datasets")
README = {
    "num_train_epochs": 40,
    "per_device_train_batch_size": 32,
    "num_repeats": 4,
    "optim": "adafactor",
    "learning_rate": 5e-5,
    "clf_loss_factor": 0.1,
    "max_text_length": 128,
}
BUDGETS: dict[str, dict[str, Any]] = {
    "quick": README | {"num_repeats": 1, "num_train_epochs": 15},
    "default": README | {"num_repeats": 1},
    "readme": README,
}
PREDICT_BATCH = 64  # the README's per_device_eval_batch_size


def solve(job: Job) -> Prediction:
    """Train with FastFitTrainer; reading the model from disk counts as loading."""
    import datasets
    import torch
    from contest import Prediction

    # fastfit.train imports `load_metric`, which would ask the hub for a script; nothing is evaluated here.
    datasets.load_metric = lambda *_, **__: None
    from fastfit import FastFitTrainer

    class Timed(FastFitTrainer):
        def set_tokenizer(self) -> None:
            with job.clock.part("load"):
                super().set_tokenizer()

        def set_model(self) -> None:
            with job.clock.part("load"):
                super().set_model()

    with tempfile.TemporaryDirectory() as folder, job.clock.part("fit"):
        rows = datasets.Dataset.from_dict({"text": job.texts, "label": job.labels})
        trainer = Timed(
            **job.settings,
            train_dataset=rows,
            test_dataset=rows.select([0]),  # it requires one and tokenises it
            model_name_or_path=job.model,
            label_column_name="label",
            text_column_name="text",
            dataloader_drop_last=False,
            output_dir=folder,
            overwrite_output_dir=True,
            save_strategy="no",
            logging_strategy="no",
            report_to="none",
            disable_tqdm=True,
            log_level="error",
            seed=job.seed,
            use_cpu=True,
        )
        model = trainer.train()
    tokenizer, probabilities = trainer.tokenizer, []
    tokenizer.model_input_names = ["input_ids", "attention_mask"]  # the trainer renamed them
    with job.clock.part("predict"):
        model.eval()
        for start in range(0, len(job.test_texts), PREDICT_BATCH):
            texts = job.test_texts[start : start + PREDICT_BATCH]
            batch = tokenizer(
                texts, padding=True, truncation=True, max_length=job.settings["max_text_length"], return_tensors="pt"
            )
            with torch.no_grad():
                scores = model.inference_forward(batch["input_ids"], batch["attention_mask"])
            probabilities += torch.softmax(scores, dim=1).tolist()  # as transformers' pipeline does
    return Prediction(list(map(str, trainer.labels)), probabilities)


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[2]))
    from contest import main

    main(BUDGETS, PACKAGES, solve)
