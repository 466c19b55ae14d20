"""Which objectives contrast takes, and what it does with those that bring parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from phasefit.errors import RecipeError
from phasefit.objectives import OBJECTIVES, Objective
from phasefit.training.optimiser import make_optimiser
from tiny import first_batch, fresh_model, make_data, make_phase, make_table, run, same, weights


@dataclass(frozen=True)
class Proxied(Objective):
    """A proxy per class, compared by inner product."""

    name: ClassVar[str] = "proxied"
    inputs: ClassVar[tuple[str, ...]] = ("labelled",)

    def parameters(self, classes: int, dimension: int) -> nn.Module:
        return nn.Linear(dimension, classes)

    def __call__(self, embeddings, targets, *, parameters=None, class_weights=None) -> Tensor:
        assert parameters is not None
        return cross_entropy(parameters(embeddings), targets)


@dataclass(frozen=True)
class OnViews(Objective):
    name: ClassVar[str] = "on-views"
    inputs: ClassVar[tuple[str, ...]] = ("views",)


@dataclass(frozen=True)
class Weighing(Proxied):
    name: ClassVar[str] = "weighing"
    weighs_classes: ClassVar[bool] = True


@pytest.fixture(autouse=True)
def _registered() -> Iterator[None]:
    for made in (Proxied, OnViews, Weighing):
        OBJECTIVES.add(made.name, made)
    yield
    for made in (Proxied, OnViews, Weighing):
        OBJECTIVES.remove(made.name)


@pytest.mark.parametrize("kind", ["contrast", "joint"])
def test_proxies_learn_at_a_rate_of_their_own(tiny_folder, kind) -> None:
    model = fresh_model(tiny_folder)
    data = make_data(model.encoder, *make_table(40), validation=10)
    own = {"objective": "proxied"}
    options = {"max_steps": 2, "batch_size": 8, "lrs": {"proxies": 0.01}}
    phase = make_phase(kind, model, data, **({"contrast": own} if kind == "joint" else own), **options)
    rates = {group["part"]: group["peak_lr"] for group in make_optimiser(phase).param_groups}
    assert rates["proxies"] == 0.01 != rates["encoder"]
    proxies = phase.groups()["proxies"]
    assert [tuple(part.shape) for part in proxies] == [(3, model.encoder.dimension), (3,)]
    before = [part.detach().clone() for part in proxies]
    assert "pairs" in phase.validate()
    run(phase, fixed_steps=2)
    assert all(not torch.equal(old, new) for old, new in zip(before, proxies, strict=True))


def test_proxies_come_from_the_seed(model, data) -> None:
    torch.manual_seed(5)
    first = make_phase("contrast", model, data, objective="proxied")
    torch.manual_seed(6)
    second = make_phase("contrast", model, data, objective="proxied")
    other = make_phase("contrast", model, data, objective="proxied", seed=1)
    assert same(weights(first.proxies), weights(second.proxies))
    assert not same(weights(first.proxies), weights(other.proxies))


def test_most_objectives_have_none(model, data) -> None:
    phase = make_phase("contrast", model, data)
    assert phase.proxies is None
    assert "proxies" not in phase.groups()


@pytest.mark.parametrize(
    ("objective", "message"),
    [
        ("on-views", "contrast: objective 'on-views' compares views of one text.*simcse, mirror or mnr"),
        ("weighing", "contrast: objective 'weighing' needs a second network.*use it in finetune"),
    ],
)
def test_what_contrast_cannot_feed_is_refused_before_training(model, data, objective, message) -> None:
    options = make_phase("contrast", model, data).options
    with pytest.raises(RecipeError, match=message):
        options.model_copy(update={"objective": objective}).check("contrast")
    with pytest.raises(RecipeError, match=message):
        make_phase("contrast", model, data, objective=objective)


def test_trees_need_a_graded_objective(model, tree_data) -> None:
    with pytest.raises(RecipeError, match="contrast: objective 'proxied' needs one class per text"):
        make_phase("contrast", model, tree_data, objective="proxied")


USABLE = [name for name, made in OBJECTIVES.items() if "labelled" in made.inputs and not made.weighs_classes]


@pytest.mark.parametrize("name", USABLE)
def test_every_objective_on_labels_trains(model, data, name) -> None:
    phase = make_phase("contrast", model, data, objective=name, batch_size=8)
    loss = phase(first_batch(phase)).loss
    assert loss.isfinite()
    assert loss.requires_grad
