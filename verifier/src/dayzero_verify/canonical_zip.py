"""The kit's archive: a ZIP of which exactly one form is accepted for given files.

Reading takes the archive apart, builds it again and compares the bytes, so nothing can hide between, before, behind or
inside the headers. Members are stored, not compressed: their size is their size, and no compressor's version shows.
"""

import struct
import zlib
from collections.abc import Iterable
from dataclasses import dataclass

from dayzero_verify.paths import check_paths

MAX_ARCHIVE_BYTES = 64 * 1024 * 1024
MAX_FILES = 4096

# APPNOTE.TXT 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16.
_LOCAL = struct.Struct("<IHHHHHIIIHH")
_CENTRAL = struct.Struct("<IHHHHHHIIIHHHHHII")
_END = struct.Struct("<IHHHHIIH")
_LOCAL_SIGN, _CENTRAL_SIGN, _END_SIGN = 0x04034B50, 0x02014B50, 0x06054B50

_VERSION = 10  # 1.0: stored members without folders
_MADE_ON_UNIX = 3 << 8 | 30
_MIDNIGHT, _FIRST_OF_JANUARY_1980 = 0, 0x0021
_REGULAR_0644, _REGULAR_0755 = 0o100644 << 16, 0o100755 << 16


class ArchiveError(ValueError):
    """The bytes are not the canonical archive of any files."""


class ChecksumError(ValueError):
    """The archive is canonical but for a member whose bytes do not match its checksum."""


@dataclass(frozen=True, slots=True)
class ArchivedFile:
    """One file of the archive: relative path, content, and whether it is executable (mode 0755, else 0644)."""

    path: str
    content: bytes
    executable: bool = False

    @property
    def mode(self) -> str:
        """The permission bits in octal, as the manifest writes them."""
        return "0755" if self.executable else "0644"


@dataclass(frozen=True, slots=True)
class _Member:
    file: ArchivedFile
    checksum: int


def build(files: Iterable[ArchivedFile]) -> bytes:
    """Write the one archive of these files; their order does not matter.

    Raises:
        ArchiveError: Over 64 MiB, over 4,096 files, or none.
        PathError: A path that a kit may not hold.
    """
    ordered = sorted(files, key=lambda file: file.path)
    if not 1 <= len(ordered) <= MAX_FILES:
        raise ArchiveError(f"an archive holds 1 to {MAX_FILES} files, not {len(ordered)}")
    check_paths(file.path for file in ordered)
    archive = _encode([_Member(file, zlib.crc32(file.content)) for file in ordered])
    if len(archive) > MAX_ARCHIVE_BYTES:
        raise ArchiveError(f"the archive is larger than {MAX_ARCHIVE_BYTES} bytes")
    return archive


def read(archive: bytes) -> tuple[ArchivedFile, ...]:
    """Take a canonical archive apart.

    Raises:
        ArchiveError: These bytes are not what ``build`` writes for any files.
        ChecksumError: They are, but for the content of a member.
        PathError: A member has a path that a kit may not hold.
    """
    if len(archive) > MAX_ARCHIVE_BYTES:
        raise ArchiveError(f"the archive is larger than {MAX_ARCHIVE_BYTES} bytes")
    members = _parse(archive)
    rebuilt = _encode(sorted(members, key=lambda member: member.file.path))
    if rebuilt != archive:
        raise ArchiveError(
            f"the archive is not in its canonical form: it differs at byte {_first_difference(rebuilt, archive)}"
        )
    check_paths(member.file.path for member in members)
    for member in members:
        if zlib.crc32(member.file.content) != member.checksum:
            raise ChecksumError(f"the content of {member.file.path} does not match its checksum")
    return tuple(member.file for member in members)


def _parse(archive: bytes) -> list[_Member]:
    """Follow the central directory; whatever is not checked here differs from the rebuilt archive."""
    if len(archive) < _END.size:
        raise ArchiveError("too short for an archive")
    sign, _, _, _, count, size, start, _ = _END.unpack(archive[-_END.size :])
    if sign != _END_SIGN or start + size != len(archive) - _END.size:
        raise ArchiveError("the archive does not end with its directory")
    if not 1 <= count <= MAX_FILES:
        raise ArchiveError(f"an archive holds 1 to {MAX_FILES} files, not {count}")
    members: list[_Member] = []
    entry, position = start, 0
    for _ in range(count):
        if entry + _CENTRAL.size > len(archive):
            raise ArchiveError("the directory is cut short")
        fields = _CENTRAL.unpack_from(archive, entry)
        checksum, stored, name_length, attributes = fields[7], fields[8], fields[10], fields[15]
        name_at = entry + _CENTRAL.size
        content_at = position + _LOCAL.size + name_length
        # Members are taken one behind the other, wherever the directory says that they lie: none can be counted twice.
        if content_at + stored > start:
            raise ArchiveError("the members are larger than the archive")
        name = archive[name_at : name_at + name_length].decode("latin-1")
        if attributes not in {_REGULAR_0644, _REGULAR_0755}:
            raise ArchiveError(f"not a regular file of mode 0644 or 0755: {name!a}")
        content = archive[content_at : content_at + stored]
        members.append(_Member(ArchivedFile(name, content, attributes == _REGULAR_0755), checksum))
        entry, position = name_at + name_length, content_at + stored
    return members


def _encode(members: list[_Member]) -> bytes:
    body: list[bytes] = []
    directory: list[bytes] = []
    position = 0
    for member in members:
        name, content = member.file.path.encode("latin-1"), member.file.content
        shared = (
            _VERSION,
            0,
            0,
            _MIDNIGHT,
            _FIRST_OF_JANUARY_1980,
            member.checksum,
            len(content),
            len(content),
            len(name),
            0,
        )
        attributes = _REGULAR_0755 if member.file.executable else _REGULAR_0644
        body += [_LOCAL.pack(_LOCAL_SIGN, *shared), name, content]
        directory += [_CENTRAL.pack(_CENTRAL_SIGN, _MADE_ON_UNIX, *shared, 0, 0, 0, attributes, position), name]
        position += _LOCAL.size + len(name) + len(content)
    size = sum(map(len, directory))
    end = _END.pack(_END_SIGN, 0, 0, len(members), len(members), size, position, 0)
    return b"".join([*body, *directory, end])


def _first_difference(one: bytes, other: bytes) -> int:
    """Find the first byte where two different texts part, by halving."""
    equal, unequal = 0, max(len(one), len(other))
    while unequal - equal > 1:
        middle = (equal + unequal) // 2
        if one[equal:middle] == other[equal:middle]:
            equal = middle
        else:
            unequal = middle
    return equal
