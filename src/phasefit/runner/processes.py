"""One of several processes? Known from the environment, before torch is imported."""

from __future__ import annotations

import os


def is_main_process() -> bool:
    """Whether this process writes files and speaks to the user."""
    return os.environ.get("RANK", "0") == "0"
