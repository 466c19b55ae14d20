"""Padding waste: the share of padding in a batch, for every way to form batches.

    python benchmarks/padding.py

Waste is 1 - tokens / (texts x longest), over all batches of two epochs of a training table. Nothing is trained; only
the tokenizer of the default model is read. `denoise` is measured twice: the input of the encoder after words were
deleted (ratio 0.6), and the target of the decoder. Encoders of most families are packed, which has its own table.
Results: `results/padding.{csv,md}`.
"""

from __future__ import annotations

import argparse
import csv
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

HERE = Path(__file__).parent
DATA = ["sst2", "trec", "ag-news", "imdb", "trec-fine", "sst5", "empathetic-dialogues", "snips2"]
FEW = {"trec-fine": 16, "empathetic-dialogues": 16, "snips2": 8}  # rows per class, as in the few-shot comparison
PLAIN = {"sst2", "trec", "ag-news", "imdb"}  # the goal of class-blind batches applies
CLASSES = {"trec-fine", "sst5", "empathetic-dialogues", "ag-news", "snips2"}  # the goal of class-aware ones applies
BATCHES, RATIO, PER_CLASS, PREDICTED = (16, 32), 0.6, 4, 64
FIELDS = ["data", "rows", "tokens_per_text", "way", "batch", "waste", "packed", "goal"]

Line: TypeAlias = dict[str, Any]
Lengths: TypeAlias = np.ndarray


def main() -> None:
    """Measure every table, then write the files."""
    args = parse()
    lines = [line for name in args.data.split(",") for line in measured(name, args)]
    args.out.mkdir(parents=True, exist_ok=True)
    with (args.out / "padding.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    text = summary(lines, args)
    (args.out / "padding.md").write_text(text, encoding="utf-8")
    print(text)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default=",".join(DATA), help="datasets, comma-separated")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=HERE / "results")
    return parser.parse_args()


def measured(name: str, args: argparse.Namespace) -> Iterator[Line]:
    """The lines of one dataset: the whole table, and few rows per class."""
    from phasefit.data import read_dataset

    table = read_dataset(name).train
    tokens = tokenised(table.texts)
    codes = np.unique([str(label) for label in table.labels or ()], return_inverse=True)[1]
    for line in of_rows(tokens, args):
        yield about(name, tokens.lengths) | line | {"goal": 10 if name in PLAIN else ""}
    for line in of_classes(codes, tokens.lengths, args):
        yield about(name, tokens.lengths) | line | {"goal": 25 if name in CLASSES else ""}
    if name in FEW:
        kept = few(codes, FEW[name], args.seed)
        for line in of_classes(codes[kept], tokens.lengths[kept], args):
            yield about(f"{name}, {FEW[name]} per class", tokens.lengths[kept]) | line | {"goal": ""}


def tokenised(texts: list[str]) -> Any:
    """Tokens of the default model's tokenizer, truncated like the model does."""
    from tokenizers import Tokenizer

    from phasefit.models.encoder.locate import DEFAULT_MODEL, locate
    from phasefit.models.tokens.tokens import tokenise

    folder = Path(locate(DEFAULT_MODEL))
    backend = Tokenizer.from_file(str(folder / "tokenizer.json"))
    backend.no_padding()
    backend.enable_truncation(json.loads((folder / "sentence_bert_config.json").read_text())["max_seq_length"])
    return tokenise(backend, texts, pad=0, mask=None)


def about(name: str, lengths: Lengths) -> Line:
    """Name, number of rows and mean length of a table."""
    return {"data": name, "rows": len(lengths), "tokens_per_text": round(float(lengths.mean()), 1)}


def few(codes: np.ndarray, each: int, seed: int) -> np.ndarray:
    """`each` rows of every class."""
    random = np.random.default_rng(seed)
    return np.concatenate([random.permutation(np.flatnonzero(codes == code))[:each] for code in np.unique(codes)])


def of_rows(tokens: Any, args: argparse.Namespace) -> Iterator[Line]:
    """Phases that ignore classes in their batches, and prediction."""
    from phasefit.data.batches import ShuffledBatches

    every = np.arange(len(tokens))
    for size in BATCHES:
        batches = ShuffledBatches(every, tokens.lengths, batch_size=size, seed=args.seed)
        drawn = [draw["rows"] for epoch in range(args.epochs) for draw in batches.epoch(epoch)]
        clean = waste(tokens.lengths[rows] for rows in drawn)
        yield {"way": "denoise, noised", "batch": size, **waste(noised(tokens, drawn, args.seed))}
        yield {"way": "denoise, clean", "batch": size, **clean, "packed": ""}  # the decoder is not packed
        yield {"way": "finetune", "batch": size, **clean}
    order = np.argsort(-tokens.lengths, kind="stable")  # like `encode_rows` in models/encoder/inference.py
    parts = (order[start : start + PREDICTED] for start in range(0, len(order), PREDICTED))
    yield {"way": "predict", "batch": PREDICTED, **waste(tokens.lengths[rows] for rows in parts)}


def noised(tokens: Any, drawn: Iterable[np.ndarray], seed: int) -> Iterator[Lengths]:
    """Lengths of the texts after deleting words."""
    from phasefit.models.tokens.noise import delete_words

    random = np.random.default_rng(seed)
    for rows in drawn:
        yield delete_words(tokens, rows, RATIO, random)["attention_mask"].numpy().sum(axis=1)


def of_classes(codes: np.ndarray, lengths: Lengths, args: argparse.Namespace) -> Iterator[Line]:
    """Batches of `contrast`, with similar lengths and with lengths ignored."""
    from phasefit.data.batches import ClassBatches

    for way, known in (("contrast", lengths), ("contrast, lengths ignored", None)):
        batches = ClassBatches(codes, batch_size=32, per_class=PER_CLASS, seed=args.seed, lengths=known)
        drawn = (lengths[draw["rows"]] for epoch in range(args.epochs) for draw in batches.epoch(epoch))
        yield {"way": way, "batch": 32, **waste(drawn)}


def waste(batches: Iterable[Lengths]) -> dict[str, float]:
    """Waste in per cent over all batches, padded and packed (if packing helps)."""
    from phasefit.models.encoder.packing import rows_for

    real = padded = packed = 0
    for lengths in batches:
        cells = len(lengths) * int(lengths.max())
        rows = rows_for(lengths, cells)
        real, padded = real + int(lengths.sum()), padded + cells
        packed += cells if rows is None else rows[2] * rows[3]
    return {"waste": round(100 * (1 - real / padded), 1), "packed": round(100 * (1 - real / packed), 1)}


def summary(lines: list[Line], args: argparse.Namespace) -> str:
    """One line per table, one column per kind of batch; a goal follows its number."""
    ways = list(dict.fromkeys((line["way"], line["batch"]) for line in lines))
    out = [
        "# Padding waste",
        "",
        "`python benchmarks/padding.py`",
        "",
        f"Per cent of padding in a batch, over {args.epochs} epochs; batch sizes in brackets. A goal follows its "
        "number; numbers that miss it are bold. Packed encoders, such as the default model, use class-aware "
        "batches with `lengths ignored`; others batch similar lengths.",
    ]
    for title, column in (("Packed: what the default model computes", "packed"), ("Padded: other families", "waste")):
        out += [
            *("", f"## {title}", ""),
            f"| table | rows | tokens per text | {' | '.join(f'{way} ({size})' for way, size in ways)} |",
            "|-|-:|-:|" + "-:|" * len(ways),
        ]
        for name in dict.fromkeys(line["data"] for line in lines):
            own = [line for line in lines if line["data"] == name]
            cells = {(line["way"], line["batch"]): cell(line, column) for line in own}
            start = f"| {name} | {own[0]['rows']:,} | {own[0]['tokens_per_text']}"
            out.append(f"{start} | {' | '.join(cells.get(way, '') for way in ways)} |")
    return "\n".join(out) + "\n"


def cell(line: Line, column: str) -> str:
    """A number and its goal."""
    percent = line[column]
    if percent == "":
        return ""
    if not line["goal"] or (column == "waste" and line["way"].endswith("ignored")):
        return f"{percent:.1f}"
    return f"{percent:.1f} / {line['goal']}" if percent < line["goal"] else f"**{percent:.1f}** / {line['goal']}"


if __name__ == "__main__":
    main()
