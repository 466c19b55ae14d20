"""Self-supervised phases on sentence similarity: Spearman's correlation on the STS-B test set before and after.

    python benchmarks/sts.py

The encoder is the first two layers of the packaged one (the whole one was trained on a billion pairs and has little
left to learn). The texts are sentences of the STS-B training set, without their scores. Each cell trains for one epoch
without evaluation, keeps the last weights and scores the test set once. Results: `results/sts.{csv,md}`.
"""

from __future__ import annotations

import argparse
import csv
import os
import tempfile
from pathlib import Path
from statistics import mean, stdev

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

HERE = Path(__file__).parent
SPAN, DROP = "mirror.span=5", "mirror.dropout=0.1"
NO_SPAN, NO_DROP = "mirror.span=0", "mirror.dropout=0"
WAYS: dict[str, tuple[str, list[str]]] = {
    "simcse": ("simcse", []),
    "mirror, both noises": ("mirror", [SPAN, DROP]),
    "mirror, span masking alone": ("mirror", [SPAN, NO_DROP]),
    "mirror, dropout alone": ("mirror", [NO_SPAN, DROP]),
    "mirror, DropHead and span masking": ("mirror", [SPAN, NO_DROP, "mirror.drop_head=0.2"]),
    "mirror, negatives alone": ("mirror", [SPAN, DROP, "mirror.objective.pull=false"]),
}


def main() -> None:
    """Train every variant with every seed, then write the table."""
    args = parse()
    folder = Path(args.data_dir or os.environ["PHASEFIT_DATA"]) / "stsb"
    train, test = (pd.read_csv(folder / f"{part}.csv.gz") for part in ("train", "test"))
    sentences = pd.unique(pd.concat([train["text_a"], train["text_b"]]))
    texts = np.random.default_rng(0).permutation(sentences)[: args.texts].tolist()
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        sliced = slice_of_default(Path(scratch) / "sliced", args.layers)
        before = score(sliced, test)
        for way, (recipe, settings) in WAYS.items():
            for seed in range(args.seeds):
                rows.append(
                    {"way": way, "seed": seed, "spearman": trained(sliced, texts, recipe, settings, seed, test)}
                )
                print(rows[-1], flush=True)
    write(args, before, len(texts), rows)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=10_000)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--data-dir", type=Path, help="folder of the datasets; default: PHASEFIT_DATA")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    return parser.parse_args()


def slice_of_default(folder: Path, layers: int) -> Path:
    """The packaged encoder with its first layers only."""
    from phasefit.models.encoder.encoder import load_encoder

    encoder = load_encoder()
    encoder.transformer.encoder.layer = encoder.transformer.encoder.layer[:layers]
    encoder.transformer.config.num_hidden_layers = layers
    encoder.save(folder)
    return folder


def trained(model: Path, texts: list[str], recipe: str, settings: list[str], seed: int, test: pd.DataFrame) -> float:
    """Spearman's correlation after training one variant."""
    from phasefit.recipes.settings import parse_settings
    from phasefit.runs.execution import fit_spec
    from phasefit.runs.specification import run_spec

    request = run_spec(
        data=texts,
        recipe=recipe,
        settings=parse_settings(settings),
        model=str(model),
        seed=seed,
        validation_size=0.0,
        device="cpu",
        threads=1,
    )
    encoder = fit_spec(request, lambda event: None).model
    return correlation(encoder.embed(test["text_a"].tolist()), encoder.embed(test["text_b"].tolist()), test)


def score(model: Path, test: pd.DataFrame) -> float:
    """Spearman's correlation of an encoder without further training."""
    from phasefit.models.storage import load_model

    encoder = load_model(model, "cpu")
    return correlation(encoder.embed(test["text_a"].tolist()), encoder.embed(test["text_b"].tolist()), test)


def correlation(left: np.ndarray, right: np.ndarray, test: pd.DataFrame) -> float:
    """Spearman's correlation between the cosines of pairs and their scores."""
    norms = np.linalg.norm(left, axis=1) * np.linalg.norm(right, axis=1)
    return float(spearmanr((left * right).sum(1) / norms, test["label"]).statistic)


def write(args: argparse.Namespace, before: float, texts: int, rows: list[dict[str, object]]) -> None:
    """Write the CSV file and the table."""
    args.out.mkdir(parents=True, exist_ok=True)
    with (args.out / "sts.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["way", "seed", "spearman"], lineterminator="\n")
        writer.writeheader()
        writer.writerow({"way": "before", "seed": "", "spearman": round(before, 5)})
        writer.writerows({**row, "spearman": round(float(str(row["spearman"])), 5)} for row in rows)
    lines = [
        "# Self-supervised phases on STS-B",
        "",
        "`python benchmarks/sts.py`",
        "",
        f"Spearman's correlation x 100 on the test set; the packaged encoder's first {args.layers} layers; {texts:,} "
        f"training sentences, one epoch (batches of 64 for simcse, 200 for mirror); {args.seeds} seeds.",
        "",
        "| training | Spearman | difference |",
        "|-|-:|-:|",
        f"| before | {100 * before:.2f} | |",
    ]
    for way in WAYS:
        values = [100 * float(str(row["spearman"])) for row in rows if row["way"] == way]
        spread = f" ± {stdev(values):.2f}" if len(values) > 1 else ""
        lines.append(f"| {way} | {mean(values):.2f}{spread} | {mean(values) - 100 * before:+.2f} |")
    (args.out / "sts.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
