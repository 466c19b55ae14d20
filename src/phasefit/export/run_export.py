"""Export a run: build the graph in a temporary folder, check it against torch, and only then write it to its place."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from phasefit.errors import DataError, ModelError
from phasefit.events import Note, Stage
from phasefit.export import folder as files
from phasefit.export import onnx_library, openvino_library
from phasefit.export.check_rows import CheckRows, rows_of_file, rows_of_run
from phasefit.export.figures import Figures, Precision
from phasefit.runs.stop import Stop

if TYPE_CHECKING:
    from phasefit.events import Listener
    from phasefit.export.graph import Graph
    from phasefit.models.model import Model
    from phasefit.runs.run import Run

Engine = Literal["onnx", "openvino"]
FEED_FORWARD = "the last product of each feed-forward block"


@dataclass(frozen=True)
class ExportOptions:
    """What to write, and where."""

    folder: Path
    engine: Engine = "onnx"
    int8: bool = False
    texts: str | None = None  # a table to check and calibrate with, in place of the rows of the run
    with_texts: bool = False
    force: bool = False
    overwrite: bool = False

    @property
    def precision(self) -> Precision:
        """The precision of the weights."""
        return "int8" if self.int8 else "fp32"


@dataclass(frozen=True)
class ExportResult:
    """A written export."""

    folder: Path
    figures: Figures
    forced: bool


@dataclass(frozen=True)
class Variant:
    """One way to write the files of the engine; later ones are more exact and slower."""

    write: Callable[[Path], object]
    in_float32: str = ""


def export_run(
    run: Run, options: ExportOptions, listen: Listener, *, clock: Callable[[], float] = time.process_time
) -> ExportResult:
    """Write an exported folder; ModelError with the figures if it is not as exact or as fast as required.

    `clock` returns CPU seconds.
    """
    check(run, options)
    rows = _read_rows(run, options, listen)
    listen(Stage("loading the model"))
    model = run.model("cpu")
    with Stop() as stop, tempfile.TemporaryDirectory(prefix="phasefit-export-") as work:
        built, figures, problems = _build(run, model, rows, options, Path(work), listen, clock)
        forced = bool(problems)
        if forced and not options.force:
            raise ModelError(f"the {options.precision} export is refused: {'; '.join(problems)}; {_instead(options)}")
        for problem in problems:
            listen(Note(f"written because of --force, although {problem}", warning=True))
        facts = built.facts
        if options.with_texts:
            listen(Stage("embedding the training texts"))
            facts = {**facts, "texts": files.write_texts(model, rows.trained, built.folder)}
        from phasefit.export.card import card

        (built.folder / files.CARD).write_text(card(facts, figures, forced=forced), encoding="utf-8")
        files.write_manifest(built.folder, facts, figures, forced=forced)
        listen(Stage("writing"))
        stop.check()
        files.check_target(options.folder, overwrite=options.overwrite)  # it may have been created meanwhile
        files.publish(built.folder, options.folder)
    return ExportResult(options.folder, figures, forced)


def check(run: Run, options: ExportOptions) -> None:
    """Refuse what cannot be exported, before torch is imported."""
    run.check_encoder()
    files.check_target(options.folder, overwrite=options.overwrite)
    if options.with_texts:
        files.check_texts(run)
    onnx_library.check_installed()
    if options.engine == "openvino":
        openvino_library.check_installed(quantise=options.int8)


@dataclass(frozen=True)
class Built:
    """A complete folder without figures."""

    folder: Path
    facts: dict[str, Any]


def _read_rows(run: Run, options: ExportOptions, listen: Listener) -> CheckRows:
    listen(Stage("reading the rows to check the export on"))
    if options.texts is not None:
        return rows_of_file(run, options.texts)
    try:
        return rows_of_run(run, listen)
    except DataError as error:
        raise DataError(
            f"{error}; pass a table like the training table with --texts FILE, to check the export on its rows"
        ) from error


def _build(
    run: Run,
    model: Model,
    rows: CheckRows,
    options: ExportOptions,
    work: Path,
    listen: Listener,
    clock: Callable[[], float],
) -> tuple[Built, Figures, list[str]]:
    """The first variant that passes all checks; if none does, the first one, and why each was refused."""
    from phasefit.export.graph import Graph, eager_attention

    listen(Stage("writing the graph"))
    graph = Graph(model)
    with eager_attention(model):
        onnx_library.write_onnx(graph, work / "graph.onnx")
    refused: list[tuple[Built, Figures, list[str]]] = []
    for number, variant in enumerate(_variants(work / "graph.onnx", model, rows, options, listen)):
        built = _write(run, model, graph, variant, options, work / f"variant-{number}")
        figures = _figures(model, built, rows, options.precision, variant, listen, clock)
        problems = figures.problems()
        if not problems:
            return built, figures, []
        refused.append((built, figures, problems))
        if not figures.inaccuracies():  # a more exact variant is slower
            break
    built, figures, problems = refused[0]
    for _, later, others in refused[1:]:
        problems = [*problems, *(f"with {later.variant} in float32, {other}" for other in others)]
    return built, figures, problems


def _variants(
    source: Path, model: Model, rows: CheckRows, options: ExportOptions, listen: Listener
) -> Iterator[Variant]:
    """The ways to write the engine's files, fastest first."""
    if options.engine == "openvino":
        from phasefit.export.batches import calibration_batches

        batches = calibration_batches(model, rows.calibration) if options.int8 else []
        if batches:
            listen(Stage(f"quantising to int8, calibrated with {len(batches):,} rows"))
        yield Variant(lambda folder: openvino_library.write_openvino(source, folder / "model.xml", batches))
    elif options.int8:
        listen(Stage("quantising to int8"))
        yield Variant(lambda folder: onnx_library.quantise_onnx(source, folder / "model.onnx"))
        listen(Stage(f"quantising again with {FEED_FORWARD} in float32"))
        yield Variant(
            lambda folder: onnx_library.quantise_onnx(source, folder / "model.onnx", keep_narrowing=True), FEED_FORWARD
        )
    else:
        yield Variant(lambda folder: (folder / "model.onnx").write_bytes(source.read_bytes()))


def _write(run: Run, model: Model, graph: Graph, variant: Variant, options: ExportOptions, folder: Path) -> Built:
    folder.mkdir()
    variant.write(folder)
    files.write_tokenizer(model, folder)
    facts = files.describe(run, model, graph, options.engine, options.precision)
    files.write_manifest(folder, facts)
    return Built(folder, facts)


def _figures(
    model: Model,
    built: Built,
    rows: CheckRows,
    precision: Precision,
    variant: Variant,
    listen: Listener,
    clock: Callable[[], float],
) -> Figures:
    """Compare the folder with torch, as the runtime runs it."""
    from phasefit.export.checks import compare
    from phasefit.export.speed import speed_ratios
    from phasefit.models.exported import ExportedModel

    listen(Stage(f"comparing with torch on {sum(map(len, rows.checked.values())):,} rows"))
    try:
        exported = ExportedModel.load(built.folder, threads=1)
        figures = compare(model, exported, rows.checked, precision)
        listen(Stage("measuring the speed"))
        speed = speed_ratios(model, exported, rows.checked, clock)
    except ModelError as error:
        raise ModelError(f"the exported graph does not run: {error}") from error
    names = files.ENGINE_FILES[built.facts["engine"]]
    size = sum((built.folder / name).stat().st_size for name in names)
    return replace(figures, speed=speed, variant=variant.in_float32, size=size)


def _instead(options: ExportOptions) -> str:
    other = "export without --int8, or " if options.int8 else ""
    return f"{other}use --force to write it anyway"
