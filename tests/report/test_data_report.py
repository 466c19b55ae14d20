"""data.json, and the data section of the model card."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from markdown_it import MarkdownIt

from phasefit.data.hygiene import hygiene, lengths
from phasefit.data.table import Table
from phasefit.models.tokens.truncation import Truncation
from phasefit.report.card.card import data_paragraphs, model_card
from phasefit.runs.results import write_hygiene

HYGIENE = hygiene(
    {
        "train": Table("t", ["a *b*", "A *B*", "c|d e"], ["x", "<y>", "x"]),
        "test": Table("t", ["c|d e"], ["x"]),
        "unlabelled": Table("t", ["more"]),
    }
)
CUT = Truncation(8, 3, 1, 40, 10, lengths(np.array([18, 12, 10])))


def test_data_json_is_complete(tmp_path: Path) -> None:
    write_hygiene(tmp_path, HYGIENE, CUT)
    content = json.loads((tmp_path / "data.json").read_text())
    assert content["parts"]["train"]["repeated"] == 1
    assert content["overlaps"][0]["rows"] == 1
    assert content["tokens"]["lost_share"] == 0.25
    assert content["tokens"]["lengths"]["most"] == 18
    write_hygiene(tmp_path, HYGIENE)
    assert "tokens" not in json.loads((tmp_path / "data.json").read_text())


def test_the_card_lists_what_to_check() -> None:
    card = model_card(
        name="n", recipe_toml="", manifest={}, metrics={}, classes=["x"], data={"rows": {"train": 3}}, pictures=(),
        about_data=data_paragraphs(HYGIENE, CUT),
    )  # fmt: skip
    section = card.partition("## Data")[2].partition("## ")[0]
    html = MarkdownIt("commonmark").enable("table").render(section)
    assert html.count("<table>") == 2
    assert "<td>train</td>" in html
    for note in (
        "'a *b*' is 'x' in row 1, '&lt;y&gt;' in row 2",
        "1 of the 1 test texts are also training texts",
        "1 of 3 texts are longer than 8 tokens and are cut: 25.0 % of all tokens are lost",
    ):
        assert note in html
