"""phasefit as users call it; run by its own environment.

The budgets are the same for all datasets, and the full table shows all of them: none is selected by its score. Settings
with a dot in their name are options of a phase, the others are parameters of `TextClassifier`.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from contest import Job, Prediction

PACKAGES = ("phasefit", "torch", "transformers", "sentence-transformers")
BUDGETS: dict[str, dict[str, Any]] = {
    "quick": {"recipe": "few-shot", "contrast.epochs": 2.5, "contrast.min_steps": 10},
    "default": {"recipe": "few-shot"},
    "long": {
        "recipe": "few-shot",
        **{"contrast.epochs": 10, "contrast.min_steps": 40, "contrast.encoder_dropout": 0.1},
    },
    "three-phase": {"recipe": "three-phase"},
    "finetune": {"recipe": "finetune"},
}


def solve(job: Job) -> Prediction:
    """Fit without validation rows, as all contestants do, and predict."""
    from contest import Prediction

    import phasefit.runs.execution  # noqa: F401 (imported by the first call of `fit`)
    from phasefit import TextClassifier
    from phasefit.events import Stage

    loading = False

    def listen(event: object) -> None:
        """Count the stage of `fit` that loads the model as loading, until the next stage."""
        nonlocal loading
        if loading and isinstance(event, Stage):
            job.clock.end()
        if isinstance(event, Stage):
            loading = event.name == "loading the model"
            if loading:
                job.clock.begin("load")

    parameters = {"precision": "no"} | {name: value for name, value in job.settings.items() if "." not in name}
    classifier = TextClassifier(
        **parameters,
        model=job.model,
        settings={name: value for name, value in job.settings.items() if "." in name},
        validation_size=0.0,
        seed=job.seed,
        device="cpu",
        listener=listen,
    )
    with job.clock.part("fit"):
        classifier.fit(job.texts, job.labels)
    with job.clock.part("predict"):
        probabilities = classifier.predict_proba(job.test_texts)
    return Prediction([str(label) for label in classifier.classes_], probabilities.tolist())


if __name__ == "__main__":
    sys.path.append(str(Path(__file__).parents[2]))
    from contest import main

    main(BUDGETS, PACKAGES, solve)
