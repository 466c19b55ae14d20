from __future__ import annotations

import numpy as np
import pytest

from phasefit.events import Scored
from phasefit.phases.contract import Batch
from phasefit.progress.plain import started
from tiny import first_batch, fresh_model, make_data, make_phase, make_table, run


@pytest.fixture
def quiet(tiny_encoder):
    """Without dropout, so that a part has the same loss alone and in the sum."""
    model = fresh_model(tiny_encoder("bert", dropout=0.0))
    return model, make_data(model.encoder, *make_table(60), unlabelled=make_table(40, seed=3)[0])


def test_the_sum_is_the_sum_of_its_parts(quiet) -> None:
    phase = make_phase("joint", *quiet, batch_size=8, denoise_weight=0.5, contrast_weight=2.0).eval()
    batch = first_batch(phase)
    output = phase(batch)
    parts = {}
    for key in ("denoise", "contrast"):
        draw = {"rows": batch.draw[f"{key}.rows"]}
        parts[key] = getattr(phase, key)(Batch(draw, np.random.default_rng(0), batch.device)).loss.item()
    assert output.scalars["denoise"].item() == pytest.approx(parts["denoise"], abs=1e-6)
    assert output.scalars["contrast"].item() == pytest.approx(parts["contrast"], abs=1e-6)
    assert output.loss.item() == pytest.approx(0.5 * parts["denoise"] + 2 * parts["contrast"], abs=1e-5)


def test_in_turn_each_step_has_one_loss(quiet) -> None:
    phase = make_phase("joint", *quiet, batch_size=8, mix="alternate")
    losses = []
    for draw in phase.batches.epoch(0):
        batch = first_batch(phase)
        losses.append(next(iter(phase(Batch(draw, batch.generator, batch.device)).scalars)))
    assert losses == ["denoise", "contrast"] * (len(losses) // 2)


def test_denoising_sees_every_text(quiet) -> None:
    model, data = quiet
    phase = make_phase("joint", model, data, batch_size=8)
    rows = {row for draw in phase.batches.epoch(0) for row in draw["denoise.rows"].tolist()}
    assert rows == {*data.train.tolist(), *data.unlabelled.tolist()}


def test_it_watches_the_probe_or_both_losses(quiet) -> None:
    phase = make_phase("joint", *quiet, denoise_weight=0.5)
    assert phase.watch == "probe"
    scores = phase.validate()
    assert scores["loss"] == pytest.approx(0.5 * scores["reconstruction"] + scores["pairs"])
    phase = make_phase("joint", *quiet, watch="loss")
    assert phase.lower_is_better


def test_each_part_may_add_a_layer(quiet) -> None:
    model, data = quiet
    layers = len(model.encoder.layers)
    make_phase("joint", model, data, denoise={"dense": "paper"}, contrast={"dense": "paper"})
    assert len(model.encoder.layers) == layers + 2


PAPER, IDENTITY = {"dense": "paper"}, {"dense": "identity"}


@pytest.mark.parametrize(
    ("kind", "options", "untrained"),
    [
        ("denoise", PAPER, True),
        ("denoise", IDENTITY, False),
        ("denoise", {}, False),
        ("contrast", PAPER, True),
        ("contrast", IDENTITY, False),
        ("contrast", {"objective": "proxy-nca"}, False),
        ("joint", {"denoise": PAPER, "contrast": IDENTITY}, True),
        ("joint", {"denoise": IDENTITY, "contrast": PAPER}, True),
        ("joint", {"denoise": IDENTITY}, False),
    ],
)
def test_a_random_layer_in_the_encoder_is_never_kept_untrained(quiet, kind: str, options, untrained: bool) -> None:
    phase = make_phase(kind, *quiet, batch_size=8, lr=1e-12, max_steps=2, evaluation_share=1, **options)
    assert phase.starts_untrained is untrained
    if untrained:
        events = run(phase)
        first = next(event for event in events if isinstance(event, Scored))
        assert first.step > 0
        assert events[-1].best_step > 0
        assert not events[-1].reverted


def test_without_an_evaluator_the_last_weights_are_kept(quiet) -> None:
    phase = make_phase("joint", *quiet, batch_size=8, max_steps=3, watch="last")
    assert phase.validate() == {}
    events = run(phase)
    assert not [event for event in events if isinstance(event, Scored)]
    ended = events[-1]
    assert (ended.steps, ended.best_step, ended.best, ended.evaluation, ended.reverted) == (3, 3, {}, {}, False)
    assert "keeping the last weights" in started(events[0])
