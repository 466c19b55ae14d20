"""The self-train phase: training step, pseudo-labels and the guard of its rounds."""

from __future__ import annotations

from math import ceil
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from phasefit.data.batches import Batches
from phasefit.errors import RecipeError
from phasefit.metrics.calibration import best_temperature
from phasefit.models.encoder.encoder import sentence_vectors
from phasefit.models.encoder.inference import encode_rows
from phasefit.models.model import Model
from phasefit.objectives import SupCon
from phasefit.phases.class_text_loss import class_text_loss
from phasefit.phases.contract import AfterStep, Batch, Encoded, Phase, PhaseData, StepOutput, encoder_groups
from phasefit.phases.probe import Probe
from phasefit.phases.pseudo_labels import calibrated, log_probabilities, most_confident, sample_of
from phasefit.phases.self_train.batches import Labelled, SegmentBatches
from phasefit.phases.self_train.guard import HeldOut, helps
from phasefit.phases.self_train.named import NamedRows
from phasefit.phases.self_train.options import Options
from phasefit.phases.self_train.segments import WHOLE, Segment, assign_folds, segments, units
from phasefit.phases.self_train.state import Rounds, WeightCopy
from phasefit.seeds import derive, generator


class SelfTrain(Phase):
    """Supervised contrast in rounds: on the labelled rows, then also on texts that the round before has labelled.

    Every round trains `folds` encoders that each leave out a part of the labelled rows, and one on all of them. All
    start from the same weights. A round whose folds predict the parts that they left out no better than those of the
    round before is dropped, and the phase ends.
    """

    options: Options
    chooses_on_all_rows = False  # the probe is a sample in any case

    def __init__(self, name: str, options: Options, model: Model, data: PhaseData, seed: int) -> None:
        super().__init__(name, options, model, data, seed)
        options.check_kinds(name, {"": data.space.kind})
        self.objective = SupCon(temperature=options.temperature)
        self._codes = data.codes[data.train]
        self._folds = assign_folds(self._codes, options.folds, derive(seed, name))
        self._texts = sample_of(data.unlabelled, options.texts, generator(seed, name, "texts"))
        self._rounds = options.rounds if len(self._texts) else 0
        self._check_rows()
        self.named = NamedRows(options.class_texts, self.encoder, data, name)
        self.probe = Probe(data, seed)
        self.start, self.kept = WeightCopy(self._trained()), WeightCopy(self._trained())
        encoders, classes = options.folds + 1, len(data.space.groups)
        self.rounds = Rounds(self._rounds + 1, encoders, len(self._texts), len(data.train), classes)
        self._encodes = True
        self._batches = SegmentBatches(
            self._rows,
            batch_size=options.batch_size,
            per_class=options.per_class,
            accumulate=options.accumulate,
            seed=lambda segment, part: derive(seed, name, part, segment.round, segment.model),
            named=(self.named.rows, self.named.codes) if self.named else None,
        )
        self.set_steps(self._usual_steps())

    def _check_rows(self) -> None:
        if len(np.unique(self._codes)) < 2:
            raise RecipeError(f"{self.name}: needs at least two classes in the training rows")
        if self._rounds and len(np.unique(self._codes[self._folds > 0])) < 2:
            raise RecipeError(
                f"{self.name}: needs two labelled rows of at least two classes, to test its rounds; label more rows"
            )

    def _usual_steps(self) -> int:
        """Steps of all rounds."""
        options = self.options
        wanted = ceil(options.passes * len(self._codes) / options.batch_size / options.accumulate)
        unit = min(max(wanted, options.round_steps), options.most_round_steps)
        return unit * sum(length for _, _, length in units(self._rounds, options.folds, options.stretch))

    def set_steps(self, total: int) -> None:
        """Divide the steps into segments."""
        self._segments = segments(total, self._rounds, self.options.folds, self.options.stretch)
        self._batches.segments = self._segments

    def _segment(self, step: int) -> Segment:
        return next((segment for segment in self._segments if step <= segment.last), self._segments[-1])

    def _trained(self) -> list[nn.Parameter]:
        return [value for value in self.encoder.parameters() if value.requires_grad]

    @property
    def batches(self) -> Batches:
        """Batches of labelled rows and, after the first round, as many pseudo-labelled texts."""
        return self._batches

    @property
    def watch(self) -> str:
        """The probe, if there are validation rows; the guard does not need them."""
        return "probe"

    @property
    def gathers(self) -> bool:
        """True: pairs are formed across the whole batch."""
        return True

    def groups(self) -> dict[str, list[nn.Parameter]]:
        """Encoder and dense layers."""
        return encoder_groups(self.encoder)

    # --- the rows of a segment ----------------------------------------------------------------------------------------

    def _rows(self, segment: Segment) -> tuple[Labelled, Labelled | None]:
        """The labelled rows of an encoder, and its pseudo-labelled texts."""
        own = self._own(segment.model)
        labelled = (self.data.train[own], self._codes[own])
        if not segment.round:
            return labelled, None
        positions, codes = most_confident(self._probabilities(segment.round, segment.model), self.options.keep)
        if len(np.unique(codes)) < 2:  # there is nothing to contrast
            return labelled, None
        return labelled, (self._texts[positions], codes)

    def _own(self, model: int) -> np.ndarray:
        """Positions of the labelled rows that an encoder is trained on."""
        return np.flatnonzero((self._folds != model) | (model == WHOLE))

    def _probabilities(self, number: int, model: int) -> np.ndarray:
        """The calibrated probabilities of all texts for an encoder of a round, from its predecessor."""
        temperature = float(self.rounds.temperatures[number - 1, model])
        return calibrated(self.rounds.texts[model].cpu().numpy(), temperature)

    # --- a step -------------------------------------------------------------------------------------------------------

    def segment(self, step: int) -> tuple[int, int]:
        """The position of a step in its segment, and the length of the segment."""
        segment = self._segment(step)
        return step - segment.first + 1, segment.steps

    def before_step(self, step: int) -> None:
        """Every segment starts from the weights that the phase started with."""
        if step == 1:
            self.start.save(self._trained())
        elif self.segment(step)[0] == 1:
            self.start.restore(self._trained())

    def encode(self, batch: Batch) -> Encoded:
        """Encode the rows; repeated texts are encoded once."""
        rows, back = np.unique(batch.draw["rows"], return_inverse=True)
        vectors = sentence_vectors(self.encoder(batch.put(self.named.features(rows))))
        return {"vectors": vectors[batch.tensor(back.reshape(-1))]}  # NumPy 1 returns another shape

    def loss(self, encoded: Encoded, batch: Batch) -> StepOutput:
        """The objective on the batch of all processes; texts count as much as their pseudo-label is certain."""
        vectors = encoded["vectors"].float()
        with torch.autocast(vectors.device.type, enabled=False):  # similarities over a temperature need full precision
            rows, every = batch.whole["rows"], batch.gather(vectors)
            named = self.named.named(rows)
            among = self._among_texts(every[batch.tensor(~named)], rows[~named], batch)
            if not named.any():
                return StepOutput(among, {})
            share, by_text = self.options.ce_weight, self._to_class_texts(every, rows, batch)
            return StepOutput(share * by_text + (1 - share) * among, {})

    def _among_texts(self, vectors: Tensor, rows: np.ndarray, batch: Batch) -> Tensor:
        number, _ = _place(batch)
        if not number:
            return self.objective(vectors, batch.tensor(self.data.targets(rows)))
        targets = self._targets(rows, batch)
        return self.objective(vectors, batch.tensor(targets), row_weights=batch.tensor(targets.max(axis=1)))

    def _to_class_texts(self, vectors: Tensor, rows: np.ndarray, batch: Batch) -> Tensor:
        named = self.named.named(rows)
        targets = self._targets(rows[~named], batch)
        agreement = targets[:, self.named.codes_of(rows[named])]
        agreement[agreement.max(axis=1) < targets.max(axis=1)] = 0  # the text of its own class is not in the batch
        weights, text = batch.tensor(targets.max(axis=1)), batch.tensor(named)
        return class_text_loss(vectors[~text], vectors[text], batch.tensor(agreement), weights)

    def _targets(self, rows: np.ndarray, batch: Batch) -> np.ndarray:
        return self.soft_targets(rows, *_place(batch))

    def soft_targets(self, rows: np.ndarray, number: int, model: int) -> np.ndarray:
        """(n, classes) float32: the class of a labelled row, or the calibrated probabilities of a text."""
        targets: np.ndarray = np.eye(len(self.data.space.groups))[np.maximum(self.data.codes[rows], 0)]
        texts = np.flatnonzero(np.isin(rows, self._texts))
        if len(texts):
            places = np.searchsorted(self._texts, rows[texts])
            targets[texts] = self._probabilities(number, model)[places]
        return np.asarray(targets, dtype=np.float32)

    # --- the end of a segment -----------------------------------------------------------------------------------------

    def after_step(self, step: int, *, last: bool) -> AfterStep | None:
        """At the end of a segment, label the texts, and test the round if it was the last fold."""
        segment = self._segment(step)
        ends = step == segment.last and self._encodes
        if ends:
            self._end_segment(segment)
        if ends and segment.model == self.options.folds and (outcome := self._end_folds(segment.round)):
            return outcome
        if last and segment.model != WHOLE:
            self.kept.restore(self._trained())
        return AfterStep() if ends else None

    def _end_segment(self, segment: Segment) -> None:
        """Predict the rows that the encoder did not see, and the texts if another round follows."""
        own, held_out = self._own(segment.model), np.flatnonzero(self._folds == segment.model)
        if segment.model == WHOLE:
            self.kept.save(self._trained())
            held_out = held_out[:0]
        texts = self._texts if segment.round < self._rounds else self._texts[:0]
        if not len(held_out) + len(texts):
            return
        rows = np.concatenate([self.data.train[own], self.data.train[held_out], texts])
        vectors = encode_rows(self.encoder, self.data.tokens, rows).cpu().numpy()
        classes = self.rounds.texts.shape[2]
        known = np.concatenate([vectors[: len(own)], self.named.vectors(self.encoder)])
        codes = np.concatenate([self._codes[own], self.named.codes])
        logs = log_probabilities(known, codes, vectors[len(own) :], classes)
        found = torch.from_numpy(logs).to(self.rounds.texts)
        self.rounds.held_out[segment.round, held_out] = found[: len(held_out)]
        if len(texts):
            self.rounds.texts[segment.model] = found[len(held_out) :]

    def _end_folds(self, number: int) -> AfterStep | None:
        """Test a round after its last fold; drop it, and end the phase, if it does not help."""
        tested = np.flatnonzero(self._folds)
        before = self.rounds.scores(self.rounds.last_kept, tested, self._codes[tested])
        after = self.rounds.scores(number, tested, self._codes[tested])
        kept = not number or helps(before, after, self.options.guard)
        self._record(number, before, after, kept)
        self._calibrate(number)
        if not kept:
            self.kept.restore(self._trained())
        return AfterStep([self._line(number, before, after, kept)], over=not kept)

    def _record(self, number: int, before: HeldOut, after: HeldOut, kept: bool) -> None:
        self.rounds.record_scores(number, before, after, kept)
        if number:
            count = len(most_confident(self._probabilities(number, WHOLE), self.options.keep)[0])
            self.rounds.record(number, pseudo_labels=count, share=count / len(self._texts))

    def _calibrate(self, number: int) -> None:
        """Set the temperature of each encoder, from the predictions of other folds for rows that it is trained on.

        The labels of the rows that test an encoder reach it only through this one number: other folds learn them.
        """
        logs = self.rounds.held_out[number].cpu().numpy()
        for model in range(self.options.folds + 1):
            rows = np.flatnonzero((self._folds > 0) & (self._folds != model))
            if len(rows):
                temperature = best_temperature(self._codes[rows], calibrated(logs[rows], 1.0))
                self.rounds.temperatures[number, model] = temperature

    def _line(self, number: int, before: HeldOut, after: HeldOut, kept: bool) -> str:
        if not number:
            scores = f"accuracy {after.accuracy:.3f}, log loss {after.log_loss:.3f}"
            return f"{self.name}: labelled rows only: {scores} on held-out labelled rows"
        count = int(self.rounds.results()[-1]["pseudo_labels"] or 0)
        scores = (
            f"accuracy {before.accuracy:.3f} -> {after.accuracy:.3f}, log loss {before.log_loss:.3f} -> "
            f"{after.log_loss:.3f}"
        )
        return f"{self.name}: round {number}, {count:,} pseudo-labels: {scores}; {'kept' if kept else 'dropped'}"

    # --- evaluation and reports ---------------------------------------------------------------------------------------

    def evaluates(self, step: int, usual: bool) -> bool:
        """Only encoders that are trained on all labelled rows, when they are finished."""
        segment = self._segment(step)
        return segment.model == WHOLE and step == segment.last

    def validate(self) -> dict[str, float]:
        """The probe on validation rows."""
        return self.probe.scores(self.encoder, self.sample) if self.probe else {}

    def evaluation_parts(self) -> list[tuple[int, int]]:
        """The rows of the probe."""
        return self.probe.parts or [(0, 1)]

    def skip_encoding(self) -> int:
        """Skip the predictions between segments."""
        self._encodes = False
        each = len(self._texts) + len(self.data.train)
        return each * sum(segment.round < self._rounds for segment in self._segments)

    def facts(self) -> dict[str, float]:
        """Number of labelled rows, and of unlabelled texts that may get a pseudo-label."""
        return {"rows": float(len(self.data.train)), "texts": float(len(self._texts))}

    def notes(self) -> list[str]:
        """How rounds are tested, and how many texts are used."""
        if not self._rounds:
            none = f"{self.name}: there are no unlabelled texts, so it trains on the labelled rows only"
            return [*self.named.notes, none]
        tested = np.count_nonzero(self._folds)
        notes = [
            *self.named.notes,
            f"{self.name}: up to {self._rounds} round{'s' * (self._rounds > 1)} with pseudo-labels; each is tested on "
            f"{tested:,} labelled rows that {self.options.folds} encoders leave out in turn",
        ]
        encoders = len(units(self._rounds, self.options.folds, self.options.stretch))
        notes.append(f"{self.name}: trains {encoders} encoders in turn; few-shot and label-names train one")
        if len(self._texts) < len(self.data.unlabelled):
            notes.append(
                f"{self.name}: uses {len(self._texts):,} of {len(self.data.unlabelled):,} unlabelled texts, drawn at "
                f"random (--set {self.name}.texts={len(self.data.unlabelled)} for all)"
            )
        return notes

    def results(self) -> dict[str, Any]:
        """The figures of each round."""
        return {"rounds": self.rounds.results()} if self._rounds else {}


def _place(batch: Batch) -> tuple[int, int]:
    """The round and the encoder of a batch."""
    return int(batch.whole["round"][0]), int(batch.whole["model"][0])
