"""An objective with a head for pairs: both texts are one input, in two orders, each with the label of the pair."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

from phasefit.errors import PhasefitError
from phasefit.objectives import OBJECTIVES
from phasefit.phases import PHASES
from phasefit.phases.contract import Batch, PhaseData
from phasefit.training.gradients import _in_chunks
from running import train
from specs import run_spec
from tiny import make_data, make_phase, make_table, run, same, weights

LABELLED = [name for name, kind in OBJECTIVES.items() if "labelled" in kind.inputs]
TOKENS = {"objective": {"name": "soft-triple", "centres": 3}, "on": "tokens"}


@pytest.fixture
def pairs(model) -> PhaseData:
    texts, labels = make_table(60, classes=3)
    data = make_data(model.encoder, texts, labels)
    return replace(data, others=np.roll(np.arange(60), -1)[:, None], of_pairs=True)


def without_dropout(phase):
    for part in phase.modules():
        if isinstance(part, torch.nn.Dropout):
            part.p = 0.0
    return phase.train()


def batch_of(rows: np.ndarray) -> Batch:
    return Batch({"rows": rows}, np.random.default_rng(0), torch.device("cpu"))


@pytest.mark.parametrize("objective", LABELLED)
def test_every_order_is_a_text_with_the_label_of_the_pair(model, pairs, objective: str) -> None:
    phase = without_dropout(make_phase("finetune", model, pairs, pair="together", objective=objective, ce_weight=0.3))
    batch = batch_of(pairs.train[:12])
    encoded = phase.encode(batch)
    size = model.encoder.dimension
    assert encoded["vectors"].shape == (12, 2 * size)
    vectors = torch.cat([encoded["vectors"][:, :size], encoded["vectors"][:, size:]])  # another order of the same rows
    codes = torch.from_numpy(pairs.codes[batch.draw["rows"]])
    given = {"parameters": phase.beside.proxies}
    expected = 0.3 * cross_entropy(phase.head(encoded["vectors"]), codes)
    if phase.beside.weighting is not None:
        classes = len(pairs.space)
        logits = torch.cat([encoded["weights"][:, :classes], encoded["weights"][:, classes:]])
        given["class_weights"] = logits.softmax(1)
        expected = expected + 0.3 * cross_entropy(logits, codes.repeat(2))
    expected = expected + 0.7 * phase.beside.objective(vectors, codes.repeat(2), **given)
    torch.testing.assert_close(phase.loss(encoded, batch).loss, expected)


def test_all_tokens_of_both_orders_count(model, pairs) -> None:
    phase = without_dropout(make_phase("finetune", model, pairs, pair="together", ce_weight=0.0, **TOKENS))
    batch = batch_of(pairs.train[:6])
    encoded = phase.encode(batch)
    features = phase.rows.features(batch.draw["rows"])
    states = phase.encoder(features)["token_embeddings"]
    labels = torch.from_numpy(pairs.codes[batch.draw["rows"]]).repeat_interleave(2)
    mask = features["attention_mask"].bool()
    expected = phase.beside.objective.tokens(states, mask, labels, parameters=phase.beside.proxies)
    torch.testing.assert_close(phase.loss(encoded, batch).loss, expected)


@pytest.mark.parametrize("options", [{"objective": "supcon"}, {"objective": "label-aware"}, TOKENS], ids=str)
def test_chunks_give_the_gradient_of_the_whole_batch(model, pairs, options) -> None:
    from accelerate import Accelerator

    phase = without_dropout(make_phase("finetune", model, pairs, pair="together", **options))
    gradients = []
    for chunk in (12, 5):
        phase.zero_grad()
        _in_chunks(phase, Accelerator(cpu=True), batch_of(pairs.train[:12]), (0, 0), chunk, 1.0)
        gradients.append({name: p.grad.clone() for name, p in phase.named_parameters() if p.grad is not None})
    for name, whole in gradients[0].items():
        torch.testing.assert_close(gradients[1][name], whole, atol=1e-5, rtol=1e-4, msg=name)


def test_it_trains_and_predicts_pairs(model, pairs) -> None:
    phase = make_phase("finetune", model, pairs, pair="together", epochs=1, batch_size=16, **TOKENS)
    before = weights(phase.beside)
    run(phase, fixed_steps=2)
    assert not same(before, weights(phase.beside))
    assert len(model.predict([(pairs.texts[0], pairs.texts[1])])) == 1


def test_pairs_that_are_encoded_apart_and_views_of_pairs_are_refused_as_before() -> None:
    options = PHASES.get("finetune")
    assert not options(kind="finetune", objective="supcon").takes_pairs
    assert options(kind="finetune", objective="supcon", pair="together").takes_pairs
    assert not options(kind="finetune", pair="together", views=["dropout"]).takes_pairs


@pytest.mark.parametrize("pair", ["uv", "uv_diff_prod", "cosine"])
def test_a_run_refuses_an_objective_unless_pairs_are_read_together(tiny_folder, tmp_path, pair) -> None:
    texts, labels = make_table(40)
    table = tmp_path / "pairs.csv"
    rows = zip(texts, texts[1:], labels[1:], strict=False)
    table.write_text("left,right,same\n" + "\n".join(f'"{a}","{b}",{label}' for a, b, label in rows), encoding="utf-8")
    settings = ("finetune.min_steps=1", "finetune.max_steps=1")

    def trained(how: str) -> dict:
        spec = run_spec(
            data=table,
            text=("left", "right"),
            label=("same",),
            recipe="supcon-finetune",
            settings=(*settings, f"finetune.pair={how}"),
            model=str(tiny_folder),
            out=tmp_path / how,
        )
        return train(spec, lambda event: None).metrics

    with pytest.raises(PhasefitError, match="pair"):
        trained(pair)
    assert not (tmp_path / pair).exists(), "refused before training"
    if pair == "uv":
        assert trained("together")["phases"][0]["steps"] == 1
