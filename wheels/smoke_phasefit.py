"""Smoke test of phasefit's wheel, run by the Python of a clean environment: smoke_phasefit.py [EXPORTED]."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import phasefit

WORDS = {"music": "song album guitar concert", "weather": "rain storm sunny cloud", "food": "pizza bread dinner soup"}


def command(*words: str) -> str:
    """The output of `phasefit ...`."""
    script = Path(sys.executable).with_name("phasefit")
    done = subprocess.run([script, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"phasefit {' '.join(words)} failed:\n{done.stderr}"
    return done.stdout


def main(exported: str | None = None) -> None:
    """Help, version, a short training, predictions of the run and of an exported folder."""
    assert Path(sys.prefix) in Path(phasefit.__file__).parents, f"imported from {phasefit.__file__}"
    assert "train" in command("--help")
    assert phasefit.__version__ in command("--version")
    rows = [
        (f"{word} number {number}", label)
        for label, words in WORDS.items()
        for word in words.split()
        for number in range(5)
    ]
    Path("table.csv").write_text("text,label\n" + "".join(f"{text},{label}\n" for text, label in rows))
    command("train", "table.csv", "--recipe", "tfidf", "-o", "run", "--quiet")
    assert "music" in command("predict", "run", "--say", "a song for guitar")
    command("verify", "run")
    if exported is not None:
        assert "prediction" in command("predict", exported, "--say", "red cat")
    print(f"phasefit {phasefit.__version__}: help, version, training and predictions work", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
