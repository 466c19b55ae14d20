"""Pairs and triples of texts: finding their columns, reading them, taking rows, and using each side alone."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from phasefit.data.columns import Columns, PairsError, Sides, find_columns
from phasefit.data.hygiene import hygiene
from phasefit.data.named.cards import Card, named_datasets
from phasefit.data.sources import read_dataset, read_table
from phasefit.data.table import Table, content_hash
from phasefit.errors import DataError, LabelError
from wild import ANY_TEXT

TRIPLES = pd.DataFrame({"anchor": ["a a", "b b"], "positive": ["c c", "d d"], "negative": ["e e", "f f"]})
TABLE = Table("t", ["a", "b", "c"], others=(["d", "e", "f"], ["g", "h", "i"]))


def find(names: str, sides: Sides = "pairs", text: tuple[str, ...] = (), need_labels: bool = False) -> Columns:
    return find_columns(names.split(), text=text, label=(), need_labels=need_labels, where="t.csv", sides=sides)


@pytest.mark.parametrize(
    ("names", "columns"),
    [
        ("Text_A id text_b", Columns("Text_A", (), ("text_b",))),
        ("text_c text_b text_a", Columns("text_a", (), ("text_b", "text_c"))),
        ("sentence1 sentence2 label", Columns("sentence1", ("label",), ("sentence2",))),
        ("question1 question2", Columns("question1", (), ("question2",))),
        ("premise hypothesis", Columns("premise", (), ("hypothesis",))),
        ("anchor positive negative", Columns("anchor", (), ("positive", "negative"))),
    ],
)
def test_common_names(names: str, columns: Columns) -> None:
    assert find(names) == find(names, "each") == find(names, "any") == columns
    assert find(names, "two") == Columns(columns.text, columns.labels, columns.others[:1])  # a label is for two texts
    with pytest.raises(PairsError, match=r"hold pairs of texts, but single texts are needed here; name one"):
        find(names, "one")


def test_named_columns_win() -> None:
    assert find("text_a text_b x y", text=("y", "x")) == Columns("y", (), ("x",))
    assert find("text x", "any") == Columns("text", ())
    assert find("text_a text_b", "one", text=("text_b",)) == Columns("text_b", ())


@pytest.mark.parametrize(
    ("names", "sides", "text", "message"),
    [
        ("text label", "pairs", (), r"pairs of texts are needed.*columns: 'text', 'label'.*--text A --text B"),
        ("text other", "pairs", ("text",), "--text names only 'text'; name the column"),
        ("a b c d", "pairs", ("a", "b", "c", "d"), "names 4 columns; a row has at most three"),
        ("a b", "pairs", ("a", "a"), "--text names the column 'a' twice"),
        ("a b", "pairs", ("a", "bb"), "there is no column 'bb'"),
        ("a b label", "one", ("a", "b"), r"--text names 2 columns \('a', 'b'\), but single texts are needed here"),
        (
            "a b c label",
            "two",
            ("a", "b", "c"),
            "names 3 columns; a labelled row has one text or a pair; name at most two",
        ),
    ],
)
def test_ambiguous_columns_are_an_error(names: str, sides: Sides, text: tuple[str, ...], message: str) -> None:
    with pytest.raises(DataError, match=f"^t.csv: .*{message}"):
        find(names, sides, text)


def test_a_frame_and_tuples_give_the_same_table() -> None:
    rows = list(TRIPLES.itertuples(index=False, name=None))
    tables = [read_table(source, sides="pairs", need_labels=False) for source in (TRIPLES, rows, np.array(rows))]
    for table in tables:
        assert (table.texts, table.others) == (["a a", "b b"], (["c c", "d d"], ["e e", "f f"]))
    assert len({content_hash([table]) for table in tables}) == 1
    two = read_table(TRIPLES, text=["positive", "negative"], sides="pairs", need_labels=False)
    assert (two.texts, two.others) == (["c c", "d d"], (["e e", "f f"],))


@pytest.mark.parametrize("sides", ["pairs", "each", "any"])
def test_an_empty_side_is_refused(sides: Sides, tmp_path) -> None:
    path = tmp_path / "t.csv"
    path.write_text("anchor,positive\na,b\nc, \n")
    with pytest.raises(DataError, match=r"t.csv, row 2 \(line 3\), column 'positive': the text is empty"):
        read_table(path, sides=sides, need_labels=False)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([("a", "b"), ("c",)], "rows of 1 text and 2 texts"),
        ([("a", "b"), "c"], "rows of 1 text and 2 texts"),
        ([("a", "b", "c", "d")], "rows of 4 texts"),
        ([("a", ""), ("b", "c")], "row 1: the text is empty"),
        (["a", "b"], r"pairs of texts are needed here; give them as tuples"),
    ],
)
def test_tuples_of_another_kind(rows: list[object], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_table(rows, sides="pairs", need_labels=False)


def test_tuples_where_single_texts_are_needed() -> None:
    with pytest.raises(PairsError, match="these are pairs of texts, but single texts are needed here"):
        read_table(([("a", "b")], ["x"]))


def test_pairs_with_labels_for_both_texts() -> None:
    pairs = pd.DataFrame({"text_a": ["a", "b"], "text_b": ["c", "d"], "text_c": ["e", "f"], "label": ["x", "y"]})
    for source in (pairs, ([("a", "c"), ("b", "d")], ["x", "y"])):
        table = read_table(source, sides="two")
        assert (table.texts, table.others, table.labels) == (["a", "b"], (["c", "d"],), ["x", "y"])
        turned = table.take(np.array([1, 0]))
        assert (turned.texts, turned.others, turned.labels) == (["b", "a"], (["d", "c"],), ["y", "x"])
    single = read_table((["a", "b"], ["x", "y"]), sides="two")
    assert (single.texts, single.others, single.labels) == (["a", "b"], (), ["x", "y"])


@pytest.mark.parametrize("rows", [[("a", "b", "c")], [("a", "b"), "c"], [("a", "b"), ("c",)]])
def test_a_labelled_row_is_a_text_or_a_pair(rows: list[object]) -> None:
    with pytest.raises(DataError, match="table: rows must have one text or a pair of texts; found rows of "):
        read_table((rows, ["x"] * len(rows)), sides="two")


def test_each_side_as_its_own_row() -> None:
    table = read_table(TRIPLES.assign(label=["x", "y"]), sides="each", need_labels=False)
    assert table.texts == ["a a", "c c", "e e", "b b", "d d", "f f"]
    assert table.others == ()
    assert table.labels is None
    assert table.row_numbers(np.array([0, 2, 3])).tolist() == [1, 1, 2]
    plain = Table("t", ["a"], ["x"])
    assert plain.flat() is plain


def test_rows_keep_their_further_texts() -> None:
    taken = TABLE.take(np.array([2, 0]))
    assert (taken.texts, taken.others) == (["c", "a"], (["f", "d"], ["i", "g"]))
    assert list(taken.all_texts) == ["c", "a", "f", "d", "i", "g"]


def test_equal_rows_are_equal_in_all_their_texts() -> None:
    table = Table("t", ["a", "A", "a", "b"], others=(["b", "B ", "c", "a"],))
    same = table.same.tolist()
    assert same[0] == same[1]
    assert len(set(same)) == 3
    assert Table("t", ["a", "b"]).same.tolist() == Table("t", ["A", "b "]).same.tolist()
    part = hygiene({"train": table}).parts["train"]
    assert (part.rows, part.repeated, part.near_empty) == (4, 1, 4)


def test_the_hash_includes_further_texts() -> None:
    tables = [
        Table("t", ["a", "b"]),
        Table("t", ["a", "b"], others=(["c", "d"],)),
        Table("t", ["a", "b"], others=(["d", "c"],)),
        Table("t", ["a", "c"], others=(["b", "d"],)),
        Table("t", ["a", "b"], others=(["c"], ["d"])),
    ]
    assert len({content_hash([table]) for table in tables}) == 5


@given(rows=st.one_of(*(st.lists(st.tuples(*[ANY_TEXT] * width), min_size=1, max_size=6) for width in (2, 3))))
@settings(max_examples=40, deadline=None)
def test_wild_rows_are_kept_or_refused(rows: list[tuple[str, ...]]) -> None:
    try:
        table = read_table(rows, sides="pairs", need_labels=False)
    except DataError as error:
        assert "row " in str(error)  # noqa: PT017
        return
    assert [*zip(*table.sides, strict=True)] == rows
    order = np.arange(len(rows))[::-1]
    assert [*zip(*table.take(order).sides, strict=True)] == rows[::-1]
    assert table.take(order).same.tolist() == table.same[order].tolist()
    assert table.flat().texts == [text for row in rows for text in row]
    assert len({content_hash([table]), content_hash([table.flat()]), content_hash([Table("t", table.texts)])}) == 3
    assert hygiene({"train": table}).parts["train"].rows == len(rows)


# --- named datasets ---------------------------------------------------------------------------------------------------


def write_split(folder, name: str, content: str) -> None:
    (folder / name).mkdir()
    (folder / name / "train.csv").write_text(content)


def test_named_pairs_and_triples(tmp_path) -> None:
    write_split(tmp_path, "stsb", "text_a,text_b,label\na,b,2.5\nc,d,0.1\n")
    write_split(tmp_path, "nli_triples", "text_a,text_b,text_c\na,b,c\n")
    write_split(tmp_path, "goemotions", "text,label\na,x|y\nb,z\n")
    where = {"data_dir": tmp_path, "need_labels": False}
    stsb = read_dataset("stsb", sides="pairs", **where).train
    assert (stsb.texts, stsb.others, stsb.labels) == (["a", "c"], (["b", "d"],), [2.5, 0.1])
    both = read_table("stsb", sides="two", data_dir=tmp_path)
    assert (both.texts, both.others, both.labels) == (stsb.texts, stsb.others, stsb.labels)
    assert stsb.columns == Columns("text_a", ("label",), ("text_b",))
    assert read_dataset("nli-triples", sides="pairs", **where).train.others == (["b"], ["c"])
    assert read_dataset("nli-triples", sides="each", **where).train.texts == ["a", "b", "c"]
    assert read_dataset("goemotions", sides="each", **where).train.labels == [frozenset("xy"), frozenset("z")]
    assert read_dataset("stsb", sides="each", **where).train.labels is None
    assert read_dataset("stsb", text="text_b", **where).train.texts == ["b", "d"]
    with pytest.raises(DataError, match="'goemotions' holds single texts, but pairs of texts are needed here"):
        read_dataset("goemotions", sides="pairs", **where)


@pytest.mark.parametrize("card", [card for card in named_datasets() if card.several_texts], ids=lambda card: card.name)
def test_pairs_and_triples_are_refused_by_name_where_single_texts_are_needed(card: Card) -> None:
    content = rf"dataset '{card.name}' holds .* \(kind '{card.kind}'\)"
    with pytest.raises(LabelError, match=f"{content}, but single texts are needed here; use --recipe .*mnr"):
        read_dataset(card.name)
    if card.kind == "triple":
        with pytest.raises(LabelError, match=f"{content}; to learn from triples use --recipe mnr"):
            read_dataset(card.name, sides="two")


# --- plain lines ------------------------------------------------------------------------------------------------------


def test_a_text_file_has_one_text_per_line(tmp_path) -> None:
    path = tmp_path / "lines.txt"
    path.write_bytes('\ufefffirst, with a comma\r\n\r\n  \n"second\n\u2028third\n'.encode())
    table = read_table(path, need_labels=False)
    assert table.texts == ["first, with a comma", '"second', "\u2028third"]
    assert table.name == "lines"
    assert table.labels is None


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a\n\n\xff\n", "t.txt, line 3: invalid UTF-8; save the file as UTF-8"),
        (b"a\nb\0c\n", "t.txt, line 2: a NUL character"),
        (b" \n\n", "t.txt is empty"),
    ],
)
def test_bad_text_files(tmp_path, content: bytes, message: str) -> None:
    (tmp_path / "t.txt").write_bytes(content)
    with pytest.raises(DataError, match=message):
        read_table(tmp_path / "t.txt", need_labels=False)
