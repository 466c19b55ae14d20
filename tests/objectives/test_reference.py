"""The reference values of the specification, in float64, and identities between objectives."""

from __future__ import annotations

from math import log

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cosine_similarity, normalize

from phasefit.objectives import (
    Contrastive,
    Cosine,
    CrossEntropy,
    InfoNCE,
    LabelAware,
    MultipleNegatives,
    NTXent,
    ProxyNCA,
    SoftTriple,
    SupCon,
    Triplet,
)

EXACT = 1e-8


def grid(n: int, d: int, step: float) -> Tensor:
    return step * torch.arange(n, dtype=torch.float64)[:, None] + torch.arange(d, dtype=torch.float64)


def mat(n: int, d: int, s: float) -> Tensor:
    return torch.sin(s + grid(n, d, d))


E, Y = normalize(mat(6, 4, 1), dim=1), torch.tensor([0, 0, 1, 1, 2, 2])
A, P, N = mat(3, 4, 1), mat(3, 4, 2.5), mat(3, 4, 4)
WEIGHTS = torch.cos(1 + grid(6, 3, 3)).softmax(1)
UNIFORM = torch.full((6, 3), 1 / 3, dtype=torch.float64)


def centres(objective: SoftTriple) -> nn.Module:
    made = objective.parameters(3, 4)
    made.fc.data = torch.cos(0.5 + grid(4, 6, 6))
    return made


def proxies() -> nn.Module:
    made = ProxyNCA().parameters(3, 4)
    made.weight.data = torch.cos(0.5 + grid(3, 4, 4))
    return made


def test_cosine_of_pairs() -> None:
    assert cosine_similarity(A, P).tolist() == pytest.approx([0.286200915, -0.009326972, -0.128179784], abs=EXACT)
    assert float(Cosine().pairs(A, P, torch.tensor([1.0, 0.0, 0.5]))) == pytest.approx(0.301401989, abs=EXACT)


@pytest.mark.parametrize("objective", [Cosine(), Cosine(even=True), Contrastive(), Contrastive(margin=1.5)])
def test_a_batch_is_its_pairs(objective: Cosine | Contrastive) -> None:
    first, second = torch.triu_indices(6, 6, offset=1)
    target = (Y[first] == Y[second]).double()
    assert float(objective(E, Y)) == pytest.approx(float(objective.pairs(E[first], E[second], target)), abs=1e-12)


def test_even_gives_every_agreement_the_same_weight() -> None:
    target = torch.tensor([1.0, 0.0, 0.0, 0.0])
    left = torch.tensor([[1.0, 0.0]] * 4, dtype=torch.float64)
    right = torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], dtype=torch.float64)
    # Errors: 1 for the alike pair; 1, 1, 0 for the unlike ones.
    assert float(Cosine(even=False).pairs(left, right, target)) == pytest.approx(3 / 4)
    assert float(Cosine(even=True).pairs(left, right, target)) == pytest.approx((1 + 2 / 3) / 2)


def test_even_changes_nothing_if_all_agreements_are_equally_frequent() -> None:
    target = torch.tensor([1.0, 0.0])
    assert float(Cosine(even=True).pairs(A[:2], P[:2], target)) == pytest.approx(
        float(Cosine().pairs(A[:2], P[:2], target))
    )


def test_contrastive() -> None:
    assert float(Contrastive()(E, Y)) == pytest.approx(0.716130488, abs=EXACT)


def test_contrastive_of_agreements_in_between() -> None:
    left = torch.tensor([[1.0, 0.0]] * 3, dtype=torch.float64)
    right = torch.tensor([[0.5, 0.75**0.5]] * 3, dtype=torch.float64)  # 60 degrees: a distance of 1
    loss = Contrastive(margin=1.5).pairs(left, right, torch.tensor([1.0, 0.25, 0.0]))
    assert float(loss) == pytest.approx((1 + (0.25 + 0.75 * 0.25) + 0.25) / 3)


@pytest.mark.parametrize(("mining", "expected"), [("all", 1.495041297), ("hard", 3.270901102)])
def test_triplet(mining: str, expected: float) -> None:
    assert float(Triplet(margin=0.2, mining=mining)(E, Y)) == pytest.approx(expected, abs=EXACT)


def test_proxy_nca_excludes_the_own_proxy_from_the_sum() -> None:
    from pytorch_metric_learning.losses import ProxyNCALoss

    loss = float(ProxyNCA()(E, Y, parameters=proxies()).detach())
    assert loss == pytest.approx(1.137878558, abs=EXACT)
    theirs = ProxyNCALoss(3, 4)
    theirs.proxies.data = torch.cos(0.5 + grid(3, 4, 4))
    assert float(theirs(E, Y).detach()) == pytest.approx(1.846779531, abs=EXACT), "the other form"


@pytest.mark.parametrize(
    ("scale", "margin", "regulariser", "expected"),
    [
        (20, 0.01, 0, 10.443450552),
        (20, 0.01, 0.2, 10.533727697),
        (3.3, 0.3, 0, 2.782818024),
        (3.3, 0.3, 0.2, 2.873095168),
    ],
)
def test_soft_triple(scale: float, margin: float, regulariser: float, expected: float) -> None:
    objective = SoftTriple(centres=2, scale=scale, gamma=0.1, margin=margin, regulariser=regulariser)
    assert float(objective(E, Y, parameters=centres(objective)).detach()) == pytest.approx(expected, abs=EXACT)


@pytest.mark.parametrize(("last", "expected"), [(0, 3.004204716), (1, 2.698828614)])
def test_soft_triple_of_tokens(last: int, expected: float) -> None:
    objective = SoftTriple(centres=2, scale=3.3, gamma=0.1, margin=0.3, regulariser=0)
    states, mask = torch.stack([mat(3, 4, 1), mat(3, 4, 1.3)]), torch.tensor([[1, 1, 1], [1, 1, last]])
    loss = objective.tokens(states, mask, torch.tensor([0, 2]), parameters=centres(objective))
    assert float(loss.detach()) == pytest.approx(expected, abs=EXACT)


@pytest.mark.parametrize(("temperature", "expected"), [(0.07, 21.942910034), (0.1, 15.378310021), (0.3, 5.297528970)])
def test_supcon(temperature: float, expected: float) -> None:
    assert float(SupCon(temperature)(E, Y)) == pytest.approx(expected, abs=EXACT)


def test_supcon_skips_anchors_without_positives() -> None:
    assert float(SupCon(0.3)(E, torch.tensor([0, 0, 1, 1, 2, 3]))) == pytest.approx(5.110754441, abs=EXACT)


@pytest.mark.parametrize(
    ("form", "weights", "expected"),
    [
        ("code", WEIGHTS, 1.305588847),
        ("code", UNIFORM, 1.399638894),
        ("paper", WEIGHTS, 5.301385062),
        ("paper", UNIFORM, 5.297528970),
    ],
)
def test_label_aware(form: str, weights: Tensor, expected: float) -> None:
    assert float(LabelAware(0.3, form)(E, Y, class_weights=weights)) == pytest.approx(expected, abs=EXACT)


def test_label_aware_of_equal_weights_is_supcon() -> None:
    supcon = float(SupCon(0.3)(E, Y))
    assert float(LabelAware(0.3, "code")(E, Y, class_weights=UNIFORM)) == pytest.approx(
        (supcon - log(3)) / 3, abs=1e-12
    )
    assert float(LabelAware(0.3, "paper")(E, Y, class_weights=UNIFORM)) == pytest.approx(supcon, abs=1e-12)


@pytest.mark.parametrize("form", ["code", "paper"])
def test_label_aware_term_by_term(form: str) -> None:
    codes, total = [0, 0, 1, 1, 1, 2], 0.0  # the last is alone and adds nothing
    similarity = (E @ E.T / 0.3).tolist()
    weight = WEIGHTS.tolist()
    for i, own in enumerate(codes):
        others = [k for k in range(6) if k != i]
        norm = log(sum(weight[i][codes[k]] * 2.718281828459045 ** similarity[i][k] for k in others))
        positives = [k for k in others if codes[k] == own]
        for p in positives:
            if form == "code":
                term = weight[i][own] * (similarity[i][p] - norm)
            else:
                term = log(weight[i][own]) + similarity[i][p] - norm
            total -= term / len(positives) / 6
    loss = LabelAware(0.3, form)(E, torch.tensor(codes), class_weights=WEIGHTS)
    assert float(loss) == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize("form", ["code", "paper"])
def test_label_aware_teaches_the_weighting_network_too(form: str) -> None:
    logits = torch.cos(1 + grid(6, 3, 3)).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda given: LabelAware(0.3, form)(E, Y, class_weights=given.softmax(1)), (logits,)
    )
    certain = torch.tensor([[1e4, 0.0, -1e4]] * 6, requires_grad=True)
    loss = LabelAware(0.3, form)(E.float(), Y, class_weights=certain.softmax(1))
    loss.backward()
    assert torch.isfinite(loss)
    assert torch.isfinite(certain.grad).all()


def test_label_aware_needs_the_weights() -> None:
    with pytest.raises(TypeError, match="objective 'label-aware' needs class_weights"):
        LabelAware()(E, Y)


@pytest.mark.parametrize("kind", [InfoNCE, MultipleNegatives])
@pytest.mark.parametrize(
    ("options", "negative", "expected"),
    [
        ({"temperature": 0.05}, None, 15.231671080),
        ({"temperature": 0.5}, None, 1.776265809),
        ({"temperature": 0.05}, N, 16.599034066),
        ({"temperature": 0.5}, N, 2.469479224),
        ({"temperature": 0.5, "hard_negative_weight": 1.0}, N, 2.487560042),
        ({"temperature": 0.5, "directions": "both"}, None, 1.766032243),
    ],
)
def test_info_nce(kind: type[InfoNCE], options: dict[str, object], negative: Tensor | None, expected: float) -> None:
    assert float(kind(**options).views(A, P, negative)) == pytest.approx(expected, abs=EXACT)


def test_info_nce_of_one_row_and_its_hard_negative() -> None:
    logits = torch.stack([cosine_similarity(A[:1], P[:1]), cosine_similarity(A[:1], N[:1])]).T / 0.5
    expected = CrossEntropy()(logits, torch.tensor([0]))
    assert float(InfoNCE(0.5).views(A[:1], P[:1], N[:1])) == pytest.approx(float(expected))


def test_nt_xent() -> None:
    assert float(NTXent(0.5).views(A, P)) == pytest.approx(1.896763081, abs=EXACT)


def test_nt_xent_without_pull_excludes_the_other_view() -> None:
    views = normalize(torch.cat([A, P]), dim=1)
    similarity = views @ views.T / 0.5
    rows = [
        torch.stack([similarity[i, k] for k in range(6) if k % 3 != i % 3]).logsumexp(0) for i in range(6)
    ]  # 2n - 2 others
    assert float(NTXent(0.5, pull=False).views(A, P)) == pytest.approx(float(torch.stack(rows).mean()), abs=1e-12)


def test_nt_xent_is_supcon_of_two_views() -> None:
    both = SupCon(0.5)(torch.cat([A, P]), torch.tensor([0, 1, 2, 0, 1, 2]))
    assert float(NTXent(0.5).views(A, P)) == pytest.approx(float(both), abs=1e-12)


def test_nt_xent_does_not_support_hard_negatives() -> None:
    with pytest.raises(TypeError, match="objective 'nt-xent' does not support hard negatives"):
        NTXent().views(A, P, N)


def test_cross_entropy_weighs_classes() -> None:
    logits = torch.tensor([[2.0, 0.0], [0.0, 0.0]], dtype=torch.float64)
    codes = torch.tensor([0, 1])
    easy, hard = torch.log1p(torch.exp(torch.tensor(-2.0, dtype=torch.float64))), torch.log(torch.tensor(2.0))
    assert float(CrossEntropy()(logits, codes)) == pytest.approx(float((easy + hard) / 2))
    weighted = CrossEntropy()(logits, codes, torch.tensor([1.0, 3.0], dtype=torch.float64))
    assert float(weighted) == pytest.approx(float((easy + 3 * hard) / 4))


def test_focal_loss_by_hand() -> None:
    # Probabilities .8 and .3 of the true classes: (1 - p)^2 * -ln p, then with the second class counting three times.
    logits = torch.log(torch.tensor([[0.8, 0.2], [0.7, 0.3]], dtype=torch.float64))
    codes = torch.tensor([0, 1])
    first, second = 0.2**2 * -log(0.8), 0.7**2 * -log(0.3)
    assert float(CrossEntropy(focal=2.0)(logits, codes)) == pytest.approx((first + second) / 2)
    weighted = CrossEntropy(focal=2.0)(logits, codes, torch.tensor([1.0, 3.0], dtype=torch.float64))
    assert float(weighted) == pytest.approx((first + 3 * second) / 4)


def test_focal_loss_of_certainty_has_a_gradient() -> None:
    logits = torch.tensor([[60.0, -60.0]], requires_grad=True)
    CrossEntropy(focal=0.5)(logits, torch.tensor([0])).backward()
    assert torch.isfinite(logits.grad).all()
