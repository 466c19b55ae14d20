"""What cutting texts at the longest length costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from phasefit.data.hygiene import Lengths, lengths
from phasefit.models.model import cut_sentence
from phasefit.models.tokens.tokens import Tokens


@dataclass(frozen=True)
class Truncation:
    """How long texts are in tokens (special ones and the prompt included) before they are cut, and what is cut off."""

    limit: int
    texts: int
    cut: int  # texts that are longer
    tokens: int  # of all texts
    lost: int
    lengths: Lengths

    @property
    def lost_share(self) -> float:
        """The share of all tokens that no model sees."""
        return self.lost / max(self.tokens, 1)

    def sentence(self) -> str:
        """What a user is told."""
        known = self.lengths
        long = f"median {known.median:,g} tokens, 95 % up to {known.p95:,}, the longest {known.most:,}"
        if not self.cut:
            return f"no text is longer than {self.limit} tokens ({long})"
        lost = f"{_percent(self.lost_share)} of all tokens are lost"
        return f"{cut_sentence(self.cut, self.texts, self.limit)}: {lost} ({long})"

    def to_json(self) -> dict[str, Any]:
        """Plain data for `data.json`."""
        return {**asdict(self), "lost_share": round(self.lost_share, 6)}

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> Truncation:
        """What `to_json` gave."""
        fields = {name: value for name, value in content.items() if name != "lost_share"}
        return cls(**{**fields, "lengths": Lengths(**fields["lengths"])})


def truncation(tokens: Tokens, limit: int) -> Truncation:
    """What was cut off these texts (at least one), which end at this many tokens."""
    whole = tokens.lengths + tokens.lost
    return Truncation(limit, len(tokens), tokens.cut, int(whole.sum()), int(tokens.lost.sum()), lengths(whole))


def _percent(share: float) -> str:
    return "under 0.1 %" if share < 0.001 else f"{share:.1%}".replace("%", " %")
