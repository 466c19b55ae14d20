"""What `phasefit.json` and `metrics.json` of a run contain, checked once when the run is opened. Imports no torch."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from phasefit.errors import ModelError
from phasefit.files.checked import Count, Document, Finite, Number, checked

AGAIN = "train or save the model again"
Scores = dict[str, Number | None]


class ColumnFacts(Document):
    """The columns that a table was read from."""

    text: str
    labels: list[str] = Field(default_factory=list)
    others: list[str] = Field(default_factory=list)
    levels: list[str] | None = None
    tree: str | None = None
    separator: str | None = None


class TableFacts(Document):
    """How a table was read."""

    columns: ColumnFacts | None = None
    kind: str | None = None


class DataFacts(TableFacts):
    """The tables of a run, by task if there are several."""

    tasks: dict[str, TableFacts] | None = None


class HeadFacts(Document):
    """The configuration of a head; `models.heads` checks its sizes."""

    kind: Literal["mlp", "linear", "cosine", "paper", "tfidf"]
    dimension: Count
    classes: Count
    dropout: Finite
    pair: Literal["uv", "uv_diff_prod", "cosine", "together"] | None = None


class RunFacts(Document):
    """The entries of a manifest that phasefit reads."""

    heads: dict[str, HeadFacts] = Field(default_factory=dict)
    decisions: dict[str, dict[str, Any]] = Field(default_factory=dict)
    data: DataFacts | None = None
    model: str | None = None
    recipe: str | None = None
    settings: dict[str, Any] | None = None
    effort: Count | None = None
    seed: Count | None = None
    parameters: dict[str, Any] | None = None
    request: dict[str, Any] | None = None


class PhaseResult(Document):
    """A phase in the metrics of a run."""

    name: str
    steps: Count
    seconds: Finite
    best: Scores | None = None
    watch: str | None = None


class Refit(Document):
    """The fit on all rows after the scored one."""

    rows: Count


class BaselineScore(Document):
    """The score of a baseline next to that of the run."""

    score: Number | None
    rows: Count
    of_rows: Count
    difference: Number | None
    error: Number | None
    as_good: bool


class BaselineScores(Document):
    """The baselines of a run."""

    split: str
    metric: str
    rows: Count
    of_rows: Count
    run: Number | None
    scores: dict[str, BaselineScore]
    left_out: dict[str, str]


class SavedMetrics(Document):
    """The parts of metrics.json that are read again."""

    validation: dict[str, Any] | None = None
    test: dict[str, Any] | None = None
    phases: list[PhaseResult] = Field(default_factory=list)
    geometry: dict[str, Scores] | None = None
    refit: Refit | None = None
    baselines: BaselineScores | None = None


def check_manifest(folder: Any, manifest: Mapping[str, Any]) -> None:
    """Raise ModelError if the manifest of a run is damaged."""
    _check(RunFacts, manifest, f"'{folder}': phasefit.json")


def check_metrics(path: Any, metrics: Any) -> dict[str, Any]:
    """The metrics of a run; ModelError if they are damaged."""
    _check(SavedMetrics, metrics, f"'{path}'")
    found: dict[str, Any] = metrics
    return found


def _check(kind: type[Document], content: Any, where: str) -> None:
    try:
        checked(kind, dict(content) if isinstance(content, Mapping) else content)
    except ValueError as error:
        raise ModelError(f"{where} is damaged ({error}); {AGAIN}") from None
