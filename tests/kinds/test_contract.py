"""The contract of label kinds, tested for all registered ones, including future ones."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import torch

from phasefit.data.checks import Place
from phasefit.data.labels import LABEL_KINDS, LabelSpace, kind_by_type, label_space
from phasefit.data.labels.kinds import USUAL, LabelFormat
from phasefit.data.labels.reading import LabelReading, detect_kind, read_labels
from phasefit.errors import LabelError, PluginError, RecipeError
from phasefit.kinds import LabelKind, kind_named
from phasefit.kinds.contract import LOSS_OPTIONS
from phasefit.kinds.decision import Decision
from phasefit.metrics.paired import paired_error
from phasefit.metrics.registry import METRICS
from phasefit.phases.finetune.options import HeadSettings

CELLS: dict[str, list[Any]] = {
    "single": ["b", "a", "c"] * 8,
    "multi": [["b"], ["a", "c"], []] * 8,
    "tree": [("x", "1"), ("y", "1"), ("x", "2")] * 8,
    "score": [row / 7 for row in range(24)],
}
every_kind = pytest.mark.parametrize("name", LABEL_KINDS)


def labelled(name: str) -> tuple[LabelKind, LabelSpace, np.ndarray]:
    labels = read_labels(CELLS[name], Place("table"), LabelReading(name))
    if is_recognised(name):
        assert kind_by_type(labels) == name
    space = label_space(labels, name)
    return kind_named(name), space, space.values(labels)


def is_recognised(name: str) -> bool:
    """Whether labels are detected as this kind; users must name a kind without `recognises`."""
    return name == USUAL or type(kind_named(name)).recognises is not LabelFormat.recognises


def outputs_of(kind: LabelKind, space: LabelSpace, rows: int = 24) -> np.ndarray:
    logits = torch.from_numpy(np.random.default_rng(0).normal(size=(rows, space.outputs)))
    return kind.outputs(logits, space)


@every_kind
def test_labels_are_recognised_only_by_their_own_kind(name: str) -> None:
    assert kind_named(name).name == name
    assert [other for other in CELLS if detect_kind(CELLS[other]) == name] == [name] * is_recognised(name)


@every_kind
def test_a_decision_can_be_saved(name: str) -> None:
    kind, space, values = labelled(name)
    decision, notes = kind.decide(space, values, outputs_of(kind, space), calibrate=True)
    assert Decision.from_json(json.loads(json.dumps(decision.to_json()))) == decision
    assert bool(notes) == (decision != Decision())


@every_kind
def test_every_prediction_is_in_the_label_space(name: str) -> None:
    kind, space, values = labelled(name)
    outputs = outputs_of(kind, space)
    answers = kind.answers(outputs, space, Decision())
    assert len(answers) == len(kind.predicted_codes(outputs, Decision())) == len(values)
    assert all(answer is not None and space.knows(answer) for answer in answers)
    if kind.has_classes:
        named = [[space.classes[code] for code in codes] for codes in kind.predicted_codes(outputs, Decision())]
        assert space.values(answers).tolist() == space.values(
            [frozenset(own) if kind.answer == "set" else own[0] for own in named]
        ).tolist()  # fmt: skip


@every_kind
def test_columns_match_cells(name: str) -> None:
    kind, space, values = labelled(name)
    outputs = outputs_of(kind, space)
    cells = kind.cells(outputs, space, Decision())
    assert len(kind.columns(space)) == len(set(kind.columns(space))) == len(cells)
    assert kind.columns(space, every_class=False) == kind.columns(space)[:2]
    assert {len(column) for column in cells} == {len(values)}


@every_kind
def test_no_rows_have_the_same_columns(name: str) -> None:
    kind, space, _ = labelled(name)
    outputs = outputs_of(kind, space, rows=0)
    assert outputs.shape == (0, outputs_of(kind, space).shape[1])
    assert kind.answers(outputs, space, Decision()) == kind.predicted_codes(outputs, Decision()) == []
    assert [len(column) for column in kind.cells(outputs, space, Decision())] == [0] * len(kind.columns(space))


@every_kind
def test_metrics_are_registered_and_plain(name: str) -> None:
    kind, space, values = labelled(name)
    outputs = outputs_of(kind, space)
    quick, metrics = kind.validate(values, outputs), kind.evaluate(space, Decision(), values, outputs)
    assert set(quick) == set(kind.watchable)
    assert {kind.watch, kind.judged} <= set(quick)
    assert metrics[kind.judged] is not None
    assert all(key in METRICS for key in (*kind.headline, *quick))
    assert json.loads(json.dumps(metrics)) == metrics
    contributions = kind.contributions(values, outputs)
    assert contributions is not None
    assert contributions.shape == (len(values),)
    assert paired_error(contributions, contributions) == 0


@every_kind
def test_the_loss_can_be_learned_from(name: str) -> None:
    kind, space, values = labelled(name)
    loss = kind.loss(space, values, HeadSettings())
    logits = torch.zeros(len(values), space.outputs, requires_grad=True)
    loss(logits, torch.from_numpy(loss.values(values))).backward()
    assert logits.grad is not None
    assert logits.grad.abs().sum() > 0
    assert torch.isfinite(logits.grad).all()


@every_kind
def test_options_are_supported_or_rejected_with_a_message(name: str) -> None:
    kind = kind_named(name)
    for option in LOSS_OPTIONS:
        refusal = kind.refusal(option)
        assert (refusal is None) == (option in kind.loss_options)
        given = {option: "balanced" if option == "class_weights" else 0.5}
        if refusal is None:
            HeadSettings(**given).check_kind("finetune", name)
        else:
            with pytest.raises(RecipeError, match=f"^finetune: {option} applies only to "):
                HeadSettings(**given).check_kind("finetune", name)


@every_kind
def test_labels_can_be_read_again(name: str) -> None:
    kind, space, _ = labelled(name)
    assert LabelReading(**kind.reading(space)).stated_kind == name
    kind.check_same(space, ())
    assert kind.note(space, CELLS[name]).startswith("labels: ")
    assert "pairs" in kind.model_noun(3, pairs=True)
    assert kind.group_noun(space)


def test_a_kind_that_is_not_registered_is_an_error() -> None:
    with pytest.raises(LabelError, match="unknown kind of labels 'singel'; did you mean 'single'"):
        kind_named("singel")


def test_a_kind_has_one_name() -> None:
    class Other(type(kind_named("single"))):  # type: ignore[misc]
        """Has the name of another kind."""

    LABEL_KINDS.add("other", Other())
    try:
        with pytest.raises(
            PluginError,
            match=r"'other' must be a .*LabelKind, and its `name` and the `kind` of its label space must be 'other'",
        ):
            kind_named("other")
    finally:
        LABEL_KINDS.remove("other")


def test_kinds_import_no_torch() -> None:
    code = """
import sys
from phasefit.kinds import kind_named
from phasefit.data.labels import LABEL_KINDS
assert [kind_named(name).name for name in LABEL_KINDS] == list(LABEL_KINDS)
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
