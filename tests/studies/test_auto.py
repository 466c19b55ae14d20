"""Choosing a recipe without training: candidates, rounds, survivors, the choice, and the time limit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from phasefit.errors import RecipeError
from phasefit.recipes import read_recipe
from phasefit.recipes.settings import parse_settings
from phasefit.runs.recipe.resolve import requested_recipe
from phasefit.runs.specification import AUTO, RunSpec
from phasefit.studies.auto import run_auto
from phasefit.studies.auto.candidates import REFERENCE, DataFacts, candidates_for, facts_of, left_out
from phasefit.studies.auto.halving import (
    Choice,
    affordable,
    choose,
    choose_once,
    folds_for,
    gain,
    predicted,
    rounds_for,
    survivors,
)
from phasefit.studies.auto.report import AutoResult, as_json, as_markdown, conclusion
from phasefit.studies.auto.run_auto import choose_recipe, final_spec
from phasefit.studies.auto.trial_data import prepare_tables
from phasefit.studies.cell import Cell
from phasefit.studies.pool import CellEnded, CellError
from phasefit.studies.result import Result
from specs import run_spec
from tiny import make_table

PLAIN = DataFacts(2000, "single", 10)
KINDS = [
    PLAIN,
    replace(PLAIN, kind="tree"),
    replace(PLAIN, kind="multi", imbalance=20.0),
    replace(PLAIN, kind="score", classes=0),
    replace(PLAIN, pairs=True),
    replace(PLAIN, rows=100, unlabelled=500, long_share=0.5),
]


@pytest.mark.parametrize("facts", KINDS)
def test_candidates_can_be_read_and_the_reference_comes_first(facts: DataFacts) -> None:
    candidates = candidates_for(facts)
    assert candidates[0].name == REFERENCE
    assert len({one.name for one in candidates}) == len(candidates) >= 3
    for one in candidates:
        read_recipe(one.recipe, one.settings).check_files()
        assert one.why


def test_candidates_follow_from_the_data() -> None:
    def names(**facts: Any) -> set[str]:
        return {one.name for one in candidates_for(replace(PLAIN, **facts))}

    assert "few-shot" in names(rows=500)
    assert "few-shot" not in names(rows=50_000)
    assert "label-names" in names(readable_names=True)
    assert "label-names" not in names()
    assert "finetune, balanced" in names(imbalance=9.0)
    assert "finetune, balanced" not in names()
    assert "denoise-finetune" in names(unlabelled=100)
    assert "finetune, head-tail" in names(long_share=0.4)
    pairs = {"finetune", "tfidf", "frozen", "finetune, lr 3e-5", "finetune, lr 3e-4", "finetune, together"}
    assert names(pairs=True) == pairs


def test_settings_apply_to_every_recipe_that_has_them_and_unknown_ones_are_refused() -> None:
    candidates = {
        one.name: one for one in candidates_for(PLAIN, parse_settings(("finetune.epochs=2", "contrast.epochs=1")))
    }
    assert candidates["frozen"].settings == candidates["tfidf"].settings == {}
    assert candidates[REFERENCE].settings == {"finetune.epochs": 2}
    assert candidates["three-phase"].settings["contrast.epochs"] == 1
    with pytest.raises(RecipeError, match="epochs"):
        candidates_for(PLAIN, parse_settings(("finetune.epoch=2",)))
    with pytest.raises(RecipeError, match="mirror"):
        candidates_for(PLAIN, parse_settings(("mirror.epochs=2",)))


@pytest.mark.parametrize(
    ("setting", "gone"),
    [
        ("finetune.lr=5e-5", ["finetune, lr 3e-5", "finetune, lr 3e-4"]),
        ("finetune.lr=0.00003", ["finetune, lr 3e-5", "finetune, lr 3e-4"]),
        ("max_length=64", ["tfidf"]),
        ("finetune.head=linear", []),
    ],
)
def test_a_candidate_that_set_makes_pointless_is_left_out_and_reported(setting: str, gone: list[str]) -> None:
    names = {one.name for one in candidates_for(PLAIN)}
    candidates = candidates_for(PLAIN, parse_settings((setting,)))
    assert {one.name for one in candidates} == names - {*gone}
    assert [line.partition(":")[0] for line in left_out(PLAIN, parse_settings((setting,)))] == gone
    assert len({read_recipe(one.recipe, one.settings).to_toml() for one in candidates}) == len(candidates)


def test_rounds_grow_and_end_on_all_rows() -> None:
    assert folds_for(499) == 5
    assert folds_for(40) == 3
    assert folds_for(500) is None
    assert [one.repeats for one in rounds_for(300, 3)] == [1, 3, 5]
    assert [one.repeats for one in rounds_for(40, 3)] == [1, 3]
    assert [(one.rows, one.repeats) for one in rounds_for(9000, 5)] == [
        (333, 1),
        (1000, 1),
        (3000, 1),
        (9000, 1),
        (9000, 3),
    ]
    assert [(one.rows, one.repeats) for one in rounds_for(9000, 100)] == [(1000, 1), (3000, 1), (9000, 1), (9000, 3)]
    assert max(one.rows for one in rounds_for(10**6, 5)) == 20_000
    for rows in (30, 300, 700, 5000):
        assert rounds_for(rows, 2)[-1].whole
        assert rounds_for(rows, 2)[-1].repeats > 1  # one comparison knows no noise


def test_a_third_survives_together_with_the_reference() -> None:
    scores = {REFERENCE: 0.1, **{f"c{number}": number / 10 for number in range(1, 10)}}
    assert survivors(scores, REFERENCE, last=False) == [REFERENCE, "c7", "c8", "c9"]
    assert survivors(scores, REFERENCE, last=True) == [REFERENCE, "c8", "c9"]
    tie = {REFERENCE: 0.5, "cheap": 0.5, "dear": 0.5, "dearest": 0.5}
    assert survivors(tie, REFERENCE, last=False) == [REFERENCE, "cheap", "dear"]


def test_the_worst_candidates_are_dropped_first_when_time_is_short() -> None:
    costs, finals = {REFERENCE: 10.0, "a": 10.0, "b": 10.0}, {REFERENCE: 20.0, "a": 20.0, "b": 60.0}
    order = [REFERENCE, "a", "b"]
    assert affordable(order, costs, finals, 100.0, 1) == order
    assert affordable(order, costs, finals, 80.0, 1) == [REFERENCE, "a"]  # the final run of b would not fit
    assert affordable(order, costs, finals, 5.0, 1) == [REFERENCE]
    assert predicted(10.0, 100, 300) == pytest.approx(39.0)
    assert predicted(10.0, 100, 50) == pytest.approx(13.0)


def test_a_challenger_wins_only_by_more_than_the_noise() -> None:
    base = {0: 0.80, 1: 0.82, 2: 0.84}
    # Differences .03, .01, .02: mean .02, spread .01, error .01 * sqrt(1/3 + .25) = .00764.
    measured = gain({0: 0.83, 1: 0.83, 2: 0.86}, base, 0.25)
    assert measured is not None
    assert (measured.mean, measured.error) == (pytest.approx(0.02), pytest.approx(0.0076376, rel=1e-4))
    assert choose({REFERENCE: base, "other": {0: 0.83, 1: 0.83, 2: 0.86}}, REFERENCE, 0.25).name == "other"
    noisy = {0: 0.90, 1: 0.75, 2: 0.84}
    noise = choose({REFERENCE: base, "noisy": noisy}, REFERENCE, 0.25)
    assert noise.name == REFERENCE
    assert noise.why.startswith("noisy is better by +0.0100 (standard error")
    assert noise.why.endswith("which is within noise")
    assert choose({REFERENCE: base, "once": {0: 0.99}}, REFERENCE, 0.25).name == REFERENCE
    assert choose({REFERENCE: base, "worse": {0: 0.7, 1: 0.7, 2: 0.7}}, REFERENCE, 0.25).name == REFERENCE
    assert choose({REFERENCE: base, "same": dict(base)}, REFERENCE, 0.25).name == REFERENCE
    assert choose({REFERENCE: base}, REFERENCE, 0.25).name == REFERENCE


class Clock:
    """A clock that only cells advance."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


Score = Callable[[Cell], float | str]


@pytest.fixture
def choosing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[AutoResult, list[Cell], RunSpec]]:
    """Choose with cells that advance the clock instead of training."""
    monkeypatch.chdir(tmp_path)

    def run(rows: int, minutes: float, score: Score, each: float = 10.0) -> tuple[AutoResult, list[Cell], RunSpec]:
        texts, labels = make_table(rows)
        texts = [f"{text} {number}" for number, text in enumerate(texts)]
        pd.DataFrame({"text": texts, "label": labels}).to_csv("topics.csv", index=False)
        clock, seen = Clock(), list[Cell]()

        def stream(
            next_cell: Callable[[], Cell | None],
            cache: Path,
            ended: Callable[[CellEnded], None],
            watch: Callable[[Cell, Path], bool],
            **_: Any,
        ) -> None:
            while (cell := next_cell()) is not None:
                clock.now += 0.0 if cell.key in {one.key for one in seen} else each  # cached results take no time
                seen.append(cell)
                if watch(cell, cache):
                    ended(CellEnded(cell))
                    continue
                outcome = score(cell)
                if isinstance(outcome, str):
                    ended(CellEnded(cell, why=outcome))
                else:
                    trained = cell.spec.split.rows or rows
                    ended(
                        CellEnded(cell, Result({"test": {"accuracy": outcome}}, {"train": trained}, False, each, 1.0))
                    )

        monkeypatch.setattr(run_auto, "run_stream", stream)
        monkeypatch.setattr(run_auto, "time", clock)
        request = run_spec("topics.csv", recipe=AUTO, threads=1)
        return choose_recipe(request, minutes, lambda _: None), seen, request

    return run


def better(name: str) -> Score:
    return lambda cell: 0.9 + cell.spec.seed / 1000 if cell.variant == name else 0.8


Choosing = Callable[..., tuple[AutoResult, list[Cell], RunSpec]]


@pytest.mark.parametrize("rows", [120, 1200])
def test_the_better_one_is_chosen_without_test_rows(choosing: Choosing, rows: int) -> None:
    tried, seen, request = choosing(rows, 600, better("one-phase"))
    assert tried.chosen is not None
    assert (tried.chosen.name, tried.whole) == ("one-phase", True)
    final = final_spec(request, tried)
    assert (final.recipe.name, final.data.source, final.seed) == ("one-phase", "topics.csv", 0)
    test = prepare_tables(request).test
    assert test is not None
    secret = {*test.texts}
    for path in {cell.spec.option(part) for cell in seen for part in ("data", "test")} - {None}:
        assert not secret & {*pd.read_parquet(path)["text"]}, path
    last = max(entry.round for entry in tried.entries)
    assert {entry.candidate for entry in tried.entries if entry.round == last} >= {REFERENCE, "one-phase"}
    assert len({entry.candidate for entry in tried.entries if entry.round == last}) <= 3


def test_an_eliminated_candidate_is_not_chosen(choosing: Choosing) -> None:
    def score(cell: Cell) -> float:
        """`frozen` beats finetune in folds 1 to 3, by less than two others, which the rest of the folds ruin."""
        gains = {"frozen": 0.02, "one-phase": 0.04, "triple-entropy": 0.03}
        late = cell.spec.split.fold is not None and cell.spec.split.fold[0] > 3
        return 0.8 + (
            -0.3 if late and cell.variant in ("one-phase", "triple-entropy") else gains.get(cell.variant, 0.0)
        )

    tried, _, _ = choosing(120, 600, score)
    dropped = [entry.round for entry in tried.entries if entry.candidate == "frozen" and not entry.kept]
    assert dropped == [2]
    assert tried.chosen is not None
    assert tried.chosen.name == REFERENCE


def test_the_same_seed_tries_the_same_cells(choosing: Choosing) -> None:
    first = choosing(700, 600, better("few-shot"))
    second = choosing(700, 600, better("few-shot"))
    assert [cell.key for cell in first[1]] == [cell.key for cell in second[1]]
    assert first[0].choice == second[0].choice


def test_other_rows_of_the_same_table_are_another_choice(choosing: Choosing) -> None:
    tried, _, request = choosing(120, 600, better("few-shot"))
    other = choose_recipe(request.replace(test_size=0.3), 600, lambda _: None)
    assert other.folder != tried.folder
    test = prepare_tables(request.replace(test_size=0.3)).test
    assert test is not None
    assert not {*test.texts} & {*pd.read_parquet(Path(other.folder) / "rows" / "all.parquet")["text"]}


def test_finetune_is_chosen_if_nothing_is_better(choosing: Choosing) -> None:
    tried, _, _ = choosing(120, 600, lambda cell: 0.8)
    assert tried.choice is not None
    assert tried.choice.name == REFERENCE
    assert "no candidate is better" in tried.choice.why


def test_finetune_is_chosen_if_time_is_too_short(choosing: Choosing) -> None:
    tried, seen, request = choosing(120, 0.0, better("few-shot"))
    assert not seen
    assert final_spec(request, tried).recipe.name == REFERENCE
    assert "Chosen: finetune; there was no time to try any candidate" in conclusion(tried)
    assert "more --minutes" in conclusion(tried)


def test_what_was_measured_counts_if_time_is_too_short_for_finetune(choosing: Choosing) -> None:
    scores = {"tfidf": 0.7, "frozen": 0.98}
    tried, seen, request = choosing(120, 0.75, lambda cell: scores.get(cell.variant, 0.5))
    assert [cell.variant for cell in seen] == ["tfidf", "frozen", "finetune"]
    assert tried.chosen is not None
    assert (tried.chosen.name, tried.whole) == ("frozen", False)
    assert final_spec(request, tried).recipe.name == "frozen"
    machine = final_spec(request.replace(precision="bf16", compile=True), tried).machine
    assert (machine.precision, machine.compile) == ("auto", False), "which frozen refuses, because it trains no encoder"
    assert "Chosen: frozen; with 0.9800 the best of 2 candidates measured; finetune did not finish" in conclusion(tried)
    assert "more --minutes" in conclusion(tried)
    assert tried.seconds <= 45


def test_a_baseline_that_wins_is_the_answer(choosing: Choosing) -> None:
    tried, _, request = choosing(120, 600, better("tfidf"))
    final = final_spec(request, tried)
    assert (final.recipe.name, final.recipe.settings) == ("tfidf", {})
    once, _, _ = choosing(120, 1.3, better("frozen"))
    assert once.choice is not None
    assert once.choice.name == "frozen"
    assert "measured once, which is more than noise" in once.choice.why


def test_one_comparison_is_noisy() -> None:
    assert choose_once({REFERENCE: 0.80, "other": 0.82}, REFERENCE, 0.03).name == REFERENCE
    assert choose_once({REFERENCE: 0.80, "other": 0.84}, REFERENCE, 0.03).name == "other"
    assert choose_once({REFERENCE: 0.80, "other": 0.80}, REFERENCE, 0.03).name == REFERENCE
    assert choose_once({"other": 0.1}, REFERENCE, 0.03) == Choice(
        "other", "with 0.1000 the best of 1 candidate measured; finetune did not finish in the time"
    )


def test_a_first_round_leaves_time_to_compare(choosing: Choosing) -> None:
    tried, _, _ = choosing(120, 4, better("finetune, lr 3e-4"))
    untried = [entry.candidate for entry in tried.entries if entry.round == 1 and entry.score is None]
    assert untried[-1] == "three-phase"  # the slowest comes last
    assert max(entry.round for entry in tried.entries if entry.score is not None) == 3
    assert tried.chosen is not None
    assert tried.chosen.name == "finetune, lr 3e-4"
    assert tried.seconds <= 240 - 28  # the final run: 15 s to start and 13 s of training


def test_a_failed_candidate_is_reported_and_a_failed_reference_is_an_error(choosing: Choosing) -> None:
    tried, _, _ = choosing(120, 600, lambda cell: "no memory" if cell.variant == "three-phase" else 0.8)
    entry = next(entry for entry in tried.entries if entry.candidate == "three-phase")
    assert (entry.kept, entry.why) == (False, "failed: no memory")
    assert tried.whole
    with pytest.raises(CellError, match="finetune: no memory"):
        choosing(120, 600, lambda cell: "no memory")


def test_the_choice_is_written_to_markdown_and_json(choosing: Choosing) -> None:
    tried, _, _ = choosing(120, 600, better("few-shot"))
    text = as_markdown(tried, "phasefit train topics.csv --recipe auto")
    assert "Chosen: few-shot; better than finetune by +0.1000" in text
    assert text.count("| 1 | ") == len(tried.candidates)
    assert '"all_rounds": true' in as_json(tried)


def test_facts_leave_out_the_test_rows(tmp_path: Path) -> None:
    texts, labels = make_table(sizes=(60, 15, 15))
    frame = pd.DataFrame({"text": [f"{text} {row}" for row, text in enumerate(texts)], "label": labels})
    facts = facts_of(prepare_tables(run_spec(frame)))
    assert (facts.rows, facts.classes, facts.kind, facts.pairs) == (81, 3, "single", False)
    assert facts.imbalance == pytest.approx(4.0, abs=0.3)


def test_auto_is_not_a_recipe_itself() -> None:
    with pytest.raises(RecipeError, match="recipe 'auto' is chosen by trials"):
        requested_recipe(run_spec(None, recipe=AUTO))
