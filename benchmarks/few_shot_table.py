"""The Markdown report of a few-shot benchmark: ratios first, then the scores."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean
from typing import Any, TypeAlias

Cell: TypeAlias = dict[str, Any]
Group: TypeAlias = list[Cell]

US = "phasefit"


def table(cells: Sequence[Cell], *, command: str) -> str:
    """The report of one dataset; each contestant and budget is one line, over seeds."""
    groups = grouped(cells)
    first = cells[0]
    ours = [group for (name, _), group in groups.items() if name == US and done(group)]
    rivals = [group for (name, _), group in groups.items() if not name.startswith(US) and done(group)]
    seeds = len({str(cell["seed"]) for cell in cells})
    parts = [
        f"# {first['data']}, {first['per_class']} rows of each class",
        f"`{command}`",
        f"{first['rows']} training rows of {first['classes']} classes, {first['test_rows']} test rows, no validation "
        f"rows, {first['threads']} thread(s), {seeds} {'seed' if seeds == 1 else 'seeds'} (each draws its own rows). "
        "Contestants run one after the other, each in its own process and environment, all from the same encoder "
        "(except scikit-learn, which has none).",
    ]
    if ours and rivals:
        parts += ["## Ratios", RATIOS, ratios(ours, rivals)]
    parts += ["## Scores", SCORES, scores([group for group in groups.values() if done(group)])]
    if failed := [cell for cell in cells if cell["status"] != "done"]:
        lines = [f"- {title(cell)}, seed {cell['seed']}: {cell['status']}" for cell in failed]
        parts += ["## Failed", "\n".join(lines)]
    if starved := [cell for cell in cells if share(cell) < IDLE]:
        lines = [f"- {title(cell)}, seed {cell['seed']}: {100 * share(cell):.0f} % of its cores" for cell in starved]
        parts += ["## Disturbed", DISTURBED, "\n".join(lines)]
    parts += ["## Settings and versions", "\n".join(described(group) for group in groups.values())]
    return "\n\n".join(parts) + "\n"


RATIOS = (
    "Our seconds of training divided by theirs, and our accuracy minus theirs in points (mean over seeds; in brackets "
    "the lowest and the highest). Within their time: our longest budget that took no longer than theirs."
)
SCORES = (
    "Test accuracy and macro F1 in per cent: the mean over seeds, with the lowest and the highest. Train: seconds from "
    "texts in memory and a loaded model to a classifier, including tokenising. Memory: peak of the process until the "
    "end of training, in MB."
)
DISTURBED = (
    "These trainings got less than three quarters of their cores, because other processes used them. Their seconds and "
    "ratios are not reliable; use `--again` to measure them again."
)
IDLE = 0.75  # an undisturbed training keeps its threads busier than this
SHORT = 1.0  # seconds; the share of shorter trainings is not checked


def share(cell: Cell) -> float:
    """The share of its cores that a training got: CPU seconds per second and thread."""
    if cell["status"] != "done" or float(cell["fit_seconds"]) < SHORT:
        return 1.0
    return float(cell["fit_cpu_seconds"]) / float(cell["fit_seconds"]) / int(cell["threads"])


def grouped(cells: Sequence[Cell]) -> dict[tuple[str, str], Group]:
    """Cells by contestant and budget, in the order of the command."""
    groups: dict[tuple[str, str], Group] = {}
    for cell in cells:
        groups.setdefault((str(cell["contestant"]), str(cell["budget"])), []).append(cell)
    return groups


def done(group: Group) -> Group:
    """The cells that have a result."""
    return [cell for cell in group if cell["status"] == "done"]


def title(cell: Cell) -> str:
    """A contestant and its budget."""
    name, budget = str(cell["contestant"]), str(cell["budget"])
    return name if budget == "default" or name.endswith(budget) else f"{name}, {budget}"


# --- ratios -----------------------------------------------------------------------------------------------------------


def ratios(ours: Sequence[Group], rivals: Sequence[Group]) -> str:
    """One line per rival, one column per budget of phasefit."""
    names = [str(group[0]["budget"]) for group in ours]
    columns = ["rival", *(f"ours, {name}" for name in names), *(["within their time"] if len(ours) > 1 else [])]
    rows = []
    for rival in rivals:
        row = [title(rival[0]), *(compared(group, rival) for group in ours)]
        rows.append(row + ([same_time(ours, rival)] if len(ours) > 1 else []))
    return markdown(columns, rows)


def compared(ours: Group, theirs: Group) -> str:
    """Time ratio and accuracy difference over the seeds that both have."""
    pairs = paired(ours, theirs)
    if not pairs:
        return "-"
    ratio = seconds([our for our, _ in pairs]) / max(seconds([their for _, their in pairs]), 1e-9)
    gains = [100 * (float(our["accuracy"]) - float(their["accuracy"])) for our, their in pairs]
    return f"{ratio_text(ratio)} × time, {spread(gains, '{:+.1f}'.format)}"


def same_time(ours: Sequence[Group], rival: Group) -> str:
    """Our longest budget within the rival's time; selected by its seconds, never by its score."""
    within = [group for group in ours if seconds(done(group)) <= seconds(done(rival))]
    if not within:
        return "none is as short"
    longest = max(within, key=lambda group: seconds(done(group)))
    return f"{longest[0]['budget']}: {compared(longest, rival)}"


def paired(ours: Group, theirs: Group) -> list[tuple[Cell, Cell]]:
    """Cells of the same seed."""
    by_seed = {str(cell["seed"]): cell for cell in done(theirs)}
    return [(cell, by_seed[str(cell["seed"])]) for cell in done(ours) if str(cell["seed"]) in by_seed]


def seconds(cells: Sequence[Cell]) -> float:
    """Mean seconds of training."""
    return mean(float(cell["fit_seconds"]) for cell in cells)


def ratio_text(ratio: float) -> str:
    """The ratio with two significant digits."""
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}"


# --- scores -----------------------------------------------------------------------------------------------------------


def scores(groups: Sequence[Group]) -> str:
    """One line per contestant and budget."""
    columns = ["contestant", "accuracy", "macro F1", "train, s", "load, s", "predict, s", "memory, MB", "seeds"]
    rows = []
    for group in groups:
        cells = done(group)
        row = [title(cells[0])]
        row += [
            spread([100 * float(cell[name]) for cell in cells], "{:.1f}".format) for name in ("accuracy", "macro_f1")
        ]
        row.append(spread([float(cell["fit_seconds"]) for cell in cells], time_text))
        row += [time_text(mean(float(cell[name]) for cell in cells)) for name in ("load_seconds", "predict_seconds")]
        rows.append([*row, f"{max(float(cell['peak_mb']) for cell in cells):,.0f}", str(len(cells))])
    return markdown(columns, rows)


def spread(values: Sequence[float], write: Callable[[float], str]) -> str:
    """The mean and, for several values, the lowest and the highest."""
    if len(values) == 1:
        return write(values[0])
    return f"{write(mean(values))} ({write(min(values))} to {write(max(values))})"


def time_text(value: float) -> str:
    """Seconds with a suitable number of digits."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def described(group: Group) -> str:
    """The settings and versions of a line of the table."""
    cell = (done(group) or group)[0]
    versions = f" ({cell['versions']})" if cell.get("versions") else ""
    return f"- **{title(cell)}**: {cell['settings']}{versions}"


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with numbers aligned to the right."""
    rule = "|".join(["-", *("-:" for _ in columns[1:])])
    return "\n".join([f"| {' | '.join(columns)} |", f"|{rule}|", *(f"| {' | '.join(row)} |" for row in rows)])
