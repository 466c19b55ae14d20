"""Commands with an exported folder: they work, or refuse it in one sentence."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from graphs import task, write_folder
from running import run_cli
