"""Train the contrast of `few-shot` and keep vectors of the encoder at several shares of the trained weights.

Used by `blend.py`. Rows come from the training split only: some train, others are scored, test rows are never read.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from phasefit.models.model import Model
    from phasefit.phases.contract import PhaseData

SHARES = (0.0, 0.3, 0.5, 0.7, 1.0)  # of the trained weights
PER_CLASS, SCORED = 8, 500
HELD = 2  # rows of each class that validate, if validation is used
HEAD = {  # the head of `few-shot` before heads could be solved
    **{"freeze": True, "head": "cosine", "dropout": 0.0, "epochs": 20, "min_steps": 200, "max_steps": 1000},
    **{"batch_size": 64, "lr": 1e-2, "warmup": 0.0, "weight_decay": 0.0, "ridge": 0.3},
}


@dataclass(frozen=True)
class Draw:
    """The vectors of one draw of rows by share, (rows, dimension), and the labels as codes."""

    codes: np.ndarray
    train: np.ndarray  # places of rows
    validation: np.ndarray
    scored: np.ndarray
    vectors: dict[float, np.ndarray]
    outputs: np.ndarray  # of today's head on the scored rows: probabilities
    seconds: float  # CPU seconds of contrast

    def save(self, path: Path) -> None:
        """Write everything to one file."""
        vectors = {f"share {share}": value for share, value in self.vectors.items()}
        rows = {"train": self.train, "validation": self.validation, "scored": self.scored}
        np.savez(path, codes=self.codes, outputs=self.outputs, seconds=self.seconds, **rows, **vectors)

    @classmethod
    def load(cls, path: Path) -> Draw:
        """Read what `save` wrote."""
        with np.load(path) as file:
            vectors = {float(name.split()[1]): file[name] for name in file.files if name.startswith("share ")}
            rows = (file[name] for name in ("codes", "train", "validation", "scored"))
            return cls(*rows, vectors, file["outputs"], float(file["seconds"]))


def draw_rows(data: str, seed: int, validate: bool) -> tuple[list[str], list[str], list[np.ndarray]]:
    """The texts and labels of a draw, and the places that train, validate and are scored."""
    from phasefit.data import few_shot, read_dataset
    from phasefit.seeds import generator

    table = read_dataset(data).train
    names = [str(label) for label in table.labels or ()]
    codes = np.unique(names, return_inverse=True)[1]
    random = generator(seed, "blend", data)
    taken = few_shot(codes, PER_CLASS, seed)
    rest = np.setdiff1d(np.arange(len(codes)), taken)
    scored = np.sort(random.permutation(rest)[:SCORED])
    held = np.zeros(len(taken), dtype=bool)
    if validate:
        for code in np.unique(codes[taken]):
            own = np.flatnonzero(codes[taken] == code)
            held[random.permutation(own)[: HELD if len(own) >= 2 * HELD else 0]] = True
    rows = np.concatenate([taken[~held], taken[held], scored])
    places = np.split(np.arange(len(rows)), np.cumsum([(~held).sum(), held.sum()]))
    return [table.texts[row] for row in rows], [names[row] for row in rows], places


def make_draw(data: str, seed: int, validate: bool) -> Draw:
    """Train once and encode all rows at every share."""
    import torch

    from phasefit.data.labels import label_space
    from phasefit.models.encoder.encoder import load_encoder
    from phasefit.models.encoder.inference import encode_rows
    from phasefit.models.model import Model
    from phasefit.phases.contract import PhaseData
    from phasefit.phases.finetune.options import Options
    from phasefit.recipes import read_recipe

    texts, labels, (train, validation, scored) = draw_rows(data, seed, validate)
    model = Model(load_encoder())
    space = label_space([labels[place] for place in train])
    codes = space.encode(labels)
    rows = PhaseData(texts, model.encoder.tokenise(texts), codes, space, train, validation, train[:0])
    before = {name: value.detach().clone() for name, value in model.encoder.named_parameters()}
    started = time.process_time()
    contrast = read_recipe("few-shot").phases[0]
    contrast = contrast.model_copy(update={"blend": 1.0} if "blend" in type(contrast).model_fields else {})
    train_one("contrast", contrast, model, rows, seed)
    seconds = time.process_time() - started
    after = {name: value.detach().clone() for name, value in model.encoder.named_parameters()}
    train_one("finetune", Options(**HEAD), model, rows, seed)
    vectors: dict[float, np.ndarray] = {}
    for share in reversed(SHARES):
        with torch.no_grad():
            for name, value in model.encoder.named_parameters():
                value.copy_(torch.lerp(before[name], after[name], share))
        vectors[share] = encode_rows(model.encoder, rows.tokens).numpy()
    outputs = model.outputs(torch.from_numpy(vectors[1.0][scored]))
    return Draw(codes, train, validation, scored, vectors, outputs, seconds)


def train_one(name: str, options: Any, model: Model, rows: PhaseData, seed: int) -> None:
    """Run one phase on the CPU."""
    from phasefit.training.device import make_accelerator
    from phasefit.training.loop import train_phase

    phase = options.phase_class()(name, options, model, rows, seed)
    for _ in train_phase(phase, make_accelerator("cpu", "no"), seed=seed):
        pass
