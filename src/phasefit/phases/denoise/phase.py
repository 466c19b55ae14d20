"""The denoise phase: training step and validation."""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from phasefit.data.batches import Batches, ShuffledBatches
from phasefit.errors import RecipeError
from phasefit.models.decoders.light import LightDecoder
from phasefit.models.decoders.tied import TiedDecoder
from phasefit.models.decoders.vae import Generator
from phasefit.models.encoder.dropout import set_dropout
from phasefit.models.encoder.encoder import sentence_vectors
from phasefit.models.encoder.inference import evaluating
from phasefit.models.encoder.sharing import add_up, turn
from phasefit.models.model import Model
from phasefit.models.tokens.noise import delete_words, mask_words
from phasefit.models.tokens.tokens import SPECIAL, Features, Tokens
from phasefit.phases.contract import Batch, Encoded, Phase, PhaseData, StepOutput, encoder_groups
from phasefit.phases.denoise.options import Options
from phasefit.phases.probe import Probe
from phasefit.seeds import derive, generator

VALIDATION_ROWS, AT_ONCE = 1000, 64


class Denoise(Phase):
    """Token cross-entropy of a decoder that sees only the vector of the noisy text. Labels are not used."""

    options: Options
    chooses_on_all_rows = False  # the probe is a sample in any case

    def __init__(self, name: str, options: Options, model: Model, data: PhaseData, seed: int) -> None:
        super().__init__(name, options, model, data, seed)
        if options.variant == "vae" and model.encoder.long == "windows":
            raise RecipeError(f"{name}: variant = 'vae' does not support windows; use --long head-tail")
        self.tokens = data.tokens.first(model.encoder.max_length)  # the decoder reconstructs at most one window
        if options.noise == "mask" and data.tokens.mask is None:
            raise RecipeError(f"{name}: noise = 'mask' needs a tokenizer with a mask token; use noise = 'delete'")
        if not (data.tokens.words != SPECIAL).any():
            raise RecipeError(f"{name}: the tokenizer finds no words in the texts, so there is nothing to denoise")
        self.encoder.append_dense(options.dense, derive(seed, name, "dense"))
        self.rows = np.concatenate([data.train, data.unlabelled])
        decoder_seed = derive(seed, name, "decoder")
        self.decoder: nn.Module
        if options.decoder == "tied":
            self.decoder = TiedDecoder(self.encoder, seed=decoder_seed)
        else:
            self.decoder = LightDecoder(self.encoder, *_in_use(self.tokens), seed=decoder_seed)
        if options.decoder_dropout is not None:
            set_dropout(self.decoder, options.decoder_dropout)
        self.generator: Generator | None = None
        if isinstance(self.decoder, LightDecoder) and options.variant == "vae":
            model.generator = self.generator = Generator(self.decoder, self.encoder.dimension)
        self._step = 0
        self.probe = Probe(data, seed)
        self.probe.check(name, options.watch)
        lengths = self.tokens.lengths[self.rows]
        self._batches = ShuffledBatches(self.rows, lengths, batch_size=options.batch_size, seed=derive(seed, name))

    @property
    def batches(self) -> Batches:
        """Batches of labelled and unlabelled texts."""
        return self._batches

    @property
    def watch(self) -> str:
        """The probe if there are labels: the loss keeps falling after the encoder has become worse."""
        chosen = self.options.watch
        return chosen if chosen != "auto" else ("probe" if self.probe else "loss")

    @property
    def starts_untrained(self) -> bool:
        """Whether a random layer was added to the encoder, which stays there; the decoder is discarded."""
        return self.options.dense == "paper"

    @property
    def gathers(self) -> bool:
        """True: the loss is weighted by the tokens of all processes."""
        return True

    def groups(self) -> dict[str, list[nn.Parameter]]:
        """Encoder, dense layers, and the decoder."""
        parts = encoder_groups(self.encoder)
        known = {id(parameter) for part in parts.values() for parameter in part}
        frozen = {id(parameter) for parameter in self.encoder.parameters()}
        decoder = self.decoder if self.generator is None else self.generator
        fresh = [p for p in decoder.parameters() if id(p) not in known | frozen]
        return {**parts, "decoder": fresh}

    def before_step(self, step: int) -> None:
        """Store the step, which sets the weight of the KL divergence."""
        self._step = step

    def encode(self, batch: Batch) -> Encoded:
        """Encode the noisy rows."""
        noised = batch.own_features(lambda rows: self._noised(rows, batch.generator))
        return {"vectors": sentence_vectors(self.encoder(batch.put(noised)))}

    def loss(self, encoded: Encoded, batch: Batch) -> StepOutput:
        """Reconstruction loss on the clean rows, and the KL divergence of a VAE."""
        rows, whole = batch.draw["rows"], batch.whole["rows"]
        clean = batch.put(self.tokens.batch(rows))
        weights = batch.weights(self.data.weights, rows)
        of_tokens = batch.scale(self._targets(rows), self._targets(whole))  # a process may have more of them per row
        if self.generator is None:
            return StepOutput(of_tokens * self.decoder(encoded["vectors"], clean, weights), {})
        reconstruction, kl = self.generator(encoded["vectors"], clean, weights)
        reconstruction, kl = of_tokens * reconstruction, batch.scale(len(rows), len(whole)) * kl
        return StepOutput(
            reconstruction + self._beta() * kl, {"reconstruction": reconstruction.detach(), "kl": kl.detach()}
        )

    def validate(self) -> dict[str, float]:
        """Reconstruction loss, with the same noise at every evaluation, and the probe."""
        scores = self.reconstruction()
        if self.probe:
            scores |= self.probe.scores(self.encoder, self.sample)
        return scores

    def evaluation_parts(self) -> list[tuple[int, int]]:
        """Reconstructed rows and rows of the probe."""
        return [self.reconstructed, *self.probe.parts]

    @property
    def reconstructed(self) -> tuple[int, int]:
        """The number of validation rows that are reconstructed, one text each."""
        return min(len(self.data.validation), VALIDATION_ROWS), 1

    def step_rows(self) -> float:
        """Labelled and unlabelled texts."""
        return float(min(self.options.batch_size, len(self.rows)) * self.options.accumulate)

    def reconstruction(self) -> dict[str, float]:
        """The loss on a sample of the validation rows."""
        rows = self.sample(self.data.validation[:VALIDATION_ROWS])
        if not len(rows):
            return {}
        random = generator(self.seed, self.name, "validation")
        device = next(self.parameters()).device
        rank, processes = turn(self.encoder)
        parts = [rows[start : start + AT_ONCE] for start in range(0, len(rows), AT_ONCE)]
        losses = torch.zeros(len(parts), device=device)
        with evaluating(self), torch.no_grad():
            for number, part in enumerate(parts):
                if number % processes == rank:
                    losses[number] = self(Batch({"rows": part}, random, device)).loss
                else:
                    self._noised(part, random)  # the noise of the next part comes after it
        total = sum(loss * len(part) for loss, part in zip(add_up(self.encoder, losses).tolist(), parts, strict=True))
        return {"loss": total / len(rows)}

    def facts(self) -> dict[str, float]:
        """Rows per epoch."""
        return {"rows": float(len(self.rows))}

    def _beta(self) -> float:
        """The current weight of the KL divergence; the full weight in validation, so that scores are comparable."""
        grown = min(self._step / self.options.beta_steps, 1.0) if self.training and self.options.beta_steps else 1.0
        return self.options.beta * grown

    def _targets(self, rows: np.ndarray) -> int:
        """The number of tokens that the decoder predicts: all but the first of each text."""
        return int(np.maximum(self.tokens.lengths[rows] - 1, 0).sum())

    def _noised(self, rows: np.ndarray, random: np.random.Generator) -> Features:
        add_noise = delete_words if self.options.noise == "delete" else mask_words
        return add_noise(self.tokens, rows, self.options.ratio, random)


def _in_use(tokens: Tokens) -> tuple[np.ndarray, int]:
    """The tokens that occur, and the length of the longest text."""
    return tokens.in_use(), int(tokens.lengths.max(initial=1))
