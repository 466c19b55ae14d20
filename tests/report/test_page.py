"""The elements of pages: texts of users are shown and never parsed as markup."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markupsafe import Markup

from phasefit.control_characters import escape_controls as clean
from phasefit.report.facts.confusion import Confusion
from phasefit.report.limits import MOST_IN_MATRIX
from phasefit.report.page.chart import Chart
from phasefit.report.page.parts import Cell, Column, Figure
from phasefit.report.page.plots import Line, Point, Spot, interval_plot, line_plot, scatter_plot
from phasefit.report.page.render import asset, environment, json_block, plain, render
from phasefit.report.page.shell import Page, Section, write_page
from phasefit.report.text import shortened

PARTS: Any = environment().globals["parts"]
ODD = [
    "<script>alert(1)</script>",
    "</script><b>",
    "\"quoted' & <!--",
    "\x00\x1b[0m",
    "\ud800 half",
    "שלום \u202e",
    "]]>",
]
TEXTS = st.one_of(st.sampled_from(ODD), st.text(), st.text(st.characters(codec=None), max_size=20))


class Read(HTMLParser):
    """The elements of a page with their attributes, its texts, and its blocks of data."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[str] = []
        self.data: list[str] = []
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.data.append(data)
        else:
            self.texts.append(data)


def everything(text: str) -> Page:
    """A page that has this text everywhere a text can be."""
    rows = [[text, 0.5, text], [Cell(text, text), None, None]]
    plots = [
        interval_plot([Spot(text, text, 0.5, 0.4, 0.6, 0.5, text), Spot("x", text, 0.5)], text, text, text),
        scatter_plot([Point(text, 1, 2, [text])], text, text, text),
        line_plot([Line(text, [(0, 1, 0.5, 1.5), (1, None)])], text, text, text),
    ]
    content = [
        PARTS.figures([Figure(text, text, (0.1, 0.2), text)]),
        PARTS.facts({text: text, "more": {text: [text, 1.5]}}),
        PARTS.code(text, text),
        PARTS.notes([text]),
        PARTS.quiet(text),
        PARTS.unfolded(text, caller=lambda: PARTS.bdi(text)),
        PARTS.titled(text, caller=lambda: PARTS.quiet(text)),
        PARTS.table([Column(text, note=text), Column("n", "number", 2, bar=True), Column("long", "long")], rows, text),
        confusion([text, f"{text} "], [[1, 1], [0, 2]], 5),
        *map(PARTS.chart, plots),
    ]
    return Page(text, text, [Section(text, Markup().join(content)), Section(text, Markup().join(content))])


def confusion(names: list[str], matrix: list[list[int]], most: int) -> Markup:
    facts = Confusion.of({"labels": names, "matrix": matrix})
    pairs = None if len(names) <= MOST_IN_MATRIX else facts.pairs(most)
    return render("run/confusion.html", confusion=facts, pairs=pairs)


def skeleton(read: Read) -> list[str]:
    return [name for name, _ in read.elements]


@settings(deadline=None, max_examples=60)
@given(TEXTS)
def test_no_text_becomes_markup(text: str) -> None:
    page = everything(f"a{text}").html().replace(asset("echarts.min.js"), "")
    page.encode()  # no lone surrogate
    assert "\x00" not in page
    read = Read(page)
    assert skeleton(read) == skeleton(Read(everything("plain").html()))
    assert {name for _, attributes in read.elements for name in attributes if name.startswith("on")} == set()
    for block in read.data:
        if block.startswith("{"):
            assert "<" not in block
            json.loads(block)


@given(TEXTS)
def test_data_survive_json(text: str) -> None:
    block = str(json_block({"text": text, "many": [text]}))
    inside = block.removeprefix('<script type="application/json">').removesuffix("</script>")
    assert json.loads(inside) == {"text": clean(text), "many": [clean(text)]}


def test_texts_are_shown_literally() -> None:
    for text in ODD:
        assert clean(text) in Read(everything(text).html()).texts
    assert clean("a\x00b\ud800c\x85") == r"a\u0000b\ud800c\u0085"
    assert shortened("abcdef", 4) == "abc…"


def test_numbers_that_are_not_finite_do_not_break_the_data() -> None:
    assert plain([float("nan"), float("inf"), 0.123456789, 2.0]) == [None, None, 0.12346, 2]


def test_the_page_refers_to_nothing_outside() -> None:
    page = everything("text").html()
    read = Read(page)
    for name, attributes in read.elements:
        for key in ("src", "href", "action", "data", "poster", "srcset"):
            value = attributes.get(key)
            assert value is None or value.startswith(("#", "data:")), f"{name} {key}={value}"
    own = page.replace(asset("echarts.min.js"), "")
    assert not re.findall(r"url\(|@import|fetch\(|XMLHttpRequest|importScripts", own)
    policy = next(a["content"] for name, a in read.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    assert policy.startswith("default-src 'none'")


def test_the_page_works_with_a_screen_reader() -> None:
    read = Read(everything("text").html())
    names = [name for name, _ in read.elements]
    levels = [int(name[1]) for name in names if re.fullmatch("h[1-6]", name)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))
    assert {"main", "nav", "header"} <= set(names)
    assert ("html", {"lang": "en"}) in read.elements
    ids = [attributes["id"] for _, attributes in read.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    for _, attributes in read.elements:
        if attributes.get("role") in ("img", "region"):
            assert attributes.get("aria-label")


def test_tables_state_their_sort_order() -> None:
    drawn = PARTS.table([Column("name"), Column("F1", "number", 3)], [["a", 0.5], ["b", None]], "scores")
    read = Read(drawn)
    heads = [attributes for name, attributes in read.elements if name == "th" and attributes.get("scope") == "col"]
    assert [head["aria-sort"] for head in heads] == ["none", "none"]
    assert 'data-sort="0.5"' in drawn
    with pytest.raises(ValueError, match="zip"):
        PARTS.table([Column("name")], [["a", "b"]], "uneven")


def test_pages_without_charts_contain_no_plotting_library(tmp_path: Path) -> None:
    write_page(tmp_path / "page.html", Page("small", "", [Section("one", PARTS.quiet("x"))]))
    small = (tmp_path / "page.html").stat().st_size
    write_page(tmp_path / "page.html", Page("large", "", [Section("one", PARTS.chart(Chart({"series": []}, "x")))]))
    assert small < 40_000 < 700_000 < (tmp_path / "page.html").stat().st_size


def test_many_classes_are_shown_as_pairs() -> None:
    names = [f"class {number}" for number in range(40)]
    matrix = [[5 if row == column else 0 for column in range(40)] for row in range(40)]
    matrix[3][7] = 4
    drawn = confusion(names, matrix, 10)
    assert "class 3" in drawn
    assert "class 7" in drawn
    assert "class 5" not in drawn
    assert not confusion(names, np.eye(40, dtype=int).tolist(), 10)


def test_zeros_and_long_names_of_a_matrix_can_be_read() -> None:
    rules = dict(re.findall(r"^(\.matrix [^{]+) \{ ([^}]*) \}", asset("page.css"), re.MULTILINE))
    assert rules[".matrix .none"] == "color: var(--faint);", "the grid's colour would hide them"
    names = rules[".matrix tbody th bdi"]  # the element that holds the text is the one that can cut it
    assert all(rule in names for rule in ("max-width", "overflow: hidden", "text-overflow: ellipsis", "nowrap"))


def test_attributes_and_children_are_escaped() -> None:
    element = '<a href="{{ link }}" hidden{{ {"title": none} | attributes }}>{{ text }}</a>'
    drawn = environment().from_string(element).render(link='"x', text="<")
    assert drawn == '<a href="&#34;x" hidden>&lt;</a>'
    assert environment().filters["attributes"]({"title": '"x\x00'}) == ' title="&#34;x\\u0000"'


def test_every_template_can_be_read_and_escapes() -> None:
    names = environment().list_templates()
    assert {"page.html", "parts.html", "run/result.html", "study/result.html"} <= set(names)
    assert environment().autoescape is True
    for name in names:
        environment().get_template(name)
        source = (files("phasefit.report.page") / "templates" / name).read_text(encoding="utf-8")
        assert not re.search(r"\|\s*safe\b|autoescape", source), f"{name} must leave escaping to the environment"
