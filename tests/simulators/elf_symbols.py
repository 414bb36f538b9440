"""Writes shared objects that hold dynamic symbol tables and nothing else."""

import struct
from collections.abc import Sequence

_HEADER, _SECTION = 64, 64
_GLOBAL = 0x12


class _Strings:
    def __init__(self) -> None:
        self.content = bytearray(b"\0")

    def add(self, text: str) -> int:
        self.content += text.encode() + b"\0"
        return len(self.content) - len(text) - 1


def shared_object(
    *,
    exports: Sequence[str] = (),
    undefined: Sequence[str] = (),
    local: Sequence[str] = (),
    needed: Sequence[str] = (),
    versions: Sequence[str] = (),
) -> bytes:
    """Give a library that exports some symbols, asks for others, and links to libraries at symbol versions."""
    strings = _Strings()
    symbols = bytes(24)
    for names, info, section in ((local, 0x02, 1), (undefined, _GLOBAL, 0), (exports, _GLOBAL, 1)):
        for name in names:
            symbols += struct.pack("<IBBHQQ", strings.add(name), info, 0, section, 0x1000 if section else 0, 0)
    dynamic = b"".join(struct.pack("<qQ", 1, strings.add(name)) for name in needed) + bytes(16)
    entries = b"".join(
        struct.pack("<IHHII", 0, 0, 2, strings.add(name), 16 if name != versions[-1] else 0) for name in versions
    )
    verneed = struct.pack("<HHIII", 1, len(versions), strings.add("libc.so.6"), 16, 0) + entries if versions else b""
    bodies = [(11, symbols, 2, 1), (3, bytes(strings.content), 0, 0), (6, dynamic, 2, 0)]
    bodies += [(0x6FFFFFFE, verneed, 2, 1)] if versions else []
    # Section 0 is empty, 1 the symbols, 2 their strings, 3 the dynamic section, 4 the versions.
    headers, content = bytes(_SECTION), b""
    for kind, body, link, info in bodies:
        headers += struct.pack("<IIQQQQIIQQ", 0, kind, 0, 0, _HEADER + len(content), len(body), link, info, 8, 0)
        content += body
    ident = b"\x7fELF\x02\x01\x01".ljust(16, b"\0")
    count = 1 + len(bodies)
    header = ident + struct.pack("<HHIQQQIHHHHHH", 3, 62, 1, 0, 0, _HEADER + len(content), 0, 64, 0, 0, 64, count, 0)
    return header + content + headers
