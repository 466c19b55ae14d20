"""Written TOML reads back as the same content, with any characters."""

from __future__ import annotations

import tomllib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from phasefit.files.toml import to_toml, toml_value

WILD = 'a "quoted" \\ word,\nanother line, a tab\tand \x7f, ünïcode'


@pytest.mark.parametrize(
    "value",
    [True, 3, 1e-5, "", WILD, ["a", 1, WILD], {"a": [False]}, {WILD: {"b c": WILD}}, [{"name": WILD}], {}, []],
)
def test_a_value_is_one_line_and_reads_as_it_was(value: Any) -> None:
    line = toml_value(value)
    assert "\n" not in line
    assert tomllib.loads(f"value = {line}")["value"] == value
    whole = {"value": value, "table": {"inside": value}}
    assert tomllib.loads(to_toml(whole)) == whole


@given(st.dictionaries(st.text(), st.recursive(st.text() | st.integers() | st.booleans(), st.lists)))
def test_every_text_is_quoted(content: dict[str, Any]) -> None:
    assert tomllib.loads(to_toml(content)) == content
    assert tomllib.loads(f"value = {toml_value(content)}")["value"] == content


def test_types_that_toml_lacks_are_refused() -> None:
    with pytest.raises(TypeError):
        toml_value(None)
