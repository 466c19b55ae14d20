"""What is said of the data before training."""

from __future__ import annotations

import numpy as np

from phasefit.data.hygiene import hygiene
from phasefit.data.table import Table
from phasefit.prepare.notes import data_notes, few_rows_note, look_alikes
from specs import prepare, run_spec


def test_a_clean_table_gets_one_line() -> None:
    texts, labels = ["one word", "two more words", "yet another text here"] * 1, ["a", "b", "b"]
    assert data_notes(hygiene({"train": Table("t", texts, labels)})) == [
        "data: 3 rows, 2 classes (1 to 2 training rows each), 2 to 4 words; no repeated texts, no conflicting labels"
    ]


def test_everything_that_deserves_a_word_gets_its_line() -> None:
    train = Table("t", ["Hello there", "hello there", "?", "bye now", "bye now"], ["a", "b", "b", "c", "c"])
    test = Table("t", ["HELLO there", "bye now", "more words"], ["c", "c", "b"])
    validation = Table("v", ["bye now"], ["c"])
    notes = data_notes(hygiene({"train": train, "validation": validation, "test": test}))
    assert notes == [
        "data: 9 rows, 3 classes (1 to 2 training rows each), 1 to 2 words",
        "2 rows repeat the text of an earlier one: train 2",
        "1 text has different labels, in 2 rows (train 1), e.g. train: 'Hello there' is 'a' in row 1, 'b' in row 2",
        "near-empty texts (fewer than two letters or digits): train 1; e.g. train row 3",
        "1 of the 1 validation texts are also training texts; --leaked drop-scored or drop-train leaves them out",
        "2 of the 3 test texts are also training texts, 1 of them with another label; --leaked drop-scored or "
        "drop-train leaves them out",
        "1 of the 3 test texts are also validation texts",
        "classes without a row: 2 in validation, 1 in test",
    ]


def test_pairs_that_teach_the_wrong_thing() -> None:
    anchors = ["how old", "what age", "same text", "how old", "how tall"]
    partners = ["ten years", "Ten years", "Same text", "eleven years", "two metres"]
    train = Table("t", anchors, others=(partners,))
    assert data_notes(hygiene({"train": train}), labels=False) == [
        "data: 5 rows, 2 words; no repeated rows",
        "1 row holds the same text twice: train 1; e.g. train row 3",
        "2 rows have an anchor that other rows have too (train 2): in one batch they count as each other's negatives",
        "2 rows have a partner that other rows have too (train 2): in one batch they count as each other's negatives",
    ]
    again = Table("t", ["a b", "c d", "A b"], others=(["e f", "g h", "e f"],))
    assert data_notes(hygiene({"train": again}))[1] == "1 row repeats an earlier one: train 1"


def test_classes_that_look_alike_are_asked_about() -> None:
    assert look_alikes(["a", "b", "a b", "a  c"]) == ""
    assert look_alikes(["Yes", "no", "yes ", "YES", "No"]) == "'Yes' and 'yes ' and 'YES'; 'no' and 'No'"
    assert look_alikes(name for letter in "abcde" for name in (letter, letter.upper())).endswith("'C' and 2 more")
    texts = [f"text number {row}" for row in range(40)]
    found = prepare(run_spec({"text": texts, "label": ["good", "Good"] * 20}))
    expected = "classes that differ only in case or white space: 'Good' and 'good'; are they meant to be the same?"
    assert expected in found.notes


def test_many_conflicts_and_long_texts() -> None:
    long = "word " * 30
    train = Table("t", [long, long, "x y", "x y"], ["a", "b", "a", "b"])
    note = data_notes(hygiene({"train": train}))[2]
    assert note.startswith("2 texts have different labels, in 4 rows")
    assert "…' is 'a' in row 1" in note


def test_small_classes_and_where_their_rows_went() -> None:
    codes = np.array([0] * 10 + [1] + [2, 2] + [4, 4, 4])
    said = few_rows_note(codes, np.array([0, 11]), np.array([13, 14]))
    assert said == (
        "classes with few rows: 1 of one row (trained on and never scored); "
        "1 of two rows (1 to train, 1 to validation); 1 of three rows (1 to train, 2 to test)"
    )
    assert few_rows_note(np.array([0] * 10), np.array([1]), np.array([2])) == ""


def test_a_run_says_how_small_classes_are_split() -> None:
    labels = ["big"] * 30 + ["one"] + ["two"] * 2 + ["copied"] * 5
    texts = [f"text {row}" for row in range(33)] + ["the same"] * 5
    found = prepare(run_spec((texts, labels)))
    few = next(note for note in found.notes if note.startswith("classes with few rows"))
    assert "1 of one row (trained on and never scored); 1 of two rows (" in few
    assert "1 class has a single text, in several copies: it is trained on and never scored" in found.notes
    assert found.train.labels.count("copied") == 5
    assert found.notes[0].startswith("data: 38 rows, 4 classes")
