"""The contestants of the few-shot benchmark: their scripts, interpreters and budgets."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from contest import Budgets, words

RIVALS = Path(__file__).parent / "rivals"
ENVIRONMENTS = Path(__file__).parent / ".rivals"
OURS = "phasefit"


@dataclass(frozen=True)
class Contestant:
    """One script with budgets from small to large: a line in the plot of accuracy against seconds.

    `default` is the budget that is used unless another is selected.
    """

    name: str
    folder: str
    budgets: tuple[str, ...]
    default: str = "default"
    quick: bool = True  # whether it is part of the quick benchmark

    @property
    def ours(self) -> bool:
        """Whether it is phasefit."""
        return self.folder == OURS

    @property
    def script(self) -> Path:
        """The script that its interpreter runs."""
        return RIVALS / self.folder / "fit.py"

    @property
    def python(self) -> Path:
        """Its interpreter: the current one for phasefit, otherwise that of the rival's environment."""
        return Path(sys.executable) if self.ours else ENVIRONMENTS / self.folder / "bin" / "python"

    def settings(self, budget: str) -> str:
        """The settings of a budget as text."""
        return words(self.budget_table()[budget])

    def budget_table(self) -> Budgets:
        """The budgets that the script defines; importing the script imports no library."""
        spec = spec_from_file_location(f"fit_{self.folder}", self.script)
        assert spec is not None
        assert spec.loader is not None
        module = module_from_spec(spec)
        spec.loader.exec_module(module)
        table: Budgets = module.BUDGETS
        return table


CONTESTANTS = {
    contestant.name: contestant
    for contestant in (
        Contestant("phasefit", OURS, ("quick", "default", "long")),
        Contestant("phasefit-three-phase", OURS, ("three-phase",), "three-phase", False),
        Contestant("phasefit-finetune", OURS, ("finetune",), "finetune", False),
        Contestant("setfit", "setfit", ("quick", "default")),
        Contestant("fastfit", "fastfit", ("quick", "default", "readme")),
        Contestant("sentence-transformers", "sentence_transformers", ("default",)),
        Contestant("sentence-transformers-batch-hard", "sentence_transformers", ("batch-hard",), "batch-hard", False),
        Contestant("transformers", "transformers", ("quick", "default")),
        Contestant("scikit-learn", "scikit_learn", ("default",)),
    )
}


def chosen(wanted: str | None, *, full: bool) -> list[tuple[Contestant, str]]:
    """The selected contestants with budgets: `setfit,fastfit:quick`, all (`full`), or the quick benchmark's."""
    if wanted is None:
        everyone = [contestant for contestant in CONTESTANTS.values() if full or contestant.quick]
        return [(one, budget) for one in everyone for budget in (one.budgets if full else (one.default,))]
    pairs = []
    for part in wanted.split(","):
        name, _, budget = part.strip().partition(":")
        if name not in CONTESTANTS:
            raise SystemExit(f"no contestant '{name}'; choose from {', '.join(CONTESTANTS)}")
        contestant = CONTESTANTS[name]
        budgets = contestant.budgets if full else (contestant.default,)
        if budget and budget not in contestant.budgets:
            raise SystemExit(f"{name} has no budget '{budget}'; choose from {', '.join(contestant.budgets)}")
        pairs += [(contestant, each) for each in ((budget,) if budget else budgets)]
    return pairs
