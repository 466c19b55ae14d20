"""The league without its rivals: freezing, keys, order, rows, ledger, tables and pictures, on made-up results."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))

import contest  # noqa: E402
import league  # noqa: E402
import league_freeze  # noqa: E402
import league_ledger  # noqa: E402
import league_rows  # noqa: E402
import league_run  # noqa: E402
import logistic  # noqa: E402
from few_shot_rows import Rows  # noqa: E402
from league_plan import DEVELOPMENT, FINAL, Cell, Plan, Regime, part_of, read_plan, selected  # noqa: E402
from league_plots import accuracy_against_cpu, rank_plot  # noqa: E402
from league_scores import Scoreboard, overall, set_difference  # noqa: E402
from league_spread import Spread, average, pooled, with_interval  # noqa: E402
from league_table import cells_csv, report  # noqa: E402

PLAN = read_plan()
SKILL = {"few-shot": 0.85, "finetune": 0.8, "three-phase": 0.82, "frozen": 0.75, "tf-idf": 0.6}
SCORED = 200


# --- the plan ---------------------------------------------------------------------------------------------------------


def test_the_plan_has_the_cells_of_the_league() -> None:
    cells = PLAN.cells(FINAL)

    def sets_and_draws(regime: str, contestant: str = "frozen") -> tuple[int, int]:
        own = [one for one in cells if (one.regime.name, one.contestant.name) == (regime, contestant)]
        return len({one.dataset for one in own}), len({one.draw for one in own})

    assert sets_and_draws("8 per class") == (14, 3)
    assert sets_and_draws("1000 rows") == (8, 2)
    assert sets_and_draws("4 per class")[0] == sets_and_draws("16 per class")[0] == 6
    assert sets_and_draws("8 per class", "setfit") == sets_and_draws("8 per class", "fastfit") == (14, 1)
    assert sets_and_draws("1000 rows", "setfit") == (0, 0)
    assert {one.dataset for one in PLAN.cells(DEVELOPMENT)} == set(PLAN.development)


def test_keys_are_distinct_and_depend_on_content_alone() -> None:
    cells = [*PLAN.cells(FINAL), *PLAN.cells(DEVELOPMENT)]
    assert len({cell.key for cell in cells}) == len(cells)
    cell = cells[0]
    renamed = replace(cell, contestant=replace(cell.contestant, name="effort 1"), regime=replace(cell.regime, name="8"))
    assert renamed.key == cell.key
    settings = {**cell.contestant.settings, "contrast.epochs": 2.5}
    assert replace(cell, contestant=replace(cell.contestant, settings=settings)).key != cell.key
    assert replace(cell, regime=Regime("8 rows", 3, rows=8)).key != cell.key


def test_an_option_at_its_default_keeps_the_key_of_phasefit() -> None:
    cell = PLAN.cells(DEVELOPMENT)[0]
    assert cell.contestant.ours
    spelled_out = {**cell.contestant.settings, "contrast.weight_decay": 0.01}
    default = cell.contestant.identity["recipe"]
    assert replace(cell.contestant, settings=spelled_out).identity["recipe"] == default


def test_a_draw_of_every_set_comes_before_the_next_draw_and_slow_rivals_are_late() -> None:
    cells = PLAN.cells(FINAL)
    assert [cell.draw for cell in cells] == sorted(cell.draw for cell in cells)
    first = [cell for cell in cells if cell.regime.name == "8 per class" and cell.draw == 0]
    assert cells[: len(first)] == first
    late = [cell.contestant.name in ("setfit", "fastfit") for cell in first]
    assert late == sorted(late)
    assert {first[0].dataset, first[len(SKILL) + 2].dataset} == {"trec", "ag-news"}  # five and two of transformers


def test_parts_keep_blocks_together_and_have_every_cell_once() -> None:
    cells = PLAN.cells(FINAL)
    parts = [part_of(cells, f"{number}/3") for number in (1, 2, 3)]
    assert sorted(cell.key for part in parts for cell in part) == sorted(cell.key for cell in cells)
    blocks = [{cell.block for cell in part} for part in parts]
    assert not blocks[0] & blocks[1] | blocks[1] & blocks[2] | blocks[0] & blocks[2]
    for wrong in ("0/2", "3/2", "half"):
        with pytest.raises(SystemExit, match="is not K/N"):
            part_of(cells, wrong)


def test_cells_are_selected_by_names() -> None:
    cells = selected(PLAN.cells(DEVELOPMENT), sets="snips2, cr", regimes="8 per class", contestants="frozen")
    assert {(cell.dataset, cell.contestant.name) for cell in cells} == {("snips2", "frozen"), ("cr", "frozen")}
    with pytest.raises(SystemExit, match="--contestants has no 'froze'; choose from few-shot"):
        selected(PLAN.cells(DEVELOPMENT), contestants="froze")


# --- frozen settings --------------------------------------------------------------------------------------------------


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-q", "--allow-empty", "-m", "Start")
    return tmp_path


def git(folder: Path, *arguments: str) -> None:
    name = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *name, *arguments], cwd=folder, check=True, capture_output=True)


def frozen_text(*, without: str = "") -> str:
    seen = [f'"{name}" = "none"' for name in PLAN.held_out if name != without]
    contestant = 'name = "effort 1"\nfamily = "phasefit"\nscript = "phasefit"\nsettings = { recipe = "few-shot" }\n'
    return "\n".join(["[seen]", *seen, "", "[[contestants]]", contestant])


def test_the_final_stage_is_refused_until_the_settings_are_committed(repository: Path) -> None:
    path = repository / "settings-frozen.toml"

    def refusal() -> str:
        with pytest.raises(SystemExit) as caught:
            league_freeze.plan_of(FINAL, PLAN, path)
        return str(caught.value)

    assert "settings-frozen.toml does not exist; commit the frozen settings" in refusal()
    path.write_text(frozen_text(), encoding="utf-8")
    assert "is not committed" in refusal()
    git(repository, "add", ".")
    assert "is not committed" in refusal()
    git(repository, "commit", "-q", "-m", "Freeze the settings")
    plan = league_freeze.plan_of(FINAL, PLAN, path)
    assert [one.name for one in plan.contestants] == ["effort 1"]
    assert plan.seen["atis"] == "none"
    path.write_text(frozen_text() + "\n", encoding="utf-8")
    assert "has changes that are not committed" in refusal()


def test_frozen_settings_must_state_what_was_seen(repository: Path) -> None:
    path = repository / "settings-frozen.toml"
    for text, message in (
        (frozen_text(without="isear"), "does not state which scores of isear had been seen"),
        (frozen_text().partition("[[")[0], r"has no \[\[contestants\]\]"),
    ):
        path.write_text(text, encoding="utf-8")
        git(repository, "add", ".")
        git(repository, "commit", "-q", "-m", "Freeze")
        with pytest.raises(SystemExit, match=message):
            league_freeze.plan_of(FINAL, PLAN, path)


def test_outside_a_repository_nothing_is_frozen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    (tmp_path / "settings-frozen.toml").write_text(frozen_text(), encoding="utf-8")
    assert league_freeze.not_frozen(tmp_path / "settings-frozen.toml") is not None


def test_held_out_sets_are_refused_by_name_in_development() -> None:
    with pytest.raises(SystemExit, match="atis: held out until the settings are frozen"):
        league.main(["--sets", "trec,atis"])


# --- rows -------------------------------------------------------------------------------------------------------------


@pytest.fixture
def tables(tmp_path: Path) -> dict[str, str]:
    """A set with a test split, one of whose texts is also a training text, and a set without."""
    texts = [f"text number {row}" for row in range(120)]
    labels = ["a" if row % 3 else "b" for row in range(120)]
    whole, split = tmp_path / "whole.csv", tmp_path / "split"
    split.mkdir()
    contest.write_rows(whole, texts, labels)
    contest.write_rows(split / "train.csv", texts, labels)
    contest.write_rows(split / "test.csv", ["Text  number 7", "unseen"], ["a", "b"])
    league_rows.pool_of.cache_clear()
    return {"whole": str(whole), "split": str(split)}


def cell(dataset: str = "trec", contestant: str = "few-shot", draw: int = 0, stage: str = DEVELOPMENT) -> Cell:
    return Cell(stage, PLAN.regimes[0], dataset, draw, next(one for one in PLAN.contestants if one.name == contestant))


def test_development_reads_no_test_rows(tables: dict[str, str]) -> None:
    (Path(tables["split"]) / "test.csv").write_text("not a table", encoding="utf-8")
    train, scored = league_rows.rows_of(cell(tables["split"]))
    assert len(train) == 16
    assert len(scored) == 36  # 30 % of the training rows
    assert not set(train.texts) & set(scored.texts)


def test_scored_rows_are_the_same_for_all_draws_and_differ_between_stages(tables: dict[str, str]) -> None:
    first, second = (league_rows.rows_of(cell(tables["whole"], draw=draw)) for draw in (0, 1))
    assert first[1] == second[1]
    assert first[0] != second[0]
    assert league_rows.fingerprint(*first) != league_rows.fingerprint(*second)
    pool, final = league_rows.pool_of(tables["whole"], FINAL)
    assert not set(final.texts) & {*first[0].texts, *first[1].texts, *pool.texts}


def test_training_texts_that_are_also_test_texts_are_dropped(tables: dict[str, str]) -> None:
    pool, scored = league_rows.pool_of(tables["split"], FINAL)
    assert scored.texts == ["Text  number 7", "unseen"]
    assert len(pool) == 119
    assert "text number 7" not in pool.texts


# --- results and the ledger -------------------------------------------------------------------------------------------


def result(one: Cell, skill: float | None = None, seconds: float = 10.0, **more: Any) -> dict[str, Any]:
    """A made-up result: the right answers of a skill, some luck of the rows shared by all contestants."""
    skill = SKILL.get(one.contestant.name, 0.7) if skill is None else skill
    luck = np.random.default_rng([one.draw, len(one.dataset), 5]).random(SCORED)
    own = np.random.default_rng([one.draw, len(one.dataset), len(one.contestant.name)]).random(SCORED)
    right = (0.8 * luck + 0.2 * own) < skill
    accuracy = float(right.mean())
    return {
        "scores": {"accuracy": accuracy, "macro_f1": accuracy - 0.02, "log_loss": 1 - accuracy, "ece": 0.05},
        "cpu_seconds": {"load": 1.0, "fit": seconds, "predict": 2.0},
        "rows": {"train": 56, "classes": 50 if one.dataset == "trec-fine" else 7, "scored": SCORED},
        "fingerprint": f"rows of {one.block}",
        "peak_mb": 900,
        "machine": "one",
        "versions": "phasefit 0.1",
        "right": right.astype(int).tolist(),
    } | more


def filled(folder: Path, cells: list[Cell]) -> Scoreboard:
    for one in cells:
        league_ledger.add(folder, one, result(one))
    return Scoreboard(PLAN.cells(DEVELOPMENT), [league_ledger.find(folder, one) for one in PLAN.cells(DEVELOPMENT)])


def test_answers_survive_the_ledger(tmp_path: Path) -> None:
    one = cell()
    assert league_ledger.find(tmp_path, one) is None
    league_ledger.add(tmp_path, one, result(one))
    league_ledger.add(tmp_path, one, result(one, skill=0.1))  # a file is never changed
    (file,) = tmp_path.iterdir()
    assert file.name == f"{one.key}.json"
    assert file.stat().st_size < 2000
    known = league_ledger.find(tmp_path, one)
    assert known is not None
    assert known.right.tolist() == [bool(right) for right in result(one)["right"]]
    assert known.accuracy == known.scores["accuracy"]


def test_ledgers_are_merged_by_copying(tmp_path: Path) -> None:
    one, other = cell(draw=0), cell(draw=1)
    league_ledger.add(tmp_path / "a", one, result(one))
    league_ledger.add(tmp_path / "b", other, result(other))
    shutil.copytree(tmp_path / "b", tmp_path / "a", dirs_exist_ok=True)
    assert league_ledger.find(tmp_path / "a", one)
    assert league_ledger.find(tmp_path / "a", other)
    assert league_ledger.others(tmp_path / "a", [one]) == 1


def test_a_damaged_or_foreign_file_is_refused(tmp_path: Path) -> None:
    one, other = cell(draw=0), cell(draw=1)
    league_ledger.add(tmp_path, one, result(one))
    path = tmp_path / f"{one.key}.json"
    shutil.copy(path, tmp_path / f"{other.key}.json")
    with pytest.raises(SystemExit, match="it is the result of another cell"):
        league_ledger.find(tmp_path, other)
    path.write_text(path.read_text(encoding="utf-8").replace('"peak_mb": 900', '"peak_mb": 1'), encoding="utf-8")
    with pytest.raises(SystemExit, match="its checksum or format differs"):
        league_ledger.find(tmp_path, one)
    path.write_text("{", encoding="utf-8")
    with pytest.raises(SystemExit, match="restore it, or remove it"):
        league_ledger.find(tmp_path, one)


def test_a_stopped_league_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    calls: list[str] = []

    def run(one: Cell, *_: Any) -> dict[str, Any]:
        calls.append(one.name)
        if one.contestant.name == "tf-idf" and len(calls) < 5:
            raise league.CellError("no words")
        return result(one)

    monkeypatch.setattr(league, "run", run)
    monkeypatch.setattr(league, "rows_of", lambda *_: (Rows([], []), Rows([], [])))
    command = ["--sets", "snips2", "--regimes", "8 per class", "--contestants", "frozen,tf-idf"]
    command += ["--ledger", str(tmp_path / "ledger"), "--out", str(tmp_path)]
    league.main([*command, "--minutes", "0"])
    assert not calls
    assert "0 minutes are over; 6 cells remain" in capsys.readouterr().out
    with pytest.raises(SystemExit, match=r"2 of the cells that were run failed:\ntf-idf on snips2, .*: no words"):
        league.main(command)
    assert len(calls) == 6
    league.main(command)
    assert calls[6:] == ["tf-idf on snips2, 8 per class, draw 0", "tf-idf on snips2, 8 per class, draw 1"]
    league.main([*command, "--no-run"])
    assert len(calls) == 8
    assert "6 of " in (tmp_path / "league-development.md").read_text(encoding="utf-8")
    assert (tmp_path / "league-development-ranks.png").exists()


# --- scores, tables, pictures -----------------------------------------------------------------------------------------


def test_scores_of_a_cell_from_its_answers() -> None:
    prediction = contest.Prediction(["a", "b"], [[0.9, 0.1], [0.4, 0.6], [0.5, 0.5]])
    assert prediction.labels == ["a", "b", "a"]
    answers = contest.answers(["a", "a", "c"], prediction.labels, prediction)
    assert answers["right"] == [1, 0, 0]
    assert answers["confidence"] == [0.9, 0.6, 0.5]
    assert answers["true_probability"] == [0.9, 0.4, 0.0]  # `c` was not trained on
    scores = league_run.calibration(answers)
    assert scores["log_loss"] == pytest.approx((-np.log(0.9) - np.log(0.4) - np.log(2**-23)) / 3, abs=1e-4)
    assert scores["ece"] == pytest.approx((0.1 + 0.6 + 0.5) / 3, abs=1e-5)
    assert league_run.calibration(contest.answers(["a"], ["a"], None)) == {"log_loss": None, "ece": None}


def found(folder: Path, one: Cell, **more: Any) -> league_ledger.Result:
    league_ledger.add(folder, one, result(one, **more))
    known = league_ledger.find(folder, one)
    assert known is not None
    return known


def test_the_interval_of_one_draw_is_that_of_its_rows() -> None:
    right = np.array([1.0] * 150 + [0.0] * 50)
    known = with_interval(right[None], None)
    error = np.sqrt(0.75 * 0.25 / 199)  # the jackknife with groups is close to the error of a mean
    assert known.mean == 0.75
    assert known.low is not None
    assert known.mean - known.low == pytest.approx(2.09 * error, rel=0.35)  # t with 19 degrees of freedom
    equal = with_interval(np.zeros((1, 200)), None)
    assert equal.p == 1.0
    assert equal.low is not None
    assert equal.low < 0  # equal answers are no proof


def test_draws_are_pooled_over_sets() -> None:
    spread = pooled([[0.5, 0.7], [0.1, 0.2, 0.3], [0.9]])
    assert spread is not None
    assert spread.variance == pytest.approx((0.02 + 2 * 0.01) / 3)
    assert spread.degrees == 3
    assert pooled([[0.1], [0.2]]) is None
    assert average([None, spread, Spread(0.0, 2)]) == Spread(spread.variance / 2, 2)
    assert average([None]) is None
    narrow, wide = (with_interval(np.ones((2, 50)), each).low for each in (None, spread))
    assert wide is not None
    assert narrow is not None
    assert wide < narrow


def test_several_draws_are_tested_over_draws_and_rows(tmp_path: Path) -> None:
    ours = [found(tmp_path, cell(contestant="few-shot", draw=draw)) for draw in range(3)]
    theirs = [found(tmp_path, cell(contestant="tf-idf", draw=draw)) for draw in range(3)]
    gain = set_difference(ours, theirs, Spread(0.0001, 20))
    assert gain.mean == pytest.approx(np.mean([a.accuracy - b.accuracy for a, b in zip(ours, theirs, strict=True)]))
    assert gain.p is not None
    assert gain.p < 0.05
    assert set_difference(ours, theirs, Spread(0.5, 20)).p > 0.3  # draws that vary that much show nothing
    assert set_difference(ours, ours, None).p == 1.0


def test_the_mean_is_over_sets_not_over_cells(tmp_path: Path) -> None:
    easy = [found(tmp_path, cell("cr", draw=draw), right=[1] * SCORED) for draw in range(3)]
    hard = found(tmp_path, cell("sst5"), right=[1, 0] * (SCORED // 2))
    for one, value in ((easy, 1.0), ([*easy, hard], 0.75)):
        scored = [replace(each, scores={**each.scores, "accuracy": each.accuracy}) for each in one]
        mean = overall(scored, "accuracy")
        assert mean is not None
        assert mean.mean == pytest.approx(value)


def board_of(folder: Path) -> Scoreboard:
    """Three sets at 8 per class; the third draw of `finetune` and all of the slow rivals are missing."""
    cells = [one for one in PLAN.cells(DEVELOPMENT) if one.dataset in ("trec", "trec-fine", "sst5")]
    cells = [one for one in cells if one.regime.name == "8 per class" and one.contestant.name in SKILL]
    return filled(folder, [one for one in cells if (one.contestant.name, one.draw) != ("finetune", 2)])


def plan_with_few_sets() -> Plan:
    return replace(PLAN, development=("trec", "trec-fine", "sst5"))


def test_tables_of_made_up_cells(tmp_path: Path) -> None:
    full = board_of(tmp_path)
    cells = plan_with_few_sets().cells(DEVELOPMENT)
    board = Scoreboard(cells, [league_ledger.find(tmp_path, one) for one in cells])
    assert len(full.results) == len(board.results) == 3 * (4 * 3 + 2)
    text = report(board, PLAN, ["frozen"], stage=DEVELOPMENT, pictures=["ranks.png"], unplanned=2)
    assert "no figure here is a test score" in text
    assert f"42 of {len(cells)} cells are finished, {len(cells) - 42} are missing." in text
    assert "The ledger has 2 other results" in text
    assert "Missing: finetune 3 of 9, transformers 9 of 9, transformers-long 9 of 9, setfit 3 of 3, fastfit" in text
    lines = text.splitlines()
    (scores,) = [line for line in lines if line.startswith("| finetune") and "6 of 9" in line]
    assert "*" in scores
    (setfit,) = [line for line in lines if line.startswith("| setfit") and "0 of 3" in line]
    assert setfit.count("| - ") == 6
    shared = text.partition("### Scores on the sets and draws that all")[2].partition("###")[0]
    ranked = sorted(line.split(" | ")[0].removeprefix("| ") for line in shared.splitlines()[4:] if line)
    assert ranked == sorted(board.common(board.regimes[0]))
    assert "*" not in shared, "all have the same cells"
    (trec,) = [line for line in lines if line.startswith("| trec |")]
    assert "(2 of 3)" in trec
    assert "missing" in trec
    (compared,) = [line for line in lines if line.startswith("| few-shot") and line.endswith("| 3, 9 |")]
    assert "| 3, 0 |" in compared
    (first,) = [line for line in lines if line.startswith("| few-shot") and "9 of 9" in line]
    assert first.split(" | ")[-2] == "1.0"
    assert "Ranks over 3 of 3 sets." in text
    assert text.count("## 1000 rows\n\n0 of ") == 1


def test_the_csv_file_has_a_line_for_every_planned_cell(tmp_path: Path) -> None:
    board = board_of(tmp_path)
    lines = list(csv.DictReader(io.StringIO(cells_csv(board))))
    assert len(lines) == len(PLAN.cells(DEVELOPMENT))
    assert [line["status"] for line in lines].count("done") == 42
    done = next(line for line in lines if line["status"] == "done")
    assert float(done["accuracy"]) > 0.5
    assert done["fit_cpu_seconds"] == "10.0"


def test_results_on_other_rows_are_left_out(tmp_path: Path) -> None:
    cells = [cell(contestant=name) for name in ("few-shot", "frozen", "tf-idf")]
    for one in cells:
        more = {"fingerprint": "others"} if one.contestant.name == "tf-idf" else {}
        league_ledger.add(tmp_path, one, result(one, **more))
    board = Scoreboard(cells, [league_ledger.find(tmp_path, one) for one in cells])
    assert [one.cell.contestant.name for one in board.results] == ["few-shot", "frozen"]
    text = report(board, PLAN, ["frozen"], stage=DEVELOPMENT, pictures=[], unplanned=0)
    assert "on other rows than the rest: tf-idf on trec" in text


def test_an_empty_ledger_gives_a_report_too(tmp_path: Path) -> None:
    board = filled(tmp_path, [])
    text = report(
        board,
        replace(PLAN, seen=dict.fromkeys(PLAN.held_out, "none")),
        ["frozen"],
        stage=FINAL,
        pictures=[],
        unplanned=0,
    )
    assert "0 of " in text
    assert "- atis: none" in text


def test_pictures_are_drawn(tmp_path: Path) -> None:
    board = board_of(tmp_path / "ledger")
    for draw, name in ((accuracy_against_cpu, "accuracy.png"), (rank_plot, "ranks.png")):
        draw(board, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
        assert (tmp_path / name).stat().st_size > 5_000
        draw(Scoreboard([], []), tmp_path / name)  # nothing to compare yet


# --- rivals -----------------------------------------------------------------------------------------------------------


def test_c_is_chosen_by_held_out_rows() -> None:
    from sklearn.linear_model import LogisticRegression

    made: list[float] = []

    def make(c: float) -> LogisticRegression:
        made.append(c)
        return LogisticRegression(C=c)

    rng = np.random.default_rng(0)
    inputs, labels = rng.normal(size=(40, 3)), ["a", "b"] * 20
    inputs[:, 0] += np.array([0.5, -0.5] * 20)
    assert logistic.best_c(make, inputs, labels, "cross-validation", 0) in logistic.GRID
    assert len(made) == logistic.FOLDS * len(logistic.GRID)
    assert logistic.best_c(make, inputs, labels, 2, 0) == 2.0
    assert logistic.best_c(make, inputs[:2], ["a", "b"], "cross-validation", 0) == logistic.UNKNOWN
    assert logistic.best_c(make, inputs[:4], ["a", "a", "a", "b"], "cross-validation", 0) in logistic.GRID


def test_few_rows_get_enough_steps() -> None:
    module = league_run.RIVALS / "transformers" / "fit.py"
    namespace: dict[str, Any] = {"__name__": "fit"}
    exec(compile(module.read_text(encoding="utf-8"), str(module), "exec"), namespace)
    settings = {"num_train_epochs": 5, "min_steps": 100, "per_device_train_batch_size": 32}
    assert namespace["arguments_for"](settings, 56) == {"num_train_epochs": 50, "per_device_train_batch_size": 32}
    assert namespace["arguments_for"](settings, 1000)["num_train_epochs"] == 5


def test_a_rival_without_environment_uses_ours_only_with_its_versions() -> None:
    assert league_run.interpreter("phasefit") == Path(sys.executable)
    assert league_run.has_versions(["# a comment", f"numpy=={np.__version__}"])
    assert not league_run.has_versions(["numpy==0.1"])
    assert not league_run.has_versions(["not-a-package==1.0"])


RIVAL = f"""
import sys
sys.path.append({str(BENCHMARKS)!r})
from contest import Prediction, main

def odds(text, right):
    return [1 - right, right] if "song" in text else [right, 1 - right]

def solve(job):
    with job.clock.part("fit"):
        right = job.settings["right"]
    return Prediction(job.classes, [odds(text, right) for text in job.test_texts])

main({{"default": {{}}}}, ("numpy",), solve)
"""


def test_a_cell_is_run_in_its_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A made-up rival, which sees its settings, the training rows and the test texts."""
    (tmp_path / "scikit_learn").mkdir()
    (tmp_path / "scikit_learn" / "fit.py").write_text(RIVAL, encoding="utf-8")
    monkeypatch.setattr(league_run, "RIVALS", tmp_path)
    monkeypatch.setattr(league_run, "default_model", lambda: "none")
    train = Rows(["play a song", "book a table"] * 3, ["music", "food"] * 3)
    scored = Rows(["a song please", "a table please"], ["music", "food"])
    one = cell(contestant="tf-idf")
    one = replace(one, contestant=replace(one.contestant, settings={"right": 0.75}))
    entry = league_run.run(one, train, scored, limit=60)
    assert entry["right"] == [1, 1]
    assert entry["scores"]["accuracy"] == 1.0
    assert entry["scores"]["log_loss"] == pytest.approx(-np.log(0.75), abs=1e-5)
    assert entry["scores"]["ece"] == pytest.approx(0.25)
    assert entry["rows"] == {"train": 6, "classes": 2, "scored": 2}
    assert json.dumps(entry)
    broken = replace(one, contestant=replace(one.contestant, settings={}))
    with pytest.raises(league_run.CellError, match="KeyError"):
        league_run.run(broken, train, scored, limit=60)
