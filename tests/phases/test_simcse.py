from __future__ import annotations

import pytest
import torch
from pydantic import ValidationError
from torch import nn

from phasefit.models.seeded import seeded
from phasefit.phases.in_batch_negatives.options import SimCSEOptions
from tiny import first_batch, fresh_model, make_data, make_phase, make_table, run, weights


def test_dropout_is_drawn_for_each_view(model, data) -> None:
    phase = make_phase("simcse", model, data, batch_size=8, projection=False).train()
    encoded = phase.encode(first_batch(phase))
    assert not torch.equal(encoded["anchor"], encoded["positive"])
    encoded = phase.eval().encode(first_batch(phase))
    assert torch.equal(encoded["anchor"], encoded["positive"]), "the texts are the same"


def test_the_loss_is_info_nce_at_a_twentieth(model, data) -> None:
    phase = make_phase("simcse", model, data, batch_size=8)
    encoded = phase.encode(first_batch(phase))
    left, right = (nn.functional.normalize(encoded[side]) for side in ("anchor", "positive"))
    expected = nn.functional.cross_entropy(left @ right.T / 0.05, torch.arange(8))
    assert phase.loss(encoded, first_batch(phase)).loss.item() == pytest.approx(expected.item(), rel=1e-5)


def test_the_projection_is_trained_and_discarded(tiny_folder) -> None:
    model = fresh_model(tiny_folder)
    data = make_data(model.encoder, *make_table(40))
    layers, names = len(model.encoder.layers), set(weights(model.encoder))
    phase = make_phase("simcse", model, data, max_steps=2, lr=1e-3, lrs={"projection": 1e-2}, watch="loss")
    before = weights(phase.projection)
    assert set(before) == {"0.weight", "0.bias"}
    run(phase, fixed_steps=2)
    assert not torch.equal(before["0.weight"], phase.projection[0].weight)
    assert len(model.encoder.layers) == layers
    assert set(weights(model.encoder)) == names


def test_the_projection_is_the_seeds(model, data) -> None:
    first, again, other = (weights(make_phase("simcse", model, data, seed=seed).projection) for seed in (0, 0, 1))
    assert torch.equal(first["0.weight"], again["0.weight"])
    assert not torch.equal(first["0.weight"], other["0.weight"])


@pytest.mark.parametrize(
    ("options", "projects"),
    [
        ({}, True),
        ({"projection": False}, False),
        ({"supervised": True}, False),
        ({"supervised": True, "projection": True}, True),
    ],
)
def test_by_default_only_the_unsupervised_form_projects(model, data, options, projects: bool) -> None:
    phase = make_phase("simcse", model, data, **options)
    assert bool(phase.groups()["projection"]) == projects
    assert phase.options.needs == ("pairs" if phase.options.supervised else "texts")


def test_notes_of_views_are_reported(model, data, tmp_path) -> None:
    table = tmp_path / "s.csv"
    table.write_text("rain,shower\n")
    view = {"name": "synonyms", "table": str(table)}
    for kind in ("simcse", "finetune"):
        notes = make_phase(kind, model, data, views=[view]).notes()
        assert notes == [f"{kind}: view 'synonyms': '{table}' has synonyms for 2 words"]


def test_views_change_the_second_side_only(model, data) -> None:
    phase = make_phase("simcse", model, data, batch_size=8, views=[{"name": "delete-words", "ratio": 0.5}]).eval()
    plain = make_phase("simcse", model, data, batch_size=8).eval()
    changed, same = phase.encode(first_batch(phase)), plain.encode(first_batch(plain))
    assert torch.equal(changed["anchor"], same["anchor"])
    assert not torch.allclose(changed["positive"], same["positive"])


def test_an_adversarial_view_is_shifted(model, data) -> None:
    phase = make_phase("simcse", model, data, batch_size=8, views=["adversarial"], projection=False).eval()
    with seeded(0):
        encoded = phase.encode(first_batch(phase))
    assert (torch.cosine_similarity(encoded["anchor"], encoded["positive"]) < 0.9999).all()
    assert set(phase.validate()) == {"loss", "probe", "probe_accuracy"}, "also where no gradient is asked for"


def test_pairs_have_no_second_view() -> None:
    with pytest.raises(ValidationError, match="'views' has no effect; remove it"):
        SimCSEOptions(supervised=True, views=["delete-words"])
