"""Targets of contrast on trees: graded by shared levels, or only equal and different paths."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from phasefit.errors import RecipeError
from phasefit.phases import PHASES
from tiny import first_batch, make_phase, run

EVEN = {"name": "cosine", "even": True}


def agreements(phase, places: np.ndarray) -> set[float]:
    """The distinct agreements of all pairs of these places."""
    from phasefit.objectives.agreement import agreement

    return {round(value, 3) for value in agreement(torch.from_numpy(phase._targets(places))).unique().tolist()}


def test_siblings_count_half_or_not_at_all(model, tree_data) -> None:
    graded = make_phase("contrast", model, tree_data, objective=EVEN)
    equal = make_phase("contrast", model, tree_data, objective=EVEN, agreement="equal")
    places = np.arange(len(graded.grown))
    assert agreements(graded, places) == {0.0, 0.5, 1.0}
    assert agreements(equal, places) == {0.0, 1.0}
    same = graded._targets(places)
    expected = (same[:, None] == same[None]).all(axis=2)
    codes = equal._targets(places)
    assert ((codes[:, None] == codes[None]) == expected).all()


def test_both_take_the_same_batches_and_steps(model, tree_data) -> None:
    graded, equal = (
        make_phase("contrast", model, tree_data, objective=EVEN, agreement=how) for how in ("graded", "equal")
    )
    assert len(graded.batches) == len(equal.batches)
    one, other = first_batch(graded), first_batch(equal)
    assert (one.draw["rows"] == other.draw["rows"]).all()
    similar, different = (float(phase.eval()(batch).loss.detach()) for phase, batch in ((graded, one), (equal, other)))
    assert similar != pytest.approx(different, abs=1e-4), "the encoder is the same, without dropout"
    assert graded.validate()["pairs"] != equal.validate()["pairs"]


def test_explicit_pairs_agree_fully_or_not_at_all(model, tree_data) -> None:
    phase = make_phase("contrast", model, tree_data, pairs="explicit", agreement="equal", batch_size=8)
    pairs = np.concatenate([draw["pairs"] for draw in phase.batches.epoch(0)])
    codes = phase.grown.codes[pairs]
    assert (codes[:, 0] == codes[:, 1]).mean() == pytest.approx(0.5), "one equal pair for each different one"
    run(phase, fixed_steps=1)


@pytest.mark.parametrize("kind", ["contrast", "joint"])
def test_it_is_refused_without_a_tree(kind: str) -> None:
    own = {"agreement": "equal"}
    options = PHASES.get(kind)(kind=kind, **({"contrast": own} if kind == "joint" else own))
    options.check_kinds(kind, {"": "tree"})
    with pytest.raises(RecipeError, match=f"^{kind}: agreement = 'equal' is for tree labels, not for labels of kind"):
        options.check_kinds(kind, {"": "single"})
    PHASES.get(kind)(kind=kind).check_kinds(kind, {"": "single"})
