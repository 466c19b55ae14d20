"""The command line: one file per command, each a thin layer over the package.

`app.py` collects the commands, `options.py` declares the options they share, `help.py` prints the help, `progress.py`
shows the progress of a job, `tables.py` shows results, `errors.py` turns exceptions into one sentence. Results go to
standard output, everything else to standard error. This package may import every other; none imports it. Slow imports
(torch, pandas) are inside the functions that need them, so that `phasefit --help` is fast.
"""

from __future__ import annotations

from phasefit.cli.app import main

__all__ = ["main"]
