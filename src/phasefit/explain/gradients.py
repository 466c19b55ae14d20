"""Integrated gradients of an encoder and its head (Sundararajan et al., 2017), summed over the tokens of each word.

The path goes from the same text with every word replaced by a neutral token to the text itself. Special tokens and
prompts are the same at both ends and get no weight, so the weights of the words add up to the difference of the output
between the two ends.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from phasefit.data.labels import ScoreLabels
from phasefit.explain.captum_gradients import integrated_gradients
from phasefit.explain.reading import SPECIAL, ReadRow
from phasefit.explain.rows import cut_quietly
from phasefit.explain.targets import Task
from phasefit.kinds import kind_of
from phasefit.models.encoder.inference import evaluating
from phasefit.models.model import Model
from phasefit.models.tokens.rows import Rows

STEPS, FEWEST = 48, 12  # of the integration: for short texts, and for long ones
WORK = 48 * 64  # tokens times steps, about: longer texts get fewer steps
AT_ONCE = 2048  # tokens whose gradients are in memory together

_ONE_AT_A_TIME = threading.Lock()  # hooks and packing are settings of the model, which several threads may share


@dataclass(frozen=True)
class Attribution:
    """The weights (words,) of one output, and the output at both ends of the path."""

    weights: np.ndarray
    value: float
    neutral: float


class TokensDiffer(Exception):  # noqa: N818 - named after what happened
    """The tokens that were found for the words are not those that the model gets."""


def gradients(
    task: Task, row: ReadRow, texts: Any, codes: Sequence[int], *, steps: int | None = None
) -> list[Attribution]:
    """The weights of the words of one row for each of these outputs; `texts` is the row as the model gets it."""
    model = cast(Model, task.model)
    with _ONE_AT_A_TIME, evaluating(model), cut_quietly(), model.encoder.packing.off():
        tokens = model._rows([texts], model.head(task.name).pair)
        features = {name: value.to(model.device) for name, value in tokens.features(np.arange(1)).items()}
        lengths = tokens.tokens.lengths[tokens.index[0]]
        if [len(own) for own in row.tokens] != lengths.tolist():
            raise TokensDiffer
        path = _Path(model, task, tokens, features)
        neutral = path.embeddings(_neutral(features["input_ids"], row, model.encoder.tokenizer))
        own = path.embeddings(features["input_ids"])
        count = steps or int(np.clip(WORK // max(1, int(lengths.sum())), FEWEST, STEPS))
        at_once = max(1, AT_ONCE // max(1, features["input_ids"].numel()))
        found = []
        for code in codes:
            function = path.function(code)
            with torch.no_grad():
                ends = function(torch.cat([own, neutral])).tolist()
            by_token = integrated_gradients(function, own, neutral, steps=count, at_once=at_once).sum(dim=-1)
            weights = _by_word(path.as_sequences(by_token[0]).double().cpu().numpy(), row)
            found.append(Attribution(weights, *ends))
    return found


class _Path:
    """The model as a function of the embeddings of the tokens of one row."""

    def __init__(self, model: Model, task: Task, rows: Rows, features: dict[str, Tensor]) -> None:
        self._model, self._task, self._rows, self._features = model, task, rows, features

    def embeddings(self, ids: Tensor) -> Tensor:
        """The input embeddings (1, sequences, tokens, size) of these tokens; long texts have a sequence per window."""
        caught: list[Tensor] = []

        def catch(embeddings: Tensor) -> Tensor:
            caught.append(embeddings)
            return embeddings

        with torch.no_grad(), _hook(self._model, catch):
            self._model.encoder({**self._features, "input_ids": ids})
        return caught[0][None].detach()

    def function(self, code: int) -> Callable[[Tensor], Tensor]:
        """(n, sequences, tokens, size) embeddings -> (n,) log-odds or scores."""

        def value(embeddings: Tensor) -> Tensor:
            count = len(embeddings)
            features = {name: of.repeat(count, 1) for name, of in self._features.items()}
            with _hook(self._model, lambda _: embeddings.flatten(0, 1)):
                vectors = self._rows.vectors(self._model.encoder(features))
            return target_value(self._task, self._model.head(self._task.name)(vectors), code)

        return value

    def as_sequences(self, by_token: Tensor) -> Tensor:
        """(sequences or windows, tokens) -> (sequences, tokens): the windows of a text one after the other."""
        mask = self._features["attention_mask"]
        rows, width = mask.shape
        if by_token.shape == mask.shape:
            return by_token
        size = self._model.encoder.max_length
        count = -(-width // size)
        padded = torch.nn.functional.pad(mask, (0, count * size - width)).view(rows * count, size)
        used = padded.any(dim=1)
        joined = by_token.new_zeros(rows * count, size)
        joined[used, : by_token.shape[1]] = by_token
        return joined.view(rows, count * size)[:, :width]


def target_value(task: Task, logits: Tensor, code: int) -> Tensor:
    """The log-odds of a label or the score, (n,), from the outputs of a head (n, outputs)."""
    kind = kind_of(task.space)
    if kind.answer == "number":
        scale = cast(ScoreLabels, task.space)
        return logits[:, 0] * scale.spread + scale.mean
    scaled = logits / task.model.decision(task.name).temperature
    if kind.answer == "set" or scaled.shape[1] == 1:
        return scaled[:, code]
    others = [other for other in range(scaled.shape[1]) if other != code]
    return scaled[:, code] - scaled[:, others].logsumexp(dim=1)


def _neutral(ids: Tensor, row: ReadRow, tokenizer: Any) -> Tensor:
    """The tokens with those of words replaced by the padding token, which carries no meaning."""
    candidates = (tokenizer.pad_token_id, tokenizer.unk_token_id, tokenizer.mask_token_id)
    replacement = next((number for number in candidates if number is not None), 0)
    neutral = ids.clone()
    for sequence, tokens in enumerate(row.tokens):
        places = np.flatnonzero(tokens[:, 0] != SPECIAL)
        neutral[sequence, torch.from_numpy(places).to(ids.device)] = replacement
    return neutral


def _by_word(by_token: np.ndarray, row: ReadRow) -> np.ndarray:
    """The sum of the tokens of each word; a token of several words is divided among them. NaN if it is not read."""
    weights = np.zeros(len(row.words))
    for sequence, tokens in enumerate(row.tokens):
        for weight, (first, stop) in zip(by_token[sequence], tokens.tolist(), strict=False):
            if first != SPECIAL:
                weights[first:stop] += weight / (stop - first)
    weights[~row.read] = np.nan
    return weights


@contextmanager
def _hook(model: Model, change: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Apply `change` to the input embeddings that this thread computes while the block runs."""
    own = threading.get_ident()

    def hook(_: object, __: object, embeddings: Any) -> Any:
        return change(embeddings) if threading.get_ident() == own else None

    handle = model.encoder.transformer.get_input_embeddings().register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()
