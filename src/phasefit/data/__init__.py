"""Data: from files, frames, lists and named datasets to tables, label spaces and splits.

A newcomer starts at `sources` (whatever the user has -> Table or Dataset), which leans on `io/frames` (files ->
frames), `table_reading` (frames and lists -> Table), `columns` (which column is what), `checks` (texts and labels as
they must be) and `named/` (cards of known datasets). `labels/` codes raw labels and has the registry of label kinds;
`splits` and `balance` decide which rows are used, and how often; `batches/` in which order. `hygiene` counts what
deserves a look: copies, conflicting labels, near-empty texts; `equal_texts` compares texts. `task_file` reads several
tables as tasks; `positives` knows which labelled pairs belong together.

May import errors, seeds and registry, never torch; pandas, pyarrow and datasets only inside functions, so that
`phasefit --help` stays quick.
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
