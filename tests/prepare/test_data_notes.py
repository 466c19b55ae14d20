"""Notes about the data before training."""

from __future__ import annotations

import numpy as np
import pytest

from phasefit.data.hygiene import hygiene
from phasefit.data.table import Table
from phasefit.prepare.notes import data_notes, few_rows_note, is_number, path_note, similar_names
from specs import prepare, run_spec


def test_a_clean_table_gets_one_line() -> None:
    texts, labels = ["one word", "two more words", "yet another text here"] * 1, ["a", "b", "b"]
    assert data_notes(hygiene({"train": Table("t", texts, labels)})) == [
        "data: 3 rows, 2 classes (1 to 2 training rows each), 2 to 4 words per text; no repeated texts, no conflicting "
        "labels"
    ]


def test_everything_worth_checking_gets_its_line() -> None:
    train = Table("t", ["Hello there", "hello there", "?", "bye now", "bye now"], ["a", "b", "b", "c", "c"])
    test = Table("t", ["HELLO there", "bye now", "more words"], ["c", "c", "b"])
    validation = Table("v", ["bye now"], ["c"])
    notes = data_notes(hygiene({"train": train, "validation": validation, "test": test}))
    assert notes == [
        "data: 9 rows (5 train, 1 validation, 3 test), 3 classes (1 to 2 training rows each), 1 to 2 words per text",
        "2 rows repeat the text of an earlier row (2 in train)",
        "1 text has conflicting labels in 2 rows (1 in train), e.g. train: 'Hello there' is 'a' in row 1, 'b' in row 2",
        "near-empty texts (fewer than two letters or digits): 1 in train, e.g. train row 3",
        "1 of the 1 validation texts are also training texts; drop them with --leaked drop-scored or --leaked "
        "drop-train",
        "2 of the 3 test texts are also training texts, 1 of them with a different label; drop them with --leaked "
        "drop-scored or --leaked drop-train",
        "1 of the 3 test texts are also validation texts",
        "classes without rows: 2 in validation, 1 in test",
    ]


def test_pairs_that_teach_the_wrong_thing() -> None:
    anchors = ["how old", "what age", "same text", "how old", "how tall"]
    partners = ["ten years", "Ten years", "Same text", "eleven years", "two metres"]
    train = Table("t", anchors, others=(partners,))
    assert data_notes(hygiene({"train": train}), labels=False) == [
        "data: 5 rows, 2 words per text; no repeated rows",
        "1 row has the same text twice (1 in train), e.g. train row 3",
        "2 rows share their first text with another row (2 in train); within a batch they count as each other's "
        "negatives",
        "2 rows share their second text with another row (2 in train); within a batch they count as each other's "
        "negatives",
    ]
    again = Table("t", ["a b", "c d", "A b"], others=(["e f", "g h", "e f"],))
    assert data_notes(hygiene({"train": again}))[1] == "1 row repeats an earlier row (1 in train)"


def test_classes_with_similar_names_are_reported() -> None:
    assert similar_names(["a", "b", "a b", "a  c"]) == ""
    assert similar_names(["Yes", "no", "yes ", "YES", "No"]) == "'Yes' and 'yes ' and 'YES'; 'no' and 'No'"
    assert similar_names(name for letter in "abcde" for name in (letter, letter.upper())).endswith("'C' and 2 more")
    texts = [f"text number {row}" for row in range(40)]
    prepared = prepare(run_spec({"text": texts, "label": ["good", "Good"] * 20}))
    expected = "some classes differ only in case or white space: 'Good' and 'good'; merge them if they mean the same"
    assert expected in prepared.notes


def test_many_conflicts_and_long_texts() -> None:
    long = "word " * 30
    train = Table("t", [long, long, "x y", "x y"], ["a", "b", "a", "b"])
    note = data_notes(hygiene({"train": train}))[2]
    assert note.startswith("2 texts have conflicting labels in 4 rows")
    assert "…' is 'a' in row 1" in note


def test_small_classes_and_the_splits_of_their_rows() -> None:
    codes = np.array([0] * 10 + [1] + [2, 2] + [4, 4, 4])
    note = few_rows_note(codes, np.array([0, 11]), np.array([13, 14]))
    assert note == (
        "classes with few rows: 1 with one row (in train only, never scored); "
        "1 with two rows (1 in train, 1 in validation); 1 with three rows (1 in train, 2 in test)"
    )
    assert few_rows_note(np.array([0] * 10), np.array([1]), np.array([2])) == ""


def test_a_run_reports_how_small_classes_are_split() -> None:
    labels = ["big"] * 30 + ["one"] + ["two"] * 2 + ["copied"] * 5
    texts = [f"text {row}" for row in range(33)] + ["the same"] * 5
    prepared = prepare(run_spec((texts, labels)))
    few = next(note for note in prepared.notes if note.startswith("classes with few rows"))
    assert "1 with one row (in train only, never scored); 1 with two rows (" in few
    assert "1 class has a single text in several copies (in train only, never scored)" in prepared.notes
    assert prepared.train.labels.count("copied") == 5
    assert prepared.notes[0].startswith("data: 38 rows (28 train, 7 validation, 3 test), 4 classes")


def test_a_run_warns_of_tiny_splits_and_numbers() -> None:
    prepared = prepare(run_spec(([str(row) for row in range(6)], list("ababab"))))
    assert "data: 6 rows (4 train, 1 validation, 1 test)" in prepared.notes[0]
    assert [note for note in prepared.notes if note in prepared.warnings] == [
        "4 of the 4 training texts in column 'text' are numbers; check that --text names the right column",
        "only 1 validation row: which weights are best is mostly chance; label more rows if you can",
        "only 1 test row: the test score says nothing about new texts; label more rows, or cross-validate with: "
        "phasefit compare DATA --folds 5",
    ]
    many = prepare(run_spec(([f"text {row}" for row in range(400)], list("ab") * 200)))
    assert not many.warnings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *((text, True) for text in ("12", " 3.5 ", "-1", "1,000", "50 %", "$20", "1e5", ".5", "2024.01.05")),
        *((text, False) for text in ("", "12 apples", "v1.2", "one", "+", "1-2", "9" * 40)),
    ],
)
def test_numbers(text: str, expected: bool) -> None:
    assert is_number(text) is expected


@pytest.mark.parametrize(
    ("classes", "hint"),
    [
        (["a/b/c", "a/d", "e/f"], "e.g. 'a/b/c'; to learn their levels use --tree /"),
        (["a > b", "a > c", "d > b"], "e.g. 'a > b'; to learn their levels use --tree '>'"),
        (["a/b", "c/d"], ""),  # no level in common
        (["a/b", "a/c", "d", "e", "f"], ""),  # only a few
        (["N/A", "yes", "no"], ""),
        (["http://a/b", "http://a/c"], ""),
        (["/a", "/b"], ""),
    ],
)
def test_labels_that_look_like_paths(classes: list[str], hint: str) -> None:
    [*notes] = path_note(classes)
    assert bool(notes) == bool(hint)
    assert all(hint in note for note in notes)
