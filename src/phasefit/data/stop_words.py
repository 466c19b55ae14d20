"""Stop words: the packaged English list, or your own file for another language."""

from __future__ import annotations

from pathlib import Path

from phasefit.errors import DataError, did_you_mean

FOLDER = Path(__file__).parent / "stopwords"


def stop_words(name_or_path: str | Path) -> frozenset[str]:
    """The case-folded words of a packaged list ("english") or of a file with one word per line (# starts a comment)."""
    packaged = {file.stem: file for file in FOLDER.glob("*.txt")}
    path = packaged.get(str(name_or_path), Path(name_or_path))
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise DataError(f"stop words '{path}': the file is not UTF-8; save it as UTF-8") from None
    except OSError:
        near = did_you_mean(str(name_or_path), packaged)
        raise DataError(f"stop words '{name_or_path}' are neither a packaged list nor a file; {near}") from None
    words = frozenset(word.casefold() for line in lines if (word := line.partition("#")[0].strip()))
    if not words:
        raise DataError(f"stop words '{path}': the file has no words; write one word per line")
    return words
