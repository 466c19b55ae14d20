"""Facts about the data and the candidates worth trying on it, cheap ones first, with reasons. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from phasefit.errors import RecipeError
from phasefit.kinds import kind_named, kind_of
from phasefit.phases.class_texts import readable
from phasefit.prepare.prepare import Prepared
from phasefit.recipes import read_recipe
from phasefit.recipes.needs import needs_of
from phasefit.recipes.recipe import FROZEN, TFIDF
from phasefit.recipes.recipe_files import WHOLE
from phasefit.recipes.settings import NONE, Settings, merge_settings, setting_line, setting_lines
from phasefit.studies.rows import rows_without_test
from phasefit.studies.study import applicable_settings

REFERENCE = "finetune"
FIRST = (TFIDF, FROZEN, REFERENCE)  # measured first: the first two take seconds and may be all that the time allows
FEW_ROWS = 200  # per class: with more, the few-shot recipe has no advantage
UNEVEN = 4.0
LONG_SHARE = 0.2
LONG_WORDS = 200  # most sentence encoders truncate longer texts


@dataclass(frozen=True)
class DataFacts:
    """Facts about the training and validation rows; test rows are not counted."""

    rows: int
    kind: str
    classes: int = 0
    pairs: bool = False
    unlabelled: int = 0
    imbalance: float = 1.0  # rows of the largest class per row of the smallest
    long_share: float = 0.0
    readable_names: bool = False  # whether the names of all classes have words

    @property
    def rows_per_class(self) -> float:
        """Mean number of rows per class; all rows if labels are scores."""
        return self.rows / max(self.classes, 1)

    def sentence(self) -> str:
        """Summary for the plan."""
        what = "pairs of texts" if self.pairs else "texts"
        of = f" in {self.classes} classes, the largest {self.imbalance:.1f} times the smallest" if self.classes else ""
        more = f", {self.unlabelled:,} more unlabelled texts" if self.unlabelled else ""
        long = f", {self.long_share:.0%} longer than {LONG_WORDS} words" if self.long_share >= 0.01 else ""
        return f"{self.rows:,} {what} ({self.kind} labels{of}{more}{long})"


def facts_of(prepared: Prepared) -> DataFacts:
    """Facts about a prepared table."""
    table = rows_without_test(prepared)
    texts = list(table.texts)
    long = np.mean([len(text.split()) > LONG_WORDS for text in texts])
    kind = kind_of(prepared.space)
    sizes = kind.class_sizes(prepared.space, prepared.values(table))
    counts = np.array([]) if sizes is None else sizes[sizes > 0]
    return DataFacts(
        len(table),
        kind.name,
        len(prepared.space) if kind.has_classes else 0,
        bool(table.others),
        0 if prepared.unlabelled is None else len(prepared.unlabelled),
        float(counts.max() / counts.min()) if len(counts) else 1.0,
        float(long),
        kind.answer == "class" and all(map(readable, prepared.space.classes)),
    )


@dataclass(frozen=True)
class Candidate:
    """A named recipe with settings and the reason for trying it.

    The first setting defines the candidate; the others only support it.
    """

    name: str
    recipe: str
    settings: Settings = field(default_factory=dict)
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        """Content for auto.json; settings as --set writes them."""
        return {**vars(self), "settings": setting_lines(self.settings)}


def candidates_for(facts: DataFacts, settings: Settings = NONE) -> list[Candidate]:
    """All candidates that fit the data and --set: the reference first, then from cheap to expensive."""
    return _select(facts, settings)[0]


def left_out(facts: DataFacts, settings: Settings = NONE) -> list[str]:
    """Candidates that fit the data but that --set makes pointless, each with its reason."""
    return _select(facts, settings)[1]


def _select(facts: DataFacts, settings: Settings) -> tuple[list[Candidate], list[str]]:
    base = Candidate(REFERENCE, REFERENCE, why="the reference: chosen unless another is better by more than noise")
    read_recipe(base.recipe, applicable_settings(base.recipe, settings))  # raises if --set is wrong
    candidates, skipped = [_with(base, settings)], list[str]()
    known = {_content(candidates[0]): REFERENCE}
    for one in _suitable(facts):
        chosen = _with(one, settings)
        try:
            recipe, content = read_recipe(chosen.recipe, chosen.settings), _content(chosen)
        except RecipeError:
            skipped.append(f"{one.name}: does not accept the --set options")
            continue
        if facts.pairs and not needs_of(recipe).labels_of_pairs:
            continue
        if content in known:
            skipped.append(f"{one.name}: with the --set options it is identical to {known[content]}")
        elif one.settings and _content(_with(chosen, dict(list(one.settings.items())[:1]))) != content:
            skipped.append(f"{one.name}: --set overrides its {setting_lines(one.settings)[0]}")
        else:
            known[content] = one.name
            candidates.append(chosen)
    _refuse_unused(settings, candidates)
    return candidates, skipped


def _suitable(facts: DataFacts) -> Iterator[Candidate]:
    yield Candidate(TFIDF, TFIDF, why="words and bigrams without an encoder; takes seconds")
    yield Candidate(FROZEN, FROZEN, why="the encoder as it is, with a linear head; takes seconds")
    yield Candidate("finetune, lr 3e-5", "finetune", {"finetune.lr": 3e-5}, "lower learning rate")
    yield Candidate("finetune, lr 3e-4", "finetune", {"finetune.lr": 3e-4}, "higher learning rate")
    if facts.pairs:
        yield Candidate("finetune, together", "finetune", {"finetune.pair": "together"}, "both texts in one input")
    kind = kind_named(facts.kind)
    named = kind.answer == "class"
    why = f"imbalanced classes, {facts.imbalance:.0f} to 1"
    if facts.imbalance >= UNEVEN and "class_weights" in kind.loss_options:
        yield Candidate("finetune, balanced", "finetune", {"finetune.class_weights": "balanced"}, why)
    if facts.imbalance >= UNEVEN and "focal" in kind.loss_options:
        yield Candidate("finetune, focal", "finetune", {"finetune.focal": 2}, why)
    if facts.long_share >= LONG_SHARE:
        why = f"{facts.long_share:.0%} of the texts are long"
        yield Candidate("finetune, head-tail", "finetune", {"long": "head-tail"}, why)
    if named and facts.rows_per_class <= FEW_ROWS:
        yield Candidate("few-shot", "few-shot", why=f"only {facts.rows_per_class:.0f} rows per class")
    if named and facts.readable_names and not facts.pairs:
        yield Candidate("label-names", "label-names", why="the names of the classes as texts")
    if kind.has_classes:
        yield Candidate("one-phase", "one-phase", why="SupCon with cross-entropy")
    if named:
        yield Candidate("triple-entropy", "triple-entropy", why="SoftTriple with cross-entropy")
    if kind.has_classes:
        yield Candidate("contrast-finetune", "contrast-finetune", why="a contrastive phase first")
    if facts.unlabelled and not facts.pairs:
        yield Candidate("denoise-finetune", "denoise-finetune", why=f"{facts.unlabelled:,} unlabelled texts")
    if kind.has_classes:
        yield Candidate("three-phase", "three-phase", why="all three phases")


def _with(one: Candidate, settings: Settings) -> Candidate:
    return Candidate(
        one.name, one.recipe, applicable_settings(one.recipe, merge_settings(one.settings, settings)), one.why
    )


def _content(one: Candidate) -> str:
    """All options of its recipe, without the line that holds the name."""
    return read_recipe(one.recipe, one.settings).to_toml().partition("\n")[2]


def _refuse_unused(settings: Settings, candidates: Sequence[Candidate]) -> None:
    for path, value in settings.items():
        phase = path.partition(".")[0]
        if phase not in WHOLE and not any(path in one.settings for one in candidates):
            line = setting_line(path, value)
            raise RecipeError(f"--set {line}: no recipe that auto would try has a phase '{phase}'; remove it")
