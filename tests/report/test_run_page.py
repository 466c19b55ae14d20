"""report.html of runs of every kind."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pages import KINDS, made_run
from phasefit.report.facts.run import RunFacts
from phasefit.report.limits import Limits
from phasefit.report.page.run_page import run_page, write_run_page

pytestmark = pytest.mark.pictures

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
ALWAYS = {"Embedding map", "Training", "Data", "Recipe", "Environment", "Reproduce"}


def titles(run: RunFacts) -> set[str]:
    return {section.title for section in run_page(run, Limits()).sections if section.body}


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


def test_mistakes_are_listed_with_texts_most_confident_first() -> None:
    run = made_run("single", ["<i>odd</i>"])
    mistakes = next(section for section in run_page(run, Limits()).sections if section.title == "Mistakes")
    shown = str(mistakes.body)
    assert "&lt;i&gt;odd&lt;/i&gt;" in shown
    probabilities = [float(value) for value in re.findall(r'data-sort="(0\.\d+)"', shown)]
    assert probabilities
    assert probabilities == sorted(probabilities, reverse=True)
    assert len(probabilities) == -(-len(run.prepared.test or ()) // 5)  # every fifth row is wrong


def test_both_texts_of_a_pair_are_shown() -> None:
    mistakes = next(s for s in run_page(made_run("pairs"), Limits()).sections if s.title == "Mistakes")
    assert 'class="pair"' in str(mistakes.body)


def test_missing_outputs_are_explained() -> None:
    page = run_page(replace(made_run("single"), outputs={}), Limits()).html()
    assert page.count("are not available: the run was stopped and resumed") == 2


def test_a_run_without_anything_has_a_page() -> None:
    run = replace(made_run("encoder"), snapshots=None, layouts={}, history=[], metrics={}, manifest={})
    assert "Embedding map" not in titles(run)
    assert "This run trained an encoder" in run_page(run, Limits()).html()


def test_scores_of_a_refitted_run_are_those_of_the_first_fit() -> None:
    run = made_run("single")
    page = run_page(replace(run, metrics={**run.metrics, "refit": {"rows": 60}}), Limits()).html()
    assert "trained again from scratch on all 60 rows" in page


def section(run: RunFacts, title: str) -> str:
    return str(next(section for section in run_page(run, Limits()).sections if section.title == title).body)


def charts(drawn: str) -> list[dict[str, Any]]:
    blocks = re.findall(r'<script type="application/json"[^>]*>(.*?)</script>', drawn, re.DOTALL)
    return [json.loads(one) for one in blocks]


def test_each_task_has_its_own_line_next_to_the_mean() -> None:
    scores = {"mean": 0.6, "topic macro_f1": 0.7, "rating pearson": 0.5}
    evaluation = {"phase": "multitask", "step": 10, "scores": scores, "watch": "mean", "improved": True}
    chart = charts(section(replace(made_run("tasks"), history=[evaluation]), "Training"))[-1]
    assert [group["name"] for group in chart["groups"]] == ["mean of the tasks", "topic macro F1", "rating pearson"]
    assert len({group["colour"] for group in chart["groups"]}) == 3
    assert [series["data"] for series in chart["option"]["series"]] == [[[10, 0.6]], [[10, 0.7]], [[10, 0.5]]]
    assert "min" not in chart["option"]["yAxis"], "the range of the mean would cut the others off"


def test_the_map_of_several_tasks_is_coloured_by_task() -> None:
    run = made_run("tasks")
    topic = run.prepared.tasks["topic"]
    offset = len(topic.train) + len(topic.validation or ())
    assert run.snapshots is not None
    places = np.arange(len(run.snapshots.rows))
    run.snapshots.rows = places + np.where(places % 2, offset, 0)  # every other one belongs to the second task
    chart = charts(section(run, "Embedding map"))[0]
    assert [group["name"] for group in chart["groups"]] == ["topic", "<b>rating</b>"]
    assert chart["option"]["series"][1]["rows"] == list(range(1, len(run.snapshots.rows), 2))
    assert "the nearest other text is in the same task." in chart["stages"][0]["note"]


def test_the_data_of_each_task_have_their_own_rows() -> None:
    shown = section(made_run("tasks"), "Data")
    rows = re.findall(r'<tr><th scope="row"><bdi dir="auto">(.*?)</bdi></th><td><bdi dir="auto">(.*?)</bdi>', shown)
    each = [(task, part) for task in ("topic", "&lt;b&gt;rating&lt;/b&gt;") for part in ("train", "validation", "test")]
    assert rows == each
    assert "<h3>Task topic</h3>" in shown


def test_levels_are_shown_by_name() -> None:
    run = made_run("levels")
    errors = section(run, "Largest errors")
    assert re.search(r'<td data-sort="[\d.-]+"><bdi dir="auto">(music|weather|food)</bdi></td>', errors)
    tips = [point["tip"][0] for point in charts(section(run, "Scores"))[0]["option"]["series"][0]["data"]]
    assert all(re.fullmatch(r"true (music|weather|food), predicted (music|weather|food) \(.*\)", tip) for tip in tips)


@pytest.mark.parametrize(("kind", "group"), [("single", "class"), ("levels", "level"), ("score", "range of scores")])
def test_the_map_names_what_neighbours_share(kind: str, group: str) -> None:
    stages = charts(section(made_run(kind), "Embedding map"))[0]["stages"]
    assert all(f"the nearest other text is in the same {group}." in stage["note"] for stage in stages)


def test_each_level_of_a_tree_has_its_macro_f1() -> None:
    shown = section(made_run("tree"), "Result")
    assert all(f"{score} at level {level}" in shown for score in ("accuracy", "macro F1") for level in (1, 2))


def test_the_map_of_pairs_counts_pairs_and_shows_both_texts() -> None:
    run = made_run("pairs")
    assert run.snapshots is not None
    run.snapshots.codes = np.full_like(run.snapshots.codes, -1)  # as a run of pairs has them
    shown = section(run, "Embedding map")
    assert f"{len(run.snapshots.rows)} training pairs, each at the position of its first text" in shown
    train = run.prepared.train
    assert charts(shown)[0]["rows"] == [list(pair) for pair in zip(*train.sides, strict=True)]


@pytest.mark.parametrize("letter", ["x", '"', "字", "<", "🙂"])
def test_the_page_stays_small_for_any_data(letter: str, tmp_path: Path) -> None:
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
