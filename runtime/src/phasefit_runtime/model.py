"""A Model: an exported folder that answers."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from phasefit_runtime.batches import BATCH_ROWS, BATCH_TOKENS, batches
from phasefit_runtime.engine import Engine, load_engine
from phasefit_runtime.errors import ExportError, InputError, TextsCut
from phasefit_runtime.files import AGAIN, check_rest, read_checked
from phasefit_runtime.labels import LONE_SURROGATE, Class, Label
from phasefit_runtime.manifest import EMBEDDING, ENGINES, TOKENIZER, WINDOWS, Manifest, Task, read_manifest
from phasefit_runtime.tokens import Tokeniser, Tokens

Texts: TypeAlias = Sequence[str] | Sequence[tuple[str, str]]
Progress: TypeAlias = Callable[[int], None]


def load(folder: str | os.PathLike[str], threads: int | None = None) -> Model:
    """Load a folder that `phasefit export` wrote.

    Parameters
    ----------
    folder
        The exported folder. The size and the sha256 of its files are compared with its manifest.
    threads
        The number of CPU threads; by default, as many as the machine has cores.
    """
    if threads is not None and (isinstance(threads, bool) or threads < 1):
        raise InputError(f"threads must be at least 1, not {threads}")
    path = Path(folder).expanduser()
    manifest = read_manifest(path)
    tokeniser = Tokeniser(read_checked(path, TOKENIZER, manifest.files), manifest.tokens)
    engine = load_engine(path, manifest, threads)
    check_rest(path, manifest.files, {TOKENIZER, *ENGINES[manifest.engine]})
    return Model(path, manifest, tokeniser, engine)


class Model:
    """Predicts labels, probabilities, scores and embeddings; may be used by several threads at once."""

    def __init__(self, folder: Path, manifest: Manifest, tokeniser: Tokeniser, engine: Engine) -> None:
        self.folder, self.manifest = folder, manifest
        self.on_cut: Callable[[str], None] = _warn
        self._tokeniser, self._engine = tokeniser, engine
        self._even = any(task.pair for task in manifest.tasks.values())  # its graph joins each two texts of a batch

    @property
    def engine(self) -> Engine:
        """The loaded graph."""
        return self._engine

    @property
    def tasks(self) -> list[str]:
        """The names of its tasks; empty if it only embeds."""
        return list(self.manifest.tasks)

    def labels(self, task: str | None = None) -> list[Class]:
        """The classes of a task, in the order of the probabilities; the levels of a scale; empty for numbers."""
        labels = self.task(task).labels
        return list(labels.classes or labels.levels)

    def task(self, name: str | None = None) -> Task:
        """A task by its name; without a name, the only one."""
        tasks = self.manifest.tasks
        if name is not None and name in tasks:
            return tasks[name]
        if not tasks:
            raise InputError("this model has no classifier: it only embeds")
        if name is None and len(tasks) == 1:
            return next(iter(tasks.values()))
        unknown = "this model has several tasks" if name is None else f"this model has no task '{name}'"
        raise InputError(f"{unknown}; choose one of {', '.join(tasks)}")

    def predict(
        self,
        texts: Texts,
        task: str | None = None,
        reject_below: float | None = None,
        *,
        batch_size: int = BATCH_ROWS,
        progress: Progress | None = None,
    ) -> list[Label | None]:
        """The label of each text or pair: a class, a path, a set of classes, a score or a level.

        Parameters
        ----------
        texts
            A list of texts, or of pairs of texts (tuples of two) if the task compares texts.
        task
            The name of the task; not needed if there is only one.
        reject_below
            Withhold less probable answers (None); by default, the threshold that the run was trained with.
        batch_size
            The most texts or pairs that are computed at once.
        progress
            Called with the number of texts or pairs that have been answered since the last call.
        """
        labels = self.task(task).labels
        if reject_below is not None:
            labels.answers(np.empty((0, labels.outputs)), reject_below)  # refuses a wrong value before computing
        return labels.answers(self.predict_outputs(texts, task, batch_size=batch_size, progress=progress), reject_below)

    def predict_proba(
        self, texts: Texts, task: str | None = None, *, batch_size: int = BATCH_ROWS, progress: Progress | None = None
    ) -> np.ndarray:
        """The calibrated probabilities (n, classes), columns in the order of `labels`."""
        if self.task(task).labels.kind == "score":
            raise InputError("this task predicts scores, which have no probabilities; use predict")
        return self.predict_outputs(texts, task, batch_size=batch_size, progress=progress)

    def predict_outputs(
        self,
        texts: Texts,
        task: str | None = None,
        *,
        batch_size: int = BATCH_ROWS,
        max_tokens: int = BATCH_TOKENS,
        progress: Progress | None = None,
    ) -> np.ndarray:
        """The probabilities (n, classes) or scores (n, 1).

        A batch has at most `batch_size` texts or pairs and, unless it has only one, at most `max_tokens` tokens.
        """
        head = self.task(task)
        places, distinct = _distinct(_checked(texts, head.pair is not None))
        rows = self._run(
            head.output, head.labels.outputs, distinct, places, head.pair, batch_size, max_tokens, progress
        )
        return np.asarray(rows[places], dtype=np.float64)

    def embed(
        self,
        texts: Sequence[str],
        *,
        batch_size: int = BATCH_ROWS,
        max_tokens: int = BATCH_TOKENS,
        progress: Progress | None = None,
    ) -> np.ndarray:
        """The embeddings of texts, (n, dimension) float32."""
        places, distinct = _distinct(_checked(texts, False))
        size = self.manifest.dimension
        vectors = self._run(EMBEDDING, size, distinct, places, None, batch_size, max_tokens, progress)
        return np.asarray(vectors[places])

    def token_counts(self, texts: Texts, task: str | None = None) -> list[int]:
        """The number of tokens of each text or pair that the model reads."""
        pair = self.task(task).pair if self.manifest.tasks else None
        tokens, each = self._tokens(_checked(texts, pair is not None), pair)
        return [int(count) for count in tokens.counts.reshape(-1, each).sum(axis=1)]

    def read_file(self, name: str) -> bytes:
        """The content of a file of the folder, compared with its checksum; e.g. `texts.jsonl`."""
        return read_checked(self.folder, name, self.manifest.files)

    def _run(
        self,
        output: str,
        size: int,
        rows: list[Any],
        places: np.ndarray,
        pair: str | None,
        batch_size: int,
        max_tokens: int,
        progress: Progress | None,
    ) -> np.ndarray:
        """An output of the graph, (rows, size); `places` are where the results of the rows are needed."""
        if batch_size < 1 or max_tokens < 1:
            raise InputError(f"batch_size and max_tokens must be at least 1, not {batch_size} and {max_tokens}")
        results = np.empty((len(rows), size), dtype=np.float32)
        if not rows:
            return results
        tokens, each = self._tokens(rows, pair)
        widths, windows = (part.reshape(-1, each).max(axis=1) for part in (tokens.widths, tokens.windows))
        self._report_cut(tokens, each, places, pair)
        copies = np.bincount(places, minlength=len(rows)) if progress is not None else None
        for batch, count in batches(widths, windows, each, batch_size, max_tokens):
            texts = (batch[:, None] * each + np.arange(each)).ravel()
            results[batch] = self._batch(output, size, tokens, texts, count, each)[: len(batch)]
            if progress is not None and copies is not None:
                progress(int(copies[batch].sum()))
        return results

    def _batch(self, output: str, size: int, tokens: Tokens, texts: np.ndarray, windows: int, each: int) -> np.ndarray:
        if self._even and len(texts) % 2:
            texts = np.append(texts, texts[-1])
        rules = self.manifest.tokens
        sequences = tokens.first[texts][:, None] + np.arange(windows)
        sequences = np.where(sequences < tokens.first[texts + 1][:, None], sequences, -1).ravel()
        ids, mask = tokens.padded(sequences, rules.pad)
        feeds = {"input_ids": ids, "attention_mask": mask}
        if "token_type_ids" in rules.inputs:
            feeds["token_type_ids"] = np.zeros_like(ids)
        if rules.long == "windows":
            feeds[WINDOWS] = np.array(windows, dtype=np.int64)
        result = self._engine.run(output, feeds)
        expected = (len(texts) // each, size)
        if result.shape != expected:
            raise ExportError(f"the model returned an array of shape {result.shape} instead of {expected}; {AGAIN}")
        if result.dtype.kind != "f" or not np.isfinite(result).all():
            raise ExportError(f"the model returned values that are not finite numbers; {AGAIN}")
        return result

    def _tokens(self, rows: list[Any], pair: str | None) -> tuple[Tokens, int]:
        """The tokens of texts or pairs, and how many sequences each has: both orders of a pair that is read at once."""
        if pair is None:
            return self._tokeniser.texts(rows), 1
        if pair == "together":
            return self._tokeniser.pairs([order for one, other in rows for order in ((one, other), (other, one))]), 2
        return self._tokeniser.texts([text for row in rows for text in row]), 2

    def _report_cut(self, tokens: Tokens, each: int, places: np.ndarray, pair: str | None) -> None:
        if not tokens.cut.any():
            return
        cut, rules = tokens.cut.reshape(-1, each), self.manifest.tokens
        number, total, what, longest = int(cut[places].sum()), len(places) * each, "texts", rules.reach
        if pair == "together":
            number, total, what, longest = int(cut[places].max(axis=1).sum()), len(places), "pairs", rules.max_length
        self.on_cut(f"{number:,} of {total:,} {what} are longer than {longest} tokens and are cut")


def _checked(texts: Any, pairs: bool) -> list[Any]:
    """The texts or pairs as a list; an InputError names the first row of another form."""
    if isinstance(texts, str):
        raise TypeError("give a list of texts, not one string")
    rows = list(texts)
    for row, text in enumerate(rows, start=1):
        is_pair = isinstance(text, tuple | list)
        if is_pair and not pairs:
            raise InputError(f"row {row} is a text pair, but this model expects single texts")
        if pairs and not (is_pair and len(text) == 2):
            raise InputError(f"row {row} is not a pair; this model expects text pairs, given as tuples of two")
        for part in text if is_pair else (text,):
            if not isinstance(part, str):
                raise InputError(f"text {row} is not a string: {part!r:.100}")
            if not part.isascii() and LONE_SURROGATE.search(part):
                raise InputError(f"text {row} contains a lone surrogate (an incomplete character); remove it")
    return [tuple(row) for row in rows] if pairs else rows


def _distinct(rows: Iterable[Any]) -> tuple[np.ndarray, list[Any]]:
    """The place of each row among the distinct rows, and these."""
    known: dict[Any, int] = {}
    places = [known.setdefault(row, len(known)) for row in rows]
    return np.array(places, dtype=np.int64), list(known)


def _warn(sentence: str) -> None:
    warnings.warn(sentence, TextsCut, stacklevel=5)
