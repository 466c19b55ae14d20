"""Self-training: pseudo-labels, rounds that are kept or dropped, and resuming between them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from phasefit.errors import RecipeError
from phasefit.events import Note, PhaseEnded
from phasefit.models.encoder.inference import encode_rows
from phasefit.phases.contract import Batch
from phasefit.phases.self_train import phase as module
from phasefit.phases.self_train.options import Options
from phasefit.phases.self_train.phase import SelfTrain
from phasefit.phases.self_train.segments import WHOLE, Segment
from phasefit.training.device import make_accelerator
from phasefit.training.loop import train_phase
from phasefit.training.state import PhaseState, put_weights, weights_of
from tiny import fresh_model, make_data, make_phase, make_table, run, same, weights

UNITS = 1 + 2 + 3  # one round on labelled rows and one with pseudo-labels, two folds
SMALL = {"rounds": 1, "folds": 2, "stretch": 1, "batch_size": 8, "lr": 1e-3, "max_steps": 2 * UNITS}


def built(folder: Path, *, validation: int = 0, texts: int = 40, **options: Any) -> SelfTrain:
    model = fresh_model(folder)
    unlabelled = make_table(texts, seed=5)[0] if texts else ()
    data = make_data(model.encoder, *make_table(24 + validation), validation=validation, unlabelled=unlabelled)
    made = make_phase("self-train", model, data, **{**SMALL, **options})
    assert isinstance(made, SelfTrain)
    return made


def keep_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "helps", lambda *_: True)


def trained(phase: SelfTrain, **more: Any) -> dict[str, torch.Tensor]:
    for _ in train_phase(phase, make_accelerator("cpu"), seed=0, **more):
        pass
    return weights(phase)


def test_batches_have_labelled_rows_and_pseudo_labelled_texts(tiny_folder, monkeypatch) -> None:
    keep_all(monkeypatch)
    phase = built(tiny_folder)
    run(phase)
    for draw in phase.batches.epoch(0):
        texts = np.isin(draw["rows"], phase.data.unlabelled)
        held_out = phase.data.train[phase._folds == draw["model"][0]]
        assert not np.isin(draw["rows"], held_out).any()
        assert 0.25 < texts.mean() < 0.75 if draw["round"][0] else not texts.any()
        assert set(draw["rows"]) <= {*phase.data.train, *phase.data.unlabelled}


def test_soft_targets_sum_to_one(tiny_folder, monkeypatch) -> None:
    keep_all(monkeypatch)
    phase = built(tiny_folder)
    run(phase)
    rows = np.concatenate([phase.data.unlabelled[:7], phase.data.train[:5]])
    targets = phase.soft_targets(rows, 1, WHOLE)
    assert targets.sum(axis=1) == pytest.approx(np.ones(12), abs=1e-6)
    assert (targets[7:].argmax(axis=1) == phase.data.codes[rows[7:]]).all()
    assert (targets[7:].max(axis=1) == 1).all()
    assert targets[:7].max() < 1, "pseudo-labels are uncertain"


def test_uncertain_texts_have_less_weight(tiny_folder) -> None:
    phase = built(tiny_folder)
    phase.rounds.texts[WHOLE] = torch.tensor([0.0, 0.0, 0.0])
    assert phase.soft_targets(phase.data.unlabelled[:1], 1, WHOLE).tolist() == [pytest.approx([1 / 3] * 3)]
    rows = np.concatenate([phase.data.train[:6], phase.data.unlabelled[:6]])
    draw = {"rows": rows, "round": np.ones(12, dtype=int), "model": np.zeros(12, dtype=int)}
    batch = Batch(draw, np.random.default_rng(0), torch.device("cpu"))
    vectors = phase.encode(batch)["vectors"].detach()
    seen: list[torch.Tensor] = []
    objective = phase.objective
    phase.objective = lambda *given, row_weights: seen.append(row_weights) or objective(*given, row_weights=row_weights)
    assert torch.isfinite(phase.loss({"vectors": vectors}, batch).loss)
    assert seen[0].tolist() == pytest.approx([1] * 6 + [1 / 3] * 6)


def test_every_encoder_starts_from_the_same_weights(tiny_folder, monkeypatch) -> None:
    keep_all(monkeypatch)
    phase, starts = built(tiny_folder), []
    before = phase.before_step

    def spy(step: int) -> None:
        before(step)
        if phase.segment(step)[0] == 1:
            starts.append(weights(phase))

    monkeypatch.setattr(phase, "before_step", spy)
    run(phase)
    assert len(starts) == UNITS
    assert all(same(starts[0], each) for each in starts)


def misled(phase: SelfTrain) -> SelfTrain:
    """With pseudo-labels after which the rows that were left out are taken for another class."""
    end: Callable[[Segment], None] = phase._end_segment

    def end_segment(segment: Segment) -> None:
        end(segment)
        rows = np.flatnonzero(phase._folds == segment.model)
        if segment.round:
            logs = phase.rounds.held_out[segment.round]
            logs[rows] = logs[rows].roll(1, dims=1)

    object.__setattr__(phase, "_end_segment", end_segment)
    return phase


def make_codes(phase: SelfTrain) -> np.ndarray:
    """The true classes of the unlabelled texts."""
    return phase.data.space.encode(make_table(len(phase.data.unlabelled), seed=5)[1])


def test_a_harmful_round_is_dropped(tiny_folder) -> None:
    options = {"max_steps": 15 * UNITS, "lr": 3e-3}
    phase = misled(built(tiny_folder, texts=90, **options))
    events = run(phase)
    ended = events[-1]
    assert isinstance(ended, PhaseEnded)
    first, second = ended.choices["rounds"]
    assert (first["kept"], second["kept"]) == (True, False)
    assert second["accuracy"] < first["accuracy"]
    assert ended.steps == 15 * 5, "the dropped round is not trained on all rows"
    lines = [event.text for event in events if isinstance(event, Note)]
    assert lines[-1].startswith("self-train: round 1, 45 pseudo-labels: accuracy ")
    assert lines[-1].endswith("; dropped")
    alone = built(tiny_folder, texts=0, **options | {"max_steps": 15})
    run(alone)
    assert same(weights(alone), weights(phase)), "as if there were no unlabelled texts"


def test_a_round_that_helps_is_kept(tiny_folder) -> None:
    phase = built(tiny_folder, texts=90, max_steps=15 * UNITS, lr=3e-3)
    codes = make_codes(phase)
    end = phase._end_segment

    def end_segment(segment: Segment) -> None:
        end(segment)
        phase.rounds.texts[segment.model] = 20 * torch.nn.functional.one_hot(torch.from_numpy(codes), 3).float()

    object.__setattr__(phase, "_end_segment", end_segment)
    ended = run(phase)[-1]
    assert isinstance(ended, PhaseEnded)
    first, second = ended.choices["rounds"]
    assert second["kept"]
    assert second["gain"] == pytest.approx(second["accuracy"] - first["accuracy"], abs=1e-5)
    assert (second["pseudo_labels"], second["share"]) == (45, 0.5)
    assert ended.steps == 15 * UNITS


def test_validation_labels_play_no_part_in_pseudo_labels(tiny_folder, monkeypatch) -> None:
    keep_all(monkeypatch)
    texts = []
    for shift in (0, 1):
        phase = built(tiny_folder, validation=9)
        codes = phase.data.codes.copy()
        codes[phase.data.validation] = (codes[phase.data.validation] + shift) % 3
        changed = replace(phase.data, codes=codes, values=codes)
        phase = make_phase("self-train", fresh_model(tiny_folder), changed, **SMALL)
        run(phase)
        texts.append((phase.rounds.texts.clone(), phase.rounds.held_out.clone()))
    assert all(torch.equal(one, other) for one, other in zip(*texts, strict=True))


def test_the_rows_that_test_a_fold_are_not_learned_by_it(tiny_folder, monkeypatch) -> None:
    logs = []
    for shift in (0, 1):
        phase = built(tiny_folder)
        codes, folds = phase.data.codes.copy(), phase._folds
        held_out = phase.data.train[folds == 1]
        codes[held_out] = (codes[held_out] + shift) % 3
        monkeypatch.setattr(module, "assign_folds", lambda *_, folds=folds: folds)
        changed = replace(phase.data, codes=codes, values=codes)
        phase = make_phase("self-train", fresh_model(tiny_folder), changed, **SMALL)
        run(phase, fixed_steps=6)  # the first round
        logs.append(phase.rounds.texts.clone())
    assert torch.equal(logs[0][1], logs[1][1]), "what it thinks of the texts"
    assert not torch.equal(logs[0][WHOLE], logs[1][WHOLE])


def test_every_batch_has_all_class_texts_once(tiny_folder, monkeypatch) -> None:
    keep_all(monkeypatch)
    phase = built(tiny_folder, class_texts="names")
    run(phase)
    assert phase.named.codes.tolist() == [0, 1, 2]
    for draw in phase.batches.epoch(0):
        named = phase.named.named(draw["rows"])
        assert sorted(phase.named.codes_of(draw["rows"][named])) == [0, 1, 2]


@pytest.mark.parametrize("number", [0, 1])
def test_the_class_texts_have_the_weight_of_cross_entropy(tiny_folder, number: int) -> None:
    losses = {}
    for share in (1e-9, 0.25, 1 - 1e-9):
        phase = built(tiny_folder, class_texts="names", ce_weight=share).eval()
        rows = np.concatenate([phase.data.train[:6], phase.named.rows])
        if number:
            rows = np.concatenate([rows, phase.data.unlabelled[:6]])
        draw = {"rows": rows, "round": np.full(len(rows), number), "model": np.zeros(len(rows), dtype=int)}
        batch = Batch(draw, np.random.default_rng(0), torch.device("cpu"))
        losses[share] = phase.loss(phase.encode(batch), batch).loss.item()
    among, both, by_text = losses.values()
    assert among != pytest.approx(by_text, rel=0.01)
    assert both == pytest.approx(0.75 * among + 0.25 * by_text, rel=1e-4)


def test_a_text_of_a_class_without_class_text_is_drawn_to_none(tiny_folder, tmp_path) -> None:
    file = tmp_path / "classes.csv"
    file.write_text("label,text\nfood,what people eat\nmusic,songs\n", encoding="utf-8")
    phase = built(tiny_folder, class_texts=str(file)).eval()
    assert phase.named.codes.tolist() == [0, 1], "weather has no text"
    phase.rounds.texts[WHOLE] = torch.tensor([1.0, 2.0, 9.0])
    rows = np.concatenate([phase.named.rows, phase.data.unlabelled[:4]])
    draw = {"rows": rows, "round": np.ones(len(rows), dtype=int), "model": np.zeros(len(rows), dtype=int)}
    batch = Batch(draw, np.random.default_rng(0), torch.device("cpu"))
    assert phase._to_class_texts(phase.encode(batch)["vectors"], rows, batch).item() == 0


def test_class_texts_and_rows_keep_their_places(tiny_folder) -> None:
    phase = built(tiny_folder, class_texts="names").eval()
    rows = np.concatenate([phase.named.rows[:1], phase.data.train[:2], phase.named.rows[1:], phase.data.unlabelled[:2]])
    draw = {"rows": rows, "round": np.zeros(len(rows), dtype=int), "model": np.zeros(len(rows), dtype=int)}
    vectors = phase.encode(Batch(draw, np.random.default_rng(0), torch.device("cpu")))["vectors"]
    texts = [*phase.data.space.names[:1], *(phase.data.texts[row] for row in phase.data.train[:2])]
    texts += [*phase.data.space.names[1:], *(phase.data.texts[row] for row in phase.data.unlabelled[:2])]
    expected = encode_rows(phase.encoder, phase.encoder.tokenise(texts))
    torch.testing.assert_close(vectors.detach(), expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("class_texts", ["none", "names"])
@pytest.mark.parametrize("step", [1, 2, 5, 6, 8, 11])
def test_it_resumes_exactly_between_and_within_segments(tiny_folder, monkeypatch, step: int, class_texts: str) -> None:
    keep_all(monkeypatch)
    saved: dict[str, Any] = {}

    def save(state: PhaseState) -> None:
        if state.step == step:
            tensors = weights_of(phase=state.phase) | state.tensors()
            saved["tensors"] = {name: value.detach().clone() for name, value in tensors.items()}
            saved["facts"] = json.dumps(state.facts())

    first = built(tiny_folder, validation=9, class_texts=class_texts)
    whole = trained(first, on_step_end=save)
    again = built(tiny_folder, validation=9, class_texts=class_texts)
    torch.manual_seed(99)

    def resume(state: PhaseState) -> None:
        put_weights(saved["tensors"], phase=again)
        state.load(saved["tensors"], json.loads(saved["facts"]))

    assert same(whole, trained(again, resume=resume))
    assert again.results() == first.results()


def test_a_phase_that_was_over_stays_so(tiny_folder, monkeypatch) -> None:
    monkeypatch.setattr(module, "helps", lambda *_: False)
    states: list[tuple[dict[str, torch.Tensor], str]] = []
    phase = built(tiny_folder)
    trained(phase, on_step_end=lambda state: states.append((state.tensors(), json.dumps(state.facts()))))
    assert len(states) == 10
    assert json.loads(states[-1][1])["stopped"]


def test_with_too_few_steps_the_first_round_is_kept(tiny_folder) -> None:
    phase, alone = built(tiny_folder, max_steps=2), built(tiny_folder, texts=0, max_steps=1)
    run(phase)
    run(alone)
    assert same(weights(phase), weights(alone)), "the second step trained a fold"


def test_tested_rows_need_two_rows_of_two_classes(model) -> None:
    texts, labels = make_table(12, sizes=[1, 1, 4])
    data = make_data(model.encoder, texts, labels, validation=0, unlabelled=["a song"])
    with pytest.raises(RecipeError, match="needs two labelled rows of at least two classes"):
        make_phase("self-train", model, data)


@pytest.mark.parametrize("kind", ["multi", "score"])
def test_other_kinds_of_labels_are_refused(kind: str) -> None:
    with pytest.raises(RecipeError, match=f"self-train: pseudo-labels need one class per text.*kind '{kind}'"):
        Options().check_kinds("self-train", {"": kind})


def test_a_sample_of_many_texts_is_used(tiny_folder) -> None:
    phase = built(tiny_folder)
    few = make_phase("self-train", fresh_model(tiny_folder), phase.data, **SMALL, texts=10)
    assert few.facts()["texts"] == 10
    assert any("uses 10 of 40 unlabelled texts" in note for note in few.notes())
