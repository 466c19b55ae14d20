"""The few-shot benchmark without its rivals: rows, clock, scores, cells, table and budgets."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from sklearn.metrics import accuracy_score, f1_score

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
sys.path.append(str(BENCHMARKS))

import contest  # noqa: E402
import few_shot  # noqa: E402
import few_shot_rows  # noqa: E402
from contestants import CONTESTANTS, chosen  # noqa: E402
from few_shot_table import table  # noqa: E402

from phasefit.data import Dataset, Table  # noqa: E402
from phasefit.recipes import read_recipe  # noqa: E402


def dataset(*, with_test: bool) -> Dataset:
    """Twenty rows of `a`, five of `b`, two of the path `c/d`."""
    labels = ["a"] * 20 + ["b"] * 5 + [("c", "d")] * 2
    train = Table("train", [f"text {row}" for row in range(27)], labels)
    test = Table("test", ["one", "two", "three"], ["a", "b", ("c", "d")])
    return Dataset("rows", train, test=test if with_test else None)


def test_n_rows_of_each_class_and_all_of_smaller_classes() -> None:
    train, test = few_shot_rows.draw(dataset(with_test=True), 4, None, seed=0)
    assert Counter(train.labels) == {"a": 4, "b": 4, "c/d": 2}
    assert test == few_shot_rows.Rows(["one", "two", "three"], ["a", "b", "c/d"])


def test_the_seed_determines_the_rows() -> None:
    first, again, other = (few_shot_rows.draw(dataset(with_test=True), 4, None, seed)[0] for seed in (0, 0, 1))
    assert first == again != other


def test_without_a_test_split_the_remaining_rows_are_the_test() -> None:
    train, test = few_shot_rows.draw(dataset(with_test=False), 4, None, seed=0)
    assert sorted(train.texts + test.texts) == sorted(dataset(with_test=False).train.texts)
    assert len(few_shot_rows.draw(dataset(with_test=False), 4, 5, seed=0)[1]) == 5


def test_rows_survive_the_file(tmp_path: Path) -> None:
    texts, labels = ['says "no",\nthen', "ünïcode", " kept "], ["a/b", "7", "x,y"]
    contest.write_rows(tmp_path / "rows.csv", texts, labels)
    assert contest.read_rows(tmp_path / "rows.csv") == (texts, labels)


def test_scores_are_those_of_scikit_learn() -> None:
    truth, predicted = list("aaabbcd"), list("aabbbea")
    scores = contest.scores(truth, predicted)
    assert scores["accuracy"] == pytest.approx(accuracy_score(truth, predicted), abs=1e-5)
    assert scores["macro_f1"] == pytest.approx(f1_score(truth, predicted, average="macro", zero_division=0), abs=1e-5)


def test_a_nested_part_pauses_the_outer_one() -> None:
    times = iter([0.0, 1.0, 3.0, 7.0, 8.0])  # created, fit starts, load starts, load ends, fit ends
    clock = contest.Clock(lambda: next(times), lambda: 0.0)
    with clock.part("fit"), clock.part("load"):
        pass
    assert clock.seconds == {"load": 4.0, "fit": 3.0, "predict": 0.0}
    assert clock.peak_mb > 0


@pytest.mark.parametrize("name", CONTESTANTS)
def test_every_contestant_has_the_budgets_it_names(name: str) -> None:
    contestant = CONTESTANTS[name]
    assert contestant.default in contestant.budgets
    assert set(contestant.budgets) <= set(contestant.budget_table())
    assert all(contestant.settings(budget) for budget in contestant.budgets)
    assert contestant.ours or (contestant.script.parent / "requirements.txt").is_file()


def test_our_budgets_are_recipes_that_can_be_read() -> None:
    for settings in CONTESTANTS["phasefit"].budget_table().values():
        changed = {name: value for name, value in settings.items() if name != "recipe"}
        assert read_recipe(settings["recipe"], changed).phases[-1].trains_head


def test_rivals_have_pinned_versions_and_the_torch_that_we_have() -> None:
    ours = (BENCHMARKS.parent / "constraints.txt").read_text(encoding="utf-8").splitlines()
    for path in BENCHMARKS.glob("rivals/*/requirements.txt"):
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        assert all("==" in line for line in lines), path
        assert [line for line in lines if line.startswith("torch")] in ([], [next(o for o in ours if "torch==" in o)])


def test_contestants_are_chosen_by_name_and_budget() -> None:
    def names(wanted: str | None, full: bool) -> list[tuple[str, str]]:
        return [(contestant.name, budget) for contestant, budget in chosen(wanted, full=full)]

    assert names("setfit,fastfit:quick", False) == [("setfit", "default"), ("fastfit", "quick")]
    assert {name for name, _ in names(None, True)} == set(CONTESTANTS)
    assert {budget for _, budget in names(None, False)} == {"default"}
    with pytest.raises(SystemExit, match="no contestant 'setfitt'"):
        names("setfitt", False)
    with pytest.raises(SystemExit, match="no budget 'huge'"):
        names("setfit:huge", False)


def cell(name: str, budget: str, seed: int, accuracy: float = 0.0, seconds: float = 0.0, **more: object) -> dict:
    return {
        **{"data": "d", "per_class": 8, "rows": 56, "classes": 7, "test_rows": 700, "threads": 2},
        **{"contestant": name, "budget": budget, "seed": seed, "status": "done", "accuracy": accuracy},
        **{
            "macro_f1": accuracy,
            "fit_seconds": seconds,
            "fit_cpu_seconds": 2 * seconds,
            "load_seconds": 0.1,
            "predict_seconds": 1.0,
        },
        **{"peak_mb": 900, "settings": "steps 3", "versions": f"{name} 1.0", **more},
    }


CELLS = [
    *(cell("phasefit", "quick", seed, 0.80, 2.0) for seed in (0, 1)),
    *(cell("phasefit", "default", seed, 0.90, 10.0) for seed in (0, 1)),
    cell("setfit", "default", 0, 0.88, 50.0),
    cell("setfit", "default", 1, 0.84, 30.0),
    cell("scikit-learn", "default", 0, 0.70, 0.5),
    cell("fastfit", "default", 0, status="failed: ValueError: no such metric"),
]


def test_ratios_come_first_and_are_correct() -> None:
    text = table(CELLS, command="python benchmarks/few_shot.py")
    assert text.index("## Ratios") < text.index("## Scores") < text.index("## Failed")
    (line,) = [line for line in text.splitlines() if line.startswith("| setfit") and "time" in line]
    # Ours 2 s and 10 s, theirs 40 s on average; 80 and 90 minus 88 and 84 per cent.
    assert "| 0.05 × time, -6.0 (-8.0 to -4.0) |" in line
    assert "| 0.25 × time, +4.0 (+2.0 to +6.0) |" in line
    assert line.endswith("| default: 0.25 × time, +4.0 (+2.0 to +6.0) |")
    (short,) = [line for line in text.splitlines() if line.startswith("| scikit-learn") and "time" in line]
    assert short.endswith("| none is as short |")
    assert "| 20 × time, +20.0 |" in short


def test_failures_are_shown_with_their_reason() -> None:
    text = table(CELLS, command="x")
    assert "- fastfit, seed 0: failed: ValueError: no such metric" in text
    assert "`x`" in text
    assert "## Disturbed" not in text
    assert "setfit 1.0" in text


def test_a_disturbed_training_is_listed() -> None:
    disturbed = cell("setfit", "default", 0, 0.9, 50.0, fit_cpu_seconds=5.0)
    assert "- setfit, seed 0: 5 % of its cores" in table([disturbed, *CELLS[:2]], command="x")


def test_a_cell_is_replaced_when_its_settings_change(tmp_path: Path) -> None:
    path, old = tmp_path / "cells.csv", cell("setfit", "default", 0, 0.5, 1.0)
    few_shot.write(path, [old])
    (back,) = few_shot.read(path)
    assert few_shot.same(back, old)
    changed = old | {"settings": "steps 4"}
    assert not few_shot.same(back, changed)
    assert few_shot.same(back, changed, few_shot.PLACE)


def test_a_contestant_works_from_the_command_line(tmp_path: Path) -> None:
    """scikit-learn's script with our interpreter, which has scikit-learn too."""
    contest.write_rows(tmp_path / "train.csv", ["play a song", "book a table"] * 3, ["music", "food"] * 3)
    contest.write_rows(tmp_path / "test.csv", ["a song please", "a table please"], ["music", "food"])
    script = BENCHMARKS / "rivals" / "scikit_learn" / "fit.py"
    command = [sys.executable, str(script), "train.csv", "test.csv", "--model", "none", "--out", "result.json"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    result = few_shot.json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    assert result["accuracy"] == 1.0
    assert result["fit_seconds"] > 0
    assert "scikit-learn 1" in result["versions"]
