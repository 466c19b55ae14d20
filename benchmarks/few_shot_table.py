"""The Markdown of a few-shot benchmark: ratios first, then what they were made of."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import mean
from typing import Any, TypeAlias

Cell: TypeAlias = dict[str, Any]
Group: TypeAlias = list[Cell]

US = "phasefit"


def table(cells: Sequence[Cell], *, command: str) -> str:
    """Everything about one dataset; cells of one contestant and budget, over seeds, are one line."""
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
        "One contestant after the other, each in a process and an environment of its own, all from the same encoder "
        "(but for scikit-learn, which has none).",
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
    "Our seconds of training over theirs, and our accuracy less theirs in points (mean over seeds, then the least and "
    "the most). Within their time: the longest of our budgets that took no longer than they did."
)
SCORES = (
    "Test accuracy and macro F1 in per cent: the mean over seeds, then the least and the most. Train: seconds from "
    "texts in memory and a loaded model to a classifier, tokenising included. Memory: the process's peak up to "
    "then, in MB."
)
DISTURBED = (
    "While these trained, they got less than three quarters of their cores: others used them. Their seconds, and the "
    "ratios made of them, say nothing; `--again` measures them anew."
)
IDLE = 0.75  # a training that nobody disturbs keeps its threads busy for more of the time
SHORT = 1.0  # seconds below which the share of the core is not looked at


def share(cell: Cell) -> float:
    """How busy each of its threads was: CPU seconds per second of training and thread."""
    if cell["status"] != "done" or float(cell["fit_seconds"]) < SHORT:
        return 1.0
    return float(cell["fit_cpu_seconds"]) / float(cell["fit_seconds"]) / int(cell["threads"])


def grouped(cells: Sequence[Cell]) -> dict[tuple[str, str], Group]:
    """Cells by contestant and budget, in the order they were asked for."""
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
    """A line for each rival, a column for each of our budgets."""
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
    """The longest of our budgets within the rival's time; chosen by its seconds, never by its score."""
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
    """Two digits that count."""
    return f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}"


# --- scores -----------------------------------------------------------------------------------------------------------


def scores(groups: Sequence[Group]) -> str:
    """A line for each contestant and budget."""
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
    """The mean, and where there is more than one value the least and the most."""
    if len(values) == 1:
        return write(values[0])
    return f"{write(mean(values))} ({write(min(values))} to {write(max(values))})"


def time_text(value: float) -> str:
    """Seconds with as many digits as they deserve."""
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.2f}"


def described(group: Group) -> str:
    """What a line of the table was run with."""
    cell = (done(group) or group)[0]
    versions = f" ({cell['versions']})" if cell.get("versions") else ""
    return f"- **{title(cell)}**: {cell['settings']}{versions}"


def markdown(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table; numbers to the right."""
    rule = "|".join(["-", *("-:" for _ in columns[1:])])
    return "\n".join([f"| {' | '.join(columns)} |", f"|{rule}|", *(f"| {' | '.join(row)} |" for row in rows)])
