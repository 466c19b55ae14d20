"""How long the papers' full protocols would take on one GPU: a calculation from planned steps, not a measurement.

    python benchmarks/gpu_hours.py
    python benchmarks/gpu_hours.py --studies tree,label-aware

For one run of each dataset and variant, the phases are built as `phasefit train` builds them, with the packaged
encoder, and their planned steps and training tokens are counted; early stopping is ignored. A step takes as long as its
operations (6 for each weight of the papers' encoder and token that is trained, 2 if the encoder is frozen) on a GPU
with the throughput below, but never less than the time that a GPU needs to start the kernels of one step. Validations
add the share that phasefit allows them. Writes benchmarks/results/gpu_hours.md.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from phasefit.prepare.prepare import prepare
from phasefit.recipes.needs import needs_of
from phasefit.runs.fitting.fit import build_phases
from phasefit.runs.fitting.index_rows import index_rows
from phasefit.runs.fitting.starting import starting_model
from phasefit.runs.recipe.resolve import requested_recipe, resolve_recipe
from phasefit.runs.specification import RunSpec
from phasefit.studies.scaling import Selection, scale_study
from phasefit.studies.study_reading import find_study
from phasefit.training.schedule import Schedule

RESULTS = Path(__file__).parent / "results" / "gpu_hours.md"
STUDIES = "three-phase,triple-entropy,label-aware,mirror,multitask,tree"
WEIGHTS = 86e6  # of the Transformer layers of BERT-base and RoBERTa-base
THROUGHPUT = 50e12  # operations per second: a third of the 156e12 that an A100 has in TF32
LEAST_STEP = 0.03  # seconds: about 600 kernels of forward, backward and update
EVALUATIONS = 1.25  # validations take at most a fifth of a phase


@dataclass(frozen=True)
class Work:
    """The planned work of a run."""

    steps: int
    seconds: float


def main() -> None:
    """Count the steps of every study and write the table."""
    parser = argparse.ArgumentParser(description="estimate GPU hours of the full protocols")
    parser.add_argument("--studies", default=STUDIES, help="only these, separated by commas")
    args = parser.parse_args()
    lines = [
        "# Estimated GPU hours of the papers' full protocols",
        "",
        f"Command: `python benchmarks/gpu_hours.py{' --studies ' + args.studies if args.studies != STUDIES else ''}`. "
        "A calculation from planned steps, not a measurement: a base-size "
        f"encoder ({WEIGHTS / 1e6:.0f} million weights), {THROUGHPUT / 1e12:.0f}e12 operations per second, at least "
        f"{LEAST_STEP * 1000:.0f} ms per step, a quarter more for validations, no early stopping, all rows that this "
        "repository's data have (AGNews: 26,486 of 120,000). Sampling, tokenising and starting runs are not included.",
        "",
        "| study | runs | steps | hours |",
        "|-|-:|-:|-:|",
    ]
    total = 0.0
    for name in args.studies.split(","):
        runs, steps, hours = study_work(name)
        total += hours
        lines.append(f"| {name} | {runs:,} | {steps:,} | {hours:.1f} |")
        print(lines[-1], flush=True)
    lines.append(f"| all | | | {total:.1f} |")
    RESULTS.write_text("\n".join(lines) + "\n", encoding="utf-8")


def study_work(name: str) -> tuple[int, int, float]:
    """The runs, steps and hours of a study at full scale."""
    info = find_study(name)
    cells = scale_study(info.file, info.name, Selection("full", (), (), None, None), None).study.cells()
    counts = Counter((cell.dataset, cell.variant) for cell in cells)
    steps, seconds = 0, 0.0
    for (dataset, variant), runs in counts.items():
        cell = next(cell for cell in cells if (cell.dataset, cell.variant) == (dataset, variant))
        work = Work(0, 0.0) if cell.is_baseline else run_work(cell.spec)
        print(f"  {dataset}, {variant}: {runs} x {work.steps:,} steps, {work.seconds:,.0f} s", file=sys.stderr)
        steps += runs * work.steps
        seconds += runs * work.seconds
    return len(cells), steps, seconds / 3600


def run_work(spec: RunSpec) -> Work:
    """The planned steps of one run and the seconds that they would take."""
    recipe = requested_recipe(spec)
    prepared = prepare(spec.data, spec.split, seed=spec.seed, base=None, needs=needs_of(recipe))
    recipe = resolve_recipe(spec, recipe, prepared, lambda note: None)
    model = starting_model(spec, prepared)
    data = index_rows(model, prepared, recipe, spec.seed, lambda event: None)
    steps, seconds = 0, 0.0
    for phase in build_phases(model, data, recipe, spec.seed):
        total = Schedule.of(phase.options, len(phase.batches)).total
        rows = int(getattr(phase.options, "batch_size", 32))
        tokens = rows * float(phase.data.tokens.lengths.mean())
        trained = any(parameter.requires_grad for parameter in phase.encoder.parameters())
        operations = (6 if trained else 2) * WEIGHTS * tokens
        steps += total
        seconds += EVALUATIONS * total * max(LEAST_STEP, operations / THROUGHPUT)
    return Work(steps, seconds)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
