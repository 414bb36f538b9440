"""What is kept of a wheel or sdist: its text, its metadata and the dynamic symbols of its libraries, by the digest of the whole."""

import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePosixPath

from packaging.utils import InvalidSdistFilename, InvalidWheelFilename, parse_sdist_filename, parse_wheel_filename

from dayzero.adapters.artifact_elf import dynamic_tables
from dayzero.adapters.artifact_words import Words, keep, recalled, words_in
from dayzero.adapters.artifact_zip import LARGEST_TEXT_BYTES, LARGEST_TOTAL_BYTES, ZipFiles
from dayzero.adapters.disk import whole_file
from dayzero.adapters.file_digest import digest_of
from dayzero.core.errors import DayzeroError, InputError

_TEXT = {".py", ".pyi", ".cu", ".cuh", ".h", ".hpp", ".cc", ".cpp", ".inl", ".toml", ".json", ".txt", ".jinja", ".cfg"}
_METADATA = ("METADATA", "RECORD", "WHEEL", "entry_points.txt", "PKG-INFO")
_SEARCHED, _WORDS = ".py", ".words"
_LEFT_OUT = "dayzero-left-out.txt"
_MOST_MEMBERS = 400_000


@dataclass(frozen=True, slots=True)
class _Member:
    name: str
    content: bytes


class PackedFiles:
    """A kept archive as the files of a build. Implements ``audit.ports.BuildFiles``.

    Args:
        artifact: Distribution and version.
        pack: The kept archive.
    """

    def __init__(self, artifact: str, pack: Path) -> None:
        self._pack = pack
        self._zip = ZipFiles(artifact, pack, recorded=False)  # it was held to RECORD when it was made
        self._left_out = tuple(self._zip.read(_LEFT_OUT).decode().splitlines())
        self._damaged: set[str] = set()
        self._names = (*(name for name in self._zip.names() if name != _LEFT_OUT), *self._left_out)

    @property
    def artifact(self) -> str:
        """Distribution and version."""
        return self._zip.artifact

    def names(self) -> tuple[str, ...]:
        """List all file paths of the original, also of what was not kept."""
        return self._names

    @cached_property
    def digest(self) -> str:
        """Digest of what it was made from, and of what is kept of that by each file's name, size and checksum."""
        return self._zip.directory_digest(self._pack.stem)

    def holding(self, word: bytes) -> AbstractSet[str]:
        """Name the Python files that hold a word, and what was not kept or is damaged: that may hold it."""
        found, known = self.words.asked(word)
        holders = found if known else {name for name in found if self._holds(name, word)}
        return holders.union(self._damaged, self._left_out)

    @cached_property
    def words(self) -> Words:
        """Give the words of its Python files; they are written down where no list of them is kept."""
        file = self._pack.with_suffix(_WORDS)
        words = recalled(file, self.digest)
        if words is None:
            words = words_in((name, self._searched(name)) for name in self._zip.names() if name.endswith(_SEARCHED))
            if not self._damaged:
                keep(file, self.digest, words)
        return words

    def _searched(self, name: str) -> bytes:
        try:
            return self._zip.read(name)
        except InputError:
            self._damaged.add(name)
            return b""

    def _holds(self, name: str, word: bytes) -> bool:
        content = self._searched(name)
        return name in self._damaged or word in content

    def read(self, name: str) -> bytes:
        """Read one file; of a shared library its dynamic tables.

        Raises:
            InputError: It was not kept, or the archive is damaged.
        """
        return self._zip.read(name)


def name_and_version(filename: str) -> tuple[str, str]:
    """Read a distribution's normalised name and its version from the file name of its wheel or sdist.

    Raises:
        InputError: It is no such name.
    """
    try:
        if filename.endswith(".whl"):
            name, version, _, _ = parse_wheel_filename(filename)
        else:
            name, version = parse_sdist_filename(filename)
    except (InvalidWheelFilename, InvalidSdistFilename) as error:
        raise InputError(f"{filename}: {error}", hint="Give the file its own name again.") from error
    return str(name), str(version)


def packed(archive: Path, folder: Path) -> Path:
    """Give what is kept of a wheel or sdist, making it where it is not there yet.

    Args:
        archive: The wheel or sdist.
        folder: Where kept archives lie, each under the digest of what it was made from.

    Raises:
        InputError: The archive is damaged, or would unpack to an absurd size.
        IntegrityError: A file is not the one that its ``RECORD`` lists.
    """
    name, version = name_and_version(archive.name)
    try:
        target = folder / f"{digest_of(archive)}.zip"
    except OSError as error:
        raise InputError(f"{archive} cannot be read: {error.strerror}", hint="Give a wheel or an sdist.") from error
    if target.is_file():
        with suppress(DayzeroError):
            PackedFiles(f"{name} {version}", target)
            return target
    artifact = f"{name} {version}"
    members = _of_wheel(artifact, archive) if archive.suffix == ".whl" else _of_sdist(artifact, archive)
    with (
        whole_file(target) as temporary,
        zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as pack,
    ):
        left_out = []
        for member in members:
            if isinstance(member, str):
                left_out.append(member)
            else:
                pack.writestr(zipfile.ZipInfo(member.name), member.content, _packing(member.name), 1)
        pack.writestr(_LEFT_OUT, "\n".join(left_out))
    _ = PackedFiles(artifact, target).words  # made now: who fetches waits anyway
    return target


def _packing(name: str) -> int:
    """Choose how a member is kept: what is searched lies there as it is."""
    return zipfile.ZIP_STORED if name.endswith(_SEARCHED) else zipfile.ZIP_DEFLATED


def is_text(name: str) -> bool:
    """Say whether a file is text that an audit may read, by its name."""
    path = PurePosixPath(name)
    return path.suffix in _TEXT or path.name in _METADATA


def _of_wheel(artifact: str, archive: Path) -> Iterator[_Member | str]:
    files = ZipFiles(artifact, archive)
    if not any(name.endswith(".dist-info/METADATA") for name in files.names()):
        raise InputError(f"{artifact} cannot be read: it has no METADATA", hint="Give a wheel.")
    for name in sorted(files.names(), key=lambda one: not one.endswith(_SEARCHED)):  # these side by side
        if is_text(name) and files.size(name) <= LARGEST_TEXT_BYTES:
            yield _Member(name, files.read(name))
        elif ".so" in PurePosixPath(name).suffixes:
            with tempfile.TemporaryDirectory() as scratch:
                library = Path(scratch) / "library.so"
                files.copy(name, library)
                yield _Member(name, dynamic_tables(library) if library.stat().st_size else b"")
        else:
            yield name


def _of_sdist(artifact: str, archive: Path) -> Iterator[_Member | str]:
    """Read an sdist as it would be installed: without its own folder, without ``src``, its metadata where a wheel has it."""
    total = 0
    try:
        with tarfile.open(archive) as tar:
            for number, entry in enumerate(tar):
                total += entry.size
                if number > _MOST_MEMBERS or total > LARGEST_TOTAL_BYTES:
                    raise InputError(
                        f"{artifact} cannot be read: it would unpack to an absurd size", hint="Fetch it again."
                    )
                name = _place_of(entry.name, artifact)
                stream = tar.extractfile(entry) if entry.isfile() and name else None
                if stream is not None and is_text(name) and entry.size <= LARGEST_TEXT_BYTES:
                    yield _Member(name, stream.read())
    except (tarfile.TarError, OSError, EOFError, zlib.error) as error:
        raise InputError(f"{artifact} cannot be read: {error}", hint="Fetch it again.") from error


def _place_of(name: str, artifact: str) -> str:
    inside = name.partition("/")[2]
    if inside == "PKG-INFO":
        return f"{artifact.replace('-', '_').replace(' ', '-')}.dist-info/METADATA"
    for source in ("src/", "python/"):
        inside = inside.removeprefix(source)
    return inside
