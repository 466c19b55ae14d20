from __future__ import annotations

import io

import pytest
from rich.console import Console

from phasefit.cli.progress import counting, listener
from phasefit.events import Note, PhaseEnded, PhaseStarted, Scored, Stage, StepDone
from phasefit.progress.live import LiveProgress
from phasefit.progress.plain import PlainProgress
from phasefit.progress.text import count, duration, score

JOB = [
    Stage("reading"),
    Note("10 classes [bold]"),
    Note("2 texts are cut", warning=True),
    PhaseStarted("contrast", 1, 2, 100, "macro_f1", {"rows": 230, "pairs": 26335}),
    *(StepDone("contrast", step, 100, step / 50, 1.5, 1e-4, 0.5) for step in range(1, 51)),
    Scored("contrast", 50, 1.0, {"macro_f1": 0.8125, "loss": 1.0}, "macro_f1", improved=True),
    Scored("contrast", 60, 1.2, {"macro_f1": 0.8}, "macro_f1", improved=False),
    PhaseEnded("contrast", 60, 30.0, 50, {"macro_f1": 0.8125}, stopped_early=True),
    Stage("evaluating"),
]


FALLING = [(1, 0.8), (2, 0.79), (3, 0.78)]


class Clock:
    """A clock that advances by `step` at each call."""

    def __init__(self, step: float) -> None:
        self.now, self.step = 0.0, step

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def played(make, *, terminal: bool = False) -> str:
    console = Console(
        file=io.StringIO(), width=120, force_terminal=terminal, markup=False, emoji=False, highlight=False
    )
    with make(console) as listen:
        for event in JOB:
            listen(event)
    return console.file.getvalue()


def shown(*events) -> list[str]:
    console = Console(file=io.StringIO(), width=120, markup=False, emoji=False, highlight=False)
    with PlainProgress(console, Clock(0.001)) as listen:
        for event in events:
            listen(event)
    return console.file.getvalue().splitlines()


def test_plain_lines():
    assert played(lambda console: PlainProgress(console, Clock(0.001))).splitlines() == [
        "reading ...",
        "10 classes [bold]",
        "warning: 2 texts are cut",
        "phase 1/2 contrast: up to 100 steps, watching macro_f1, 230 rows, 26,335 pairs",
        "  step 50/100  loss 1.5000  macro_f1 0.8125  (kept)",
        "phase 1/2 contrast: 60 steps in 30 s, stopped early; kept macro_f1 0.8125 at step 50",
        "evaluating ...",
    ]


def test_plain_lines_when_it_takes_long():
    lines = played(lambda console: PlainProgress(console, Clock(10))).splitlines()
    assert "  step 60/100  loss 1.5000  macro_f1 0.8000" in lines
    steps = [line for line in lines if "left" in line]
    assert 5 < len(steps) < 50
    assert "at most" in steps[0]


def test_a_watched_loss_is_not_the_loss_of_training():
    lines = shown(
        PhaseStarted("mnr", 1, 1, 1, "loss"),
        StepDone("mnr", 1, 1, 1.0, 0.0072, 1e-4, 0.5),
        Scored("mnr", 1, 1.0, {"loss": 0.0428}, "loss", improved=True),
        PhaseEnded("mnr", 1, 1.0, 1, {"loss": 0.0428}, stopped_early=False),
    )
    assert lines == [
        "phase 1/1 mnr: up to 1 step, watching validation loss",
        "  step 1/1  loss 0.0072  validation loss 0.0428  (kept)",
        "phase 1/1 mnr: 1 step in 1.0 s; kept validation loss 0.0428 at step 1",
    ]


def test_why_weights_of_a_lower_score_are_kept():
    start = PhaseStarted("finetune", 1, 1, 9, "macro_f1")
    evaluations = [Scored("finetune", step, 1.0, {"macro_f1": f1}, "macro_f1", improved=True) for step, f1 in FALLING]
    again = [Scored("mnr", step, 1.0, {"loss": loss}, "loss", improved=True) for step, loss in FALLING]
    lines = shown(start, *evaluations, PhaseStarted("mnr", 1, 1, 9, "loss"), *again)
    noise = "  (kept: within noise of the best)"
    assert lines[1:4] == [
        "  step 1/9  macro_f1 0.8000  (kept)",
        f"  step 2/9  macro_f1 0.7900{noise}",
        f"  step 3/9  macro_f1 0.7800{noise}",
    ]
    assert all(line.endswith("(kept)") for line in lines[5:]), "a loss that falls is better"


def test_a_terminal_shows_all_that_matters():
    output = played(LiveProgress, terminal=True)
    for piece in ("1/2 contrast", "10 classes [bold]", "warning: 2 texts are cut", "60 steps in 30 s", "evaluating"):
        assert piece in output


def test_numbers_of_a_running_phase():
    console = Console(file=io.StringIO(), width=160, force_terminal=True)
    with LiveProgress(console) as listen:
        listen(JOB[3])
        listen(StepDone("contrast", 1, 100, 0, 2.0, 1e-4, 0.5))
        listen(Scored("contrast", 1, 0, {"macro_f1": 0.5}, "macro_f1", improved=True))
        listen(Scored("contrast", 2, 0, {"macro_f1": 0.4}, "macro_f1", improved=False))
        listen(StepDone("contrast", 2, 100, 0, 2.0, 1e-4, 0.5))
        [task] = listen.progress.tasks
        assert task.fields["numbers"] == "2.0/s  loss 2.0000  macro_f1 0.4000 (kept 0.5000)  49 s left"
        assert (task.completed, task.total) == (2, 100)


def test_leaving_by_an_error_takes_the_display_down():
    console = Console(file=io.StringIO(), force_terminal=True)
    live = LiveProgress(console)

    def job() -> None:
        with live as listen:
            listen(JOB[3])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        job()
    assert not live.progress.live.is_started
    assert not live.progress.tasks


def test_without_a_terminal_it_is_plain(monkeypatch):
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setattr("sys.stderr", io.StringIO())
    assert isinstance(listener(), PlainProgress)


def test_counting_says_nothing_without_a_terminal(capsys):
    with counting("predicting", 3) as advance:
        advance(3)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.04, "0.0 s"), (9.94, "9.9 s"), (12.4, "12 s"), (59.7, "1 min 00 s"), (185, "3 min 05 s"), (7800, "2 h 10 min")],
)
def test_durations(seconds, words):
    assert duration(seconds) == words


def test_figures():
    assert (score(None), score(0.81249), score(-3.0), score(123.456)) == ("-", "0.8125", "-3.0000", "123.46")
    assert (count(26335), count(26335.0), count(1.5)) == ("26,335", "26,335", "1.5000")
    assert score(float("nan")) == "nan"
