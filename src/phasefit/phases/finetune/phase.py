"""Fine-tuning: the step, and how it is validated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from torch import Tensor, nn

from phasefit.data.batches import Batches, ShuffledBatches
from phasefit.kinds import kind_of
from phasefit.models.heads import PairKind
from phasefit.models.model import TASK, Model
from phasefit.models.tokens.rows import FrozenVectors, Rows
from phasefit.models.tokens.tokens import Features
from phasefit.models.views import Views, build_views
from phasefit.objectives import CrossEntropy
from phasefit.phases.contract import Batch, Encoded, Phase, PhaseData, StepOutput, encoder_groups
from phasefit.phases.finetune.auxiliary_objective import AuxiliaryObjective
from phasefit.phases.finetune.head import head_for, head_loss, stacked
from phasefit.phases.finetune.options import Options
from phasefit.seeds import derive

SECOND = ".2"  # ends the names of what belongs to the second view


class Finetune(Phase):
    """The loss of a head, perhaps with an objective beside it; the encoder learns along unless frozen.

    Rows are texts, or pairs of them.
    """

    options: Options

    def __init__(self, name: str, options: Options, model: Model, data: PhaseData, seed: int) -> None:
        super().__init__(name, options, model, data, seed)
        self._model = [model]  # in a list: a phase trains its parts, the model is not one of them
        self._went_on, self.head = head_for(model, TASK, data, options, derive(seed, name, "head"))
        model.heads[TASK] = self.head
        model.spaces[TASK] = data.space
        self.head_loss = head_loss(name, data.space, data.values[data.train], options)
        self._kind = kind_of(data.space)
        self._watch = self._kind.check_watch(options.watch, name)
        self.rows = read_rows(model, data, options.pair)
        self.weighting_loss = CrossEntropy(options.label_smoothing, options.focal)
        self.beside: AuxiliaryObjective | None = None
        if options.objective is not None:
            self.beside = AuxiliaryObjective(
                name, options, self.encoder, data, seed, sequences=self.rows.index.shape[1]
            )
        self.views: Views | None = None
        if options.views:
            self.views = Views(build_views(name, options.views), self.encoder, where=name)
        self._frozen = FrozenVectors(self.rows, np.concatenate([data.train, data.validation]))
        lengths = self.rows.lengths(data.train)
        seed_of_batches = derive(seed, name)
        self._batches = ShuffledBatches(data.train, lengths, batch_size=options.batch_size, seed=seed_of_batches)

    @property
    def batches(self) -> Batches:
        """Labelled rows."""
        return self._batches

    @property
    def watch(self) -> str:
        """A metric of the validation rows."""
        return self._watch

    @property
    def starts_untrained(self) -> bool:
        """A head that goes on from a run is already worth something."""
        return not self._went_on

    @property
    def gathers(self) -> bool:
        """An objective compares the texts of all processes."""
        return self.beside is not None

    def slack(self, scores: dict[str, float]) -> float:
        """In standard errors of the accuracy, or what comes nearest to it; losses have none."""
        if self.lower_is_better:
            return 0.0
        return self.options.slack * self._kind.standard_error(scores, len(self.data.validation))

    def notes(self) -> list[str]:
        """What the views have to say, and how many pairs are cut."""
        notes = [] if self.views is None else self.views.notes()
        if self.head.pair == "together" and (cut := self.rows.cut):
            notes.append(f"{self.name}: {cut:,} pairs are longer than {self.encoder.max_length} tokens and are cut")
        return notes

    def groups(self) -> dict[str, list[nn.Parameter]]:
        """Encoder (unless frozen), added layers, head."""
        parts = {"head": list(self.head.parameters())}
        if self.beside is not None:
            parts |= self.beside.groups()
        return parts if self.options.freeze else {**encoder_groups(self.encoder), **parts}

    def encode(self, batch: Batch) -> Encoded:
        """Rows -> vectors, from the cache when the encoder is frozen; of both views, if there are two."""
        rows = batch.draw["rows"]
        if self.options.freeze:
            return {"vectors": self._frozen_vectors(rows)}
        features = batch.put(self.rows.features(rows))
        encoded = self._encoded(features, self.encoder(features))
        if self.views is not None:
            seen = batch.put(self.views.features(self.data.texts, self.data.tokens, rows, batch.generator))
            second = self._encoded(seen, self.views.output(seen))
            encoded |= {name + SECOND: value for name, value in second.items()}
        return encoded

    def _encoded(self, features: Features, output: Features) -> Encoded:
        beside = {} if self.beside is None else self.beside.encode(features, output)
        return {"vectors": self.rows.vectors(output), **beside}

    def join(self, parts: Sequence[Encoded]) -> Encoded:
        """Token states of chunks may differ in length."""
        return stacked(parts)

    def loss(self, encoded: Encoded, batch: Batch) -> StepOutput:
        """That of the head's logits, mixed with the objective beside it."""
        rows = batch.draw["rows"]
        if self.views is not None:
            first = {name: value for name, value in encoded.items() if not name.endswith(SECOND)}
            encoded = stacked([first, {name: encoded[name + SECOND] for name in first}])
            rows = np.concatenate([rows, rows])
        values = batch.tensor(self.head_loss.values(self.data.values[rows]))
        plain: Tensor = self.head_loss(self.head(encoded["vectors"]), values)
        if self.options.ridge:
            plain = plain + self.options.ridge / len(self.data.train) * self.head.size()
        if self.beside is None:
            return StepOutput(plain, {})
        share = self.options.ce_weight
        other = self.beside.loss(encoded, batch.tensor(self.data.targets(rows)))
        total = share * plain + (1 - share) * other
        scalars = {"cross_entropy": plain.detach(), self.beside.objective.name: other.detach()}
        if "weights" in encoded:
            codes = self.beside.for_sequences(batch.tensor(self.data.codes[rows]))
            weighting = self.weighting_loss(self.beside.by_sequence(encoded["weights"]), codes)
            total, scalars["weighting"] = total + share * weighting, weighting.detach()
        return StepOutput(total, scalars)

    def validate(self) -> dict[str, float]:
        """Metrics of the validation rows."""
        rows = self.data.validation
        if not len(rows):
            return {}
        vectors = self._frozen_vectors(rows) if self.options.freeze else self.rows.encode(self.encoder, rows)
        return self._kind.validate(self.data.values[rows], self._model[0].outputs(vectors))

    def _frozen_vectors(self, rows: np.ndarray) -> Tensor:
        """Vectors of labelled rows."""
        return self._frozen.of(self.encoder, rows)


def read_rows(model: Model, data: PhaseData, how: PairKind) -> Rows:
    """The rows as a head will see them: single texts, or pairs."""
    if data.pairs is None:
        return Rows.single(data.tokens)
    return Rows.of(model.encoder, data.texts, data.tokens, data.pairs, how)
