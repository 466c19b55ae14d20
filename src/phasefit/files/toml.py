"""Writing TOML: whole files, and single values in one line. Everything that is quoted is quoted by tomli_w."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def to_toml(content: Mapping[str, Any]) -> str:
    """A TOML file with this content."""
    import tomli_w

    return tomli_w.dumps(content)


def toml_value(value: Any) -> str:
    """One value as TOML, in one line; TypeError for what TOML does not have."""
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(name)} = {toml_value(inner)}" for name, inner in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    return to_toml({"v": value}).removeprefix("v = ").removesuffix("\n")


def _key(name: str) -> str:
    return to_toml({name: 0}).removesuffix(" = 0\n")
