"""The geometry of a run: stored at the end of training, and measured again on another table.

Imports torch only to measure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from phasefit.data.equal_texts import are_among, same_text_hashes
from phasefit.data.positives import positives_of
from phasefit.data.table import Table
from phasefit.errors import ModelError, PhasefitError
from phasefit.metrics.calibration import confidence_entropy
from phasefit.metrics.geometry import geometry
from phasefit.runs.fitting.snapshots import BEFORE, Snapshots, some_of_each
from phasefit.runs.run import Run
from phasefit.seeds import generator

if TYPE_CHECKING:
    from phasefit.models.encoder.inference import Progress
    from phasefit.models.model import Model

Geometry = dict[str, dict[str, Any]]  # figures by stage, in order
MOST_TEXTS = 2000  # all pairs of them are compared
KEEP = "train with --keep-phases to save the encoder after each phase"
UNKNOWN_PAIRS = "unknown"  # the rule if the labels of pairs do not show which texts belong together
TRAINED = "trained"  # the only stage of a model saved without its phases


def run_geometry(snapshots: Snapshots | None, model: Model) -> Geometry:
    """The figures of each stage of a fit; those of the last stage include the confidence of the classifier."""
    if snapshots is None or not snapshots.vectors:
        return {}
    stages = {
        stage: geometry(vectors, snapshots.codes, snapshots.pairs(stage))
        for stage, vectors in snapshots.vectors.items()
    }
    last = list(stages)[-1]
    stages[last] |= _confidence(model, snapshots.vectors[last])
    return stages


def stored_geometry(run: Run) -> Geometry:
    """The geometry stored in the metrics of a finished run."""
    stages = run.metrics.get("geometry")
    if not stages:
        raise ModelError(
            f"the run in '{run.folder}' has no stored geometry; pass a table to measure it: "
            f"phasefit geometry {run.folder} DATA"
        )
    if not isinstance(stages, dict) or not all(isinstance(figures, dict) for figures in stages.values()):
        raise ModelError(
            f"'{run.folder / 'metrics.json'}' is damaged (geometry); pass a table to measure it again, or train again"
        )
    return stages


@dataclass(frozen=True)
class Sample:
    """The texts to measure, their classes (-1 without a label) and, for pairs, the texts that belong to some of them.

    `anchors` are the positions of the texts that have one; `rule` describes how labels of pairs decide it.
    """

    texts: list[str]
    codes: np.ndarray
    positives: list[str] = field(default_factory=list)
    anchors: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    rule: str = ""

    def __len__(self) -> int:
        return len(self.texts) + len(self.positives)

    @classmethod
    def of(cls, table: Table, most: int = MOST_TEXTS) -> Sample:
        """At most `most` rows of a table: a few of each class, the rest in proportion."""
        if table.others:
            return cls._of_pairs(table, most)
        codes = np.full(len(table), -1)
        if table.labels is not None:
            numbers: dict[Any, int] = {}
            codes = np.array([numbers.setdefault(label, len(numbers)) for label in table.labels], dtype=np.int64)
        rows = some_of_each(codes, most, generator(0, "geometry"))
        return cls([table.texts[row] for row in rows], codes[rows])

    @classmethod
    def _of_pairs(cls, table: Table, most: int) -> Sample:
        """Pairs of texts; if they have labels, only some of them belong together."""
        together, rule = np.ones(len(table), dtype=bool), ""
        if table.labels is not None:
            which = positives_of(table)
            rule = UNKNOWN_PAIRS if which is None else which.how
            together = np.isin(np.arange(len(table)), [] if which is None else which.rows(table))
        rows = some_of_each(together.astype(np.int64), most, generator(0, "geometry"))
        first, second = ([side[row] for row in rows] for side in table.sides[:2])
        anchors = np.flatnonzero(together[rows])
        return cls(first, np.full(len(rows), -1), [second[place] for place in anchors], anchors, rule)


def measure(
    run: Run,
    sample: Sample,
    *,
    warn: Callable[[str], None],
    counting: Callable[[str], AbstractContextManager[Progress | None]] = lambda stage: nullcontext(),
    device: str = "auto",
    batch_size: int = 64,
) -> Geometry:
    """The figures of a table for the model that a run started from, after each saved phase, and at the end.

    `warn` receives what is missing and why; `counting` returns the progress of a stage.
    """
    from phasefit.models.encoder.inference import encode_rows
    from phasefit.models.model import cut_sentence

    trained = run.model(device)
    tokens = trained.encoder.tokenise(
        [*sample.texts, *sample.positives]
    )  # once for all stages: truncation and prompt are those of the trained model
    if tokens.cut:
        warn(cut_sentence(tokens.cut, len(tokens), trained.encoder.reach))
    stages: Geometry = {}
    for stage, model in _stages(run, phases_of(run), trained, warn):
        if trained.encoder.long == "windows":  # the tokens are windows of its length
            model.encoder.max_length = trained.encoder.max_length
            model.encoder.set_long("windows")
        with counting(stage) as progress:
            both = encode_rows(model.encoder, tokens, batch_size=batch_size, progress=progress).cpu().numpy()
        vectors, positives = both[: len(sample.texts)], both[len(sample.texts) :]
        stages[stage] = geometry(
            vectors, sample.codes, (vectors[sample.anchors], positives) if len(positives) else None
        )
        if model is trained:
            stages[stage] |= _confidence(model, vectors)
    return stages


def trained_on(run: Run, sample: Sample) -> int:
    """The number of texts that the run was trained on."""
    texts = [*sample.texts, *sample.positives]
    return int(are_among(same_text_hashes(texts), run.trained_texts).sum())


def phases_of(run: Run) -> list[str]:
    """The names of a run's phases; none for a model that was saved from Python."""
    return [str(phase["name"]) for phase in run.metrics.get("phases", [])]


def _stages(run: Run, names: list[str], trained: Model, warn: Callable[[str], None]) -> Iterator[tuple[str, Model]]:
    """The models of a run by stage, loaded one at a time to save memory; the trained one comes last."""
    from phasefit.models.storage import load_model

    device = str(trained.device)
    start = str(run.manifest.get("went_on_from") or run.manifest.get("model") or "")
    try:
        first = load_model(start, device)
    except PhasefitError as error:
        warn(f"the model that the run started from is skipped: {error}")
    else:
        if _has_same_tokens(first, trained, warn):
            yield BEFORE, first
        del first
    kept = {name: folder for name in names[:-1] if (folder := run.kept_phase(name)) is not None}
    for name, folder in kept.items():
        yield name, load_model(folder, device)
    lost = [name for name in names[:-1] if name not in kept]
    if lost:
        were = "encoder after {} was" if len(lost) == 1 else "encoders after {} were"
        warn(f"the {were.format(listed(lost))} not saved; {KEEP}")
    yield names[-1] if names else TRAINED, trained


def _has_same_tokens(model: Model, trained: Model, warn: Callable[[str], None]) -> bool:
    """Whether two models have the same vocabulary: the old name may refer to another model by now."""
    if model.encoder.tokenizer.get_vocab() == trained.encoder.tokenizer.get_vocab():
        return True
    warn(f"'{model.encoder.name}' is skipped: it is no longer the model that the run started from")
    return False


def _confidence(model: Model, vectors: np.ndarray) -> dict[str, float]:
    """The entropy of the classifier's probabilities and its maximum; empty without a classifier of single texts."""
    from torch import from_numpy

    from phasefit.kinds import kind_of
    from phasefit.models.model import TASK

    if TASK not in model.heads or kind_of(model.space).answer != "class" or model.head().pair is not None:
        return {}
    outputs = model.outputs(from_numpy(vectors).to(model.device))
    return {"confidence_entropy": confidence_entropy(outputs), "most_entropy": float(np.log2(outputs.shape[1]))}


def listed(names: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
