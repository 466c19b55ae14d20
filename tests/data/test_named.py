"""Named datasets: the packaged ones in full; the others by their cards, and by their files if present."""

from __future__ import annotations

from pathlib import Path

import pytest

from phasefit.data import label_space, named_datasets, read_dataset, read_table
from phasefit.data.io.frames import read_frame
from phasefit.data.labels import LABEL_KINDS
from phasefit.data.named.cards import SEVERAL_TEXTS, Card, find_card, locate, read_card
from phasefit.data.named.summary import describe
from phasefit.data.sources import read_test
from phasefit.errors import DataError, LabelError

CARDS = named_datasets()
NAMES = [card.name for card in CARDS]


@pytest.mark.parametrize("card", CARDS, ids=NAMES)
def test_every_card_is_consistent(card: Card) -> None:
    assert card.kind in {*LABEL_KINDS, *SEVERAL_TEXTS, "none"}
    assert card.label_kind in {*LABEL_KINDS, None}
    assert (card.label_kind is None) == (card.kind in ("triple", "none"))
    assert (card.label == ()) == (card.label_kind is None)
    assert set(card.splits) <= {"train", "validation", "test", "unlabelled"}
    assert set(card.rows) <= set(card.splits)
    assert card.title
    assert card.description
    assert card.hub is None or "/" in card.hub
    assert find_card(card.name) is card
    assert find_card(card.folder) is not None


@pytest.mark.parametrize(("name", "folder"), [("snips", "snips_built_in_intents"), ("snips2", "snips7")])
def test_packaged(no_data: None, name: str, folder: str) -> None:
    data = read_dataset(name)
    rows = {part: len(table) for part in ("train", "validation", "test") if (table := getattr(data, part))}
    assert data.name == name
    assert data.card is not None
    assert rows == dict(data.card.rows)
    assert data.train.labels is not None
    assert len(label_space(data.train.labels)) == data.card.classes
    assert read_dataset(folder).sha256 == data.sha256
    if "test" in rows:
        assert read_table(name, split="test").name == f"{name}-test"


def test_describe_packaged(no_data: None) -> None:
    description = describe("snips")
    assert (description.rows, description.classes, description.longest_words) == ({"train": 328}, 10, 20)
    assert description.imbalance == pytest.approx(4.4, abs=0.05)
    assert description.mean_words == pytest.approx(9.3, abs=0.05)
    assert sum(description.counts.values()) == 328
    assert description.where is not None
    same = describe(read_table("snips"))
    assert same.counts == description.counts
    assert same.where is None


def test_describe_a_dataset_that_is_not_here(no_data: None) -> None:
    description = describe("trec-fine")
    assert description.where is None
    assert (description.rows, description.classes, description.counts) == ({"train": 5452, "test": 500}, 50, {})


def test_known_but_not_here(no_data: None) -> None:
    with pytest.raises(DataError) as caught:
        read_dataset("trec-fine")
    assert str(caught.value) == (
        "dataset 'trec-fine' is known but its files are not on this machine; set PHASEFIT_DATA (or --data-dir) "
        "to the folder that holds 'trec', or use hub:CogComp/trec --label fine_label"
    )


def test_a_card_states_the_kind_of_its_labels(tmp_path: Path, no_data: None) -> None:
    _write(tmp_path / "goemotions" / "train.csv", "text,label\na,x|y\nb,z\n")
    _write(tmp_path / "stsb" / "train.csv", "text_a,text_b,label\na,b,2\nc,d,5\n")
    assert read_table("goemotions", data_dir=tmp_path).labels == [frozenset("xy"), frozenset("z")]
    assert read_table("goemotions", data_dir=tmp_path, kind="single").labels == ["x|y", "z"]
    scores = read_table("stsb", data_dir=tmp_path, sides="two").labels
    assert scores == [2.0, 5.0]
    assert {type(score) for score in scores or ()} == {float}


def test_columns_and_splits_of_the_cards(tmp_path: Path, no_data: None) -> None:
    frame = read_frame(_write(tmp_path / "trec" / "train.csv", "text,label,label_1,label_2\nq,A/x,A,x\nr,B/y,B,y\n"))
    assert read_table("trec", data_dir=tmp_path).labels == ["A", "B"]
    assert read_table("trec-fine", data_dir=tmp_path).labels == ["A/x", "B/y"]
    assert read_table("trec-tree", data_dir=tmp_path).labels == [("A", "x"), ("B", "y")]
    assert read_table("trec", data_dir=tmp_path, label=["label_2"]).labels == ["x", "y"]
    assert read_table("trec-tree", data_dir=tmp_path, tree="/").labels == [("A", "x"), ("B", "y")]
    assert read_table(tmp_path / "trec").labels == ["A", "B"]  # the folder itself is the same dataset
    for split in ("train", "validation", "test"):
        _write(tmp_path / "sst2_glue_phrases" / f"{split}.csv", f"text,label\n{split},a\n{split} 2,b\n")
    data = read_dataset("sst2-phrases", data_dir=tmp_path)
    assert data.validation is None
    assert data.test is not None
    assert data.test.texts[0] == "validation"
    assert data.unlabelled is not None
    assert data.unlabelled.texts[0] == "test"
    _write(tmp_path / "mine" / "train.csv", "text,label\nq,A\n")
    assert read_dataset("mine", data_dir=tmp_path).name == "mine"
    assert len(frame) == 2


def test_a_dataset_that_is_only_scored(tmp_path: Path, no_data: None) -> None:
    _write(tmp_path / "simlex999" / "test.csv", "text_a,text_b,label,pos\nold,new,1.58,A\nsmart,clever,9.2,A\n")
    table = read_test("simlex999", data_dir=tmp_path, sides="two")
    assert (table.sides[1], table.labels) == (["new", "clever"], [1.58, 9.2])
    description = describe("simlex999", data_dir=tmp_path)
    assert (description.rows, description.mean_words) == ({"test": 2}, 1.0)
    with pytest.raises(DataError, match="no split 'train'; it has test; to score an encoder on it: phasefit evaluate"):
        read_dataset("simlex999", data_dir=tmp_path, sides="two")


def test_the_test_table_or_the_only_one(tmp_path: Path, no_data: None) -> None:
    _write(tmp_path / "subj" / "train.csv", "text,label\na,x\nb,y\n")
    assert read_test("subj", data_dir=tmp_path).texts == ["a", "b"]
    _write(tmp_path / "subj" / "test.csv", "text,label\nc,x\n")
    assert read_test("subj", data_dir=tmp_path).texts == ["c"]


def test_words_without_labels(tmp_path: Path, no_data: None) -> None:
    _write(tmp_path / "words_en" / "train.csv", "text\nthe\nof\n")
    train = read_dataset("words-en", data_dir=tmp_path, need_labels=False).train
    assert (train.texts, train.labels) == (["the", "of"], None)
    assert describe("words_en", data_dir=tmp_path).rows == {"train": 2}
    with pytest.raises(LabelError, match="holds texts without labels; to learn from them use --recipe simcse or mirr"):
        read_dataset("words-en", data_dir=tmp_path)


def test_a_card_with_an_unknown_field(tmp_path: Path) -> None:
    path = _write(tmp_path / "x.toml", 'name = "x"\ncolour = 1\n')
    with pytest.raises(DataError, match=r"x.toml: unknown field 'colour'"):
        read_card(path)


@pytest.mark.parametrize("card", [card for card in CARDS if card.name != "imdb"], ids=lambda card: card.name)
def test_cards_match_the_files(shared_data: Path, card: Card) -> None:
    if locate(card) is None:
        pytest.skip(f"{card.folder} is not under PHASEFIT_DATA")
    description = describe(card.name)
    assert description.rows == dict(card.rows)
    assert description.classes == card.classes
    if description.rows.get("train", 10_000) < 10_000:
        data = read_dataset(card.name, sides="any", need_labels=card.kind != "triple")
        assert {name: len(getattr(data, name)) for name in description.rows} == description.rows
        if data.train.labels is not None:
            assert label_space(data.train.labels).kind == card.label_kind


def _write(path: Path, content: str) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return path
