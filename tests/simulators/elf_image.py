"""Writes small shared objects that carry the tables which the readers look for."""

import struct

_BASE = 0x10000
_HEADER, _PROGRAM_HEADER, _RELOCATION = 64, 56, 24
_RELATIVE = 8


class ElfImageWriter:
    """Collects strings, code, numbers and pointers, and gives the whole file.

    One segment maps the whole file, executable, so an address is a file offset plus a constant.
    """

    def __init__(self, machine: int = 62) -> None:
        self._machine = machine
        self._body = bytearray(_HEADER + 2 * _PROGRAM_HEADER)
        self._pointers: dict[int, int] = {}

    def add(self, content: bytes, align: int = 1) -> int:
        """Append bytes and give their address."""
        self._body += bytes(-len(self._body) % align)
        self._body += content
        return _BASE + len(self._body) - len(content)

    def text(self, text: str) -> int:
        return self.add(text.encode() + b"\0")

    def words(self, *words: int | tuple[str, int]) -> int:
        """Append 64-bit words; ``("to", address)`` is a pointer that the loader fills in."""
        start = self.add(b"", align=8)
        for word in words:
            slot = self.add(struct.pack("<q", word if isinstance(word, int) else 0))
            if isinstance(word, tuple):
                self._pointers[slot] = word[1]
        return start

    def finish(self) -> bytes:
        relocations = b"".join(struct.pack("<QQq", slot, _RELATIVE, to) for slot, to in self._pointers.items())
        table = self.add(relocations, align=8)
        dynamic = struct.pack("<qQqQqQ", 7, table, 8, len(relocations), 0, 0)
        dynamic_address = self.add(dynamic, align=8)
        size = len(self._body)
        load = struct.pack("<IIQQQQQQ", 1, 5, 0, _BASE, _BASE, size, size, 0x1000)
        offset = dynamic_address - _BASE
        dynamic_header = struct.pack("<IIQQQQQQ", 2, 4, offset, dynamic_address, dynamic_address, len(dynamic), 48, 8)
        header = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
        header += struct.pack(
            "<HHIQQQIHHHHHH", 3, self._machine, 1, 0, _HEADER, 0, 0, _HEADER, _PROGRAM_HEADER, 2, 0, 0, 0
        )
        self._body[: _HEADER + 2 * _PROGRAM_HEADER] = header + load + dynamic_header
        return bytes(self._body)


def add_architectures(writer: ElfImageWriter, addresses: list[int], numbers: list[int] | None = None) -> None:
    """Append the code that stores an architecture table on the stack and then begins a second table over it."""
    given = range(len(addresses)) if numbers is None else numbers
    code = bytearray(b"\x48\x81\xec" + struct.pack("<i", 0x1000))
    start = writer.add(b"", align=16)
    stores = [(index, number, address) for index, (number, address) in enumerate(zip(given, addresses, strict=True))]
    for index, number, address in (*stores, (0, 0, addresses[1])):
        code += b"\x48\x8d\x05" + struct.pack("<i", address - (start + len(code) + 7))
        slot = 0x10 + 16 * index
        code += (
            b"\x48\x89\x44\x24" + bytes([slot + 8])
            if slot + 8 < 128
            else b"\x48\x89\x84\x24" + struct.pack("<i", slot + 8)
        )
        if number:
            code += b"\xc7\x84\x24" + struct.pack("<ii", slot, number)
    writer.add(bytes(code))


def add_attributes(writer: ElfImageWriter, owner: str, attributes: dict[str, bool]) -> None:
    """Append a class: its specification, its slots and its attribute table; true is an attribute that can be set."""
    function = writer.add(b"\xc3")
    rows: list[int | tuple[str, int]] = []
    for name, settable in attributes.items():
        rows += [("to", writer.text(name)), ("to", function), ("to", function) if settable else 0, 0, 0]
    table = writer.words(*rows, 0, 0, 0, 0, 0)
    slots = writer.words(52, ("to", function), 73, ("to", table), 0, 0)
    writer.words(("to", writer.text(f"xllamacpp.xllamacpp.{owner}")), 0, 0, ("to", slots))


def add_tensor_types(writer: ElfImageWriter, types: list[tuple[str, int, int]]) -> None:
    """Append ggml's array of types: (name, numbers in a block, bytes of a block)."""
    words: list[int | tuple[str, int]] = []
    for name, numbers, size in types:
        words += [("to", writer.text(name)), numbers, 0, size, int(numbers > 1), 0, 0]
    writer.words(*words, 0)
