"""The contract of all registered objectives, including future ones."""

from __future__ import annotations

import warnings
from dataclasses import fields, replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError
from torch import Tensor

from phasefit.objectives import (
    OBJECTIVES,
    Cosine,
    InfoNCE,
    LabelAware,
    NothingToLearn,
    NTXent,
    Objective,
    SoftTriple,
    Triplet,
)

CLASSES, WIDTH = 9, 5

BATCHES: dict[str, Tensor] = {
    "classes": torch.tensor([0, 0, 1, 1, 2, 2, 1, 0]),
    "a lone anchor": torch.tensor([0, 0, 0, 0, 1, 1, 1, 2]),
    "one class": torch.zeros(8, dtype=torch.long),
    "no positives": torch.arange(8),
    "one row": torch.tensor([3]),
    "no row": torch.empty(0, dtype=torch.long),
}
GRADED: dict[str, Tensor] = {
    "tree": torch.tensor([[0, 0], [0, 1], [1, 1], [0, 0], [1, 0], [1, 1], [0, 1], [2, 2]]),
    "tree of one path": torch.tensor([[1, 2, 3]] * 8),
    "several labels": torch.tensor([[True, False], [True, True], [False, True], [False, False]] * 2),
}
VARIANTS: dict[str, Objective] = {
    **{name: OBJECTIVES[name]() for name in OBJECTIVES},
    "cosine, even": Cosine(even=True),
    "triplet, random": Triplet(mining="random"),
    "triplet, hard": Triplet(mining="hard"),
    "triplet, semi-hard": Triplet(margin=1.0, mining="semi-hard"),
    "soft-triple, one centre": SoftTriple(centres=1, regulariser=0.0),
    "label-aware, paper": LabelAware(form="paper"),
    "info-nce, both": InfoNCE(directions="both", hard_negative_weight=1.0),
    "nt-xent, negatives alone": NTXent(pull=False),
}
CASES = [(name, kind) for name, objective in VARIANTS.items() for kind in objective.inputs]
LABELLED = [name for name, kind in CASES if kind == "labelled"]
every_case = pytest.mark.parametrize(("name", "kind"), CASES, ids=[f"{name}, {kind}" for name, kind in CASES])

FEW = {"one row", "no row"}
COMPARING = FEW | {"one class", "no positives"}
NOTHING: dict[tuple[str, str], set[str]] = {
    ("cosine", "labelled"): FEW,
    ("cosine", "pairs"): {"no row"},
    ("contrastive", "labelled"): FEW,
    ("contrastive", "pairs"): {"no row"},
    ("triplet", "labelled"): COMPARING,
    ("supcon", "labelled"): COMPARING,
    ("label-aware", "labelled"): COMPARING,
    ("proxy-nca", "labelled"): {"no row"},
    ("soft-triple", "labelled"): {"no row"},
    ("soft-triple", "tokens"): {"no row"},
    ("info-nce", "views"): FEW,
    ("multiple-negatives", "views"): FEW,
    ("nt-xent", "views"): FEW,
}


def embeddings(n: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> Tensor:
    return torch.randn(n, WIDTH, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).to(dtype)


def feed(objective: Objective, kind: str, z: Tensor, targets: Tensor, dtype: torch.dtype | None = None) -> Tensor:
    """The loss of a batch for any kind of input; missing inputs are derived row by row from `z`."""
    torch.manual_seed(0)  # proxies, and random triplets
    wide = dtype or (torch.float64 if z.dtype == torch.float64 else torch.float32)
    made = objective.parameters(CLASSES, WIDTH)
    parameters = made.to(wide) if made is not None else None
    mirrored = z.flip(1) * torch.linspace(0.5, 2, WIDTH, dtype=z.dtype)
    if kind == "pairs":
        return objective.pairs(z, mirrored, (z[:, 0] > 0).float())
    if kind == "views":
        return objective.views(z, mirrored)
    if kind == "tokens":
        mask = torch.stack([torch.ones(len(z)), z[:, 0] > 0, torch.zeros(len(z))], 1).long()
        states = torch.stack([z, mirrored, z], 1)
        return objective.tokens(states, mask, targets, parameters=parameters)
    weights = z.to(wide).repeat(1, 2)[:, :CLASSES].softmax(1).to(z.dtype) if objective.weighs_classes else None
    return objective(z, targets, parameters=parameters, class_weights=weights)


def quietly(*given: Any) -> Tensor:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NothingToLearn)
        return feed(*given)


@every_case
@pytest.mark.parametrize("batch", BATCHES)
def test_loss_is_finite_and_differentiable_and_zero_for_a_degenerate_batch(name: str, kind: str, batch: str) -> None:
    objective, targets = VARIANTS[name], BATCHES[batch]
    z = embeddings(len(targets)).requires_grad_()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loss = feed(objective, kind, z, targets)
    assert loss.shape == ()
    assert torch.isfinite(loss)
    loss.backward()
    assert torch.isfinite(z.grad).all()
    if batch in NOTHING.get((objective.name, kind), set()):
        assert [each.category for each in caught] == [NothingToLearn]
        assert str(caught[0].message).startswith(f"objective '{objective.name}': ")
        assert loss == 0
        assert not z.grad.any()
    else:
        assert not caught
        assert z.grad.abs().sum() > 0


@every_case
@pytest.mark.parametrize("batch", GRADED)
def test_labels_that_agree_partially_are_supported_or_rejected(name: str, kind: str, batch: str) -> None:
    objective, targets = VARIANTS[name], GRADED[batch]
    z = embeddings(len(targets)).requires_grad_()
    if kind in ("labelled", "tokens") and not objective.graded:
        with pytest.raises(ValueError, match=f"objective '{objective.name}' needs one class per text"):
            feed(objective, kind, z, targets)
        return
    loss = quietly(objective, kind, z, targets)
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(z.grad).all()
    if batch != "tree of one path":
        assert z.grad.abs().sum() > 0


@every_case
def test_a_tree_of_one_level_is_plain_classes(name: str, kind: str) -> None:
    targets = BATCHES["a lone anchor"]
    z = embeddings(len(targets))
    assert torch.equal(feed(VARIANTS[name], kind, z, targets[:, None]), feed(VARIANTS[name], kind, z, targets))


@every_case
@pytest.mark.parametrize("batch", [*BATCHES, *GRADED])
def test_the_order_of_rows_does_not_matter(name: str, kind: str, batch: str) -> None:
    objective, targets = VARIANTS[name], (BATCHES | GRADED)[batch]
    if name == "triplet, random" or (batch in GRADED and kind in ("labelled", "tokens") and not objective.graded):
        return
    z, order = embeddings(len(targets)), torch.randperm(len(targets), generator=torch.Generator().manual_seed(1))
    there, back = quietly(objective, kind, z, targets), quietly(objective, kind, z[order], targets[order])
    assert back.item() == pytest.approx(there.item(), abs=1e-9)


@every_case
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_converted_before_any_multiplication(name: str, kind: str, dtype: torch.dtype) -> None:
    objective, targets = VARIANTS[name], BATCHES["classes"]
    z = embeddings(len(targets), dtype)
    if kind == "labelled" and not objective.weighs_classes:  # else what the test makes of z is rounded in between
        lifted = feed(objective, kind, z.float(), targets)
        assert feed(objective, kind, z, targets).item() == pytest.approx(lifted.item(), rel=1e-6)
    leaf = z.requires_grad_()
    loss = feed(objective, kind, leaf, targets)
    assert loss.dtype == torch.float32
    whole = feed(objective, kind, embeddings(len(targets), torch.float32), targets)
    assert loss.item() == pytest.approx(whole.item(), rel=0.05, abs=0.05)
    loss.backward()
    assert torch.isfinite(leaf.grad).all()


@every_case
def test_parameters_in_half_precision_are_converted_too(name: str, kind: str) -> None:
    z = embeddings(8, torch.bfloat16)
    assert torch.isfinite(feed(VARIANTS[name], kind, z, BATCHES["classes"], torch.bfloat16))


@every_case
@pytest.mark.parametrize("batch", ["classes", "one class", "no positives"])
def test_finite_when_vectors_collapse(name: str, kind: str, batch: str) -> None:
    for z in (torch.zeros(8, 5), torch.ones(8, 5), torch.full((8, 5), 1e-20), torch.full((8, 5), 1e4)):
        leaf = z.requires_grad_()
        loss = quietly(VARIANTS[name], kind, leaf, BATCHES[batch])
        loss.backward()
        assert torch.isfinite(loss)
        assert torch.isfinite(leaf.grad).all()


@every_case
def test_the_gradient_is_right(name: str, kind: str) -> None:
    z = embeddings(6).requires_grad_()

    def loss(x: Tensor) -> Tensor:
        return feed(VARIANTS[name], kind, x, BATCHES["classes"][:6])

    assert torch.autograd.gradcheck(loss, (z,), fast_mode=True)


@pytest.mark.parametrize("name", [name for name in LABELLED if name != "triplet, semi-hard"])
def test_better_vectors_have_a_lower_loss(name: str) -> None:
    objective = VARIANTS[name]
    targets = torch.tensor([0, 0, 1, 1])
    right = torch.tensor([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0], [0.1, 1.0]])
    parameters = objective.parameters(2, 2)
    for weight in parameters.parameters() if parameters is not None else ():  # its columns, or rows, by class
        side = weight.shape[0] // 2 if name == "proxy-nca" else weight.shape[1] // 2
        ideal = torch.eye(2).repeat_interleave(side, 0)
        weight.data = ideal if name == "proxy-nca" else ideal.T.contiguous()
    given: dict[str, Any] = {"parameters": parameters, "class_weights": torch.full((4, 2), 0.5)}
    assert objective(right, targets, **given) < objective(right[[0, 2, 1, 3]], targets, **given)


@pytest.mark.parametrize("name", [name for name, kind in CASES if kind == "views"])
def test_better_views_have_a_lower_loss(name: str) -> None:
    objective = VARIANTS[name]
    rows = embeddings(4)
    if name == "nt-xent, negatives alone":
        near = rows[:1] + 0.1 * rows
        assert objective.views(rows, rows) < objective.views(near, near)
    else:
        assert objective.views(rows, rows) < objective.views(rows, rows.roll(1, 0))


@pytest.mark.parametrize(("name", "kind"), [case for case in CASES if hasattr(VARIANTS[case[0]], "temperature")])
def test_the_temperature_is_honoured(name: str, kind: str) -> None:
    objective: Any = VARIANTS[name]
    warm = replace(objective, temperature=3 * objective.temperature)
    z, targets = embeddings(8), BATCHES["classes"]
    assert feed(warm, kind, z, targets).item() != pytest.approx(feed(objective, kind, z, targets).item(), rel=1e-3)
    for wrong in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="temperature must be greater than 0"):
            replace(objective, temperature=wrong)


@pytest.mark.parametrize("name", VARIANTS)
def test_supported_inputs_are_declared(name: str) -> None:
    objective, z = VARIANTS[name], embeddings(4)
    assert objective.inputs
    assert set(objective.inputs) <= {"labelled", "pairs", "views", "tokens"}
    for kind in {"labelled", "pairs", "views", "tokens"} - set(objective.inputs):
        with pytest.raises(TypeError, match=f"objective '{objective.name}' does not support "):
            feed(objective, kind, z, torch.tensor([0, 0, 1, 1]))


@pytest.mark.parametrize("name", OBJECTIVES)
def test_an_objective_has_its_registered_name_and_plain_options(name: str) -> None:
    chosen: Any = OBJECTIVES[name]
    assert chosen.name == name
    made = chosen()
    assert hash(made) == hash(chosen())
    options = {field.name: getattr(made, field.name) for field in fields(made)}
    assert all(isinstance(value, bool | int | float | str) for value in options.values())
    assert TypeAdapter(chosen).validate_python(options) == made


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("contrastive", {"margin": 0}),
        ("supcon", {"upper_levels": 1.1}),
        ("triplet", {"margin": -0.1}),
        ("triplet", {"mining": "easy"}),
        ("triplet", {"mining": "semi-hard", "margin": 0}),
        ("soft-triple", {"centres": 0}),
        ("soft-triple", {"gamma": 0}),
        ("soft-triple", {"regulariser": -1}),
        ("label-aware", {"form": "slide"}),
        ("info-nce", {"directions": "none"}),
        ("info-nce", {"hard_negative_weight": float("nan")}),
    ],
)
def test_invalid_options_are_rejected(name: str, wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(wrong)) if len(wrong) == 1 else "margin"):
        OBJECTIVES[name](**wrong)
    with pytest.raises(ValidationError):
        TypeAdapter(OBJECTIVES[name]).validate_python(wrong)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_parameters_are_drawn_from_torchs_generator(name: str) -> None:
    def drawn(seed: int) -> list[Tensor]:
        torch.manual_seed(seed)
        made = OBJECTIVES[name]().parameters(3, 4)
        return [] if made is None else list(made.state_dict().values())

    assert all(torch.equal(one, two) for one, two in zip(drawn(0), drawn(0), strict=True))
    assert not any(torch.equal(one, two) for one, two in zip(drawn(0), drawn(1), strict=True))


@pytest.mark.parametrize("name", ["proxy-nca", "soft-triple"])
def test_with_a_single_class_proxies_have_nothing_to_learn(name: str) -> None:
    objective = OBJECTIVES[name]()
    z, made = embeddings(4, torch.float32).requires_grad_(), objective.parameters(1, WIDTH)
    assert made is not None
    with pytest.warns(NothingToLearn, match="only one class"):
        loss = objective(z, torch.zeros(4, dtype=torch.long), parameters=made)
    loss.backward()
    assert loss.item() == 0
    assert all(not each.grad.any() for each in (z, *made.parameters()))
    with pytest.raises(TypeError, match="that its method `parameters` creates"):
        objective(z, torch.zeros(4, dtype=torch.long))


@pytest.mark.parametrize("name", sorted(set(LABELLED)))
@settings(max_examples=8, deadline=None)
@given(codes=st.lists(st.integers(0, CLASSES - 1), max_size=12), seed=st.integers(0, 100))
def test_finite_for_any_mix_of_labels(name: str, codes: list[int], seed: int) -> None:
    z = embeddings(len(codes), torch.float32, seed).requires_grad_()
    loss = quietly(VARIANTS[name], "labelled", z, torch.tensor(codes, dtype=torch.long))
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(z.grad).all()
