"""The tables of a study as CSV, JSON, Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from phasefit.control_characters import escape_controls, one_line
from phasefit.metrics.registry import metric_at, spelled
from phasefit.studies.claim_verdicts import EXPLAINED as CLAIMS_EXPLAINED
from phasefit.studies.claim_verdicts import HEADINGS as CLAIM_HEADINGS
from phasefit.studies.claim_verdicts import ClaimVerdict, shown
from phasefit.studies.tables import MARK, Row, Table

HEADINGS = ("dataset", "recipe", "runs", "mean ± sd", "95 % interval", "difference", "p", "rank", "minutes", "MB")
EXPLAINED = (
    "Difference: compared with the first recipe of the dataset on the same rows and seeds, with its 95 % interval, "
    "which is not corrected for the number of recipes. Intervals cover the seeds and the number of test rows. "
    "p: paired t test, corrected for rows that repetitions share (Nadeau and Bengio) and for the number of recipes "
    "(Holm); over all datasets Wilcoxon's signed-rank test. Minutes (mean) and MB (peak memory) are per run."
)
_LATEX = {
    **{character: f"\\{character}" for character in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "†": r"$\dagger$",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # after \\ it would start an optional argument
    "]": "{]}",
}


def to_csv(tables: Sequence[Table]) -> str:
    """One line per table, dataset and variant; numbers in full precision."""
    names = [field.name for field in fields(Row)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n", quoting=csv.QUOTE_NONNUMERIC)  # otherwise a lone \r is not quoted
    writer.writerow(["table", "metric", *names])
    for table in tables:
        for row in (*table.rows, *table.overall):
            content = asdict(row) | {"dataset": table.label(row.dataset)}
            writer.writerow(
                [table.title, table.metric, *("" if content[name] is None else content[name] for name in names)]
            )
    return out.getvalue()


def to_json(content: Any) -> str:
    """Content as indented JSON."""
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def to_markdown(
    title: str, command: str, tables: Sequence[Table], notes: Sequence[str] = (), claims: Sequence[ClaimVerdict] = ()
) -> str:
    """The tables, after the command that produced them and the verdicts on a paper's claims."""
    lines = [f"# {_cell(title)}", "", f"    {one_line(command)}", ""]
    lines += [f"- {_sentence(note)}" for note in notes] + ([""] if notes else [])
    lines += _claims(claims)
    for table in tables:
        lines += [f"## {_cell(table.title)} ({metric_name(table.metric)})", ""]
        lines += [_sentence(table.note), ""] if table.note else []
        if has_published(table):
            lines += comparison_with_published(table)
            lines.append("")
        lines += ["| " + " | ".join(HEADINGS) + " |", "|-|-|" + "-:|" * (len(HEADINGS) - 2)]
        lines += ["| " + " | ".join(map(_cell, cells(row, table))) + " |" for row in (*table.rows, *table.overall)]
        lines.append("")
    return escape_controls("\n".join([*lines, EXPLAINED, ""]))


def _sentence(note: str) -> str:
    """A note as Markdown; names in it, which may come from the files of others, are never HTML."""
    return re.sub(r"<(?=[A-Za-z/!?])", r"\\<", one_line(note))


def to_latex(title: str, command: str, tables: Sequence[Table], notes: Sequence[str] = ()) -> str:
    """Tables for a paper, with booktabs; published results in a separate column, notes under each table."""
    lines = [f"% {one_line(line)}" for line in (title, command, *notes)]
    for table in tables:
        caption = f"{table.title}: {metric_name(table.metric)}"
        published = has_published(table)
        headings = [*HEADINGS, *(["published"] if published else [])]
        lines += [
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{_latex(caption)}}}",
            r"\begin{tabular}{ll" + "r" * (len(headings) - 2) + "}",
            r"\toprule",
            " & ".join(map(_latex, headings)) + r" \\",
            r"\midrule",
            *(" & ".join(map(_latex, _with_published(row, table, published))) + r" \\" for row in _all_rows(table)),
            r"\bottomrule",
            r"\end{tabular}",
            *([rf"\par\smallskip\footnotesize {_latex(table.note)}"] if table.note else []),
            r"\end{table}",
        ]
    return escape_controls("\n".join([*lines, ""]))


def _all_rows(table: Table) -> tuple[Row, ...]:
    return (*table.rows, *table.overall)


def _with_published(row: Row, table: Table, published: bool) -> list[str]:
    """The cells of a row, and the published result with its model."""
    if not published:
        return cells(row, table)
    paper = "" if row.published is None else f"{row.published * factor(table):.2f} ({row.published_model})"
    return [*cells(row, table), paper]


def cells(row: Row, table: Table) -> list[str]:
    """The cells of a row; shares such as accuracy in per cent."""
    scale = factor(table)
    spread = "" if row.sd is None else f" ± {row.sd * scale:.2f}"
    interval = "" if row.low is None or row.high is None else f"{row.low * scale:.2f} to {row.high * scale:.2f}"
    return [
        table.label(row.dataset),
        row.variant,
        str(row.n) if row.planned is None else f"{row.n} of {row.planned}",
        f"{row.mean * scale:.2f}{spread}{mark(row)}",
        interval,
        difference(row, scale),
        "" if row.p is None else f"{row.p:.3f}" if row.p >= 0.001 else "<0.001",
        "" if row.rank is None else f"{row.rank:.1f}",
        "" if row.minutes is None else f"{row.minutes:.1f}",
        "" if row.memory_mb is None else f"{row.memory_mb:,.0f}",
    ]


def mark(row: Row) -> str:
    """The mark of a mean with runs in which a phase was reverted; the note of the table explains it."""
    return f" {MARK}" if row.reverted else ""


def difference(row: Row, scale: float) -> str:
    """The difference from the first variant, with its interval if known."""
    if row.difference is None:
        return ""
    gain = f"{row.difference * scale:+.2f}"
    if row.difference_low is None or row.difference_high is None:
        return gain
    return f"{gain} [{row.difference_low * scale:+.2f}, {row.difference_high * scale:+.2f}]"


def factor(table: Table) -> float:
    """100 for shares, 1 for other metrics such as squared errors."""
    return 100.0 if metric_at(table.metric).is_share else 1.0


def _claims(claims: Sequence[ClaimVerdict]) -> list[str]:
    """The lines of a section with all verdicts; none without claims."""
    if not claims:
        return []
    lines = ["## Claims", "", "| " + " | ".join(CLAIM_HEADINGS) + " |", "|-|-|-:|-:|-:|-|"]
    lines += ["| " + " | ".join(map(_cell, shown(one))) + " |" for one in claims]
    return [*lines, "", CLAIMS_EXPLAINED, ""]


def has_published(table: Table) -> bool:
    """Whether the table includes published results."""
    return any(row.published is not None for row in table.rows)


def comparison_with_published(table: Table) -> list[str]:
    """One row per dataset, one column per variant: our result, and the published one in brackets."""
    datasets = list(dict.fromkeys(row.dataset for row in table.rows))
    variants = list(dict.fromkeys(row.variant for row in table.rows))
    models = list(dict.fromkeys(row.published_model for row in table.rows if row.published_model))
    by_place = {(row.dataset, row.variant): row for row in table.rows}
    scale = factor(table)
    lines = [
        f"Our results; published ones in brackets, for {_cell(models[0])} unless another model is named.",
        "",
        f"| | {' | '.join(map(_cell, variants))} |",
        "|-|" + "-:|" * len(variants),
    ]
    for dataset in datasets:
        shown = [_pair(by_place.get((dataset, variant)), scale, models[0]) for variant in variants]
        lines.append(f"| {_cell(table.label(dataset))} | {' | '.join(shown)} |")
    return lines


def _pair(row: Row | None, scale: float, usual: str) -> str:
    if row is None:
        return ""
    spread = "" if row.sd is None else f" ± {row.sd * scale:.1f}"
    spread += mark(row)
    if row.published is None:
        return f"{row.mean * scale:.1f}{spread}"
    model = "" if row.published_model == usual else f"{row.published_model} "
    more = f"; {row.note}" if row.note else ""
    return f"{row.mean * scale:.1f}{spread} ({_cell(f'{model}{row.published * scale:.1f}{more}')})"


def metric_name(path: str) -> str:
    """`test.macro_f1` spelled out: macro F1 on test."""
    parts = [one.partition(".") for one in path.split(", ")]
    return ", ".join(f"{spelled(name.removeprefix('tasks.'))} on {split}" for split, _, name in parts)


def _cell(text: str) -> str:
    """A text escaped for a Markdown table: no line breaks, bars or markup."""
    flat = " ".join(one_line(text).split())
    return re.sub(r"([\\`*_\[\]<>|])", r"\\\1", flat)


def _latex(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in " ".join(one_line(text).split()))
