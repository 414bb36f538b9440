"""What was published: versions of packages, in a log that is only ever added to; a name or a digest is never used again."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, TypeAlias

import msgspec

from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.pins import Sha256
from dayzero.core.quantities import Bytes
from dayzero.evidence.chain import RESTORE, EntryWire, link
from dayzero.evidence.fields import need_reason, need_stamp
from dayzero.evidence.ledger import GENESIS
from dayzero_verify.strict_json import StrictJsonError, loads

LOG_NAME = "releases.jsonl"

_Name: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9-]*\Z", max_length=63)]
_Version: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^\d+\.\d+\.\d+\Z")]


@dataclass(frozen=True, slots=True, kw_only=True)
class KitPin:
    """The kit of a version.

    Attributes:
        archive: File name of the archive.
        sha256: Digest of the archive.
        size: Size of the archive.
    """

    archive: str
    sha256: Sha256
    size: Bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """One published version of a package.

    Attributes:
        package: Name of the package.
        version: Its version.
        at: When it was published: UTC, RFC 3339, to the second.
        definition: Digest of its frozen definition, ``packages/NAME/releases/VERSION/package.toml``.
        recipe: Digest of its recipe.
        kit: Its kit, ``None`` where it was published without one.
    """

    package: str
    version: str
    at: str
    definition: Sha256
    recipe: Sha256
    kit: KitPin | None = None

    def __post_init__(self) -> None:
        need_stamp(self.at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Yank:
    """A version that nobody should take any more. It is not deleted: who has it can still look at it.

    Attributes:
        package: Name of the package.
        version: The version.
        at: Since when: UTC, RFC 3339, to the second.
        reason: Why; it is published.
    """

    package: str
    version: str
    at: str
    reason: str

    def __post_init__(self) -> None:
        need_stamp(self.at)
        need_reason("yank", f"{self.package} {self.version}", self.reason)


ReleaseRecord: TypeAlias = Release | Yank


@dataclass(frozen=True, slots=True)
class ReleaseLog:
    """What was published and what was yanked, in order.

    Attributes:
        records: One a line.
        head: Digest of the last line; 64 zeros when there is none.
    """

    records: tuple[ReleaseRecord, ...] = ()
    head: str = GENESIS

    @classmethod
    def parse(cls, content: bytes, *, file: str = LOG_NAME) -> "ReleaseLog":
        """Read a log, and check its chain and that nothing in it is used twice.

        Args:
            content: The file, whole.
            file: What to call it in messages.

        Raises:
            IntegrityError: A line is not the one canonical form of its record, does not follow from the line before it, or
                uses what is used already; the message starts with ``file:line:``.
        """
        records: list[ReleaseRecord] = []
        head, used = GENESIS, _Used({}, {}, {}, set())
        lines = content.split(b"\n")
        for number, line in enumerate(lines[:-1], start=1):
            where = f"{file}:{number}"
            record, head = _read(line, seq=number - 1, prev=head, where=where)
            try:
                used.take(record)
            except InputError as error:
                raise IntegrityError(f"{where}: {error.message}", hint=RESTORE) from error
            records.append(record)
        if lines[-1]:
            raise IntegrityError(f"{file}:{len(lines)}: the line has no end", hint=RESTORE)
        return cls(tuple(records), head)

    def append(self, *records: ReleaseRecord) -> tuple["ReleaseLog", bytes]:
        """Chain records on.

        Returns:
            The longer log, and the lines that have to be appended to its file.

        Raises:
            InputError: A version name, a definition or a kit was used before, also by a version that is yanked; or what is
                yanked was never released, or is yanked already.
        """
        used, head, lines = _Used({}, {}, {}, set()), self.head, b""
        for record in self.records:
            used.take(record)
        for seq, record in enumerate(records, start=len(self.records)):
            used.take(record)
            name, body = _written(record)
            written = link(seq=seq, prev=head, name=name, body=body)
            lines += written.line
            head = written.digest
        return ReleaseLog((*self.records, *records), head), lines

    @property
    def releases(self) -> tuple[Release, ...]:
        """The published versions, in the order in which they were published."""
        return tuple(record for record in self.records if isinstance(record, Release))

    def yanks(self) -> Mapping[tuple[str, str], Yank]:
        """Give what was yanked, by package and version."""
        return {(record.package, record.version): record for record in self.records if isinstance(record, Yank)}

    def yank_of(self, package: str, version: str) -> Yank | None:
        """Say whether one version was yanked, and why."""
        return self.yanks().get((package, version))


def by_version(release: Release) -> tuple[int, ...]:
    """Give the key by which the releases of one package are put in order: ``1.10.0`` comes after ``1.9.0``."""
    return tuple(int(part) for part in release.version.split("."))


@dataclass(frozen=True, slots=True)
class _Used:
    """What cannot be used again, each with who used it."""

    versions: dict[tuple[str, str], Release]
    definitions: dict[Sha256, Release]
    kits: dict[Sha256, Release]
    yanked: set[tuple[str, str]]

    def take(self, record: ReleaseRecord) -> None:
        place = (record.package, record.version)
        match record:
            case Release() as release:
                self._need_free(release)
                self.versions[place] = self.definitions[release.definition] = release
                if release.kit is not None:
                    self.kits[release.kit.sha256] = release
            case Yank() if place not in self.versions:
                raise InputError(
                    f"{record.package} {record.version} was never released", hint="Yank a version that was."
                )
            case Yank() if place in self.yanked:
                raise InputError(f"{record.package} {record.version} is yanked already", hint="Leave it at that.")
            case Yank():
                self.yanked.add(place)

    def _need_free(self, release: Release) -> None:
        name = f"{release.package} {release.version}"
        if (release.package, release.version) in self.versions:
            raise InputError(
                f"{name} was released before; a version is never used again, also a yanked one",
                hint="Give the definition another version.",
            )
        if release.definition in self.definitions:
            raise InputError(
                f"{name} would have the definition of {_named(self.definitions[release.definition])}",
                hint="Change the definition: one definition is one version.",
            )
        if release.kit is not None and release.kit.sha256 in self.kits:
            raise InputError(
                f"{name} would have the kit of {_named(self.kits[release.kit.sha256])}",
                hint="Pack a kit from this definition.",
            )


def _named(release: Release) -> str:
    return f"{release.package} {release.version}"


class _KitWire(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    archive: str
    sha256: str
    bytes: int


class _ReleaseWire(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    package: _Name
    version: _Version
    at: str
    definition: str
    recipe: str
    kit: _KitWire | None


class _YankWire(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    package: _Name
    version: _Version
    at: str
    reason: str


_TYPES: Mapping[str, type[_ReleaseWire | _YankWire]] = {"release": _ReleaseWire, "yank": _YankWire}


def _read(line: bytes, *, seq: int, prev: str, where: str) -> tuple[ReleaseRecord, str]:
    """Read one line; that it equals the line that would be written for its content leaves no second way to write it."""
    try:
        found = msgspec.convert(loads(line), EntryWire, strict=True)
        record = _parsed(found.type, found.body)
    except (InputError, StrictJsonError, ValueError, msgspec.ValidationError) as error:
        raise IntegrityError(f"{where}: {error}", hint=RESTORE) from error
    name, body = _written(record)
    written = link(seq=seq, prev=prev, name=name, body=body)
    if (found.seq, found.prev) != (seq, prev):
        raise IntegrityError(f"{where}: the line does not follow the line before it", hint=RESTORE)
    if line + b"\n" != written.line:
        raise IntegrityError(f"{where}: the line was changed after it was written", hint=RESTORE)
    return record, written.digest


def _parsed(name: str, body: dict[str, object]) -> ReleaseRecord:
    if name not in _TYPES:
        raise InputError(f"no record is called {name!r}", hint=f"Use one of {', '.join(_TYPES)}.")
    match msgspec.convert(body, _TYPES[name], strict=True):
        case _ReleaseWire(kit=kit) as wire:
            pin = None if kit is None else KitPin(archive=kit.archive, sha256=Sha256(kit.sha256), size=Bytes(kit.bytes))
            return Release(
                package=wire.package,
                version=wire.version,
                at=wire.at,
                definition=Sha256(wire.definition),
                recipe=Sha256(wire.recipe),
                kit=pin,
            )
        case _YankWire() as wire:
            return Yank(package=wire.package, version=wire.version, at=wire.at, reason=wire.reason)


def _written(record: ReleaseRecord) -> tuple[str, dict[str, object]]:
    named: dict[str, object] = {"package": record.package, "version": record.version, "at": record.at}
    match record:
        case Release(definition=definition, recipe=recipe, kit=kit):
            pin = None if kit is None else {"archive": kit.archive, "sha256": kit.sha256.hex, "bytes": kit.size.count}
            return "release", {**named, "definition": definition.hex, "recipe": recipe.hex, "kit": pin}
        case Yank(reason=reason):
            return "yank", {**named, "reason": reason}
