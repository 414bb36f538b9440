"""Look into a zip archive, a wheel for one, in memory; an archive that two readers could read in two ways is refused."""

import io
import zipfile
import zlib

from dayzero.core.errors import EvidenceError

_MOST_BYTES = 1 << 28
_ENCRYPTED = 0x1
_HINT = "Point at a zip archive that names each member once."


class ZipMembers:
    """The members of an archive.

    Raises:
        EvidenceError: It is no zip archive, or it names a member twice.
    """

    def __init__(self, raw: bytes) -> None:
        try:
            self._archive = zipfile.ZipFile(io.BytesIO(raw))
            infos = self._archive.infolist()
        except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError) as error:
            raise EvidenceError(f"not a zip archive: {error}", hint=_HINT) from error
        self._infos = {info.filename: info for info in infos}
        if len(self._infos) != len(infos):
            raise EvidenceError("the archive names a member twice", hint=_HINT)

    @property
    def names(self) -> tuple[str, ...]:
        """The paths of its files, folders left out, in the archive's order."""
        return tuple(name for name, info in self._infos.items() if not info.is_dir())

    def read(self, member: str) -> bytes:
        """Unpack a member; at most 256 MiB.

        Raises:
            EvidenceError: It is not there, is encrypted, damaged, or too large.
        """
        info = self._infos.get(member)
        if info is None or info.is_dir():
            raise EvidenceError(f"the archive has no file {member!r}", hint="Give its path as the archive lists it.")
        if info.flag_bits & _ENCRYPTED or info.file_size > _MOST_BYTES:
            raise EvidenceError(f"{member} is encrypted or larger than 256 MiB", hint="File what it holds by itself.")
        try:
            return self._archive.read(info)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError, RuntimeError) as error:
            raise EvidenceError(f"{member} cannot be unpacked: {error}", hint=_HINT) from error
