"""The papers' tables and the verdicts on their claims, written from the ledger. Nothing is trained.

    python benchmarks/papers.py
    python benchmarks/papers.py --studies three-phase,mirror --substitute FOLDER

For each study this runs `phasefit reproduce ... --ledger benchmarks/ledger --no-run`, copies its tables and figures to
`benchmarks/results/reproduce-NAME.*`, and replaces the table of claims in `docs/reproduce.md`. The mirror study starts
from the substitute encoder that `substitute_encoder.py` builds; without it, its part is left as it is.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "reproduce.md"
LEDGER = "benchmarks/ledger"
SUBSTITUTE = "mirror"  # the study that starts from the substitute encoder
OPTIONS: Mapping[str, Sequence[str]] = {  # the repetitions that were planned and run so far
    "three-phase": ("--seeds", "1"),
    "triple-entropy": ("--seeds", "1"),
    "label-aware": (),
    "mirror": (),
    "multitask": (),
    "tree": (),
}
HEADINGS = ("claim", "published", "ours [95 % interval]", "p", "cells", "verdict")
OUTSIDE = "not part of the selected"  # how the reason of a claim begins that the scale leaves out


def main() -> None:
    """Write the tables and the page."""
    parser = argparse.ArgumentParser(description="write the papers' tables from the ledger")
    parser.add_argument("--studies", default=",".join(OPTIONS), help="only these, separated by commas")
    parser.add_argument("--substitute", type=Path, help="the folder that substitute_encoder.py wrote")
    args = parser.parse_args()
    names = args.studies.split(",")
    for name in names:
        if name not in OPTIONS:
            raise SystemExit(f"there is no study '{name}'; choose from {', '.join(OPTIONS)}")
    for name in names:
        if name == SUBSTITUTE and args.substitute is None:
            print(f"{name}: left as it is; pass --substitute FOLDER")
            continue
        model = () if name != SUBSTITUTE else ("--model", str(args.substitute.resolve()))
        results = write_study(name, [*OPTIONS[name], *model])
        PAGE.write_text(with_claims(PAGE.read_text(encoding="utf-8"), name, results), encoding="utf-8")
        print(f"{name}: {len(results['cells'])} of {results['planned']} cells")


def write_study(name: str, options: Sequence[str]) -> dict[str, Any]:
    """Write the tables of a study from the ledger to `benchmarks/results`; returns its results.json."""
    words = ["reproduce", name, "--scale", "evening", *options, "--ledger", LEDGER, "--no-run"]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / name
        command = [sys.executable, "-m", "phasefit", *words, "--quiet", "-o", str(out)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{name}: {done.stderr.strip()}")
        text = (out / "results.md").read_text(encoding="utf-8")
        (RESULTS / f"reproduce-{name}.md").write_text(with_command(text, words), encoding="utf-8")
        for path in sorted(out.iterdir()):
            if path.suffix in (".csv", ".png"):
                stem = "" if path.stem == "results" else f"-{path.stem}"
                (RESULTS / f"reproduce-{name}{stem}{path.suffix}").write_bytes(path.read_bytes())
        results: dict[str, Any] = json.loads((out / "results.json").read_text(encoding="utf-8"))
        return results


def with_command(text: str, words: Sequence[str]) -> str:
    """The tables with the command that users type: without the folder of this script, and any folder of a model."""
    shown = ["SUBSTITUTE" if before == "--model" else word for before, word in zip(["", *words], words, strict=False)]
    return re.sub(r"^    phasefit reproduce .*$", "    phasefit " + " ".join(shown), text, count=1, flags=re.MULTILINE)


def with_claims(page: str, name: str, results: Mapping[str, Any]) -> str:
    """The page with a new table between the marks of the study."""
    begin, end = f"<!-- claims of {name} -->", f"<!-- end of {name} -->"
    if page.count(begin) != 1 or page.count(end) != 1:
        raise SystemExit(f"{PAGE.name} must have '{begin}' and '{end}' once")
    before, rest = page.split(begin)
    return f"{before}{begin}\n{claims_table(results)}{end}{rest.split(end)[1]}"


def claims_table(results: Mapping[str, Any]) -> str:
    """One line per claim that the scale includes, and the number of the others."""
    inside = [claim for claim in results["claims"] if OUTSIDE not in claim["reason"]]
    lines = [f"| {' | '.join(HEADINGS)} |", "|-|-|-:|-:|-:|-|"]
    for claim in inside:
        cells = [str(claim["shown"][heading]).replace("|", "\\|") for heading in HEADINGS]
        lines.append(f"| {' | '.join(cells)} |")
    others = len(results["claims"]) - len(inside)
    state = f"{len(results['cells'])} of {results['planned']} cells are in."
    subject = "1 more claim is" if others == 1 else f"{others} more claims are"
    more = f" {subject} about runs that this scale leaves out." if others else ""
    return "\n".join([*lines, "", state + more]) + "\n"


if __name__ == "__main__":
    main()
