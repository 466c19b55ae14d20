"""Runs a study: its cells, tables, files and page. Imports no torch itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from phasefit.errors import DataError, RunError
from phasefit.events import Note
from phasefit.files.atomic import write_text
from phasefit.files.manifest import versions
from phasefit.models.encoder.locate import DEFAULT_MODEL
from phasefit.studies.cell import Cell
from phasefit.studies.checks import check_cells, check_pair_scores, has_result
from phasefit.studies.claim_verdicts import ClaimVerdict, claim_verdicts
from phasefit.studies.folder import StudyFolder
from phasefit.studies.formats import to_csv, to_json, to_latex, to_markdown
from phasefit.studies.ledger import Ledger
from phasefit.studies.missing_cells import Missing, Portion, as_json, missing_cells, state
from phasefit.studies.page import write_study_page
from phasefit.studies.pool import ONE, Listener, run_cells
from phasefit.studies.processes import CellEngine
from phasefit.studies.result import Result, figure
from phasefit.studies.study import Study, TableSpec, check_variants
from phasefit.studies.tables import Table, fill
from phasefit.studies.verdict import Evidence, Repetitions, verdicts

WHOLE = Portion()
Curves = Callable[[Sequence[Cell], Mapping[str, Result]], list[dict[str, Any]]]


@dataclass(frozen=True)
class StudyResult:
    """A finished study."""

    folder: Path
    study: Study
    tables: tuple[Table, ...]
    cells: tuple[Cell, ...]
    results: Mapping[str, Result]
    verdicts: tuple[str, ...] = ()
    claims: tuple[ClaimVerdict, ...] = ()

    @property
    def missing(self) -> list[Missing]:
        """The cells that were not run."""
        return missing_cells(self.cells, self.results)


def run_study(
    study: Study,
    listen: Listener,
    *,
    out: Path | None = None,
    overwrite: bool = False,
    engine: CellEngine = ONE,
    keep_runs: bool = False,
    command: str = "",
    tables: Sequence[TableSpec] = (),
    curves: Curves = lambda cells, results: [],
    portion: Portion = WHOLE,
) -> StudyResult:
    """Run the missing cells, or a portion of them, then write all tables; the same call resumes a stopped study."""
    study = replace(study, notes=(f"Encoder: {model_of(study)}.", *study.notes))
    specs = tuple(tables or study.tables or (TableSpec(study.title),))
    check_variants(study.variants)
    cells = study.cells(specs)
    if not cells:
        raise DataError(f"the study '{study.name}' has no cells; name at least one dataset and one recipe")
    keys = [cell.key for cell in cells]  # reads every table, so that a missing one is an error before training
    question = _question(study, specs, keys)
    chosen, ledger = portion.chosen(cells), portion.ledger
    for spec in specs:
        check_pair_scores(spec.score, study.cells((spec,)))
    for note in check_cells(chosen, StudyFolder.cache_of(out), [spec.score for spec in specs], ledger):
        listen(Note(note))
    for name in () if ledger is None else ledger.ignored():
        listen(Note(f"the ledger has '{name}', which is not named by the key of a cell and is ignored"))
    if ledger is not None:
        for cell in cells:
            ledger.find(cell)  # raises for a damaged file before a folder is created
        if chosen:
            ledger.check_writable()
    if not portion.run and not any(has_result(cell, StudyFolder.cache_of(out), ledger) for cell in cells):
        raise RunError(f"--no-run: {_nothing_found(study, ledger)}, or leave out --no-run")
    folder = StudyFolder.open(study.name, question, out, overwrite=overwrite)
    results = run_cells(
        cells,
        folder.cache,
        engine=engine,
        keep=keep_runs,
        listen=listen,
        enough=portion.stop(),
        ledger=ledger,
        chosen=[cell.key for cell in chosen],
    )
    if ledger is not None or not portion.is_whole:
        study = replace(study, notes=(state(cells, results), *study.notes))
    filled = tuple(fill(study, spec, cells, results) for spec in specs)
    for table in filled:
        if not table.rows and table.cells:
            raise DataError(f"{table.title}: no run has a score '{table.metric}'; choose another score")
    claims = tuple(claim_verdicts(study, cells, results))
    lines = curves(cells, results)
    sentences = write_files(folder.path, study, filled, cells, results, command, lines, claims=claims)
    folder.finish({"command": command, "cells": keys}, complete=all(key in results for key in keys))
    return StudyResult(folder.path, study, filled, tuple(cells), results, tuple(sentences), claims)


def _nothing_found(study: Study, ledger: Ledger | None) -> str:
    """Why there is no result to show, and what to check."""
    place = "finished" if ledger is None else f"in the ledger {ledger.path} or finished here"
    number = 0 if ledger is None else ledger.size()
    if not number:
        return f"no run of the study '{study.name}' is {place}; check --ledger"
    others = "1 other result" if number == 1 else f"{number:,} other results"
    return (
        f"no run of the study '{study.name}' with these options is {place}; the ledger has {others}; check "
        "--scale, --model, --threads, --device and the tables, which must be those of its runs"
    )


def write_files(
    path: Path,
    study: Study,
    tables: Sequence[Table],
    cells: Sequence[Cell],
    results: Mapping[str, Result],
    command: str,
    curves: list[dict[str, Any]],
    seeds_option: str = "--seeds",
    claims: Sequence[ClaimVerdict] = (),
) -> list[str]:
    """Write results.csv, .md, .tex, .json and report.html; returns the verdicts.

    `seeds_option` sets the number of seeds, for the advice in a verdict.
    """
    evidence = Evidence(repetitions(cells, results), seeds_option)
    content = page_content(study, tables, cells, results, command, curves)
    content["verdicts"] = verdicts(content["tables"], evidence)
    content["claims"] = [one.to_json() for one in claims]
    write_text(path / "results.csv", to_csv(tables))
    notes = (*content["verdicts"], *study.notes)
    write_text(path / "results.md", to_markdown(study.title, command, tables, notes, claims))
    write_text(path / "results.tex", to_latex(study.title, command, tables, study.notes))
    write_text(path / "results.json", to_json(content))
    write_study_page(path / "report.html", content, evidence)
    return list(content["verdicts"])


def page_content(
    study: Study,
    tables: Sequence[Table],
    cells: Sequence[Cell],
    results: Mapping[str, Result],
    command: str,
    curves: list[dict[str, Any]],
) -> dict[str, Any]:
    """All results of a study, for results.json and the page."""
    metric = tables[0].metric
    threads = sorted({result.threads for result in results.values() if result.threads is not None})
    return {
        "title": study.title,
        "command": command,
        "metric": metric,
        "notes": list(study.notes),
        "environment": versions() | {"threads of a run": ", ".join(map(str, threads))},
        "tables": [table.to_json() for table in tables],
        "cells": [_cell(cell, results[cell.key], metric) for cell in cells if cell.key in results],
        "planned": len(cells),
        "missing": as_json(missing_cells(cells, results)),
        "curves": curves,
    }


def repetitions(cells: Sequence[Cell], results: Mapping[str, Result]) -> dict[tuple[str, str], Repetitions]:
    """Seeds and scored rows by dataset and variant; folds of a seed score different rows, which add up.

    Rows are unknown for several tasks, and if they differ between seeds.
    """
    by_seed: dict[tuple[str, str], dict[int, list[Result]]] = {}
    for cell in cells:
        if cell.key in results:
            of_seed = by_seed.setdefault((cell.dataset, cell.variant), {}).setdefault(cell.spec.seed, [])
            of_seed.append(results[cell.key])
    counted = {}
    for name, seeds in by_seed.items():
        rows = {}
        for split in ("validation", "test"):
            counts = {sum(map(_int, (result.rows.get(split) for result in of_seed))) for of_seed in seeds.values()}
            if len(counts) == 1 and 0 not in counts:
                rows[split] = counts.pop()
        counted[name] = Repetitions(len(seeds), rows)
    return counted


def _int(count: Any) -> int:
    return count if isinstance(count, int) else 0


def model_of(study: Study) -> str:
    """Name of the encoder that runs start from; for a folder, its last part."""
    given = study.common.get("model")
    return DEFAULT_MODEL.rpartition("/")[2] if given is None else Path(str(given)).name


def seeds_of(number: int, first: int = 0) -> tuple[int, ...]:
    """`number` consecutive seeds, starting with `first`."""
    return tuple(range(first, first + number))


def fresh_seeds(number: int, used: Sequence[int]) -> tuple[int, ...]:
    """`number` seeds that were not used."""
    start = max(used, default=-1) + 1
    return tuple(start + index for index in range(number))


def _cell(cell: Cell, result: Result, metric: str) -> dict[str, Any]:
    score = figure(result.metrics, metric.split(", ")[0])
    return {
        "dataset": cell.dataset,
        "variant": cell.variant,
        "seed": cell.spec.seed,
        "fold": cell.spec.split.fold[0] if cell.spec.split.fold else None,
        "score": score,
        "minutes": result.seconds / 60,
        "memory_mb": result.memory_mb,
        "reverted": ", ".join(result.reverted),
        "command": result.command,
    }


def _question(study: Study, specs: Sequence[TableSpec], keys: Sequence[str]) -> dict[str, Any]:
    """What identifies a study: its name, cells and tables."""
    return {"study": study.name, "keys": list(keys), "tables": [asdict(spec) for spec in specs]}
