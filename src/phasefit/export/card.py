"""The card of an exported folder: what it is, its labels, how to use it, and the figures of the checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from phasefit.export.figures import Figures
from phasefit.metrics.registry import METRICS
from phasefit.report.card.markdown import escape, table

SHOWN_LABELS = 50
TRY = """It runs without torch. In a checkout of phasefit:

```console
$ pip install {requirement}
$ python -m phasefit_runtime FOLDER --say "a text"
```"""
REQUIREMENTS = {"onnx": "./runtime", "openvino": "'./runtime[openvino]'"}


def card(facts: Mapping[str, Any], figures: Figures, *, forced: bool) -> str:
    """The card as Markdown."""
    tasks: Mapping[str, Any] = facts["tasks"]
    what = f"A text model for {facts['engine']} ({facts['precision']}), exported from the run {escape(facts['run'])}"
    usage = TRY.format(requirement=REQUIREMENTS[facts["engine"]])
    parts = [f"# {escape(facts['run'])}", f"{what}, which was trained from {escape(facts['model'])}.", usage]
    if tasks:
        rows = [[name, one["kind"], one["pair"] or "no", _labels(one["space"])] for name, one in tasks.items()]
        parts += ["## Tasks", table(["task", "labels", "pairs", "classes"], rows)]
    parts += ["## Checks", "Compared with the run in torch before it was written."]
    parts.append(table(["", ""], [[name, value] for name, value in figure_rows(figures)]))
    if forced:
        parts.append("**It did not pass these checks and was written with `--force`.**")
    return "\n\n".join(parts) + "\n"


def figure_rows(figures: Figures) -> list[tuple[str, str]]:
    """Name and value of each figure, for the card and the terminal."""
    rows: list[tuple[str, str]] = []
    for name, one in figures.tasks.items():
        of = f"{name}: " if len(figures.tasks) > 1 else ""
        ties = f", {one.ties:,} of them ties" if one.ties else ""
        rows.append((f"{of}rows compared", f"{one.rows:,}"))
        rows.append((f"{of}largest difference", f"{one.difference:.2g}"))
        rows.append((f"{of}equal decisions", f"{one.equal + one.ties:,} ({100 * one.equal_share:.2f} %{ties})"))
        if one.before is not None and one.after is not None:
            title = METRICS[one.metric].title if one.metric in METRICS else one.metric
            rows.append((f"{of}{title} in torch", f"{100 * one.before:.2f}"))
            rows.append((f"{of}{title} of the export", f"{100 * one.after:.2f}"))
    rows.append(("mean cosine of embeddings", f"{figures.cosine:.5f}"))
    rows += [(f"speed at batch size {batch}", f"{ratio:.2f} times torch") for batch, ratio in figures.speed.items()]
    rows.append(("size on disk", f"{figures.size / 1e6:.1f} MB"))
    return rows + ([("in float32", figures.variant)] if figures.variant else [])


def _labels(space: Mapping[str, Any]) -> str:
    classes = [str(label) for label in space.get("classes") or space.get("levels") or ()]
    shown = ", ".join(classes[:SHOWN_LABELS])
    return shown + (f" and {len(classes) - SHOWN_LABELS} more" if len(classes) > SHOWN_LABELS else "") or "a number"
