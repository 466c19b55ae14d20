from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from phasefit.errors import MissingExtra, RecipeError
from phasefit.models import neighbours
from phasefit.models.encoder.inference import encode_rows
from phasefit.phases.contract import Batch
from phasefit.phases.contrast.hard import HardNegatives
from phasefit.training.device import make_accelerator
from phasefit.training.loop import train_phase
from phasefit.training.state import PhaseState, put_weights, weights_of
from tiny import first_batch, fresh_model, make_data, make_phase, make_table, run, same, weights

FEW = {"max_steps": 4, "batch_size": 8, "lr": 1e-3, "patience": 0}


def near(phase) -> np.ndarray:
    return phase.negatives.neighbours.numpy()


def test_neighbours_are_the_nearest_of_other_classes(model, data) -> None:
    phase = make_phase("contrast", model, data, hard_negatives=4)
    assert (near(phase) == neighbours.NONE).all()
    phase.before_step(1)
    vectors = encode_rows(model.encoder, data.tokens, data.train).double().numpy()
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    codes = data.codes[data.train]
    alike = np.where(codes[:, None] == codes[None, :], -np.inf, vectors @ vectors.T)
    assert near(phase).shape == (len(data.train), 4)
    assert (near(phase) == np.argsort(-alike, axis=1, kind="stable")[:, :4]).mean() > 0.99, "but for roundings"


def test_searching_draws_no_random_numbers_and_keeps_the_mode(model, data) -> None:
    phase = make_phase("contrast", model, data, hard_negatives=2).train()
    before = torch.get_rng_state()
    phase.before_step(1)
    assert torch.equal(torch.get_rng_state(), before)
    assert all(module.training for module in phase.encoder.modules())


def test_neighbours_are_searched_every_refresh_steps(tiny_folder, monkeypatch) -> None:
    looked: list[int] = []

    def before_step(self: HardNegatives, step: int, encoder: Any, kept=HardNegatives.before_step) -> None:
        was = self.neighbours.clone()
        self.neighbours.fill_(neighbours.NONE)
        kept(self, step, encoder)
        if (self.neighbours != neighbours.NONE).any():
            looked.append(step)
        else:
            self.neighbours.copy_(was)

    monkeypatch.setattr(HardNegatives, "before_step", before_step)
    model = fresh_model(tiny_folder)
    data = make_data(model.encoder, *make_table(40), validation=0)
    run(make_phase("contrast", model, data, hard_negatives=2, refresh=2, **FEW))
    assert looked == [1, 3]


def test_off_means_off(model, data, monkeypatch) -> None:
    monkeypatch.setattr(neighbours, "nearest_others", None)
    phase = make_phase("contrast", model, data, max_steps=1, batch_size=8)
    phase.before_step(1)
    assert phase.negatives is None
    assert list(phase.encode(first_batch(phase))) == ["vectors"]
    assert list(first_batch(phase).draw) == ["rows"]
    assert not any("nearest" in note for note in phase.notes())


def test_each_row_comes_with_one_of_its_neighbours(model, data) -> None:
    phase = make_phase("contrast", model, data, hard_negatives=3, batch_size=8, balance={"mode": "none"})
    phase.before_step(1)
    picked: set[int] = set()
    for epoch in range(10):
        for draw in phase.batches.epoch(epoch):
            neighbours = phase.negatives.of(draw["rows"], draw["chance"])
            assert all(one in near(phase)[row] for row, one in zip(draw["rows"], neighbours, strict=True))
            picked |= {int(one) for row, one in zip(draw["rows"], neighbours, strict=True) if row == 0}
    assert picked == set(near(phase)[0].tolist()), "each of them now and then"


def test_the_loss_is_that_of_the_batch_with_its_negatives(tiny_encoder) -> None:
    model = fresh_model(tiny_encoder("bert", dropout=0.0))
    data = make_data(model.encoder, *make_table(90), validation=0)
    hard, plain = (
        make_phase("contrast", model, data, objective="supcon", batch_size=8, hard_negatives=count) for count in (2, 0)
    )
    batch = first_batch(hard)
    rows = batch.draw["rows"]
    alone = plain(Batch({"rows": rows}, batch.generator, batch.device)).loss.item()
    assert hard(batch).loss.item() == pytest.approx(alone, abs=1e-6), "before it has looked there are none"
    hard.before_step(1)
    neighbours = hard.negatives.of(rows, batch.draw["chance"])
    more = np.unique(np.setdiff1d(neighbours, rows))
    assert len(more)
    both = Batch({"rows": np.concatenate([rows, more])}, batch.generator, batch.device)
    assert hard(batch).loss.item() == pytest.approx(plain(both).loss.item(), abs=1e-6)
    assert hard(batch).loss.item() > alone


def test_a_class_with_a_single_other_text(model) -> None:
    data = make_data(model.encoder, *make_table(classes=2, sizes=[12, 1]), validation=0)
    phase = make_phase("contrast", model, data, hard_negatives=3, balance={"mode": "none"})
    phase.before_step(1)
    (lone,) = np.flatnonzero(data.codes == np.bincount(data.codes).argmin())
    others = np.delete(np.arange(13), lone)
    assert (near(phase)[others] == [lone, neighbours.NONE, neighbours.NONE]).all()
    assert (near(phase)[lone] != neighbours.NONE).all()
    assert (phase.negatives.of(others, np.linspace(0, 0.999, 12)) == lone).all()


def test_copies_share_neighbours_and_are_not_neighbours(model) -> None:
    data = make_data(model.encoder, *make_table(sizes=[40, 12, 3]), validation=0)
    phase = make_phase("contrast", model, data, hard_negatives=3, class_texts="names")
    grown = phase.grown
    phase.before_step(1)
    assert near(phase).shape == (len(data.train) + 3, 3)
    places = np.arange(len(grown))
    neighbours = phase.negatives.of(places, np.zeros(len(places)))
    assert (grown.codes[neighbours] != grown.codes).all()
    assert np.isin(neighbours, grown.clean).all()
    noisy = np.flatnonzero(grown.noisy)
    for copy in noisy:
        clean = int(np.flatnonzero(grown.rows == grown.rows[copy])[0])
        assert neighbours[copy] == neighbours[clean]


def test_many_rows_go_through_the_index(model, data, monkeypatch) -> None:
    exact = make_phase("contrast", model, data, hard_negatives=3)
    exact.before_step(1)
    kept = neighbours.nearest_others
    monkeypatch.setattr(
        "phasefit.phases.contrast.hard.nearest_others", lambda *args, **more: kept(*args, **more, exact_up_to=0)
    )
    indexed = make_phase("contrast", model, data, hard_negatives=3)
    indexed.before_step(1)
    assert (near(exact) == near(indexed)).mean() > 0.95


def test_many_rows_without_the_index_are_refused_at_once(model, data, monkeypatch) -> None:
    monkeypatch.setattr(neighbours, "EXACT_UP_TO", 10)
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(MissingExtra, match=r"contrast: hard negatives for 42 texts need an index"):
        make_phase("contrast", model, data, hard_negatives=3)


def test_explicit_pairs_are_refused(model, data) -> None:
    with pytest.raises(RecipeError, match="contrast: hard_negatives needs pairs = 'batch', not 'explicit'"):
        make_phase("contrast", model, data, hard_negatives=3, pairs="explicit")


@pytest.mark.parametrize(("kind", "step"), [("contrast", 1), ("contrast", 2), ("joint", 3)])
def test_a_resumed_phase_matches_an_uninterrupted_one(tiny_folder: Path, kind: str, step: int) -> None:
    own = {"hard_negatives": 3, "refresh": 2, "class_texts": "names"}

    def built() -> Any:
        model = fresh_model(tiny_folder)
        data = make_data(model.encoder, *make_table(60), validation=15)
        return make_phase(kind, model, data, **FEW, **({"contrast": own} if kind == "joint" else own))

    kept: dict[str, torch.Tensor] = {}
    facts: dict[str, Any] = {}

    def on_step_end(state: PhaseState) -> None:
        if state.step == step:
            tensors = weights_of(phase=state.phase) | state.tensors()
            kept.update({name: value.detach().clone() for name, value in tensors.items()})
            facts.update(json.loads(json.dumps(state.facts())))

    whole, again = built(), built()
    list(train_phase(whole, make_accelerator("cpu"), seed=0, on_step_end=on_step_end))
    torch.manual_seed(99)

    def resume(state: PhaseState) -> None:
        put_weights(kept, phase=again)
        state.load(kept, facts)

    list(train_phase(again, make_accelerator("cpu"), seed=0, resume=resume))
    assert same(weights(whole), weights(again))
    assert all(torch.equal(one, other) for one, other in zip(whole.buffers(), again.buffers(), strict=True))


def test_in_chunks_it_has_the_gradient_of_the_whole(tiny_encoder) -> None:
    trained = []
    for chunk in (None, 3):
        model = fresh_model(tiny_encoder("bert", dropout=0.0))
        data = make_data(model.encoder, *make_table(60), validation=0)
        options = {**FEW, "max_steps": 2, "eps": 1e-3, "balance": {"mode": "none"}, "class_texts": "names"}
        phase = make_phase("contrast", model, data, hard_negatives=3, chunk=chunk, **options)
        run(phase)
        trained.append(weights(phase))
    whole, chunked = trained
    assert max((whole[name] - chunked[name]).abs().max().item() for name in whole) < 1e-5
