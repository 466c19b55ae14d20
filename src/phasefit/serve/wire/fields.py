"""Reading the fields of a JSON body; every problem is a Refusal that names the field."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic_core import from_json, to_json

from phasefit.control_characters import one_line
from phasefit.serve.limits import Limits
from phasefit.serve.loading import Target
from phasefit.serve.refusals import Refusal, invalid, too_large

TEXT = {"type": "string", "minLength": 1, "pattern": r"\S"}  # the schema of a text


def read_object(body: bytes) -> dict[str, Any]:
    """The JSON object of a body."""
    try:
        content = from_json(body, allow_inf_nan=False)
    except (ValueError, RecursionError) as error:
        raise Refusal(422, f"body: is not valid JSON ({one_line(error)[:120]})", field="body") from None
    if not isinstance(content, dict):
        raise Refusal(422, f"body: must be a JSON object, not {kind_of_json(content)}", field="body")
    return content


def write_json(content: object) -> bytes:
    """JSON bytes; numbers that are not finite become null."""
    return to_json(content, inf_nan_mode="null")


def kind_of_json(value: object) -> str:
    """What a JSON value is called."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    names = {str: "a text", dict: "an object", list: "a list"}
    return next((name for kind, name in names.items() if isinstance(value, kind)), "a number")


def text_field(content: Mapping[str, Any], name: str) -> str | None:
    """An optional text."""
    value = content.get(name)
    if value is not None and not isinstance(value, str):
        raise invalid(name, f"must be a text, not {kind_of_json(value)}")
    return value


def flag_field(content: Mapping[str, Any], name: str) -> bool | None:
    """An optional true or false."""
    value = content.get(name)
    if value is not None and not isinstance(value, bool):
        raise invalid(name, f"must be true or false, not {kind_of_json(value)}")
    return value


def count_field(content: Mapping[str, Any], name: str) -> int | None:
    """An optional whole number of at least 1."""
    value = content.get(name)
    if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
        raise invalid(name, "must be a whole number of at least 1")
    return value


def choice_field(content: Mapping[str, Any], name: str, choices: tuple[str, ...]) -> str | None:
    """An optional text out of several."""
    value = text_field(content, name)
    if value is not None and value not in choices:
        raise invalid(name, f"must be {' or '.join(choices)}")
    return value


def refuse_fields(content: Mapping[str, Any], reasons: Mapping[str, str]) -> None:
    """Refuse fields that would change the answer and are not supported; null counts as missing."""
    for name, reason in reasons.items():
        if content.get(name) is not None:
            raise invalid(name, reason)


def check_text(value: object, where: str, limits: Limits) -> str:
    """A text that a model can read."""
    if not isinstance(value, str):
        raise invalid(where, f"must be a text, not {kind_of_json(value)}")
    if len(value) > limits.max_characters:
        raise too_large(
            f"{where}: has {len(value)} characters, and the server accepts {limits.max_characters} (--max-characters)",
            where,
        )
    if not value.strip():
        raise invalid(where, "must not be empty")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise invalid(where, "contains a lone surrogate (an incomplete character); remove it") from None
    return value


def check_input(value: object, where: str, target: Target, limits: Limits) -> str | tuple[str, str]:
    """A text, or a pair if the model reads pairs."""
    if not target.reads_pairs:
        if isinstance(value, list):
            raise invalid(where, f"must be a text, because model '{target.name}' reads single texts")
        return check_text(value, where, limits)
    if not isinstance(value, list) or len(value) != 2:
        raise invalid(where, f"must be a list of two texts, because model '{target.name}' reads pairs")
    first, second = (check_text(part, f"{where}[{side}]", limits) for side, part in enumerate(value))
    return first, second


def check_inputs(values: list[Any], where: str, target: Target, limits: Limits) -> list[Any]:
    """Several texts or pairs."""
    if not values:
        raise invalid(where, "must not be empty")
    if len(values) > limits.max_texts:
        raise too_large(
            f"{where}: has {len(values)} texts, and the server accepts {limits.max_texts} per request (--max-texts)",
            where,
        )
    return [check_input(value, f"{where}[{place}]", target, limits) for place, value in enumerate(values)]
