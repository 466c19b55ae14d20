"""Edits: small descriptions of how a file differs from an intact one.

A case of the corpus is such a description, not the file: it stays small, says what is wrong, and still applies after
the intact file has changed. A list of edits is drawn from a seed by `draw_edits` and applied by `edited`.
"""

from __future__ import annotations

import json
import random
import struct
import tomllib
from collections.abc import Callable, Iterator
from typing import Any

Edit = dict[str, Any]
Path = list[Any]  # keys and positions from the top of a document
SMALL = 2_000  # values longer than this are described, not spelled out

RAW = "$raw"  # text that is written as it is, where a value is expected
REPEAT = "$repeat"  # [opening, inside, closing, times]
SCALARS: list[Any] = [
    *(None, True, False, "", [], {}, 0, -1, 1, 2, 0.5, -0.0, 1e-320, 1e308, -1e308, 2**31, -(2**31), 2**63, 2**64),
    *(
        10**7,
        10**12,
        10**40,
        10**400,
        "x",
        "0",
        "-1",
        "nan",
        "..",
        "../..",
        "/",
        "/etc/passwd",
        "~",
        "~x",
        ".",
        "a/b",
        "\0",
    ),
    *("\n", "\x1b[31m", "\u202e", "\ud800", "é" * 300, " ", "None", "default", "__class__", "hub:a/b", [None], [[]]),
    *([0], [""], [1, 2, 3], ["a", "a"], {"": None}, {"a": {"b": {"c": 1}}}, [{}], {"$": []}, [True, 1], [1.5]),
    {RAW: "NaN"},
    {RAW: "Infinity"},
    {RAW: "-Infinity"},
    {RAW: "1e999"},
    {RAW: "1" + "0" * 5_000},
    {REPEAT: ["[", "", "]", 100_000]},
    {REPEAT: ["[", "0", "]", 900]},
    {REPEAT: ['{"a":', "1", "}", 20_000]},
    {REPEAT: ["", '"' + "x" * 100 + '"', "", 1]},
]
BYTES = [
    *(b"\0", b"\xff", b"\xff\xfe", b"\xef\xbb\xbf", b'"', b"'", b",", b"\t", b"\n", b"\r", b"\r\n", b"{", b"}", b"["),
    *(b"]", b":", b"\\", b"\\ud800", b"\x1b", b"\xc3", b"\xf0\x9f\x99\x82", b"\xe2\x80\xa8", b"=", b"#", b"-", b"e999"),
]


# --- applying ---------------------------------------------------------------------------------------------------------


def edited(data: bytes, edits: list[Edit], form: str) -> bytes:
    """The file after all edits; an edit whose place no longer exists changes nothing. `form`: json, toml, tensors."""
    structured = [edit for edit in edits if edit["do"] in DOCUMENT]
    if structured:
        data = _through_document(data, structured, form)
    for edit in edits:
        if edit["do"] in BYTEWISE:
            data = BYTEWISE[edit["do"]](data, edit)
    return data


def _through_document(data: bytes, edits: list[Edit], form: str) -> bytes:
    try:
        document, rest = parse(data, form)
    except ValueError:
        return data
    for edit in edits:
        document = DOCUMENT[edit["do"]](document, edit)
    return _unparse(document, rest, form)


def parse(data: bytes, form: str) -> tuple[Any, bytes]:
    """The document in a file, and what follows it: the numbers of tensors."""
    if form == "toml":
        return tomllib.loads(data.decode()), b""
    if form == "tensors":
        size = struct.unpack("<Q", data[:8])[0]
        return json.loads(data[8 : 8 + size]), data[8 + size :]
    return json.loads(data), b""


def _unparse(document: Any, rest: bytes, form: str) -> bytes:
    if form == "toml":
        import tomli_w

        try:
            return tomli_w.dumps(_plain_toml(document)).encode("utf-8", "replace")
        except (TypeError, AttributeError, ValueError):
            return str(document).encode("utf-8", "replace")
    text = to_json(document).encode("utf-8", "surrogatepass")
    return struct.pack("<Q", len(text)) + text + rest if form == "tensors" else text


def to_json(document: Any) -> str:
    """JSON in which described values are spelled out."""
    spelled: list[str] = []

    def marked(value: Any) -> Any:
        if isinstance(value, dict) and len(value) == 1 and (RAW in value or REPEAT in value):
            spelled.append(_spell(value))
            return f"\0{len(spelled) - 1}\0"
        if isinstance(value, dict):
            return {name: marked(inside) for name, inside in value.items()}
        return [marked(inside) for inside in value] if isinstance(value, list) else value

    text = json.dumps(marked(document), ensure_ascii=False)
    for number, raw in enumerate(spelled):
        text = text.replace(json.dumps(f"\0{number}\0"), raw)
    return text


def _spell(value: dict[str, Any]) -> str:
    if RAW in value:
        return str(value[RAW])
    opening, inside, closing, times = value[REPEAT]
    return str(opening) * times + str(inside) + str(closing) * times


def _plain_toml(value: Any) -> Any:
    """The value with what TOML lacks replaced."""
    if isinstance(value, dict):
        if len(value) == 1 and (RAW in value or REPEAT in value):
            inside: list[Any] = []
            for _ in range(value[REPEAT][3] if REPEAT in value and value[REPEAT][0] == "[" else 0):
                inside = [inside]
                if len(inside) and _depth_reached(inside):
                    break
            return inside or float("nan")
        return {str(name): _plain_toml(inside) for name, inside in value.items() if inside is not None}
    if isinstance(value, list):
        return [_plain_toml(inside) for inside in value if inside is not None]
    return value


def _depth_reached(value: list[Any]) -> bool:
    depth = 0
    while value:
        value, depth = value[0], depth + 1
    return depth >= 50


def _at(document: Any, path: Path) -> tuple[Any, Any] | None:
    """The container of a place and the last key; None if the place does not exist."""
    for key in path[:-1]:
        try:
            document = document[key]
        except (KeyError, IndexError, TypeError):
            return None
    return (document, path[-1]) if isinstance(document, dict | list) else None


def _set(document: Any, edit: Edit) -> Any:
    if not edit["at"]:
        return edit["to"]
    place = _at(document, edit["at"])
    if place is not None:
        holder, key = place
        if isinstance(holder, dict):
            holder[str(key)] = edit["to"]
        elif isinstance(key, int) and key < len(holder):
            holder[key] = edit["to"]
    return document


def _delete(document: Any, edit: Edit) -> Any:
    place = _at(document, edit["at"]) if edit["at"] else None
    if place is not None:
        holder, key = place
        if isinstance(holder, dict):
            holder.pop(str(key), None)
        elif isinstance(key, int) and key < len(holder):
            del holder[key]
    return document


def _append(document: Any, edit: Edit) -> Any:
    place = _at(document, [*edit["at"], None])
    if place is not None and isinstance(place[0], list):
        place[0].extend([edit["to"]] * edit.get("times", 1))
    return document


def _truncate(data: bytes, edit: Edit) -> bytes:
    return data[: int(len(data) * edit["share"])]


def _flip(data: bytes, edit: Edit) -> bytes:
    place = int(len(data) * edit["share"])
    return data[:place] + bytes([data[place] ^ (1 << edit["bit"])]) + data[place + 1 :] if place < len(data) else data


def _insert(data: bytes, edit: Edit) -> bytes:
    place = int(len(data) * edit["share"])
    return data[:place] + edit["bytes"].encode("latin-1") * edit.get("times", 1) + data[place:]


def _cut(data: bytes, edit: Edit) -> bytes:
    place = int(len(data) * edit["share"])
    return data[:place] + data[place + edit["count"] :]


def _double(data: bytes, edit: Edit) -> bytes:
    place = int(len(data) * edit["share"])
    return data[: place + edit["count"]] + data[place:]


def _replace(data: bytes, edit: Edit) -> bytes:
    return str(edit["text"]).encode("latin-1")


def _header_size(data: bytes, edit: Edit) -> bytes:
    return struct.pack("<Q", edit["size"]) + data[8:]


DOCUMENT: dict[str, Callable[[Any, Edit], Any]] = {"set": _set, "delete": _delete, "append": _append}
BYTEWISE: dict[str, Callable[[bytes, Edit], bytes]] = {
    "truncate": _truncate,
    "flip": _flip,
    "insert": _insert,
    "cut": _cut,
    "double": _double,
    "replace": _replace,
    "header_size": _header_size,
}


# --- drawing ----------------------------------------------------------------------------------------------------------


def draw_edits(random: random.Random, data: bytes, form: str) -> list[Edit]:
    """One to three edits that fit the form of the file."""
    count = random.choice([1, 1, 1, 2, 3])
    try:
        document, _ = parse(data, form) if form != "bytes" else (None, b"")
    except ValueError:
        document = None
    if document is None or random.random() < (0.5 if form == "tensors" else 0.15):
        return [_draw_bytes(random, form) for _ in range(count)]
    places = list(_places(document))
    return [_draw_document(random, places) for _ in range(count)]


def _places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Every place in a document with its value; long lists count by their first few items."""
    yield path, document
    if isinstance(document, dict):
        for key, value in list(document.items())[:200]:
            yield from _places(value, (*path, key))
    elif isinstance(document, list):
        for place, value in enumerate(document[:5]):
            yield from _places(value, (*path, place))


def _draw_document(random: random.Random, places: list[tuple[tuple[Any, ...], Any]]) -> Edit:
    # Shallow places matter most and are few: choose a depth first.
    depth = random.choice(sorted({len(path) for path, _ in places}))
    path, value = random.choice([place for place in places if len(place[0]) == depth])
    do = random.choice(["set", "set", "set", "set", "delete", "other", "key", "append", "near"])
    if do == "delete" and path:
        return {"do": "delete", "at": list(path)}
    if do == "other":  # the right kind of value in the wrong place
        return {"do": "set", "at": list(path), "to": _small(random.choice(places)[1])}
    if do == "key" and isinstance(value, dict):
        return {"do": "set", "at": [*path, random.choice(["", "x", "__init__", "seed", "\n", "kind"])], "to": 1}
    if do == "append" and isinstance(value, list):
        to = value[0] if value and random.random() < 0.5 else random.choice(SCALARS)
        return {"do": "append", "at": list(path), "to": _small(to), "times": random.choice([1, 2, 1000])}
    if do == "near" and isinstance(value, int | float) and not isinstance(value, bool):
        return {
            "do": "set",
            "at": list(path),
            "to": random.choice([value + 1, value - 1, -value, value * 1000, float(value)]),
        }
    return {"do": "set", "at": list(path), "to": random.choice(SCALARS)}


def _small(value: Any) -> Any:
    return value if len(json.dumps(value)) < SMALL else 0


def _draw_bytes(random: random.Random, form: str) -> Edit:
    share = round(random.choice([random.random(), random.random() ** 4]), 6)
    if form == "tensors" and random.random() < 0.2:
        return {"do": "header_size", "size": random.choice([0, 1, 7, 2**20, 2**32, 2**63, 2**64 - 1])}
    do = random.choice(["truncate", "flip", "flip", "insert", "insert", "cut", "double"])
    if do == "truncate":
        return {"do": do, "share": share}
    if do == "flip":
        return {"do": do, "share": share, "bit": random.randrange(8)}
    if do == "insert":
        inserted = random.choice(BYTES).decode("latin-1")
        return {"do": do, "share": share, "bytes": inserted, "times": random.choice([1, 1, 1, 2, 300])}
    return {"do": do, "share": share, "count": random.choice([1, 1, 2, 5, 20, 200])}
