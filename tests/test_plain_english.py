"""Phrases of the old dialect stay out of everything people read: package, docs and README.

The dictionary has the phrases that were rewritten, each with what to write instead. A legitimate use goes into ALLOWED
with its reason.
"""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PHRASES = {
    r"said|told|telling|(?<!cannot )tells?(?! apart)|speaks?": "print, report, warn, state",
    r"go(es)? on|gone on|going on|went on": "resume, continue from",
    r"behind": "after, on top of",
    r"beside": "with, next to, in addition to, compared with",
    r"so many": "N, at most N, the N most frequent",
    r"mend(s|ed|ing)?": "fix",
    r"comes? out otherwise|came out otherwise|otherwise than": "differ slightly",
    r"at no look|(a|each|every|one|the|last) look(?! at)": "evaluation",
    r"for want of": "too few, because there are no",
    r"anew": "again, from scratch",
    r"begun": "started",
    r"yardsticks?": "reference, baseline",
    r"found out|finds? out": "detected",
    r"deserves?": "is worth checking",
    r"a text a line|one text a (line|row)": "one text per line",
    r"as if it never had been|threads of before|of before": "matches an uninterrupted run; the previous",
    r"(what|which|that|it|they) stands?( in| on| there| beside| left| right)": "is in, appears, is listed",
    r"what there is|all there is": "say what the thing is",
    r"know(s|n)? of": "supports, accepts",
    r"hangs? on": "depends on",
    r"of (yours|ours)": "your own, ours is a project's voice: name the thing",
    r"a \w+ of (its|their) own": "its own ...",
    r"nobody": "no one, or name who",
    r"deals? out|dealt out": "assigns",
    r"in vain|give or take|whosoever|as chance has it": "plain words",
    r"without a word": "silently",
    r"(?<!there )is no (phasefit|run|model|number|name|table|file|folder|recipe|metric|dataset)": "is not a ...",
    r"the surer|surest|too sure|not sure enough": "confident, overconfident, underconfident",
}
PARTS = {"said", "told", "heard", "beside", "behind", "begun", "anew", "yardstick"}  # of identifiers
ALLOWED = {  # (file, phrase): why it may stay
    ("src/phasefit/data/table.py", "beside"): "bytes of the content hash, which identifies a dataset",
    ("src/phasefit/models/encoder/template.py", "behind"): "stored in the tokenizer files of saved models",
    ("src/phasefit/phases/finetune/phase.py", "beside"): "part of tensor names in checkpoints",
}
DICTIONARY = re.compile(rf"\b({'|'.join(PHRASES)})\b", re.IGNORECASE)
PROSE = {".md", ".html", ".toml", ".js"}


def files() -> list[Path]:
    package = [path for path in sorted((ROOT / "src").rglob("*")) if path.suffix in {*PROSE, ".py"}]
    pages = [*sorted((ROOT / "docs").glob("*.md")), *(ROOT / name for name in ("README.md", "CONTRIBUTING.md"))]
    return [path for path in [*package, *pages] if "echarts" not in path.name]


def readable(path: Path) -> Iterator[tuple[int, str]]:
    """What a person reads in a file: all of a page; of a module the comments and strings."""
    text = path.read_text(encoding="utf-8")
    if path.suffix in PROSE:
        yield from enumerate(text.splitlines(), start=1)
        return
    kinds = {tokenize.COMMENT, tokenize.STRING, getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in kinds:
            yield from enumerate(token.string.splitlines(), start=token.start[0])


def identifiers(path: Path) -> Iterator[tuple[int, str]]:
    if path.suffix == ".py":
        for token in tokenize.generate_tokens(io.StringIO(path.read_text(encoding="utf-8")).readline):
            if token.type == tokenize.NAME and PARTS & set(token.string.lower().split("_")):
                yield token.start[0], token.string


@pytest.mark.parametrize("path", files(), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_phrase_of_the_dialect(path: Path) -> None:
    place = path.relative_to(ROOT).as_posix()
    hits = [(line, match[0], text) for line, text in readable(path) if (match := DICTIONARY.search(text))]
    hits += [(line, name, name) for line, name in identifiers(path)]
    wrong = [f"{place}:{line}: '{hit}' in: {text.strip()}" for line, hit, text in hits if (place, hit) not in ALLOWED]
    assert not wrong, "\n".join(wrong)


def test_the_dictionary_knows_the_sentences_that_started_it() -> None:
    old = (
        "it ends as if it never had been",
        "say the threads of before",
        "at no look was probe better than before it began",
        "with other --threads are other runs: to go on with another number of jobs",
        "an objective beside cross-entropy",
        "the layers added behind it",
        "no validation rows can be split off, for want of several different texts",
        "the last digits may come out otherwise",
    )
    assert all(DICTIONARY.search(sentence) for sentence in old)
    fine = "denoise did not improve the probe score; its changes were discarded"
    assert not DICTIONARY.search(fine)
