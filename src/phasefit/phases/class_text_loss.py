"""Cross-entropy that assigns texts to class texts: both are vectors of the same encoder, compared by their cosines."""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import normalize

from phasefit.objectives.contract import weighted_mean

TEMPERATURE = 0.1  # of the cosines
COMPARED = 64  # class texts that each text of a batch is compared with; all if there are fewer, more if it has more


def class_text_loss(vectors: Tensor, texts: Tensor, agreement: Tensor, weights: Tensor | None) -> Tensor:
    """(n, d) vectors, (c, d) of class texts, (n, c) agreement of their labels, (n,) weights of the rows -> scalar.

    A row is assigned to the class texts that its label agrees with most: its own class, not siblings in a tree, or all
    of its labels in equal parts. A row whose label has no text is left out.
    """
    most = agreement.amax(dim=1, keepdim=True)
    used = most[:, 0] > 0
    if not used.any():
        return vectors.sum() * 0.0
    own = (agreement[used] == most[used]).to(vectors.dtype)
    cosines = normalize(vectors[used], dim=1) @ normalize(texts, dim=1).T
    log_prob = (cosines / TEMPERATURE).log_softmax(dim=1)
    losses = -(own * log_prob).sum(dim=1) / own.sum(dim=1)
    return weighted_mean(losses, None if weights is None else weights[used])
