"""Read a compiled extension's bytes as an ELF image: segments, strings, and the pointers that the loader would fill in.

Nothing is loaded or run. Tables of strings cannot be read by looking at neighbouring strings alone: a linker stores a
string that ends another one only inside that other one (``bert`` inside ``nomic-bert``). So tables are followed through
their pointers.

Layout: System V ABI, "Object files" and the x86-64 and AArch64 supplements (relative relocations).
"""

import struct
from collections.abc import Mapping
from dataclasses import dataclass

from dayzero.core.errors import InputError

X86_64 = 62

_LOAD, _DYNAMIC = 1, 2
_RELA, _RELA_BYTES = 7, 8
_EXECUTABLE = 1
_RELATIVE = {X86_64: 8, 183: 1027}  # machine -> relocation type "image base + addend"
_LONGEST_NAME = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A range of the file that is mapped to memory: where, from which file offset, and how many bytes of it."""

    address: int
    offset: int
    size: int
    executable: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ElfImage:
    """A 64-bit little-endian ELF file.

    Attributes:
        content: The whole file.
        machine: The processor it is for, as ``e_machine`` says (62 is x86-64).
        segments: What is mapped.
        pointers: Address of each pointer that the loader fills in -> the address that it will hold.
    """

    content: bytes
    machine: int
    segments: tuple[Segment, ...]
    pointers: Mapping[int, int]

    def offset(self, address: int) -> int | None:
        """Translate an address to the file's offset, ``None`` where no byte of the file is mapped."""
        for segment in self.segments:
            if segment.address <= address < segment.address + segment.size:
                return address - segment.address + segment.offset
        return None

    def addresses_of(self, name: str) -> tuple[int, ...]:
        """Find where ``name`` stands, ended by NUL; it may be the end of a longer string."""
        wanted, found = name.encode() + b"\0", []
        for segment in self.segments:
            position = self.content.find(wanted, segment.offset, segment.offset + segment.size)
            while position >= 0:
                found.append(position - segment.offset + segment.address)
                position = self.content.find(wanted, position + 1, segment.offset + segment.size)
        return tuple(found)

    def slots_of(self, targets: tuple[int, ...]) -> tuple[int, ...]:
        """Find the pointers that will hold one of the target addresses, in address order."""
        return tuple(sorted(slot for slot, target in self.pointers.items() if target in targets))

    def text(self, address: int) -> str | None:
        """Read the NUL-terminated printable ASCII at an address, ``None`` where there is none."""
        start = self.offset(address)
        if start is None:
            return None
        end = self.content.find(b"\0", start, start + _LONGEST_NAME)
        try:
            text = self.content[start:end].decode("ascii") if end > start else ""
        except UnicodeDecodeError:
            return None
        return text if text and text.isprintable() else None

    def text_behind(self, slot: int) -> str | None:
        """Read the text that the pointer at ``slot`` will point to."""
        target = self.pointers.get(slot)
        return None if target is None else self.text(target)

    def int64(self, address: int) -> int | None:
        """Read the 64-bit integer at an address."""
        start = self.offset(address)
        if start is None or start + 8 > len(self.content):
            return None
        return int.from_bytes(self.content[start : start + 8], "little", signed=True)


def parse_elf(content: bytes) -> ElfImage:
    """Read the image's segments and relative relocations.

    Raises:
        InputError: The bytes are not a 64-bit little-endian ELF file, or they are cut short.
    """
    if content[:6] != b"\x7fELF\x02\x01":
        raise InputError("not a 64-bit little-endian ELF file", hint="Look at the build for Linux.")
    try:
        (machine,) = struct.unpack_from("<H", content, 18)
        segments, dynamic = _segments(content)
        image = ElfImage(content=content, machine=machine, segments=segments, pointers={})
        return ElfImage(content=content, machine=machine, segments=segments, pointers=_pointers(image, dynamic))
    except struct.error as error:
        raise InputError("the ELF file is cut short", hint="Fetch the build again.") from error


def _segments(content: bytes) -> tuple[tuple[Segment, ...], tuple[int, int]]:
    """Read the program headers: what is mapped, and where the dynamic section lies as (offset, size)."""
    (table,) = struct.unpack_from("<Q", content, 32)
    entry_size, count = struct.unpack_from("<HH", content, 54)
    segments, dynamic = [], (0, 0)
    for index in range(count):
        kind, flags, offset, address, _, size = struct.unpack_from("<IIQQQQ", content, table + index * entry_size)
        if kind == _LOAD:
            executable = bool(flags & _EXECUTABLE)
            segments.append(Segment(address=address, offset=offset, size=size, executable=executable))
        elif kind == _DYNAMIC:
            dynamic = (offset, size)
    return tuple(segments), dynamic


def _pointers(image: ElfImage, dynamic: tuple[int, int]) -> dict[int, int]:
    start, size = dynamic
    tags = dict(struct.iter_unpack("<qQ", image.content[start : start + size]))
    table, table_bytes = image.offset(tags.get(_RELA, 0)), tags.get(_RELA_BYTES, 0)
    relative = _RELATIVE.get(image.machine)
    if table is None or relative is None:
        return {}
    relocations = struct.iter_unpack("<QQq", image.content[table : table + table_bytes])
    return {slot: target for slot, info, target in relocations if info & 0xFFFFFFFF == relative}
