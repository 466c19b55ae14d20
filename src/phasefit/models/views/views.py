"""Views put to work: the rows of a batch as an encoder takes them, and its output."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from phasefit.errors import RecipeError
from phasefit.models.encoder.adversarial import adversarial_output
from phasefit.models.encoder.encoder import Encoder
from phasefit.models.tokens.tokens import Features, Tokens
from phasefit.models.views.adversarial import Adversarial
from phasefit.models.views.contract import View


class Views:
    """Views in order, over one encoder. Without any that changes a text, stored tokens are used as they are."""

    def __init__(self, views: Sequence[View], encoder: Encoder, *, where: str) -> None:
        self._notes = [f"{where}: view '{view.name}': {note}" for view in views for note in view.notes()]
        mask = encoder.tokenizer.mask_token
        for view in views:
            if view.needs_mask and mask is None:
                raise RecipeError(
                    f"{where}: view '{view.name}' needs a tokenizer with a mask token, and that of '{encoder.name}' "
                    "has none; use another view or model"
                )
        shifts = [view for view in views if isinstance(view, Adversarial)]
        if len(shifts) > 1:
            raise RecipeError(f"{where}: view 'adversarial' is named twice; once is all it takes")
        if shifts and encoder.long == "windows":
            raise RecipeError(f"{where}: view 'adversarial' does not work on texts in windows; use --long head-tail")
        self.adversarial: Adversarial | None = shifts[0] if shifts else None
        self._written = [view for view in views if view.changes_text]
        self._mask = mask or ""
        self._encoder = encoder
        self._tokenise = encoder.tokeniser() if self._written else None

    @property
    def changes_text(self) -> bool:
        """Whether texts are written anew, and tokenised again, at every step."""
        return bool(self._written)

    def notes(self) -> list[str]:
        """Sentences worth telling before training starts."""
        return self._notes

    def texts(self, texts: Sequence[str], random: np.random.Generator) -> list[str]:
        """The texts as they look in this view, drawn one after the other."""
        changed = list(texts)
        for view in self._written:
            changed = [view.text(text, random, self._mask) for text in changed]
        return changed

    def features(self, texts: Sequence[str], tokens: Tokens, rows: np.ndarray, random: np.random.Generator) -> Features:
        """The rows of a table in this view; `texts` and their stored `tokens` are those of the whole table."""
        if self._tokenise is None:
            return tokens.batch(rows)
        drawn = self._tokenise(self.texts([texts[row] for row in rows.tolist()], random))
        return drawn.batch(np.arange(len(rows)))

    def output(self, features: Features) -> Features:
        """The encoder's output for features on its device; shifted, and at three times the cost, if adversarial."""
        if self.adversarial is None:
            out: Features = self._encoder(features)
            return out
        return adversarial_output(self._encoder, features, epsilon=self.adversarial.epsilon, xi=self.adversarial.xi)
