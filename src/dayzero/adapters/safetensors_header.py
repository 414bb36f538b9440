"""Read the header of a safetensors file strictly: the tensors that it holds, not their contents.

Format: safetensors 0.8.0 (README, "Format"): eight bytes of length, that many bytes of JSON, then the tensors without a gap.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import BinaryIO

import msgspec

from dayzero.core.errors import InputError
from dayzero.fit.checkpoint import DTYPE_BITS

_LENGTH_BYTES = 8
_LARGEST_HEADER = 100_000_000  # safetensors 0.8.0, tensor.rs, MAX_HEADER_SIZE
_METADATA = "__metadata__"
_POINTER = b"version https://git-lfs"  # read as a length it would be more than two exabytes


class Entry(msgspec.Struct, frozen=True, gc=False):
    """One tensor, as the header describes it; offsets count from the end of the header."""

    dtype: str
    shape: tuple[int, ...]
    data_offsets: tuple[int, int]


_OUTER = msgspec.json.Decoder(dict[str, msgspec.Raw])
_INNER = msgspec.json.Decoder(Entry)


@dataclass(frozen=True, slots=True)
class _Header:
    """A header's bytes, and how many bytes of tensors follow it."""

    path: Path
    text: bytes
    data_bytes: int

    def broken(self, why: str, offset: int) -> InputError:
        """Say what is wrong and where, in bytes from the start of the file."""
        return InputError(f"{self.path} is not a whole safetensors file: byte {offset}: {why}", hint="Fetch it again.")

    @property
    def data_offset(self) -> int:
        """Where the tensors begin in the file."""
        return _LENGTH_BYTES + len(self.text)


def read_safetensors_header(path: Path) -> dict[str, Entry]:
    """List the tensors of a file.

    Reads the header alone; half a million tensors take about two seconds.

    Raises:
        InputError: There is no such file, it ends too early, or its header is not one: too long, no JSON, a name twice, a
            type that is not known, tensors that overlap, leave a gap, or lie beyond the end. The message has file and byte.
    """
    try:
        with path.open("rb") as file:
            header = _read(path, file)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}", hint="Give a safetensors file.") from error
    entries = _decoded(header)
    _check_layout(header, entries)
    return entries


def _read(path: Path, file: BinaryIO) -> _Header:
    size = os.fstat(file.fileno()).st_size
    prefix = file.read(_LENGTH_BYTES)
    length = int.from_bytes(prefix, "little")
    empty = _Header(path, b"", 0)
    if prefix == _POINTER[:_LENGTH_BYTES]:
        raise InputError(f"{path} is a Git LFS pointer, not the weights", hint="Fetch them with git lfs pull.")
    if len(prefix) < _LENGTH_BYTES:
        raise empty.broken(f"the file ends after {len(prefix)} bytes", len(prefix))
    if length > _LARGEST_HEADER:
        raise empty.broken(f"the header would have {length} bytes, and {_LARGEST_HEADER} are the most", 0)
    if _LENGTH_BYTES + length > size:
        raise empty.broken(f"the file ends inside the header, which would end at byte {_LENGTH_BYTES + length}", size)
    return _Header(path, file.read(length), size - _LENGTH_BYTES - length)


def _decoded(header: _Header) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    try:
        outer = _OUTER.decode(header.text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise header.broken(f"the header is no JSON object: {error}", _LENGTH_BYTES) from error
    outer.pop(_METADATA, None)
    for name, raw in outer.items():
        try:
            entries[name] = _INNER.decode(raw)
        except msgspec.DecodeError as error:
            raise header.broken(f"{name!r:.100}: {error}", _place(header, name)) from error
    if header.text.count(b'"data_offsets"') != len(entries):
        _refuse_twice(header)
    return entries


def _refuse_twice(header: _Header) -> None:
    """Find the name that is there twice, if there is one: the fast decoder keeps the last one in silence."""
    twice: list[str] = []

    def pairs(found: list[tuple[str, object]]) -> object:
        twice.extend(name for name, count in Counter(name for name, _ in found).items() if count > 1)
        return dict(found)

    json.loads(header.text, object_pairs_hook=pairs)
    if twice:
        raise header.broken(f"{twice[0]!r:.100} is there twice", _place(header, twice[0]))


def _place(header: _Header, name: str) -> int:
    found = header.text.find(json.dumps(name, ensure_ascii=False).encode())
    return _LENGTH_BYTES + max(found, 0)


def _check_layout(header: _Header, entries: dict[str, Entry]) -> None:
    """Hold each tensor to its size, and all of them to lying one behind the other from the first byte to the last."""
    at = 0
    for begin, end, name in _spans(header, entries):
        if begin != at:
            wrong = "overlaps the tensor before it" if begin < at else f"leaves a gap of {begin - at} bytes before it"
            raise header.broken(f"{name!r:.100} {wrong}", header.data_offset + begin)
        at = end
    if at > header.data_bytes:
        missing = at - header.data_bytes
        raise header.broken(
            f"the file ends {missing} bytes before its tensors do", header.data_offset + header.data_bytes
        )
    if at < header.data_bytes:
        raise header.broken(f"{header.data_bytes - at} bytes behind the last tensor", header.data_offset + at)


def _spans(header: _Header, entries: dict[str, Entry]) -> Iterator[tuple[int, int, str]]:
    spans = []
    for name, entry in entries.items():
        begin, end = entry.data_offsets
        bits = DTYPE_BITS.get(entry.dtype)
        if bits is None:
            raise header.broken(f"{name!r:.100} has the unknown type {entry.dtype!r:.20}", _place(header, name))
        if min(entry.shape, default=0) < 0 or begin < 0 or (end - begin) * 8 != prod(entry.shape) * bits:
            shape = list(entry.shape)
            wrong = f"{name!r:.100} has {end - begin} bytes for {entry.dtype} {shape!r:.60}"
            raise header.broken(wrong, _place(header, name))
        spans.append((begin, end, name))
    spans.sort()
    yield from spans
