"""Find the columns of texts and labels by common names, or use those that the user names."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from phasefit.errors import DataError, LabelError, did_you_mean

# fmt: off
TEXT_NAMES = (
    "text", "texts", "sentence", "sentences", "utterance", "content", "document", "query", "question", "review",
    "comment", "message", "tweet", "post", "title", "headline", "body", "description", "prompt", "input", "abstract",
    "email", "sms", "request", "transcript",
)
LABEL_NAMES = (
    "label", "labels", "class", "classes", "category", "intent", "target", "sentiment", "topic", "emotion", "tag", "y",
    "label_text", "label_name",
)
# fmt: on
PAIRS = (  # anchor, positive and, in triples, hard negative
    ("text_a", "text_b", "text_c"),
    ("sentence1", "sentence2"),
    ("question1", "question2"),
    ("premise", "hypothesis"),
    ("anchor", "positive", "negative"),
    ("sent0", "sent1", "hard_neg"),
)
MOST_SIDES = 3
LONGEST = 60  # characters of a name in a message


class NoLabelsError(LabelError):
    """A table without labels where labels are needed; callers may catch it to suggest another recipe."""


class PairsError(DataError):
    """Pairs of texts where single texts are needed; callers may catch it to suggest another recipe."""


Sides: TypeAlias = Literal["one", "two", "pairs", "each", "any"]
"""How pairs and triples are read: `one` accepts only single texts; `two` accepts single texts, or pairs with one label
per pair; `pairs` requires several texts per row; `each` reads every side as a separate text; `any` accepts all tables.
"""


@dataclass(frozen=True)
class Columns:
    """The text column, the label columns (none, one, or the levels of a tree), and the columns of further texts."""

    text: str
    labels: tuple[str, ...]
    others: tuple[str, ...] = ()

    @property
    def texts(self) -> tuple[str, ...]:
        """All columns with texts."""
        return (self.text, *self.others)


def find_columns(
    names: Sequence[str],
    *,
    text: Sequence[str] | str | None,
    label: Sequence[str],
    need_labels: bool,
    where: str,
    sides: Sides = "one",
) -> Columns:
    """Find the columns among these names; if they are ambiguous, the error names the columns and the option to use."""
    label_columns = [_existing(name, names, where) for name in label]
    _refuse_twice(label_columns, f"{where}: --label", "each level of a tree needs its own column")
    texts = [_existing(name, names, where) for name in as_names(text)]
    _refuse_twice(texts, f"{where}: --text", "each text of a pair needs its own column")
    both = next((name for name in texts if name in label_columns), None)
    if both is not None:
        raise DataError(f"{where}: column '{both}' is given as --text and as --label; choose different columns")
    if not texts:
        texts = _pair(names, label_columns, sides, where)
    if texts:
        _check_sides(texts, sides, where)
        return Columns(texts[0], _labels(names, label_columns, texts, need_labels, where), tuple(texts[1:]))
    labels = _labels(names, label_columns, (), need_labels, where)
    left = [name for name in names if name not in labels]
    candidates = _with_common_name(left, TEXT_NAMES)
    if len(candidates) == 1:
        return Columns(candidates[0], labels)
    if not candidates and len(names) == 1 and not need_labels:
        return Columns(names[0], ())
    raise DataError(f"{where}: {_ambiguity(candidates, names, 'text')}; name the text column with --text")


def as_names(columns: Sequence[str] | str | None) -> tuple[str, ...]:
    """One column, several or none, as a tuple."""
    if columns is not None and not isinstance(columns, Iterable):
        raise DataError(f"expected a column name or a list of column names, not {columns!r}")
    return () if columns is None else (columns,) if isinstance(columns, str) else tuple(columns)


def _pair(names: Sequence[str], label_columns: Sequence[str], sides: Sides, where: str) -> list[str]:
    """The columns of a pair or triple with common names; an error if `one` finds them or `pairs` does not."""
    by_name = {name.strip().lower(): name for name in reversed(names) if name not in label_columns}
    for common in PAIRS:
        if common[0] not in by_name or common[1] not in by_name:
            continue
        if sides == "one":
            raise PairsError(
                f"{where}: columns '{by_name[common[0]]}' and '{by_name[common[1]]}' hold pairs of texts, but "
                "single texts are needed here; name one of them with --text"
            )
        columns = [by_name[name] for name in common if name in by_name]
        return columns[:2] if sides == "two" else columns  # the label of a triple belongs to its first two texts
    if sides == "pairs":
        raise DataError(
            f"{where}: pairs of texts are needed here, but no two columns are recognised as a pair (columns: "
            f"{_listed(names)}); name them with --text A --text B"
        )
    return []


def _check_sides(texts: Sequence[str], sides: Sides, where: str) -> None:
    if sides == "one" and len(texts) > 1:
        raise PairsError(
            f"{where}: --text names {len(texts)} columns ({_listed(texts)}), but single texts are needed here; "
            "name one of them"
        )
    if sides == "pairs" and len(texts) < 2:
        raise DataError(
            f"{where}: pairs of texts are needed here, but --text names only '{texts[0]}'; name the column of the "
            "second texts with another --text"
        )
    if sides == "two" and len(texts) > 2:
        raise DataError(
            f"{where}: --text names {len(texts)} columns; a labelled row has one text or a pair; name at most two"
        )
    if sides in ("pairs", "any") and len(texts) > MOST_SIDES:
        raise DataError(
            f"{where}: --text names {len(texts)} columns; a row has at most three texts (anchor, positive, negative)"
        )


def _refuse_twice(names: Sequence[str], what: str, why: str) -> None:
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"{what} names the column '{twice}' twice; {why}")


def _labels(
    names: Sequence[str], label_columns: Sequence[str], texts: Sequence[str], need_labels: bool, where: str
) -> tuple[str, ...]:
    if label_columns:
        return tuple(label_columns)
    candidates = _with_common_name([name for name in names if name not in texts], LABEL_NAMES)
    if len(candidates) == 1:
        return (candidates[0],)
    if not need_labels:
        return ()
    # If neither is recognised, one message covers both, so that the user does not get two errors in a row.
    both = not texts and not _with_common_name(names, TEXT_NAMES)
    what = "text or label" if both else "label"
    advice = "name them with --text and --label" if both else "name the label column with --label"
    left = [name for name in names if name not in texts]
    if len(names) == 1 or not {*left} - {*_with_common_name(names, TEXT_NAMES)}:
        raise NoLabelsError(f"{where} has texts but no label column; use a table with labels (--label)")
    raise DataError(f"{where}: {_ambiguity(candidates, left, what)}; {advice}")


def _with_common_name(names: Sequence[str], common: Sequence[str]) -> list[str]:
    """The columns with a common name; the first two common names (such as text and texts) win over all others."""
    by_name = {name.strip().lower(): name for name in reversed(names)}
    for best in common[:2]:
        if best in by_name:
            return [by_name[best]]
    return [name for name in names if name.strip().lower() in common]


def _ambiguity(candidates: Sequence[str], names: Sequence[str], what: str) -> str:
    if candidates:
        return f"several columns could be the {what}: {_listed(candidates)}"
    return f"no column is recognised as {what} (columns: {_listed(names) or 'none'})"


def _existing(name: str, names: Sequence[str], where: str) -> str:
    if name in names:
        return name
    near = did_you_mean(name, names)
    raise DataError(f"{where}: there is no column '{name}'; {near}")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name if len(name) <= LONGEST else name[: LONGEST - 1] + '…'}'" for name in names[:12])
    return shown if len(names) <= 12 else f"{shown} and {len(names) - 12} more"
