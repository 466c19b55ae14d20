"""`phasefit geometry RUN DATA --layers`: the anisotropy of every layer of an encoder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from phasefit.errors import DataError, PhasefitError
from phasefit.files.atomic import make_folders, write_text

if TYPE_CHECKING:
    from phasefit.data.table import Table
    from phasefit.runs.run import Run


def show_layers(
    source: str,
    data: str | None,
    *,
    out: Path | None,
    json: bool,
    quiet: bool,
    device: str,
    threads: int | None,
    batch_size: int,
    **reading: Any,
) -> None:
    """Measure, write and show; `reading` are the options of the table."""
    from phasefit.cli.inputs import check_encoder
    from phasefit.runs.run import Run

    if data is None:
        raise PhasefitError("--layers needs DATA: a table or the name of a dataset with texts to measure on")
    run = Run.open_model(source)
    check_encoder(run)
    facts = measured(run, texts_of(run, data, quiet, **reading), quiet, device, threads, batch_size)
    if out is not None:
        write(out, facts, quiet)
    print_table(facts, json)


def texts_of(run: Run, data: str, quiet: bool, **reading: Any) -> Table:
    """The table; labels are not needed, and pairs count as single texts."""
    from phasefit.cli.inputs import read_labelled, report_reading
    from phasefit.data.task_file import is_task_file

    if is_task_file(data):
        raise DataError(f"{data} is a task file; geometry needs a single table: give one of its tables")
    table = read_labelled(data, usual=run.table().columns, need_labels=False, sides="any", **reading)
    report_reading(table, quiet)
    return table.flat()


def measured(run: Run, table: Table, quiet: bool, device: str, threads: int | None, batch_size: int) -> dict[str, Any]:
    """The anisotropy of a sample of the texts, by layer."""
    from phasefit.cli.evaluate import print_notes
    from phasefit.cli.progress import counting, waiting
    from phasefit.models.device import check_device
    from phasefit.runs.evaluation.layers import measure_layers, sample_texts

    texts = sample_texts(table.texts)
    if len(texts) < len(table):
        print_notes([f"{len(texts):,} of the {len(table):,} texts are used"], quiet)
    check_device(device)
    with waiting("loading the model", quiet):
        from phasefit.training.device import set_threads

        set_threads(threads)
        encoder = run.model(device).encoder
    with counting("measuring", len(texts), quiet) as progress:
        return measure_layers(encoder, texts, batch_size=batch_size, progress=progress)


def print_table(facts: dict[str, Any], json: bool) -> None:
    """Print one row per layer."""
    from phasefit.cli.console import print_json, stdout
    from phasefit.cli.tables import new_table
    from phasefit.progress.text import score

    if json:
        print_json(facts)
        return
    table = new_table("layer", "texts", "words", right=range(3), title="Anisotropy (mean cosine of two)")
    for one in facts["layers"]:
        table.add_row(str(one["layer"]), score(one["texts"]), score(one["words"]))
    stdout().print(table)
    stdout().print(
        f"{facts['texts']:,} texts, {facts['words']:,} words in context; layer 0: token embeddings. "
        "0: all directions are used, 1: all vectors point in one direction.",
        soft_wrap=True,
    )


def write(folder: Path, facts: dict[str, Any], quiet: bool) -> None:
    """Write layers.json, layers.png and layers.svg."""
    from phasefit.cli.console import as_json, stderr
    from phasefit.report.pictures.layers import layers_figure

    make_folders(folder)
    layers_figure(facts, folder / "layers.png")
    write_text(folder / "layers.json", as_json(facts) + "\n")
    if not quiet:
        stderr().print(f"layers.json and layers.png (and .svg) are in {folder}", soft_wrap=True)
