from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from phasefit.errors import DataError
from tiny import fresh_model


@pytest.mark.parametrize(
    ("odd", "message"), [("\ud800", "text 2 contains a lone surrogate"), (None, "text 2 is not a string")]
)
def test_the_error_names_an_invalid_text(tiny_folder: Path, odd: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        fresh_model(tiny_folder).embed(["a song", odd])
