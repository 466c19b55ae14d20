"""Does it pay to average the encoder of `few-shot` with its untrained weights, and to solve its head?

    python benchmarks/blend.py --work runs/blend

Rows are from the training split of each dataset: 8 per class train, 500 others are scored; test rows are never read.
Contrast is trained once per draw, and all variants are derived from the same trained weights: only vectors are encoded
again and a head is solved on them (logistic regression on unit vectors, C by cross-validation). For `auto`, contrast is
trained a second time on 6 rows per class; the share with the best score on the other 2 is then used with the encoder
of all 8, as `--refit` does. Vectors are kept in `--work`, so a stopped benchmark can be resumed.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from blend_vectors import SHARES, Draw, make_draw
from one_phase import write_lines
from summary import gain

DATA = ("trec", "trec-fine", "empathetic-dialogues", "snips2", "sst5", "cr", "subj", "emoint")
TODAY = "few-shot, trained head"
SOLVED = {
    "frozen, solved head": 0.0,
    "blend 0.3, solved head": 0.3,
    "blend 0.5, solved head": 0.5,
    "blend 0.7, solved head": 0.7,
    "few-shot, solved head": 1.0,
}
CONCATENATED, AUTO = "trained and untrained vectors, solved head", "blend auto, solved head"
VARIANTS = (TODAY, *SOLVED, CONCATENATED, AUTO)


def main() -> None:
    """Train missing draws, then write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=",".join(DATA), help="comma-separated names of datasets")
    parser.add_argument("--seeds", type=int, default=2, help="number of draws, starting at 0")
    parser.add_argument("--work", type=Path, required=True, help="folder of the vectors")
    parser.add_argument("--only-done", action="store_true", help="train nothing: only draws whose vectors exist")
    parser.add_argument("--out", type=Path, default=Path(__file__).parent / "results")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    lines: list[dict[str, Any]] = []
    for seed in range(args.seeds):
        for data in args.data.split(","):
            whole = load(args, data, seed, validate=False)
            if whole is not None:
                lines += cells(data, seed, whole, load(args, data, seed, validate=True))
    write_lines(args.out / "blend.csv", lines)
    text = table(lines, command=f"python benchmarks/blend.py --work runs/blend{' --only-done' * args.only_done}")
    (args.out / "blend.md").write_text(text, encoding="utf-8")
    print(text)


def load(args: argparse.Namespace, data: str, seed: int, *, validate: bool) -> Draw | None:
    """The vectors of a draw, made if necessary; None if they are missing and nothing may be trained."""
    path = args.work / f"{data}-{seed}-{int(validate)}.npz"
    if not path.exists():
        if args.only_done:
            return None
        print(f"{data}, draw {seed}{', validated' * validate} ...", flush=True)
        make_draw(data, seed, validate).save(path)
    return Draw.load(path)


def cells(data: str, seed: int, whole: Draw, validated: Draw | None) -> list[dict[str, Any]]:
    """The accuracy of each variant on the scored rows."""
    right = whole.codes[whole.scored]
    untrained, trained = (unit(whole.vectors[share]) for share in (0.0, 1.0))
    accuracies = {TODAY: float((whole.outputs.argmax(axis=1) == right).mean())}
    accuracies |= {name: solved(whole, whole.vectors[share], whole.scored) for name, share in SOLVED.items()}
    accuracies[CONCATENATED] = solved(whole, np.hstack([untrained, trained]), whole.scored)
    share: float | str = ""
    if validated is not None:
        scores = {one: solved(validated, validated.vectors[one], validated.validation) for one in SHARES if one}
        share = max(scores, key=lambda one: (scores[one], one))
        accuracies[AUTO] = next(accuracies[name] for name, one in SOLVED.items() if one == share)
    facts = {"data": data, "seed": seed, "classes": len(np.unique(whole.codes)), "rows": len(whole.train)}
    more = {"seconds": round(whole.seconds, 1)}
    return [
        {**facts, "variant": name, "share": share if name == AUTO else "", "accuracy": round(value, 4), **more}
        for name, value in accuracies.items()
    ]


def solved(draw: Draw, vectors: np.ndarray, scored: np.ndarray) -> float:
    """The accuracy of a head that is solved on the training rows."""
    from phasefit.data.labels import label_space
    from phasefit.models.linear import LinearRows, fit_linear
    from phasefit.models.regularisation import choose_regularisation

    space = label_space([f"{code:04d}" for code in range(draw.codes.max() + 1)])
    features = unit(vectors)
    rows = LinearRows(features[draw.train], space, draw.codes[draw.train])
    linear = fit_linear(rows, C=choose_regularisation(rows, seed=0)[0], seed=0)
    predicted = (features[scored] @ linear.weights + linear.bias).argmax(axis=1)
    return float((predicted == draw.codes[scored]).mean())


def unit(vectors: np.ndarray) -> np.ndarray:
    """Vectors of length 1, in double precision."""
    exact = vectors.astype(np.float64)
    return np.asarray(exact / np.linalg.norm(exact, axis=1, keepdims=True))


def table(lines: list[dict[str, Any]], *, command: str) -> str:
    """Accuracy by dataset, and the paired difference to today's few-shot over all draws."""
    sets = list(dict.fromkeys(line["data"] for line in lines))
    draws = len({(line["data"], line["seed"]) for line in lines})
    text = [
        "# Averaging with the untrained encoder, and solved heads",
        "",
        f"`{command}`",
        "",
        f"{draws} draws of {len(sets)} datasets, 8 training rows per class, 500 other training rows scored.",
        "Accuracy in per cent, mean over draws; `auto` chooses a share on 2 of the 8 rows per class.",
        f"Difference: to `{TODAY}`, paired over the draws of a line, with its 95 % interval.",
        "Means of lines with different numbers of draws cannot be compared; only differences can.",
        "",
        f"| variant | draws | mean | difference | {' | '.join(sets)} |",
        "|" + "-|" * (len(sets) + 4),
    ]
    base = {(line["data"], line["seed"]): line for line in lines if line["variant"] == TODAY}
    for name in VARIANTS:
        own = [line for line in lines if line["variant"] == name]
        if own:
            others = [base[line["data"], line["seed"]] for line in own]
            against = "" if name == TODAY else gain(own, others, "accuracy")
            each = [[100 * line["accuracy"] for line in own if line["data"] == one] for one in sets]
            figures = " | ".join(f"{mean(some):.1f}" if some else "" for some in each)
            total = mean(100 * line["accuracy"] for line in own)
            text.append(f"| {name} | {len(own)} | {total:.2f} | {against} | {figures} |")
    return "\n".join(text) + "\n"


if __name__ == "__main__":
    main()
