from __future__ import annotations

import math
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from phasefit.data.batches import ShuffledBatches
from phasefit.errors import RecipeError, TrainingError
from phasefit.events import Note, PhaseEnded, PhaseStarted, Scored, StepDone
from phasefit.models.encoder.dropout import dropout_rates
from phasefit.phases import PHASES
from phasefit.phases.contract import Phase, StepOutput
from phasefit.phases.finetune.options import Options
from phasefit.training.device import make_accelerator
from phasefit.training.loop import train_phase
from tiny import fresh_model, make_data, make_phase, make_table, run, same, weights


class Scripted(Phase):
    """One number that each step lowers; its scores are read from a list."""

    encoder = None
    data = SimpleNamespace(tasks={}, validation=())

    def __init__(
        self, scores=(), *, lower=False, untrained=False, losses=(), gradient=1.0, slack=None, rows=8, **options
    ) -> None:
        nn.Module.__init__(self)
        self.name = "scripted"
        self.slack_of_scores, self.rows = slack, rows
        self.options = Options(**{"lr": 0.1, "schedule": "constant", "warmup": 0, "weight_decay": 0, **options})
        self.weight = nn.Parameter(torch.zeros(1))
        self.scores, self.losses, self._lower, self._untrained = list(scores), list(losses), lower, untrained
        self.gradient, self.evaluations, self.seen = gradient, 0, []
        self._batches = ShuffledBatches(np.arange(8), np.ones(8, dtype=int), batch_size=2, seed=0)

    @property
    def batches(self):
        return self._batches

    @property
    def watch(self):
        return "score"

    @property
    def lower_is_better(self):
        return self._lower

    @property
    def starts_untrained(self):
        return self._untrained

    def slack(self, best, later):
        return self.slack_of_scores

    def evaluation_parts(self):
        return [(self.rows, 1)]

    def step_rows(self):
        return 32

    def facts(self):
        return {"rows": 8.0}

    def groups(self):
        return {"all": [self.weight]}

    def encode(self, batch):
        self.seen.append(batch.draw["rows"].tolist())
        return {"vectors": self.weight}

    def loss(self, encoded, batch):
        factor = self.losses.pop(0) if self.losses else 1.0
        return StepOutput(encoded["vectors"].sum() * self.gradient * factor, {"factor": torch.tensor(factor)})

    def validate(self):
        if not self.scores:
            return {}
        self.evaluations += 1
        return {
            "score": float(self.scores[min(self.evaluations, len(self.scores)) - 1]),
            "weight": float(self.weight.detach()),
        }


def of(events, kind):
    return [event for event in events if isinstance(event, kind)]


def test_the_events_of_a_phase() -> None:
    events = run(Scripted([1, 2, 3], epochs=2))
    assert isinstance(events[0], PhaseStarted)
    assert isinstance(events[-1], PhaseEnded)
    started, ended = events[0], events[-1]
    assert (started.steps, started.watch, started.facts["trained"]) == (8, "score", 1.0)
    assert [event.step for event in of(events, StepDone)] == list(range(1, 9))
    assert [event.epoch for event in of(events, StepDone)] == pytest.approx([step / 4 for step in range(1, 9)])
    assert [event.step for event in of(events, Scored)] == [0, 4, 8], "once before the first step"
    assert (ended.steps, ended.best_step, ended.stopped_early) == (8, 8, False)
    assert ended.best["score"] == 3.0


def test_every_batch_of_every_epoch_is_taken() -> None:
    phase = Scripted(epochs=3)
    run(phase)
    rows = [row for part in phase.seen for row in part]
    assert len(phase.seen) == 12
    assert [sorted(rows[start : start + 8]) for start in (0, 8, 16)] == [list(range(8))] * 3
    assert rows[:8] != rows[8:16]


def test_the_best_weights_come_back() -> None:
    phase = Scripted([0.1, 0.9, 0.5, 0.4], epochs=3)
    events = run(phase)
    best = of(events, Scored)[1]
    assert (events[-1].best_step, events[-1].reverted) == (4, False)
    assert phase.weight.item() == pytest.approx(best.scores["weight"])
    assert phase.weight.item() == pytest.approx(-0.4, abs=1e-4)


def test_the_weights_from_before_may_be_the_best() -> None:
    phase = Scripted([0.9, 0.5, 0.4], epochs=2)
    ended = run(phase)[-1]
    assert (ended.best_step, ended.reverted) == (0, True)
    assert phase.weight.item() == 0.0


def test_a_phase_that_cannot_gain_is_skipped() -> None:
    phase = Scripted([0.99, 0.5], epochs=2, skip_at=0.99)
    events = run(phase)
    ended = events[-1]
    assert (ended.steps, ended.best_step, ended.reverted, ended.choices) == (0, 0, False, {"skipped": True})
    assert "skipped, because the score score is 0.990 before its first step" in of(events, Note)[0].text
    assert phase.weight.item() == 0.0


def test_a_phase_that_can_gain_is_trained() -> None:
    ended = run(Scripted([0.98, 0.99], epochs=1, skip_at=0.99))[-1]
    assert (ended.steps, ended.best_step, ended.choices) == (4, 4, {})


def test_skipping_needs_a_score_of_which_higher_is_better() -> None:
    phase = Scripted([0.1], epochs=1, skip_at=0.5, lower=True, watch="log_loss")
    with pytest.raises(RecipeError, match="skip_at needs a watched score of which higher is better, not 'score'"):
        run(phase)


def test_an_automatic_choice_of_the_loss_skips_nothing() -> None:
    """The default recipe watches the loss if there are no validation rows to probe."""
    assert run(Scripted([0.9, 0.8], epochs=1, skip_at=0.5, lower=True))[-1].steps == 4


def test_a_fresh_head_never_wins_untrained() -> None:
    phase = Scripted([0.5, 0.4], epochs=2, untrained=True)
    events = run(phase)
    assert events[-1].best_step == 4
    assert [event.step for event in of(events, Scored)] == [4, 8]


def test_lower_can_be_better() -> None:
    assert run(Scripted([3, 1, 2], epochs=2, lower=True))[-1].best_step == 4


def test_the_earliest_wins_a_tie() -> None:
    assert run(Scripted([0.1, 0.9, 0.9, 0.9], epochs=3))[-1].best_step == 4


def test_later_weights_within_the_slack_are_kept() -> None:
    ended = run(Scripted([0.1, 0.9, 0.85, 0.5, 0.89, 0.8], epochs=5, slack=0.06, patience=0))[-1]
    assert ended.best_step == 16
    assert ended.best["score"] == 0.89


def test_slack_is_measured_from_the_peak_and_does_not_stretch_the_patience() -> None:
    ended = run(Scripted([0.1, 0.9, 0.8, 0.85, 0.85, 0.85], epochs=10, slack=0.06, patience=3))[-1]
    assert (ended.best_step, ended.steps) == (16, 16)
    assert run(Scripted([0.1, 0.9, 0.7, 0.8], epochs=3, slack=0.06, patience=0))[-1].best_step == 4


def test_a_steady_decline_is_never_within_noise() -> None:
    falling = [0.855, 0.851, 0.833, 0.826, 0.814, 0.807]
    ended = run(Scripted(falling, epochs=5, slack=0.1, patience=0))[-1]
    assert (ended.best_step, ended.best["score"]) == (0, 0.855)
    rising = [1 - score for score in falling]
    assert run(Scripted(rising, epochs=5, slack=0.1, patience=0, lower=True))[-1].best_step == 0


def test_with_slack_the_latest_of_equal_scores_wins() -> None:
    assert run(Scripted([0.1, 0.9, 0.9, 0.9], epochs=3, slack=0.0, patience=0))[-1].best_step == 12


@pytest.mark.parametrize(("patience", "steps"), [(1, 8), (2, 12), (0, 40)])
def test_patience(patience: int, steps: int) -> None:
    ended = run(Scripted([0.1, 0.9, 0.5, 0.4, 0.3], epochs=10, patience=patience))[-1]
    assert ended.steps == steps
    assert ended.best_step == 4
    assert ended.stopped_early == (steps < 40)


def test_an_improvement_resets_the_patience() -> None:
    assert run(Scripted([1, 0, 2, 0, 3, 0, 0, 0], epochs=10, patience=2))[-1].best_step == 16


def test_a_score_that_is_not_a_number_is_never_the_best() -> None:
    ended = run(Scripted([math.nan, 0.5, math.nan, 0.4], epochs=3))[-1]
    assert ended.best_step == 4


def test_without_scores_the_last_weights_stay() -> None:
    phase = Scripted(epochs=2, patience=1)
    ended = run(phase)[-1]
    assert (ended.steps, ended.best_step, ended.best) == (8, 8, {})
    assert phase.weight.item() == pytest.approx(-0.8, abs=1e-4)


def test_a_fixed_number_of_steps_is_not_evaluated() -> None:
    phase = Scripted([0.9, 0.1], epochs=10)
    events = run(phase, fixed_steps=5)
    assert not of(events, Scored)
    assert phase.evaluations == 0
    assert (events[-1].steps, events[-1].best_step) == (5, 5)


def test_no_steps_at_all() -> None:
    phase = Scripted([0.9], epochs=10)
    assert run(phase, fixed_steps=0)[-1].steps == 0
    assert phase.weight.item() == 0.0


def test_a_listener_can_stop() -> None:
    phase = Scripted(epochs=10)
    list(islice(train_phase(phase, make_accelerator("cpu", "no"), seed=0), 4))
    assert len(phase.seen) == 3


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_loss_that_is_not_a_number_ends_the_training(bad: float) -> None:
    phase = Scripted(losses=[1.0, 1.0, bad], epochs=3)
    with torch.no_grad():
        phase.weight.fill_(1.0)
    with pytest.raises(
        TrainingError,
        match=r"scripted: the loss became .* at step 3; try a lower learning rate: --set scripted.lr=0.025",
    ):
        run(phase)


def test_rates_follow_the_schedule() -> None:
    events = run(Scripted(epochs=1, schedule="linear", warmup=0.5))
    assert [event.lr for event in of(events, StepDone)] == pytest.approx([0.05, 0.1, 0.1, 0.05])


def test_scalars_are_reported() -> None:
    assert of(run(Scripted()), StepDone)[0].scalars == {"factor": 1.0}


def test_clipping(tiny_encoder) -> None:
    """AdamW's first step hides the size of a gradient, so the norm is checked before the optimiser uses it."""
    for clip, expected in ((1.0, 1.0), (0.0, 100.0)):
        phase = Scripted(gradient=100.0, clip=clip, max_steps=1)
        seen = []
        phase.weight.register_post_accumulate_grad_hook(lambda p, seen=seen: seen.append(p))
        step = torch.optim.AdamW.step

        def spy(self, *args, step=step, phase=phase, seen=seen, **kwargs):
            seen.append(phase.weight.grad.item())
            return step(self, *args, **kwargs)

        torch.optim.AdamW.step = spy
        try:
            run(phase)
        finally:
            torch.optim.AdamW.step = step
        assert seen[-1] == pytest.approx(expected, rel=1e-4)


# --- real phases ------------------------------------------------------------------------------------------------------


def finetuned(
    folder, *, seed: int = 0, kind: str = "finetune", rows: int = 58, validation: int = 18, **options
) -> dict[str, torch.Tensor]:
    model = fresh_model(folder)
    data = make_data(model.encoder, *make_table(rows), validation=validation)
    phase = make_phase(kind, model, data, seed=seed, **options)
    run(phase, seed=seed)
    return weights(phase)


@pytest.mark.parametrize("kind", PHASES)
def test_the_same_seed_gives_the_same_weights_bit_for_bit(tiny_folder, kind: str) -> None:
    options = {"max_steps": 3, "lr": 1e-3, "validation": 0}  # no step is undone
    first = finetuned(tiny_folder, kind=kind, **options)
    torch.manual_seed(123)
    np.random.seed(5)  # noqa: NPY002 - global generators must not matter
    assert same(first, finetuned(tiny_folder, kind=kind, **options))
    assert not same(first, finetuned(tiny_folder, kind=kind, **options, seed=1))


def test_training_leaves_the_global_generators_alone(tiny_folder) -> None:
    state = torch.get_rng_state()
    finetuned(tiny_folder, max_steps=2)
    assert torch.equal(state, torch.get_rng_state())


def test_dropout_differs_from_step_to_step(tiny_folder) -> None:
    model = fresh_model(tiny_folder)
    phase = make_phase("finetune", model, make_data(model.encoder, *make_table(40)), lr=1e-12, batch_size=64, epochs=3)
    losses = [event.loss for event in run(phase) if isinstance(event, StepDone)]
    assert len(set(losses)) == 3


def test_accumulation_equals_a_big_batch(tiny_encoder) -> None:
    folder = tiny_encoder("bert", dropout=0.0)
    options = {"dropout": 0.0, "lr": 1e-3, "eps": 1e-4, "schedule": "constant", "warmup": 0.0, "epochs": 1.0}
    # 40 rows: one batch of 40, or five of 8 that are added up.
    big = finetuned(folder, batch_size=40, **options)
    small = finetuned(folder, batch_size=8, accumulate=5, **options)
    assert max((big[name] - small[name]).abs().max().item() for name in big) < 1e-5
    assert not same(big, finetuned(folder, batch_size=8, **options))


def test_a_phase_that_gets_worse_ends_where_it_was_best(tiny_folder) -> None:
    model = fresh_model(tiny_folder)
    data = make_data(model.encoder, *make_table(60))
    phase = make_phase("contrast", model, data, lr=0.5, epochs=2, watch="pairs", warmup=0)
    before = weights(model.encoder)
    scores = phase.validate()
    events = run(phase)
    assert events[-1].best_step == 0
    assert same(before, weights(model.encoder))
    assert phase.validate() == scores


def test_the_encoders_dropout_is_the_recipes_while_it_learns(tiny_folder) -> None:
    model = fresh_model(tiny_folder)
    data = make_data(model.encoder, *make_table(40))
    before, seen = dropout_rates(model.encoder), []
    phase = make_phase("finetune", model, data, encoder_dropout=0.25, max_steps=2)
    phase.encoder.layers[0].register_forward_pre_hook(lambda *_: seen.append((phase.training, set(rates()))))

    def rates() -> list[float]:
        return dropout_rates(model.encoder)

    run(phase)
    assert (True, {0.25}) in seen
    assert rates() == before
