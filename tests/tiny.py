"""Tiny fixtures for tests: random encoders of every family, small learnable tables, and the data of phases.

Everything is created in memory from a seed: no network, no real weights.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors
from transformers import AutoModel, PreTrainedTokenizerFast
from transformers.models.auto.configuration_auto import CONFIG_MAPPING

from phasefit.data.labels import label_space
from phasefit.data.table import Label
from phasefit.events import Event
from phasefit.models.encoder.encoder import Encoder, load_encoder
from phasefit.models.model import Model
from phasefit.phases import PHASES
from phasefit.phases.contract import Batch, Phase, PhaseData
from phasefit.training.device import make_accelerator
from phasefit.training.loop import train_phase

HIDDEN, LAYERS, HEADS, POSITIONS = 32, 2, 2, 64

KEYWORDS = {
    "music": ["song", "album", "guitar", "concert", "melody", "singer"],
    "weather": ["rain", "storm", "sunny", "forecast", "cloud", "wind"],
    "food": ["pizza", "dinner", "recipe", "kitchen", "bread", "cook"],
    "travel": ["flight", "hotel", "airport", "ticket", "luggage", "train"],
}
PARENTS = {"music": "leisure", "weather": "world", "food": "leisure", "travel": "world"}
FILLERS = ["the", "a", "of", "is", "to", "and", "please", "find", "today", "me", "some", "about"]
ODD = ["é", "ü", "🙂", "naïve", "tokenisation", "don't", "e-mail", "C3PO"]

Settings = dict[str, Any]


# --- data -------------------------------------------------------------------------------------------------------------


def make_table(
    rows: int = 60, classes: int = 3, seed: int = 0, sizes: Sequence[int] = ()
) -> tuple[list[str], list[str]]:
    """Texts of about seven words, one or two of which reveal the class; `sizes` makes the classes uneven."""
    random = np.random.default_rng(seed)
    names = list(KEYWORDS)[: len(sizes) or classes]
    owners = [names[row % classes] for row in range(rows)]
    if sizes:
        owners = [name for name, size in zip(names, sizes, strict=True) for _ in range(size)]
    texts = []
    for owner in owners:
        words = [*random.choice(KEYWORDS[owner], 2), *random.choice(FILLERS, int(random.integers(4, 7)))]
        texts.append(" ".join(random.permutation(words)))
    order = random.permutation(len(texts))
    return [texts[place] for place in order], [owners[place] for place in order]


def tree(labels: Sequence[str]) -> list[tuple[str, str]]:
    """The same labels as paths of two levels."""
    return [(PARENTS[label], label) for label in labels]


# --- encoders ---------------------------------------------------------------------------------------------------------


# Vocabularies are spelled out, not trained: the trainers of `tokenizers` break ties by chance.


def _known_words() -> list[str]:
    return sorted({*FILLERS, *(word for words in KEYWORDS.values() for word in words)})


def _wordpiece() -> tuple[Tokenizer, dict[str, str]]:
    names = {"pad": "[PAD]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]", "mask": "[MASK]"}
    letters = sorted({letter for word in [*_known_words(), *ODD] for letter in word.lower()} | set("!.,:()x"))
    pieces = [*names.values(), *letters, *(f"##{letter}" for letter in letters), *_known_words()]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece()
    ends = [(names[key], vocabulary[names[key]]) for key in ("cls", "sep")]
    tokenizer.post_processor = processors.TemplateProcessing(single="[CLS] $A [SEP]", special_tokens=ends)
    return tokenizer, names


def _byte_level() -> tuple[Tokenizer, dict[str, str]]:
    names = {"cls": "<s>", "pad": "<pad>", "sep": "</s>", "unk": "<unk>", "mask": "<mask>"}
    merges: list[tuple[str, str]] = []
    for word in _known_words():  # each word grows from its front, with and without the space before it
        for spelled in (word, f"Ġ{word}"):
            merges += [(spelled[:end], spelled[end]) for end in range(1, len(spelled))]
    merges = list(dict.fromkeys(merges))
    pieces = [*names.values(), *sorted(pre_tokenizers.ByteLevel.alphabet()), *(left + right for left, right in merges)]
    vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    return tokenizer, names


def _sentence_piece(names: dict[str, str]) -> tuple[Tokenizer, dict[str, str]]:
    """A space is part of the next token, as ▁; words outside the vocabulary are unknown, letter by letter."""
    letters = sorted({letter for word in [*_known_words(), *ODD] for letter in word} | set("!.,:()x▁"))
    pieces = [(name, 0.0) for name in names.values()]
    pieces += [(letter, -6.0) for letter in letters] + [(f"▁{word}", -2.0) for word in _known_words()]
    place = [name for name, _ in pieces].index
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=place(names["unk"])))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace("\n", " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    ends = [(names[key], place(names[key])) for key in ("cls", "sep")]
    around = f"{names['cls']} $A {names['sep']}"
    tokenizer.post_processor = processors.TemplateProcessing(single=around, special_tokens=ends)
    return tokenizer, names


def _sentence_piece_roberta() -> tuple[Tokenizer, dict[str, str]]:
    return _sentence_piece({"cls": "<s>", "pad": "<pad>", "sep": "</s>", "unk": "<unk>", "mask": "<mask>"})


def _sentence_piece_bert() -> tuple[Tokenizer, dict[str, str]]:
    return _sentence_piece({"pad": "[PAD]", "cls": "[CLS]", "sep": "[SEP]", "unk": "[UNK]", "mask": "[MASK]"})


_BERT_LIKE = {
    "hidden_size": HIDDEN,
    "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS,
    "intermediate_size": 2 * HIDDEN,
    "max_position_embeddings": POSITIONS,
}
_DEBERTA = {  # as the published ones are: positions only relative to each other
    **_BERT_LIKE,
    "relative_attention": True,
    "position_biased_input": False,
    "position_buckets": 16,
    "pos_att_type": "p2c|c2p",
    "share_att_key": True,
    "norm_rel_ebd": "layer_norm",
}
FAMILIES: dict[str, tuple[Callable[[], tuple[Tokenizer, dict[str, str]]], Settings]] = {
    "bert": (_wordpiece, _BERT_LIKE),
    "electra": (_wordpiece, {**_BERT_LIKE, "embedding_size": HIDDEN // 2}),
    "distilbert": (
        _wordpiece,
        {
            "dim": HIDDEN,
            "n_layers": LAYERS,
            "n_heads": HEADS,
            "hidden_dim": 2 * HIDDEN,
            "max_position_embeddings": POSITIONS,
        },
    ),
    "albert": (_sentence_piece_bert, {**_BERT_LIKE, "embedding_size": HIDDEN // 2}),
    "roberta": (_byte_level, {**_BERT_LIKE, "max_position_embeddings": POSITIONS + 2}),
    "xlm-roberta": (_sentence_piece_roberta, {**_BERT_LIKE, "max_position_embeddings": POSITIONS + 2}),
    "mpnet": (_byte_level, {**_BERT_LIKE, "max_position_embeddings": POSITIONS + 2}),
    "deberta-v2": (_sentence_piece_bert, {**_DEBERTA, "conv_kernel_size": 3, "conv_act": "gelu"}),
    "deberta-v3": (_sentence_piece_bert, _DEBERTA),
    "modernbert": (_wordpiece, {**_BERT_LIKE, "global_attn_every_n_layers": 1, "reference_compile": False}),
}


def type_of(family: str) -> str:
    """The family's name in transformers: DeBERTa's third version runs on the code of the second."""
    return {"deberta-v3": "deberta-v2"}.get(family, family)


def save_tiny(
    folder: Path, family: str = "bert", *, normalize: bool = True, dropout: float = 0.1, seed: int = 0
) -> Path:
    """A random encoder of a family as a sentence-transformers folder: Transformer, mean pooling, (Normalize)."""
    make_tokenizer, settings = FAMILIES[family]
    backend, names = make_tokenizer()
    special = {f"{key}_token": name for key, name in names.items()}
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend, model_max_length=POSITIONS, **special)
    numbers = {
        "vocab_size": backend.get_vocab_size(),
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": tokenizer.cls_token_id,
        "eos_token_id": tokenizer.sep_token_id,
        "cls_token_id": tokenizer.cls_token_id,
        "sep_token_id": tokenizer.sep_token_id,
    }
    config = CONFIG_MAPPING[type_of(family)](**numbers, **settings)
    for name in vars(config).copy():
        if "dropout" in name and isinstance(getattr(config, name), float):
            setattr(config, name, dropout)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = AutoModel.from_config(config)
        for parameter in model.parameters():  # livelier than the usual 0.02: so few dimensions need some contrast
            if parameter.dim() > 1:
                torch.nn.init.normal_(parameter, std=0.15)
    part = folder / "transformer"
    model.save_pretrained(part)
    tokenizer.save_pretrained(part)
    return _as_sentence_transformer(folder, part, normalize=normalize)


def _as_sentence_transformer(folder: Path, part: Path, *, normalize: bool) -> Path:
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    transformer = Transformer(str(part), max_seq_length=POSITIONS)
    modules = [transformer, Pooling(HIDDEN), *([Normalize()] if normalize else [])]
    whole = folder / "model"
    SentenceTransformer(modules=modules, device="cpu").save(str(whole), create_model_card=False)
    return whole


# --- what a phase needs -----------------------------------------------------------------------------------------------


def make_data(
    encoder: Encoder,
    texts: Sequence[str],
    labels: Sequence[Label],
    *,
    validation: int = 18,
    unlabelled: Sequence[str] = (),
) -> PhaseData:
    """The last `validation` labelled rows validate, the rest train; `others` are texts of its class and of another."""
    every = [*texts, *unlabelled]
    space = label_space(labels)
    codes = np.full(len(every), -1, dtype=np.int64)
    codes[: len(texts)] = space.encode(labels)
    rows = np.arange(len(every))
    cut = len(texts) - validation
    train, held_out, more = rows[:cut], rows[cut : len(texts)], rows[len(texts) :]
    others = next_rows(codes, [train, held_out])
    return PhaseData(every, encoder.tokenise(every), codes, space, train, held_out, more, others)


def next_rows(codes: np.ndarray, parts: Sequence[np.ndarray]) -> np.ndarray:
    """For each row, the next row of its class and the next of another class in the same part; -1 without one."""
    others = np.full((len(codes), 2), -1, dtype=np.int64)
    for part in parts:
        for place, row in enumerate(part):
            after = np.roll(part, -place - 1)[:-1]
            alike = codes[after] == codes[row]
            for side, candidates in enumerate((after[alike], after[~alike])):
                others[row, side] = candidates[0] if len(candidates) else -1
    return others


def make_phase(
    kind: str, model: Model, data: PhaseData, *, seed: int = 0, name: str | None = None, **options: Any
) -> Phase:
    """A phase with these options on top of its defaults."""
    fitting = data_for(kind, data)
    return PHASES.get(kind).phase_class()(name or kind, PHASES.get(kind)(kind=kind, **options), model, fitting, seed)


def data_for(kind: str, data: PhaseData) -> PhaseData:
    """The same rows as a phase of this kind needs them: pairs with scores, or several tasks."""
    if kind not in ("cosine", "multitask") or data.of_pairs or data.tasks:
        return data
    assert data.others is not None
    others = np.where(data.others >= 0, data.others, np.arange(len(data.others))[:, None])
    scores = np.where(data.codes >= 0, data.codes, np.nan).astype(float)
    space = label_space([float(code) for code in range(max(len(data.space), 2))])
    pairs = replace(data, others=others, space=space, values=scores, of_pairs=True)
    return pairs if kind == "cosine" else replace(data, tasks={"one": data, "two": pairs})


def first_batch(phase: Phase, epoch: int = 0, seed: int = 0) -> Batch:
    """The first draw of an epoch."""
    return Batch(next(iter(phase.batches.epoch(epoch))), np.random.default_rng(seed), torch.device("cpu"))


def run(phase: Phase, *, seed: int = 0, fixed_steps: int | None = None) -> list[Event]:
    """Train a phase on the CPU; all its events."""
    return list(train_phase(phase, make_accelerator("cpu", "no"), seed=seed, fixed_steps=fixed_steps))


def weights(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    """A copy of all parameters."""
    return {name: value.detach().clone() for name, value in module.named_parameters()}


def same(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> bool:
    """Whether two sets of weights are equal bit for bit."""
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)


def fresh_model(folder: Path) -> Model:
    """A separate model for a test that trains it."""
    return Model(load_encoder(str(folder)))


def write_csv(path: Path, texts: Sequence[str], labels: Sequence[Any]) -> Path:
    """A CSV with the columns text and label."""
    import pandas as pd

    pd.DataFrame({"text": list(texts), "label": list(labels)}).to_csv(path, index=False)
    return path


def without_checksums(folder: Path) -> Path:
    """Change a run or model folder to format 1, which has no checksums, so that a test can edit its files."""
    manifest = {name: value for name, value in read_json(folder / "phasefit.json").items() if name != "files"}
    (folder / "phasefit.json").write_text(json.dumps(manifest | {"format": 1}), encoding="utf-8")
    return folder


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
