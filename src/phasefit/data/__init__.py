"""Data: from files, frames, lists and named datasets to tables, label spaces and splits.

A newcomer starts at `sources` (whatever the user has -> Table or Dataset), which leans on `readers` (files -> frames),
`tables` (frames and lists -> Table), `columns` (which column is what), `checks` (texts and labels as they must be) and
`named` (cards of known datasets). `labels` codes raw labels; `splits` and `balance` decide which rows are used, and how
often; `batches` in which order; all random choices come from `seeds`. `hygiene` counts what deserves a look: copies,
conflicting labels, near-empty texts; `hashes` makes texts comparable, `copies` keeps equal ones together.

May import `phasefit.errors` and itself, never torch; pandas, pyarrow and datasets only inside functions, so that
`phasefit --help` stays quick.
"""

from phasefit.data.balance import corrected_rows, corrected_sizes, growth
from phasefit.data.hygiene import Hygiene, hygiene
from phasefit.data.io.readers import read_frame, write_frame
from phasefit.data.labels import LABEL_KINDS, LabelSpace, NoLabels, SingleLabels, TreeLabels, label_space
from phasefit.data.named.card import Card
from phasefit.data.named.dataset import Dataset, content_hash
from phasefit.data.named.lookup import named_datasets
from phasefit.data.named.summary import Description, describe
from phasefit.data.sources import read_dataset, read_table
from phasefit.data.splits import Splits, few_shot, sample, split
from phasefit.data.stop_words import stop_words
from phasefit.data.table import Label, Table

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
