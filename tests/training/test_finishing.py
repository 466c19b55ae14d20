"""The weights that a phase leaves: averages along its steps and with the encoder from before the phase."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from pydantic import ValidationError

from phasefit.events import Note, PhaseEnded
from phasefit.phases import PHASES
from phasefit.phases.contract import Phase
from phasefit.training.device import make_accelerator
from phasefit.training.finishing import SHARES
from phasefit.training.loop import train_phase
from phasefit.training.state import PhaseState, put_weights, weights_of
from tiny import fresh_model, make_data, make_phase, make_table, same, weights

STEPS = 6
OPTIONS: dict[str, Any] = {
    **{"min_steps": STEPS, "max_steps": STEPS, "patience": 0, "lr": 1e-3, "batch_size": 8, "evaluate_every": 2},
    **{"accumulate": 1, "evaluation_share": 1.0},
}
ENCODERS = ("contrast", "denoise", "simcse")  # phases without a head


def built(folder: Path, kind: str, validation: int = 15, **options: Any) -> Phase:
    model = fresh_model(folder)
    data = make_data(model.encoder, *make_table(60), validation=validation)
    return make_phase(kind, model, data, **OPTIONS | options)


def train(phase: Phase, **more: Any) -> tuple[dict[str, torch.Tensor], PhaseEnded, list[str]]:
    """The encoder after the phase, its last event and its notes."""
    events = list(train_phase(phase, make_accelerator("cpu"), seed=0, **more))
    assert isinstance(events[-1], PhaseEnded)
    return weights(phase.encoder), events[-1], [event.text for event in events if isinstance(event, Note)]


@pytest.mark.parametrize("kind", ENCODERS)
def test_a_share_of_the_trained_weights_is_left(tiny_folder: Path, kind: str) -> None:
    before = weights(fresh_model(tiny_folder).encoder)
    trained, plain, _ = train(built(tiny_folder, kind, validation=0))
    blended, ended, notes = train(built(tiny_folder, kind, validation=0, blend=0.3))
    assert "blend" not in plain.choices
    assert ended.choices["blend"] == {"share": 0.3, "scores": {}}
    assert notes[-1] == f"{kind}: blended 30% of the trained weights with 70% of those before the phase"
    assert any(not torch.equal(before[name], trained[name]) for name in before)
    for name in before:
        assert torch.allclose(blended[name], 0.7 * before[name] + 0.3 * trained[name], atol=1e-6)


@pytest.mark.parametrize("share", [0.0, 1.0])
def test_the_ends_are_exact(tiny_folder: Path, share: float) -> None:
    ends = {0.0: weights(fresh_model(tiny_folder).encoder), 1.0: train(built(tiny_folder, "contrast", validation=0))[0]}
    assert same(ends[share], train(built(tiny_folder, "contrast", validation=0, blend=share))[0])


def scripted(monkeypatch: pytest.MonkeyPatch, phase: Phase, scores: dict[float, float]) -> None:
    """Score the encoder by the share of trained weights in one of its weights; during training the score rises."""
    one = next(value for value in phase.encoder.parameters() if value.requires_grad and value.dim() > 1)
    seen = [one.detach().clone()]  # before the first step and at each evaluation while training

    def validate() -> dict[str, float]:
        value = one.detach().clone()
        if len(seen) <= 1 + STEPS // OPTIONS["evaluate_every"]:
            seen.append(value)
            return {phase.watch: float(len(seen)) - 10}
        share = float((value - seen[0]).norm() / (seen[-1] - seen[0]).norm())
        return {phase.watch: scores[min(scores, key=lambda known: abs(known - share))]}

    monkeypatch.setattr(phase, "validate", validate)


@pytest.mark.parametrize(
    ("scores", "chosen"),
    [
        ({0.3: 0.5, 0.5: 0.6, 0.7: 0.8, 1.0: 0.7}, 0.7),
        ({0.3: 0.9, 0.5: 0.6, 0.7: 0.8, 1.0: 0.7}, 0.3),
        ({0.3: 0.5, 0.5: 0.6, 0.7: 0.6, 1.0: 0.4}, 0.7),
        ({0.3: 0.5, 0.5: 0.6, 0.7: 0.7, 1.0: 0.9}, 1.0),
    ],
)
def test_auto_is_the_share_with_the_best_score(
    tiny_folder: Path, monkeypatch: pytest.MonkeyPatch, scores: dict[float, float], chosen: float
) -> None:
    phase = built(tiny_folder, "contrast", blend="auto")
    scripted(monkeypatch, phase, scores)
    _, ended, notes = train(phase)
    assert ended.choices["blend"] == {"share": chosen, "scores": {str(share): scores[share] for share in SHARES}}
    assert ended.best[phase.watch] == scores[chosen]
    assert "chosen by probe on validation (30%: " in notes[-1]
    assert phase.validate()[phase.watch] == scores[chosen], "the encoder is left at this share"


@pytest.mark.parametrize("kind", ["contrast", "finetune"])
def test_auto_without_validation_rows_leaves_the_trained_weights(tiny_folder: Path, kind: str) -> None:
    trained, ended, notes = train(built(tiny_folder, kind, validation=0, blend="auto"))
    assert ended.choices["blend"] == {"share": 1.0, "scores": {}}
    assert notes[-1] == (
        f"{kind}: left the trained weights unblended (there are no validation rows to choose the share on)"
    )
    assert same(trained, train(built(tiny_folder, kind, validation=0))[0])


def test_a_head_that_was_trained_with_the_encoder_is_scored_with_each_share(tiny_folder: Path) -> None:
    phase = built(tiny_folder, "finetune", blend="auto")
    _, ended, _ = train(phase)
    assert list(ended.choices["blend"]["scores"]) == [str(share) for share in SHARES]
    assert ended.best[phase.watch] == max(ended.choices["blend"]["scores"].values())
    assert phase.validate()[phase.watch] == ended.best[phase.watch]


def test_refitting_repeats_the_share_and_the_average(tiny_folder: Path) -> None:
    options = {"blend": "auto", "average": 0.5, "validation": 0}
    repeat = {"blend": {"share": 0.7}, "average": {"used": False}}
    again, ended, notes = train(built(tiny_folder, "contrast", **options), fixed_steps=STEPS, repeat=repeat)
    assert not [note for note in notes if "blend" in note or "average" in note]
    assert ended.choices["blend"] == {"share": 0.7, "scores": {}}
    assert same(again, train(built(tiny_folder, "contrast", validation=0, blend=0.7))[0])


def test_the_average_is_the_mean_of_the_last_steps(tiny_folder: Path) -> None:
    phase = built(tiny_folder, "contrast", validation=0, average=0.5)
    steps: list[dict[str, torch.Tensor]] = []
    averaged, ended, notes = train(phase, on_step_end=lambda state: steps.append(weights(phase.encoder)))
    assert ended.choices["average"] == {"steps": 3, "used": True}
    assert notes[-1] == "contrast: averaged the weights of the last 3 steps"
    for name, value in averaged.items():
        assert torch.allclose(value, torch.stack([step[name] for step in steps[3:]]).mean(dim=0), atol=1e-6)


@pytest.mark.parametrize(("score", "used"), [(0.9, True), (0.1, False)])
def test_an_average_with_a_lower_score_is_not_used(
    tiny_folder: Path, monkeypatch: pytest.MonkeyPatch, score: float, used: bool
) -> None:
    phase = built(tiny_folder, "finetune", average=0.5)
    given = iter([0.2, 0.3, 0.4, 0.4, score])  # three while training, then the best weights and the average
    monkeypatch.setattr(phase, "validate", lambda: {phase.watch: next(given)})
    _, ended, notes = train(phase)
    assert ended.choices["average"] == {"steps": 3, "used": used, "score": score}
    assert ended.best_step == STEPS
    assert ended.best[phase.watch] == max(score, 0.4)
    assert f"macro_f1 {score:.4f} against 0.4000" in notes[-1]


@pytest.mark.parametrize("kind", [*ENCODERS, "finetune"])
def test_a_soup_is_the_mean_of_trainings_from_the_same_weights(tiny_folder: Path, kind: str) -> None:
    phase = built(tiny_folder, kind, validation=0, soup=3, warmup=0)
    start, steps, rates = weights(phase), [], []

    def watch(state: PhaseState) -> None:
        steps.append(weights(phase))
        rates.append(state.optimiser.param_groups[0]["lr"])

    train(phase, on_step_end=watch)
    assert len(steps) == 3 * STEPS
    assert rates == 3 * rates[:STEPS], "each training has its own schedule"
    assert not same(steps[STEPS - 1], steps[2 * STEPS - 1]), "each training has other batches"
    assert distance(steps[STEPS], start) < distance(steps[STEPS - 1], start), "the second one starts anew"
    mean = {name: (steps[STEPS - 1][name] + steps[2 * STEPS - 1][name]) / 2 for name in start}
    alone = {name: 3 * steps[-1][name] - 2 * mean[name] for name in start}  # the third training, from the mean of all
    assert 0 < distance(alone, start) < 3 * distance(steps[STEPS - 1], start)


def distance(one: dict[str, torch.Tensor], other: dict[str, torch.Tensor]) -> float:
    return float(sum((one[name] - other[name]).square().sum() for name in one)) ** 0.5


def test_a_soup_is_evaluated_as_a_whole_and_reverted_if_it_is_worse(
    tiny_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    phase = built(tiny_folder, "contrast", soup=2)
    given = iter([0.9, 0.1])  # before the first step and at the end
    monkeypatch.setattr(phase, "validate", lambda: {phase.watch: next(given)})
    before = weights(phase.encoder)
    after, ended, notes = train(phase)
    assert (ended.steps, ended.best_step, ended.reverted, ended.choices["soup"]) == (2 * STEPS, 0, True, 2)
    assert same(before, after)
    assert "contrast: averaged the weights of 2 trainings" in notes


def test_refitting_repeats_a_soup(tiny_folder: Path) -> None:
    whole = train(built(tiny_folder, "contrast", validation=0, soup=2))[0]
    more = {"fixed_steps": 2 * STEPS, "planned_steps": 2 * STEPS, "repeat": {}}
    assert same(whole, train(built(tiny_folder, "contrast", validation=0, soup=2), **more)[0])


@pytest.mark.parametrize("kind", ["contrast", "finetune"])
@pytest.mark.parametrize("step", [2, STEPS, STEPS + 1, 2 * STEPS])
def test_a_resumed_soup_is_the_same(tiny_folder: Path, kind: str, step: int) -> None:
    check_resume(tiny_folder, kind, step, {"soup": 2, "blend": "auto"})


@pytest.mark.parametrize("kind", ["contrast", "denoise", "finetune"])
@pytest.mark.parametrize("step", [2, 5, STEPS])
def test_a_resumed_phase_leaves_the_same_weights(tiny_folder: Path, kind: str, step: int) -> None:
    saved, ended = check_resume(tiny_folder, kind, step, {"blend": "auto", "average": 0.5})
    assert any(name.startswith("average.") for name in saved) == (step > 3)
    assert ended.best_step, "otherwise there is nothing to blend"


def check_resume(
    tiny_folder: Path, kind: str, step: int, options: dict[str, Any]
) -> tuple[dict[str, torch.Tensor], PhaseEnded]:
    """A phase that is resumed from a step ends with the same weights; returns the saved tensors and the last event."""
    saved: dict[str, Any] = {}

    def save(state: PhaseState) -> None:
        if state.step == step:
            tensors = weights_of(phase=state.phase) | state.tensors()
            saved["tensors"] = {name: value.detach().clone() for name, value in tensors.items()}
            saved["facts"] = json.dumps(state.facts())

    whole, ended, _ = train(built(tiny_folder, kind, **options), on_step_end=save)
    assert any(name.startswith("before.") for name in saved["tensors"])
    again = built(tiny_folder, kind, **options)

    def resume(state: PhaseState) -> None:
        put_weights(saved["tensors"], phase=again)
        state.load(saved["tensors"], json.loads(saved["facts"]))

    resumed, ended_again, _ = train(again, resume=resume)
    assert same(whole, resumed)
    assert ended.choices == ended_again.choices
    return saved["tensors"], ended


@pytest.mark.parametrize(
    ("kind", "options", "sentence"),
    [
        ("contrast", {"dense": "paper"}, "averaging with random weights makes no sense"),
        ("denoise", {"dense": "paper"}, "averaging with random weights makes no sense"),
        ("joint", {"contrast": {"dense": "paper"}}, "averaging with random weights makes no sense"),
        ("denoise", {"variant": "vae"}, "the decoder that generates texts"),
        ("finetune", {}, "use blend = 'auto'"),
        ("multitask", {}, "use blend = 'auto'"),
        ("multitask", {"freeze": True}, "'blend' has no effect"),
        ("contrast", {"blend": 1.5}, "less than or equal to 1"),
        ("contrast", {"blend": "half"}, "auto"),
        ("contrast", {"soup": 2, "average": 0.3}, "set soup = 1 or average = 0"),
        ("self-train", {"soup": 2}, "remove soup"),
    ],
)
def test_what_makes_no_sense_is_refused(kind: str, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        PHASES.get(kind)(kind=kind, **{"blend": 0.5} | options)


@pytest.mark.parametrize("kind", PHASES)
def test_the_default_leaves_the_trained_weights(kind: str) -> None:
    options = PHASES.get(kind)(kind=kind)
    assert (options.blend, options.average, options.soup) == (1, 0, 1)
