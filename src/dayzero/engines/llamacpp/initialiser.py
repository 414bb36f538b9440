"""Follow the machine code that fills llama.cpp's architecture table.

``LLM_ARCH_NAMES`` (llama.cpp, src/llama-arch.cpp) is a map of an enumerator to a name. The compiler writes its entries
onto the stack, 16 bytes each - the enumerator in the first 4, the address of the name in the last 8 - and then builds the
map. The last entry is always ``(unknown)``. This module reads those stores back and accepts them only when they make a
whole table: no gap between entries, and every enumerator from 0 on exactly once.
"""

import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dayzero.audit.elf import ElfImage, Segment

LAST_NAME = "(unknown)"

_ENTRY_BYTES = 16
_NAME_IN_ENTRY = 8  # the name's address stands 8 bytes after the enumerator
_LARGEST_FUNCTION = 64 * 1024
_TO_LAST_STORE = 256  # the store of the last name may follow its load by a few instructions

_FRAME = re.compile(rb"\x48\x81\xec", re.DOTALL)  # sub rsp, imm32: the function makes room for the table
_INSTRUCTION = re.compile(
    rb"(?P<load>[\x48\x4c]\x8d[\x05\x0d\x15\x1d\x25\x2d\x35\x3d].{4})"  # lea reg, [rip+disp32]
    rb"|(?P<store>[\x48\x4c]\x89(?:[\x44\x4c\x54\x5c\x64\x6c\x74\x7c]\x24.|[\x84\x8c\x94\x9c\xa4\xac\xb4\xbc]\x24.{4}))"
    rb"|(?P<number>\xc7(?:\x44\x24.{5}|\x84\x24.{8}))",  # mov dword [rsp+disp], imm32
    re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class NamedEntry:
    """One entry: its name and the address of the name."""

    name: str
    address: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Initialiser:
    """The table as it was read back, in enumerator order without the last one, and the address of the code."""

    entries: tuple[NamedEntry, ...]
    code_address: int


def find_initialiser(image: ElfImage) -> Initialiser | None:
    """Find the one piece of code that stores a whole table of names ending in ``(unknown)``; ``None`` if not exactly one."""
    ends = image.addresses_of(LAST_NAME)
    found = []
    for segment in (segment for segment in image.segments if segment.executable):
        for site in _loads_of(image, segment, frozenset(ends)):
            table = _read_table(image, segment, site)
            if table is not None:
                found.append(table)
    return found[0] if len(found) == 1 else None


def _loads_of(image: ElfImage, segment: Segment, targets: frozenset[int]) -> Iterator[int]:
    """Give the file offsets of the instructions that load one of the target addresses."""
    end = segment.offset + segment.size
    for match in re.finditer(rb"[\x48\x4c]\x8d[\x05\x0d\x15\x1d\x25\x2d\x35\x3d]", image.content[segment.offset : end]):
        offset = segment.offset + match.start()
        if offset + 7 <= end and _target(image.content, segment, offset) in targets:
            yield offset


def _target(content: bytes, segment: Segment, offset: int) -> int:
    (displacement,) = struct.unpack_from("<i", content, offset + 3)
    return int(segment.address + offset - segment.offset + 7 + displacement)


def _read_table(image: ElfImage, segment: Segment, last_load: int) -> Initialiser | None:
    """Read the stores of the function around ``last_load``, and accept them only as a whole table."""
    earliest = max(segment.offset, last_load - _LARGEST_FUNCTION)
    frames = [match.start() for match in _FRAME.finditer(image.content, earliest, last_load)]
    if not frames:
        return None
    start = frames[-1]
    names, numbers = _stores(image, segment, start, last_load + _TO_LAST_STORE)
    last = next((slot for slot, name in names.items() if name.name == LAST_NAME), None)
    if last is None:
        return None
    slots = [last]
    while slots[-1] - _ENTRY_BYTES in names:
        slots.append(slots[-1] - _ENTRY_BYTES)
    # The compiler clears the frame first and leaves enumerator 0 to that.
    by_number = {numbers.get(slot - _NAME_IN_ENTRY, 0): names[slot] for slot in slots}
    whole = sorted(by_number) == list(range(len(slots))) and by_number[len(slots) - 1].name == LAST_NAME
    if not whole or len(slots) == 1:
        return None
    entries = tuple(by_number[number] for number in range(len(slots) - 1))
    return Initialiser(entries=entries, code_address=segment.address + start - segment.offset)


def _stores(image: ElfImage, segment: Segment, start: int, end: int) -> tuple[dict[int, NamedEntry], Mapping[int, int]]:
    """Collect what is stored on the stack: names by the slot of their address, and numbers by theirs.

    The first store to a slot counts: the function uses its frame again for the next table.
    """
    registers: dict[int, NamedEntry] = {}
    names: dict[int, NamedEntry] = {}
    numbers: dict[int, int] = {}
    for match in _INSTRUCTION.finditer(image.content, start, end):
        code = match.group()
        if match.lastgroup == "load":
            address = _target(image.content, segment, match.start())
            text = image.text(address)
            registers.pop(_register(code), None)
            if text is not None:
                registers[_register(code)] = NamedEntry(text, address)
        elif match.lastgroup == "store" and _register(code) in registers:
            names.setdefault(_displacement(code[4:]), registers[_register(code)])
        elif match.lastgroup == "number":
            numbers.setdefault(_displacement(code[3:-4]), int.from_bytes(code[-4:], "little"))
    return names, numbers


def _register(code: bytes) -> int:
    """Number the register of a load or store: three bits of the ModRM byte and one of the prefix."""
    return (code[2] >> 3 & 7) | (8 if code[0] & 4 else 0)


def _displacement(field: bytes) -> int:
    return int.from_bytes(field, "little", signed=True)
