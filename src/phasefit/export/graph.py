"""The exported graph as a torch module: from token ids to embeddings and the calibrated outputs of every task."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import normalize

from phasefit.errors import ModelError
from phasefit.kinds import kind_of
from phasefit.models.model import Model

KINDS = ("single", "multi", "tree", "score")  # that phasefit-runtime reads
EMBEDDING = "embedding"
INPUTS = ("input_ids", "attention_mask")
WINDOWS = "windows"
TEXTS, LENGTH, EXAMPLE_WINDOWS = 4, 7, 2  # of the example: no size is 1, which tracing would take for a constant


class Graph(nn.Module):
    """Encoder, heads and calibration; equals `Model.embed` and `Model.predict_outputs`."""

    def __init__(self, model: Model) -> None:
        super().__init__()
        self.encoder = model.encoder
        self.heads = nn.ModuleList([model.head(task) for task in model.heads])
        self.spaces = [model.space_of(task) for task in model.heads]
        self.decisions = [model.decision(task) for task in model.heads]
        for space in self.spaces:
            if space.kind not in KINDS:
                raise ModelError(f"labels of kind '{space.kind}' cannot be exported; the kinds are {', '.join(KINDS)}")
        self.in_windows = model.encoder.long == "windows"

    @property
    def inputs(self) -> list[str]:
        """The names of the inputs."""
        return [*INPUTS, *([WINDOWS] if self.in_windows else [])]

    @property
    def outputs(self) -> list[str]:
        """The names of the outputs."""
        return [EMBEDDING, *(f"outputs_{place}" for place in range(len(self.heads)))]

    def forward(self, input_ids: Tensor, attention_mask: Tensor, windows: Tensor | None = None) -> tuple[Tensor, ...]:
        """The embeddings of the texts, then the outputs of each head; texts 2i and 2i + 1 are a pair."""
        first, *rest = self.encoder.layers
        features: dict[str, Any] = first({"input_ids": input_ids, "attention_mask": attention_mask})
        if windows is not None:
            states = features["token_embeddings"]
            width = windows * states.shape[1]
            features["token_embeddings"] = states.reshape(-1, width, states.shape[2])
            features["attention_mask"] = attention_mask.reshape(-1, width)
        for layer in rest:
            features = layer(features)
        vectors = features["sentence_embedding"]
        embedding = normalize(vectors, dim=1) if self.encoder.normalizes else vectors
        return (embedding, *(self._outputs(place, vectors) for place in range(len(self.heads))))

    def _outputs(self, place: int, vectors: Tensor) -> Tensor:
        head, space, decision = self.heads[place], self.spaces[place], self.decisions[place]
        if head.pair is not None:
            vectors = vectors.reshape(-1, 2 * self.encoder.dimension)
        logits, kind = head(vectors), kind_of(space)
        if decision.temperature == 1:
            return kind.activation(logits, space)
        if decision.thresholds or space.kind in ("single", "tree"):
            return kind.activation(logits / decision.temperature, space)
        tempered = kind.activation(logits, space).clamp_min(torch.finfo(torch.float32).tiny).log()
        return (tempered / decision.temperature).softmax(dim=1)

    def example(self) -> tuple[Tensor, ...]:
        """A batch to trace the graph with: texts of different lengths."""
        rows = TEXTS * (EXAMPLE_WINDOWS if self.in_windows else 1)
        ids = torch.arange(1, rows * LENGTH + 1).reshape(rows, LENGTH) % (self._vocabulary - 1)
        mask = (torch.arange(LENGTH) < torch.arange(rows)[:, None] % (LENGTH - 1) + 2).long()
        return (ids, mask, *([torch.tensor(EXAMPLE_WINDOWS)] if self.in_windows else []))

    @property
    def _vocabulary(self) -> int:
        return max(int(self.encoder.transformer.get_input_embeddings().num_embeddings), 2)


@contextmanager
def eager_attention(model: Model) -> Iterator[None]:
    """Attention written out as products and a softmax, which ONNX Runtime fuses best, on the CPU in float32."""
    transformer = model.encoder.transformer
    before = getattr(transformer.config, "_attn_implementation", None)
    with model.encoder.packing.off():
        if before not in (None, "eager"):
            transformer.set_attn_implementation("eager")
        try:
            yield
        finally:
            if before not in (None, "eager"):
                transformer.set_attn_implementation(before)
