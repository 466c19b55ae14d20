"""Claims of a paper as data: read from text, judged by paired tests, shown everywhere."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from phasefit.errors import RecipeError
from phasefit.studies.cell import Cell
from phasefit.studies.claim import Claim, parse_claim
from phasefit.studies.claim_verdicts import ClaimVerdict, claim_verdicts, shown
from phasefit.studies.result import Result
from phasefit.studies.run_study import write_files
from phasefit.studies.scaling import Selection, scale_study
from phasefit.studies.statistics import paired
from phasefit.studies.study import Data, Published, Study, TableSpec, Variant
from phasefit.studies.study_reading import list_studies, parse_study
from phasefit.studies.tables import fill

VARIANTS, DATASETS = ("base", "more | less", "A in B"), ("SNIPS", "SST-5")
MANY = {"train": 8 * 10**10, "test": 2 * 10**10}  # rows whose choice has no effect
SCORES = {  # by variant, a figure for each seed
    "base": [0.80, 0.82, 0.81, 0.80],
    "better": [0.90, 0.93, 0.91, 0.91],
    "similar": [0.79, 0.84, 0.80, 0.82],
}


@pytest.mark.parametrize(
    ("text", "left", "right", "dataset"),
    [
        ("a > b > base on SNIPS in test.accuracy", "a > b", "base", "SNIPS"),
        ("base < a > b on tweets on SNIPS in test.accuracy", "a > b", "base", "tweets on SNIPS"),
        ("a > b > c < base on SNIPS in test.accuracy", "base", "a > b > c", "SNIPS"),
    ],
)
def test_names_with_signs_and_words_of_the_form(text: str, left: str, right: str, dataset: str) -> None:
    one = parse_claim(text, ("base", "a > b", "a > b > c"), ("SNIPS", "tweets on SNIPS"), "test")
    assert (one.left, one.right, one.dataset) == (left, right, dataset)


def test_a_claim_that_can_be_read_in_two_ways() -> None:
    with pytest.raises(RecipeError, match="is not a claim"):
        parse_claim("a > b > c on SNIPS in test.accuracy", ("a", "a > b", "b > c", "c"), ("SNIPS",), "test")


def claim(text: str) -> Claim:
    return parse_claim(text, tuple(SCORES), ("SNIPS",), "test")


def study(*texts: str, **changes: Any) -> Study:
    published = (Published("Large", {"SNIPS": {"base": 90.0, "better": 95.5}}),)
    known: dict[str, Any] = {
        "datasets": (Data("SNIPS", {"data": "snips"}),),
        "variants": tuple(
            Variant(name, recipe) for name, recipe in zip(SCORES, ("majority", "tfidf", "frozen"), strict=True)
        ),
        "seeds": (0, 1, 2, 3),
        "tables": (TableSpec("T", "test.accuracy", published=published),),
        "claims": tuple(claim(text) for text in texts),
    }
    return Study("s", "S", **(known | changes))


def result_of(cell: Cell) -> Result:
    accuracy = SCORES[cell.variant][cell.spec.seed]
    metrics = {"test": {"accuracy": accuracy, "log_loss": 1 - accuracy}}
    return Result(metrics, rows=MANY, own_test=False, seconds=60.0, memory_mb=500.0)


def judged(one: Study, without: tuple[str, ...] = ()) -> list[ClaimVerdict]:
    cells = one.cells()
    return claim_verdicts(one, cells, {cell.key: result_of(cell) for cell in cells if cell.name not in without})


def test_a_claim_is_read_from_its_text() -> None:
    one = parse_claim("A in B > more | less on SST-5 in test.macro_f1", VARIANTS, DATASETS, "f")
    assert (one.left, one.right, one.dataset, one.score) == ("A in B", "more | less", "SST-5", "test.macro_f1")
    less = parse_claim("A in B < base on SNIPS in test.log_loss", VARIANTS, DATASETS, "f")
    assert (less.left, less.right) == ("base", "A in B")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("base is good", "'base is good' is not a claim; write it as LEFT > RIGHT on DATASET in SCORE"),
        ("base > a > b on SNIPS in test.accuracy", "is not a claim"),
        ("bas > A in B on SNIPS in test.accuracy", "there is no variant 'bas'; did you mean 'base'?"),
        ("base > base on SNIPS in test.accuracy", "'base' is compared with itself"),
        ("base > A in B on SNIP in test.accuracy", "there is no dataset 'SNIP'; did you mean 'SNIPS'?"),
        ("base > A in B on SNIPS in test.acuracy", "unknown score 'test.acuracy'"),
        ("base > A in B on SNIPS in accuracy", "unknown score 'accuracy'"),
        ("A in B < base on SNIPS in test.accuracy", "it repeats claim 1; remove one of them"),
    ],
)
def test_a_wrong_claim_is_refused_with_its_place(text: str, message: str) -> None:
    content = {
        "title": "t",
        "dataset": {name: {"data": "snips"} for name in DATASETS},
        "variant": {name: {"recipe": "finetune"} for name in VARIANTS},
        "claim": [{"text": "base > A in B on SNIPS in test.accuracy"}, {"text": text}],
    }
    with pytest.raises(RecipeError) as error:
        parse_study(content, "own.toml")
    assert str(error.value).startswith("own.toml, claim 2: ")
    assert message in str(error.value)


def test_claims_hold_fail_or_are_undecided_by_the_paired_test() -> None:
    texts = ("better > base", "base > better", "better < base", "similar > base")
    one = study(*(f"{text} on SNIPS in test.accuracy" for text in texts))
    verdicts = judged(one)
    assert [verdict.verdict for verdict in verdicts] == ["holds", "does not hold", "does not hold", "undecided"]
    raw = paired(SCORES["better"], SCORES["base"], overlap=0.25)
    assert raw.p is not None
    assert verdicts[0].p == pytest.approx(4 * raw.p)
    assert (verdicts[0].difference, verdicts[0].low) == (pytest.approx(raw.mean), pytest.approx(raw.low))
    assert (verdicts[0].cells, verdicts[0].planned) == (8, 8)
    assert (verdicts[0].published, verdicts[0].published_model) == (pytest.approx(0.055), "Large")
    assert (verdicts[3].published, verdicts[3].published_model) == (None, None)


def test_our_expectations_are_marked_and_do_not_count_against_the_paper() -> None:
    text = "better > base on SNIPS in test.accuracy"
    ours = replace(claim("similar > base on SNIPS in test.accuracy"), ours=True)
    paper, own = judged(study(text, claims=(claim(text), ours)))
    assert paper.p == pytest.approx(paired(SCORES["better"], SCORES["base"], overlap=0.25).p)
    assert shown(own)[1] == "our expectation"
    assert shown(paper)[1] == "+5.5 points, Large"
    assert [one.to_json()["ours"] for one in (paper, own)] == [False, True]
    content = {
        "title": "t",
        "dataset": {"SNIPS": {"data": "snips"}},
        "variant": {name: {"recipe": "finetune"} for name in ("better", "base")},
        "claim": [{"text": text, "ours": True}, {"text": text}],
    }
    claims = scale_study(parse_study(content, "own.toml"), "own", Selection()).study.claims
    assert [one.ours for one in claims] == [True, False]


def test_claims_about_losses_are_about_numbers() -> None:
    (verdict,) = judged(study("better < base on SNIPS in test.log_loss"))
    assert verdict.verdict == "holds"
    assert shown(verdict)[2].startswith("-0.1050 [-")  # the first variant of the text minus the second
    assert (verdict.claim.left, verdict.difference) == ("base", pytest.approx(0.105))
    assert shown(replace(verdict, difference=0.0, low=None))[2] == "+0.0000", "equal losses have no sign"
    (other,) = judged(study("base < better on SNIPS in test.accuracy"))
    assert (other.verdict, shown(other)[1]) == ("holds", "-5.5 points, Large")


def test_without_all_cells_a_claim_counts_as_not_run() -> None:
    text = "better > base on SNIPS in test.accuracy"
    (partly,) = judged(study(text), without=("base on SNIPS, seed 3",))
    assert (partly.verdict, partly.p, partly.low) == ("not run", None, None)
    assert partly.difference == pytest.approx(0.1033, abs=1e-4)
    assert shown(partly)[2] == "so far +10.33 points"
    assert shown(partly)[-2:] == ["7 of 8", "not run (7 of 8 cells are in)"]
    (none,) = judged(study(text, variants=study().variants[1:]))
    assert (none.verdict, none.planned) == ("not run", 0)
    assert "not part of the selected scale" in none.reason
    (unscored,) = judged(study("better > base on SNIPS in test.macro_f1"))
    assert (unscored.verdict, unscored.reason) == ("not run", "no run has a score 'test.macro_f1'")
    (once,) = judged(study(text, seeds=(0,)))
    assert once.verdict == "undecided"
    base, better, similar = study().variants
    apart = (replace(base, seeds=(0, 1)), replace(better, seeds=(2, 3)), similar)
    (unpaired,) = judged(study(text, variants=apart))
    assert (unpaired.verdict, unpaired.reason) == ("not run", "its two variants have no seed in common")


def test_a_score_that_some_runs_lack_gives_no_verdict() -> None:
    one = study("better > base on SNIPS in test.accuracy")
    cells = one.cells()
    results = {cell.key: result_of(cell) for cell in cells}
    lacking = next(cell.key for cell in cells if cell.name == "base on SNIPS, seed 3")
    results[lacking] = replace(results[lacking], metrics={"test": {"log_loss": 0.2}})
    (verdict,) = claim_verdicts(one, cells, results)
    assert (verdict.verdict, verdict.p, verdict.difference) == ("not run", None, None)
    assert shown(verdict)[-2:] == ["8 of 8", "not run (1 of 8 runs have no score 'test.accuracy')"]
    (correlation,) = judged(study("better > base on SNIPS in test.spearman"))
    assert correlation.reason == "no run has a score 'test.spearman'"


def test_a_variant_with_fewer_seeds_is_compared_on_these() -> None:
    base, better, similar = study().variants
    one = study("better > base on SNIPS in test.accuracy", variants=(base, replace(better, seeds=(0, 1, 2)), similar))
    assert len(one.cells()) == 11
    (verdict,) = judged(one, without=("base on SNIPS, seed 3",))
    assert (verdict.verdict, verdict.planned) == ("holds", 6)


def test_cells_of_the_first_claims_are_run_first() -> None:
    one = study("similar > better on SNIPS in test.accuracy", folds=2)
    order = [(cell.spec.seed, cell.variant, (cell.spec.split.fold or (0,))[0]) for cell in one.cells()]
    assert order[:6] == [
        *((0, "better", 1), (0, "similar", 1), (0, "better", 2)),
        *((0, "similar", 2), (0, "base", 1), (0, "base", 2)),
    ]
    assert {cell.key for cell in one.cells()} == {cell.key for cell in study(folds=2).cells()}


def test_verdicts_are_in_every_file(tmp_path: Path) -> None:
    one = study("better > base on SNIPS in test.accuracy", "similar > base on SNIPS in test.accuracy")
    cells = one.cells()
    results = {cell.key: result_of(cell) for cell in cells}
    tables = [fill(one, spec, cells, results) for spec in one.tables]
    write_files(tmp_path, one, tables, cells, results, "c", [], claims=claim_verdicts(one, cells, results))
    text = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "## Claims" in text
    assert r"| better \> base on SNIPS in test.accuracy | +5.5 points, Large | +10.5 points \[" in text
    assert "| 8 of 8 | holds |" in text
    content = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))
    assert [(found["left"], found["right"], found["verdict"]) for found in content["claims"]] == [
        ("better", "base", "holds"),
        ("similar", "base", "undecided"),
    ]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Claims" in page
    assert "better &gt; base on SNIPS in test.accuracy" in page
    assert "undecided" in page


def test_a_study_without_claims_has_no_section(tmp_path: Path) -> None:
    one = study()
    cells = one.cells()
    results = {cell.key: result_of(cell) for cell in cells}
    write_files(tmp_path, one, [fill(one, one.tables[0], cells, results)], cells, results, "c", [])
    assert "Claims" not in (tmp_path / "results.md").read_text(encoding="utf-8")
    assert "Claims" not in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_every_packaged_study_has_claims_that_its_full_scale_can_judge() -> None:
    for info in list_studies():
        full = scale_study(info.file, info.name, Selection()).study
        assert full.claims, info.name
        planned = {(cell.dataset, cell.variant) for cell in full.cells()}
        for one in full.claims:
            assert {(one.dataset, one.left), (one.dataset, one.right)} <= planned, one.text
