"""What a recipe may say about views: a list, or one of them without the brackets."""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator


def _as_list(given: Any) -> Any:
    return [given] if isinstance(given, str | dict) else given


ViewList: TypeAlias = Annotated[list[str | dict[str, Any]], BeforeValidator(_as_list)]
"""Each a name, or a table with `name` and the view's own options."""
