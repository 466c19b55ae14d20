"""Few labels, many texts: self-training compared with other uses of unlabelled texts, before `few-shot`.

    python benchmarks/self_training.py --data emoint,trec,snips2 --per-class 8 --draws 1 --ways few-shot,self-train
    python benchmarks/self_training.py --tables                  # write the table and the plot again; nothing is run

Each draw takes N labelled rows per class, at most 1,000 other training rows for the score, and at most 2,000 more as
unlabelled texts; test splits are never read. There are no validation rows. Ways:

- `few-shot`, and `names`, the default (`label-names` where class names help): labelled rows only;
- `default`, the default with unlabelled texts (`self-train-names` where class names help, otherwise `self-train`), and
  both of these;
- `denoise`, `simcse` or `mirror` on all texts and then `few-shot`; `three-phase`.

Every cell is a line in `--out`, so a stopped benchmark can be resumed. The datasets are those on which settings may be
chosen; others are refused.
"""

from __future__ import annotations

import argparse
import csv
import json
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any, TypeAlias

Cell: TypeAlias = dict[str, Any]

DATA = ("trec", "empathetic-dialogues", "snips2", "sst5", "cr", "subj", "emoint")  # for choosing settings
FIRST = {"denoise": "three-phase", "simcse": "simcse", "mirror": "mirror"}  # the recipe that each first phase is from
RECIPES = {
    **{"few-shot": "few-shot", "self-train": "self-train", "self-train-names": "self-train-names"},
    **{"three-phase": "three-phase", "names": "default", "default": "default"},
}
WITHOUT_TEXTS = ("few-shot", "names")
WAYS = (*RECIPES, *FIRST)
REFERENCE = "few-shot"
KEY = ("data", "per_class", "draw", "way", "texts", "settings")
FIELDS = (
    *("data", "per_class", "classes", "rows", "texts", "scored", "draw", "way", "settings"),
    *("accuracy", "macro_f1", "cpu_seconds", "rounds"),
)


def main() -> None:
    """Run missing cells, then write the table and the plot."""
    args = parse()
    out = args.out / f"{args.name}.csv"
    if not args.tables:
        import torch

        torch.set_num_threads(args.threads)
        for data in args.data.split(","):
            for per_class in map(int, args.per_class.split(",")):
                for draw in range(args.draws):
                    run_draw(out, data, per_class, draw, args)
    cells = read(out)
    text = table(cells)
    out.with_suffix(".md").write_text(text, encoding="utf-8")
    plot(cells, out.with_suffix(".png"))
    print(text)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--data", default=",".join(DATA), help="named datasets, comma-separated")
    add("--per-class", default="4,8,16", help="labelled rows per class, comma-separated")
    add("--draws", type=int, default=3, help="number of draws of the rows, starting at 0; also the seed of training")
    add("--ways", default=",".join(WAYS), help="comma-separated")
    add("--texts", type=int, default=2000, help="unlabelled texts, at most")
    add("--scored", type=int, default=1000, help="rows for the score, at most")
    add("--set", action="append", default=[], help="of self-train ways, e.g. self-train.rounds=2", metavar="OPTION")
    add("--threads", type=int, default=1)
    add("--tables", action="store_true", help="run nothing")
    add("--name", default="self_training", help="name of the result files")
    add("--out", type=Path, default=Path(__file__).parent / "results")
    args = parser.parse_args()
    for data in args.data.split(","):
        if data not in DATA:
            parser.error(f"--data {data}: settings may be chosen only on {', '.join(DATA)}")
    for way in args.ways.split(","):
        if way not in WAYS:
            parser.error(f"--ways {way}: known: {', '.join(WAYS)}")
    return args


def run_draw(out: Path, data: str, per_class: int, draw: int, args: argparse.Namespace) -> None:
    """Run the missing ways of one draw."""
    rows = draw_rows(data, per_class, draw, args)
    for way in args.ways.split(","):
        settings = args.set if way.startswith("self-train") else []
        cell: Cell = {
            **{"data": data, "per_class": per_class, "draw": draw, "way": way, "settings": json.dumps(settings)},
            **{"texts": len(rows["texts"]), "rows": len(rows["train"][0]), "scored": len(rows["scored"][0])},
            "classes": len(set(rows["train"][1])),
        }
        if any(all(old[name] == str(cell[name]) for name in KEY) for old in read(out)):
            continue
        cell |= measure(way, rows, draw, settings)
        append(out, cell)
        print({name: cell[name] for name in ("data", "per_class", "draw", "way", "accuracy", "cpu_seconds", "rounds")})


def draw_rows(data: str, per_class: int, draw: int, args: argparse.Namespace) -> dict[str, Any]:
    """Labelled rows, rows for the score and unlabelled texts, all from the training split."""
    import few_shot_rows
    import numpy as np

    from phasefit.data import few_shot
    from phasefit.seeds import generator

    train = few_shot_rows.read(data).train
    labels = np.array(few_shot_rows.as_strings(train.labels or ()))
    taken = few_shot(np.unique(labels, return_inverse=True)[1], per_class, draw)
    others = np.setdiff1d(np.arange(len(labels)), taken)
    others = generator(draw, "self-training").permutation(others)
    scored = others[: min(args.scored, len(others) // 3)]
    unlabelled = others[len(scored) :][: args.texts]

    def texts(chosen: Sequence[int]) -> list[str]:
        return [train.texts[row] for row in chosen]

    return {
        "train": (texts(taken), labels[taken].tolist()),
        "scored": (texts(scored), labels[scored].tolist()),
        "texts": texts(unlabelled),
    }


def measure(way: str, rows: dict[str, Any], seed: int, settings: Sequence[str]) -> Cell:
    """Train one way and score it."""
    from sklearn.metrics import accuracy_score, f1_score

    from phasefit import TextClassifier
    from phasefit.recipes.settings import parse_settings

    with tempfile.TemporaryDirectory() as folder:
        recipe = RECIPES[way] if way in RECIPES else combined(way, Path(folder))
        chosen = parse_settings(settings)
        classifier = TextClassifier(recipe, settings=chosen, validation_size=0, seed=seed, device="cpu", verbose=False)
        texts = None if way in WITHOUT_TEXTS else rows["texts"]
        started = time.process_time()
        classifier.fit(*rows["train"], unlabelled=texts)
        seconds = time.process_time() - started
    predicted = classifier.predict(rows["scored"][0])
    rounds = [phase["rounds"] for phase in classifier.phases_ if "rounds" in phase]
    return {
        "accuracy": round(float(accuracy_score(rows["scored"][1], predicted)), 4),
        "macro_f1": round(float(f1_score(rows["scored"][1], predicted, average="macro")), 4),
        "cpu_seconds": round(seconds, 1),
        "rounds": json.dumps(rounds[0]) if rounds else "",
    }


def combined(first: str, folder: Path) -> str:
    """A recipe file: one phase on all texts, then the phases of few-shot."""
    from dataclasses import replace

    from phasefit.recipes import read_recipe

    source, few_shot = read_recipe(FIRST[first]), read_recipe("few-shot")
    options = source.phases[source.phase_names.index(first)]
    path = folder / f"{first}-few-shot.toml"
    path.write_text(replace(few_shot, phases=(options, *few_shot.phases)).to_toml(), encoding="utf-8")
    return str(path)


def read(path: Path) -> list[Cell]:
    """All cells so far."""
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def append(path: Path, cell: Cell) -> None:
    """Add a cell to the file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if new:
            writer.writeheader()
        writer.writerow({name: cell[name] for name in FIELDS})


def named(cell: Cell) -> str:
    """The way, with its settings if they are not the recipe's."""
    chosen = json.loads(cell["settings"])
    return f"{cell['way']} ({', '.join(chosen)})" if chosen else str(cell["way"])


def table(cells: Sequence[Cell]) -> str:
    """Mean accuracy of each way over the draws, its difference from few-shot in points, and CPU seconds."""
    lines = [
        "# Few labels, many texts",
        "",
        "`python benchmarks/self_training.py --tables`",
        "",
        "Accuracy on held-out training rows, means over draws; in brackets, points above `few-shot` on the same draws.",
        "Means over all draws of all sets, with 95 % intervals over them:",
        "",
        *means(cells),
        "",
        "| data | rows per class | way | draws | accuracy | CPU seconds | kept rounds |",
        "|-|-|-|-|-|-|-|",
    ]
    places = dict.fromkeys((cell["data"], cell["per_class"], named(cell)) for cell in cells)
    for data, per_class, way in sorted(places, key=lambda place: place[:2]):
        own = [cell for cell in cells if (cell["data"], cell["per_class"], named(cell)) == (data, per_class, way)]
        accuracy = f"{100 * mean(float(cell['accuracy']) for cell in own):.1f}"
        points = gains(own, cells)
        accuracy += f" ({mean(points):+.1f})" if points and way != REFERENCE else ""
        seconds = f"{mean(float(cell['cpu_seconds']) for cell in own):.0f}"
        kept = ", ".join(str(kept_rounds(cell)) for cell in own if cell["rounds"])
        lines.append(f"| {data} | {per_class} | {way} | {len(own)} | {accuracy} | {seconds} | {kept} |")
    return "\n".join(lines) + "\n"


def means(cells: Sequence[Cell]) -> list[str]:
    """A line for each way: its mean gain over `few-shot`, and over `names` if it uses the texts and class names."""
    lines = []
    for way in dict.fromkeys(map(named, cells)):
        own = [cell for cell in cells if named(cell) == way]
        references = (REFERENCE, "names") if way in ("default", "self-train-names") else (REFERENCE,)
        compared = [f"{interval(gains(own, cells, one))} points above `{one}`" for one in references if one != way]
        if compared and way != REFERENCE:
            lines.append(f"- `{way}` ({len(own)} draws): {', '.join(compared)}")
    return lines


def interval(points: Sequence[float]) -> str:
    """The mean with its 95 % interval."""
    from scipy.stats import t

    if not points:
        return "?"
    if len(points) == 1:
        return f"{points[0]:+.1f}"
    half = float(t.ppf(0.975, len(points) - 1)) * stdev(points) / len(points) ** 0.5
    return f"{mean(points):+.1f} [{mean(points) - half:+.1f}, {mean(points) + half:+.1f}]"


def gains(own: Sequence[Cell], cells: Sequence[Cell], way: str = REFERENCE) -> list[float]:
    """Points above another way, for each draw that it has too."""
    place = ("data", "per_class", "draw")
    reference = {tuple(cell[name] for name in place): cell for cell in cells if cell["way"] == way}
    pairs = [(cell, reference.get(tuple(cell[name] for name in place))) for cell in own]
    return [100 * (float(cell["accuracy"]) - float(other["accuracy"])) for cell, other in pairs if other is not None]


def kept_rounds(cell: Cell) -> int:
    """How many rounds with pseudo-labels were kept."""
    return sum(entry["kept"] for entry in json.loads(cell["rounds"]) if entry["round"])


def plot(cells: Sequence[Cell], path: Path) -> None:
    """Points above few-shot of each cell, one column per way."""
    from matplotlib.figure import Figure

    ways = [way for way in dict.fromkeys(map(named, cells)) if way != REFERENCE]
    figure = Figure(figsize=(6, 3.5), layout="constrained")
    axes = figure.subplots()
    axes.axhline(0, color="#8795a1", linewidth=1)
    for column, way in enumerate(ways):
        points = gains([cell for cell in cells if named(cell) == way], cells)
        axes.plot([column] * len(points), points, "o", color="#1d4ed8", alpha=0.6)
        if points:
            axes.plot([column], [mean(points)], "_", color="#22313f", markersize=24)
    axes.set_xticks(range(len(ways)), ways)
    axes.set_ylabel("points above few-shot")
    figure.savefig(path, dpi=150)


if __name__ == "__main__":
    main()
