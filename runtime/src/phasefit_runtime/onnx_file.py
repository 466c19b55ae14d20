"""Refuse ONNX models that read other files, or that contain loops or functions.

The weights must be in the file whose checksum was compared. No exported run has loops, which need not end, or
functions, which can multiply when they are expanded.

> Why not the onnx library: it is not a dependency of the runtime, and only a few fields of the format matter here.
"""

from __future__ import annotations

from collections.abc import Iterator

from phasefit_runtime.errors import ExportError
from phasefit_runtime.files import AGAIN

# The fields of each message that lead to tensors, by their numbers in onnx.proto.
LEADS: dict[str, dict[int, str]] = {
    "model": {7: "graph", 20: "training", 25: "function"},
    "training": {1: "graph", 2: "graph"},
    "function": {7: "node", 11: "attribute"},
    "graph": {1: "node", 5: "tensor", 15: "sparse"},
    "node": {5: "attribute"},
    "attribute": {5: "tensor", 6: "graph", 10: "tensor", 11: "graph", 22: "sparse", 23: "sparse"},
    "sparse": {1: "tensor", 2: "tensor"},
    "tensor": {},
}
EXTERNAL_DATA, DATA_LOCATION = 13, 14  # of a tensor
FUNCTIONS = 25  # of a model
OPERATION = 4  # of a node: its name
LOOPS = (b"Loop", b"Scan", b"SequenceMap")
VARINT, FIXED_64, BYTES, FIXED_32 = 0, 1, 2, 5  # how a field is written
MOST_FIELDS = 5_000_000  # a model has thousands; each takes about a microsecond and some bytes of memory
KEY_BITS = 32  # of a field; other readers ignore further ones, so a key with more would hide a field from this one


def refuse_unusual_models(model: bytes) -> None:
    """Raise an ExportError if a tensor is in another file, if there are loops or functions, or if it is not valid."""
    waiting, fields = [("model", 0, len(model))], 0
    try:
        while waiting:
            message, start, stop = waiting.pop()
            leads = LEADS[message]
            for number, begin, end, value in _fields(model, start, stop):
                fields += 1
                if fields > MOST_FIELDS:
                    raise ExportError(f"the model has more than {MOST_FIELDS:,} parts, which is not allowed; {AGAIN}")
                if message == "tensor" and (number == EXTERNAL_DATA or (number == DATA_LOCATION and value)):
                    raise ExportError(f"the model reads its weights from another file, which is not allowed; {AGAIN}")
                is_loop = message == "node" and number == OPERATION and model[begin:end] in LOOPS
                if is_loop or (message == "model" and number == FUNCTIONS):
                    raise ExportError(f"the model contains loops or functions, which is not allowed; {AGAIN}")
                if number in leads and begin < end:
                    waiting.append((leads[number], begin, end))
    except (IndexError, _InvalidError):
        raise ExportError(f"the model is not a valid ONNX file; {AGAIN}") from None


class _InvalidError(Exception):
    """The bytes are no protobuf message."""


def _fields(data: bytes, start: int, stop: int) -> Iterator[tuple[int, int, int, int]]:
    """Number, start and end of the content, and value (of a number) of each field of a message."""
    at = start
    while at < stop:
        key, at = _varint(data, at)
        if key >> KEY_BITS:
            raise _InvalidError
        number, how, value, begin = key >> 3, key & 7, 0, at
        if how == VARINT:
            value, at = _varint(data, at)
            begin = at
        elif how == BYTES:
            size, begin = _varint(data, at)
            at = begin + size
        elif how in (FIXED_64, FIXED_32):
            begin = at = at + (8 if how == FIXED_64 else 4)
        else:
            raise _InvalidError
        if at > stop:
            raise _InvalidError
        yield number, begin, at, value


def _varint(data: bytes, at: int) -> tuple[int, int]:
    """A number of variable length, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
        if shift > 63:
            raise _InvalidError
