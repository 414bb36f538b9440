"""Which files of a kept archive hold a word? Their text lies in it as it is, and is searched where it lies."""

import mmap
import os
import struct
import weakref
import zipfile
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import pairwise
from pathlib import Path

_LOCAL = struct.Struct("<26xHH")  # a member's own header: how long its name and its extra field are
_AT_ONCE_BYTES = 8 << 20  # of the archive: what was searched is let go of before the next part is


class OwnArchive:
    """An archive of the project's own making: thousands of its members are read, and each costs half as much so.

    Args:
        path: The archive.
    """

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        weakref.finalize(self, self._file.close)

    @cached_property
    def mapped(self) -> mmap.mmap:
        """Give the archive as memory."""
        return mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ)

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


class StoredTexts:
    """The members of an archive that are stored as they are. One whose checksum is another one holds every word.

    Args:
        archive: The archive.
        members: Those members.
    """

    def __init__(self, archive: OwnArchive, members: Iterable[zipfile.ZipInfo]) -> None:
        self._archive = archive
        self._damaged: set[str] = set()
        self._spans = sorted(self._checked(members))
        self._starts = [start for start, _, _ in self._spans]

    def holding(self, word: bytes) -> AbstractSet[str]:
        """Name the members that hold a word, and those that are damaged."""
        if not word:
            return {*self._damaged, *(name for _, _, name in self._spans)}
        return self._damaged.union(*(self._between(first, last, word) for first, last in pairwise(self._parts())))

    def _checked(self, members: Iterable[zipfile.ZipInfo]) -> Iterator[tuple[int, int, str]]:
        for member in members:
            try:
                start, good = self._archive.start(member), zlib.crc32(self._archive.packed(member)) == member.CRC
            except (OSError, zipfile.BadZipFile):
                start, good = 0, False
            if good:
                yield start, start + member.file_size, member.filename
            else:
                self._damaged.add(member.filename)

    def _parts(self) -> list[int]:
        """Cut the members into parts of few bytes each: the number of the first of each, and how many there are."""
        cuts = [0]
        for number, (_, end, _) in enumerate(self._spans, 1):
            if end - self._starts[cuts[-1]] > _AT_ONCE_BYTES or number == len(self._spans):
                cuts.append(number)
        return cuts

    def _between(self, first: int, last: int, word: bytes) -> Iterator[str]:
        archive = self._archive.mapped
        at, stop = self._starts[first], self._spans[last - 1][1]
        begun = at // mmap.PAGESIZE * mmap.PAGESIZE
        while (at := archive.find(word, at, stop)) >= 0:
            number = bisect_right(self._starts, at) - 1
            _, end, name = self._spans[number]
            if at + len(word) <= end:
                yield name
            elif at < end:  # it runs on into the header of the next one
                at += 1
                continue
            if number + 1 >= last:
                break
            at = self._starts[number + 1]
        archive.madvise(mmap.MADV_DONTNEED, begun, stop - begun)
