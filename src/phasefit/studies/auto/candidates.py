"""Facts about the data, and what is worth trying on them, cheap first, each with its reason. Imports no torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from phasefit.errors import RecipeError
from phasefit.kinds import kind_named, kind_of
from phasefit.prepare.prepare import Prepared
from phasefit.recipes import read_recipe
from phasefit.recipes.needs import needs_of
from phasefit.recipes.recipe_files import WHOLE
from phasefit.recipes.settings import NONE, Settings, merge_settings, setting_line, setting_lines
from phasefit.studies.rows import rows_without_test
from phasefit.studies.study import applicable_settings

YARDSTICK = "finetune"
FEW_ROWS = 200  # per class: beyond, the few-shot recipe has nothing to offer
UNEVEN = 4.0
LONG_SHARE = 0.2
LONG_WORDS = 200  # texts of more words are cut by most sentence encoders


@dataclass(frozen=True)
class DataFacts:
    """The rows that may be looked at: those to train on and to validate on."""

    rows: int
    kind: str
    classes: int = 0
    pairs: bool = False
    unlabelled: int = 0
    imbalance: float = 1.0  # rows of the largest class per row of the smallest
    long_share: float = 0.0

    @property
    def rows_per_class(self) -> float:
        """In the mean; of scores all rows."""
        return self.rows / max(self.classes, 1)

    def sentence(self) -> str:
        """In words."""
        what = "pairs of texts" if self.pairs else "texts"
        of = f" in {self.classes} classes, the largest {self.imbalance:.1f} times the smallest" if self.classes else ""
        more = f", {self.unlabelled:,} without labels beside" if self.unlabelled else ""
        long = f", {self.long_share:.0%} of more than {LONG_WORDS} words" if self.long_share >= 0.01 else ""
        return f"{self.rows:,} {what} to choose on ({self.kind} labels{of}{more}{long})"


def facts_of(prepared: Prepared) -> DataFacts:
    """Of a prepared table."""
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
    )


@dataclass(frozen=True)
class Candidate:
    """A recipe with settings, what it is called here and why it is tried; the first of its own settings is what it is
    about, others only suit that."""

    name: str
    recipe: str
    settings: Settings = field(default_factory=dict)
    why: str = ""

    def to_json(self) -> dict[str, Any]:
        """For auto.json; settings as the command line has them."""
        return {**vars(self), "settings": setting_lines(self.settings)}


FROZEN = {
    "finetune.freeze": True,
    "finetune.head": "linear",
    "finetune.lrs.head": 1e-2,
    "finetune.epochs": 20,
    "finetune.min_steps": 200,
    "finetune.max_steps": 1000,
    "finetune.batch_size": 64,
}


def candidates_for(facts: DataFacts, settings: Settings = NONE) -> list[Candidate]:
    """All that fit the data and what --set says; the yardstick first, then from cheap to dear."""
    return _select(facts, settings)[0]


def left_out(facts: DataFacts, settings: Settings = NONE) -> list[str]:
    """Those that fit the data, and that --set makes pointless: which and why."""
    return _select(facts, settings)[1]


def _select(facts: DataFacts, settings: Settings) -> tuple[list[Candidate], list[str]]:
    base = Candidate(YARDSTICK, YARDSTICK, why="the yardstick: it is taken unless another is better by more than noise")
    read_recipe(base.recipe, applicable_settings(base.recipe, settings))  # what is wrong with --set is said here
    candidates, out = [_with(base, settings)], list[str]()
    known = {_content(candidates[0]): YARDSTICK}
    for one in _suitable(facts):
        chosen = _with(one, settings)
        try:
            recipe, content = read_recipe(chosen.recipe, chosen.settings), _content(chosen)
        except RecipeError:
            out.append(f"{one.name}: it does not take what --set says")
            continue
        if facts.pairs and not needs_of(recipe).labels_of_pairs:
            continue
        if content in known:
            out.append(f"{one.name}: with what --set says it is the same as {known[content]}")
        elif _content(_with(chosen, dict(list(one.settings.items())[:1]))) != content:
            out.append(f"{one.name}: --set says otherwise than {setting_lines(one.settings)[0]}, which it is about")
        else:
            known[content] = one.name
            candidates.append(chosen)
    _refuse_unused(settings, candidates)
    return candidates, out


def _suitable(facts: DataFacts) -> Iterator[Candidate]:
    yield Candidate("frozen", "finetune", FROZEN, "the encoder as it is with a linear head: seconds")
    yield Candidate("finetune, lr 3e-5", "finetune", {"finetune.lr": 3e-5}, "gentler steps")
    yield Candidate("finetune, lr 3e-4", "finetune", {"finetune.lr": 3e-4}, "bolder steps")
    if facts.pairs:
        yield Candidate("finetune, together", "finetune", {"finetune.pair": "together"}, "both texts in one input")
    kind = kind_named(facts.kind)
    named = kind.answer == "class"
    why = f"classes are uneven, {facts.imbalance:.0f} to 1"
    if facts.imbalance >= UNEVEN and "class_weights" in kind.loss_options:
        yield Candidate("finetune, balanced", "finetune", {"finetune.class_weights": "balanced"}, why)
    if facts.imbalance >= UNEVEN and "focal" in kind.loss_options:
        yield Candidate("finetune, focal", "finetune", {"finetune.focal": 2}, why)
    if facts.long_share >= LONG_SHARE:
        why = f"{facts.long_share:.0%} of the texts are long"
        yield Candidate("finetune, head-tail", "finetune", {"long": "head-tail"}, why)
    if named and facts.rows_per_class <= FEW_ROWS:
        yield Candidate("few-shot", "few-shot", why=f"{facts.rows_per_class:.0f} rows per class are few")
    if kind.has_classes:
        yield Candidate("supcon-finetune", "supcon-finetune", why="SupCon beside cross-entropy")
    if named:
        yield Candidate("triple-entropy", "triple-entropy", why="SoftTriple beside cross-entropy")
    if kind.has_classes:
        yield Candidate("contrast-finetune", "contrast-finetune", why="a phase of contrast first")
    if facts.unlabelled and not facts.pairs:
        yield Candidate("denoise-finetune", "denoise-finetune", why=f"{facts.unlabelled:,} texts without labels")
    if kind.has_classes:
        yield Candidate("three-phase", "three-phase", why="all three phases")


def _with(one: Candidate, settings: Settings) -> Candidate:
    return Candidate(
        one.name, one.recipe, applicable_settings(one.recipe, merge_settings(one.settings, settings)), one.why
    )


def _content(one: Candidate) -> str:
    """Every option of its recipe, without the line that names it."""
    return read_recipe(one.recipe, one.settings).to_toml().partition("\n")[2]


def _refuse_unused(settings: Settings, candidates: Sequence[Candidate]) -> None:
    for path, value in settings.items():
        phase = path.partition(".")[0]
        if phase not in WHOLE and not any(path in one.settings for one in candidates):
            line = setting_line(path, value)
            raise RecipeError(f"--set {line}: none of the recipes that auto would try has a phase '{phase}'")
