"""A prompt template, "{text} It is about {mask}.", built into a tokenizer.

> Why in the tokenizer: as special tokens around every text, next to [CLS] and [SEP], the template is saved in
> tokenizer.json, so plain sentence-transformers uses it too. Truncation cuts the text and never the template, and noise
> does not change it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from phasefit.errors import RecipeError, did_you_mean

TEXT, MASK = "{text}", "{mask}"
MOST_MASKS = 4
_FIELD = re.compile(r"\{\w*\}")
_PROBE = "a"  # a sample text, to see which tokens surround it
# The names of the two parts in tokenizer.json, a file format; they end with the whole template, to be read back.
_BEFORE, _AFTER = "before the text of: ", "behind the text of: "


def check_template(template: str, where: str) -> str:
    """The template without surrounding whitespace; raises a RecipeError if it is invalid."""
    for field in _FIELD.findall(template):
        if field not in (TEXT, MASK):
            raise RecipeError(f"{where}: prompt: unknown field '{field}'; {did_you_mean(field, (TEXT, MASK))}")
    if template.count(TEXT) != 1:
        raise RecipeError(
            f"{where}: prompt must contain {TEXT} once, as in '{TEXT} It is about {MASK}.' (found {template!r})"
        )
    if template.count(MASK) > MOST_MASKS:
        raise RecipeError(
            f"{where}: prompt must contain {MASK} at most {MOST_MASKS} times (found {template.count(MASK)})"
        )
    before, _, after = template.partition(TEXT)
    if _is_letter(before[-1:]) or _is_letter(after[:1]):
        raise RecipeError(f"{where}: prompt: put spaces around {TEXT} (found {template!r})")
    return template.strip()


def template_of(tokenizer: Any) -> str:
    """The template of a Hugging Face tokenizer; empty if it has none."""
    content = json.loads(tokenizer.backend_tokenizer.to_str())
    named = (content.get("post_processor") or {}).get("special_tokens") or {}
    for name in named:
        for part in (_BEFORE, _AFTER):
            if name.startswith(part):
                return str(name.removeprefix(part))
    return ""


def with_template(tokenizer: Any, template: str) -> Any:
    """A copy of a Hugging Face tokenizer that applies the template, also after saving and loading."""
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

    template = check_template(template, "the recipe")
    if MASK in template and tokenizer.mask_token is None:
        raise RecipeError(
            f"prompt: {MASK} needs a mask token, and the tokenizer of this model has none; remove {MASK} or use "
            "another model"
        )
    content = json.loads(tokenizer.backend_tokenizer.to_str())
    content["truncation"] = content["padding"] = None
    filled = template.replace(MASK, tokenizer.mask_token or "")
    before, _, _ = filled.partition(TEXT)
    bare = Tokenizer.from_str(json.dumps(content))
    content["post_processor"] = _processor(bare, template, *_parts(bare, filled))
    if before.endswith(" "):
        _put_space_before_text(content["pre_tokenizer"])
    # Model-specific classes (RobertaTokenizer) would insert their own [CLS] and [SEP] when loaded.
    return PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(content)),
        model_max_length=tokenizer.model_max_length,
        padding_side=tokenizer.padding_side,
        truncation_side=tokenizer.truncation_side,
        model_input_names=tokenizer.model_input_names,
        **{name: str(token) for name, token in tokenizer.special_tokens_map.items() if isinstance(token, str)},
    )


def _is_letter(character: str) -> bool:
    """Whether this is a letter or digit of a script that separates words by spaces."""
    return character.isalnum() and character < "\u2e80"


def _parts(bare: Any, filled: str) -> tuple[list[int], list[int]]:
    """The tokens before and after the text, encoded together with a sample text."""
    before, _, after = filled.partition(TEXT)
    begin, end = len(before.rstrip()), len(before) + len(_PROBE)  # the space before the text belongs to the text
    encoding = bare.encode(before + _PROBE + after, add_special_tokens=False)
    first, last = [], []
    for number, (start, stop) in zip(encoding.ids, encoding.offsets, strict=True):
        if start >= end:
            last.append(number)
        elif stop <= begin:
            first.append(number)
        elif stop > end or start < begin:
            raise RecipeError(f"prompt: put spaces around {TEXT}; without them it forms one token with its neighbours")
    return first, last


def _processor(bare: Any, template: str, first: Sequence[int], last: Sequence[int]) -> dict[str, Any]:
    """The post-processor: the current special tokens, and the template directly around the first text."""
    named: dict[str, Any] = {}
    single = _frame(bare, bare.encode(_PROBE), named)
    pair = _frame(bare, bare.encode(_PROBE, _PROBE), named)
    for name, ids, after in ((_BEFORE, first, False), (_AFTER, last, True)):
        if not ids:
            continue
        named[name + template] = _special(bare, name + template, ids)
        for pieces in (single, pair):
            place = next(i for i, piece in enumerate(pieces) if piece.get("Sequence", {}).get("id") == "A")
            kind = pieces[place]["Sequence"]["type_id"]
            pieces.insert(place + after, {"SpecialToken": {"id": name + template, "type_id": kind}})
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": named}


def _frame(bare: Any, encoding: Any, named: dict[str, Any]) -> list[dict[str, Any]]:
    """The special tokens and texts of an encoding as pieces; adds the special tokens to `named`."""
    pieces: list[dict[str, Any]] = []
    seen: set[int] = set()
    for number, owner, kind in zip(encoding.ids, encoding.sequence_ids, encoding.type_ids, strict=True):
        if owner is None:
            name = bare.id_to_token(number)
            named[name] = _special(bare, name, [number])
            pieces.append({"SpecialToken": {"id": name, "type_id": kind}})
        elif owner not in seen:
            seen.add(owner)
            pieces.append({"Sequence": {"id": "AB"[owner], "type_id": kind}})
    return pieces


def _special(bare: Any, name: str, ids: Sequence[int]) -> dict[str, Any]:
    return {"id": name, "ids": list(ids), "tokens": [bare.id_to_token(number) for number in ids]}


def _put_space_before_text(pre_tokenizer: dict[str, Any] | None) -> None:
    """Byte-level tokens include the space before them; without this, the text would start without one."""
    for part in (pre_tokenizer or {}).get("pretokenizers", [pre_tokenizer]):
        if part and part.get("type") == "ByteLevel":
            part["add_prefix_space"] = True
