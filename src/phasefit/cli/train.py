"""`phasefit train`: train a run on a table of texts, with or without labels."""

from __future__ import annotations

import json as json_text
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from phasefit.cli import options as opt
from phasefit.cli.run_options import MACHINE, ROWS, TABLES, run_options, spec_from
from phasefit.errors import PhasefitError
from phasefit.runs.specification import AUTO

if TYPE_CHECKING:
    from phasefit.runs.job import TrainResult
    from phasefit.runs.specification import RunSpec

LONGEST = 1000  # characters of the line about baselines


@run_options(
    *(*TABLES, "fold", *ROWS),
    *(
        "recipe",
        "effort",
        "minutes",
        "epochs",
        "lr",
        "batch_size",
        "settings",
        "long",
        "model",
        "seed",
        "refit",
        "calibrate",
        "reject",
        "baselines",
        "keep_phases",
    ),
    *(
        "plan",
        "resume",
        "checkpoint_minutes",
        "out",
        "overwrite",
        "track",
        "push",
        "json",
        "quiet",
        *MACHINE,
        "compile",
    ),
)
def train(
    ctx: typer.Context,
    data: Annotated[
        str | None,
        typer.Argument(
            metavar="DATA",
            help="A CSV, TSV, JSON, JSONL, Excel or Parquet file, a .txt with one text per line, or a dataset name.\f "
            "Also hub:owner/name, or a task file (.toml).",
        ),
    ] = None,
    minutes: opt.Minutes = None,
    epochs: opt.Epochs = None,
    lr: opt.Lr = None,
    batch_size: opt.TrainBatchSize = None,
    long: opt.Long = None,
    plan: opt.Plan = False,
    resume: opt.Resume = None,
    push: opt.Push = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
    **options: Any,
) -> None:
    """Train a classifier or regressor on a table of texts and labels, or an encoder on texts alone.

    The result is a folder with the model, its metrics and a report. Validation and test rows are split off first,
    unless you give them.

    A row is one text or a pair of texts. Its label is a class, several classes, a path of a tree, or a number. Recipes
    whose phases need no labels train an encoder on texts, pairs or triples.

    $ phasefit train reviews.csv
    $ phasefit train tickets.csv --text body --label topic --unlabelled more.csv
    $ phasefit train reviews.csv --recipe auto --minutes 10
    $ phasefit train --resume runs/reviews
    $ phasefit train snips --recipe finetune --epochs 4 --plan
    $ phasefit train tickets.csv --label area --label topic
    $ phasefit train posts.csv --label tags --kind multi --separator ';'
    $ phasefit train pairs.csv --text left --text right --label score
    $ phasefit train pairs.csv --text question --text answer --recipe mnr
    $ phasefit train tasks.toml --recipe multitask
    """
    from phasefit.runs.processes import is_main_process

    refuse_baseline(options["recipe"])
    main = is_main_process()  # under `accelerate launch` only one process prints
    if push is not None and plan:
        raise PhasefitError("--plan trains nothing that --push could push; remove one of them")
    if push is not None and main:
        check_push(push)
    if resume is not None:
        refuse_other_options(ctx)
        result = resume_run(resume, device=explicit_value(ctx, "device"), quiet=quiet or not main)
    elif data is None:
        raise PhasefitError("give DATA to train on, or resume a run with --resume RUN; see 'phasefit train --help'")
    elif options["recipe"] == AUTO:
        from phasefit.cli.auto import train_auto

        chosen = train_auto(spec_from(ctx.params), minutes, plan=plan, json=json, quiet=quiet)
        if chosen is None:
            return
        result = chosen
    elif minutes is not None:
        raise PhasefitError("--minutes is only for --recipe auto; remove it, or use --recipe auto")
    elif plan:
        show_plan(spec_from(ctx.params), json=json, quiet=quiet)
        return
    else:
        result = run(spec_from(ctx.params), quiet=quiet or not main)
    if main:
        show_result(result, json=json)
        if push is not None:
            push_result(result.folder, push, json=json, quiet=quiet)


def check_push(repository: str) -> None:
    """Check before training that the run can be pushed: network, token, and a free name."""
    from phasefit.hub.upload import PushOptions
    from phasefit.hub.upload import check_push as check

    check(repository, PushOptions())


def push_result(folder: Path, repository: str, *, json: bool, quiet: bool) -> None:
    """Push a finished run as a private repository; with `json`, standard output has only the metrics."""
    from phasefit.cli.push import push_finished, show_pushed

    pushed = push_finished(folder, repository, quiet)
    if not json:
        show_pushed(pushed)


def refuse_baseline(recipe: str | None) -> None:
    """Reject a baseline that cannot be saved as a model."""
    from phasefit.baselines import BASELINES
    from phasefit.recipes.recipe_files import BASELINE_TEXTS

    if recipe in BASELINES and recipe not in BASELINE_TEXTS:
        raise PhasefitError(
            f"'{recipe}' is a baseline, which cannot be trained as a run; use: phasefit compare DATA --recipes "
            f"{recipe},finetune"
        )


def explicit_value(ctx: typer.Context, name: str) -> Any:
    """The value of an option given on the command line, or None."""
    source = ctx.get_parameter_source(name)
    return ctx.params[name] if source is not None and source.name == "COMMANDLINE" else None


def refuse_other_options(ctx: typer.Context) -> None:
    """Reject options that a resumed run cannot change."""
    for name in ctx.params:
        if name not in ("resume", "device", "push", "json", "quiet") and explicit_value(ctx, name) is not None:
            option = "DATA" if name == "data" else f"--{name.replace('_', '-').replace('settings', 'set')}"
            raise PhasefitError(f"--resume continues with the options of the run; remove {option}")


def run(spec: RunSpec, quiet: bool = False) -> TrainResult:
    """Train a run while showing progress."""
    from phasefit.cli.progress import listener

    with listener(quiet) as listen:
        from phasefit.report import write_run_report
        from phasefit.runs.train import train as train_run

        return train_run(spec, listen, report=write_run_report)


def resume_run(path: Path, device: str | None, quiet: bool = False) -> TrainResult:
    """Resume a run while showing progress."""
    from phasefit.cli.progress import listener

    with listener(quiet) as listen:
        from phasefit.report import write_run_report
        from phasefit.runs.resume import resume

        return resume(path, listen, device=device, report=write_run_report)


def show_result(result: TrainResult, json: bool = False) -> None:
    """Print the scores of a finished run and the next commands, or its metrics as JSON."""
    from phasefit.cli.console import print_json

    if json:
        print_json(result.metrics)
        return
    show_scores(result)
    show_next(result)


def show_scores(result: TrainResult) -> None:
    """Print the phases, the metrics, and what simple baselines reach."""
    from phasefit.cli.console import printable, stdout
    from phasefit.cli.tables import metrics_table, phases_table

    console = stdout()
    parts = {name: result.metrics[name] for name in ("validation", "test") if result.metrics.get(name)}
    if phases := result.metrics.get("phases"):
        console.print(phases_table(phases))
    tasks = dict.fromkeys(task for part in parts.values() for task in part.get("tasks", {}))
    for task in tasks:
        console.print(task, style="bold")
        task_parts = {name: part["tasks"][task] for name, part in parts.items() if task in part.get("tasks", {})}
        console.print(metrics_table(task_parts))
    if parts:
        console.print(metrics_table(parts))
    if "baselines" in result.metrics:
        from phasefit.runs.evaluation.baselines import baselines_sentence

        line = baselines_sentence(result.metrics["baselines"])
        console.print(printable(line, LONGEST), soft_wrap=True, markup=False)
    if "refit" in result.metrics:
        console.print(f"The saved model was then trained again on all {result.metrics['refit']['rows']:,} rows.")


def show_next(result: TrainResult) -> None:
    """Print the folder of the run and the next commands."""
    from phasefit.cli.console import stdout

    console = stdout()
    folder = shlex.quote(str(result.folder))
    console.print(f"The run is in {result.folder}\n", soft_wrap=True)
    console.print("Next:", style="bold")
    if (result.folder / "report.html").is_file():
        console.print(f"  open {folder}/report.html in a browser", soft_wrap=True)
    if not result.model.heads:
        encoder = json_text.dumps(str(result.folder / "encoder"), ensure_ascii=False)
        console.print("  (this run is an encoder without a classifier)", soft_wrap=True)
        console.print(f"  phasefit embed {folder} new.csv -o vectors.npy", soft_wrap=True)
        console.print(f"  phasefit train labelled.csv -m {folder}", soft_wrap=True)
        line = f"  python: sentence_transformers.SentenceTransformer({encoder}).encode(texts)"
        console.print(line, soft_wrap=True, highlight=False)
        return
    heads = result.model.heads
    several = len(heads) > 1
    task = f" --task {next(iter(heads))}" if several else ""
    pair = result.model.head(next(iter(heads))).pair is not None
    texts = '--say "first text" --say "second text"' if pair else '--say "your text"'
    console.print(f"  phasefit predict {folder}{task} {texts}", soft_wrap=True)
    console.print(f"  phasefit predict {folder}{task} new.csv -o predictions.csv", soft_wrap=True)
    console.print(f"  phasefit evaluate {folder} {'tasks.toml' if several else 'other.csv'}", soft_wrap=True)


def show_plan(spec: RunSpec, json: bool = False, quiet: bool = False) -> None:
    """Print the phases and the estimated time, without training."""
    from dataclasses import asdict

    from phasefit.cli.console import print_json, stdout
    from phasefit.cli.progress import listener
    from phasefit.cli.tables import facts_table, plan_table

    with listener(quiet) as listen:
        from phasefit.runs.plan import plan

        planned = plan(spec, listen)
    if json:
        print_json(asdict(planned))
        return
    console = stdout()
    console.print(facts_table(plan_facts(planned.facts)))
    console.print(plan_table(planned))
    for note in planned.notes:
        console.print(f"- {note}", soft_wrap=True)


def plan_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The facts for people: columns in words, without the checksum."""
    shown = {name: value for name, value in facts.items() if name != "sha256" and value is not None}
    columns = shown.get("columns")
    if isinstance(columns, Mapping):
        texts = [columns["text"], *columns.get("others", ())]
        labels = columns.get("labels", ())
        words = f"text {', '.join(texts)}" + (f"; label {', '.join(labels)}" if labels else "")
        shown["columns"] = words + (f", separator '{columns['tree']}'" if columns.get("tree") else "")
    return shown
