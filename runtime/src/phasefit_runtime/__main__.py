"""`python -m phasefit_runtime FOLDER --say TEXT`, or one text per line on standard input: answers as JSON lines."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

from phasefit_runtime import ExportError, InputError, load
from phasefit_runtime.errors import escape_controls
from phasefit_runtime.labels import Labels

LINES = 1024  # that are answered together


def main(arguments: list[str] | None = None) -> int:
    """Answer texts; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m phasefit_runtime", description="Answers of an exported model.")
    parser.add_argument("folder", help="a folder that 'phasefit export' wrote")
    parser.add_argument("--say", action="append", metavar="TEXT", help="a text; without it, lines of standard input")
    parser.add_argument("--task", help="the task of a model with several")
    parser.add_argument("--reject-below", type=float, metavar="P", help="withhold less probable answers (null)")
    parser.add_argument("--threads", type=int, metavar="N", help="CPU threads")
    given = parser.parse_args(arguments)
    try:
        model = load(given.folder, given.threads)
        task = model.task(given.task)
        lines: Iterable[str] = given.say or _standard_input()
        for rows in _parts(_rows(lines, task.pair is not None)):
            outputs = model.predict_outputs(rows, task.name)
            answers = task.labels.answers(outputs, given.reject_below)
            for row, answer, values in zip(rows, answers, outputs, strict=True):
                line = json.dumps(_entry(row, answer, values, task.labels), ensure_ascii=False)
                sys.stdout.write(escape_controls(line) + "\n")  # labels of a stranger must not control a terminal
            sys.stdout.flush()
    except (ExportError, InputError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    except BrokenPipeError:
        return 0
    return 0


def _rows(lines: Iterable[str], pairs: bool) -> Iterator[Any]:
    """Texts; a pair is two texts separated by a tab, or two --say."""
    if not pairs:
        yield from lines
        return
    texts = iter(text for line in lines for text in line.split("\t"))
    for one in texts:
        other = next(texts, None)
        if other is None:
            raise InputError("this model needs pairs of texts: two on each line, separated by a tab, or two --say")
        yield one, other


def _parts(rows: Iterator[Any]) -> Iterator[list[Any]]:
    while part := list(islice(rows, LINES)):
        yield part


def _standard_input() -> Iterator[str]:
    """Its lines, which must be UTF-8."""
    for number, line in enumerate(sys.stdin.buffer, start=1):
        try:
            yield line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise InputError(f"standard input, line {number}: invalid UTF-8; convert the text to UTF-8") from None


def _entry(row: Any, answer: Any, values: Any, labels: Labels) -> dict[str, Any]:
    numbers = [round(float(value), 6) for value in values]
    label = sorted(answer, key=str) if isinstance(answer, frozenset) else answer
    if labels.kind == "score":
        return {"text": row, "label": label, "score": numbers[0]}
    return {"text": row, "label": label, "probabilities": dict(zip(labels.names, numbers, strict=True))}


if __name__ == "__main__":
    raise SystemExit(main())
