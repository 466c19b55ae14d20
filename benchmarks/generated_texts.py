"""The texts that the VAE of `three-phase-vae` generates: how many differ, and whether they keep their class.

    python benchmarks/generated_texts.py

Trains the denoise phase of the recipe, then generates one text for each copy that the imbalance correction would make
("rare classes"), and one for every training row. The classifier is a logistic regression on the vectors of the
untrained encoder, fitted on the training rows: it has seen neither the VAE nor its texts. Perplexity is that of a word
bigram model of the training texts, smoothed with unigrams. Results: `--out`/generated_texts.csv and .md.
"""

from __future__ import annotations

import argparse
import csv
import sys
import time
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from math import exp, log
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

NAME = "generated_texts"
FIELDS = ["texts", "number", "distinct", "copies of a training text", "kept by the recipe"]
FIELDS += ["intended class", "intended class, if kept", "perplexity"]
EXAMPLES = 10


def main() -> None:
    """Train the VAE, generate, and write both files."""
    args = parse()
    started = time.process_time()
    rows, examples = measure(args)
    minutes = (time.process_time() - started) / 60
    with (args.out / f"{NAME}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    text = page(args, rows, examples, minutes)
    (args.out / f"{NAME}.md").write_text(text, encoding="utf-8")
    print(text)


def parse() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--data", default="snips", help="a dataset's name or a file")
    add("--steps", type=int, help="steps of denoise; default: those of the recipe")
    add("--seed", type=int, default=0)
    add("--threads", type=int, default=1)
    add("--out", type=Path, default=Path(__file__).parent / "results")
    return parser.parse_args()


def measure(args: argparse.Namespace) -> tuple[list[dict[str, Any]], list[tuple[str, ...]]]:
    """The figures of the real validation texts and of both sets of generated ones, and some examples."""
    from phasefit.phases.contrast.generated import GeneratedCopies
    from phasefit.prepare.prepare import prepare
    from phasefit.recipes.needs import needs_of
    from phasefit.runs.fitting.fit import build_phases
    from phasefit.runs.fitting.index_rows import index_rows
    from phasefit.runs.fitting.starting import starting_model
    from phasefit.runs.recipe.resolve import requested_recipe, resolve_recipe
    from phasefit.runs.specification import run_spec
    from phasefit.training.device import make_accelerator, set_threads
    from phasefit.training.loop import train_phase

    set_threads(args.threads)
    steps = {"denoise.min_steps": args.steps, "denoise.max_steps": args.steps} if args.steps else {}
    spec = run_spec(data=args.data, recipe="three-phase-vae", settings=steps, seed=args.seed)
    recipe = requested_recipe(spec)
    prepared = prepare(spec.data, spec.split, seed=spec.seed, needs=needs_of(recipe))
    recipe = resolve_recipe(spec, recipe, prepared, lambda note: None)
    untrained, model = (starting_model(spec, prepared) for _ in range(2))
    data = index_rows(model, prepared, recipe, spec.seed, lambda event: None)
    train_texts = [data.texts[row] for row in data.train]
    judge = Judge(untrained, train_texts, data.codes[data.train])
    real = [data.texts[row] for row in data.validation]
    rows = [judge.figures("validation rows", real, data.codes[data.validation], np.ones(len(real), dtype=bool))]

    phases = build_phases(model, data, recipe, spec.seed)
    accelerator = make_accelerator("cpu", "auto")
    for _ in train_phase(next(phases), accelerator, seed=spec.seed):
        pass
    contrast: Any = next(phases)
    rare = contrast.grown.rows[contrast.grown.noisy]
    examples: list[tuple[str, ...]] = []
    for title, sources in (("generated, rare classes", rare), ("generated, every training row", data.train)):
        copies = GeneratedCopies(contrast.name, model.generator, data, sources, spec.seed)
        copies.before_step(1, model.encoder)
        texts = decoded(model.encoder.tokenizer, copies.ids.numpy())
        kept = copies.used(np.arange(len(sources)))
        rows.append(judge.figures(title, texts, data.codes[sources], kept))
        names = [data.space.names[code] for code in data.codes[sources]]
        verdicts = ["yes" if one else "no" for one in kept]
        examples = list(zip([data.texts[row] for row in sources], texts, names, verdicts, strict=True))
    return rows, examples[:: max(len(examples) // EXAMPLES, 1)][:EXAMPLES]


def decoded(tokenizer: Any, ids: np.ndarray) -> list[str]:
    """Texts of generated tokens, up to the first end token; those that the recipe rejects are still there."""
    texts = []
    for one in ids.tolist():
        end = one.index(tokenizer.sep_token_id) if tokenizer.sep_token_id in one else len(one)
        texts.append(tokenizer.decode(one[:end], skip_special_tokens=True))
    return texts


class Judge:
    """What is known from the training texts alone: a classifier, and the frequencies of words and bigrams."""

    def __init__(self, model: Any, texts: Sequence[str], codes: np.ndarray) -> None:
        self._model, self._known = model, {normal(text) for text in texts}
        self._classifier = LogisticRegression(max_iter=1000, C=10).fit(model.embed(list(texts)), codes)
        words = [words_of(text) for text in texts]
        self._words = Counter(word for one in words for word in one)
        self._starts = Counter(word for one in words for word in one[:-1])
        self._pairs = Counter(pair for one in words for pair in pairwise(one))

    def figures(self, title: str, texts: Sequence[str], codes: np.ndarray, kept: np.ndarray) -> dict[str, Any]:
        """A line of the table."""
        right = self._classifier.predict(self._model.embed(list(texts))) == codes
        copied = [normal(text) in self._known for text in texts]
        shares = [len({normal(text) for text in texts}) / len(texts), np.mean(copied), kept.mean(), right.mean()]
        shares.append(right[kept].mean() if kept.any() else float("nan"))
        shown = [f"{100 * share:.1f}" for share in shares]
        return dict(zip(FIELDS, [title, len(texts), *shown, f"{self.perplexity(texts):.0f}"], strict=True))

    def perplexity(self, texts: Sequence[str]) -> float:
        """Per word; half of the probability comes from bigrams, half from words with one added to each count."""
        total, number = sum(self._words.values()), len(self._words) + 1
        logs = []
        for words in map(words_of, texts):
            for one, other in pairwise(words):
                alone = (self._words[other] + 1) / (total + number)
                after = self._pairs[one, other] / self._starts[one] if self._starts[one] else alone
                logs.append(log(0.5 * after + 0.5 * alone))
        return exp(-float(np.mean(logs)))


def normal(text: str) -> str:
    """The text without case, punctuation and repeated spaces, as generated texts have their own."""
    return " ".join("".join(letter if letter.isalnum() else " " for letter in text.casefold()).split())


def words_of(text: str) -> list[str]:
    """Words with marks for the start and the end."""
    return ["<s>", *normal(text).split(), "</s>"]


def page(args: argparse.Namespace, rows: Sequence[dict[str, Any]], examples: Sequence[Any], minutes: float) -> str:
    """The Markdown file."""
    lines = [
        "# Texts generated by the VAE",
        "",
        f"`python benchmarks/{NAME}.py {' '.join(sys.argv[1:])}`".replace(" `", "`"),
    ]
    lines += ["", f"{args.data}, seed {args.seed}, {minutes:.1f} CPU minutes. Shares in per cent. {explanation()}", ""]
    lines += [f"| {' | '.join(FIELDS)} |", "|-|" + "-:|" * (len(FIELDS) - 1)]
    lines += [f"| {' | '.join(str(row[name]) for name in FIELDS)} |" for row in rows]
    lines += [
        "",
        "Examples, at even distances through the training rows:",
        "",
        "| row | generated | class | kept |",
        "|-|-|-|-|",
    ]
    lines += [f"| {' | '.join(cell.replace('|', ' ') for cell in one)} |" for one in examples]
    return "\n".join(lines) + "\n"


def explanation() -> str:
    """What the columns mean."""
    return (
        "Kept: by the recipe, because the nearest class centre is that of the row. Intended class: the share that a "
        "classifier on the untrained encoder, trained without these texts, assigns to the class of the row. "
        "Perplexity: of a bigram model of the training texts, so texts that repeat them score low."
    )


if __name__ == "__main__":
    main()
