"""Messages of errors: one line, readable, whatever they quote."""

from __future__ import annotations

import pytest

from phasefit.control_characters import LONGEST_MESSAGE, message_line
from phasefit.errors import DataError, RunError


@pytest.mark.parametrize("error", [DataError, RunError])
def test_a_message_is_one_line_in_python_too(error: type[Exception]) -> None:
    assert str(error("column 'a\nb\x1b[2J' is unknown")) == "column 'a b\\u001b[2J' is unknown"


def test_invisible_characters_show_why_two_names_differ() -> None:
    assert message_line("unknown kind '\ufeffjoint'; did you mean 'joint'?").startswith("unknown kind '\\ufeffjoint'")


def test_characters_of_scripts_stay() -> None:
    text = "column 'می‌خواهم 👨‍👩 naïve' is unknown"
    assert message_line(text) == text


def test_a_long_value_is_shortened_in_its_middle() -> None:
    line = message_line(f"unknown kind '{'[' * 5_000}'; choose one of a, b")
    assert len(line) < 300
    assert line.endswith("choose one of a, b")


def test_a_message_of_many_words_is_shortened() -> None:
    assert len(message_line("column " * 10_000)) <= LONGEST_MESSAGE + 3
