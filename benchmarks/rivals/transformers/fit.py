"""A plain fine-tune: transformers' AutoModelForSequenceClassification and Trainer; run by its own environment.

Batches are padded to their longest text, as in the library's course. The learning rate is at the upper end of the usual
range, because few rows give few steps. With `min_steps`, few rows get more epochs, until there are as many steps.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Mapping
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contest import Job, Prediction

PACKAGES = ("transformers", "torch", "accelerate")
COMMON = {"learning_rate": 1e-4, "per_device_train_batch_size": 32, "warmup_steps": 0.1}
BUDGETS: dict[str, dict[str, Any]] = {
    "quick": {"num_train_epochs": 5, **COMMON},
    "default": {"num_train_epochs": 20, **COMMON},
}
PREDICT_BATCH = 64


def solve(job: Job) -> Prediction:
    """Tokenise, train, predict."""
    import torch
    from contest import Prediction
    from transformers import (
        AutoModelForSequenceClassification,
        AutoTokenizer,
        DataCollatorWithPadding,
        Trainer,
        TrainingArguments,
        set_seed,
    )

    set_seed(job.seed)  # the head is initialised when the model is loaded
    with job.clock.part("load"):
        tokenizer = AutoTokenizer.from_pretrained(job.model)
        model = AutoModelForSequenceClassification.from_pretrained(job.model, num_labels=len(job.classes))
    with tempfile.TemporaryDirectory() as folder, job.clock.part("fit"):
        tokens = tokenizer(job.texts, truncation=True, max_length=256)["input_ids"]
        rows = [{"input_ids": ids, "labels": code} for ids, code in zip(tokens, job.codes, strict=True)]
        arguments = TrainingArguments(
            **arguments_for(job.settings, len(rows)),
            output_dir=folder,
            seed=job.seed,
            report_to="none",
            save_strategy="no",
            logging_strategy="no",
            disable_tqdm=True,
            use_cpu=True,
        )
        collate = DataCollatorWithPadding(tokenizer)
        trainer = Trainer(model=model, args=arguments, train_dataset=rows, data_collator=collate)
        trainer.train()
    probabilities: list[list[float]] = []
    with job.clock.part("predict"):
        model.eval()
        for start in range(0, len(job.test_texts), PREDICT_BATCH):
            texts = job.test_texts[start : start + PREDICT_BATCH]
            batch = tokenizer(texts, padding=True, truncation=True, max_length=256, return_tensors="pt")
            with torch.no_grad():
                probabilities += torch.softmax(model(**batch).logits, dim=1).tolist()
    return Prediction(job.classes, probabilities)


def arguments_for(settings: Mapping[str, Any], rows: int) -> dict[str, Any]:
    """Training arguments, with enough epochs for `min_steps`."""
    arguments = {name: value for name, value in settings.items() if name != "min_steps"}
    steps = ceil(rows / settings["per_device_train_batch_size"])  # of an epoch
    least = ceil(settings.get("min_steps", 0) / steps)
    return arguments | {"num_train_epochs": max(settings["num_train_epochs"], least)}


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[2]))
    from contest import main

    main(BUDGETS, PACKAGES, solve)
