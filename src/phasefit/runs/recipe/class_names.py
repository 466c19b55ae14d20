"""Whether the names of the classes are similar enough to their texts to train with them. Imports torch late."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from phasefit.kinds import kind_of
from phasefit.models.encoder import locate
from phasefit.prepare.prepare import Prepared
from phasefit.seeds import generator

ENOUGH = 0.75  # of the accuracy that training rows reach; between the sets where names help and where they do not
MOST_ROWS = 512  # that are compared, drawn at random


@dataclass(frozen=True)
class NameScores:
    """The accuracy on training rows of an encoder that was not trained: by the nearest class name, and by the nearest
    mean of the other rows of each class."""

    names: float
    rows: float

    @property
    def help(self) -> bool:
        """Whether the names predict nearly as well as the rows."""
        return self.names >= ENOUGH * self.rows


def score_class_names(model: str | None, prepared: Prepared, seed: int) -> NameScores | None:
    """Compare the names of the classes with the training rows; None if a class has no name made of words."""
    from phasefit.phases.class_texts import readable

    space, table = prepared.space, prepared.train
    names = [readable(label) for label in space.classes]
    if kind_of(space).answer != "class" or table.labels is None or table.others or not all(names):
        return None
    rows = np.arange(len(table))
    if len(rows) > MOST_ROWS:
        rows = np.sort(generator(seed, "class-names").choice(rows, MOST_ROWS, replace=False))
    codes = prepared.codes(table)[rows]
    if (codes < 0).any() or len(np.unique(codes)) < 2:
        return None
    texts = _vectors(model, [*names, *(table.texts[row] for row in rows.tolist())])
    of_names, of_rows = texts[: len(names)], texts[len(names) :]
    by_name = (of_rows @ of_names.T).argmax(axis=1) == codes
    return NameScores(float(by_name.mean()), _by_others(of_rows, codes))


def _vectors(model: str | None, texts: Sequence[str]) -> np.ndarray:
    """Vectors of length 1 from the encoder that training starts from."""
    from torch.nn.functional import normalize

    from phasefit.models.encoder.inference import encode_rows
    from phasefit.models.storage import load_model

    encoder = load_model(locate.DEFAULT_MODEL if model is None else model, "cpu").encoder
    return np.asarray(normalize(encode_rows(encoder, encoder.tokenise(texts)), dim=1).numpy())


def _by_others(vectors: np.ndarray, codes: np.ndarray) -> float:
    """The share of rows that are nearest to the mean of the other rows of their class."""
    classes, own = np.unique(codes, return_inverse=True)
    sums = np.zeros((len(classes), vectors.shape[1]))
    np.add.at(sums, own, vectors)
    cosines = vectors @ _unit(sums).T
    places = np.arange(len(vectors))
    cosines[places, own] = (vectors * _unit(sums[own] - vectors)).sum(axis=1)  # 0 for the only row of a class
    return float((cosines.argmax(axis=1) == own).mean())


def _unit(vectors: np.ndarray) -> np.ndarray:
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.asarray(vectors / np.maximum(lengths, 1e-6))
