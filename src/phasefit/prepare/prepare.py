"""From a specification to rows: read tables, encode labels, split, before anything is trained. Imports no torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import chain
from typing import Any

import numpy as np

from phasefit.data.columns import Columns, NoLabelsError, PairsError, as_names
from phasefit.data.hygiene import Hygiene, hygiene
from phasefit.data.io.dialect import Dialects, checked_dialect
from phasefit.data.io.frames import free_unused
from phasefit.data.labels import LabelSpace
from phasefit.data.sources import read_dataset, read_table
from phasefit.data.table import Dataset, Table, content_hash
from phasefit.data.task_file import TaskFile, is_task_file
from phasefit.errors import DataError
from phasefit.events import Note
from phasefit.kinds import kind_of
from phasefit.prepare.base import Base
from phasefit.prepare.folds import held_out_fold, keep_classes
from phasefit.prepare.leaks import without_leaks, without_scored
from phasefit.prepare.notes import (
    class_notes,
    columns_note,
    data_notes,
    leak_notes,
    number_notes,
    path_note,
    small_split_notes,
)
from phasefit.prepare.source_facts import SourceFacts
from phasefit.prepare.specification import DataSpec, SplitSpec
from phasefit.prepare.splitting import known_only, note_known, sampled, space_of, split_off, subsample
from phasefit.prepare.unused_labels import drop_unused_labels, known_space
from phasefit.recipes.needs import Needs

LABELS = Needs()
SINGLE = "single"  # the kind whose labels may be paths that were not recognised
OTHER_USE = {
    NoLabelsError: "or learn from the texts alone with --recipe simcse",
    PairsError: "or learn from labelled pairs with --recipe finetune (with an auxiliary objective, add --set "
    "finetune.pair=together), from unlabelled pairs with --recipe mnr",
}


@dataclass(frozen=True)
class Prepared:
    """The tables of a run after splitting, the label space, and notes about them."""

    name: str
    space: LabelSpace
    train: Table
    validation: Table | None
    test: Table | None
    unlabelled: Table | None
    sha256: str
    hygiene: Hygiene
    notes: list[str] = field(default_factory=list)
    columns: dict[str, object] | None = None  # text and label columns, to read similar tables later
    serious: tuple[str, ...] = ()  # notes that are warnings, besides those computed from the data
    tasks: Mapping[str, Prepared] = field(default_factory=dict)  # of a task file; `train` is then for phases before
    before: bool = False  # whether `train` comes from the [before] table or from the tasks' texts
    file: TaskFile | None = None
    source: SourceFacts = field(default_factory=SourceFacts)

    def report(self, listen: Callable[[Note], None]) -> None:
        """Send all notes; those about misleading or meaningless scores are warnings."""
        for note in self.notes:
            listen(Note(note, warning=note in self.warnings))

    @property
    def warnings(self) -> list[str]:
        """The notes that are warnings."""
        return [*self.serious, *leak_notes(self.hygiene), *class_notes(self.space.names, len(self.train))]

    @property
    def texts_of_pairs(self) -> Iterator[str]:
        """Every single training text of pairs and triples, of all tasks."""
        return chain(*(table.all_texts for table in self.trained_tables if table.others))

    @property
    def trained_tables(self) -> list[Table]:
        """Every training table, of all tasks."""
        return [self.train, *(task.train for task in self.tasks.values())]

    def codes(self, table: Table | None) -> np.ndarray:
        """Class codes of a table of this run; -1 where it has no labels."""
        if table is None or table.labels is None:
            return np.full(len(table or ()), -1, dtype=np.int64)
        return self.space.encode(table.labels, where=table.name)

    def values(self, table: Table | None) -> np.ndarray:
        """The labels of a table as losses and metrics use them."""
        if table is None or table.labels is None:
            return self.space.none(len(table or ()))
        return self.space.values(table.labels, where=table.name)

    def facts(self) -> dict[str, object]:
        """Sizes and columns for the manifest."""
        if self.tasks:
            each = {name: task.facts() for name, task in self.tasks.items()}
            before = {"before": len(self.train)} if self.before else {}
            return {"data": self.name, **before, "kind": "tasks", "tasks": each, "sha256": self.sha256}
        sizes = {
            part: len(table)
            for part in ("train", "validation", "test", "unlabelled")
            if (table := getattr(self, part)) is not None
        }
        return {
            "data": self.name,
            "rows": sizes,
            **({"classes": len(self.space)} if len(self.space) else {}),
            **({} if self.train.labels is None else {"kind": self.space.kind}),
            **self._imbalance(),
            "sha256": self.sha256,
            **({} if self.columns is None else {"columns": self.columns}),
            **({"dropped": dict(self.source.dropped)} if self.source.dropped else {}),
        }

    @property
    def source_notes(self) -> list[str]:
        """What was assumed about the files of all tables, and how many of their rows were left out."""
        tasks = [f"{name}: {note}" for name, task in self.tasks.items() for note in task.source.notes]
        return [*self.source.notes, *tasks]

    @property
    def read_as(self) -> dict[str, dict[str, str]]:
        """How the files of all tables were read, by path."""
        tasks = [task.read_as for task in self.tasks.values()]
        return {path: how for one in (*tasks, self.source.read_as) for path, how in one.items()}

    def _imbalance(self) -> dict[str, float]:
        if self.train.labels is None:
            return {}
        counts = kind_of(self.space).class_sizes(self.space, self.values(self.train))
        if counts is None:
            return {}
        return {"imbalance": round(float(counts.max() / max(counts[counts > 0].min(), 1)), 2)}


def prepare(
    data: DataSpec, split: SplitSpec, *, seed: int = 0, base: Base | None = None, needs: Needs = LABELS
) -> Prepared:
    """Read and split. `base` is a run to continue from: its classes stay, its training texts are not scored.

    `needs` is what the recipe requires of every row; default: a label.
    """
    if needs.tasks:
        from phasefit.prepare.tasks import prepare_tasks

        return prepare_tasks(data, split, seed, needs, base)
    if is_task_file(data.source):
        raise DataError(f"{data.source} is a task file; train it with --recipe multitask")
    data = _like_base(data, base)
    dataset = _read(data, needs, None if base is None else base.columns)
    train, validation, test, unlabelled = dataset.train, dataset.validation, dataset.test, dataset.unlabelled
    free_unused()  # the frames are no longer needed: free them before rows are copied
    source = SourceFacts.of({"train": train, "validation": validation, "test": test, "unlabelled": unlabelled})

    notes: list[str] = []
    serious: list[str] = []
    continues = base is not None and base.space is not None
    scores = needs.labels or continues  # whether the run has a classifier
    if test is not None and test.labels is None and (scores or data.test is not None):
        notes.append(f"{test.name} has no labels and is not scored; pass it with --unlabelled to learn from its texts")
        test = None
    if needs.labels and validation is not None and validation.labels is None:
        notes.append(f"{validation.name} has no labels and is ignored; validation rows are split off train instead")
        validation = None
    if not needs.labels:
        classifier_run = base if continues else None
        train, validation, test = drop_unused_labels(train, validation, test, classifier_run, notes, serious)
        if not continues or train.labels is None:
            split = replace(split, test_size=0.0)  # there is nothing to score
    old = None if base is None else base.space
    train, validation, test = keep_classes(train, validation, test, split, notes)
    train = sampled(train, split.rows, seed, old, notes)
    validation = subsample(validation, split.validation_rows, seed, "validation", notes)
    test = subsample(test, split.test_rows, seed, "test", notes)
    if split.fold is not None:
        train, validation, test = held_out_fold(train, split.fold, seed, base, notes)
    train, validation, test = split_off(train, validation, test, split, seed, base, notes)
    train, validation, test = without_leaks(train, validation, test, split, base, notes)
    space = known_space(base) if train.labels is None else space_of(train, old)
    if base is not None and base.space is not None:
        new = [name for name in space.names if name not in base.space.names]
        added = f"{len(new)} new: {', '.join(new[:10])}" if new else "none new"
        kept = f"{len(base.space)} known classes, {added}" if kind_of(space).has_classes else "same scale of scores"
        notes.append(f"continuing from {base.name}: {kept}")
    if train.labels is not None:
        notes += [kind_of(space).note(space, train.labels), *class_notes(space.names, len(train))]
        validation = known_only(validation, space, "error" if split.unseen == "error" else "drop", notes)
    test = known_only(test, space, split.unseen, notes)
    unlabelled = without_scored(unlabelled, [validation, test], notes)
    if not split.score_test:
        test = None  # neither trained on nor scored
    note_known({"validation": validation, "test": test}, base, notes)
    serious += number_notes(train)
    if train.labels is not None:
        kind = kind_of(space)
        notes += path_note(space.names) if kind.name == SINGLE else []
        serious += small_split_notes(validation, test, kind.has_classes)
    data_check = hygiene({"train": train, "validation": validation, "test": test, "unlabelled": unlabelled})
    return Prepared(
        dataset.name,
        space,
        train,
        validation,
        test,
        unlabelled,
        dataset.sha256,
        data_check,
        [
            *source.notes,
            *columns_note(train),
            *data_notes(data_check, train.labels is not None),
            *notes,
            *serious,
        ],
        _about_columns(train, data),
        tuple(serious),
        source=source,
    )


def _like_base(data: DataSpec, base: Base | None) -> DataSpec:
    """By default, read labels as the base run did: a few rows may not show their kind."""
    own = {} if base is None else base.reading
    is_specified = data.levels or data.tree or data.separator or len(as_names(data.label)) > 1
    if not own or is_specified or data.kind not in (None, own["kind"]):
        return data
    return replace(data, **own)


def _read(data: DataSpec, needs: Needs, usual: Columns | None) -> Dataset:
    """All tables, without unused columns; `usual` are the columns of the base run."""
    options: dict[str, Any] = {
        "text": data.text,
        "label": data.label,
        "kind": data.kind,
        "tree": data.tree,
        "separator": data.separator,
        "levels": data.levels,
        "data_dir": data.data_dir,
        "need_labels": needs.labels,
        "sides": needs.sides,
        "usual": usual,
        "delimiter": data.delimiter,
        "encoding": data.encoding,
        "sheet": data.sheet,
        "read_as": data.read_as,
        "empty": data.empty,
        "check_used": False,  # an option may apply to one of several files
        "store": True,
    }
    try:
        dataset = read_dataset(data.source, **options)
    except (NoLabelsError, PairsError) as error:
        raise type(error)(f"{error}, {OTHER_USE[type(error)]}") from error
    validation, test, unlabelled = dataset.validation, dataset.test, dataset.unlabelled
    if dataset.train.labels is not None and not (data.tree or data.separator or data.levels):
        options["kind"] = data.kind or dataset.train.label_kind  # a few rows may not show it
    if data.validation is not None:
        validation = read_table(data.validation, split="validation", what="validation", **options)
    if data.test is not None:
        test = read_table(data.test, split="test", what="test", **options)
    if data.unlabelled is not None:
        one = data.text if len(as_names(data.text)) == 1 else ()  # the columns of a pair are detected again
        more = {**options, "text": one, "label": (), "need_labels": False, "sides": "each"}
        more |= {"kind": None, "tree": None, "separator": None, "levels": ()}
        unlabelled = read_table(data.unlabelled, what="unlabelled", **more)
    tables = [table for table in (dataset.train, validation, test, unlabelled) if table is not None]
    dialects = Dialects(checked_dialect(data.delimiter, data.encoding, data.sheet))
    dialects.check_used([table.file for table in tables], dataset.name)
    sha256 = dataset.sha256
    if any(table is not None for table in (data.validation, data.test, data.unlabelled)):
        sha256 = content_hash([dataset.train, validation, test, unlabelled])
    return Dataset(
        dataset.name,
        replace(dataset.train, frame=None),
        _bare(validation),
        _bare(test),
        _bare(unlabelled),
        sha256=sha256,
    )


def _about_columns(train: Table, data: DataSpec) -> dict[str, object] | None:
    """The text and label columns; ignored labels are not listed."""
    if train.columns is None:
        return None
    about = asdict(train.columns) | ({} if train.labels is not None else {"labels": ()})
    about |= {"tree": data.tree, "separator": data.separator, "levels": data.levels}
    return {name: value for name, value in about.items() if value}


def _bare(table: Table | None) -> Table | None:
    return None if table is None else replace(table, frame=None)
