"""The pictures of the README, made by running the demo: `make pictures`.

The terminal's output becomes docs/images/demo.svg; the confusion matrix, the history and the
embedding space are copied from the run.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich.console import Console
from rich.text import Text

IMAGES = Path(__file__).parent / "images"
WIDTH = 110


def main() -> None:
    """Run the demo and draw what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "COLUMNS": str(WIDTH), "FORCE_COLOR": "1", "TERM": "xterm-256color"}
        command = [str(Path(sys.executable).with_name("phasefit")), "demo"]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True)
        for name in ("confusion.png", "history.png", "embeddings.png"):
            shutil.copy(Path(folder) / "runs" / "snips2" / name, IMAGES / name)
    console = Console(record=True, width=WIDTH, file=StringIO(), force_terminal=True)
    console.print(Text.from_ansi("$ make demo\n" + done.stdout.rstrip()))
    (IMAGES / "demo.svg").write_text(console.export_svg(title="phasefit", unique_id="demo"), encoding="utf-8")


if __name__ == "__main__":
    main()
