"""What `phasefit evaluate` prints and writes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from phasefit.files.atomic import make_folders, write_text

if TYPE_CHECKING:
    import pandas as pd


class Evaluated(NamedTuple):
    """The scores of one table, and the table with its predictions."""

    name: str
    metrics: dict[str, Any]
    predicted: pd.DataFrame


def show_all(metrics: dict[str, Any], json: bool) -> None:
    """Print the metrics of each task, then the mean."""
    from phasefit.cli.console import print_json, stdout

    if json:
        print_json(metrics)
        return
    for name, one in metrics["tasks"].items():
        stdout().print(name, style="bold")
        show_metrics(one, name)
    stdout().print(f"mean of the tasks: {metrics['mean']:.4f}")


def show_metrics(metrics: dict[str, Any], name: str, json: bool = False) -> None:
    """Print the metrics of one table, then of each class."""
    from phasefit.cli.console import print_json, printable, stdout
    from phasefit.cli.tables import classes_table, metrics_table

    if json:
        print_json(metrics)
        return
    stdout().print(metrics_table({printable(name, 30): metrics}))
    if metrics.get("per_class"):
        stdout().print(classes_table(metrics["per_class"]))


def write_evaluation(folder: Path, one: Evaluated, quiet: bool, escape_formulas: bool = False) -> None:
    """Write metrics.json, predictions.csv and a plot."""
    from phasefit.cli.console import stderr
    from phasefit.cli.outputs import ROWS, rescued
    from phasefit.data.io.frames import write_frame
    from phasefit.report.pictures import draw_scores

    path = folder / "predictions.csv"
    with rescued(lambda other: write_frame(one.predicted, other), path, ROWS):
        write_metrics(folder, one.metrics)
        write_frame(one.predicted, path, escape_formulas=escape_formulas)
    pictures = draw_scores(folder, one.metrics, first_only=True)
    if not quiet:
        files = ", ".join(["metrics.json", "predictions.csv"])
        stderr().print(f"{files} and {pictures[0]} (and .svg) are in {folder}", soft_wrap=True)


def write_metrics(folder: Path, metrics: dict[str, Any]) -> None:
    """Write metrics.json."""
    from phasefit.cli.console import as_json

    make_folders(folder)
    write_text(folder / "metrics.json", as_json(metrics) + "\n")
