"""Read which symbols a shared library exports and which it leaves to others, from its own dynamic tables.

Layout: System V ABI, "Symbol table"; the version tables: Linux Standard Base, "Symbol versioning".
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from dayzero.core.errors import InputError

_DYNAMIC, _DYNSYM, _VERNEED = 6, 11, 0x6FFFFFFE
_NEEDED = 1
_LOCAL = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Section:
    kind: int
    offset: int
    size: int
    link: int
    entries: int


@dataclass(frozen=True, slots=True, kw_only=True)
class DynamicSymbols:
    """What a library offers to the loader, and what it asks of it.

    Attributes:
        exported: Symbols that it defines for others.
        undefined: Symbols that others must define.
        needed: Libraries that it names (``DT_NEEDED``).
        versions: Symbol versions that it needs (``GLIBC_2.34``).
    """

    exported: frozenset[str]
    undefined: frozenset[str]
    needed: tuple[str, ...]
    versions: frozenset[str]


def read_symbols(content: bytes) -> DynamicSymbols:
    """Read a library's dynamic symbols.

    Raises:
        InputError: It is no 64-bit little-endian ELF file, it is cut short, or its table of dynamic symbols was stripped.
    """
    if content[:6] != b"\x7fELF\x02\x01":
        raise InputError("not a 64-bit little-endian ELF file", hint="Look at the build for Linux.")
    try:
        return _read(content, _sections(content))
    except (struct.error, IndexError, OverflowError) as error:
        raise InputError("the ELF file is cut short", hint="Fetch the build again.") from error


def _sections(content: bytes) -> tuple[_Section, ...]:
    (table,) = struct.unpack_from("<Q", content, 40)
    size, count = struct.unpack_from("<HH", content, 58)
    rows = (struct.unpack_from("<IIQQQQIIQQ", content, table + index * size) for index in range(count))
    return tuple(
        _Section(kind=kind, offset=offset, size=length, link=link, entries=info)
        for _, kind, _, _, offset, length, link, info, _, _ in rows
    )


def _read(content: bytes, sections: tuple[_Section, ...]) -> DynamicSymbols:
    symbols = [section for section in sections if section.kind == _DYNSYM]
    if not symbols:
        raise InputError("its table of dynamic symbols is not there", hint="Look at the library as its wheel has it.")
    exported: set[str] = set()
    undefined: set[str] = set()
    for section in symbols:
        strings = sections[section.link]
        whole = content[section.offset : section.offset + section.size]
        if len(whole) < section.size or section.size % 24:
            raise struct.error
        for name, info, _, index, _, _ in struct.iter_unpack("<IBBHQQ", whole):
            if name and info >> 4 != _LOCAL:
                (exported if index else undefined).add(_text(content, strings, name))
    return DynamicSymbols(
        exported=frozenset(exported),
        undefined=frozenset(undefined),
        needed=_needed(content, sections),
        versions=frozenset(_versions(content, sections)),
    )


def _text(content: bytes, strings: _Section, at: int) -> str:
    start = strings.offset + at
    end = content.find(b"\0", start, strings.offset + strings.size)
    if end < 0:
        raise IndexError
    return content[start:end].decode("utf-8", "replace")


def _needed(content: bytes, sections: tuple[_Section, ...]) -> tuple[str, ...]:
    found = []
    for section in (one for one in sections if one.kind == _DYNAMIC):
        whole = content[section.offset : section.offset + section.size]
        rows = struct.iter_unpack("<qQ", whole[: len(whole) // 16 * 16])
        found += [_text(content, sections[section.link], value) for tag, value in rows if tag == _NEEDED]
    return tuple(found)


def _versions(content: bytes, sections: tuple[_Section, ...]) -> Iterator[str]:
    for section in (one for one in sections if one.kind == _VERNEED):
        strings = sections[section.link]
        for row in _linked(content, section.offset, "<HHIII", section.entries):
            _, count, _, first, _ = struct.unpack_from("<HHIII", content, row)
            for entry in _linked(content, row + first, "<IHHII", count):
                _, _, _, name, _ = struct.unpack_from("<IHHII", content, entry)
                yield _text(content, strings, name)


def _linked(content: bytes, at: int, layout: str, count: int) -> Iterator[int]:
    """Give the offsets of entries whose last field is the distance to the next, 0 in the last of them."""
    for _ in range(count):
        yield at
        distance = struct.unpack_from(layout, content, at)[-1]
        if not distance:
            return
        at += distance
