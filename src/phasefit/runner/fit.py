"""Fitting: a model taken through the phases of a recipe."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import ceil
from typing import Any, cast

import numpy as np
from accelerate import Accelerator

from phasefit.data.seeds import generator
from phasefit.data.table import Table
from phasefit.errors import RecipeError
from phasefit.models.encoder import Encoder
from phasefit.models.long_texts import Long, windows_of
from phasefit.models.model import TASK, Model
from phasefit.models.tokens import Tokens
from phasefit.models.truncation import Truncation, truncation
from phasefit.phases import phase_of
from phasefit.phases.contract import Phase, PhaseData
from phasefit.recipes.recipe import Recipe
from phasefit.runner.history import History
from phasefit.runner.keeper import Keeper, NoKeeper
from phasefit.runner.prepare import Prepared
from phasefit.runner.snapshots import BEFORE, Snapshots
from phasefit.training.events import Event, Note, PhaseEnded, Stage
from phasefit.training.loop import train_phase

Listener = Callable[[Event], None]


@dataclass
class Fitted:
    """What fitting leaves behind besides the trained model."""

    phases: list[dict[str, Any]] = field(default_factory=list)  # name, steps, seconds, best_step, best
    history: History = field(default_factory=History)
    cut: Truncation | None = None  # what the model's longest text left out
    snapshots: Snapshots | None = None  # vectors of the same texts, before training and after each phase

    def to_json(self) -> dict[str, Any]:
        """All but the snapshots, for a checkpoint."""
        cut = None if self.cut is None else self.cut.to_json()
        return {"phases": self.phases, "history": self.history.rows, "cut": cut}

    @classmethod
    def from_json(cls, content: dict[str, Any], snapshots: Snapshots | None) -> Fitted:
        """What a checkpoint knew."""
        cut = None if content["cut"] is None else Truncation.from_json(content["cut"])
        return cls(list(content["phases"]), History(content["history"]), cut, snapshots)

    def steps_of(self, phase: str) -> dict[str, int]:
        """What `train_phase` needs to repeat a phase: the steps that validation chose, and the schedule's length."""
        chosen = next(record for record in self.phases if record["name"] == phase)
        return {"fixed_steps": chosen["best_step"], "planned_steps": chosen["planned_steps"]}


def fit(
    model: Model,
    prepared: Prepared,
    recipe: Recipe,
    accelerator: Accelerator,
    *,
    seed: int,
    listen: Listener,
    repeat: Fitted | None = None,
    keeper: Keeper | NoKeeper | None = None,
) -> Fitted:
    """Train the model in place. `repeat` refits: as many steps per phase as that fit chose, no validation.

    A `keeper` writes checkpoints, and the fit goes on from the one that it may have brought.
    """
    _refuse_classes_that_nothing_learns(model, prepared, recipe)
    keeper = keeper or NoKeeper()
    data = gather_rows(model, prepared, recipe, seed, listen)
    fitted = Fitted(snapshots=None if repeat is None else repeat.snapshots)
    if keeper.facts:
        fitted = Fitted.from_json(keeper.facts, keeper.snapshots)
    elif keeper.keeps and repeat is None and accelerator.is_main_process:  # for the report of a run
        fitted.snapshots = Snapshots.of(data, seed)
        fitted.snapshots.take(BEFORE, model.encoder, data.tokens)
    fitted.cut = truncation(data.tokens, model.encoder.reach)
    saved = keeper.saved()
    for index, phase in enumerate(build_phases(model, data, recipe, seed)):
        if saved is not None and index <= saved.index:
            if index == saved.index:
                saved.put_weights(model, phase)
                listen(Note(f"resumed {saved.where(phase)}"))
            if saved.is_behind(index):
                continue  # it was built only for the layers that it adds to the model
        steps: dict[str, Any] = {} if repeat is None else repeat.steps_of(phase.name)
        steps |= {"index": index + 1, "phases": len(recipe.phases)}
        steps |= {"at_rest": partial(keeper.at_rest, model, fitted, index)}
        if saved is not None and index == saved.index:
            steps["resume"] = saved.put_state
        with keeper.training():
            for event in train_phase(phase, accelerator, seed=seed, **steps):
                fitted.history.add(event)
                listen(event)
                if isinstance(event, PhaseEnded):
                    fitted.phases.append(_record(event))
            if fitted.snapshots is not None and repeat is None:
                fitted.snapshots.take(phase.name, model.encoder, data.tokens)
            keeper.phase_over(accelerator, model, fitted, index)
    model.eval()
    return fitted


def build_phases(model: Model, data: PhaseData, recipe: Recipe, seed: int) -> Iterator[Phase]:
    """The phases one after the other: each is built on what the one before left."""
    for name, options in zip(recipe.phase_names, recipe.phases, strict=True):
        yield phase_of(options.kind)(name, options, model, data, seed)


def gather_rows(model: Model, prepared: Prepared, recipe: Recipe, seed: int, listen: Listener) -> PhaseData:
    """All texts a phase may see, tokenised once; the test rows are not among them."""
    tables = [table for table in (prepared.train, prepared.validation, prepared.unlabelled) if table is not None]
    texts = [text for table in tables for text in table.texts]
    others = texts_beside(tables, texts)
    if recipe.prompt is not None:
        model.encoder.set_template(recipe.prompt)
    set_max_length(model.encoder, recipe.max_length, texts, seed)
    if recipe.long is not None:
        model.encoder.set_long(cast(Long, recipe.long))
    listen(Stage("tokenising"))
    tokens = model.encoder.tokenise(texts)
    _say_long(tokens, model.encoder, listen)
    ends = np.cumsum([len(prepared.train), len(prepared.validation or ()), len(prepared.unlabelled or ())])
    codes = np.full(len(texts), -1, dtype=np.int64)
    codes[: ends[0]] = prepared.codes(prepared.train)
    codes[ends[0] : ends[1]] = prepared.codes(prepared.validation)
    values = prepared.space.none(len(texts))
    values[: ends[0]] = prepared.values(prepared.train)
    values[ends[0] : ends[1]] = prepared.values(prepared.validation)
    rows = np.arange(len(texts))
    train, validation, unlabelled = rows[: ends[0]], rows[ends[0] : ends[1]], rows[ends[1] : ends[2]]
    return PhaseData(texts, tokens, codes, prepared.space, train, validation, unlabelled, others, values)


def _say_long(tokens: Tokens, encoder: Encoder, listen: Listener) -> None:
    """How many texts are too long for the model, and what that costs."""
    longer = tokens.lengths > encoder.max_length
    if longer.any():
        count = windows_of(tokens.lengths[longer], encoder.max_length)
        said = f"{longer.sum():,} of {len(tokens):,} texts are longer than {encoder.max_length} tokens"
        listen(Note(f"{said} and are read in {count:,} windows"))
    if tokens.cut:
        said = truncation(tokens, encoder.reach).sentence()
        listen(Note(f"{said}{_remedy(encoder)}", warning=True))


def _remedy(encoder: Encoder) -> str:
    """What could be done about texts that are cut; nothing where it is done."""
    ways = []
    if encoder.max_length < encoder.position_limit:
        ways.append(f"--set max_length={encoder.position_limit} takes more")
    if encoder.long != "windows" and encoder.pools_windows:
        ways.append("--long windows reads all")
    return f"; {', '.join(ways)}" if ways else ""


def texts_beside(tables: Sequence[Table], texts: list[str]) -> np.ndarray | None:
    """The numbers of the texts beside each text, which are added behind the others; None where no table has any."""
    width = max(len(table.others) for table in tables)
    if not width:
        return None
    rows, extra = len(texts), sum(len(table) * len(table.others) for table in tables)
    numbers = np.full((rows + extra, width), -1, dtype=np.int64)
    first = 0
    for table in tables:
        for place, side in enumerate(table.others):
            numbers[first : first + len(table), place] = np.arange(len(texts), len(texts) + len(table))
            texts.extend(side)
        first += len(table)
    return numbers


def set_max_length(encoder: Encoder, wanted: int | str, texts: Sequence[str], seed: int) -> None:
    """`model` leaves it, a number sets it, `auto` is 1.2 times the longest text of a tenth of them."""
    if isinstance(wanted, int):
        encoder.max_length = wanted
    elif wanted == "auto":
        some = generator(seed, "max_length").permutation(len(texts))[: max(len(texts) // 10, min(len(texts), 100))]
        limit = encoder.position_limit
        longest = int(encoder.tokenise([texts[row] for row in some], max_length=limit).lengths.max())
        encoder.max_length = max(min(ceil(1.2 * longest), limit), 8)


def _refuse_classes_that_nothing_learns(model: Model, prepared: Prepared, recipe: Recipe) -> None:
    """Going on from a run with new classes needs a phase that grows its head."""
    if TASK in model.heads and not any(options.kind == "finetune" for options in recipe.phases):
        new = [] if prepared.space.kind == "score" else prepared.space.names[model.head().classes :]
        if new:
            raise RecipeError(f"{recipe.name}: the model does not know the class '{new[0]}'; add a finetune phase")


def _record(event: PhaseEnded) -> dict[str, Any]:
    return {
        "name": event.phase,
        "steps": event.steps,
        "planned_steps": event.planned_steps,
        "seconds": round(event.seconds, 3),
        "best_step": event.best_step,
        "watch": event.watch,
        "best": event.best,
        "stopped_early": event.stopped_early,
    }
