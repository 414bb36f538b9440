"""Turn locators into the JSON of ledger lines, and back."""

from typing import TypeAlias

import msgspec

from dayzero.core.pins import Sha256
from dayzero.evidence.locator import (
    CsvLocator,
    JsonlLocator,
    LineLocator,
    Locator,
    MemberLocator,
    PointerLocator,
    RangeLocator,
    SpanLocator,
    WholeFile,
)


class _Wire(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="kind"):
    pass


class _File(_Wire, frozen=True, tag="file"):
    pass


class _Line(_Wire, frozen=True, tag="line"):
    line: int
    sha256: str


class _Range(_Wire, frozen=True, tag="range"):
    first: int
    last: int
    sha256: str


class _Pointer(_Wire, frozen=True, tag="pointer"):
    pointer: str


class _Jsonl(_Wire, frozen=True, tag="jsonl"):
    line: int
    pointer: str


class _Csv(_Wire, frozen=True, tag="csv"):
    key_column: str
    key: str
    column: str


class _Member(_Wire, frozen=True, tag="member"):
    member: str
    sha256: str


class _Span(_Wire, frozen=True, tag="span"):
    offset: int
    length: int
    sha256: str


LocatorWire: TypeAlias = _File | _Line | _Range | _Pointer | _Jsonl | _Csv | _Member | _Span


def locator_to_wire(locator: Locator) -> LocatorWire:  # noqa: PLR0911  (one return a kind)
    """Write a locator; its ``kind`` says which."""
    match locator:
        case WholeFile():
            return _File()
        case LineLocator(line=line, sha256=digest):
            return _Line(line=line, sha256=digest.hex)
        case RangeLocator(first=first, last=last, sha256=digest):
            return _Range(first=first, last=last, sha256=digest.hex)
        case PointerLocator(pointer=pointer):
            return _Pointer(pointer=pointer)
        case JsonlLocator(line=line, pointer=pointer):
            return _Jsonl(line=line, pointer=pointer)
        case CsvLocator(key_column=key_column, key=key, column=column):
            return _Csv(key_column=key_column, key=key, column=column)
        case MemberLocator(member=member, sha256=digest):
            return _Member(member=member, sha256=digest.hex)
        case SpanLocator(offset=offset, length=length, sha256=digest):
            return _Span(offset=offset, length=length, sha256=digest.hex)


def locator_from_wire(wire: LocatorWire) -> Locator:  # noqa: PLR0911  (one return a kind)
    """Read a locator back.

    Raises:
        InputError: A number, pointer or digest in it is none.
    """
    match wire:
        case _File():
            return WholeFile()
        case _Line():
            return LineLocator(line=wire.line, sha256=Sha256(wire.sha256))
        case _Range():
            return RangeLocator(first=wire.first, last=wire.last, sha256=Sha256(wire.sha256))
        case _Pointer():
            return PointerLocator(pointer=wire.pointer)
        case _Jsonl():
            return JsonlLocator(line=wire.line, pointer=wire.pointer)
        case _Csv():
            return CsvLocator(key_column=wire.key_column, key=wire.key, column=wire.column)
        case _Member():
            return MemberLocator(member=wire.member, sha256=Sha256(wire.sha256))
        case _Span():
            return SpanLocator(offset=wire.offset, length=wire.length, sha256=Sha256(wire.sha256))
