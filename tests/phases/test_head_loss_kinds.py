"""The loss of a head, for every kind of label."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from phasefit.data.labels import LabelSpace, label_space
from phasefit.errors import RecipeError
from phasefit.kinds import kind_of
from phasefit.kinds.losses import HeadLoss
from phasefit.kinds.multi import MOST_WEIGHT
from phasefit.models.heads import Head, PairKind
from phasefit.models.model import Model
from phasefit.objectives.head_losses import UpperLevels
from phasefit.phases.contract import PhaseData
from phasefit.phases.finetune.head import head_loss
from phasefit.phases.finetune.options import HeadSettings
from tiny import first_batch, make_data, make_phase, make_table, run, same, tree, weights

SIZE = 12
KINDS = ("single", "tree", "multi", "score", "levels")
every_kind = pytest.mark.parametrize("kind", KINDS)


def labelled(kind: str, rows: int = 40) -> tuple[np.ndarray, LabelSpace, np.ndarray]:
    """Vectors, the labels that four directions among them give, and their values."""
    vectors = np.random.default_rng(0).normal(size=(rows, SIZE))
    codes = vectors[:, :4].argmax(axis=1)
    names = np.array(["music", "weather", "food", "travel"])
    labels: list[Any] = {
        "single": lambda: names[codes].tolist(),
        "tree": lambda: tree(names[codes].tolist()),
        "multi": lambda: [frozenset(names[row].tolist()) for row in vectors[:, :4] > 0.5],
        "score": lambda: (100 + 20 * vectors[:, 0]).tolist(),
        "levels": lambda: np.clip(np.floor(vectors[:, 0] + 2), 0, 3).tolist(),
    }[kind]()
    own = "score" if kind == "levels" else kind
    space = label_space(labels, own, levels=["bad", "fair", "good", "great"] if kind == "levels" else ())
    return vectors, space, space.values(labels)


def made(kind: str, **options: Any) -> HeadLoss:
    _, space, values = labelled(kind)
    return head_loss("finetune", space, values, HeadSettings(**options))


# --- learning ---------------------------------------------------------------------------------------------------------


@every_kind
@pytest.mark.parametrize("options", [{}, {"class_weights": "balanced", "label_smoothing": 0.1, "focal": 2.0}], ids=str)
def test_the_loss_falls_and_what_was_learned_is_right(kind: str, options: dict[str, Any]) -> None:
    vectors, space, values = labelled(kind)
    if space.kind == "score":
        options = {}
    if kind == "tree":
        options = {**options, "upper_levels": 0.3}
    loss = head_loss("finetune", space, values, HeadSettings(**options))
    head = Head("linear", SIZE, space.outputs, dropout=0.0)
    optimiser = torch.optim.Adam(head.parameters(), lr=0.1)
    seen, target = torch.from_numpy(vectors).float(), torch.from_numpy(loss.values(values))
    losses = []
    for _ in range(60):
        value = loss(head(seen), target)
        optimiser.zero_grad()
        value.backward()
        optimiser.step()
        losses.append(value.item())
    assert np.isfinite(losses).all()
    assert losses[-1] < 0.6 * losses[0]
    outputs = kind_of(space).outputs(head(seen).detach(), space)
    if space.kind == "score":
        assert np.corrcoef(outputs[:, 0], values)[0, 1] > 0.9
    elif space.kind == "multi":
        assert ((outputs >= 0.5) == values).mean() > 0.9
    else:
        assert (outputs.argmax(axis=1) == values).mean() > 0.9


@pytest.mark.parametrize("kind", ["score", "levels"])
def test_scores_are_learned_in_standard_units(kind: str) -> None:
    _, space, values = labelled(kind)
    loss = made(kind)
    standard = loss.values(values)
    assert standard.dtype == np.float32
    assert standard.mean() == pytest.approx(0, abs=1e-5)
    assert standard.std() == pytest.approx(1, abs=1e-5)
    logits = torch.from_numpy(standard)[:, None]
    assert loss(logits, torch.from_numpy(standard)).item() == 0
    assert kind_of(space).outputs(logits, space)[:, 0] == pytest.approx(values, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("kind", ["single", "tree", "multi"])
def test_other_values_are_learned_as_they_are(kind: str) -> None:
    values = labelled(kind)[2]
    assert made(kind).values(values) is values


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["score", "levels"])
@pytest.mark.parametrize("idle", [{"class_weights": "balanced"}, {"focal": 2.0}, {"label_smoothing": 0.1}], ids=str)
def test_what_is_about_classes_is_refused_for_scores(kind: str, idle: dict[str, Any]) -> None:
    message = f"^finetune: {next(iter(idle))} applies only to classes, and the labels are scores"
    with pytest.raises(RecipeError, match=message):
        made(kind, **idle)


@pytest.mark.parametrize("kind", ["single", "multi", "score"])
def test_upper_levels_are_refused_where_there_is_no_tree(kind: str) -> None:
    with pytest.raises(RecipeError, match=f"^finetune: upper_levels applies only to tree labels, .* of kind '{kind}'"):
        made(kind, upper_levels=0.3)


# --- weights ----------------------------------------------------------------------------------------------------------


def test_balanced_weights_of_several_labels_are_rows_without_over_rows_with() -> None:
    train = np.zeros((1000, 4), dtype=bool)
    for code, having in enumerate((200, 500, 900, 1)):
        train[:having, code] = True
    space = label_space([frozenset({name}) for name in "abcd"])
    loss = head_loss("finetune", space, train, HeadSettings(class_weights="balanced"))
    assert loss.weights.tolist() == [4.0, 1.0, 1.0, MOST_WEIGHT]


def test_a_label_without_a_training_row_has_a_finite_weight() -> None:
    space = label_space([frozenset({"a"}), frozenset({"b"})])
    loss = head_loss("finetune", space, np.zeros((5, 2), dtype=bool), HeadSettings(class_weights="balanced"))
    assert loss.weights.tolist() == [4.0, 4.0]


@pytest.mark.parametrize("kind", ["single", "tree"])
def test_balanced_weights_of_classes_are_inverse_sizes_with_mean_one(kind: str) -> None:
    values = labelled(kind)[2]
    weights = made(kind, class_weights="balanced").weights.numpy()
    assert weights[values].mean() == pytest.approx(1)
    assert np.ptp(weights * np.bincount(values)) == pytest.approx(0, abs=1e-5)


@every_kind
def test_by_default_nothing_is_weighted(kind: str) -> None:
    assert made(kind).weights is None
    assert not made(kind).state_dict()


# --- upper levels -----------------------------------------------------------------------------------------------------


def test_upper_levels_share_the_loss_of_a_tree() -> None:
    _, space, values = labelled("tree")
    logits, codes = torch.randn(40, 4, generator=torch.Generator().manual_seed(0)), torch.from_numpy(values)
    plain, mixed = made("tree")(logits, codes), made("tree", upper_levels=0.3)(logits, codes)
    parents = torch.tensor([["leisure", "world"].index(path[0]) for path in space.classes])
    upper = UpperLevels(parents[:, None])(logits, codes)
    assert mixed.item() == pytest.approx(0.7 * plain.item() + 0.3 * upper.item())


def test_equal_names_below_different_parents_are_different_nodes() -> None:
    paths = [("a", "x", "1"), ("b", "x", "1"), ("b", "y", "1")]
    space = label_space(paths)
    loss = head_loss("finetune", space, np.arange(3), HeadSettings(upper_levels=0.5))
    likely = torch.tensor([[0.2, 0.3, 0.5]])
    first, second = -np.log(0.2), -np.log(0.2)  # a alone, and a/x without b/x
    expected = 0.5 * -np.log(0.2) + 0.5 * (first + second) / 2
    assert loss(likely.log(), torch.tensor([0])).item() == pytest.approx(expected)


# --- in a phase -------------------------------------------------------------------------------------------------------

USUAL = {"single": "macro_f1", "multi": "micro_f1", "score": "pearson"}


def of_kind(model: Model, kind: str, *, paired: bool = False) -> PhaseData:
    """The tiny table under labels of a kind; in pairs, a text and the next one."""
    texts, names = make_table(60)
    labels: list[Any] = list(names)
    if kind == "multi":
        labels = [frozenset({name, *({"rain"} & set(text.split()))}) for name, text in zip(names, texts, strict=True)]
    elif kind == "score":
        labels = [float(10 * ["music", "weather", "food"].index(name)) for name in names]
    data = make_data(model.encoder, texts, labels)
    others = np.roll(np.arange(60), -1)[:, None] if paired else None
    return replace(data, values=data.space.values(labels), others=others, of_pairs=paired)


@pytest.mark.parametrize("kind", USUAL)
@pytest.mark.parametrize("pair", [None, "uv_diff_prod", "together"])
def test_a_phase_learns_every_kind_of_single_texts_and_pairs(model, kind: str, pair: PairKind | None) -> None:
    data = of_kind(model, kind, paired=pair is not None)
    options = {"pair": pair} if pair else {}
    phase = make_phase("finetune", model, data, epochs=1, batch_size=16, **options)
    assert phase.watch == USUAL[kind]
    assert phase.head.pair == pair
    scores = phase.validate()
    assert phase.watch in scores
    assert phase.slack(phase.contributions, phase.contributions) is None
    assert torch.isfinite(phase(first_batch(phase)).loss)
    head = weights(phase.head)
    run(phase, fixed_steps=2)
    assert not same(head, weights(phase.head))
    rows = list(data.texts[:4])
    given = rows if pair is None else list(zip(rows, data.texts[1:5], strict=True))
    expected = {"single": str, "multi": frozenset, "score": float}[kind]
    assert all(isinstance(label, expected) for label in model.predict(given))


@pytest.mark.parametrize("kind", ["multi", "score"])
def test_validation_is_of_what_the_model_predicts(model, kind: str) -> None:
    data = of_kind(model, kind)
    phase = make_phase("finetune", model, data, freeze=True)
    outputs = model.predict_outputs([data.texts[row] for row in data.validation])
    true = data.values[data.validation]
    if kind == "score":
        assert phase.validate()["pearson"] == pytest.approx(np.corrcoef(outputs[:, 0], true)[0, 1], abs=1e-4)
    else:
        expected = -np.log(np.where(true, outputs, 1 - outputs)).mean()
        assert phase.validate()["log_loss"] == pytest.approx(expected, abs=1e-4)


def test_scores_are_learned_from_texts(model) -> None:
    data = of_kind(model, "score")
    run(make_phase("finetune", model, data, epochs=20, lr=3e-3, batch_size=16))
    outputs = model.predict_outputs([data.texts[row] for row in data.validation])[:, 0]
    assert np.corrcoef(outputs, data.values[data.validation])[0, 1] > 0.7


@pytest.mark.parametrize(("kind", "watch"), [("score", "macro_f1"), ("multi", "pearson"), ("single", "mse")])
def test_a_score_that_labels_do_not_have_cannot_be_watched(model, kind: str, watch: str) -> None:
    with pytest.raises(RecipeError, match=f"finetune: cannot watch '{watch}' with labels of kind '{kind}'"):
        make_phase("finetune", model, of_kind(model, kind), watch=watch)


def test_lower_errors_are_better(model) -> None:
    phase = make_phase("finetune", model, of_kind(model, "score"), watch="mse", slack=1.0)
    assert phase.lower_is_better
    phase.validate()
    assert phase.contributions is not None
    assert phase.slack(phase.contributions, phase.contributions) is None


def test_another_way_to_see_pairs_starts_a_new_head(model) -> None:
    data = of_kind(model, "single", paired=True)
    first = make_phase("finetune", model, data, pair="uv")
    assert make_phase("finetune", model, data, pair="uv").head is first.head
    other = make_phase("finetune", model, data, pair="together")
    assert other.head is not first.head
    assert other.starts_untrained


def test_a_new_multi_label_head_starts_at_the_label_frequencies(model) -> None:
    texts, topics = make_table(60, classes=3)
    data = make_data(model.encoder, texts, [frozenset({topic, "always"}) for topic in topics], validation=0)
    values = data.space.values([frozenset({topic, "always"}) for topic in topics])
    data = replace(data, values=values)
    phase = make_phase("finetune", model, data, head="linear", dropout=0.0)
    shares = values.mean(axis=0).clip(1e-3, 1 - 1e-3)
    assert phase.head.output.bias.detach().sigmoid().numpy() == pytest.approx(shares, abs=1e-4)
    model.heads.clear()
    even = make_phase("finetune", model, data, head="linear", class_weights="balanced")
    assert float(even.head.output.bias.detach().abs().max()) < 0.5, "balanced weights make all as frequent"
