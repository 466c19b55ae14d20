"""The finetune phase: training step and validation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from torch import Tensor, nn

from phasefit.data.batches import Batches, ShuffledBatches
from phasefit.data.stored_texts import ChosenTexts
from phasefit.errors import RecipeError
from phasefit.kinds import kind_of
from phasefit.metrics.paired import paired_error
from phasefit.models.heads import PairKind
from phasefit.models.model import TASK, Model
from phasefit.models.solved_head import Solution, solve_head
from phasefit.models.tokens.rows import FrozenVectors, Rows
from phasefit.models.tokens.tokens import Features
from phasefit.models.views import Views, build_views
from phasefit.objectives import CrossEntropy
from phasefit.phases.class_texts import NONE as NO_CLASS_TEXTS
from phasefit.phases.class_texts import class_texts
from phasefit.phases.contract import Batch, Encoded, Phase, PhaseData, StepOutput, encoder_groups
from phasefit.phases.finetune.auxiliary_objective import AuxiliaryObjective
from phasefit.phases.finetune.head import head_for, head_loss, stacked
from phasefit.phases.finetune.line import fitted_line, has_line
from phasefit.phases.finetune.options import Options
from phasefit.phases.objective_option import weight_notes
from phasefit.phases.pseudo_labels import MOST_TEXTS, most_confident, sample_of
from phasefit.seeds import derive, generator

SECOND = ".2"  # suffix of the tensors of the second view


class Finetune(Phase):
    """Trains a head, optionally with an additional objective, and the encoder unless it is frozen.

    Rows are texts or pairs of texts.
    """

    options: Options

    def __init__(self, name: str, options: Options, model: Model, data: PhaseData, seed: int) -> None:
        super().__init__(name, options, model, data, seed)
        self._model = [model]  # a list, so that the model is not registered as a submodule
        self._reuses_head, self.head = head_for(model, TASK, data, options, derive(seed, name, "head"))
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
        self._texts = data.unlabelled[:0]
        if options.pseudo_labels:
            self._texts = sample_of(data.unlabelled, MOST_TEXTS, generator(seed, name, "texts"))
        self._frozen = FrozenVectors(self.rows, np.concatenate([data.train, data.validation, self._texts]))
        lengths = self.rows.lengths(data.train)
        batch_seed = derive(seed, name)
        self._batches = ShuffledBatches(data.train, lengths, batch_size=options.batch_size, seed=batch_seed)

    @property
    def batches(self) -> Batches:
        """Batches of labelled rows."""
        return self._batches

    @property
    def watch(self) -> str:
        """The validation metric that selects the weights."""
        return self._watch

    @property
    def starts_untrained(self) -> bool:
        """Whether the head is new rather than taken from a run, and not solved."""
        return not self._reuses_head and not self.is_solved and not has_line(self.head, self.data)

    @property
    def gathers(self) -> bool:
        """True: the loss is computed from the outputs of all processes."""
        return True

    def slack(self, best: np.ndarray | None, later: np.ndarray | None) -> float | None:
        """`slack` standard errors of the difference in accuracy or the closest metric; None for losses."""
        if not self.options.slack or self.lower_is_better or best is None or later is None:
            return None
        return self.options.slack * paired_error(best, later)

    @property
    def is_solved(self) -> bool:
        """Whether the head is solved instead of trained."""
        return self.options.solve

    def solutions(self, ridge: float | None = None) -> dict[str, Solution]:
        """The line from cosines to scores, if that is what the head is, or the layer of a head that is solved."""
        data = self.data
        if has_line(self.head, data):
            seed = derive(self.seed, self.name)
            return {TASK: fitted_line(self.head, self.head_loss, data, self._vectors, seed)}
        if not self.options.solve:
            return {}
        weights = None if data.weights is None else data.weights[data.train]
        solution = self._solved(data.train, data.values[data.train], weights, ridge)
        if len(self._texts):
            self.set_solutions({TASK: solution})
            solution = self._solved_with_texts(weights, 1 / solution.C if solution.C else ridge)
        return {TASK: solution}

    def _solved(
        self, rows: np.ndarray, values: np.ndarray, weights: np.ndarray | None, ridge: float | None
    ) -> Solution:
        penalty = self.options.ridge if ridge is None else ridge
        balance = self.head_loss.weights
        return solve_head(
            self.head,
            self._vectors(rows),
            self.data.space,
            values,
            seed=derive(self.seed, self.name),
            C=None if penalty == "auto" else 1 / penalty,
            weights=weights,
            class_weights=None if balance is None else balance.cpu().double().numpy(),
            class_vectors=self._class_vectors(),
        )

    def _solved_with_texts(self, weights: np.ndarray | None, ridge: float | None) -> Solution:
        """The head solved again, also on texts with the classes that it predicts now, weighted by their probability."""
        probabilities = self._model[0].outputs(self._vectors(self._texts))
        chosen, codes = most_confident(probabilities, self.options.pseudo_labels)
        rows = np.concatenate([self.data.train, self._texts[chosen]])
        values = np.concatenate([self.data.values[self.data.train], codes])
        known = np.ones(len(self.data.train)) if weights is None else weights
        return self._solved(rows, values, np.concatenate([known, probabilities.max(axis=1)[chosen]]), ridge)

    def _class_vectors(self) -> np.ndarray | None:
        """The vectors of class texts, (outputs, dimension); None without class texts."""
        data = self.data
        if self.options.class_texts == NO_CLASS_TEXTS:
            return None
        if data.pairs is not None:
            raise RecipeError(f"{self.name}: class_texts need single texts, but these are pairs; remove class_texts")
        texts = class_texts(self.options.class_texts, data.space, np.unique(data.codes[data.train]), self.name)
        return texts.vectors(self.encoder, data.space.outputs)

    def set_solutions(self, solutions: Mapping[str, Solution]) -> None:
        """Use this line or layer."""
        for solution in solutions.values():
            self.head.set_output(solution.weight, solution.bias)

    @property
    def encodes_once(self) -> bool:
        """Whether the encoder is frozen."""
        return self.options.freeze

    def evaluation_parts(self) -> list[tuple[int, int]]:
        """The validation rows; a pair has two texts."""
        return [(len(self.data.validation), self.rows.index.shape[1])]

    def step_rows(self) -> float:
        """A pair and a text with a second view count twice."""
        texts: int = self.rows.index.shape[1] * (1 if self.views is None else 2)
        return super().step_rows() * texts

    def notes(self) -> list[str]:
        """Whether the objective or the head has no weight, notes of the views, and how many pairs are truncated."""
        notes = []
        if self.beside is not None:
            notes += weight_notes(self.name, self.beside.objective, self.options.ce_weight)
        if self.options.pseudo_labels and not len(self._texts):
            notes.append(f"{self.name}: there are no unlabelled texts, so pseudo_labels has no effect")
        elif self.options.pseudo_labels:
            share = f"{self.options.pseudo_labels:.0%} of {len(self._texts):,} unlabelled texts"
            notes.append(f"{self.name}: the head also learns from pseudo-labels of at most {share}")
        if self.views is not None:
            notes += self.views.notes(ChosenTexts(self.data.texts, self.data.train))
        if self.head.pair == "together" and (cut := self.rows.cut):
            notes.append(
                f"{self.name}: {cut:,} pairs are longer than {self.encoder.max_length} tokens and are truncated"
            )
        return notes

    def groups(self) -> dict[str, list[nn.Parameter]]:
        """Encoder and dense layers unless frozen, head, and the modules of the objective."""
        parts = {"head": list(self.head.parameters())}
        if self.beside is not None:
            parts |= self.beside.groups()
        return parts if self.options.freeze else {**encoder_groups(self.encoder), **parts}

    def before_step(self, step: int) -> None:
        """Encode all rows before the first step if the encoder is frozen."""
        if self.options.freeze:
            self._frozen.fill(self.encoder)

    def encode(self, batch: Batch) -> Encoded:
        """Encode the rows, and their second view if there is one; a frozen encoder uses cached vectors."""
        rows = batch.draw["rows"]
        if self.options.freeze:
            return {"vectors": self._frozen_vectors(rows)}
        features = batch.put(self.rows.features(rows))
        encoded = self._encoded(features, self.encoder(features))
        if self.views is not None:
            whole, only = batch.whole["rows"], batch.place
            augmented = self.views.features(self.data.texts, self.data.tokens, whole, batch.generator, only)
            seen = batch.put(augmented)
            second = self._encoded(seen, self.views.output(seen))
            encoded |= {name + SECOND: value for name, value in second.items()}
        return encoded

    def _encoded(self, features: Features, output: Features) -> Encoded:
        auxiliary = {} if self.beside is None else self.beside.encode(features, output)
        return {"vectors": self.rows.vectors(output), **auxiliary}

    def join(self, parts: Sequence[Encoded]) -> Encoded:
        """Concatenate chunks, whose token states may differ in length."""
        return stacked(parts)

    def loss(self, encoded: Encoded, batch: Batch) -> StepOutput:
        """The loss of the head, weighted with the objective if there is one."""
        copies = 1 if self.views is None else 2
        rows = batch.every(copies=copies)
        if self.views is not None:
            first = {name: value for name, value in encoded.items() if not name.endswith(SECOND)}
            encoded = stacked([first, {name: encoded[name + SECOND] for name in first}])
        values = batch.tensor(self.head_loss.values(self.data.values[rows]))
        weights = batch.weights(self.data.weights, rows)
        plain: Tensor = self.head_loss(batch.gather(self.head(encoded["vectors"])), values, weights)
        if self.options.ridge and self.options.ridge != "auto":
            plain = plain + self.options.ridge / len(self.data.train) * self.head.size()
        if self.beside is None:
            return StepOutput(plain, {})
        share = self.options.ce_weight
        other = self._auxiliary(self.beside, encoded, batch, np.tile(batch.draw["rows"], copies), rows)
        total = share * plain + (1 - share) * other
        scalars = {"cross_entropy": plain.detach(), self.beside.objective.name: other.detach()}
        if "weights" in encoded:
            codes = self.beside.for_sequences(batch.tensor(self.data.codes[rows]))
            of_sequences = None if weights is None else self.beside.for_sequences(weights)
            by_sequence = batch.gather(self.beside.by_sequence(encoded["weights"]))
            weighting = self.weighting_loss(by_sequence, codes, row_weights=of_sequences)
            total, scalars["weighting"] = total + share * weighting, weighting.detach()
        return StepOutput(total, scalars)

    def _auxiliary(
        self, beside: AuxiliaryObjective, encoded: Encoded, batch: Batch, own: np.ndarray, every: np.ndarray
    ) -> Tensor:
        """The auxiliary objective; that of tokens needs the labels of the own rows, the others those of every row."""
        rows = own if beside.on_tokens else every
        weights = batch.weights(self.data.weights, rows)
        return beside.loss(encoded, batch, batch.tensor(self.data.targets(rows)), weights)

    def validate(self) -> dict[str, float]:
        """Metrics on the validation rows."""
        rows = self.sample(self.data.validation)
        if not len(rows):
            return {}
        values, outputs = self.data.values[rows], self._model[0].outputs(self._vectors(rows))
        self.contributions = self._kind.contributions(values, outputs) if self.options.slack else None
        return self._kind.validate(values, outputs)

    def _vectors(self, rows: np.ndarray) -> Tensor:
        """The vectors of labelled rows, without gradient."""
        return self._frozen_vectors(rows) if self.options.freeze else self.rows.encode(self.encoder, rows)

    def skip_encoding(self) -> int:
        """Skip the vectors of a frozen encoder."""
        return self._frozen.skip(self.encoder) if self.options.freeze else 0

    def _frozen_vectors(self, rows: np.ndarray) -> Tensor:
        """Cached vectors of labelled rows."""
        return self._frozen.of(self.encoder, rows)


def read_rows(model: Model, data: PhaseData, how: PairKind) -> Rows:
    """The rows as the head sees them: single texts or pairs."""
    if data.pairs is None:
        return Rows.single(data.tokens)
    return Rows.of(model.encoder, data.texts, data.tokens, data.pairs, how)
