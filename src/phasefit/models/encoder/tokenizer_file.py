"""Checks of tokenizer.json before it is loaded: valid patterns, and normalisers that cannot blow up a text.

The tokenizers library panics on some damaged files, and a few rules in a row can make a text a billion times longer.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NoReturn

from phasefit.errors import ModelError

TOKENIZER = "tokenizer.json"
LARGEST_FILE = 200_000_000  # bytes; the largest published ones have 35 million
MOST_STEPS = 200  # of all normalisers, pre-tokenizers and so on
MOST_GROWTH = 100  # of the length of a text, by all normalisers together
LONGEST_REPLACEMENT = 200  # bytes that a table of characters may write for one character; the longest common one has 33
LONGEST_PATTERN = 5_000  # characters
LONGEST_WORD = 10_000  # characters; WordPiece needs quadratic time
STEPS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")


def check_tokenizer(path: Path, model: str) -> None:
    """Raise a ModelError if loading or using a tokenizer file could panic or never end."""
    if path.stat().st_size > LARGEST_FILE:
        _refuse(model, f"it has more than {LARGEST_FILE:,} bytes")
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        _refuse(model, f"it is damaged ({' '.join(str(error).split())[:80]})")
    if not isinstance(content, Mapping):
        _refuse(model, "it is damaged")
    if sum(1 for name in STEPS for _ in _steps(content.get(name))) > MOST_STEPS:
        _refuse(model, f"it has more than {MOST_STEPS} steps")
    growth = 1.0
    for name in STEPS:
        for step in _steps(content.get(name)):
            _check_pattern(step.get("pattern"), model)
            if name == "normalizer":
                growth *= _growth(step, model)
    if growth > MOST_GROWTH:
        _refuse(model, f"its normalizer makes texts up to {growth:.0f} times as long")
    words = content.get("model")
    longest = words.get("max_input_chars_per_word") if isinstance(words, Mapping) else None
    if isinstance(longest, int | float) and longest > LONGEST_WORD:
        _refuse(model, f"it accepts words of {longest} characters")


def _steps(value: Any) -> Iterator[Mapping[str, Any]]:
    """Every step of a normalizer, pre-tokenizer, post-processor or decoder, also inside sequences."""
    waiting = [value]
    while waiting:
        step = waiting.pop()
        if isinstance(step, Mapping):
            yield step
            waiting += [inner for inner in step.values() if isinstance(inner, Mapping | list)]
        elif isinstance(step, list):
            waiting += [inner for inner in step if isinstance(inner, Mapping | list)]


def _check_pattern(pattern: Any, model: str) -> None:
    if isinstance(pattern, Mapping) and "Regex" in pattern:
        from tokenizers import Regex

        if len(str(pattern["Regex"])) > LONGEST_PATTERN:
            _refuse(model, f"it has a regular expression of more than {LONGEST_PATTERN:,} characters")
        try:
            Regex(pattern["Regex"])
        except Exception as error:  # noqa: BLE001 - the library raises Exception itself
            _refuse(model, f"it has a wrong regular expression ({error})")
        if repeats_repetition(pattern["Regex"]):
            _refuse(model, f"its regular expression '{pattern['Regex'][:40]}' can take forever")
    elif isinstance(pattern, Mapping) and pattern.get("String") == "":
        _refuse(model, "it replaces empty strings")


def _growth(step: Mapping[str, Any], model: str) -> float:
    """How many times longer a step of a normalizer can make a text; 1 if it cannot, or only a little."""
    if step.get("type") == "Precompiled":
        _check_characters(step.get("precompiled_charsmap"), model)
    if step.get("type") == "Prepend" and len(str(step.get("prepend"))) > LONGEST_REPLACEMENT:
        _refuse(model, "its normalizer adds a long text")
    if step.get("type") != "Replace":
        return 1.0
    pattern, content = step.get("pattern"), str(step.get("content", ""))
    plain = pattern.get("String") if isinstance(pattern, Mapping) else None
    shortest = len(plain) if isinstance(plain, str) else 0.5  # an expression may match nothing, before each character
    return max(1.0, len(content) / shortest)


def _check_characters(table: Any, model: str) -> None:
    """Check a table of SentencePiece: the size of a trie, the trie, then the replacements, each followed by NUL."""
    try:
        data = base64.b64decode(str(table), validate=True)
    except ValueError:
        data = b""
    size = int.from_bytes(data[:4], "little")
    if len(data) < 4 or size % 4 or size + 4 > len(data):
        _refuse(model, "its table of characters is damaged")
    if max(map(len, data[4 + size :].split(b"\0"))) > LONGEST_REPLACEMENT:
        _refuse(model, "its table of characters writes long texts")


def repeats_repetition(pattern: str) -> bool:
    """Whether a regular expression repeats a group that has an unlimited repetition, as in `(a+)+`."""
    plain = re.sub(r"\\.", "x", pattern, flags=re.DOTALL)  # no escapes
    plain = re.sub(r"\[\^?\]?[^\]]*\]", "x", plain)  # no classes
    repetition = r"(?:[*+]|\{\d+,\})"
    while True:
        group = re.search(r"\(([^()]*)\)(" + repetition + r")?", plain)
        if group is None:
            return False
        inside = re.search(repetition, group[1]) is not None
        if inside and group[2]:
            return True
        plain = plain[: group.start()] + ("x+" if inside or group[2] else "x") + plain[group.end() :]


def _refuse(model: str, problem: str) -> NoReturn:
    raise ModelError(
        f"model '{model}' cannot be loaded: {TOKENIZER}: {problem}; save or download it again, or use another model"
    )
