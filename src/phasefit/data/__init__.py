"""Data: from files, frames, lists and named datasets to tables, label spaces and splits.

Start reading at `sources` (any input -> Table or Dataset). It uses `io/frames` (files -> frames), `table_reading`
(frames and lists -> Table), `columns` (detects text and label columns), `checks` (validates texts and labels) and
`named/` (cards of named datasets). `labels/` encodes raw labels and holds the registry of label kinds. `splits` and
`balance` choose rows and how often each is used; `batches/` chooses their order. `hygiene` counts duplicates,
conflicting labels and near-empty texts; `equal_texts` compares texts. `task_file` reads several tables as tasks;
`positives` selects the labelled pairs whose texts belong together.

May import errors, seeds and registry, never torch. Imports pandas, pyarrow and datasets only inside functions, so that
`phasefit --help` stays fast.
"""

from phasefit.data.balance import corrected_rows, corrected_sizes, growth
from phasefit.data.hygiene import Hygiene, hygiene
from phasefit.data.io.frames import read_frame, write_frame
from phasefit.data.labels import LABEL_KINDS, LabelSpace, NoLabels, SingleLabels, TreeLabels, label_space
from phasefit.data.named.cards import Card, named_datasets
from phasefit.data.named.summary import Description, describe
from phasefit.data.sources import read_dataset, read_table
from phasefit.data.splits import Splits, few_shot, sample, split
from phasefit.data.stop_words import stop_words
from phasefit.data.table import Dataset, Label, Table, content_hash

__all__ = [
    "LABEL_KINDS",
    "Card",
    "Dataset",
    "Description",
    "Hygiene",
    "Label",
    "LabelSpace",
    "NoLabels",
    "SingleLabels",
    "Splits",
    "Table",
    "TreeLabels",
    "content_hash",
    "corrected_rows",
    "corrected_sizes",
    "describe",
    "few_shot",
    "growth",
    "hygiene",
    "label_space",
    "named_datasets",
    "read_dataset",
    "read_frame",
    "read_table",
    "sample",
    "split",
    "stop_words",
    "write_frame",
]
