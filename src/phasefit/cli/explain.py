"""`phasefit explain`: the words that mattered for predictions, and the nearest training texts."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from phasefit.cli import options as opt
from phasefit.errors import DataError, PhasefitError
from phasefit.events import Event, Note

if TYPE_CHECKING:
    from phasefit.explain import TrainingVectors
    from phasefit.models.predictor import Predictor, Progress
    from phasefit.runs.run import Run

NEAREST = 3  # training texts that --say shows by default


def explain(
    run: opt.Run,
    file: opt.OptionalInputFile = None,
    say: Annotated[
        list[str] | None,
        typer.Option(
            help="A text to explain; repeat it for more. A model of pairs needs two per pair.",
            metavar="TEXT",
            rich_help_panel=opt.DATA,
        ),
    ] = None,
    task: opt.Task = None,
    label: Annotated[
        str | None,
        typer.Option(
            help="The label to explain; by default the predicted one, or each predicted one.",
            metavar="LABEL",
            rich_help_panel=opt.DATA,
        ),
    ] = None,
    method: Annotated[
        Literal["occlusion", "gradients"],
        typer.Option(
            help="Leave out one word at a time, or integrated gradients (extra explain).",
            rich_help_panel=opt.OUTPUT,
        ),
    ] = "occlusion",
    nearest: Annotated[
        int | None,
        typer.Option(
            help="Show the N nearest training texts of each text; default: 3 with --say, none for a file.",
            min=0,
            max=100,
            metavar="N",
            rich_help_panel=opt.OUTPUT,
        ),
    ] = None,
    text: opt.PairText = None,
    format: opt.StdinFormat = "lines",
    delimiter: opt.Delimiter = None,
    encoding: opt.Encoding = None,
    sheet: opt.Sheet = None,
    data_dir: opt.DataDir = None,
    out: opt.OutFile = None,
    overwrite: opt.Overwrite = False,
    escape_formulas: opt.EscapeFormulas = False,
    prefix: Annotated[
        str, typer.Option(help="A prefix for the names of new columns.", metavar="TEXT", rich_help_panel=opt.OUTPUT)
    ] = "",
    quiet: opt.Quiet = False,
    device: opt.Device = "auto",
    threads: opt.Threads = None,
    batch_size: opt.BatchSize = 64,
) -> None:
    """Show the words that mattered for predictions, and the nearest training texts.

    Positive weights support the label or raise the score, negative ones oppose it. The weights are tested:
    deleting the most important words must move the prediction more than deleting random words. For a file, the output
    has the columns of the input, then the prediction and the words with their weights as JSON.

    $ phasefit explain runs/reviews --say "arrived broken"
    $ phasefit explain runs/reviews --say "arrived broken" --label good
    $ phasefit explain runs/reviews new.csv -o words.jsonl
    """
    from phasefit.cli.explanations import explain_table, new_columns, report_test, show_explanations
    from phasefit.cli.inputs import (
        check_heads,
        check_run,
        check_task,
        frame_of,
        load,
        read_texts,
        report_reading,
        sides_of,
    )
    from phasefit.cli.outputs import check_out, write_out
    from phasefit.data.io.frames import check_columns
    from phasefit.data.sources import read_table
    from phasefit.predicting.columns import refuse_clashes
    from phasefit.runs.run import Run

    check_run(run)
    opened = Run.open_model(run)
    check_heads(opened)
    task = check_task(opened, task)
    sides = sides_of(opened, task)
    _check_method(opened, method)
    more: dict[str, Any] = {"label": label, "method": method, "batch_size": batch_size}
    if say:
        if file is not None or out is not None:
            raise DataError("--say prints tables of its texts; remove FILE and --out, or remove --say")
        texts = read_table(say, need_labels=False, what="--say").texts
        if sides == "pairs" and len(texts) % 2:
            raise DataError("this model needs pairs of texts; give --say twice for each pair")
        inputs: list[Any] = list(zip(texts[::2], texts[1::2], strict=True)) if sides == "pairs" else list(texts)
        model = load(opened, device, threads, quiet)
        name = model.known_task(task)
        count = NEAREST if nearest is None else nearest
        vectors = _training_vectors(opened, model, name, batch_size, quiet) if count else None
        show_explanations(model, inputs, name, vectors, count, **more)
        return
    check_out(out, overwrite, escape_formulas=escape_formulas)
    usual = opened.table(task).columns
    how = {"delimiter": delimiter, "encoding": encoding, "sheet": sheet, "empty": "keep"}
    table = read_texts(file, text=text, format=format, data_dir=data_dir, usual=usual, sides=sides, **how)
    report_reading(table, quiet)
    frame = frame_of(table)
    if out is not None:
        check_columns(frame, out)
    model = load(opened, device, threads, quiet)
    name = model.known_task(task)
    refuse_clashes(frame.columns, new_columns(model.space_of(name), prefix, bool(nearest)))
    vectors = _training_vectors(opened, model, name, batch_size, quiet) if nearest else None
    explained, tested = explain_table(model, table, frame, name, vectors, nearest or 0, prefix, quiet=quiet, **more)
    write_out(explained, out, quiet, escape_formulas)
    report_test(tested, quiet)


def _check_method(run: Run, method: str) -> None:
    """Raise an error, before torch is imported, if gradients are requested and captum or the encoder is missing."""
    from phasefit.errors import ModelError
    from phasefit.explain.captum_gradients import need_captum

    if method != "gradients":
        return
    if not run.has_encoder:
        raise ModelError(
            "--method gradients needs a run with an encoder, not TF-IDF or an exported folder; use --method occlusion"
        )
    need_captum()


def _training_vectors(run: Run, model: Predictor, task: str, batch_size: int, quiet: bool) -> TrainingVectors | None:
    """The training texts of a run with their embeddings; None, and a sentence with the reason, if there are none."""
    from phasefit.cli.console import stderr
    from phasefit.cli.progress import counting
    from phasefit.explain import TrainingVectors
    from phasefit.progress.text import print_note

    def listen(event: Event) -> None:
        if isinstance(event, Note) and not quiet:
            print_note(stderr(), event)

    def embedding(count: int) -> AbstractContextManager[Progress]:
        return counting("embedding the training texts", count, quiet)

    try:
        return TrainingVectors.of(model, run, task, batch_size=batch_size, listen=listen, counting=embedding)
    except PhasefitError as error:
        stderr().print(f"nearest training texts are left out: {error}", soft_wrap=True)
        return None
