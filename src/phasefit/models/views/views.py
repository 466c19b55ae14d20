"""Views applied to a batch: the input features of an encoder and its output."""

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
    """Views in order, for one encoder. If none of them changes texts, the stored tokens are used."""

    def __init__(self, views: Sequence[View], encoder: Encoder, *, where: str) -> None:
        self._views, self._where = tuple(views), where
        mask = encoder.tokenizer.mask_token
        for view in views:
            if view.needs_mask and mask is None:
                raise RecipeError(
                    f"{where}: view '{view.name}' needs a mask token, and the tokenizer of '{encoder.name}' has none; "
                    "use another view or model"
                )
        shifts = [view for view in views if isinstance(view, Adversarial)]
        if len(shifts) > 1:
            raise RecipeError(f"{where}: view 'adversarial' is listed twice; remove one")
        if shifts and encoder.long == "windows":
            raise RecipeError(f"{where}: view 'adversarial' does not support --long windows; use --long head-tail")
        self.adversarial: Adversarial | None = shifts[0] if shifts else None
        self._text_views = [view for view in views if view.changes_text]
        self._mask = mask or ""
        self._encoder = encoder
        self._tokenise = encoder.tokeniser() if self._text_views else None

    @property
    def changes_text(self) -> bool:
        """Whether texts are changed and tokenised again at every step."""
        return bool(self._text_views)

    def notes(self, texts: Sequence[str] = ()) -> list[str]:
        """Notes to print before training starts, also about the training texts if they are given."""
        by_view = [(view.name, [*view.notes(), *view.text_notes(texts)]) for view in self._views]
        return [f"{self._where}: view '{name}': {note}" for name, notes in by_view for note in notes]

    def texts(self, texts: Sequence[str], random: np.random.Generator) -> list[str]:
        """The augmented texts, sampled one after the other."""
        changed = list(texts)
        for view in self._text_views:
            changed = [view.text(text, random, self._mask) for text in changed]
        return changed

    def features(
        self,
        texts: Sequence[str],
        tokens: Tokens,
        rows: np.ndarray,
        random: np.random.Generator,
        only: slice = slice(None),
    ) -> Features:
        """The augmented rows of a table; `texts` and the stored `tokens` are those of the whole table.

        All rows are augmented, and those at the places `only` are returned.
        """
        if self._tokenise is None:
            return tokens.batch(rows[only])
        changed = self._tokenise(self.texts([texts[row] for row in rows.tolist()], random)[only])
        return changed.batch(np.arange(len(changed)))

    def output(self, features: Features) -> Features:
        """The encoder's output for features on its device; with an adversarial shift it costs three times as much."""
        if self.adversarial is None:
            out: Features = self._encoder(features)
            return out
        return adversarial_output(self._encoder, features, epsilon=self.adversarial.epsilon, xi=self.adversarial.xi)
