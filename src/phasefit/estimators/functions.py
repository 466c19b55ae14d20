"""The functions of `phasefit`: train a run, resume it, load it, read a table."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from phasefit.data.columns import as_names
from phasefit.data.sources import read_table as read_any_table
from phasefit.data.table import Table
from phasefit.effort_levels import USUAL_EFFORT
from phasefit.estimators.auto import check_minutes, choose_spec
from phasefit.events import Note
from phasefit.parameter_names import in_python, python_errors
from phasefit.prepare.source_facts import SourceFacts
from phasefit.prepare.specification import DataSpec
from phasefit.progress.python import pass_on, python_progress
from phasefit.recipes import Recipe
from phasefit.recipes.settings import as_settings, merge_settings
from phasefit.report import write_run_report
from phasefit.runs.folder import check_free
from phasefit.runs.job import TrainResult
from phasefit.runs.resume import resume as resume_run
from phasefit.runs.specification import AUTO, DEFAULT_RECIPE, check_options, run_spec
from phasefit.runs.train import train as train_run

if TYPE_CHECKING:
    from phasefit.estimators.classifier import TextClassifier
    from phasefit.estimators.encoder import TextEncoder
    from phasefit.estimators.regressor import TextRegressor
    from phasefit.estimators.tasks import TextTasks
    from phasefit.events import Event

Names = Sequence[str] | str | None
NOT_OPTIONS = ("data", "minutes", "verbose", "listener", "long")  # parameters of `train` that a run does not have


@python_errors
def train(
    data: Any,
    *,
    recipe: str | Path | Recipe = DEFAULT_RECIPE,
    settings: Mapping[str, Any] | None = None,
    effort: int = USUAL_EFFORT,
    minutes: float | None = None,
    model: str | Path | None = None,
    out: str | Path | None = None,
    overwrite: bool = False,
    seed: int = 0,
    text: Names = None,
    label: Names = None,
    kind: str | None = None,
    tree: str | None = None,
    separator: str | None = None,
    levels: Names = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    empty: str = "refuse",
    validation: Any = None,
    test: Any = None,
    unlabelled: Any = None,
    validation_size: float = 0.2,
    test_size: float = 0.1,
    rows: int | None = None,
    validation_rows: int | None = None,
    test_rows: int | None = None,
    classes: Names = None,
    top_classes: int | None = None,
    fold: tuple[int, int] | None = None,
    unseen: str = "error",
    leaked: str = "keep",
    refit: bool = False,
    calibrate: bool = True,
    reject: float = 0.0,
    long: str | None = None,
    report: bool = True,
    baselines: bool = True,
    keep_phases: bool = False,
    checkpoint_minutes: float = 5.0,
    device: str = "auto",
    threads: int | None = None,
    precision: str = "auto",
    compile: bool = False,
    track: str | None = None,
    data_dir: str | Path | None = None,
    verbose: bool | int | None = None,
    listener: Callable[[Event], None] | None = None,
) -> TrainResult:
    """Train a run and write its folder, as `phasefit train` does.

    Parameters
    ----------
    data
        A path, the name of a dataset, `hub:owner/name`, a task file, a DataFrame, or (texts, labels).
    recipe
        A packaged recipe, the path of a recipe file, or a `Recipe`. "default" chooses one for the data; "auto"
        tries several within `minutes` and trains the best.
    settings
        Options of the recipe to change, for example `{"contrast.epochs": 4}`.
    effort
        How much training to spend, from 1 to 5, if the recipe has efforts; 3 is the recipe as it is.
    minutes
        The time limit of `recipe="auto"`, including the final training; None: 10.
    model
        The pretrained encoder: a hub id, a folder, or a run (also `hub:owner/name`) to continue from. None uses the
        default model.
    out
        The run folder; None uses `runs/NAME`, then `runs/NAME-2`, and so on.
    overwrite
        Replace an existing run in `out` once the new run is finished.
    seed
        The seed of every random choice in the run.
    text, label
        Column names; detected when None. Two or three text columns form a pair or a triple. Several label columns are
        the levels of a tree.
    kind
        The kind of the labels: "single", "multi", "tree" or "score"; detected when None.
    tree, separator
        The separator between the levels of a tree, or between several labels, within one cell.
    levels
        The names of an ordered scale, lowest first.
    delimiter, encoding, sheet
        How files are read: the mark between columns, the encoding of text files, the sheet of Excel files; detected
        when None, with a note about what was assumed.
    empty
        What to do with rows whose text or label is empty: "refuse" the table or "drop" the rows.
    validation, test, unlabelled
        More tables; `unlabelled` has texts for the phases that need no labels.
    validation_size, test_size
        The share of training rows to hold out if the table is not given.
    rows, validation_rows, test_rows
        Use a random sample of N rows.
    classes, top_classes
        Use only the rows of these classes, or of the N most frequent ones.
    fold
        (2, 5) uses the second of five folds of the training table as the test rows.
    unseen
        What to do with labels that only validation or test rows have: "error", "drop" or "keep" (counted as mistakes).
    leaked
        What to do with texts that are both trained on and scored: "keep", "drop-scored" or "drop-train".
    refit
        Train again on all rows after the evaluation.
    calibrate
        Calibrate probabilities on the validation rows.
    reject
        The share of validation rows to reject as too uncertain; predictions below that confidence are None.
    long
        What to do with texts that are too long: "truncate", "head-tail" or "windows".
    report
        Write the pictures, the report page and the model card.
    baselines
        After training, score TF-IDF and the frozen encoder on the same split; large tables are sampled.
    keep_phases
        Keep the encoder after each phase.
    checkpoint_minutes
        Minutes between checkpoints; 0 writes one after every step.
    device, threads, precision, compile
        How to compute: "auto", "cpu", "cuda"; CPU threads; "auto", "no", "bf16", "fp16"; whether to use torch.compile.
    track
        An experiment tracker: "tensorboard", "wandb", "mlflow".
    data_dir
        The folder with named datasets.
    verbose
        Whether to show progress: True, False, or None, which shows it in terminals and notebooks.
    listener
        A function that receives every event of the run: notes, steps, scores (see `phasefit.events`).

    Returns
    -------
    TrainResult
        `folder`, `metrics` and `model` of the finished run; `phasefit.load(result.folder)` predicts with it.
    """
    options = {name: value for name, value in locals().items() if name not in NOT_OPTIONS}
    options |= {name: as_names(options[name]) for name in ("text", "label")}
    options |= {name: tuple(map(str, as_names(options[name]))) for name in ("levels", "classes")}
    options |= {name: Path(options[name]) for name in ("out", "data_dir") if isinstance(options[name], str)}
    options |= {name: os.fspath(options[name]) for name in ("recipe", "model") if isinstance(options[name], Path)}
    if isinstance(recipe, Recipe):
        options |= {"recipe": recipe.name, "recipe_toml": recipe.to_toml()}
    options["settings"] = merge_settings(as_settings(settings or {}), {} if long is None else {"long": long})
    with python_progress(listener, verbose) as listen:
        spec, files = run_spec(data, **options), None
        check_minutes(spec.recipe.name, minutes)
        if spec.recipe.name == AUTO and not isinstance(recipe, Recipe):
            if spec.output.folder is not None:
                check_free(Path(spec.output.folder), overwrite=overwrite)
            spec, files = choose_spec(spec, minutes, listen, keep=True)
        return train_run(spec, listen, files, report=write_run_report)


@python_errors
def resume(
    folder: str | Path,
    *,
    device: str | None = None,
    verbose: bool | int | None = None,
    listener: Callable[[Event], None] | None = None,
) -> TrainResult:
    """Resume a run that was stopped or killed; the result matches an uninterrupted run.

    Parameters
    ----------
    folder
        The folder of the run.
    device
        The device to resume on; None uses the device that the run started on.
    verbose
        Whether to show progress: True, False, or None, which shows it in terminals and notebooks.
    listener
        A function that receives every event of the run.
    """
    with python_progress(listener, verbose) as listen:
        return resume_run(Path(folder), listen, device=device, report=write_run_report)


@python_errors
def load(folder: str | Path, *, device: str = "auto") -> TextClassifier | TextRegressor | TextEncoder | TextTasks:
    """Load a finished run or a saved model.

    Parameters
    ----------
    folder
        A run folder, a folder that `save` wrote, or `hub:owner/name[@revision]`. A plain encoder (a folder or a hub id)
        works too.
    device
        Where to predict: "auto", "cpu", "cuda", "cuda:1" or "mps".

    Returns
    -------
    TextClassifier, TextRegressor, TextEncoder or TextTasks
        A classifier for classes, a regressor for scores, an encoder for a run without a head, and `TextTasks` for a run
        with several tasks. Each has `transform` and all but the encoder have `predict`.
    """
    from phasefit.estimators.loading import load_estimator

    return load_estimator(folder, device)


@python_errors
def read_table(
    source: Any,
    *,
    text: Names = None,
    label: Names = None,
    kind: str | None = None,
    tree: str | None = None,
    separator: str | None = None,
    levels: Names = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    sheet: str | None = None,
    empty: str = "refuse",
    need_labels: bool = True,
    split: str = "train",
    data_dir: str | Path | None = None,
) -> Table:
    """Read a table of texts and labels.

    Parameters
    ----------
    source
        A path, the name of a dataset, `hub:owner/name`, a DataFrame, or (texts, labels).
    text, label
        Column names; detected when None.
    kind, tree, separator, levels
        How labels are read, as in `train`.
    delimiter, encoding, sheet, empty
        How files are read, and what to do with empty cells, as in `train`.
    need_labels
        Whether a table without labels is an error.
    split
        The split to read from a dataset that has several.
    data_dir
        The folder with named datasets.

    Returns
    -------
    Table
        Its `texts` and `labels` are lists; `labels` is None for a table without labels. `file.assumption` states what
        was assumed about a file, and `dropped` has the numbers of the rows that were dropped for empty cells; both are
        also logged.
    """
    reading: dict[str, Any] = {
        "kind": kind,
        "tree": tree,
        "separator": separator,
        "levels": tuple(map(str, as_names(levels))),
    }
    columns: dict[str, Any] = {"text": as_names(text), "label": as_names(label)}
    file: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet, "empty": empty}
    check_options({**reading, **columns, **file, "data_dir": data_dir})
    DataSpec(source, **file)  # raises for an unknown choice
    folder = None if data_dir is None else Path(data_dir)
    table = read_any_table(source, **columns, **reading, **file, need_labels=need_labels, split=split, data_dir=folder)
    for note in SourceFacts.of({split: table}).notes:
        pass_on(Note(in_python(note)))
    return table
