"""The encoder: the modules of a SentenceTransformer, exposed for training and always saved as a SentenceTransformer.

> Why not SentenceTransformer itself: it tokenises in every call and ends with Normalize; training uses stored tokens
> and the vector before Normalize. This is the only file that uses its classes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from textwrap import shorten
from typing import Any, Literal, TypeAlias

import torch
from torch import Tensor, nn

from phasefit.errors import ModelError, RecipeError
from phasefit.models.encoder.freezing import freeze_unused_pooler
from phasefit.models.encoder.library import Dense, Normalize, Pooling, SentenceTransformer, Transformer
from phasefit.models.encoder.loaded_weights import check_modules, check_reports, loading_reports
from phasefit.models.encoder.locate import DEFAULT_MODEL, locate
from phasefit.models.encoder.long_texts import MOST_WINDOWS, Long, in_windows, pieces, prepare
from phasefit.models.encoder.packing import Packing
from phasefit.models.encoder.products import mkl_is_slow, multiply_with_onednn
from phasefit.models.encoder.quiet import quiet_libraries
from phasefit.models.encoder.template import TEXT, check_template, template_of, with_template
from phasefit.models.seeded import seeded
from phasefit.models.tokens.tokenising import is_panic
from phasefit.models.tokens.tokens import Features, Tokens, tokenise

DenseMode: TypeAlias = Literal["none", "identity", "paper"]


class Encoder(nn.Module):
    """Transformer, pooling and added layers; a trailing Normalize is removed and added back when saving."""

    def __init__(self, modules: Sequence[nn.Module], *, name: str = "", prompt: str = "") -> None:
        super().__init__()
        first = modules[0] if modules else None
        if not isinstance(first, Transformer) or first.tokenizer is None:
            raise ModelError(f"model '{name}' does not start with a text Transformer; use another model")
        if not getattr(first.tokenizer, "is_fast", False):
            raise ModelError(f"model '{name}' has only a slow tokenizer; phasefit needs a fast one (tokenizer.json)")
        self.normalizes = isinstance(modules[-1], Normalize)
        self.layers = nn.ModuleList(modules[:-1] if self.normalizes else modules)
        self.name = name
        self.prompt = prompt
        self.long: Long = "truncate"  # how texts longer than max_length are handled
        self.shares_rows = False  # whether processes divide the rows that are encoded; see `sharing`
        self.packing = Packing(first.auto_model)
        freeze_unused_pooler(first.auto_model)
        if mkl_is_slow():
            multiply_with_onednn(first.auto_model)
        named = first.auto_model.named_parameters()
        self.always_frozen = frozenset(name for name, parameter in named if not parameter.requires_grad)

    @property
    def text_module(self) -> Any:
        """The sentence-transformers `Transformer` module: tokenizer and Hugging Face model."""
        return self.layers[0]

    @property
    def transformer(self) -> Any:
        """The Hugging Face model inside."""
        return self.text_module.auto_model

    @property
    def tokenizer(self) -> Any:
        """The Hugging Face tokenizer inside."""
        return self.text_module.tokenizer

    @property
    def dimension(self) -> int:
        """Size of the sentence vector."""
        for layer in reversed(self.layers):
            dimension_of: Any = getattr(layer, "get_embedding_dimension", None)
            if dimension_of is not None:
                return int(dimension_of())
        raise ModelError(f"model '{self.name}' does not state the size of its vectors; use another model")

    @property
    def position_limit(self) -> int:
        """The maximum number of tokens of the Transformer, including special ones."""
        config = self.transformer.config
        limit = getattr(config, "max_position_embeddings", None)
        if not limit or limit < 1:  # relative positions: use the limit of the tokenizer
            return int(min(self.tokenizer.model_max_length, 1_000_000))
        embeddings = getattr(self.transformer, "embeddings", None)
        before = getattr(getattr(embeddings, "position_embeddings", None), "padding_idx", None)
        # In RoBERTa-like models, positions start after the padding index.
        return int(limit) if before is None else int(limit - before - 1)

    @property
    def max_length(self) -> int:
        """Texts are cut at this many tokens."""
        return min(self.text_module.max_seq_length or self.position_limit, self.position_limit)

    @max_length.setter
    def max_length(self, value: int) -> None:
        least = max(4, self._special_tokens + 2)
        if not least <= value <= self.position_limit:
            raise ModelError(
                f"max_length must be between {least} and the model's limit of {self.position_limit} tokens, not {value}"
            )
        self.text_module.max_seq_length = value

    @property
    def reach(self) -> int:
        """The maximum number of tokens of a text that are used."""
        return self.max_length * (MOST_WINDOWS if self.long == "windows" else 1)

    def set_long(self, way: Long) -> None:
        """Set how texts longer than max_length are handled; windows need a pooling over all tokens."""
        if way == "windows" and not self.pools_windows:
            raise RecipeError(
                "long = 'windows' needs pooling over the last hidden states of all tokens, which model "
                f"'{self.name}' does not have; use 'head-tail', or a model with mean pooling"
            )
        self.long = way

    @property
    def pools_windows(self) -> bool:
        """Whether pooling uses the last states of all tokens and nothing else."""
        modes = {mode for layer in self.layers if isinstance(layer, Pooling) for mode in _modes(layer)}
        every_layer = getattr(self.transformer.config, "output_hidden_states", False)
        return bool(modes) and not modes & {"cls", "lasttoken"} and not every_layer

    @property
    def template(self) -> str:
        """The prompt template of every text, e.g. "{text} It is about {mask}."; empty if there is none."""
        return template_of(self.tokenizer)

    def set_template(self, template: str) -> None:
        """Use this prompt template for every text, also after saving; it cannot be changed later."""
        new, current = check_template(template, "the recipe"), self.template
        if current and new != current:
            raise RecipeError(
                f"prompt: model '{self.name}' was trained with the prompt '{current}' and cannot use '{new}'; "
                "remove prompt, or start from another model"
            )
        if current or new == TEXT:
            return
        self.text_module.processor = with_template(self.tokenizer, new)
        if self._special_tokens + 2 > self.max_length:
            raise RecipeError(f"prompt: '{new}' does not fit into max_length = {self.max_length} tokens; shorten it")

    @property
    def _special_tokens(self) -> int:
        """The number of special tokens of every text, including those of the template."""
        return int(self.tokenizer.backend_tokenizer.num_special_tokens_to_add(False))

    def forward(self, features: Features) -> Features:
        """Token features in; `token_embeddings` and `sentence_embedding` (before any Normalize) out."""
        first, *rest = self.layers
        run = partial(self.packing.run, first)
        out = in_windows(run, features, self.max_length) if self.long == "windows" else run(features)
        for layer in rest:
            out = layer(out)
        return out

    def tokenise(self, texts: Sequence[str], *, max_length: int | None = None) -> Tokens:
        """Tokenise with a copy of the tokenizer, because truncation is part of its saved state."""
        return self.tokeniser(max_length)(texts)

    def tokeniser(self, max_length: int | None = None) -> Callable[[Sequence[str]], Tokens]:
        """A reusable tokenising function; creating one is slow for a large vocabulary."""
        from tokenizers import Tokenizer

        backend, size, way = Tokenizer.from_str(self.tokenizer.backend_tokenizer.to_str()), self.max_length, self.long
        if max_length is not None:  # to measure how long texts are
            size, way = max_length, "truncate"
        prepare(backend, way, size, self.tokenizer.truncation_side)
        backend.no_padding()
        keep = None if way == "truncate" else lambda encoding, added: pieces(encoding, way, size, added)
        pad, mask = self.tokenizer.pad_token_id or 0, self.tokenizer.mask_token_id
        window = size if way == "windows" else 0
        return partial(tokenise, backend, pad=pad, mask=mask, prompt=self.prompt, keep=keep, window=window)

    def append_dense(self, mode: DenseMode, seed: int) -> Dense | None:
        """Add a Dense(h, h): `identity` initially changes nothing, `paper` is random with Tanh."""
        if mode == "none":
            return None
        size = self.dimension
        if mode == "identity":
            dense = Dense(
                size, size, activation_function=None, init_weight=torch.eye(size), init_bias=torch.zeros(size)
            )
        else:
            with seeded(seed):
                dense = Dense(size, size, activation_function=nn.Tanh())
        self.layers.append(dense.to(next(self.parameters()).device))
        return dense

    def save(self, folder: Path) -> None:
        """Write a folder that plain `SentenceTransformer(folder)` loads, with the same vectors."""
        modules = [*self.layers, *([Normalize()] if self.normalizes else [])]
        prompts: dict[str, Any] = {}
        if self.prompt:
            prompts = {"prompts": {"default": self.prompt}, "default_prompt_name": "default"}
        model = SentenceTransformer(modules=modules, device=str(self._device()), **prompts)
        with quiet_libraries():
            model.save(str(folder), create_model_card=False, safe_serialization=True)

    def _device(self) -> torch.device:
        return next(self.parameters()).device


def load_encoder(name: str | None = None, *, complete: bool = False) -> Encoder:
    """Load the default model, a local folder or a hub model; runs none of its code and reads no pickle files.

    A `complete` model was written by phasefit: exactly its own weights must be there.
    """
    name = DEFAULT_MODEL if name is None else name
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    folder = locate(name)
    try:
        with quiet_libraries(), loading_reports(Path(folder)) as reports:
            model = SentenceTransformer(
                folder,
                device="cpu",
                trust_remote_code=False,
                local_files_only=True,
                model_kwargs={"use_safetensors": True, "dtype": torch.float32},
            )
    except MemoryError:
        raise
    except BaseException as error:  # the libraries raise anything, and a panic in Rust is not an Exception
        if not isinstance(error, Exception) and not is_panic(error):
            raise
        reason = str(error) or type(error).__name__
        raise ModelError(
            f"model '{name}' cannot be loaded: it is damaged or not a text encoder ({shorten(reason, 160)}); "
            "save or download it again, or use another model"
        ) from error
    check_reports(reports, name, complete=complete)
    check_modules(model, name)
    prompt = model.prompts.get(model.default_prompt_name or "", "") or ""
    excludes_prompt = any(isinstance(m, Pooling) and not getattr(m, "include_prompt", True) for m in model)
    if prompt and excludes_prompt:
        raise ModelError(
            f"model '{name}' excludes its prompt from pooling, which phasefit does not support; use another model"
        )
    encoder = Encoder(list(model), name=name, prompt=prompt)
    if encoder.max_length < encoder._special_tokens + 1:
        raise ModelError(f"model '{name}' accepts texts of only {encoder.max_length} tokens; use another model")
    return encoder


def _modes(pooling: Pooling) -> tuple[str, ...]:
    mode = pooling.pooling_mode
    return (mode,) if isinstance(mode, str) else tuple(mode)


def sentence_vectors(output: Features) -> Tensor:
    """The pooled vectors of an encoder's output."""
    return output["sentence_embedding"]
