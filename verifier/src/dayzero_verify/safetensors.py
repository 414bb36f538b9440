"""Read the header of a safetensors file strictly: which tensors it holds, and that they fill the file.

Format: safetensors 0.8.0 (README, "Format"): eight bytes of length, that many bytes of JSON, then the tensors without a gap.
"""

import json
from collections.abc import Mapping
from itertools import chain
from math import prod
from types import MappingProxyType
from typing import Any

from dayzero_verify.strict_json import MAX_INTEGER

LENGTH_BYTES = 8
MAX_HEADER_BYTES = 100_000_000  # safetensors 0.8.0, tensor.rs, MAX_HEADER_SIZE

# Bits of one element. Source: safetensors 0.8.0, tensor.rs, Dtype::bitsize.
DTYPE_BITS: Mapping[str, int] = MappingProxyType(
    {
        **dict.fromkeys(("F4",), 4),
        **dict.fromkeys(("F6_E2M3", "F6_E3M2"), 6),
        **dict.fromkeys(("BOOL", "U8", "I8"), 8),
        **dict.fromkeys(("F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"), 8),
        **dict.fromkeys(("I16", "U16", "F16", "BF16"), 16),
        **dict.fromkeys(("I32", "U32", "F32"), 32),
        **dict.fromkeys(("C64", "F64", "I64", "U64"), 64),
    }
)
_MAX_DIMENSIONS = 64  # numpy 2 allows as many, torch 2 no more
_ENTRY = ("dtype", "shape", "data_offsets")


class HeaderError(ValueError):
    """The header is not one, or does not describe the file that it stands in.

    Args:
        reason: Why.
        offset: Where in the file that shows, in bytes.
    """

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(reason)
        self.offset = offset


class TruncatedError(HeaderError):
    """The file ends before what its header describes."""


def header_length(prefix: bytes, file_bytes: int) -> int:
    """Give the length of the JSON from the first eight bytes of a file.

    Raises:
        TruncatedError: The file ends inside the header.
        HeaderError: The header would be longer than the format allows.
    """
    if len(prefix) < LENGTH_BYTES:
        raise TruncatedError(f"the file ends after {len(prefix)} bytes", len(prefix))
    length = int.from_bytes(prefix, "little")
    if length > MAX_HEADER_BYTES:
        raise HeaderError(f"the header would have {length} bytes, and {MAX_HEADER_BYTES} are the most", 0)
    if LENGTH_BYTES + length > file_bytes:
        raise TruncatedError(f"the file ends inside its header of {length} bytes", file_bytes)
    return length


def tensors(header: bytes, file_bytes: int) -> dict[str, Any]:
    """Give a file's tensors by name, as the header has them, each held to its size and all of them to filling the file.

    Args:
        header: The JSON.
        file_bytes: Size of the whole file.

    Raises:
        TruncatedError: The tensors would end behind the end of the file.
        HeaderError: The JSON is none, a key occurs twice, a type is unknown, or there is a hole, an overlap or a rest.
    """
    document = load_object(header)
    document.pop("__metadata__", None)
    at, data = 0, LENGTH_BYTES + len(header)
    for begin, end, name in _spans(document, header):
        if begin != at:
            wrong = "overlaps the tensor before it" if begin < at else f"leaves a hole of {begin - at} bytes before it"
            raise HeaderError(f"{name!a:.100} {wrong}", data + begin)
        at = end
    if data + at > file_bytes:
        raise TruncatedError(f"the file ends {data + at - file_bytes} bytes before its tensors do", file_bytes)
    if data + at < file_bytes:
        raise HeaderError(f"{file_bytes - data - at} bytes stand behind the last tensor", data + at)
    return document


def load_object(text: bytes) -> dict[str, Any]:
    """Parse a JSON object of objects fast; unlike the strict reader's, its numbers are for the caller to judge.

    A key that is there twice makes more keys in the text than in the objects. Where every colon follows a quote, there are at
    least as many of them as keys; where the two counts differ, each object is looked at.

    Raises:
        HeaderError: It is no JSON object, or a key occurs twice in it or in one of its objects.
    """
    document = _parsed(text, unique=False)
    keys = len(document) + sum(len(value) for value in document.values() if type(value) is dict)
    if not keys == text.count(b":") == text.count(b'":'):
        return _parsed(text, unique=True)
    return document


def _parsed(text: bytes, *, unique: bool) -> dict[str, Any]:
    try:
        document = json.loads(text.decode("utf-8"), object_pairs_hook=_unique if unique else None)
    except (ValueError, RecursionError) as error:
        raise HeaderError(f"not a JSON object: {error}", LENGTH_BYTES) from error
    if not isinstance(document, dict):
        raise HeaderError("not a JSON object", LENGTH_BYTES)
    return document


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!a:.100} occurs twice")
    return members


def _spans(document: dict[str, Any], header: bytes) -> list[tuple[int, int, str]]:
    """Give where each tensor begins and ends behind the header, in that order; there may be half a million."""
    rows: list[tuple[int, int, str, int, list[int]]] = []
    parts: list[list[int]] = []
    for name, entry in document.items():
        try:
            shape, offsets = entry["shape"], entry["data_offsets"]
            begin, end = offsets
            rows.append((begin, end, name, DTYPE_BITS[entry["dtype"]], shape))
            sound = type(shape) is list and len(shape) <= _MAX_DIMENSIONS and len(entry) == len(_ENTRY)
        except (TypeError, ValueError, LookupError):
            sound = False
        if not sound:
            raise _no_tensor(name, entry, header)
        parts += (shape, offsets)
    # Before they are multiplied, which could take days. Exactly int: a bool would pass as one.
    numbers = list(chain.from_iterable(parts))
    if numbers and (set(map(type, numbers)) != {int} or min(numbers) < 0 or max(numbers) > MAX_INTEGER):
        raise _no_number(rows, header)
    for begin, end, name, bits, shape in rows:
        if (end - begin) * 8 != bits * prod(shape):
            raise _no_tensor(name, document[name], header)
    return sorted((begin, end, name) for begin, end, name, _, _ in rows)


def _no_number(rows: list[tuple[int, int, str, int, list[int]]], header: bytes) -> HeaderError:
    name = next(
        name
        for begin, end, name, _, shape in rows
        if not all(type(number) is int and 0 <= number <= MAX_INTEGER for number in (begin, end, *shape))
    )
    reason = f"{name!a:.100} has a shape or an offset that is not a whole number from 0 to {MAX_INTEGER}"
    return HeaderError(reason, _place(name, header))


def _no_tensor(name: str, entry: object, header: bytes) -> HeaderError:
    reason = f"{name!a:.100} is no tensor of a known type that fills its bytes: {entry!a:.200}"
    return HeaderError(reason, _place(name, header))


def _place(name: str, header: bytes) -> int:
    return LENGTH_BYTES + max(header.find(json.dumps(name, ensure_ascii=False).encode()), 0)
