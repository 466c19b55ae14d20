"""The weights of rows in objectives and in the losses of heads."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from phasefit.kinds.losses import WithUpperLevels
from phasefit.objectives import OBJECTIVES, Cosine, InfoNCE, LabelAware, NTXent, Objective, SoftTriple
from phasefit.objectives.head_losses import BinaryCrossEntropy, CrossEntropy, SquaredError, UpperLevels

ROWS, WIDTH, CLASSES = 8, 5, 3
CODES = torch.tensor([0, 0, 1, 1, 2, 2, 1, 0])
VARIANTS: dict[str, Objective] = {
    **{name: OBJECTIVES[name]() for name in OBJECTIVES if OBJECTIVES[name].weighs_rows},
    "cosine, even": Cosine(even=True),
    "soft-triple, plain": SoftTriple(regulariser=0.0),
    "label-aware, paper": LabelAware(form="paper"),
    "info-nce, both": InfoNCE(directions="both"),
    "nt-xent, negatives alone": NTXent(pull=False),
}
CASES = [(name, kind) for name, objective in VARIANTS.items() for kind in objective.inputs]


def feed(objective: Objective, kind: str, weights: Tensor | None) -> Tensor:
    torch.manual_seed(0)
    parameters = objective.parameters(CLASSES, WIDTH)
    z, other = torch.randn(2, ROWS, WIDTH).unbind()
    given = {} if weights is None else {"row_weights": weights}
    if kind == "pairs":
        return objective.pairs(z, other, (CODES > 0).float(), **given)
    if kind == "views":
        return objective.views(z, other, **given)
    if kind == "tokens":
        mask = torch.tensor([[1, 1, 0]] * ROWS)
        return objective.tokens(torch.stack([z, other, z], 1), mask, CODES, parameters=parameters, **given)
    probabilities = torch.randn(ROWS, CLASSES).softmax(1) if objective.weighs_classes else None
    return objective(z, CODES, parameters=parameters, class_weights=probabilities, **given)


def test_all_objectives_but_the_one_that_mines_triplets_weigh_rows() -> None:
    assert {name for name in OBJECTIVES if not OBJECTIVES[name].weighs_rows} == {"triplet"}


@pytest.mark.parametrize(("name", "kind"), CASES)
def test_weights_of_one_change_nothing_and_others_do(name: str, kind: str) -> None:
    objective = VARIANTS[name]
    plain, ones = feed(objective, kind, None), feed(objective, kind, torch.ones(ROWS))
    assert ones.item() == pytest.approx(plain.item(), rel=1e-5)
    uneven = torch.linspace(0.1, 1.9, ROWS)
    assert feed(objective, kind, uneven).item() != pytest.approx(plain.item(), rel=1e-4)


@pytest.mark.parametrize(("name", "kind"), [case for case in CASES if case[0] != "soft-triple"])
def test_the_loss_is_the_sum_of_the_parts_of_its_rows(name: str, kind: str) -> None:
    objective = VARIANTS[name]
    rows = torch.eye(ROWS)
    pairs = kind == "labelled" and name.startswith(("cosine", "contrastive"))  # a pair has two weights
    parts = [feed(objective, kind, row) for row in rows]
    if pairs:
        whole = [feed(objective, kind, rows[i] + rows[j]) for i in range(ROWS) for j in range(i)]
        assert not any(parts), "a row without a partner has no pair"
        parts = whole
    assert torch.stack(parts).sum().item() == pytest.approx(feed(objective, kind, torch.ones(ROWS)).item(), rel=1e-4)


@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "class weights"])
@pytest.mark.parametrize("loss", [CrossEntropy(), CrossEntropy(0.1), CrossEntropy(focal=2.0)], ids=str)
def test_cross_entropy_keeps_the_divisor_of_the_class_weights(loss: CrossEntropy, weighted: bool) -> None:
    logits = torch.randn(ROWS, CLASSES, generator=torch.Generator().manual_seed(0))
    classes = torch.tensor([1.0, 2.0, 0.5]) if weighted else None
    assert loss(logits, CODES, classes, torch.ones(ROWS)).item() == pytest.approx(loss(logits, CODES, classes).item())
    assert loss(logits, CODES, classes, torch.full((ROWS,), 3.0)).item() == pytest.approx(
        3 * loss(logits, CODES, classes).item()
    )


def test_losses_of_other_kinds() -> None:
    logits, weights = torch.randn(ROWS, CLASSES, generator=torch.Generator().manual_seed(0)), torch.arange(ROWS).float()
    truth = torch.nn.functional.one_hot(CODES).bool()
    rows = torch.stack([BinaryCrossEntropy()(logits[[i]], truth[[i]]) for i in range(ROWS)])
    assert BinaryCrossEntropy()(logits, truth, None, weights).item() == pytest.approx((rows * weights).mean().item())
    scores = torch.linspace(-1, 1, ROWS)
    errors = (logits[:, 0] - scores) ** 2
    assert SquaredError()(logits[:, :1], scores, None, weights).item() == pytest.approx(
        (errors * weights).mean().item()
    )
    tree = WithUpperLevels(CrossEntropy(), UpperLevels(torch.tensor([[0], [0], [1]])), 0.3)
    assert tree(logits, CODES, None, torch.ones(ROWS)).item() == pytest.approx(tree(logits, CODES, None).item())
    assert tree(logits, CODES, None, torch.zeros(ROWS)) == 0
