"""Write TOML: whole files, and single values on one line. tomli_w does all quoting."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def to_toml(content: Mapping[str, Any]) -> str:
    """A TOML file with this content."""
    import tomli_w

    return tomli_w.dumps(content)


def toml_value(value: Any) -> str:
    """One value as TOML, on one line; TypeError for types that TOML lacks."""
    if isinstance(value, Mapping):
        inside = ", ".join(f"{_key(name)} = {toml_value(inner)}" for name, inner in value.items())
        return f"{{ {inside} }}" if inside else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    return to_toml({"v": value}).removeprefix("v = ").removesuffix("\n")


def _key(name: str) -> str:
    return to_toml({name: 0}).removesuffix(" = 0\n")
