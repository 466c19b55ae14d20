"""Denoising compared with `DenoisingAutoEncoderLoss` of sentence-transformers: steps per second and probe accuracy.

    python benchmarks/denoise.py --data trec,sst5 --seeds 3 --steps 100

Both train the same model on the same texts for the same number of steps, with the same batch size and probability to
delete a word. Speed: the ratio of median step times, one after the other in one process. Probe: a logistic regression
on vectors of the frozen encoder for the same training rows, scored once on the test rows, for each seed; also for the
untrained encoder. Theirs: tied decoder, AdamW (fused), 3e-5 as in their example; words are split at white space. Ours:
`denoise` of the recipe `three-phase`.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from one_phase import make_phase, rows_of, step_seconds, write_lines

OURS, THEIRS, NONE = "phasefit", "sentence-transformers", "untrained"
LR, WARM = 3e-5, 2  # their learning rate; the first steps are not counted


def main() -> None:
    """Measure every dataset and seed, then write the files."""
    args = parse()
    import torch

    if args.threads:
        torch.set_num_threads(args.threads)
    lines: list[dict[str, Any]] = []
    for data in args.data.split(","):
        for seed in range(args.seeds):
            lines += compare(data, seed, args)
            write_lines(args.out / f"{args.name}.csv", lines)
            print(lines[-2:], flush=True)
    text = summary(lines, args)
    (args.out / f"{args.name}.md").write_text(text, encoding="utf-8")
    print(text)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--data", default="trec,sst5", help="named datasets, comma-separated")
    add("--rows", type=int, default=2000, help="training rows")
    add("--test-rows", type=int, default=2000, help="test rows, at most")
    add("--steps", type=int, default=100)
    add("--batch", type=int, default=32)
    add("--ratio", type=float, default=0.6, help="probability that a word is deleted")
    add("--seeds", type=int, default=3)
    add("--threads", type=int, help="default: all cores")
    add("--name", default="denoise", help="name of the result files")
    add("--out", type=Path, default=Path(__file__).parent / "results")
    return parser.parse_args()


def compare(data: str, seed: int, args: argparse.Namespace) -> list[dict[str, Any]]:
    """Measure both on one dataset with one seed."""
    from phasefit.models.encoder.encoder import load_encoder
    from phasefit.models.model import Model

    train, test = rows_of(data, args.rows), rows_of(data, args.test_rows, split="test")
    settings = {"batch_size": args.batch, "ratio": args.ratio, "epochs": 1000, "max_steps": args.steps}
    model, phase = make_phase("denoise", *train, seed=seed, settings=settings)
    ours = step_seconds(phase, seed=seed)
    theirs, rival = rival_steps(train[0], seed, args)
    took = {OURS: ours, THEIRS: theirs}
    embed = {OURS: model.embed, THEIRS: lambda texts: rival.encode(texts, batch_size=64, show_progress_bar=False)}
    if seed == 0:
        embed[NONE] = Model(load_encoder()).embed
    return [
        {
            "data": data,
            "what": what,
            "seed": seed,
            "steps": args.steps if what != NONE else 0,
            "seconds_per_step": round(statistics.median(took[what][WARM:]), 4) if what != NONE else "",
            "probe_accuracy": round(probe(vectors, train, test), 4),
        }
        for what, vectors in embed.items()
    ]


def rival_steps(texts: Sequence[str], seed: int, args: argparse.Namespace) -> tuple[list[float], Any]:
    """Train with their loss in a plain loop; return the seconds of each step and the model."""
    import numpy as np
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.losses import DenoisingAutoEncoderLoss

    from phasefit.models.encoder.locate import DEFAULT_MODEL, locate

    torch.manual_seed(seed)
    random = np.random.default_rng(seed)
    model = SentenceTransformer(locate(DEFAULT_MODEL), device="cpu")
    loss = DenoisingAutoEncoderLoss(model, tie_encoder_decoder=True).train()
    optimiser = torch.optim.AdamW(loss.parameters(), lr=LR, fused=True)
    order: list[int] = []
    seconds = []
    for _ in range(args.steps):
        if len(order) < args.batch:
            order = random.permutation(len(texts)).tolist()
        batch, order = [texts[row] for row in order[: args.batch]], order[args.batch :]
        start = time.perf_counter()
        pair = [model.preprocess([delete_words(text, args.ratio, random) for text in batch]), model.preprocess(batch)]
        value = loss(pair, torch.empty(0))
        value.backward()
        torch.nn.utils.clip_grad_norm_(loss.parameters(), 1.0)
        optimiser.step()
        optimiser.zero_grad()
        seconds.append(time.perf_counter() - start)
    return seconds, model.eval()


def delete_words(text: str, ratio: float, random: Any) -> str:
    """The text without some of its words; at least one remains."""
    words = text.split()
    kept = [word for word in words if random.random() >= ratio]
    return " ".join(kept or [words[int(random.integers(len(words)))]] if words else [])


def probe(embed: Any, train: tuple[list[str], list[Any]], test: tuple[list[str], list[Any]]) -> float:
    """Accuracy of a logistic regression on frozen, normalised vectors."""
    import numpy as np
    from sklearn.linear_model import LogisticRegression

    def vectors(texts: list[str]) -> Any:
        embedded = np.asarray(embed(texts), dtype=np.float64)
        return embedded / np.linalg.norm(embedded, axis=1, keepdims=True).clip(1e-12)

    fitted = LogisticRegression(C=10.0, max_iter=1000).fit(vectors(train[0]), [str(label) for label in train[1]])
    return float(np.mean(fitted.predict(vectors(test[0])) == np.array([str(label) for label in test[1]])))


def summary(lines: Sequence[dict[str, Any]], args: argparse.Namespace) -> str:
    """The Markdown table."""
    import sentence_transformers
    import torch

    head = [
        "# Denoising compared with sentence-transformers",
        f"`{' '.join(['python', 'benchmarks/denoise.py', *sys.argv[1:]])}`",
        f"{torch.get_num_threads()} threads, torch {torch.__version__}, sentence-transformers "
        f"{sentence_transformers.__version__} (`DenoisingAutoEncoderLoss`, tied). {args.steps} steps of {args.batch} "
        f"texts, {args.rows:,} training rows; probe: test accuracy of a logistic regression on the frozen encoder, "
        "mean (lowest to highest) over seeds.",
    ]
    rows = [
        "| data | steps per second, ours / theirs | probe, ours minus theirs | ours, s per step | theirs, s per step "
        "| probe, ours | probe, theirs | probe, untrained |",
        "|-|-:|-:|-:|-:|-:|-:|-:|",
    ]
    for data in dict.fromkeys(line["data"] for line in lines):
        of = {what: [x for x in lines if x["data"] == data and x["what"] == what] for what in (OURS, THEIRS, NONE)}
        step = {what: statistics.median(x["seconds_per_step"] for x in of[what]) for what in (OURS, THEIRS)}
        accuracies = {what: [100 * x["probe_accuracy"] for x in of[what]] for what in of}
        mean = {what: statistics.mean(values) for what, values in accuracies.items()}
        shown = {what: f"{mean[what]:.2f} ({min(v):.2f} to {max(v):.2f})" for what, v in accuracies.items()}
        rows.append(
            f"| {data} | **{step[THEIRS] / step[OURS]:.1f} x** | {mean[OURS] - mean[THEIRS]:+.2f} | {step[OURS]:.3f} | "
            f"{step[THEIRS]:.3f} | {shown[OURS]} | {shown[THEIRS]} | {mean[NONE]:.2f} |"
        )
    return "\n\n".join(head) + "\n\n" + "\n".join(rows) + "\n"


if __name__ == "__main__":
    main()
