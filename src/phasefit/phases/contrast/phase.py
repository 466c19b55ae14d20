"""The contrast phase: training step and validation."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from phasefit.data.batches import Batches, ClassBatches, PairBatches, draw_pairs
from phasefit.data.batches.pairs import shuffles
from phasefit.errors import RecipeError
from phasefit.models.encoder.encoder import sentence_vectors
from phasefit.models.encoder.inference import encode_rows
from phasefit.models.model import Model
from phasefit.models.neighbours import NONE
from phasefit.objectives import pair_agreement
from phasefit.objectives.contract import of_rows
from phasefit.phases import class_texts
from phasefit.phases.batch import selected
from phasefit.phases.class_text_loss import COMPARED, class_text_loss
from phasefit.phases.contract import Batch, Encoded, Phase, PhaseData, StepOutput, encoder_groups
from phasefit.phases.contrast.generated import GeneratedCopies
from phasefit.phases.contrast.grown import GrownRows
from phasefit.phases.contrast.hard import HardNegatives, WithChance
from phasefit.phases.contrast.options import Options, contrast_objective
from phasefit.phases.objective_option import check_labels, make_proxies, weight_notes
from phasefit.phases.probe import Probe
from phasefit.seeds import derive

PAIRED_ROWS = 200  # validation rows; about 20,000 pairs


class Contrast(Phase):
    """A metric-learning objective on all pairs of class-aware batches, or on explicit pairs as in the paper."""

    options: Options
    chooses_on_all_rows = False  # the probe is a sample in any case

    def __init__(self, name: str, options: Options, model: Model, data: PhaseData, seed: int) -> None:
        super().__init__(name, options, model, data, seed)
        self.objective = contrast_objective(options, name)
        check_labels(name, self.objective, data.space)
        if len(np.unique(data.codes[data.train])) < 2:
            raise RecipeError(f"{name}: needs at least two classes in the training rows")
        self.encoder.append_dense(options.dense, derive(seed, name, "dense"))
        size, proxy_seed = self.encoder.dimension, derive(seed, name, "proxies")
        self.proxies = make_proxies(self.objective, len(data.space.groups), size, proxy_seed)
        self.grown = GrownRows(data, options.balance, derive(seed, name))
        if options.balance.generate:
            copied = self.grown.rows[self.grown.noisy]
            self.generated = self.grown.generated = GeneratedCopies(name, model.generator, data, copied, seed)
        self._plain = len(self.grown)  # places after these are class texts
        self._class_text_notes = self._add_class_texts()
        self.probe = Probe(data, seed)
        self.negatives: HardNegatives | None = None
        if options.hard_negatives:
            self.negatives = HardNegatives(name, self.grown, options.hard_negatives, options.refresh, seed)
        self.pairs = 0
        self._batches: Batches = self._explicit() if options.pairs == "explicit" else self._class_aware()

    def _add_class_texts(self) -> list[str]:
        if self.options.class_texts == class_texts.NONE:
            return []
        present = np.unique(self.data.codes[self.data.train])
        added = class_texts.class_texts(self.options.class_texts, self.data.space, present, self.name)
        values = self.data.space.class_values(added.codes)
        self.grown.add(self.encoder.tokenise(added.texts), added.codes, values)
        return added.notes(self.name, compared=bool(self.options.ce_weight))

    def _class_aware(self) -> Batches:
        seed = derive(self.seed, self.name)
        batches = ClassBatches(
            self.grown.codes[: self._plain],
            batch_size=self.options.batch_size,
            per_class=self.options.per_class,
            seed=seed,
            named=self.grown.codes[self._plain :],
            least_named=COMPARED if self.options.ce_weight else 0,
            lengths=None if self.encoder.packing.works else self.grown.lengths[: self._plain],
        )
        self.pairs = len(batches) * batches.size * (batches.size - 1) // 2
        return batches if self.negatives is None else WithChance(batches, seed)

    def _explicit(self) -> Batches:
        codes, seed = self.grown.codes, derive(self.seed, self.name)
        times = shuffles(self.options.augmentation, len(np.unique(codes)))
        targets = self._targets_of(self.grown.values)
        pairs, _ = draw_pairs(targets, self.grown.origins, times=times, seed=seed)
        if not len(pairs):
            raise RecipeError(f"{self.name}: the training rows form no pairs; use pairs = 'batch'")
        self.pairs = len(pairs)
        return PairBatches(pairs, self.grown.lengths, batch_size=self.options.batch_size, seed=seed)

    @property
    def batches(self) -> Batches:
        """Batches of places in the grown rows, or of pairs of places."""
        return self._batches

    @property
    def watch(self) -> str:
        """The probe, or the objective on validation pairs."""
        return "probe" if self.options.watch == "auto" else self.options.watch

    @property
    def starts_untrained(self) -> bool:
        """Whether a random layer was added to the encoder, which stays there."""
        return self.options.dense == "paper"

    @property
    def gathers(self) -> bool:
        """True: pairs are formed across the whole batch."""
        return True

    def groups(self) -> dict[str, list[nn.Parameter]]:
        """Encoder, dense layers, and the proxies of the objective if it has any."""
        proxies = {} if self.proxies is None else {"proxies": list(self.proxies.parameters())}
        return {**encoder_groups(self.encoder), **proxies}

    def before_step(self, step: int) -> None:
        """Generate texts before the first step, and refresh the hard negatives."""
        if self.grown.generated is not None:
            self.grown.generated.before_step(step, self.encoder)
        if self.negatives is not None:
            self.negatives.before_step(step, self.encoder)

    def encode(self, batch: Batch) -> Encoded:
        """Encode the places, and a hard negative for each; repeated texts are encoded once."""
        wanted, own = next(iter(batch.whole.values())), batch.place
        if self.negatives is None:
            return {"vectors": self._vectors(wanted, wanted[own], batch)}
        near = self._near(batch)
        other = np.where(near == NONE, wanted, near)
        both = self._vectors(np.concatenate([wanted, other]), np.concatenate([wanted[own], other[own]]), batch)
        count = len(wanted[own])
        return {"vectors": both[:count], "negatives": both[count:]}

    def _vectors(self, wanted: np.ndarray, own: np.ndarray, batch: Batch) -> Tensor:
        """Vectors of the `own` places, out of those that the whole batch wants."""
        places = np.unique(wanted)
        features = self.grown.features(places, batch.generator)  # of all, so that all processes draw the same noise
        if batch.processes > 1:
            features = selected(features, np.isin(places, own))
        back = np.unique(own, return_inverse=True)[1]
        vectors = sentence_vectors(self.encoder(batch.put(features)))
        return vectors[batch.tensor(back.reshape(own.shape))]  # NumPy 1 returns it flat

    def _near(self, batch: Batch) -> np.ndarray:
        """Place of a hard negative for each row of the whole batch; -1: none."""
        assert self.negatives is not None
        return self.negatives.of(batch.whole["rows"], batch.whole["chance"])

    def loss(self, encoded: Encoded, batch: Batch) -> StepOutput:
        """The objective on the batch of all processes."""
        parts = {name: vectors.float() for name, vectors in encoded.items()}
        device, among = parts["vectors"].device.type, self._of_pairs if "pairs" in batch.draw else self._of_rows
        with torch.autocast(device, enabled=False):  # similarities over a temperature need full precision
            return StepOutput(among(parts, batch), self._figures())

    def _figures(self) -> dict[str, Tensor]:
        return {} if self.grown.generated is None else {"generated": self.grown.generated.share}

    def _of_pairs(self, parts: Encoded, batch: Batch) -> Tensor:
        pairs, vectors = batch.whole["pairs"], batch.gather(parts["vectors"])
        left, right = (batch.tensor(self._targets(pairs[:, side])) for side in (0, 1))
        sides = [batch.weights(self.grown.weights, pairs[:, side]) for side in (0, 1)]
        weights = None if sides[0] is None or sides[1] is None else sides[0] * sides[1]
        agreement = _agree(left, right, levels=left.dim() > 1)
        return self.objective.pairs(vectors[:, 0], vectors[:, 1], agreement, **of_rows(weights))

    def _of_rows(self, parts: Encoded, batch: Batch) -> Tensor:
        vectors, places = batch.gather(parts["vectors"]), batch.tensor(batch.whole["rows"])
        if self.negatives is not None:
            near = batch.tensor(self._near(batch))
            fresh = _first_seen(near, places)
            vectors = torch.cat([vectors, batch.gather(parts["negatives"])[fresh]])
            places = torch.cat([places, near[fresh]])
        if not self.options.ce_weight:
            return self._objective(vectors, places, batch)
        rows = places < self._plain
        by_text = self._to_class_texts(vectors, places, rows, batch)
        if self.options.ce_weight == 1:
            return by_text
        share = self.options.ce_weight
        return share * by_text + (1 - share) * self._objective(vectors[rows], places[rows], batch)

    def _objective(self, vectors: Tensor, places: Tensor, batch: Batch) -> Tensor:
        targets, weights = self._labels_of(places, batch)
        return self.objective(vectors, targets, parameters=self.proxies, **of_rows(weights))

    def _to_class_texts(self, vectors: Tensor, places: Tensor, rows: Tensor, batch: Batch) -> Tensor:
        (own, weights), (of_texts, _) = (self._labels_of(places[some], batch) for some in (rows, ~rows))
        agreement = _agree(own[:, None], of_texts[None], levels=own.dim() > 1)
        return class_text_loss(vectors[rows], vectors[~rows], agreement, weights)

    def _labels_of(self, places: Tensor, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """Targets and weights of places."""
        numbers = places.cpu().numpy()
        return batch.tensor(self._targets(numbers)), batch.weights(self.grown.weights, numbers)

    def validate(self) -> dict[str, float]:
        """The probe, and the objective on pairs of validation rows."""
        scores: dict[str, float] = {}
        if len(self.data.validation) > 1:
            scores["pairs"] = self._validation_pairs()
        if self.probe:
            scores |= self.probe.scores(self.encoder, self.sample)
        return scores

    def evaluation_parts(self) -> list[tuple[int, int]]:
        """Rows of the validation pairs and of the probe."""
        return [(min(len(self.data.validation), PAIRED_ROWS), 1), *self.probe.parts]

    def step_rows(self) -> float:
        """Explicit pairs have two texts, and hard negatives are encoded with the batch."""
        each = 2 if self.options.pairs == "explicit" or self.negatives is not None else 1
        return float(each * self.options.batch_size * self.options.accumulate)

    def _validation_pairs(self) -> float:
        rows = self.sample(self.data.validation[:PAIRED_ROWS])
        vectors = encode_rows(self.encoder, self.data.tokens, rows)
        targets = torch.from_numpy(self._targets_of(self.data.values[rows])).to(vectors.device)
        with torch.no_grad():
            return float(self.objective(vectors, targets, parameters=self.proxies))

    def facts(self) -> dict[str, float]:
        """Number of texts after the imbalance correction, with added class texts, and of pairs per epoch."""
        rows = self._plain if self.options.ce_weight else len(self.grown)
        return {"rows": float(rows), "pairs": float(self.pairs)}

    def notes(self) -> list[str]:
        """Whether the objective has no weight, what was added to the training rows, and the imbalance correction."""
        weight = self.options.ce_weight  # 0: there are only additional training texts, so nothing is without effect
        idle = weight_notes(self.name, self.objective, weight) if weight else []
        return [*idle, *self._correction(), *self._class_text_notes, *self._mining()]

    def _correction(self) -> list[str]:
        if self.options.balance.mode == "none":
            return []
        more = len(self.grown.rows) - len(self.data.train)
        if not more:
            return [f"{self.name}: the classes are balanced enough; no imbalance correction needed"]
        generated = "generated texts or " if self.options.balance.generate else ""
        return [f"{self.name}: the imbalance correction adds {more} {generated}noisy copies of rows of small classes"]

    def _mining(self) -> list[str]:
        if self.negatives is None:
            return []
        near, every = self.options.hard_negatives, self.options.refresh
        return [
            f"{self.name}: each text is trained with one of its {near} nearest texts of other classes, searched again "
            f"every {every} steps; a step takes up to twice as long"
        ]

    def _targets(self, places: np.ndarray) -> np.ndarray:
        return self._targets_of(self.grown.values[places])

    def _targets_of(self, values: np.ndarray) -> np.ndarray:
        """Targets of labels; with `agreement = "equal"` the codes of whole paths, which agree fully or not at all."""
        if self.options.agreement == "equal":
            return np.asarray(values, dtype=np.int64)
        return self.data.space.targets(values)


def _first_seen(near: Tensor, places: Tensor) -> Tensor:
    """Mask of the hard negatives that are new to the batch; those already in it are negatives for all rows anyway."""
    order = near.argsort(stable=True)
    again = torch.zeros_like(near, dtype=torch.bool)
    again[order[1:]] = near[order[1:]] == near[order[:-1]]
    return (near != NONE) & ~again & ~torch.isin(near, places)


def _agree(left: Tensor, right: Tensor, *, levels: bool) -> Tensor:
    """The agreement of targets; without `levels`, each is a single number."""
    return pair_agreement(left, right) if levels else pair_agreement(left[..., None], right[..., None])
