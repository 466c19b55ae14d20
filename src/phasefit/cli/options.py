"""Options, declared once: the same name means the same in every command, and its help says when to use it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

DATA, TRAINING, OUTPUT, MACHINE = "Data", "Training", "Output", "Machine"

# Data

OneText: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="The column with the texts; found by its usual names if not given.", rich_help_panel=DATA
    ),
]
Text: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="The column with the texts; found by its usual names if not given. Given twice, the columns of a pair; "
        "three times, those of a triple: anchor, positive, hard negative.",
        metavar="COLUMN",
        rich_help_panel=DATA,
    ),
]
Label: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="The column with the labels; given several times, the levels of a tree, top first.",
        metavar="COLUMN",
        rich_help_panel=DATA,
    ),
]
Tree: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Labels are paths, split at this: with '/', a/b is b under a.", metavar="SEP", rich_help_panel=DATA
    ),
]


def label_kind(name: str) -> str:
    """A kind of labels that is registered, by phasefit or by another package."""
    from phasefit.data.labels import LABEL_KINDS

    if name not in LABEL_KINDS:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(map(repr, LABEL_KINDS))}")
    return name


Kind: TypeAlias = Annotated[
    str | None,
    typer.Option(
        parser=label_kind,
        metavar="KIND",
        help="What labels are: single (one class per text), multi (several), tree (paths of a tree), score (numbers), "
        "or what a plugin adds. Found out if not given: lists, or names joined with |, are several; decimal numbers "
        "are scores; whole numbers are classes.",
        rich_help_panel=DATA,
    ),
]
Separator: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Several labels stand in one cell, with this between them; | if not given.",
        metavar="SEP",
        rich_help_panel=DATA,
    ),
]
Levels: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Labels are levels of a scale, here in order, lowest first: bad,fair,good. They are learned as scores.",
        metavar="A,B,C",
        rich_help_panel=DATA,
    ),
]
Task: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Which task, of a run that was trained on several.", metavar="NAME", rich_help_panel=DATA),
]
Validation: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="A table to choose the best weights on, instead of a split of DATA.", metavar="FILE", rich_help_panel=DATA
    ),
]
Test: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="A table to test on, once, at the end, instead of a split.", metavar="FILE", rich_help_panel=DATA
    ),
]
Unlabelled: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="More texts of the same kind, without labels: phases that need none, such as denoise, learn from them.",
        metavar="FILE",
        rich_help_panel=DATA,
    ),
]
ValidationSize: TypeAlias = Annotated[
    float,
    typer.Option(
        help="Share of DATA split off for validation, each class in proportion (at random without labels).",
        min=0,
        max=0.9,
        metavar="SHARE",
        rich_help_panel=DATA,
    ),
]
TestSize: TypeAlias = Annotated[
    float,
    typer.Option(
        help="Share of DATA split off for the test; 0 for none, as where no classifier is trained.",
        min=0,
        max=0.9,
        metavar="SHARE",
        rich_help_panel=DATA,
    ),
]
Rows: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Use only so many rows of DATA, each class in proportion (at random without labels); what is split off "
        "comes out of them.",
        min=1,
        metavar="N",
        rich_help_panel=DATA,
    ),
]
ValidationRows: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Use only so many of the validation rows that DATA or --validation bring, drawn at random: looking "
        "at a large table takes long.",
        min=1,
        metavar="N",
        rich_help_panel=DATA,
    ),
]
TestRows: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Score only so many of the test rows that DATA or --test bring, drawn at random.",
        min=1,
        metavar="N",
        rich_help_panel=DATA,
    ),
]
Classes: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Use only the rows of these classes.", metavar="A,B,C", rich_help_panel=DATA),
]
TopClasses: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Use only the rows of the so many most frequent classes.", min=2, metavar="N", rich_help_panel=DATA
    ),
]
Fold: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="One fold of a cross-validation: 2/5 tests on the second fifth of DATA's training rows and leaves the "
        "splits it came with alone. --seed deals the folds.",
        metavar="K/N",
        rich_help_panel=DATA,
    ),
]
Unseen: TypeAlias = Annotated[
    Literal["error", "drop", "keep"],
    typer.Option(
        help="Validation or test rows with a label that no training row has: refuse them, leave them out, or count "
        "them as mistakes.",
        rich_help_panel=DATA,
    ),
]
Leaked: TypeAlias = Annotated[
    Literal["keep", "drop-scored", "drop-train"],
    typer.Option(
        help="Texts that are both trained on and scored: keep them, leave out those validation and test rows, or leave "
        "out those training rows. Scores stay comparable with others' on the same test set only with keep or "
        "drop-train.",
        rich_help_panel=DATA,
    ),
]
DataDir: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="Where named datasets are looked for, before the folder in PHASEFIT_DATA.",
        metavar="FOLDER",
        rich_help_panel=DATA,
    ),
]
StdinFormat: TypeAlias = Annotated[
    Literal["lines", "csv", "tsv", "jsonl"],
    typer.Option(help="What comes from standard input: one text a line, or a table.", rich_help_panel=DATA),
]

# Training

Recipe: TypeAlias = Annotated[
    str,
    typer.Option(
        "--recipe",
        "-r",
        help="A name from 'phasefit recipes', a TOML file of your own, or auto, which tries several within --minutes "
        "on the training rows. Where none is given: few-shot for up to 32 training rows per class, three-phase for "
        "more, finetune for pairs and scores, multitask for a task file.",
        rich_help_panel=TRAINING,
    ),
]
DemoRecipe: TypeAlias = Annotated[
    str,
    typer.Option(
        "--recipe", "-r", help="A name from 'phasefit recipes', or a TOML file of your own.", rich_help_panel=TRAINING
    ),
]
Minutes: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help="For --recipe auto: how long it may take to choose a recipe and train it; 10 if not given.",
        min=0,
        metavar="N",
        rich_help_panel=TRAINING,
    ),
]
Settings: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        "-s",
        help="Change one option of the recipe: contrast.epochs=4. Repeat for more.",
        metavar="PHASE.OPTION=VALUE",
        rich_help_panel=TRAINING,
    ),
]
Model: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="The encoder to start from: a folder, a hub id, or a run to go on from; all-MiniLM-L6-v2 if not given.",
        rich_help_panel=TRAINING,
    ),
]
Seed: TypeAlias = Annotated[
    int,
    typer.Option(
        help="The same seed gives the same run, with as many threads.", min=0, metavar="N", rich_help_panel=TRAINING
    ),
]
Refit: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--refit",
        help="After the test, train once more on all rows, for as many steps as proved best.",
        rich_help_panel=TRAINING,
    ),
]
Long: TypeAlias = Annotated[
    Literal["truncate", "head-tail", "windows"] | None,
    typer.Option(
        help="Texts with more tokens than the model takes: cut them, keep their beginning and end, or read all of them "
        "in windows whose states are pooled (slower). truncate if not given, or what the run to go on from does.",
        rich_help_panel=TRAINING,
    ),
]
Calibrate: TypeAlias = Annotated[
    bool,
    typer.Option(
        help="Fit the probabilities to the validation rows by a temperature, so that they mean what they say.",
        rich_help_panel=TRAINING,
    ),
]
Reject: TypeAlias = Annotated[
    float,
    typer.Option(
        help="Let the classifier withhold its answer where it is least sure: on this share of the validation rows. "
        "The probability below which it does is kept with the run; 0: every text is answered.",
        min=0,
        max=0.9,
        metavar="SHARE",
        rich_help_panel=TRAINING,
    ),
]
KeepPhases: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--keep-phases",
        help="Keep the encoder after each phase in RUN/phases, to look at with 'phasefit geometry' or to go on from.",
        rich_help_panel=TRAINING,
    ),
]
Plan: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--plan", help="Say what would be done and how long it would take, then stop.", rich_help_panel=TRAINING
    ),
]

Resume: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="Go on with a run that was stopped or killed, from its folder alone; it ends as if it never had been.",
        metavar="RUN",
        rich_help_panel=TRAINING,
    ),
]
CheckpointMinutes: TypeAlias = Annotated[
    float,
    typer.Option(
        help="Minutes between two checkpoints inside a phase (one is written after each phase anyway); 0: every step.",
        min=0,
        metavar="MINUTES",
        rich_help_panel=TRAINING,
    ),
]

# Studies

Seeds: TypeAlias = Annotated[
    int,
    typer.Option(
        help="So many seeds, from 0 on; each draws its own split, sample and training.",
        min=1,
        metavar="N",
        rich_help_panel=TRAINING,
    ),
]
Folds: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Cross-validate: so many folds of the training rows for each seed, in place of the test split.",
        min=2,
        metavar="N",
        rich_help_panel=TRAINING,
    ),
]
Score: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="What to compare by, as metrics.json has it: test.macro_f1, test.ece ... If not given: accuracy, micro F1 "
        "of several labels, Pearson's correlation of scores.",
        metavar="PATH",
        rich_help_panel=TRAINING,
    ),
]
Jobs: TypeAlias = Annotated[
    int,
    typer.Option(
        help="So many runs at the same time, each in a process of its own; the cores are shared out between them "
        "unless --threads says how many each may use. Runs with other --threads are other runs.",
        min=1,
        metavar="N",
        rich_help_panel=MACHINE,
    ),
]
KeepRuns: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--keep-runs",
        help="Keep the model of every run, not only its metrics (some 90 MB each); runs whose models are gone are "
        "trained again.",
        rich_help_panel=OUTPUT,
    ),
]
StudyOut: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="The folder of the study, with cells of its own; if not given studies/NAME, then studies/NAME-2 ..., "
        "which share their cells.",
        metavar="FOLDER",
        rich_help_panel=OUTPUT,
    ),
]

# Output

Out: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="The folder of the run; if not given runs/NAME, then runs/NAME-2 ...",
        metavar="FOLDER",
        rich_help_panel=OUTPUT,
    ),
]
OutFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="The file to write, in the format of its ending (.gz too); CSV to standard output if not given.",
        metavar="FILE",
        rich_help_panel=OUTPUT,
    ),
]
Overwrite: TypeAlias = Annotated[
    bool, typer.Option("--overwrite", help="Replace what is already there.", rich_help_panel=OUTPUT)
]
Track: TypeAlias = Annotated[
    Literal["tensorboard", "wandb", "mlflow"] | None,
    typer.Option(help="Send losses and scores to a tracker too.", rich_help_panel=OUTPUT),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.", rich_help_panel=OUTPUT)]
Quiet: TypeAlias = Annotated[
    bool, typer.Option("--quiet", "-q", help="No progress: only warnings and the result.", rich_help_panel=OUTPUT)
]

# Machine

Device: TypeAlias = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1, mps ...", rich_help_panel=MACHINE)]
Threads: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="CPU threads to use; all if not given.",
        min=1,
        max=1024,  # torch dies without a word where the system cannot start so many
        metavar="N",
        rich_help_panel=MACHINE,
    ),
]
Precision: TypeAlias = Annotated[
    Literal["auto", "no", "bf16", "fp16"],
    typer.Option(help="Mixed precision; auto uses it where the device is faster with it.", rich_help_panel=MACHINE),
]
Compile: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--compile",
        help="Run the Transformer's layers through torch.compile: needs a C++ compiler and time at the start. For long "
        "runs, where it pays: it did not on the CPU of our benchmarks.",
        rich_help_panel=MACHINE,
    ),
]
BatchSize: TypeAlias = Annotated[
    int, typer.Option(help="Texts per batch: less if memory is short.", min=1, metavar="N", rich_help_panel=MACHINE)
]

# Arguments that several commands share

Run: TypeAlias = Annotated[str, typer.Argument(metavar="RUN", help="The folder of a run, such as runs/reviews.")]
