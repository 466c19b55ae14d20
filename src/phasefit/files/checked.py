"""Check the content of a JSON file against a type, before anything uses it: it may be damaged, or a stranger's."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

MOST = 2**53  # larger whole numbers are not exact in JSON
LONGEST = 160  # characters of a reason

Count: TypeAlias = Annotated[int, Field(strict=True, ge=0, le=MOST)]
Whole: TypeAlias = Annotated[int, Field(strict=True, ge=-MOST, le=MOST)]
Number: TypeAlias = Annotated[float, Field(strict=True)]  # whole numbers and NaN included
Finite: TypeAlias = Annotated[float, Field(strict=True, allow_inf_nan=False)]


class Document(BaseModel):
    """A table of a JSON file: declared entries have exactly their types, others are ignored."""

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True, arbitrary_types_allowed=True)


def checked(kind: Any, content: Any) -> Any:
    """The content as this type; ValueError with the place and the reason of the first problem."""
    try:
        return _adapter(kind).validate_python(content)
    except ValidationError as error:
        problem = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(str(part) for part in problem["loc"]) or "content"
        message = problem["msg"].removeprefix("Value error, ").removeprefix("Input ")
        if problem["type"] in ("model_type", "dict_type"):
            message = "should be a table"
        raise ValueError(reason(f"{place}: {message[:1].lower()}{message[1:]}")) from None
    except (RecursionError, OverflowError) as error:
        raise ValueError(reason(error)) from None


def reason(error: object) -> str:
    """An error of a library as a part of a sentence: one line, not long."""
    return " ".join(str(error).split())[:LONGEST]


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind)
