from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from phasefit.errors import RecipeError
from phasefit.phases.probe import Probe
from tiny import make_data, make_phase


def test_it_separates_separable_classes(model) -> None:
    texts = ["rain"] * 20 + ["pizza"] * 20
    labels = ["weather"] * 20 + ["food"] * 20
    order = np.random.default_rng(0).permutation(40)
    data = make_data(model.encoder, [texts[row] for row in order], [labels[row] for row in order], validation=10)
    assert Probe(data, 0).scores(model.encoder) == {"probe": 1.0, "probe_accuracy": 1.0}


def test_a_class_that_only_validation_has_is_a_mistake(model, data) -> None:
    train = data.train[data.codes[data.train] != 2]
    scores = Probe(replace(data, train=train), 0).scores(model.encoder)
    assert 0 <= scores["probe"] < 1


def test_it_needs_validation_rows_and_two_classes(model, data) -> None:
    assert Probe(data, 0)
    assert not Probe(replace(data, validation=data.validation[:0]), 0)
    assert not Probe(replace(data, train=data.train[data.codes[data.train] == 0]), 0)


def test_rows_without_a_label_are_left_out(model, data) -> None:
    nothing = Probe(replace(data, codes=np.full_like(data.codes, -1)), 0)
    assert not nothing
    assert nothing.parts == []
    codes = np.where(np.arange(len(data.codes)) % 3 == 0, -1, data.codes)
    some = Probe(replace(data, codes=codes), 0)
    assert some
    assert sum(rows for rows, _ in some.parts) == np.count_nonzero(
        codes[np.concatenate([data.train, data.validation])] >= 0
    )
    assert 0 <= some.scores(model.encoder)["probe"] <= 1


def test_large_tables_are_sampled(model, data, monkeypatch) -> None:
    monkeypatch.setattr("phasefit.phases.probe.TRAIN_ROWS", 20)
    probe = Probe(data, 0)
    assert len(probe._train) == 20
    assert Probe(data, 0).scores(model.encoder) == probe.scores(model.encoder)


@pytest.mark.parametrize("kind", ["denoise", "simcse"])
def test_a_probe_without_labels_is_refused(model, data, kind: str) -> None:
    bare = replace(data, codes=np.full_like(data.codes, -1))
    with pytest.raises(RecipeError, match=f"{kind}: watch = 'probe' needs labels"):
        make_phase(kind, model, bare, watch="probe")
    assert make_phase(kind, model, bare).watch == "loss"
    no_validation = replace(bare, validation=bare.validation[:0])
    assert make_phase(kind, model, no_validation, watch="probe").validate() == {}
