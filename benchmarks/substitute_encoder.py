"""Build an encoder that was not trained for similarity, for `phasefit reproduce mirror --model FOLDER`.

    python benchmarks/substitute_encoder.py -o runs/substitute-encoder

The papers of Mirror and SimCSE start from BERT, which only learned to predict masked words. The substitute is the
packaged encoder without its upper layers, trained to predict masked words (15 % of the tokens) in texts that are in
none of the scored datasets. The prediction head is thrown away; sentence vectors are the mean of the last states.
One thread and one seed: the same machine builds the same weights. Results: `results/substitute_encoder.md`.
"""

from __future__ import annotations

import argparse
import hashlib
import tempfile
import time
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
SOURCES = ("snips2", "trec", "subj", "mr", "empathetic-dialogues", "ag-news", "imdb")
SCORED = ("stsb", "sick", "simlex999")
HELD_OUT = 512  # texts for the loss and accuracy of masked words
IGNORED = -100  # the collator's label of tokens that are not predicted


def main() -> None:
    """Build the encoder, score it and write the table."""
    args = parse()
    if args.out.exists():
        raise SystemExit(f"{args.out} exists; remove it or choose another folder")
    import torch

    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    texts = training_texts(args.data_dir, args.batch_size * args.steps + HELD_OUT, args.seed)
    started = time.process_time()
    words = build(args, texts)
    facts = {"texts": len(texts) - HELD_OUT, "seconds": time.process_time() - started, **words}
    print(f"sha256 of model.safetensors: {sha256(args.out)}", flush=True)
    if args.results:
        write(args, facts)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--out", type=Path, required=True, help="folder of the encoder; must not exist")
    parser.add_argument("--model", help="encoder to take the layers from; default: the packaged one")
    parser.add_argument("--layers", type=int, default=4, help="lower layers to keep")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=5e-4)
    parser.add_argument("--max-length", type=int, default=32, help="tokens of a text")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data-dir", type=Path, help="folder of the datasets; default: PHASEFIT_DATA")
    parser.add_argument("--results", type=Path, help="folder for the table with the scores; default: no scores")
    return parser.parse_args()


def training_texts(data_dir: Path | None, count: int, seed: int) -> list[str]:
    """Texts of the sources in equal shares, without those that occur in a scored dataset."""
    scored = {fold(text) for name in SCORED for text in all_texts(name, data_dir)}
    order = np.random.default_rng(seed)
    texts: list[str] = []
    for name in SOURCES:
        distinct = {fold(text): text for text in train_texts(name, data_dir)}
        kept = [text for folded, text in distinct.items() if folded not in scored]
        texts += [kept[row] for row in order.permutation(len(kept))[: -(-count // len(SOURCES))]]
    if len(texts) < count:
        raise SystemExit(f"the datasets have {len(texts):,} texts, but {count:,} are needed; reduce --steps")
    return [texts[row] for row in order.permutation(len(texts))[:count]]


def fold(text: str) -> str:
    """A text without case and spacing, to compare it with others."""
    return " ".join(text.casefold().split())


def train_texts(name: str, data_dir: Path | None) -> list[str]:
    """The texts of a training set."""
    from phasefit.data.sources import read_table

    return list(read_table(name, data_dir=data_dir, need_labels=False).texts)


def all_texts(name: str, data_dir: Path | None) -> Iterator[str]:
    """The texts of all splits of a dataset of pairs."""
    from phasefit.data.sources import read_table, source_files

    for split in source_files(name, data_dir):
        yield from read_table(name, split=split, data_dir=data_dir, sides="two").all_texts


def build(args: argparse.Namespace, texts: list[str]) -> dict[str, float]:
    """Save the encoder; return the loss and accuracy of masked words in the texts held out."""
    from phasefit.models.encoder.encoder import load_encoder

    encoder = load_encoder(args.model)
    keep_lower_layers(encoder, args.layers)
    words = train_masked_words(args, encoder, texts)
    encoder.save(args.out)
    return words


def keep_lower_layers(encoder: Any, count: int) -> None:
    """Remove the layers above the first `count`."""
    encoder.transformer.encoder.layer = encoder.transformer.encoder.layer[:count]
    encoder.transformer.config.num_hidden_layers = count


def train_masked_words(args: argparse.Namespace, encoder: Any, texts: list[str]) -> dict[str, float]:
    """Train the Transformer of an encoder on masked words; return the figures of the texts held out."""
    import torch
    from transformers import AutoModelForMaskedLM, DataCollatorForLanguageModeling, get_linear_schedule_with_warmup

    torch.manual_seed(args.seed)
    tokenizer = deepcopy(encoder.tokenizer)  # truncation is part of its saved state
    model = AutoModelForMaskedLM.from_config(encoder.transformer.config).train()
    copy_weights(encoder.transformer, model.base_model)
    mask = DataCollatorForLanguageModeling(tokenizer, mlm_probability=0.15, seed=args.seed)
    rows = [{"input_ids": ids} for ids in tokenizer(texts, truncation=True, max_length=args.max_length)["input_ids"]]
    held_out, rows = rows[:HELD_OUT], rows[HELD_OUT:]
    optimiser = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    schedule = get_linear_schedule_with_warmup(optimiser, args.steps // 10, args.steps)
    for step in range(args.steps):
        loss, _ = masked_words(model, mask(rows[step * args.batch_size : (step + 1) * args.batch_size]))
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        schedule.step()
        if step % 20 == 0:
            print(f"step {step}: loss {loss.item():.3f}, {time.process_time():.0f} s", flush=True)
    with torch.no_grad():
        loss, accuracy = masked_words(model.eval(), mask(held_out))
    copy_weights(model.base_model, encoder.transformer)
    return {"loss": loss.item(), "accuracy": accuracy.item()}


def copy_weights(source: Any, target: Any) -> None:
    """Copy all weights but those of the pooler, which mean pooling does not use."""
    weights = {name: value for name, value in source.state_dict().items() if not name.startswith("pooler.")}
    lacking = target.load_state_dict(weights, strict=False)
    if lacking.unexpected_keys or any(not name.startswith("pooler.") for name in lacking.missing_keys):
        raise SystemExit(f"the weights do not fit: {lacking}")


def masked_words(model: Any, batch: Any) -> tuple[Any, Any]:
    """Loss and accuracy of the masked tokens; the head sees only these, because its softmax is the costly part."""
    import torch

    labels = batch.pop("labels")
    chosen = labels != IGNORED
    states = model.base_model(**batch).last_hidden_state[chosen]
    logits = model.cls(states)
    return torch.nn.functional.cross_entropy(logits, labels[chosen]), (
        logits.argmax(1) == labels[chosen]
    ).float().mean()


def sha256(folder: Path) -> str:
    """The checksum of the weights."""
    return hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()


def spearman(model: str | None, data_dir: Path | None) -> dict[str, float]:
    """Spearman's correlation of cosines and scores on the test pairs of every scored dataset."""
    from phasefit.data.sources import read_table
    from phasefit.models.encoder.locate import DEFAULT_MODEL
    from phasefit.models.storage import load_model
    from phasefit.runs.evaluation.similarity import pair_cosines, similarity_metrics

    encoder = load_model(model or DEFAULT_MODEL, "cpu")
    tables = {name: read_table(name, split="test", data_dir=data_dir, sides="two") for name in SCORED}
    return {name: similarity_metrics(table, pair_cosines(encoder, table))["spearman"] for name, table in tables.items()}


def write(args: argparse.Namespace, facts: dict[str, float]) -> None:
    """Score the packaged encoder, its lower layers and the substitute, and write the table."""
    from phasefit.models.encoder.encoder import load_encoder

    whole = load_encoder(args.model)
    scores = {f"whole encoder, {len(whole.transformer.encoder.layer)} layers": spearman(args.model, args.data_dir)}
    with tempfile.TemporaryDirectory() as lower:
        keep_lower_layers(whole, args.layers)
        whole.save(Path(lower))
        scores[f"its lower {args.layers} layers"] = spearman(lower, args.data_dir)
    scores["substitute: these after masked-word training"] = spearman(str(args.out), args.data_dir)
    args.results.mkdir(parents=True, exist_ok=True)
    text = "\n".join(table(args, facts, scores)) + "\n"
    (args.results / "substitute_encoder.md").write_text(text, encoding="utf-8")
    print(text)


def table(args: argparse.Namespace, facts: dict[str, float], scores: dict[str, dict[str, float]]) -> list[str]:
    """The lines of the results."""
    rows = [f"| {name} | " + " | ".join(f"{100 * one[data]:.1f}" for data in SCORED) for name, one in scores.items()]
    return [
        "# An encoder that was not trained for similarity",
        "",
        "`python benchmarks/substitute_encoder.py -o runs/substitute-encoder --results benchmarks/results`",
        "",
        f"The lower {args.layers} layers of {args.model or 'the packaged encoder'}, then {args.steps:,} steps of "
        f"masked-word training (15 % of the tokens, batches of {args.batch_size}, learning rate {args.lr:g}, texts cut "
        f"at {args.max_length} tokens, seed {args.seed}) on {facts['texts']:,} texts of {', '.join(SOURCES)}, each "
        f"seen once; {facts['seconds']:.0f} CPU seconds on one thread. None of the texts is in {', '.join(SCORED)}. "
        "The prediction head is thrown away. Use it with `phasefit reproduce mirror --model runs/substitute-encoder`.",
        "",
        f"Masked words of {HELD_OUT} other texts: loss {facts['loss']:.2f}, accuracy {100 * facts['accuracy']:.1f} %.",
        "",
        "Spearman's correlation x 100 of cosines and scores of the test pairs, without further training:",
        "",
        "| encoder | STS-B | SICK | SimLex-999 |",
        "|-|-:|-:|-:|",
        *(f"{row} |" for row in rows),
        "",
        f"sha256 of model.safetensors: `{sha256(args.out)}` (other machines and versions of torch may differ).",
        "",
        "Limits: the layers come from an encoder that was trained for similarity, and masked-word training on so few "
        "texts need not erase that. The substitute is far smaller than BERT and has seen far fewer texts. The number "
        "of layers was chosen after scoring the untrained lower layers on these test pairs.",
    ]


if __name__ == "__main__":
    main()
