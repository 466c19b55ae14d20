"""`explain`, `deletion_test` and `nearest` of classifiers and regressors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from phasefit.errors import ModelError
from phasefit.estimators.base import TextEstimator
from phasefit.estimators.inputs import as_rows
from phasefit.parameter_names import python_errors

if TYPE_CHECKING:
    from phasefit.explain import DeletionTest, Explanation, Neighbour, TrainingVectors


class ExplainingEstimator(TextEstimator):
    """An estimator whose predictions can be explained."""

    @python_errors
    def explain(self, X: Sequence[Any], *, label: Any = None, method: str = "occlusion") -> list[Explanation]:
        """Return the words that mattered for each prediction.

        There is one explanation per text or, if a text can have several labels, one for each predicted label; its `row`
        is the position of the text. `words` has each word with its place and its weight: positive weights support the
        label, negative ones oppose it. Check them with `deletion_test`.

        Parameters
        ----------
        X
            Texts, or 2-tuples of texts for pairs.
        label
            The label to explain; None explains the predicted ones.
        method
            "occlusion" (leaves out one word at a time) or "gradients" (integrated gradients, needs the extra
            `explain`).
        """
        from phasefit.explain import explain_texts

        more: dict[str, Any] = {"label": label, "method": method, "batch_size": self.batch_size}
        return explain_texts(self._fitted(), as_rows(X), task=self.task_, **more)

    @python_errors
    def deletion_test(self, explanations: Sequence[Explanation], *, words: int | None = None) -> DeletionTest:
        """Delete the most important words, and as many random ones, and compare how far the predictions move.

        Parameters
        ----------
        explanations
            What `explain` returned.
        words
            How many words to delete; None deletes a fifth of the words of a usual text.
        """
        from phasefit.explain import deletion_test

        return deletion_test(self._fitted(), explanations, words=words, batch_size=self.batch_size)

    @python_errors
    def nearest(self, X: Sequence[Any], count: int = 3) -> list[tuple[Neighbour, ...]]:
        """Return the nearest training texts of each text with their labels, by the cosine of their embeddings.

        A loaded run reads its training data again; they must not have changed. At most 5,000 texts are compared. An
        exported folder contains its training texts if it was exported with --with-texts.

        Parameters
        ----------
        X
            Texts, or 2-tuples of texts for pairs.
        count
            How many training texts to return for each text.
        """
        rows = as_rows(X)
        if getattr(self, "_vectors", None) is None:
            self._vectors = self._training_vectors()
        neighbours: list[tuple[Neighbour, ...]] = self._vectors.nearest(rows, count)
        return neighbours

    def _training_vectors(self) -> TrainingVectors:
        """The training texts with their embeddings, from the data in memory or from the run."""
        from phasefit.explain import TrainingVectors

        model, source = self._fitted(), self._training_source()
        if source is None:
            raise ModelError("pickles and copies do not contain the training texts; load the run with phasefit.load")
        return TrainingVectors.of(model, source, self.task_, batch_size=self.batch_size)
