"""Keep of a shared library what a loader's view of its symbols needs: a small ELF file with its dynamic tables alone.

Layout: System V ABI, "Sections" and "Symbol table"; the version tables: Linux Standard Base, "Symbol versioning".
"""

import mmap
import struct
from pathlib import Path

_STRTAB, _DYNAMIC, _DYNSYM, _VERNEED = 3, 6, 11, 0x6FFFFFFE
_KEPT = (_STRTAB, _DYNAMIC, _DYNSYM, _VERNEED)
_HEADER, _ROW = 64, "<IIQQQQIIQQ"
_ROW_BYTES = struct.calcsize(_ROW)
_LINKED = (_DYNAMIC, _DYNSYM, _VERNEED)  # each names the section with its strings
_MAGIC = b"\x7fELF\x02\x01"


def dynamic_tables(library: Path) -> bytes:
    """Give an ELF file that holds only the dynamic tables of another; ``b""`` where it is none, or is cut short.

    The library is mapped, not read: libraries of a gigabyte take no memory.
    """
    try:
        with library.open("rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content:
            return _reduced(content) if content[: len(_MAGIC)] == _MAGIC else b""
    except (struct.error, ValueError, IndexError):
        return b""


def _reduced(content: mmap.mmap) -> bytes:
    (table,) = struct.unpack_from("<Q", content, 40)
    size, count = struct.unpack_from("<HH", content, 58)
    rows = [list(struct.unpack_from(_ROW, content, table + index * size)) for index in range(count)]
    wanted = {index for index, row in enumerate(rows) if row[1] in _LINKED}
    wanted |= {rows[index][6] for index in wanted}
    kept = [index for index in sorted(wanted) if rows[index][1] in _KEPT]
    position = {index: place for place, index in enumerate(kept, 1)}
    body, sections, offset = [], [bytes(_ROW_BYTES)], _HEADER
    for index in kept:
        row = rows[index]
        part = content[row[4] : row[4] + row[5]]
        if len(part) < row[5]:
            raise IndexError
        row[4], row[6] = offset, position.get(row[6], 0)
        sections.append(struct.pack(_ROW, *row))
        body.append(part)
        offset += len(part)
    header = bytearray(content[:_HEADER])
    struct.pack_into("<QQ", header, 32, 0, offset)
    struct.pack_into("<HHHHH", header, 54, 0, 0, _ROW_BYTES, len(sections), 0)
    return b"".join((bytes(header), *body, *sections))
