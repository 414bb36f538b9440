"""A zip archive as the files of a build: opened once, read member by member, nothing is unpacked to where it says."""

import base64
import csv
import hashlib
import struct
import zipfile
import zlib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import IO

from dayzero.adapters.artifact_member import OwnArchive
from dayzero.core.errors import InputError, IntegrityError

LARGEST_TEXT_BYTES = 64 << 20
LARGEST_TOTAL_BYTES = 16 << 30
_MOST_FILES = 400_000
_MOST_TIMES = 1100  # deflate packs a run of one byte about 1030 times smaller
_SMALL_BYTES = 1 << 20
_DAMAGE = (
    OSError, struct.error, zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, RuntimeError, ValueError,
)  # fmt: skip


class ZipFiles:
    """The members of a wheel or of a kept archive. Implements ``audit.ports.BuildFiles``.

    Args:
        artifact: Distribution and version.
        source: The archive.
        recorded: Whether its ``RECORD`` lists the members as they are here.

    Raises:
        InputError: It is no zip archive, is cut short, names a member twice, or would unpack to an absurd size.
    """

    def __init__(self, artifact: str, source: Path | IO[bytes], *, recorded: bool = True) -> None:
        self._artifact = artifact
        self._recorded = recorded
        try:
            self._archive = zipfile.ZipFile(source)
        except _DAMAGE as error:
            raise self._damaged(str(error)) from error
        self._members = {one.filename: one for one in self._archive.infolist() if not one.is_dir()}
        self._refuse_bombs()
        self._own = OwnArchive(source) if isinstance(source, Path) and not recorded else None

    @property
    def artifact(self) -> str:
        """Distribution and version."""
        return self._artifact

    def names(self) -> tuple[str, ...]:
        """List all file paths inside the archive."""
        return self._names

    def size(self, name: str) -> int:
        """Give the size that a member unpacks to, in bytes."""
        return self._members[name].file_size

    def position(self, name: str) -> int:
        """Give where in the archive a member begins: reading in this order reads the archive forwards."""
        return self._members[name].header_offset

    def read(self, name: str) -> bytes:
        """Read one member whole and hold it to the wheel's ``RECORD``.

        Raises:
            InputError: There is no such member, it is too large to be text, or the archive is damaged.
            IntegrityError: Its bytes are not those that ``RECORD`` lists.
        """
        if name not in self._members:
            raise InputError(f"{self._artifact} has no file {name}", hint="Look at the file list of the build.")
        if self.size(name) > LARGEST_TEXT_BYTES:
            raise InputError(f"{self._artifact}: {name} is larger than 64 MiB", hint="Audit a build without it.")
        try:
            content = self._archive.read(name) if self._own is None else _unpacked(self._own, self._members[name])
        except _DAMAGE as error:
            raise self._damaged(f"{name}: {error}") from error
        if self._recorded:
            self._hold(name, hashlib.sha256(content))
        return content

    def copy(self, name: str, target: Path) -> None:
        """Write one member, of any size, into a file, and hold it to ``RECORD``.

        Raises:
            InputError: The archive is damaged.
            IntegrityError: Its bytes are not those that ``RECORD`` lists.
        """
        digest = hashlib.sha256()
        try:
            with self._archive.open(name) as stream, target.open("wb") as file:
                while part := stream.read(1 << 20):
                    digest.update(part)
                    file.write(part)
        except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError) as error:
            raise self._damaged(f"{name}: {error}") from error
        self._hold(name, digest)

    def directory_digest(self, name: str) -> str:
        """Digest a name together with the name, size and checksum of every member."""
        members = ((one.filename, one.file_size, one.CRC) for one in self._members.values())
        return hashlib.sha256(repr((name, *members)).encode()).hexdigest()

    @cached_property
    def _names(self) -> tuple[str, ...]:
        return tuple(self._members)

    @cached_property
    def _record(self) -> Mapping[str, str]:
        names = [one for one in self._members if one.endswith(".dist-info/RECORD") and one.count("/") == 1]
        if not names or not self._recorded:
            return {}
        try:
            text = self._archive.read(names[0]).decode()
            rows = [row for row in csv.reader(text.splitlines()) if row]
        except (*_DAMAGE, csv.Error) as error:
            raise self._damaged(f"{names[0]}: {error}") from error
        return {row[0]: row[1] for row in rows if len(row) > 1 and row[1].startswith("sha256=")}

    def _hold(self, name: str, digest: "hashlib._Hash") -> None:
        listed = self._record.get(name)
        found = "sha256=" + base64.urlsafe_b64encode(digest.digest()).decode().rstrip("=")
        if listed is not None and listed.rstrip("=") != found:
            raise IntegrityError(
                f"{self._artifact}: {name} is not the file that the wheel's RECORD lists ({found}, not {listed})",
                hint="Fetch the wheel again; do not install this one.",
            )

    def _refuse_bombs(self) -> None:
        if len(self._members) != sum(not one.is_dir() for one in self._archive.infolist()):
            raise self._damaged("it names a file twice")
        if len(self._members) > _MOST_FILES:
            raise self._damaged(f"it names {len(self._members)} files")
        total = sum(one.file_size for one in self._members.values())
        if total > LARGEST_TOTAL_BYTES:
            raise self._damaged(f"it would unpack to {total >> 30} GiB")
        for one in self._members.values():
            if one.file_size > _SMALL_BYTES and one.file_size > _MOST_TIMES * max(one.compress_size, 1):
                raise self._damaged(f"{one.filename} would unpack to {one.file_size >> 20} MiB from almost nothing")

    def _damaged(self, why: str) -> InputError:
        return InputError(f"{self._artifact} cannot be read: {why}", hint="Fetch it again from where it was published.")


def _unpacked(archive: OwnArchive, member: zipfile.ZipInfo) -> bytes:
    """Unpack one member and hold it to the checksum that the archive's directory has."""
    if member.compress_type not in {zipfile.ZIP_DEFLATED, zipfile.ZIP_STORED} or member.flag_bits & 1:
        raise zipfile.BadZipFile("it is packed in another way than it was written")
    content = archive.packed(member)
    if member.compress_type == zipfile.ZIP_DEFLATED:
        content = zlib.decompress(content, -zlib.MAX_WBITS, max(member.file_size, 1))
    if len(content) != member.file_size or zlib.crc32(content) != member.CRC:
        raise zipfile.BadZipFile("its checksum is another one")
    return content
