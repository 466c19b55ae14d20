from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from phasefit.errors import DataError
from tiny import fresh_model


@pytest.mark.parametrize(
    ("odd", "said"), [("\ud800", "text 2 contains half a character"), (None, "text 2 is not a string")]
)
def test_a_text_that_no_tokenizer_takes_is_named(tiny_folder: Path, odd: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        fresh_model(tiny_folder).embed(["a song", odd])
