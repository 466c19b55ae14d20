"""What one training job is asked to do: filled in by the command line and by Python alike. Imports no torch."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

DEFAULT_RECIPE = "default"  # whatever fits the rows
AUTO = "auto"  # chosen by trying several, on the command line


@dataclass(frozen=True)
class TrainRequest:
    """Everything `phasefit train` takes. Sources are paths, dataset names, `hub:owner/name`, frames or lists."""

    data: Any
    text: tuple[str, ...] = ()  # the text column, found by its usual names when not given; several: a pair, a triple
    label: tuple[str, ...] = ()  # the label column; several are the levels of a tree
    kind: str | None = None  # of labels: single, multi, tree or score; found out when not given
    tree: str | None = None  # what separates the levels inside one label, e.g. "/"
    separator: str | None = None  # what separates several labels in one cell; "|" when not given
    levels: tuple[str, ...] = ()  # the names of an ordered scale, lowest first
    validation: Any = None
    test: Any = None
    unlabelled: Any = None  # more texts for the phases that need no labels
    validation_size: float = 0.2  # share split off where no validation table is given
    test_size: float = 0.1
    rows: int | None = None  # use a sample of this many training rows, stratified where they have labels
    validation_rows: int | None = None  # choose on a sample of this many of the validation rows that were given
    test_rows: int | None = None  # score on a sample of this many of the test rows that were given
    score_test: bool = True  # False: test rows are split off and left alone, for whoever chooses on validation
    classes: tuple[str, ...] = ()  # use only the rows of these classes
    top_classes: int | None = None  # use only the rows of the so many most frequent classes
    fold: tuple[int, int] | None = None  # (2, 5): the second fifth of the training table is the test, splits are unused
    unseen: str = "error"  # labels only validation or test has: "error", "drop" those rows, "keep" them as mistakes
    leaked: str = "keep"  # texts both trained on and scored: "keep", or "drop-scored" or "drop-train" those rows
    recipe: str = DEFAULT_RECIPE
    settings: tuple[str, ...] = ()  # "contrast.epochs=4"
    model: str | None = None  # a local folder, a hub id, a run to go on from; None is the default model
    seed: int = 0
    out: Path | None = None
    overwrite: bool = False
    refit: bool = False
    calibrate: bool = True  # probabilities are fitted to validation rows by a temperature
    reject: float = 0.0  # the share of validation rows that may go unanswered; sets how sure an answer must be
    report: bool = True  # pictures, page and card of the run
    keep_phases: bool = False  # the encoder after each phase stays in the run's folder
    checkpoint_minutes: float = 5.0  # between two checkpoints; 0 writes one after every step
    device: str = "auto"
    threads: int | None = None
    precision: str = "auto"
    compile: bool = False  # the Transformer's layers through torch.compile: minutes ahead, less for each step
    track: str | None = None
    data_dir: Path | None = None
    command: str = ""  # how it was called, for the record
    model_name: str | None = None  # what records call the model, where `model` is only where it lies now
