"""Write the packaged table of English synonyms from the database files of WordNet 3.0.

    python docs/make_synonyms.py FOLDER WORDS      # FOLDER has data.noun, index.noun ...; WORDS is a file of words

WORDS has one frequent word per line (plain or .gz). The table has these words and their inflections, without stop words
and negations. A synonym is a single word of the same synset, either frequent itself or used in this sense in WordNet's
tagged texts; rare senses of a word are left out. Synonyms are inflected like the word that they replace. The keys of
cached study results do not contain the table: if you change it, raise `PROTOCOL` in studies/key.py.
"""

from __future__ import annotations

import gzip
import io
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from phasefit.data.stop_words import stop_words

TARGET = Path(__file__).parents[1] / "src" / "phasefit" / "data" / "synonyms" / "english.csv.gz"
PARTS = {"noun": "1", "verb": "2", "adj": "3", "adv": "4"}  # their numbers in sense keys; 5 is a satellite adjective
WORD = re.compile(r"[a-z]{2,}")
COMMON = 0.1  # least share of a word's tagged uses that a sense needs
MOST = 5  # synonyms of a form
KEPT = stop_words("english") | {"not", "no", "never", "none", "nobody", "nothing", "neither", "nor", "hardly"}
UNCHANGED = re.compile(  # verbs whose past is the same word, which WordNet does not list
    "bet|bid|burst|cast|cost|cut|hit|hurt|knit|let|put|quit|read|rid|set|shed|shut|slit|split|spread|thrust|upset|wed|wet"
)


@dataclass(frozen=True)
class Sense:
    """A word in one synset: the part of speech, the words of the synset and the number of tagged uses."""

    part: str
    words: tuple[str, ...]
    uses: int


def lines_of(path: Path) -> list[str]:
    """The lines of a text file, decompressed if it ends in .gz."""
    data = path.read_bytes()
    return (gzip.decompress(data) if path.suffix == ".gz" else data).decode("utf-8").splitlines()


def tagged_uses(folder: Path) -> dict[tuple[str, str, int], int]:
    """Tagged uses by word, part of speech and number of the sense."""
    names = {number: part for part, number in PARTS.items()} | {"5": "adj"}
    uses = {}
    for line in lines_of(folder / "cntlist.rev"):
        key, number, count = line.split()
        word, _, rest = key.rpartition("%")
        uses[word, names[rest[0]], int(number)] = int(count)
    return uses


def synsets(folder: Path, part: str) -> dict[str, tuple[str, ...]]:
    """The single lower-case words of each synset, by its offset."""
    sets = {}
    for line in lines_of(folder / f"data.{part}"):
        if not line.startswith("  "):  # the licence
            offset, _, _, count, *rest = line.split(" ")
            words = [re.sub(r"\(.*\)$", "", word) for word in rest[: 2 * int(count, 16) : 2]]
            sets[offset] = tuple(word for word in words if WORD.fullmatch(word))
    return sets


def senses(folder: Path) -> dict[str, list[Sense]]:
    """All senses of each word, the most frequent of each part of speech first."""
    uses = tagged_uses(folder)
    by_word: dict[str, list[Sense]] = defaultdict(list)
    for part in PARTS:
        sets = synsets(folder, part)
        for line in lines_of(folder / f"index.{part}"):
            if line.startswith("  "):
                continue
            word, _, count, *rest = line.split()
            for number, offset in enumerate(rest[-int(count) :], start=1):
                by_word[word].append(Sense(part, sets[offset], uses.get((word, part, number), 0)))
    return by_word


def common(every: list[Sense]) -> list[Sense]:
    """The senses with a fair share of all uses; a word without tagged uses needs a single sense."""
    total = sum(sense.uses for sense in every)
    if not total:
        return every if len(every) == 1 else []
    return [sense for sense in every if sense.uses >= COMMON * total]


def irregular(folder: Path) -> dict[tuple[str, str], list[str]]:
    """Irregular forms by part of speech and word."""
    forms: dict[tuple[str, str], list[str]] = defaultdict(list)
    for part in PARTS:
        for line in lines_of(folder / f"{part}.exc"):
            form, *words = line.split()
            for word in words:
                forms[part, word].append(form)
    return forms


def with_s(word: str) -> str:
    """The plural of a noun, or the third person of a verb."""
    if re.search(r"(s|x|z|ch|sh)$", word):
        return word + "es"
    return word[:-1] + "ies" if re.search(r"[^aeiou]y$", word) else word + "s"


def with_ending(word: str, ending: str) -> str:
    """A verb with -ed or -ing."""
    if word.endswith("e") and not (ending == "ing" and word.endswith(("ee", "oe", "ye"))):
        return (word[:-2] + "y" if word.endswith("ie") and ending == "ing" else word[:-1]) + ending
    if ending == "ed" and re.search(r"[^aeiou]y$", word):
        return word[:-1] + "ied"
    one_syllable = re.fullmatch(r"[^aeiou]*[aeiou][^aeiouwxy]", word)
    return word + (word[-1] if one_syllable else "") + ending


def inflected(part: str, word: str, special: dict[tuple[str, str], list[str]]) -> dict[str, list[str]]:
    """The forms of a word, by name: a replacement must have the same name. The base form is ""."""
    forms = {"": [word]}
    own = special.get((part, word), [])
    if part == "noun" and not re.search(r"[^isu]s$", word):  # "authorities" has no plural
        forms["plural"] = own or [with_s(word)]
    if part == "verb":
        past = [form for form in own if not form.endswith(("ing", "s"))]
        forms["third"] = [with_s(word)]
        forms["ing"] = [form for form in own if form.endswith("ing")] or [with_ending(word, "ing")]
        forms["past"] = [word] if UNCHANGED.fullmatch(word) else past or [with_ending(word, "ed")]
    return forms


def replacement(name: str, word: str, forms: list[str]) -> str | None:
    """The form to insert: none for irregular pasts, because a past and a participle are not told apart."""
    if name == "past":
        return next((form for form in forms if form.endswith("ed") or form == word), None)
    return next(iter(forms), None)


def pairs(folder: Path, frequent: set[str]) -> Iterator[tuple[str, str]]:
    """Words and replacements, the synonyms of more frequent senses first."""
    known, special = senses(folder), irregular(folder)
    used = {(sense.part, sense.words, word) for word, every in known.items() for sense in every if sense.uses}
    for word in sorted(frequent & set(known)):
        for sense in sorted(common(known[word]), key=lambda sense: -sense.uses):
            ours = inflected(sense.part, word, special)
            for other in sense.words:
                if (
                    other == word
                    or other in KEPT
                    or not (other in frequent or (sense.part, sense.words, other) in used)
                ):
                    continue
                theirs = inflected(sense.part, other, special)
                for name, forms in ours.items():
                    new = replacement(name, other, theirs.get(name, []))
                    yield from ((form, new) for form in forms if new is not None and form not in KEPT)


def main(folder: Path, words: Path) -> None:
    """Write the table; the bytes depend only on the input."""
    frequent = {word for line in lines_of(words) if WORD.fullmatch(word := line.strip())}
    table: dict[str, dict[str, None]] = defaultdict(dict)
    for word, synonym in pairs(folder, frequent - KEPT):
        if synonym != word and WORD.fullmatch(word):
            table[word][synonym] = None
    text = "word,synonym\n" + "".join(
        f"{word},{synonym}\n" for word in sorted(table) for synonym in list(table[word])[:MOST]
    )
    out = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", fileobj=out, mtime=0) as file:
        file.write(text.encode())
    TARGET.write_bytes(out.getvalue())
    print(f"{len(table):,} words, {text.count(chr(10)) - 1:,} synonyms, {len(out.getvalue()):,} bytes")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
