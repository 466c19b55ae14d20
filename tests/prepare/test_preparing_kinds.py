"""Several labels, scores and pairs before anything is trained: read like the training table, and split."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from phasefit.data.equal_texts import same_text_hashes
from phasefit.data.labels import LabelSpace, label_space
from phasefit.data.labels.score import FEW_NUMBERS
from phasefit.data.table import Table
from phasefit.errors import DataError, LabelError
from phasefit.prepare.base import Base
from phasefit.prepare.merge import merged
from phasefit.prepare.prepare import Prepared
from phasefit.prepare.unused_labels import drop_unused_labels
from phasefit.recipes.needs import Needs
from phasefit.runs.trained_texts import read_seen, write_seen
from specs import prepare, run_spec

TASKS = Needs(labels=True, tasks=True)
PAIRS = Needs(labels=False, pairs=True)
NO_TEXTS = np.empty(0, dtype=np.int64)
SCORES = [f"{row / 8:.3f}" for row in range(40)]
SETS = [("a|b", "b|c", "a", "c")[row % 4] for row in range(40)]
LEVELS = ("bad", "fair", "good")
Write = Callable[..., str]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """`write("train.csv", labels)`: a table of these labels and of texts named after the file."""

    def write(name: str, labels: list[Any], **columns: Any) -> str:
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        texts = columns or {"text": [f"{path.stem} text {row}" for row in range(len(labels))]}
        pd.DataFrame({**texts, "label": labels}).to_csv(path, index=False)
        return str(path)

    return write


def prepared(data: Any, base: Base | None = None, **options: Any) -> Prepared:
    return prepare(run_spec(data, **options), base)


def labels_of(table: Table | None) -> list[Any]:
    assert table is not None
    assert table.labels is not None
    return list(table.labels)


def sets(*names: str) -> list[frozenset[str]]:
    return [frozenset(name.split()) for name in names]


def after(space: LabelSpace) -> Base:
    return Base("before", space, NO_TEXTS)


# --- validation and test have the label kind of train -----------------------------------------------------------------

FEW = {"scores": (SCORES, ["0.5", "1.5", "0.5"], [0.5, 1.5, 0.5]), "multi": (SETS, ["a", "", "c"], sets("a", "", "c"))}


@pytest.fixture(params=FEW, ids=list(FEW))
def few(request: pytest.FixtureRequest) -> tuple[list[str], list[str], list[Any]]:
    """The labels of train, a few cells that alone would look like class names, and the labels they hold."""
    return FEW[request.param]


def test_given_tables_are_read_like_train(write: Write, few) -> None:
    train, cells, labels = few
    data = prepared(write("train.csv", train), validation=write("v.csv", cells), test=write("t.csv", cells))
    assert labels_of(data.validation) == labels_of(data.test) == labels


def test_files_of_a_folder_are_read_like_train(write: Write, few, tmp_path: Path) -> None:
    train, cells, labels = few
    for name, given in (("train", train), ("validation", cells), ("test", cells)):
        write(f"mine/{name}.csv", given)
    data = prepared(str(tmp_path / "mine"))
    assert labels_of(data.validation) == labels_of(data.test) == labels


def test_tables_of_a_task_are_read_like_its_train(write: Write, few, tmp_path: Path) -> None:
    train, cells, labels = few
    for name, given in (("train", train), ("v", cells), ("t", cells)):
        write(f"{name}.csv", given)
    file = tmp_path / "tasks.toml"
    file.write_text('[[task]]\nname = "one"\ndata = "train.csv"\nvalidation = "v.csv"\ntest = "t.csv"\n')
    task = prepare(run_spec(str(file)), None, TASKS).tasks["one"]
    assert labels_of(task.validation) == labels_of(task.test) == labels


def test_lists_in_memory_are_read_like_train(few) -> None:
    train, cells, labels = few
    table = ([f"text {row}" for row in range(40)], train)
    data = prepared(table, validation=(["x", "y", "z"], cells), test=(["u", "v", "w"], cells))
    assert labels_of(data.validation) == labels_of(data.test) == labels


def test_class_names_stay_names_in_small_tables(write: Write) -> None:
    train = [f"{row % FEW_NUMBERS}.5" for row in range(40)]
    data = prepared(write("train.csv", train), test=write("t.csv", ["1.5", "2.5"]))
    assert data.space.kind == "single"
    assert labels_of(data.test) == ["1.5", "2.5"]


# --- continuing from a run --------------------------------------------------------------------------------------------


def test_a_small_table_is_read_as_scores_like_the_base_run(write: Write) -> None:
    base = after(label_space([0.0, 2.5, 5.0]))
    data = prepared(write("more.csv", ["0.5", "1.5"] * 6), base)
    assert data.space == base.space
    assert set(labels_of(data.train)) == {0.5, 1.5}
    assert any("same scale of scores" in note for note in data.notes)


def test_a_small_table_is_read_as_sets_like_the_base_run(write: Write) -> None:
    data = prepared(write("more.csv", ["a", "b", "", "d"] * 4), after(label_space(sets("a b", "c"))))
    assert data.space.kind == "multi"
    assert data.space.names == ["a", "b", "c", "d"]
    assert set(labels_of(data.train)) <= set(sets("a", "b", "", "d"))


def test_a_small_table_is_read_with_the_levels_of_the_base_run(write: Write) -> None:
    base = after(label_space([0.0, 1.0, 2.0], levels=LEVELS))
    data = prepared(write("more.csv", ["good", "bad"] * 6), base)
    assert set(labels_of(data.train)) == {0.0, 2.0}
    assert data.train.levels == LEVELS
    with pytest.raises(LabelError, match="'great' is not one of the levels"):
        prepared(write("other.csv", ["good", "great"] * 6), base)


@pytest.mark.parametrize("levels", [LEVELS[::-1], ("bad", "good"), ("bad", "fair", "good", "great")])
def test_other_levels_or_another_order_are_refused_in_one_sentence(write: Write, levels: tuple[str, ...]) -> None:
    base = after(label_space([0.0, 1.0, 2.0], levels=LEVELS))
    with pytest.raises(
        LabelError, match=r"are bad, fair, good and those of the table .*; they must be the same"
    ) as caught:
        prepared(write("more.csv", ["good", "bad"] * 6), base, levels=levels)
    assert "\n" not in str(caught.value)


def test_numbers_are_refused_if_the_base_run_has_levels(write: Write) -> None:
    base = after(label_space([0.0, 1.0, 2.0], levels=LEVELS))
    with pytest.raises(LabelError, match="levels"):
        prepared(write("more.csv", ["1", "2"] * 6), base, kind="score")
    with pytest.raises(LabelError, match="the levels of the model are none and those of the table bad, fair, good"):
        prepared(write("more.csv", ["good", "bad"] * 6), after(label_space([0.5, 1.5])), levels=LEVELS)


def test_another_label_kind_is_refused(write: Write) -> None:
    with pytest.raises(LabelError, match="labels of kind 'multi', but the table has kind 'single'"):
        prepared(write("more.csv", ["a", "b"] * 6), after(label_space(sets("a b"))), kind="single")


# --- pairs that were trained on ---------------------------------------------------------------------------------------


def pairs(*rows: tuple[str, str], **more: Any) -> Table:
    left, right = zip(*rows, strict=True)
    return Table("pairs", list(left), others=(list(right),), **more)


def test_pairs_that_were_trained_on_are_known(tmp_path: Path) -> None:
    trained = pairs(("a song", "a melody"), ("some rain", "a storm"))
    write_seen(tmp_path, trained.all_texts, rows=[trained.same])
    base = Base("before", None, read_seen(tmp_path))
    table = pairs(
        *(("a song", "a melody"), ("A  Song", "a MELODY"), ("a song", "a storm"), ("a song", "something new")),
        *(("a melody", "a song"), ("new", "a melody"), ("some rain", "a storm")),
    )
    assert base.knows(table).tolist() == [True, True, False, False, False, False, True]
    singles = Table("texts", ["A SONG", "a storm", "a song a melody"])
    assert base.knows(singles).tolist() == [True, True, False]


def test_texts_of_earlier_base_runs_stay_known(tmp_path: Path) -> None:
    first, second = pairs(("a song", "a melody")), pairs(("some rain", "a storm"))
    write_seen(tmp_path, first.all_texts, rows=[first.same])
    write_seen(tmp_path, second.all_texts, read_seen(tmp_path), rows=[second.same])
    assert (
        Base("before", None, read_seen(tmp_path)).knows(pairs(("A song", "a melody"), ("some rain", "a storm"))).all()
    )


def test_known_pairs_stay_in_train_but_pairs_with_one_known_text_may_be_held_out() -> None:
    left, right = ["one and the same"] * 40, [f"other {row}" for row in range(40)]
    known = pairs(*zip(left[:20], right[:20], strict=True))
    seen = np.concatenate([same_text_hashes(known.all_texts), known.same])
    frame = pd.DataFrame({"text_a": left, "text_b": right, "label": ["yes", "no"] * 20})
    needs = Needs(labels_of_pairs=True)
    data = prepare(run_spec(frame), Base("before", label_space(["no", "yes"]), seen), needs)
    held = {text for table in (data.validation, data.test) if table for text in table.others[0]}
    assert held
    assert held <= set(right[20:])
    assert set(right[:20]) <= set(data.train.others[0])


# --- rows on both sides of a split ------------------------------------------------------------------------------------

TEXTS = [f"text {row}" for row in range(40)]


def test_scores_lose_no_class_when_training_rows_are_dropped() -> None:
    scores = [row / 8 for row in range(40)]
    options: dict[str, Any] = {"validation_size": 0.0, "leaked": "drop-train"}
    data = prepared((TEXTS, scores), test=(TEXTS[:3], [0.0, 0.25, 0.5]), **options)
    assert (len(data.train), len(data.test or ())) == (37, 3)
    assert not any("no training rows left" in note for note in data.notes)


def test_several_labels_are_lost_one_by_one_when_training_rows_are_dropped() -> None:
    labels = sets(*["a b", "b c", "a", "c"] * 10)
    options: dict[str, Any] = {"validation_size": 0.0, "leaked": "drop-train"}
    table = ([*TEXTS, "odd set"], [*labels, frozenset("abc")])
    data = prepared(table, test=(["odd set"], [frozenset("abc")]), **options)
    assert (len(data.train), data.space.names) == (40, ["a", "b", "c"])
    rare = ([*TEXTS, "rare one"], [*labels, frozenset({"a", "rare"})])
    scored = (["rare one", "fresh"], sets("a rare", "a"))
    with pytest.raises(LabelError, match=r"1 class has no training rows left .* 'rare'; use --leaked drop-scored"):
        prepared(rare, test=scored, **options)
    data = prepared(rare, test=scored, unseen="drop", **options)
    assert labels_of(data.test) == sets("a")
    assert data.space.names == ["a", "b", "c"]


# --- options for a single table ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["unlabelled", "validation", "test", "label"])
def test_options_for_a_single_table_are_refused_for_a_task_file(write: Write, tmp_path: Path, option: str) -> None:
    write("train.csv", ["a", "b"] * 20)
    file = tmp_path / "tasks.toml"
    file.write_text('[[task]]\nname = "one"\ndata = "train.csv"\n')
    more = write("more.csv", ["a", "b"])
    request = run_spec(str(file), **{option: ("label",) if option == "label" else more})
    with pytest.raises(DataError, match=f"^--{option} applies to a single table; set it in the ") as caught:
        prepare(request, None, TASKS)
    assert "\n" not in str(caught.value)


# --- pairs that belong together ---------------------------------------------------------------------------------------


def paired(write: Write, name: str, labels: list[Any]) -> str:
    sides = {
        "text_a": [f"{name} left {row}" for row in range(len(labels))],
        "text_b": [f"right {row}" for row in range(len(labels))],
    }
    return write(f"{name}.csv", labels, **sides)


def left_of(table: Table | None) -> list[str]:
    return [] if table is None else list(table.texts)


def test_positive_names_are_chosen_on_train_and_used_for_validation(write: Write) -> None:
    train = paired(write, "train", ["yes", "no"] * 10)
    data = prepare(run_spec(train, validation=paired(write, "v", ["no", "yes", "Yes"])), None, PAIRS)
    assert len(data.train) == 10
    assert left_of(data.validation) == ["v left 1", "v left 2"]
    assert data.train.labels is None
    assert any("10 of the 20 pairs are positive pairs (label 'yes')" in note for note in data.notes)


def test_high_scores_are_chosen_on_train_and_used_for_validation(write: Write) -> None:
    train = paired(write, "train", [f"{row / 4:.2f}" for row in range(21)])  # from 0 to 5: 3.5 is high
    data = prepare(run_spec(train, validation=paired(write, "v", ["3.25", "3.5", "3.75"])), None, PAIRS)
    assert left_of(data.train) == [f"train left {row}" for row in range(14, 21)]
    assert left_of(data.validation) == ["v left 1", "v left 2"], "though 3.5 is not high among these three"


@pytest.mark.parametrize(("yes", "no"), [("yes", "no"), (5.0, 0.5)], ids=["names", "scores"])
def test_validation_without_positive_pairs_is_none(yes: Any, no: Any) -> None:
    train = pairs(*((f"left {row}", f"right {row}") for row in range(10)), labels=[yes, no] * 5)
    validation = pairs(("x", "y"), ("z", "w"), labels=[no, no])
    trained, held, _ = drop_unused_labels(train, validation, None, None, [], [])
    assert (len(trained), held) == (5, None)


def test_pairs_that_do_not_belong_together_never_validate(write: Write) -> None:
    train, validation = paired(write, "train", ["yes", "no"] * 20), paired(write, "v", ["no", "no"])
    data = prepare(run_spec(train, validation=validation), None, PAIRS)
    assert all(text.startswith("train left") for text in left_of(data.validation))
    assert all(int(text.split()[-1]) % 2 == 0 for text in left_of(data.validation) + left_of(data.train))


def test_labels_without_positive_pairs_are_a_warning(write: Write) -> None:
    data = prepare(run_spec(paired(write, "train", ["cats", "dogs"] * 10), validation_size=0.0), None, PAIRS)
    assert len(data.train) == 20
    assert any("every row of train is used as a positive pair" in note for note in data.warnings)


# --- splits and counts of several labels ------------------------------------------------------------------------------


def test_no_held_out_row_has_a_label_that_train_lacks() -> None:
    random = np.random.default_rng(0)
    for seed in range(60):
        names = np.array(list("abcdefgh"))
        chances = np.array([0.5, 0.4, 0.2, 0.08, 0.06, 0.05, 0.04, 0.03])
        labels = [frozenset(names[random.random(8) < chances].tolist()) for _ in range(40)]
        data = prepared((TEXTS, labels), seed=seed)
        trained = frozenset().union(*labels_of(data.train))
        assert frozenset().union(*labels_of(data.validation), *labels_of(data.test)) <= trained
        parts = (data.train, data.validation, data.test)
        assert sorted(text for part in parts if part for text in part.texts) == sorted(TEXTS)
        assert not any("dropped" in note for note in data.notes)


def test_a_label_that_shares_its_rows_with_others_stays_in_train() -> None:
    labels = sets(*["a", "b", "c", "d"] * 3, "a z", "b z", "c z", "d z", *["e"] * 24)  # z is no rarer than a to d
    for seed in range(60):
        data = prepared((TEXTS, labels), seed=seed)
        assert frozenset().union(*labels_of(data.train)) == frozenset("abcdez")


def test_the_imbalance_of_several_labels_counts_each_label() -> None:
    labels = sets("a", "a b", "a b", "a c", "a", "a", "b", "")  # a six times, b three times, c once
    data = prepared((TEXTS[:8], labels), validation_size=0.0, test_size=0.0)
    assert data.facts()["imbalance"] == 6.0
    assert data.facts()["kind"] == "multi"


def test_scores_have_no_imbalance() -> None:
    assert "imbalance" not in prepared((TEXTS, [row / 8 for row in range(40)])).facts()


def test_refitting_uses_all_rows_of_each_task(write: Write, tmp_path: Path) -> None:
    write("one.csv", ["a", "b"] * 20)
    write("two.csv", SCORES)
    file = tmp_path / "tasks.toml"
    file.write_text("".join(f'[[task]]\nname = "{name}"\ndata = "{name}.csv"\n' for name in ("one", "two")))
    data = prepare(run_spec(str(file)), None, TASKS)
    assert all(len(task.train) < 40 for task in data.tasks.values())
    whole = merged(data)
    assert [len(task.train) for task in whole.tasks.values()] == [40, 40]
    assert len({text for table in whole.trained_tables for text in table.all_texts}) == 80
