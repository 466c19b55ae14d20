"""Options, declared once: an option means the same in every command that has it.

Options whose panel is `.advanced` appear only in `--help-all` of commands with many options (see `help.py`).
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeAlias

import typer

from phasefit.cli.help import Panel

DATA, TRAINING, OUTPUT, MACHINE = Panel("Data"), Panel("Training"), Panel("Output"), Panel("Machine")
FILE_HELP = (
    "A CSV, TSV, JSON, JSONL, Excel or Parquet file, a .txt with one text per line, a dataset name, a pipe, or - for "
    "standard input."
)

# Data

OneText: TypeAlias = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="The text column; by default detected by name.", rich_help_panel=DATA),
]
Text: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="The text column; by default detected by name. Repeat it for pairs (two) or triples (three).",
        metavar="COLUMN",
        rich_help_panel=DATA,
    ),
]
PairText: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="The text column; by default that of the run, or detected by name. Repeat it for pairs.",
        metavar="COLUMN",
        rich_help_panel=DATA,
    ),
]
Label: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        help="The label column; repeat it for the levels of a tree, top level first.",
        metavar="COLUMN",
        rich_help_panel=DATA,
    ),
]
Tree: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Labels are paths of a tree, separated by SEP: with '/', label a/b is b under a.",
        metavar="SEP",
        rich_help_panel=DATA.advanced,
    ),
]


def label_kind(name: str) -> str:
    """The name of a registered label kind, from phasefit or from a plugin."""
    from phasefit.data.labels import LABEL_KINDS

    if name not in LABEL_KINDS:
        raise typer.BadParameter(f"{name!r} is not one of {', '.join(map(repr, LABEL_KINDS))}")
    return name


Kind: TypeAlias = Annotated[
    str | None,
    typer.Option(
        parser=label_kind,
        metavar="KIND",
        help="What labels are: single, multi (several per text), tree or score; by default detected.\f Lists, or names "
        "joined with |, are multi; decimal numbers are scores; whole numbers are classes. Plugins may add kinds.",
        rich_help_panel=DATA,
    ),
]
Separator: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="The separator between several labels in one cell; default: |",
        metavar="SEP",
        rich_help_panel=DATA.advanced,
    ),
]
Levels: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Labels are the levels of a scale, listed from lowest to highest: bad,fair,good. They are learned as "
        "scores.",
        metavar="A,B,C",
        rich_help_panel=DATA.advanced,
    ),
]
Task: TypeAlias = Annotated[
    str | None,
    typer.Option(help="The task to use, for a run with several tasks.", metavar="NAME", rich_help_panel=DATA),
]
Validation: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Validation table; by default split off from DATA.\f It is used to choose the best weights.",
        metavar="FILE",
        rich_help_panel=DATA,
    ),
]
Test: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Test table; by default split off from DATA.", metavar="FILE", rich_help_panel=DATA),
]
OtherValidation: TypeAlias = Annotated[
    str | None,
    typer.Option("--validation", help="A validation table to check as well.", metavar="FILE", rich_help_panel=DATA),
]
OtherTest: TypeAlias = Annotated[
    str | None,
    typer.Option("--test", help="A test table to check as well.", metavar="FILE", rich_help_panel=DATA),
]
Unlabelled: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Texts without labels, for phases such as denoise.\f Up to 32 training rows per class, the default recipe "
        "does not use them.",
        metavar="FILE",
        rich_help_panel=DATA,
    ),
]
ValidationSize: TypeAlias = Annotated[
    float,
    typer.Option(
        help="Share of DATA to split off for validation, stratified by class.",
        min=0,
        max=0.9,
        metavar="SHARE",
        rich_help_panel=DATA.advanced,
    ),
]
TestSize: TypeAlias = Annotated[
    float,
    typer.Option(
        help="Share of DATA to split off for the test, stratified by class; 0: no test.",
        min=0,
        max=0.9,
        metavar="SHARE",
        rich_help_panel=DATA.advanced,
    ),
]
Rows: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Use only N rows of DATA, stratified by class, including the rows split off for validation and test.",
        min=1,
        metavar="N",
        rich_help_panel=DATA.advanced,
    ),
]
ValidationRows: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Use at most N random rows of the validation table, because evaluating on a large one takes long.",
        min=1,
        metavar="N",
        rich_help_panel=DATA.advanced,
    ),
]
TestRows: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Score at most N random rows of the test table.",
        min=1,
        metavar="N",
        rich_help_panel=DATA.advanced,
    ),
]
Classes: TypeAlias = Annotated[
    str | None,
    typer.Option(help="Use only the rows of these classes.", metavar="A,B,C", rich_help_panel=DATA.advanced),
]
TopClasses: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Use only the rows of the N most frequent classes.", min=2, metavar="N", rich_help_panel=DATA.advanced
    ),
]
Fold: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Test on one fold of a cross-validation: 2/5 is the second of five folds of the training rows. The folds "
        "depend on --seed; the validation and test splits of DATA are ignored.",
        metavar="K/N",
        rich_help_panel=DATA.advanced,
    ),
]
Unseen: TypeAlias = Annotated[
    Literal["error", "drop", "keep"],
    typer.Option(
        help="What to do with validation and test rows whose label is not in the training rows; keep counts them as "
        "mistakes.",
        rich_help_panel=DATA.advanced,
    ),
]
UnseenInData: TypeAlias = Annotated[
    Literal["error", "drop", "keep"],
    typer.Option(
        "--unseen",
        help="What to do with rows whose label the run was not trained on; keep counts them as mistakes.",
        rich_help_panel=DATA.advanced,
    ),
]
Leaked: TypeAlias = Annotated[
    Literal["keep", "drop-scored", "drop-train"],
    typer.Option(
        help="What to do with texts that are in the training rows and in the validation or test rows: keep them, drop "
        "the validation and test rows, or drop the training rows. With drop-scored, scores are not comparable with "
        "published results on the same test set.",
        rich_help_panel=DATA.advanced,
    ),
]
Delimiter: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="The mark between the columns of a CSV or TSV file: ';', '|', tab ... By default detected.",
        metavar="MARK",
        rich_help_panel=DATA.advanced,
    ),
]
Encoding: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="The encoding of text files: utf-8, utf-16, windows-1252, latin-1 ... By default detected.",
        metavar="NAME",
        rich_help_panel=DATA.advanced,
    ),
]
Sheet: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="The sheet of an Excel file; by default the first.", metavar="NAME", rich_help_panel=DATA.advanced
    ),
]
Empty: TypeAlias = Annotated[
    Literal["refuse", "drop"],
    typer.Option(
        help="What to do with rows whose text or label is empty: refuse the table, or drop the rows.",
        rich_help_panel=DATA.advanced,
    ),
]
DataDir: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="A folder with named datasets, searched before the folder in PHASEFIT_DATA.",
        metavar="FOLDER",
        rich_help_panel=DATA.advanced,
    ),
]
StdinFormat: TypeAlias = Annotated[
    Literal["lines", "csv", "tsv", "jsonl"],
    typer.Option(help="The format of standard input or a pipe: one text per line, or a table.", rich_help_panel=DATA),
]
Split: TypeAlias = Annotated[
    str,
    typer.Option(
        help="The split of a named dataset to use: train, validation or test.", metavar="NAME", rich_help_panel=DATA
    ),
]

# Training

Recipe: TypeAlias = Annotated[
    str,
    typer.Option(
        "--recipe",
        "-r",
        help="A name from 'phasefit recipes', a TOML file, or auto, which tries several.\f Default: label-names "
        "up to 256 training rows per class if the class names help, few-shot up to 32, one-phase for more; finetune "
        "for pairs and scores, multitask for task files.",
        metavar="NAME",
        show_default=False,
        rich_help_panel=TRAINING,
    ),
]
OneRecipe: TypeAlias = Annotated[
    str,
    typer.Option(
        "--recipe",
        "-r",
        help="A name from 'phasefit recipes', or a TOML file.",
        metavar="NAME",
        rich_help_panel=TRAINING,
    ),
]
Minutes: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help="Time limit of --recipe auto; default: 10.\f It includes training the chosen recipe.",
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
        help="Change a recipe option, e.g. contrast.epochs=4.\f Repeat it for more.",
        metavar="NAME=VALUE",
        rich_help_panel=TRAINING,
    ),
]
Epochs: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help="Epochs of the fine-tuning phase, or of the only phase.\f The same as --set finetune.epochs=N; other "
        "phases keep theirs.",
        min=0,
        metavar="N",
        rich_help_panel=TRAINING,
    ),
]
Lr: TypeAlias = Annotated[
    float | None,
    typer.Option(
        help="Learning rate of that phase.\f The same as --set finetune.lr=RATE.",
        min=0,
        metavar="RATE",
        rich_help_panel=TRAINING,
    ),
]
TrainBatchSize: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Texts per batch in that phase.\f The same as --set finetune.batch_size=N.",
        min=2,
        metavar="N",
        rich_help_panel=TRAINING,
    ),
]
Model: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--model",
        "-m",
        help="The encoder to start from: a folder, a hub id, a run or hub:owner/name; default: all-MiniLM-L6-v2.",
        metavar="MODEL",
        rich_help_panel=TRAINING,
    ),
]
Seed: TypeAlias = Annotated[
    int,
    typer.Option(
        help="The random seed.\f The same seed and --threads give the same run.",
        min=0,
        metavar="N",
        rich_help_panel=TRAINING,
    ),
]
Effort: TypeAlias = Annotated[
    int,
    typer.Option(
        help="How much training to spend, 1 to 5.\f 3 is the recipe as it is. Recipes state what their efforts change "
        "('phasefit recipes show few-shot').",
        metavar="N",
        rich_help_panel=TRAINING,
    ),
]
Refit: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--refit",
        help="After the test, train again on all rows.\f It uses the number of steps that was best on validation.",
        rich_help_panel=TRAINING,
    ),
]
Long: TypeAlias = Annotated[
    Literal["truncate", "head-tail", "windows"] | None,
    typer.Option(
        help="What to do with texts that are too long for the model: truncate them, keep their start and end, or read "
        "all of them in windows and pool the results (slower). Default: truncate, or the choice of the run in --model.",
        rich_help_panel=TRAINING.advanced,
    ),
]
Calibrate: TypeAlias = Annotated[
    bool,
    typer.Option(
        help="Calibrate the probabilities on the validation rows (temperature scaling).",
        rich_help_panel=TRAINING.advanced,
    ),
]
Reject: TypeAlias = Annotated[
    float,
    typer.Option(
        help="Leave uncertain predictions empty; the threshold is set so that this share of the validation rows is "
        "empty. The run stores the threshold.",
        min=0,
        max=0.9,
        metavar="SHARE",
        rich_help_panel=TRAINING.advanced,
    ),
]
Baselines: TypeAlias = Annotated[
    bool,
    typer.Option(
        help="After training, score TF-IDF and the frozen encoder on the same split; takes seconds, large tables are "
        "sampled.",
        rich_help_panel=TRAINING.advanced,
    ),
]
KeepPhases: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--keep-phases",
        help="Save the encoder after each phase in RUN/phases, for 'phasefit geometry' or --model.",
        rich_help_panel=TRAINING.advanced,
    ),
]
Plan: TypeAlias = Annotated[
    bool,
    typer.Option("--plan", help="Show the steps and the estimated time, do not train.", rich_help_panel=TRAINING),
]

Resume: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="Resume a stopped run.\f The result matches an uninterrupted run.", metavar="RUN", rich_help_panel=TRAINING
    ),
]
CheckpointMinutes: TypeAlias = Annotated[
    float,
    typer.Option(
        help="Minutes between checkpoints within a phase, in addition to the one after each phase; 0: every step.",
        min=0,
        metavar="N",
        rich_help_panel=TRAINING.advanced,
    ),
]

# Studies

Seeds: TypeAlias = Annotated[
    int,
    typer.Option(
        help="The number of seeds (0, 1, 2 ...); each has its own sample, split and training.",
        min=1,
        metavar="N",
        rich_help_panel=TRAINING,
    ),
]
Folds: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Cross-validate with N folds of the training rows per seed, instead of the test split.",
        min=2,
        metavar="N",
        rich_help_panel=TRAINING,
    ),
]
Score: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="The metric to compare, as named in metrics.json, e.g. test.macro_f1; default: accuracy, micro F1 for "
        "several labels, Pearson correlation for scores.",
        metavar="METRIC",
        rich_help_panel=TRAINING,
    ),
]
Jobs: TypeAlias = Annotated[
    int,
    typer.Option(
        help="Runs at the same time, each in its own process; they share the cores unless --threads is given.\f The "
        "thread count is part of a run's identity: if you change --jobs, repeat the earlier --threads.",
        min=1,
        metavar="N",
        rich_help_panel=MACHINE,
    ),
]
StudyEngine: TypeAlias = Annotated[
    str,
    typer.Option(
        "--engine",
        help="Where runs are executed: local, local:N (the same as --jobs N), or ray for a Ray cluster, new on this "
        "machine or at HOST:PORT, which then also uses one thread per run unless --threads is given.",
        metavar="local[:N]|ray[:ADDRESS]",
        rich_help_panel=MACHINE.advanced,
    ),
]
KeepRuns: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--keep-runs",
        help="Keep the model of every run (about 90 MB each), not only its metrics; finished runs without a model are "
        "trained again.",
        rich_help_panel=OUTPUT.advanced,
    ),
]
StudyOut: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="The folder of the study; its runs are then not shared with other studies. Default: studies/NAME, then "
        "studies/NAME-2 ...",
        metavar="FOLDER",
        rich_help_panel=OUTPUT,
    ),
]

LedgerFolder: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--ledger",
        help="A folder that collects the results of runs as small files without weights: runs in it are not repeated, "
        "finished ones are added. Copy, commit or merge it to produce one study on several machines and days.",
        metavar="DIR",
        rich_help_panel=OUTPUT,
    ),
]

# Output

Out: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="Folder of the run; default: runs/NAME, runs/NAME-2 ...",
        metavar="FOLDER",
        rich_help_panel=OUTPUT,
    ),
]
OutFile: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        "--out",
        "-o",
        help="The file to write; its ending sets the format (.gz too). Default: CSV to standard output.",
        metavar="FILE",
        rich_help_panel=OUTPUT,
    ),
]
OutPath: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--out",
        "-o",
        help="The file to write; its ending sets the format (.gz too). Or a folder, ending in /, for one file per "
        "shard. Default: CSV to standard output.",
        metavar="FILE|FOLDER/",
        rich_help_panel=OUTPUT,
    ),
]
OutFormat: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="The format of the files in a folder: csv, jsonl, parquet ... Default: that of the input.",
        metavar="ENDING",
        rich_help_panel=OUTPUT.advanced,
    ),
]
ShardRows: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="Rows per shard; default: 50,000, and fewer if rows are very wide. A shard is held in memory.",
        min=1,
        metavar="N",
        rich_help_panel=MACHINE.advanced,
    ),
]
OnError: TypeAlias = Annotated[
    Literal["fail", "skip"],
    typer.Option(
        help="What to do with rows that cannot be read: stop, or leave them out and list them in a file ending in "
        ".skipped.jsonl.",
        rich_help_panel=DATA.advanced,
    ),
]
Engine: TypeAlias = Annotated[
    str,
    typer.Option(
        help="Where shards are run: local, local:N for N processes with one thread each, or ray for a Ray cluster, new "
        "on this machine or at HOST:PORT.",
        metavar="local[:N]|ray[:ADDRESS]",
        rich_help_panel=MACHINE.advanced,
    ),
]
Overwrite: TypeAlias = Annotated[
    bool, typer.Option("--overwrite", help="Replace existing output.", rich_help_panel=OUTPUT)
]
EscapeFormulas: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--escape-formulas",
        help="Put ' before cells of CSV and TSV that a spreadsheet would run as a formula (starting with =, +, -, @).",
        rich_help_panel=OUTPUT.advanced,
    ),
]
Push: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Push the finished run to the Hugging Face hub, as a new private repository.\f 'phasefit push' has more "
        "options.",
        metavar="OWNER/NAME",
        rich_help_panel=OUTPUT,
    ),
]
Track: TypeAlias = Annotated[
    Literal["tensorboard", "wandb", "mlflow"] | None,
    typer.Option(help="Also send losses and scores to an experiment tracker.", rich_help_panel=OUTPUT.advanced),
]
Json: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print JSON instead of tables.", rich_help_panel=OUTPUT.advanced)
]
Quiet: TypeAlias = Annotated[
    bool, typer.Option("--quiet", "-q", help="Print only warnings and results.", rich_help_panel=OUTPUT)
]

# Machine

Device: TypeAlias = Annotated[
    str, typer.Option(help="auto, cpu, cuda, cuda:1, mps ...", metavar="DEVICE", rich_help_panel=MACHINE)
]
Threads: TypeAlias = Annotated[
    int | None,
    typer.Option(
        help="CPU threads to use; default: all.",
        min=1,
        max=1024,  # with more than the system can start, torch dies without a message
        metavar="N",
        rich_help_panel=MACHINE,
    ),
]
Precision: TypeAlias = Annotated[
    Literal["auto", "no", "bf16", "fp16"],
    typer.Option(
        help="Mixed precision; auto: bf16 on GPUs that have it. On CPUs with AMX or AVX512-BF16, bf16 is faster.",
        rich_help_panel=MACHINE.advanced,
    ),
]
Compile: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--compile",
        help="Use torch.compile for the Transformer layers. It needs a C++ compiler and time at the start, so it pays "
        "only in long runs; on the CPU of our benchmarks it did not.",
        rich_help_panel=MACHINE.advanced,
    ),
]
BatchSize: TypeAlias = Annotated[
    int,
    typer.Option(help="Texts per batch; use fewer if memory is short.", min=1, metavar="N", rich_help_panel=MACHINE),
]

# Arguments that several commands share

Run: TypeAlias = Annotated[
    str, typer.Argument(metavar="RUN", help="The folder of a run, such as runs/reviews, or hub:owner/name.")
]
InputFile: TypeAlias = Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)]
InputFiles: TypeAlias = Annotated[
    list[str],
    typer.Argument(
        metavar="FILE", help=f"{FILE_HELP} Several files, a quoted pattern such as 'data/*.parquet', or s3://..."
    ),
]
OptionalInputFiles: TypeAlias = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE", help=f"{FILE_HELP} Several files, a quoted pattern such as 'data/*.parquet', or s3://..."
    ),
]
OptionalInputFile: TypeAlias = Annotated[str | None, typer.Argument(metavar="FILE", help=FILE_HELP)]
