"""The command line: one file per command, each of them thin over the package.

`app.py` puts the commands together, `options.py` declares the options they share, `progress.py` listens to a running
job, `tables.py` draws results, `errors.py` turns exceptions into one sentence. Results go to standard output,
everything else to standard error. May import everything; nothing imports it. What is heavy (torch, pandas) is imported
inside the functions that need it, so that `phasefit --help` answers at once.
"""

from __future__ import annotations

from phasefit.cli.app import main

__all__ = ["main"]
