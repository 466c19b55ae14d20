"""The figures of a study: for its page, and as files next to its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from phasefit.studies.cell import Cell
from phasefit.studies.gains import Gain, compared, curve, gains, rows_of, training_rows, write_gains
from phasefit.studies.result import Result
from phasefit.studies.score_figure import chart, drawn_table, write_scores
from phasefit.studies.study import Study
from phasefit.studies.study_file import FigurePart

Results = Mapping[str, Result]


@dataclass(frozen=True)
class Figures:
    """The figures of a study at a scale; `whole` is the study at full scale."""

    parts: Sequence[FigurePart]
    study: Study
    whole: Study
    data_dir: Path | None = None

    def for_page(self, cells: Sequence[Cell], results: Results) -> list[dict[str, Any]]:
        """The figures that have results, for the page."""
        shown = []
        for part in self.parts:
            if part.kind == "gain":
                points = self._gains(part, cells, results)
                shown += [curve(part, points)] if points else []
            else:
                table = drawn_table(part, self.study, cells, results)
                shown += [] if table is None else [chart(part, table)]
        return shown

    def write(self, folder: Path, cells: Sequence[Cell], results: Results) -> None:
        """Write the figures that have results as CSV, PNG and SVG: gain, gain-2, scores ..."""
        for part in self.parts:
            number = 1 + [other for other in self.parts if other.kind == part.kind].index(part)
            name = part.kind if number == 1 else f"{part.kind}-{number}"
            if part.kind == "gain":
                points = self._gains(part, cells, results)
                if points:
                    write_gains(folder, part, points, name)
            elif (table := drawn_table(part, self.study, cells, results)) is not None:
                write_scores(folder, part, table, name)

    def _gains(self, part: FigurePart, cells: Sequence[Cell], results: Results) -> list[Gain]:
        rows = {data.name: training_rows(data, self.data_dir) for data in self.study.datasets}
        paper = {data.name: training_rows(data, self.data_dir) for data in self.whole.datasets}
        known = {name: rows.get(name) or counted for name, counted in rows_of(cells, results).items()}
        sources = {data.name: str(data.options["data"]) for data in self.study.datasets}
        return gains(part, compared(part, self.study, cells, results), known, paper, sources)
