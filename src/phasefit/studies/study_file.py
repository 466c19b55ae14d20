"""A study as a TOML file: a paper's protocol, its published results, and reduced scales. Imports no torch.

title = "Three-phase fine-tuning"
paper = "Lopez-Avila and Suarez-Paniagua, EMNLP 2023"
seeds = [0, 1, 2]              # the full protocol; a scale states only differences
folds = 5                      # cross-validation instead of the test split

[common]                       # options of every run: rows, test_rows, validation_rows, unseen, calibrate ...
test_rows = 2000

[dataset.SST5]                 # its name in tables; with fewer rows at a scale, "SST5, 300 rows"
data = "sst5"                  # a dataset's name, a file, a task file; and rows, classes, top_classes, text, label ...
title = "SST"                  # the name in front of the number of rows; default: SST5
pairs = "stsb"                 # score the encoder's cosine similarities on the test pairs of this dataset instead
set.denoise.lr = 5e-5          # the paper's settings for every recipe on this dataset
by_model.roberta.denoise.lr = 1e-5  # used instead if the model's name contains "roberta"

[variant.joint]                # a variant in the tables; the others are compared with the first
recipe = "joint-paper"         # a packaged recipe, a file in the same folder, or a baseline
set.joint.epochs = 4           # for all datasets
on.SST5.joint.epochs = 2       # for one
only = ["SST5"]                # the datasets to run it on; default: all
own_settings = true            # ignore the settings of the datasets

[[table]]
number = 3
title = "Accuracy"
score = "test.accuracy"        # a path into metrics.json
datasets = ["SST5"]            # default: all, as for variants
[table.published."MiniLM-L12"] # by model; the first that has a value is shown next to ours
SST5 = { joint = 52.69 }

[[claim]]                      # what the paper claims; most important first, as its cells are run first
text = "joint > finetune on SST5 in test.accuracy"  # or < for a lower score
ours = true                    # our expectation; the paper does not claim it

[[figure]]                     # gain of one variant over another against the number of rows
title = "Gain against rows"
variant = "joint"
against = "finetune"

[[figure]]                     # the scores of a table, with intervals
kind = "scores"
title = "Accuracy by dataset"
tables = [3]
variants = ["joint"]           # default: those of the table

[scale.quick]                  # seeds, folds, datasets, variants, tables; at most rows, test_rows, validation_rows
seeds = [0, 1]
rows = 400
steps = 0.1                    # share of the steps of every phase of every variant
set.denoise.lr = 1e-4          # for every recipe
dataset.SST5.rows = 300        # for one dataset or variant
variant.joint.seeds = [0]      # for one dataset or variant, too
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StrictInt

FULL = "full"
Settings = dict[str, Any]
Count = Annotated[StrictInt, Field(ge=1)]
Seed = Annotated[StrictInt, Field(ge=0)]
Names = list[str]
Figures = dict[str, dict[str, float]]


class Strict(BaseModel):
    """A model that rejects unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class OptionsPart(Strict):
    """Options of runs; None: not set."""

    rows: Count | None = None
    validation_rows: Count | None = None
    test_rows: Count | None = None
    validation_size: float | None = None
    test_size: float | None = None
    text: Names | None = None
    label: Names | None = None
    kind: str | None = None
    tree: str | None = None
    separator: str | None = None
    levels: Names | None = None
    classes: Names | None = None
    top_classes: Count | None = None
    validation: str | None = None
    test: str | None = None
    unlabelled: str | None = None
    unseen: Literal["error", "drop", "keep"] | None = None
    leaked: Literal["keep", "drop-scored", "drop-train"] | None = None
    calibrate: StrictBool | None = None
    model: str | None = None

    def options(self) -> dict[str, Any]:
        """The options that are set, by flat name."""
        given = {name: value for name in OptionsPart.model_fields if (value := getattr(self, name)) is not None}
        return {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}


class DatasetPart(OptionsPart):
    """`[dataset.NAME]`."""

    data: str
    title: str = ""
    pairs: str | None = None
    set: Settings = Field(default_factory=dict)
    by_model: dict[str, Settings] = Field(default_factory=dict)


class VariantPart(Strict):
    """`[variant.NAME]`."""

    recipe: str
    set: Settings = Field(default_factory=dict)
    on: dict[str, Settings] = Field(default_factory=dict)
    only: Names = Field(default_factory=list)
    own_settings: StrictBool = False
    model: str | None = None


class TablePart(Strict):
    """`[[table]]`."""

    title: str
    number: str | int = ""
    score: str | None = None
    datasets: Names = Field(default_factory=list)
    variants: Names = Field(default_factory=list)
    scale: float = Field(100.0, gt=0)
    note: str = ""
    published: dict[str, Figures] = Field(default_factory=dict)


class ClaimPart(Strict):
    """`[[claim]]`."""

    text: str
    ours: StrictBool = False


class FigurePart(Strict):
    """`[[figure]]`: `variant` and `against` are of a gain, `variants` are of scores."""

    title: str
    kind: Literal["gain", "scores"] = "gain"
    variant: str = ""
    against: str = ""
    variants: Names = Field(default_factory=list)
    tables: list[str | int] = Field(default_factory=list)


class DatasetChange(OptionsPart):
    """`[scale.NAME.dataset.NAME]`."""

    set: Settings = Field(default_factory=dict)
    seeds: list[Seed] | None = Field(None, min_length=1)


class VariantChange(Strict):
    """`[scale.NAME.variant.NAME]`."""

    set: Settings = Field(default_factory=dict)
    seeds: list[Seed] | None = Field(None, min_length=1)
    only: Names | None = None


class ScalePart(Strict):
    """`[scale.NAME]`: what is reduced, and a note."""

    seeds: list[Seed] | None = Field(None, min_length=1)
    folds: Annotated[StrictInt, Field(ge=2)] | None = None
    datasets: Names | None = Field(None, min_length=1)
    variants: Names | None = Field(None, min_length=1)
    tables: list[str | int] | None = Field(None, min_length=1)
    rows: Count | None = None
    validation_rows: Count | None = None
    test_rows: Count | None = None
    steps: float | None = Field(None, gt=0, le=1)
    set: Settings = Field(default_factory=dict)
    dataset: dict[str, DatasetChange] = Field(default_factory=dict)
    variant: dict[str, VariantChange] = Field(default_factory=dict)
    note: str = ""


class StudyFile(Strict):
    """The whole file."""

    title: str
    paper: str = ""
    seeds: list[Seed] = Field(default_factory=lambda: [0], min_length=1)
    folds: Annotated[StrictInt, Field(ge=2)] | None = None
    notes: Names = Field(default_factory=list)
    common: OptionsPart = Field(default_factory=OptionsPart)
    set: Settings = Field(default_factory=dict)
    dataset: dict[str, DatasetPart] = Field(min_length=1)
    variant: dict[str, VariantPart] = Field(min_length=1)
    table: list[TablePart] = Field(default_factory=list)
    claim: list[ClaimPart] = Field(default_factory=list)
    figure: list[FigurePart] = Field(default_factory=list)
    scale: dict[str, ScalePart] = Field(default_factory=dict)

    def numbers(self) -> list[str]:
        """The distinct numbers of the tables."""
        return list(dict.fromkeys(str(table.number) for table in self.table if table.number != ""))
