"""Which columns hold the text, the label, the texts beside it: by the usual names, or as the user says."""

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
PAIRS = (  # a text, the one that belongs to it, and perhaps the one that does not though it seems to
    ("text_a", "text_b", "text_c"),
    ("sentence1", "sentence2"),
    ("question1", "question2"),
    ("premise", "hypothesis"),
    ("anchor", "positive", "negative"),
    ("sent0", "sent1", "hard_neg"),
)
MOST_SIDES = 3


class NoLabelsError(LabelError):
    """A table of texts alone where labels are needed; whoever knows another use for it can say so."""


class PairsError(DataError):
    """Pairs of texts where single texts are needed; whoever knows another use for them can say so."""


Sides: TypeAlias = Literal["one", "two", "pairs", "each", "any"]
"""What a reader makes of pairs and triples: `one` wants single texts and refuses them, `two` takes single texts, or
pairs with a label for both, `pairs` needs several texts a row, `each` takes every side as a text of its own, `any`
takes a table as it is."""


@dataclass(frozen=True)
class Columns:
    """The column of the text, those of the label (none, one, or the levels of a tree), those of the texts beside it."""

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
    """Find the columns among these names; a doubt is an error that names the columns and the option to use."""
    label_columns = [_existing(name, names, where) for name in label]
    _refuse_twice(label_columns, f"{where}: --label", "the levels of a tree are different columns")
    texts = [_existing(name, names, where) for name in as_names(text)]
    _refuse_twice(texts, f"{where}: --text", "the texts of a pair are different columns")
    both = next((name for name in texts if name in label_columns), None)
    if both is not None:
        raise DataError(f"{where}: column '{both}' is given as --text and as --label; they must be different columns")
    if not texts:
        texts = _pair(names, label_columns, sides, where)
    if texts:
        _check_sides(texts, sides, where)
        return Columns(texts[0], _labels(names, label_columns, texts, need_labels, where), tuple(texts[1:]))
    labels = _labels(names, label_columns, (), need_labels, where)
    left = [name for name in names if name not in labels]
    candidates = _usual(left, TEXT_NAMES)
    if len(candidates) == 1:
        return Columns(candidates[0], labels)
    if not candidates and len(names) == 1 and not need_labels:
        return Columns(names[0], ())
    raise DataError(f"{where}: {_doubt(candidates, names, 'text')}; say which column is the text with --text")


def as_names(columns: Sequence[str] | str | None) -> tuple[str, ...]:
    """One column, several or none, as a tuple."""
    if columns is not None and not isinstance(columns, Iterable):
        raise DataError(f"give a name or a list of names, not {columns!r}")
    return () if columns is None else (columns,) if isinstance(columns, str) else tuple(columns)


def _pair(names: Sequence[str], label_columns: Sequence[str], sides: Sides, where: str) -> list[str]:
    """The columns of a pair or triple that go by usual names: `one` must not take them, `pairs` needs them."""
    by_name = {name.strip().lower(): name for name in reversed(names) if name not in label_columns}
    for usual in PAIRS:
        if usual[0] not in by_name or usual[1] not in by_name:
            continue
        if sides == "one":
            raise PairsError(
                f"{where}: columns '{by_name[usual[0]]}' and '{by_name[usual[1]]}' are pairs of texts, and "
                "single texts are needed here; name one of them with --text to use it alone"
            )
        columns = [by_name[name] for name in usual if name in by_name]
        return columns[:2] if sides == "two" else columns  # the label of a triple would be that of its first two
    if sides == "pairs":
        raise DataError(
            f"{where}: pairs of texts are needed here, and no two columns have usual names for one (columns: "
            f"{_listed(names)}); name them with --text A --text B"
        )
    return []


def _check_sides(texts: Sequence[str], sides: Sides, where: str) -> None:
    if sides == "one" and len(texts) > 1:
        raise PairsError(
            f"{where}: --text names {len(texts)} columns ({_listed(texts)}), and single texts are needed here; "
            "name one of them"
        )
    if sides == "pairs" and len(texts) < 2:
        raise DataError(
            f"{where}: pairs of texts are needed here, and --text names only '{texts[0]}'; name the column of the "
            "other texts with another --text"
        )
    if sides == "two" and len(texts) > 2:
        raise DataError(f"{where}: --text names {len(texts)} columns; what has a label is one text or a pair of two")
    if sides in ("pairs", "any") and len(texts) > MOST_SIDES:
        raise DataError(
            f"{where}: --text names {len(texts)} columns; a row has at most three texts: anchor, positive and negative"
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
    candidates = _usual([name for name in names if name not in texts], LABEL_NAMES)
    if len(candidates) == 1:
        return (candidates[0],)
    if not need_labels:
        return ()
    # Neither is known: one message for both, so that nobody has to run into the second error.
    both = not texts and not _usual(names, TEXT_NAMES)
    what, option = ("text or label", "--text and --label") if both else ("label", "--label")
    left = [name for name in names if name not in texts]
    if len(names) == 1 or not {*left} - {*_usual(names, TEXT_NAMES)}:
        raise NoLabelsError(f"{where} has texts and no column of labels; give a table with one (--label)")
    raise DataError(f"{where}: {_doubt(candidates, left, what)}; say which column it is with {option}")


def _usual(names: Sequence[str], usual: Sequence[str]) -> list[str]:
    """The columns with a usual name; the first two usual names (text, label) win over all others."""
    by_name = {name.strip().lower(): name for name in reversed(names)}
    for best in usual[:2]:
        if best in by_name:
            return [by_name[best]]
    return [name for name in names if name.strip().lower() in usual]


def _doubt(candidates: Sequence[str], names: Sequence[str], what: str) -> str:
    if candidates:
        return f"several columns could be the {what}: {_listed(candidates)}"
    return f"no column has a usual name for a {what} (columns: {_listed(names) or 'none'})"


def _existing(name: str, names: Sequence[str], where: str) -> str:
    if name in names:
        return name
    near = did_you_mean(name, names)
    raise DataError(f"{where}: there is no column '{name}'; {near}")


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:12])
    return shown if len(names) <= 12 else f"{shown} and {len(names) - 12} more"
