"""Read the members of an archive of the project's own making."""

import os
import struct
import weakref
import zipfile
from pathlib import Path

_LOCAL = struct.Struct("<26xHH")  # a member's own header: how long its name and its extra field are


class OwnArchive:
    """An archive of the project's own making: thousands of its members are read, and each costs half as much so.

    Args:
        path: The archive.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        weakref.finalize(self, self._file.close)

    def packed(self, member: zipfile.ZipInfo) -> bytes:
        """Read a member as it is packed.

        Raises:
            zipfile.BadZipFile: There is no such member at the place that the archive's directory has.
        """
        return os.pread(self._file.fileno(), member.compress_size, self.start(member))

    def start(self, member: zipfile.ZipInfo) -> int:
        """Say where a member's content begins.

        Raises:
            zipfile.BadZipFile: There is no such member at the place that the archive's directory has.
        """
        header = os.pread(self._file.fileno(), _LOCAL.size, member.header_offset)
        if len(header) < _LOCAL.size or not header.startswith(b"PK\x03\x04"):
            raise zipfile.BadZipFile("its checksum is another one")
        name_bytes, extra_bytes = _LOCAL.unpack(header)
        return int(member.header_offset + _LOCAL.size + name_bytes + extra_bytes)
