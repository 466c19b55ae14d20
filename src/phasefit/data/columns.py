"""Which column is the text and which the label: by the usual names, or as the user says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from phasefit.errors import DataError, did_you_mean

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
PAIRS = (("text_a", "text_b"), ("sentence1", "sentence2"), ("question1", "question2"), ("premise", "hypothesis"))


@dataclass(frozen=True)
class Columns:
    """The column of the text and those of the label: none, one, or the levels of a tree."""

    text: str
    labels: tuple[str, ...]


def find_columns(
    names: Sequence[str], *, text: str | None, label: Sequence[str], need_labels: bool, where: str
) -> Columns:
    """Find the columns among these names; a doubt is an error that names the columns and the option to use."""
    given = [_existing(name, names, where) for name in label]
    twice = next((name for name in given if given.count(name) > 1), None)
    if twice is not None:
        raise DataError(
            f"{where}: --label names the column '{twice}' twice; the levels of a tree are different columns"
        )
    if text is not None and text in given:
        raise DataError(f"{where}: column '{text}' is given as --text and as --label; they must be different columns")
    if text is not None:
        return Columns(_existing(text, names, where), _labels(names, given, text, need_labels, where))
    _refuse_pairs(names, where)
    labels = _labels(names, given, None, need_labels, where)
    left = [name for name in names if name not in labels]
    found = _usual(left, TEXT_NAMES)
    if len(found) == 1:
        return Columns(found[0], labels)
    if not found and len(names) == 1 and not need_labels:
        return Columns(names[0], ())
    raise DataError(f"{where}: {_doubt(found, names, 'text')}; say which column is the text with --text")


def _labels(
    names: Sequence[str], given: Sequence[str], text: str | None, need_labels: bool, where: str
) -> tuple[str, ...]:
    if given:
        return tuple(given)
    found = _usual([name for name in names if name != text], LABEL_NAMES)
    if len(found) == 1:
        return (found[0],)
    if not need_labels:
        return ()
    # Neither is known: one message for both, so that nobody has to run into the second error.
    both = text is None and not _usual(names, TEXT_NAMES)
    what, option = ("text or label", "--text and --label") if both else ("label", "--label")
    left = [name for name in names if name != text]
    raise DataError(f"{where}: {_doubt(found, left, what)}; say which column it is with {option}")


def _usual(names: Sequence[str], usual: Sequence[str]) -> list[str]:
    """The columns with a usual name; the first two usual names (text, label) win over all others."""
    by_name = {name.strip().lower(): name for name in reversed(names)}
    for best in usual[:2]:
        if best in by_name:
            return [by_name[best]]
    return [name for name in names if name.strip().lower() in usual]


def _doubt(found: Sequence[str], names: Sequence[str], what: str) -> str:
    if found:
        return f"several columns could be the {what}: {_listed(found)}"
    return f"no column has a usual name for a {what} (columns: {_listed(names) or 'none'})"


def _existing(name: str, names: Sequence[str], where: str) -> str:
    if name in names:
        return name
    near = did_you_mean(name, names)
    raise DataError(f"{where}: there is no column '{name}'; {near}")


def _refuse_pairs(names: Sequence[str], where: str) -> None:
    lower = {name.strip().lower() for name in names}
    for first, second in PAIRS:
        if first in lower and second in lower:
            raise DataError(
                f"{where}: columns '{first}' and '{second}' are pairs of texts, which are not handled yet; "
                "name one of them with --text to use it alone"
            )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(f"'{name}'" for name in names[:12])
    return shown if len(names) <= 12 else f"{shown} and {len(names) - 12} more"
