"""Trials without training: drawing, reporting, pruning, failures, and restarts after a kill."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from phasefit.errors import RecipeError
from phasefit.events import Scored
from phasefit.recipes import parse_recipe, read_recipe
from phasefit.recipes.settings import parse_settings, setting_lines
from phasefit.studies.cell import Cell, cell_folder
from phasefit.studies.pool import CellEnded, CellError
from phasefit.studies.result import PROGRESS, Evaluation, Result, append_evaluation, read_evaluations
from phasefit.studies.search import optuna_study, trials
from phasefit.studies.search.question import Question
from phasefit.studies.search.report import read_history, trial_counts, trial_curve, verdict, write_trials
from phasefit.studies.search.run_search import question_of, recipe_file, sealed
from phasefit.studies.search.space import Choices, Range, Space
from phasefit.studies.search.trials import Limits, TrialDone, Trials, new_epochs
from phasefit.studies.tables import Row, Table
from specs import run_spec

optuna = pytest.importorskip("optuna")
LR = Space("rates", {"finetune.lr": Range(1e-5, 1e-3, log=True)})
THREE = Space("three", {"finetune.dropout": Choices(("0.0", "0.1", "0.3"))})


@pytest.fixture
def question(tmp_path: Path) -> Callable[[Space], Question]:
    data = tmp_path / "topics.csv"
    data.write_text("text,label\na b,x\nc d,y\n", encoding="utf-8")
    request = run_spec(str(data), recipe="finetune")
    return lambda space: Question("topics", request, read_recipe("finetune"), space, "accuracy")


def lr_of(cell: Cell) -> float:
    return float(cell.spec.recipe.settings["finetune.lr"])


def fake_stream(score: Callable[[Cell], float | str | None]) -> Callable[..., None]:
    """Every cell ends at once: with a score, a sentence about its failure, or given up (None)."""

    def run(next_cell: Callable[[], Cell | None], cache: Path, ended: Callable[[CellEnded], None], **_: Any) -> None:
        while (cell := next_cell()) is not None:
            outcome = score(cell)
            if isinstance(outcome, float):
                ended(CellEnded(cell, Result({"validation": {"accuracy": outcome}}, {}, False, 2.0, 100.0)))
            else:
                ended(CellEnded(cell, why=outcome or ""))

    return run


def study_in(folder: Path, pruner: optuna_study.Pruner = "none") -> Any:
    return optuna_study.open_study("one", None, folder, maximise=True, pruner=pruner)


def test_a_search_finds_the_better_half_and_the_same_command_adds_nothing(
    question: Callable[[Space], Question], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Cell] = []

    def score(cell: Cell) -> float:
        seen.append(cell)
        return 1 - abs(lr_of(cell) - 5e-4) * 1000

    monkeypatch.setattr(trials, "run_stream", fake_stream(score))
    events: list[TrialDone] = []
    Trials(question(LR), study_in(tmp_path), Limits(12), events.append).run(tmp_path)
    assert [one.done for one in events] == list(range(1, 13))
    assert lr_of(seen[0]) == 1e-4  # the original recipe comes first
    assert not any(cell.spec.split.score_test for cell in seen)
    study = study_in(tmp_path)
    Trials(question(LR), study, Limits(12), events.append).run(tmp_path)
    assert len(seen) == 12
    history = read_history(study, question(LR))
    assert history.best is not None
    assert history.best.score == max(one.score or 0 for one in history.trials)
    assert set(history.importances) == {"finetune.lr"}
    write_trials(tmp_path, history)
    assert len((tmp_path / "trials.csv").read_text().splitlines()) == 13
    best = [point[1] for point in trial_curve(history, question(LR))[0]["lines"][1]["points"]]
    assert best == sorted(best)


def test_a_resumed_search_draws_the_same_trials(
    question: Callable[[Space], Question], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: dict[str, list[float]] = {}
    for name, parts in {"whole": [8], "stopped": [3, 8]}.items():
        seen = drawn.setdefault(name, [])
        monkeypatch.setattr(trials, "run_stream", fake_stream(lambda cell, seen=seen: seen.append(lr_of(cell)) or 0.5))
        (tmp_path / name).mkdir()
        for number in parts:
            Trials(question(LR), study_in(tmp_path / name), Limits(number), lambda _: None).run(tmp_path)
    assert drawn["whole"] == drawn["stopped"]
    assert len(drawn["whole"]) == 8


def test_trials_of_a_killed_process_are_queued_again(
    question: Callable[[Space], Question], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = study_in(tmp_path)
    left = [optuna_study.ask(study, LR, "random", 0) for _ in range(2)]
    left[1].set_user_attr("machine", "another")  # it may still be running
    seen: list[float] = []
    monkeypatch.setattr(trials, "run_stream", fake_stream(lambda cell: seen.append(lr_of(cell)) or 0.5))
    Trials(question(LR), study, Limits(1), lambda _: None).run(tmp_path)
    assert seen == [float(f"{left[0].params['finetune.lr']:.3g}")]
    states = [trial.state.name for trial in study.get_trials()]
    assert states == ["COMPLETE", "RUNNING"]
    assert read_history(study, question(LR)).stopped == 1


class Killed(BaseException):
    """Ends a search like a kill: nothing runs after it."""


def kill_at(monkeypatch: pytest.MonkeyPatch, call: int) -> None:
    """End the search before the journal's `call`-th write from now."""
    backend = optuna.storages.journal.JournalFileBackend
    write, calls = backend.append_logs, iter(range(1, call + 1))

    def append_logs(self: Any, logs: Any) -> None:
        if next(calls, call) == call:
            raise Killed
        write(self, logs)

    monkeypatch.setattr(backend, "append_logs", append_logs)


EVERY_WRITE = (*range(1, 7), 47, *range(96, 110))  # of the first trial, and of one after TPE's ten random ones


@pytest.mark.parametrize(
    ("sampler", "kills"),
    [
        ("tpe", (3, 98)),
        pytest.param("tpe", EVERY_WRITE, marks=pytest.mark.long),
        pytest.param("random", EVERY_WRITE, marks=pytest.mark.long),
    ],
)
def test_a_killed_search_tries_the_same_points(
    question: Callable[[Space], Question],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    sampler: optuna_study.Sampler,
    kills: tuple[int, ...],
) -> None:
    space = Space("two", {"finetune.lr": Range(1e-5, 1e-3, log=True), "finetune.dropout": Range(0.0, 0.5)})

    def points_of(folder: Path) -> list[tuple[int, Any, Any]]:
        trials_of = study_in(folder).get_trials()
        return [(trial.number, trial.params, trial.value) for trial in trials_of if trial.state.name == "COMPLETE"]

    def search(folder: Path) -> None:
        monkeypatch.setattr(trials, "run_stream", fake_stream(lambda cell: 1 - abs(lr_of(cell) - 5e-4) * 1000))
        Trials(question(space), study_in(folder), Limits(12, sampler=sampler), lambda _: None).run(folder)

    (tmp_path / "whole").mkdir()
    search(tmp_path / "whole")
    whole = points_of(tmp_path / "whole")
    assert len(whole) == 12
    for call in kills:
        folder = tmp_path / f"killed-{call}"
        folder.mkdir()
        with monkeypatch.context() as patch:
            kill_at(patch, call)
            with pytest.raises(Killed):
                search(folder)
        search(folder)
        assert [point[1:] for point in points_of(folder)] == [point[1:] for point in whole], call


def test_a_grid_is_tried_completely(
    question: Callable[[Space], Question], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[str, ...]] = []
    monkeypatch.setattr(
        trials, "run_stream", fake_stream(lambda cell: seen.append((*setting_lines(cell.spec.recipe.settings),)) or 0.5)
    )
    for number in (2, 100):
        limits = Limits(number, sampler="grid")
        Trials(question(THREE), study_in(tmp_path), limits, lambda _: None).run(tmp_path)
    assert sorted(seen) == [(f"finetune.dropout={value}",) for value in ("0.0", "0.1", "0.3")]


@pytest.mark.parametrize("sampler", ["tpe", "random", "grid"])
def test_no_point_is_tried_twice_and_an_exhausted_space_ends_the_search(
    sampler: optuna_study.Sampler,
    question: Callable[[Space], Question],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seen: list[tuple[str, ...]] = []
    monkeypatch.setattr(
        trials, "run_stream", fake_stream(lambda cell: seen.append((*setting_lines(cell.spec.recipe.settings),)) or 0.5)
    )
    events: list[TrialDone] = []
    for number in (2, 20, 20):
        Trials(question(THREE), study_in(tmp_path), Limits(number, sampler=sampler), events.append).run(tmp_path)
    assert sorted(seen) == [(f"finetune.dropout={value}",) for value in ("0.0", "0.1", "0.3")]
    assert [(one.done, one.total) for one in events] == [(1, 2), (2, 2), (3, 3)]
    history = read_history(study_in(tmp_path), question(THREE))
    assert (history.complete, history.failed, history.stopped) == (3, 0, 0)
    counts = trial_counts(question(THREE), history)
    assert counts.startswith("Trials: 3 complete, 0 stopped early, 0 failed")
    assert counts.endswith("all 3 points of the space have been tried, so more --trials would add nothing.")


def test_a_point_that_fails_is_not_tried_again_by_the_same_command(
    question: Callable[[Space], Question], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    def score(cell: Cell) -> float | str:
        seen.append(setting_lines(cell.spec.recipe.settings)[-1])
        return "broken" if seen[-1].endswith("=0.3") else 0.5

    monkeypatch.setattr(trials, "run_stream", fake_stream(score))
    Trials(question(THREE), study_in(tmp_path), Limits(20), lambda _: None).run(tmp_path)
    assert sorted(seen) == [f"finetune.dropout={value}" for value in ("0.0", "0.1", "0.3")]


def test_an_exhausted_search_stops_drawing_while_trials_run(
    question: Callable[[Space], Question], tmp_path: Path
) -> None:
    narrow = Space("narrow", {"finetune.lr": Range(1e-4, 1.0001e-4)})  # one value when rounded to three digits
    running = Trials(question(narrow), study_in(tmp_path), Limits(20), lambda _: None)
    assert running.next_cell() is not None
    assert running.next_cell() is None
    drawn = len(running.study.get_trials())
    assert running.next_cell() is None
    assert len(running.study.get_trials()) == drawn


def test_a_range_without_steps_has_no_grid(question: Callable[[Space], Question], tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="a range without steps"):
        Trials(question(LR), study_in(tmp_path), Limits(3, sampler="grid"), lambda _: None).run(tmp_path)


def test_one_failure_is_reported_and_three_in_a_row_end_the_search(
    question: Callable[[Space], Question], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[float | str] = ["broken", 0.5, "broken", "broken", "broken for good"]
    monkeypatch.setattr(trials, "run_stream", fake_stream(lambda _: answers.pop(0)))
    events: list[TrialDone] = []
    with pytest.raises(CellError, match="3 trials in a row failed, the last with: broken for good"):
        Trials(question(LR), study_in(tmp_path), Limits(9), events.append).run(tmp_path)
    assert [one.state for one in events[:2]] == ["failed", "complete"]


def test_no_trial_starts_after_the_minutes(
    question: Callable[[Space], Question], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trials, "run_stream", fake_stream(lambda _: 0.5))
    events: list[TrialDone] = []
    Trials(question(LR), study_in(tmp_path), Limits(9, minutes=0.0), events.append).run(tmp_path)
    assert not events


def test_a_trial_below_the_median_is_stopped_early(question: Callable[[Space], Question], tmp_path: Path) -> None:
    running = Trials(question(LR), study_in(tmp_path, "median"), Limits(20), lambda _: None)
    folder = tmp_path / "cell"
    folder.mkdir()
    for score in [0.8, 0.82, 0.84, 0.86, 0.88, 0.1]:
        cell = running.next_cell()
        assert cell is not None
        (folder / PROGRESS).unlink(missing_ok=True)
        stopped = False
        for epoch in range(1, 5):
            scored = Scored(
                "finetune", 10 * epoch, float(epoch), {"accuracy": score, "macro_f1": 0.0}, "macro_f1", True
            )
            append_evaluation(folder / PROGRESS, scored)
            stopped = running.watch(cell, folder)
            if stopped:
                break
        assert stopped == (score == 0.1)
        result = None if stopped else Result({"validation": {"accuracy": score}}, {}, False, 1.0, 1.0)
        running.ended(CellEnded(cell, result))
    states = [trial.state.name for trial in running.study.get_trials()]
    assert states == ["COMPLETE"] * 5 + ["PRUNED"]


@pytest.mark.parametrize("epochs_per_check", [1, 2, 4])
def test_pruning_does_not_depend_on_how_often_trials_are_checked(
    epochs_per_check: int, question: Callable[[Space], Question], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last trial is worse in epochs 2 and 3 only; with 4 epochs per check it ends before the first check."""
    curves = [[0.5, 0.8, 0.82, 0.84]] * 5 + [[0.5, 0.5, 0.5, 0.99]]

    def stream(next_cell: Any, cache: Path, ended: Callable[[CellEnded], None], *, watch: Any, **_: Any) -> None:
        for curve in curves:
            cell = next_cell()
            folder = cell_folder(cache, cell)
            folder.mkdir(parents=True)
            stopped = False
            for epoch, score in enumerate(curve, start=1):
                append_evaluation(
                    folder / PROGRESS, Scored("finetune", epoch, epoch, {"accuracy": score}, "accuracy", True)
                )
                stopped = epoch < len(curve) and epoch % epochs_per_check == 0 and watch(cell, folder)
                if stopped:
                    break
            result = Result({"validation": {"accuracy": curve[-1]}}, {}, False, 1.0, 1.0)
            ended(CellEnded(cell, None if stopped else result))

    monkeypatch.setattr(trials, "run_stream", stream)
    events: list[TrialDone] = []
    running = Trials(question(LR), study_in(tmp_path, "median"), Limits(6), events.append)
    running.run(tmp_path)
    assert [one.state for one in events] == ["complete"] * 5 + ["pruned"]
    assert events[-1].score is None
    drawn = running.study.get_trials()
    assert [list(one.intermediate_values) for one in drawn] == [[1, 2, 3, 4]] * 5 + [[1, 2]]


def test_epochs_without_an_evaluation_get_the_next_score() -> None:
    evaluations = [
        Evaluation("finetune", 5, 0.5, {"accuracy": 0.1}, "accuracy"),
        Evaluation("finetune", 35, 3.5, {"accuracy": 0.4}, ""),
    ]
    assert new_epochs(evaluations, 0, "accuracy", maximise=True) == [(1, 0.4), (2, 0.4), (3, 0.4)]
    assert new_epochs(evaluations, 3, "accuracy", maximise=True) == []
    watched = [Evaluation("finetune", 10, 1.0, {"macro_f1": 0.3}, "macro_f1")]
    assert new_epochs(watched, 0, "ece", maximise=False) == [(1, -0.3)]
    assert (
        new_epochs([Evaluation("finetune", 10, 1.0, {"accuracy": float("nan")}, "")], 0, "accuracy", maximise=True)
        == []
    )


def test_evaluations_survive_a_partial_line_and_a_resumed_cell(tmp_path: Path) -> None:
    path = tmp_path / PROGRESS
    for step, score in ((10, 0.1), (20, 0.2), (20, 0.3)):
        append_evaluation(path, Scored("finetune", step, step / 10, {"accuracy": score}, "accuracy", True))
    append_evaluation(path, Scored("contrast", 5, 1.0, {"probe": 0.9}, "probe", True))
    with path.open("a") as file:
        file.write('{"phase": "finetune", "st')
    assert [(one.step, one.scores["accuracy"]) for one in read_evaluations(path, "finetune")] == [
        (10, 0.1),
        (20, 0.3),
    ]
    assert read_evaluations(tmp_path / "none", "finetune") == []


@pytest.mark.parametrize(
    ("recipe", "settings"),
    [
        ("finetune", ("finetune.lr=3e-05", "finetune.epochs=4.0", "finetune.min_steps=200", "finetune.lrs.head=0.002")),
        ("supcon-finetune", ("finetune.objective.temperature=0.1", "max_length=64")),
        ("three-phase", ("contrast.objective.temperature=0.05", "finetune.head=linear")),  # supcon is a bare name there
        ("finetune", ()),
    ],
)
def test_the_recipe_file_is_the_recipe_with_the_settings(recipe: str, settings: tuple[str, ...]) -> None:
    text = recipe_file(recipe, parse_settings(settings), ["a title", "  the command"])
    assert text.startswith("# a title\n#   the command\n")
    wanted = read_recipe(recipe, parse_settings(settings))
    assert parse_recipe(text, name=wanted.name, where="best.toml") == wanted


def test_the_recipe_file_of_a_file_has_no_base(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    own.write_text('base = "finetune"\nset.finetune.epochs = 3\n')
    text = recipe_file(str(own), {"finetune.lr": 1e-5}, ["title"])
    assert "base" not in text
    assert str(tmp_path) not in text
    assert parse_recipe(text, name="own", where="best.toml") == read_recipe(str(own), {"finetune.lr": 1e-5})


def test_a_recipe_file_is_recognised_until_it_is_edited(tmp_path: Path) -> None:
    path = tmp_path / "best.toml"
    text = sealed(recipe_file("finetune", {"finetune.lr": 1e-5}, ["title", "  the command"]), "abc123")
    path.write_text(text)
    assert question_of(path) == "abc123"
    assert read_recipe(str(path)).phases == read_recipe("finetune", {"finetune.lr": 1e-5}).phases
    path.write_text(text.replace("1e-05", "2e-05"))
    assert question_of(path) is None
    path.write_text(text.replace("# title", "# mine"))
    assert question_of(path) is None
    path.write_text('base = "finetune"\n')
    assert question_of(path) is None
    assert question_of(tmp_path / "none.toml") is None


def test_the_question_does_not_depend_on_the_machine(
    question: Callable[[Space], Question], monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    one = question(LR)
    other = replace(one, spec=one.spec.replace(threads=7, device="cuda"))
    assert one.digest == other.digest
    assert one.digest != question(THREE).digest
    assert one.digest != replace(one, score="macro_f1").digest
    assert json.dumps(one.digest)


@pytest.mark.parametrize(
    ("low", "high", "maximise", "sentence"),
    [
        (0.01, 0.03, True, "are better than"),
        (0.01, 0.03, False, "are worse than"),
        (-0.03, -0.01, True, "are worse than"),
        (-0.01, 0.03, True, "are not significantly better than"),
        (None, None, True, "It is unknown whether the tuned settings are better"),
    ],
)
def test_the_verdict_follows_from_the_interval(
    low: float | None, high: float | None, maximise: bool, sentence: str
) -> None:
    rows = (
        Row("topics", "untuned", 3, 0.8),
        Row("topics", "tuned", 3, 0.81, difference=0.01, difference_low=low, difference_high=high),
    )
    assert sentence in verdict(Table("fresh", "test.accuracy", rows), maximise=maximise)


@pytest.mark.parametrize(
    ("seeds", "sentence"),
    [(1, "+0.0000, one seed only; use more --fresh-seeds."), (3, "identical for all 3 seeds; use more --fresh-seeds.")],
)
def test_a_verdict_without_an_interval_states_the_number_of_seeds(seeds: int, sentence: str) -> None:
    rows = (Row("topics", "untuned", seeds, 0.8), Row("topics", "tuned", seeds, 0.8, difference=0.0))
    assert verdict(Table("fresh", "test.accuracy", rows), maximise=True).endswith(sentence)


def test_a_storage_is_a_url_or_a_journal(tmp_path: Path) -> None:
    assert optuna_study.is_storage("sqlite:///a.db")
    assert optuna_study.is_storage("/disk/a.journal")
    assert not optuna_study.is_storage("trials")
    shared = f"sqlite:///{tmp_path / 'trials.db'}"
    for _ in range(2):
        study = optuna_study.open_study("one", shared, tmp_path, maximise=False, pruner="hyperband")
        study.tell(optuna_study.ask(study, THREE, "tpe", 0), 0.5)
    assert len(study.get_trials()) == 2
