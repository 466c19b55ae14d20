from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from markdown_it import MarkdownIt

from phasefit.metrics import classification_metrics
from phasefit.metrics.registry import METRICS
from phasefit.report.card.card import PICTURES, model_card, phase_rows
from phasefit.report.card.markdown import escape, fence
from phasefit.report.facts.curves import phase_results
from phasefit.report.facts.geometry import geometry_reading

NAMES = ["Book|Restaurant", "*weather*", "<b>ride</b>", "line\nbreak"]


def split(levels: Any = None) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return classification_metrics(np.arange(40) % 4, rng.dirichlet(np.ones(4), size=40), NAMES, levels)


def card(**changes: Any) -> str:
    given: dict[str, Any] = {
        "name": "snips",
        "recipe_toml": '# Three phases\n[[phase]]\nkind = "finetune"\n',
        "manifest": {
            "format": 1,
            "command": "phasefit train snips --seed 3",
            "model": "sentence-transformers/all-MiniLM-L6-v2",
            "versions": {"python": "3.11.7", "torch": "2.13.0"},
            "threads": 2,
        },
        "metrics": {
            "validation": split(),
            "test": split(),
            "phases": [{"name": "finetune", "steps": 1200, "seconds": 12.34, "best": {"macro_f1": 0.9123}}],
        },
        "classes": NAMES,
        "data": {"name": "snips", "rows": {"train": 229, "test": 33}, "sha256": "ab12"},
    }
    return model_card(**(given | changes))


def tables(text: str) -> list[list[list[str]]]:
    """Return the tables of a Markdown text as rows of cells of plain text."""
    tables: list[list[list[str]]] = []
    tokens = MarkdownIt("commonmark", {"html": True}).enable("table").parse(text)
    before = ""
    for token in tokens:
        if token.type == "table_open":
            tables.append([])
        elif token.type == "tr_open":
            tables[-1].append([])
        elif before in ("td_open", "th_open"):
            assert all(child.type in ("text", "text_special") for child in token.children or ())
            tables[-1][-1].append("".join(child.content for child in token.children or ()))
        before = token.type
    return tables


def test_front_matter_is_what_the_hub_reads() -> None:
    _, front, _ = card().split("---\n", 2)
    meta = yaml.safe_load(front)
    assert meta["library_name"] == "phasefit"
    assert meta["pipeline_tag"] == "text-classification"
    assert meta["base_model"] == "sentence-transformers/all-MiniLM-L6-v2"
    assert "phasefit" in meta["tags"]


def test_headline_has_both_splits_and_the_interval() -> None:
    results = {row[0]: row[1:] for row in tables(card())[0]}
    test = split()
    low, high = test["accuracy_ci95"]
    assert results[""] == ["validation", "test"]
    assert results["accuracy"] == [f"{test['accuracy']:.4f} ({low:.4f} to {high:.4f})"] * 2
    assert results["macro F1"] == [f"{test['macro_f1']:.4f}"] * 2
    assert results["calibration error"] == [f"{test['ece']:.4f}"] * 2
    assert results["rows"] == ["40", "40"]


def test_class_names_cannot_break_a_table() -> None:
    rows = tables(card())[1]
    assert [row[0] for row in rows[1:]] == ["Book|Restaurant", "*weather*", "<b>ride</b>", "line break"]
    assert {len(row) for row in rows} == {5}


def test_phases_data_and_environment_are_shown() -> None:
    phases, data, environment = tables(card())[2:]
    assert phases[1] == ["finetune", "1,200", "12.3", "macro F1 0.9123"]
    assert ["rows", "train 229, test 33"] in data
    assert ["versions", "python 3.11.7, torch 2.13.0"] in environment
    assert "phasefit train snips --seed 3" in card()


def test_usage_shows_every_way_in() -> None:
    text = card(name="my run")
    assert 'phasefit predict "my run" texts.csv' in text
    assert 'TextClassifier.load("my run")' in text
    assert 'SentenceTransformer("my run/encoder")' in text


def test_pictures_are_those_that_exist() -> None:
    assert "![confusion matrix](confusion.png)" in card()
    assert "](history.png)" not in card(pictures=["confusion.png"])


@pytest.mark.parametrize("file", PICTURES)
def test_each_picture_is_shown_explained_and_linked_as_svg(file: str) -> None:
    tokens = MarkdownIt("commonmark").parse(card(pictures=[file]))
    children = [child for token in tokens for child in token.children or ()]
    assert [child.attrGet("src") for child in children if child.type == "image"] == [file]
    assert Path(file).with_suffix(".svg").name in [child.attrGet("href") for child in children]
    assert PICTURES[file].reading in card(pictures=[file])


def test_tree_levels_are_in_the_headline() -> None:
    levels = [("a", "x"), ("a", "y"), ("b", "x"), ("b", "y")]
    scores = split(levels)
    results = {row[0]: row[1:] for row in tables(card(metrics={"test": scores}))[0]}
    for place, level in enumerate(scores["levels"], start=1):
        assert results[f"accuracy at level {place}"] == [f"{level['accuracy']:.4f}"]
        assert results[f"macro F1 at level {place}"] == [f"{level['macro_f1']:.4f}"]
    assert results["hierarchical F1"] == [f"{scores['hierarchical_f1']:.4f}"]


def test_many_classes_are_counted() -> None:
    scores = split() | {"per_class": {f"c{code}": split()["per_class"]["*weather*"] for code in range(61)}}
    assert "61 classes; `metrics.json` has the scores" in card(metrics={"test": scores})


def test_almost_everything_is_optional() -> None:
    text = card(manifest={}, metrics={}, data={}, classes=["a", "b"], pictures=[])
    assert "# snips" in text
    assert "## Results" not in text
    assert "base_model" not in text


def test_an_encoder_without_a_classifier() -> None:
    stages = {"before training": {"texts": 9, "uniformity": -3.0}, "simcse": {"texts": 9, "uniformity": -3.5}}
    text = card(metrics={"geometry": stages}, classes=(), pictures=["history.png"])
    meta = yaml.safe_load(text.split("---\n", 2)[1])
    assert meta["pipeline_tag"] == "sentence-similarity"
    assert "feature-extraction" in meta["tags"]
    assert "text-classification" not in text
    assert "A sentence encoder" in text
    assert "phasefit embed snips texts.csv" in text
    assert 'SentenceTransformer("snips/encoder")' in text
    assert "TextClassifier" not in text
    assert "## Classes" not in text
    assert tables(text)[0] == [
        ["", "before training", "simcse", "how to read it"],
        ["uniformity", "-3.0000", "-3.5000", METRICS["uniformity"].reading_without_labels],
    ]


@pytest.mark.parametrize(
    ("figures", "included", "excluded"),
    [
        ({"uniformity": -1.0}, "spread texts over the whole space", "class"),
        ({"uniformity": -1.0, "alignment": 1.0, "pairs": 3}, "the two texts of a pair closer together", "class"),
        ({"within": 0.5, "alignment": 1.0}, "texts of a class closer together (alignment falls)", "silhouette"),
        ({"within": 0.5, "alignment": 1.0, "silhouette": 0.1}, "silhouette rises", "pair"),
        ({"between": 0.5}, "should move apart", "alignment"),
    ],
)
def test_the_measured_geometry_is_explained(figures: dict[str, float], included: str, excluded: str) -> None:
    read = geometry_reading({"before training": figures})
    assert read in card(metrics={"geometry": {"before training": figures}}, pictures=["geometry.png"])
    assert included in read
    assert excluded not in read


def test_a_folder_is_not_a_base_model() -> None:
    assert "base_model" not in card(manifest={"model": "/models/mine"})
    assert "base_model" not in card(manifest={"model": "../mine"})


@pytest.mark.parametrize(
    "text", ["plain", "a|b", "a\\|b", "&lt;", "`code`", "[x](y)", "<script>", "# no heading", "back\\slash", "日本"]
)
def test_escaped_text_is_shown_as_it_is(text: str) -> None:
    assert tables(f"| a |\n|-|\n| {escape(text)} |") == [[["a"], [text]]]


def test_a_fence_is_longer_than_any_fence_inside() -> None:
    assert fence("a ```` b", "toml").startswith("`````toml\n")
    assert fence("a", "toml").startswith("```toml\n")


def test_a_discarded_phase_is_marked() -> None:
    phase = {"name": "denoise", "steps": 4, "seconds": 1.0, "watch": "probe", "best": {"probe": 0.9}, "reverted": True}
    assert phase_rows([phase]) == [
        ["denoise", "4", "1.0", "probe (macro F1) 0.9000, no improvement, changes discarded"]
    ]
    (result,) = phase_results([phase])
    assert result.kept == "probe (macro F1) 0.9000, no improvement, changes discarded"
