"""Notes about the data before training: one line for a clean table, one more for each thing worth checking."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from phasefit.data.equal_texts import normal_form
from phasefit.data.hygiene import NEAR_EMPTY, Conflict, Hygiene
from phasefit.data.table import Table

NUMBERS = {1: "one row", 2: "two rows", 3: "three rows"}
SHOWN = 60  # characters of a text in a note
FEW_ROWS = {"validation": 10, "test": 20}  # with 20 rows, the standard error of an accuracy of 80 % is 9 points
LONGEST_NUMBER = 30
_NUMBER = re.compile(r"[+-]?[$€£]?\s?(\d+([.,]\d+)*|\.\d+)([eE][+-]?\d+)?\s?%?")


def data_notes(hygiene: Hygiene, labels: bool = True) -> list[str]:
    """Notes about a run's tables. `labels` is False if pairs are learned with in-batch negatives instead of labels."""
    candidates = [
        _repeated(hygiene),
        _conflicting(hygiene),
        _near_empty(hygiene),
        *_pairs(hygiene, labels),
        *leak_notes(hygiene),
        _missing(hygiene),
    ]
    notes = [note for note in candidates if note]
    labelled = any(part.classes is not None for part in hygiene.parts.values())
    repeated = "rows" if _of_pairs(hygiene) else "texts"
    clean = "" if any(candidates[:2]) else f"; no repeated {repeated}" + (", no conflicting labels" if labelled else "")
    return [_headline(hygiene) + clean, *notes]


def few_rows_note(codes: np.ndarray, validation: np.ndarray, test: np.ndarray) -> str:
    """How classes with one, two or three rows were split; empty if there are none."""
    sizes = np.bincount(codes)
    groups = []
    for size, name in NUMBERS.items():
        count = int((sizes == size).sum())
        if not count:
            continue
        held = {
            part: int((sizes[codes[rows]] == size).sum()) for part, rows in (("validation", validation), ("test", test))
        }
        where = shares_of({"train": count * size - sum(held.values()), **held})
        groups.append(f"{count:,} with {name} ({'in train only, never scored' if size == 1 else where})")
    return f"classes with few rows: {'; '.join(groups)}" if groups else ""


def columns_note(table: Table) -> list[str]:
    """The columns that are used: they may have been detected."""
    columns = table.columns
    if columns is None:
        return []
    texts = f"text '{columns.text}'"
    if columns.others:
        how = ("used separately", "one pair per row", "one triple per row")[len(table.others)]
        texts = f"texts {_listed(columns.texts)} ({how})"
    return [f"columns: {texts}" + (f", label {_listed(columns.labels)}" if table.labels is not None else "")]


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def class_notes(classes: Sequence[str], rows: int) -> list[str]:
    """Warnings about the classes themselves; such problems make every score meaningless."""
    alike, notes = similar_names(classes), []
    if alike:
        notes.append(f"some classes differ only in case or white space: {alike}; merge them if they mean the same")
    if len(classes) > rows / 2 and rows >= 20:
        notes.append(
            f"there are {len(classes):,} classes for {rows:,} training rows; check that --label names the right column"
        )
    return notes


def small_split_notes(validation: Table | None, test: Table | None, has_classes: bool) -> list[str]:
    """Warnings about splits whose scores are mostly chance."""
    notes = []
    for name, table in (("validation", validation), ("test", test)):
        if table is None or table.labels is None or not 0 < len(table) < FEW_ROWS[name]:
            continue
        rows = len(table)
        each = f" (one row is {100 / rows:.0f} % of the accuracy)" if has_classes and rows > 1 else ""
        only = f"only {rows} {name} row{'s' * (rows > 1)}{each}"
        if name == "validation":
            notes.append(f"{only}: which weights are best is mostly chance; label more rows if you can")
        else:
            notes.append(
                f"{only}: the test score says {'little' if rows > 1 else 'nothing'} about new texts; label more rows, "
                "or cross-validate with: phasefit compare DATA --folds 5"
            )
    return notes


def number_notes(table: Table) -> list[str]:
    """A warning if most texts of a column are numbers: it is probably not the text column."""
    names = table.columns.texts if table.columns is not None else ("text",) * len(table.sides)
    notes = []
    for name, side in zip(names, table.sides, strict=False):
        numbers = sum(map(is_number, side))
        if numbers * 2 > len(side):
            notes.append(
                f"{numbers:,} of the {len(side):,} training texts in column '{name}' are numbers; check that --text "
                "names the right column"
            )
    return notes


def is_number(text: str) -> bool:
    """Whether a text is a number, such as 12, 3.5, 1,000 or 50 %."""
    return len(text) <= LONGEST_NUMBER and _NUMBER.fullmatch(text.strip()) is not None


def path_note(classes: Sequence[str]) -> list[str]:
    """A hint if class names look like paths of a tree: most have a separator, and some share their first part."""
    for mark in (">", "/"):
        paths = [[part.strip() for part in name.split(mark)] for name in classes if "://" not in name]
        paths = [parts for parts in paths if len(parts) > 1 and all(parts)]
        if len(paths) * 2 > len(classes) and len({parts[0] for parts in paths}) < len(paths):
            example = next(name for name in classes if mark in name and "://" not in name)
            shown = "/" if mark == "/" else "'>'"
            return [f"the labels look like paths of a tree, e.g. '{example}'; to learn their levels use --tree {shown}"]
    return []


def similar_names(classes: Iterable[str]) -> str:
    """The first few groups of class names that differ only in case or white space; empty if there are none."""
    groups: dict[str, list[str]] = {}
    for name in classes:
        groups.setdefault(normal_form(name), []).append(name)
    alike = [" and ".join(repr(name) for name in group) for group in groups.values() if len(group) > 1]
    return "; ".join(alike[:3]) + (f" and {len(alike) - 3} more" if len(alike) > 3 else "")


def shares_of(rows: dict[str, int]) -> str:
    """`3 in train, 1 in test`: the parts with a count above zero."""
    return ", ".join(f"{count:,} in {part}" for part, count in rows.items() if count)


def conflict_text(conflict: Conflict) -> str:
    """One conflict as text."""
    text = conflict.text if len(conflict.text) <= SHOWN else conflict.text[: SHOWN - 1] + "…"
    labelled_rows = zip(conflict.labels, conflict.rows, strict=True)
    return f"'{text}' is " + ", ".join(f"'{label}' in row {row:,}" for label, row in labelled_rows)


def _headline(hygiene: Hygiene) -> str:
    rows = {name: part.rows for name, part in hygiene.parts.items() if name != "unlabelled"}
    split = f" ({', '.join(f'{count:,} {name}' for name, count in rows.items())})" if len(rows) > 1 else ""
    counts = [f"{sum(rows.values()):,} rows{split}"]
    train = hygiene.parts["train"].classes
    if train is not None:
        counts.append(f"{len(train.sizes):,} classes ({_span(train.sizes.values())} training rows each)")
    words = [part.words for part in hygiene.parts.values()]
    counts.append(f"{_span([length.least for length in words] + [length.most for length in words])} words per text")
    return f"data: {', '.join(counts)}"


def _span(values: Iterable[int]) -> str:
    numbers = list(values)
    least, most = min(numbers), max(numbers)
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def _repeated(hygiene: Hygiene) -> str:
    where = shares_of({name: part.repeated for name, part in hygiene.parts.items()})
    what = "an earlier row" if _of_pairs(hygiene) else "the text of an earlier row"
    return f"{_count(hygiene.repeated, 'row repeats', 'rows repeat')} {what} ({where})" if where else ""


def _of_pairs(hygiene: Hygiene) -> bool:
    return any(part.pairs for part in hygiene.parts.values())


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"


def _pairs(hygiene: Hygiene, labelled: bool) -> list[str]:
    """Notes about pairs and triples that teach little, or the wrong thing."""
    parts = {name: part.pairs for name, part in hygiene.parts.items() if part.pairs is not None}
    notes = []
    alike = {name: of.alike for name, of in parts.items()}
    if any(alike.values()):
        name, of = next((name, of) for name, of in parts.items() if of.alike)
        rows = f"{name} row{'s' * (of.alike > 1)} {', '.join(f'{row:,}' for row in of.alike_rows[:3])}"
        many = _count(sum(alike.values()), "row has", "rows have")
        notes.append(f"{many} the same text twice ({shares_of(alike)}), e.g. {rows}")
    for which, attribute in (("first", "shared_anchors"), ("second", "shared_partners")):
        shared = {name: getattr(of, attribute) for name, of in parts.items()}
        if any(shared.values()):
            notes.append(
                f"{sum(shared.values()):,} rows share their {which} text with another row ({shares_of(shared)})"
                + ("" if labelled else "; within a batch they count as each other's negatives")
            )
    return notes


def _conflicting(hygiene: Hygiene) -> str:
    texts = {name: part.conflicting_texts for name, part in hygiene.parts.items()}
    if not any(texts.values()):
        return ""
    rows = sum(part.conflicting_rows for part in hygiene.parts.values())
    name, part = next((name, part) for name, part in hygiene.parts.items() if part.conflicts)
    many = f"{sum(texts.values()):,} texts have" if sum(texts.values()) > 1 else "1 text has"
    first = f"{name}: {conflict_text(part.conflicts[0])}"
    return f"{many} conflicting labels in {rows:,} rows ({shares_of(texts)}), e.g. {first}"


def _near_empty(hygiene: Hygiene) -> str:
    where = shares_of({name: part.near_empty for name, part in hygiene.parts.items()})
    if not where:
        return ""
    name, part = next((name, part) for name, part in hygiene.parts.items() if part.near_empty)
    rows = ", ".join(f"{row:,}" for row in part.near_empty_rows[:3])
    return f"near-empty texts ({NEAR_EMPTY}): {where}, e.g. {name} row{'s' * (part.near_empty > 1)} {rows}"


def leak_notes(hygiene: Hygiene) -> list[str]:
    """Warnings about texts on both sides of a split: they make scores too optimistic."""
    notes = []
    for overlap in hygiene.overlaps:
        if not overlap.rows:
            continue
        other = "training" if overlap.other == "train" else overlap.other
        note = (
            f"{overlap.rows:,} of the {hygiene.parts[overlap.part].rows:,} {overlap.part} texts are also {other} texts"
        )
        if overlap.other_label:
            note += f", {overlap.other_label:,} of them with a different label"
        if overlap.other == "train":
            note += "; drop them with --leaked drop-scored or --leaked drop-train"
        notes.append(note)
    return notes


def _missing(hygiene: Hygiene) -> str:
    scored = {name: part.classes for name, part in hygiene.parts.items() if name in ("validation", "test")}
    missing = [f"{len(of.missing):,} in {name}" for name, of in scored.items() if of is not None and of.missing]
    return f"classes without rows: {', '.join(missing)}" if missing else ""
