"""The words that led to mistakes, in reports of every kind."""

from __future__ import annotations

from dataclasses import replace

import pytest

from explaining import AnyKind
from pages import KINDS, made_run
from phasefit.report.facts import words
from phasefit.report.facts.words import mistake_words
from phasefit.report.limits import Limits
from phasefit.report.page.run_page import run_page

EVIL = ["<img src=x onerror=alert(1)> \x1b good bad", "</script> שלום \u202e <b>film</b>"]


def body(run, title: str = "Words that led to mistakes") -> str:
    sections = [section for section in run_page(run, Limits()).sections if section.body]
    return "".join(section.body for section in sections if section.title == title or section.title.startswith("Task"))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "encoder"])
def test_every_kind_shows_the_words(kind: str) -> None:
    run = made_run(kind, EVIL)
    found = mistake_words(run, AnyKind(run.prepared))
    assert set(found) == set(run.prepared.tasks or ["default"])
    assert 0 < sum(len(own.rows) for own in found.values()) <= words.MOST
    page = body(replace(run, words=found))
    assert "pf-words" in page
    assert "random words by" in page or "a random word by" in page
    assert "<img" not in page
    assert "</script> " not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    assert replace(run, words=found).words == mistake_words(run, AnyKind(run.prepared)), "the same each time"


def test_a_refitted_model_is_not_explained() -> None:
    run = made_run("single")
    assert mistake_words(replace(run, metrics={**run.metrics, "refit": {"rows": 3}}), AnyKind(run.prepared)) == {}
    assert body(run) == ""


def test_the_work_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    run = made_run("single", ["word " * 300])
    assert mistake_words(run, AnyKind(run.prepared))["default"].rows
    monkeypatch.setattr(words, "WORK", 10)
    assert mistake_words(run, AnyKind(run.prepared)) == {}
