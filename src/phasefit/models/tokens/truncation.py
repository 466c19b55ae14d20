"""Statistics of truncation: how many texts and tokens are cut off."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from phasefit.data.hygiene import Lengths, lengths
from phasefit.models.model import cut_sentence
from phasefit.models.tokens.tokens import Tokens


@dataclass(frozen=True)
class Truncation:
    """Lengths of texts in tokens (including special ones and the prompt) before truncation, and what is cut off."""

    limit: int
    texts: int
    cut: int  # texts that are longer than the limit
    tokens: int  # of all texts
    lost: int
    lengths: Lengths

    @property
    def lost_share(self) -> float:
        """The share of all tokens that are cut off."""
        return self.lost / max(self.tokens, 1)

    def sentence(self) -> str:
        """A summary for the user."""
        lengths = self.lengths
        summary = f"median {lengths.median:,g} tokens, 95 % up to {lengths.p95:,}, the longest {lengths.most:,}"
        if not self.cut:
            return f"no text is longer than {self.limit} tokens ({summary})"
        lost = f"{_percent(self.lost_share)} of all tokens are lost"
        return f"{cut_sentence(self.cut, self.texts, self.limit)}: {lost} ({summary})"

    def to_json(self) -> dict[str, Any]:
        """Plain data for `data.json`."""
        return {**asdict(self), "lost_share": round(self.lost_share, 6)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Truncation:
        """Read the output of `to_json`."""
        counts = {name: content[name] for name in ("limit", "texts", "cut", "tokens", "lost")}
        return cls(
            **counts, lengths=Lengths(**{field.name: content["lengths"][field.name] for field in fields(Lengths)})
        )


def truncation(tokens: Tokens, limit: int) -> Truncation:
    """The truncation of these texts (at least one) at `limit` tokens."""
    full = tokens.lengths + tokens.lost
    return Truncation(limit, len(tokens), tokens.cut, int(full.sum()), int(tokens.lost.sum()), lengths(full))


def _percent(share: float) -> str:
    return "under 0.1 %" if share < 0.001 else f"{share:.1%}".replace("%", " %")
