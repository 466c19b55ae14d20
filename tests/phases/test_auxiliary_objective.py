"""An objective added to cross-entropy: how they are weighted, what is trained, what is refused."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from torch.nn.functional import cross_entropy

from phasefit.errors import RecipeError
from phasefit.objectives import OBJECTIVES
from phasefit.phases import PHASES
from phasefit.phases.contract import Batch
from phasefit.phases.finetune.head import stacked
from phasefit.training.optimiser import make_optimiser
from tiny import first_batch, fresh_model, make_data, make_phase, make_table, run, tree, weights

LABELLED = [name for name, kind in OBJECTIVES.items() if "labelled" in kind.inputs]
TOKENS = {"objective": {"name": "soft-triple", "centres": 3}, "on": "tokens"}


def still(phase):
    """Without dropout two passes are the same."""
    for part in phase.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    return phase.train()


@pytest.mark.parametrize("objective", LABELLED)
def test_the_loss_is_the_weighted_sum_of_both(model, data, objective) -> None:
    phase = still(make_phase("finetune", model, data, objective=objective, ce_weight=0.3))
    batch = Batch({"rows": data.train[:12]}, np.random.default_rng(0), torch.device("cpu"))
    encoded = phase.encode(batch)
    output = phase.loss(encoded, batch)
    codes = torch.from_numpy(data.codes[batch.draw["rows"]])
    plain = cross_entropy(phase.head(encoded["vectors"]), codes)
    given = {"parameters": phase.beside.proxies}
    expected = 0.3 * plain
    if phase.beside.weighting is not None:
        given["class_weights"] = encoded["weights"].softmax(1)
        expected = expected + 0.3 * cross_entropy(encoded["weights"], codes)
    expected = expected + 0.7 * phase.beside.objective(encoded["vectors"], codes, **given)
    torch.testing.assert_close(output.loss, expected)
    assert output.scalars["cross_entropy"] == pytest.approx(float(plain.detach()))


@pytest.mark.parametrize(("share", "note"), [(0.0, "the head is not trained"), (0.3, ""), (1.0, "has no effect")])
def test_a_part_without_weight_is_noted(model, data, share, note) -> None:
    notes = " ".join(make_phase("finetune", model, data, objective="supcon", ce_weight=share).notes())
    assert note in notes
    assert bool(notes) == bool(note)


def test_padding_is_masked_out_of_the_token_states(model, data) -> None:
    phase = still(make_phase("finetune", model, data, **TOKENS, ce_weight=0.0, batch_size=12))
    rows = np.sort(data.train)[:6]
    lengths = data.tokens.lengths[rows]
    assert len(set(lengths.tolist())) > 1, "some texts are padded"
    batch = Batch({"rows": rows}, np.random.default_rng(0), torch.device("cpu"))
    together = float(phase(batch).loss.detach())
    apart = [
        float(phase(Batch({"rows": rows[place : place + 1]}, batch.generator, batch.device)).loss.detach())
        for place in range(len(rows))
    ]
    regulariser = phase.beside.objective.regulariser * float(
        phase.beside.objective._spread(phase.beside.proxies.fc).detach()
    )
    mean = np.average(np.array(apart) - regulariser, weights=lengths) + regulariser
    assert together == pytest.approx(mean, abs=1e-5)


def test_two_views_are_both_trained_on(model, data) -> None:
    one = still(make_phase("finetune", model, data, objective="supcon", batch_size=8))
    two = still(make_phase("finetune", model, data, objective="supcon", views=["dropout"], batch_size=8))
    two.head.load_state_dict(one.head.state_dict())
    batch = Batch({"rows": data.train[:8]}, np.random.default_rng(0), torch.device("cpu"))
    encoded = two.encode(batch)
    torch.testing.assert_close(encoded["vectors"], encoded["vectors.2"])  # no dropout here: the same vector twice
    scalars = two.loss(encoded, batch).scalars
    codes = torch.from_numpy(data.codes[batch.draw["rows"]])
    vectors = encoded["vectors"]
    doubled = one.beside.objective(torch.cat([vectors, vectors]), torch.cat([codes, codes]))
    assert float(scalars["supcon"]) == pytest.approx(float(doubled.detach()), abs=1e-5)
    assert float(scalars["cross_entropy"]) == pytest.approx(float(one(batch).scalars["cross_entropy"]), abs=1e-5)


def test_views_of_changed_texts_differ(model, data) -> None:
    phase = still(make_phase("finetune", model, data, views=["delete-words"], batch_size=8))
    encoded = phase.encode(first_batch(phase))
    assert not torch.allclose(encoded["vectors"], encoded["vectors.2"])
    assert torch.isfinite(phase(first_batch(phase)).loss)


@pytest.mark.parametrize("objective", [None, "supcon", "label-aware"])
def test_cross_entropy_is_the_mean_over_both_views(model, data, objective: str | None) -> None:
    view = {"name": "delete-words", "ratio": 0.5}
    phase = still(make_phase("finetune", model, data, objective=objective, views=[view], batch_size=8))
    batch = Batch({"rows": data.train[:8]}, np.random.default_rng(0), torch.device("cpu"))
    encoded = phase.encode(batch)
    codes = torch.from_numpy(data.codes[batch.draw["rows"]])
    first, second = (
        float(cross_entropy(phase.head(encoded[name]), codes).detach()) for name in ("vectors", "vectors.2")
    )
    assert first != pytest.approx(second, abs=1e-6)
    output = phase.loss(encoded, batch)
    value = output.loss if objective is None else output.scalars["cross_entropy"]
    assert float(value.detach()) == pytest.approx((first + second) / 2, abs=1e-5)


def test_the_weighting_network_starts_as_the_encoder_and_learns_apart(tiny_folder) -> None:
    model = fresh_model(tiny_folder)
    data = make_data(model.encoder, *make_table(60))
    phase = make_phase("finetune", model, data, objective="label-aware", views=["dropout"], max_steps=4, lr=1e-3)
    copy = phase.beside.weighting.encoder
    before = weights(copy)
    assert all(torch.equal(value, weights(phase.encoder)[name]) for name, value in before.items())
    run(phase, fixed_steps=4)
    now, own = weights(copy), weights(phase.encoder)
    changed = [name for name in now if not torch.equal(now[name], before[name])]
    assert changed
    assert all(not torch.equal(now[name], own[name]) for name in changed)
    assert not [name for name, _ in model.named_parameters() if "beside" in name or "weighting" in name]


def test_proxies_and_weighting_have_their_own_learning_rates(model, data) -> None:
    for objective, part in (("proxy-nca", "proxies"), ("soft-triple", "proxies"), ("label-aware", "weighting")):
        phase = make_phase("finetune", model, data, objective=objective, lrs={part: 0.01}, lr=1e-4)
        rates = {group["part"]: group["lr"] for group in make_optimiser(phase).param_groups}
        assert rates[part] == 0.01
        assert rates["encoder"] == 1e-4


def test_proxies_do_not_depend_on_what_was_drawn_before(tiny_folder) -> None:
    made = []
    for noise in (1, 2):
        torch.manual_seed(noise)
        model = fresh_model(tiny_folder)
        phase = make_phase("finetune", model, make_data(model.encoder, *make_table(40)), objective="soft-triple")
        made.append(phase.beside.proxies.fc.detach())
    assert torch.equal(*made)


@pytest.mark.parametrize("objective", LABELLED)
def test_trees_are_taken_or_refused_by_name(model, objective) -> None:
    texts, labels = make_table(40)
    data = make_data(model.encoder, texts, tree(labels))
    if OBJECTIVES[objective].graded:
        phase = make_phase("finetune", model, data, objective=objective, batch_size=12)
        assert torch.isfinite(phase(first_batch(phase)).loss)
    else:
        with pytest.raises(RecipeError, match=f"finetune: objective '{objective}' needs one class per text.*supcon"):
            make_phase("finetune", model, data, objective=objective)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"objective": "info-nce"}, "here: objective 'info-nce' does not accept labelled texts; use one of: cosine"),
        (
            {"objective": "supcon", "on": "tokens"},
            "here: objective 'supcon' does not accept token states; .* soft-triple",
        ),
        ({"objective": "supconn"}, "unknown objective 'supconn'; did you mean 'supcon'"),
        ({"objective": {"name": "supcon", "temperature": 0}}, "temperature"),
        ({"views": ["delete-word"]}, "delete-words"),
    ],
)
def test_what_makes_no_sense_is_refused_before_training(options, message) -> None:
    with pytest.raises(RecipeError, match=message):
        PHASES.get("finetune")(kind="finetune", **options).check("here")


@pytest.mark.parametrize(
    "options",
    [
        {"freeze": True, "objective": "supcon"},
        {"freeze": True, "views": ["dropout"]},
        {"on": "tokens"},
        {"objective": "supcon", "ce_weight": 1.5},
        {"objective": "supcon", "chunk": 1},
    ],
)
def test_options_that_exclude_each_other(options) -> None:
    with pytest.raises(ValidationError):
        PHASES.get("finetune")(kind="finetune", **options)


def test_a_batch_without_positives_is_reported_once(model) -> None:
    texts, _ = make_table(24)
    data = make_data(model.encoder, texts, [f"own{row}" for row in range(20)] + ["own0"] * 4, validation=4)
    phase = make_phase("finetune", model, data, objective="supcon", batch_size=4, max_steps=5, evaluate_every=1)
    notes = [event.text for event in run(phase) if hasattr(event, "text")]
    reported = [note for note in notes if "supcon" in note]
    assert len(reported) == 1, notes
    assert reported[0].startswith("finetune: objective 'supcon'")


def test_states_of_different_lengths_are_stacked_with_their_masks() -> None:
    short = {"states": torch.ones(2, 3, 4), "mask": torch.ones(2, 3, dtype=torch.bool), "vectors": torch.ones(2, 4)}
    long = {"states": torch.ones(1, 5, 4), "mask": torch.ones(1, 5, dtype=torch.bool), "vectors": torch.ones(1, 4)}
    both = stacked([short, long])
    assert both["states"].shape == (3, 5, 4)
    assert both["mask"].sum(1).tolist() == [3, 3, 5]
    assert both["vectors"].shape == (3, 4)
    assert (both["states"].sum(-1) > 0).equal(both["mask"])
