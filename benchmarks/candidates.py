"""Candidate settings of phasefit on the rows of the league's development: efforts and defaults are chosen from them.

    python benchmarks/candidates.py --regime 8 --draws 1
    python benchmarks/candidates.py --regime 1000 --names "finetune;three-phase" --sets trec,emoint

`candidates.toml` lists the candidates. Rows are those of `league.py --stage development`: training rows only, never a
test split or a held-out set. All cells run in one process with one thread, so a candidate costs seconds; every cell is
a line in `results/candidates.csv`, and a stopped run can be resumed. `--tables` only writes `results/candidates.md`.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
import tomllib
from pathlib import Path
from statistics import mean
from typing import Any

from league_plan import DEVELOPMENT, Cell, Contestant, Regime, read_plan
from summary import gain

HERE = Path(__file__).parent
FIELDS = ("regime", "set", "draw", "settings", "accuracy", "macro_f1", "log_loss", "cpu_seconds")
LARGE = 100  # a regime up to this is rows per class, above it rows in total
REFERENCES = {"few": "few-shot", "many": "finetune"}


def main() -> None:
    """Run missing cells, then write the table."""
    args = parse()
    candidates = read_candidates()
    out = args.out / "candidates.csv"
    if not args.tables:
        import torch

        torch.set_num_threads(1)
        run_missing(args, candidates, out)
    text = table(read(out), candidates)
    out.with_suffix(".md").write_text(text, encoding="utf-8")
    print(text)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--regime", type=int, default=8, help=f"rows per class up to {LARGE}, rows in total above it")
    add("--sets", help="development sets, comma-separated; default: all")
    add("--names", help="candidates, separated by semicolons; default: all of the regime")
    add("--draws", type=int, default=1, help="number of draws of the rows; also the seed of training")
    add("--first-draw", type=int, default=0)
    add("--tables", action="store_true", help="run nothing")
    add("--data-dir", type=Path, help="folder of the named datasets; default: PHASEFIT_DATA")
    add("--out", type=Path, default=HERE / "results")
    return parser.parse_args()


def read_candidates() -> dict[str, dict[str, Any]]:
    """Name: `rows` ("few" or "many") and `settings`."""
    listed = tomllib.loads((HERE / "candidates.toml").read_text(encoding="utf-8"))["candidates"]
    return {one["name"]: one for one in listed}


def run_missing(args: argparse.Namespace, candidates: dict[str, dict[str, Any]], out: Path) -> None:
    """Run the cells that have no line yet."""
    plan = read_plan()
    sets = args.sets.split(",") if args.sets else plan.development
    for name in sets:
        if name not in plan.development:
            raise SystemExit(f"{name} is not a development set; choose from {', '.join(plan.development)}")
    kind = kind_of(args.regime)
    chosen = args.names.split(";") if args.names else [name for name, one in candidates.items() if one["rows"] == kind]
    for name in chosen:
        if name not in candidates:
            raise SystemExit(f"no candidate '{name}'; choose from {', '.join(candidates)}")
    for draw in range(args.first_draw, args.first_draw + args.draws):
        for name in chosen:
            for dataset in sets:
                place = {"regime": args.regime, "set": dataset, "draw": draw, "settings": as_key(candidates[name])}
                if not any(matches(line, place) for line in read(out)):
                    line = place | run(args, candidates[name]["settings"], dataset, draw)
                    append(out, line)
                    shown = f"{line['accuracy']:.4f} in {line['cpu_seconds']:.1f} CPU s"
                    print(f"{name}, {dataset}, draw {draw}: {shown}", flush=True)


def run(args: argparse.Namespace, settings: dict[str, Any], dataset: str, draw: int) -> dict[str, float]:
    """Train and score a cell."""
    import numpy as np
    from league_rows import rows_of
    from sklearn.metrics import f1_score

    from phasefit import TextClassifier
    from phasefit.metrics.scores import log_loss

    few = kind_of(args.regime) == "few"
    regime = Regime("", 1, **{"per_class" if few else "rows": args.regime})
    contestant = Contestant("", "", "phasefit", settings)
    train, scored = rows_of(Cell(DEVELOPMENT, regime, dataset, draw, contestant), args.data_dir)
    parameters = {"validation_size": 0.0} | {name: value for name, value in settings.items() if "." not in name}
    options = {name: value for name, value in settings.items() if "." in name}
    classifier = TextClassifier(**parameters, settings=options, seed=draw, device="cpu", precision="no")
    start = time.process_time()
    classifier.fit(train.texts, train.labels)
    seconds = time.process_time() - start
    probabilities = np.asarray(classifier.predict_proba(scored.texts))
    classes = [str(label) for label in classifier.classes_]
    truth = np.array([classes.index(label) if label in classes else -1 for label in scored.labels])
    guess, known = probabilities.argmax(axis=1), truth >= 0
    return {
        "accuracy": round(float((guess == truth).mean()), 4),
        "macro_f1": round(float(f1_score(truth, guess, average="macro", zero_division=0)), 4),
        "log_loss": round(log_loss(truth[known], probabilities[known]), 4),
        "cpu_seconds": round(seconds, 1),
    }


def kind_of(regime: int) -> str:
    """Whether candidates for few or for many rows are compared."""
    return "few" if regime <= LARGE else "many"


def as_key(candidate: dict[str, Any]) -> str:
    """The settings as text: results belong to settings, not to names."""
    return json.dumps(candidate["settings"], sort_keys=True)


def matches(line: dict[str, str], place: dict[str, Any]) -> bool:
    """Whether a line is this cell's."""
    return all(line[name] == str(value) for name, value in place.items())


def read(path: Path) -> list[dict[str, str]]:
    """The finished cells."""
    if not path.exists():
        return []
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def append(path: Path, line: dict[str, Any]) -> None:
    """Add a cell."""
    new = not path.exists()
    with path.open("a", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow(line)


def table(lines: list[dict[str, str]], candidates: dict[str, dict[str, Any]]) -> str:
    """One table per regime: means, the difference to the reference on common cells, CPU seconds, each set."""
    parts = [
        "# Candidate settings on the development rows",
        "`python benchmarks/candidates.py --regime 8 --draws 1` (and the other regimes); settings: `candidates.toml`",
        "Accuracy in per cent, log loss and CPU seconds of training with one thread: means over the cells of a line. "
        "Difference: in accuracy to the first line, paired over common cells (set and draw), with its 95 % interval; "
        "lines with different numbers of cells can only be compared by it. CPU seconds are from several machines, "
        "the fastest four times as fast as the slowest: compare them only roughly.",
    ]
    regimes = sorted({int(line["regime"]) for line in lines})
    of_regime = {regime: [line for line in lines if line["regime"] == str(regime)] for regime in regimes}
    parts += [regime_table(regime, own, candidates) for regime, own in of_regime.items()]
    return "\n\n".join(parts) + "\n"


def regime_table(regime: int, lines: list[dict[str, str]], candidates: dict[str, dict[str, Any]]) -> str:
    """The table of one regime."""
    kind = kind_of(regime)
    sets = [name for name in read_plan().development if any(line["set"] == name for line in lines)]
    names = {name: as_key(one) for name, one in candidates.items() if one["rows"] == kind}
    of_name = {name: [line for line in lines if line["settings"] == key] for name, key in names.items()}
    reference = {(line["set"], line["draw"]): line for line in of_name[REFERENCES[kind]]}
    rows = [f"## {regime} rows{' per class' if kind == 'few' else ''}", ""]
    rows.append("| candidate | cells | accuracy | difference | log loss | CPU s | " + " | ".join(sets) + " |")
    rows.append("|-" * (6 + len(sets)) + "|")
    for name in sorted(of_name, key=lambda one: one != REFERENCES[kind]):
        cells = of_name[name]
        if cells:
            rows.append(f"| {name} | {len(cells)} | {difference(cells, reference)} | {per_set(cells, sets)} |")
    return "\n".join(rows)


def difference(cells: list[dict[str, str]], reference: dict[tuple[str, str], dict[str, str]]) -> str:
    """Mean accuracy, difference with interval, log loss and CPU seconds."""
    pairs = [(cell, reference[key]) for cell in cells if (key := (cell["set"], cell["draw"])) in reference]
    same = all(cell is other for cell, other in pairs)
    shown = "" if same else gain([cell for cell, _ in pairs], [other for _, other in pairs], "accuracy")
    averages = {name: mean(float(cell[name]) for cell in cells) for name in ("accuracy", "log_loss", "cpu_seconds")}
    return f"{100 * averages['accuracy']:.2f} | {shown} | {averages['log_loss']:.3f} | {averages['cpu_seconds']:.0f}"


def per_set(cells: list[dict[str, str]], sets: list[str]) -> str:
    """Mean accuracy on each set."""
    of_set = {name: [float(cell["accuracy"]) for cell in cells if cell["set"] == name] for name in sets}
    return " | ".join(f"{100 * mean(values):.1f}" if values else "" for values in of_set.values())


if __name__ == "__main__":
    main()
