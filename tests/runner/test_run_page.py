"""report.html of runs of every kind."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pages import KINDS, made_run
from phasefit.runner.page.run_content import Limits, RunContent
from phasefit.runner.page.run_page import run_page, write_run_page

LARGEST = 3_000_000
EXPECTED = {
    "single": {"Result", "Confusion", "Classes", "Reliability", "Mistakes", "Labels to check"},
    "multi": {"Result", "Classes", "Reliability", "Mistakes", "Labels to check"},
    "tree": {"Result", "Confusion", "Classes", "Reliability", "Mistakes", "Labels to check"},
    "score": {"Result", "Scores", "Largest errors"},
    "levels": {"Result", "Scores", "Confusion", "Classes", "Largest errors"},
    "pairs": {"Result", "Confusion", "Classes", "Reliability", "Mistakes", "Labels to check"},
    "encoder": {"Result"},
    "tasks": {"Result", "Task topic", "Task <b>rating</b>"},
}
ALWAYS = {"Embedding map", "Training", "Data", "Recipe", "Environment", "Repeat it"}


def titles(run: RunContent) -> set[str]:
    return {section.title for section in run_page(run, Limits()).sections if any(section.content)}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_has_its_sections(kind: str, tmp_path: Path) -> None:
    run = made_run(kind)
    assert titles(run) == EXPECTED[kind] | ALWAYS
    for name in ("one.html", "two.html"):
        write_run_page(tmp_path / name, run)
    page = (tmp_path / "one.html").read_text(encoding="utf-8")
    assert page == (tmp_path / "two.html").read_text(encoding="utf-8")
    assert len(page.encode()) < LARGEST
    assert "<b>rating</b>" not in page
    assert "phasefit train &lt;data&gt;" in page


def test_mistakes_stand_with_their_text_the_surest_first() -> None:
    run = made_run("single", ["<i>odd</i>"])
    mistakes = next(section for section in run_page(run, Limits()).sections if section.title == "Mistakes")
    shown = str(mistakes.content[0])
    assert "&lt;i&gt;odd&lt;/i&gt;" in shown
    sure = [float(value) for value in re.findall(r'data-sort="(0\.\d+)"', shown)]
    assert sure
    assert sure == sorted(sure, reverse=True)
    assert len(sure) == -(-len(run.prepared.test or ()) // 5)  # every fifth row is wrong


def test_both_texts_of_a_pair_are_shown() -> None:
    mistakes = next(s for s in run_page(made_run("pairs"), Limits()).sections if s.title == "Mistakes")
    assert 'class="pair"' in str(mistakes.content[0])


def test_a_run_whose_outputs_are_not_known_says_so() -> None:
    page = run_page(replace(made_run("single"), outputs={}), Limits()).html()
    assert page.count("is not known: the run was stopped and resumed") == 2


def test_a_run_without_anything_has_a_page() -> None:
    run = replace(made_run("encoder"), snapshots=None, layouts={}, history=[], metrics={}, manifest={})
    assert "Embedding map" not in titles(run)
    assert "The run is an encoder" in run_page(run, Limits()).html()


def test_scores_of_a_refitted_run_are_those_of_the_first_fit() -> None:
    run = made_run("single")
    page = run_page(replace(run, metrics={**run.metrics, "refit": {"rows": 60}}), Limits()).html()
    assert "trained anew on all 60 rows" in page


@pytest.mark.parametrize("letter", ["x", '"', "字", "<", "🙂"])
def test_the_page_stays_small_whatever_the_data(letter: str, tmp_path: Path) -> None:
    names = [f"{letter * 200}{number}" for number in range(150)]
    run = made_run("single", [letter * 5000], names, rows=1500)
    write_run_page(tmp_path / "report.html", run)
    assert (tmp_path / "report.html").stat().st_size < LARGEST


ODD = ["<script>alert(1)</script>", "</script>", "' \" & <!--", "\x00\x1b", "שלום", "__proto__", "@ink"]


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.sampled_from(["single", "multi", "tree"]), st.lists(st.sampled_from(ODD), min_size=3, max_size=3, unique=True)
)
def test_odd_texts_and_classes_stay_text(kind: str, odd: list[str]) -> None:
    page = run_page(made_run(kind, odd, odd, rows=45), Limits()).html()
    page.encode()
    assert "<script>alert" not in page
    assert page.count("</script>") == page.count("<script")
