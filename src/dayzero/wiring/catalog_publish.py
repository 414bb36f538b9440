"""Publish a version of a package: freeze its definition, and add a line to the release log; or yank one."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dayzero.adapters.evidence_folder import LedgerOnDisk
from dayzero.adapters.file_digest import digest_of
from dayzero.adapters.new_file import write_new
from dayzero.adapters.package_files import CONFIG, LOCK, load_collected
from dayzero.catalog.release import LOG_NAME, KitPin, Release, ReleaseLog, ReleaseRecord, Yank
from dayzero.core.errors import InputError
from dayzero.core.package import Package
from dayzero.core.pins import Proxy, Sha256
from dayzero.evidence.subject import recipe_digest
from dayzero.wiring import clock
from dayzero.wiring.catalog_releases import frozen_file
from dayzero.wiring.definitions import package, package_file
from dayzero.wiring.kits import facts_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What was published.

    Attributes:
        release: The new line of the log.
        frozen: The frozen definition.
        log: The log's file.
        head: Digest of its last line.
    """

    release: Release
    frozen: Path
    log: Path
    head: str


def publish(name: str, kit: Path | None = None, keys: tuple[Path, ...] = ()) -> Published:
    """Publish a definition as it lies there now.

    The line of the log is written last: who is interrupted can do the same again.

    Args:
        name: A package, by its name, its folder or its file.
        kit: The kit of exactly this definition, beside its attestation.
        keys: Public keys that are trusted to sign it.

    Raises:
        InputError: The definition is not valid; its version, it or its kit was used before; or no key is given for the kit.
        IntegrityError: The kit does not verify, or is one of another recipe; or the log was changed.
        RemoteError: The disk refuses.
    """
    file = package_file(name)
    definition = package(str(file))
    load_collected(file)  # a package is published under its folder's name
    packages = file.parent.parent
    pin = None
    if kit is not None:
        facts = facts_of(definition, kit, keys)
        pin = KitPin(archive=facts.archive, sha256=digest_of(kit), size=facts.size)
        _need_own_name(definition.name, definition.version, facts.archive)
    content = file.read_bytes()
    release = Release(
        package=definition.name,
        version=definition.version,
        at=clock.now(),
        definition=Sha256.of(content),
        recipe=recipe_digest(definition.recipe),
        kit=pin,
    )
    _parse(packages).append(release)  # refused before anything is written
    frozen = frozen_file(packages, release.package, release.version)
    for beside in _beside(definition):
        write_new(frozen.with_name(beside), file.with_name(beside).read_bytes())
    write_new(frozen, content)
    return Published(release=release, frozen=frozen, log=packages / LOG_NAME, head=_file(packages, release))


def _beside(definition: Package) -> Iterator[str]:
    """Name the files beside a definition without which it cannot be read."""
    if definition.recipe.engine.lock:
        yield LOCK
    if isinstance(definition.recipe.model.origin, Proxy):
        yield CONFIG


def yank(packages: Path, name: str, version: str, reason: str) -> Yank:
    """Say of a version that nobody should take it any more; nothing of it is deleted.

    Args:
        packages: Folder of the packages.
        name: Name of the package.
        version: The version.
        reason: Why; it is published.

    Raises:
        InputError: It was never released, is yanked already, or no reason is given.
        IntegrityError: The log was changed.
        RemoteError: The disk refuses.
    """
    record = Yank(package=name, version=version, at=clock.now(), reason=" ".join(reason.split()))
    _file(packages, record)
    return record


def packages_of(name: str, packages: Path | None) -> Path:
    """Find the folder of packages that has released a package: the given one, or that of its definition.

    Raises:
        InputError: No package is called so.
    """
    return package_file(name).parent.parent if packages is None else packages


def _need_own_name(name: str, version: str, archive: str) -> None:
    if archive != f"{name}-{version}.kit.zip":
        raise InputError(
            f"the kit is called {archive}, and that of {name} {version} is called {name}-{version}.kit.zip",
            hint="Pack the kit from this definition.",
        )


def _parse(packages: Path) -> ReleaseLog:
    file = packages / LOG_NAME
    return ReleaseLog.parse(LedgerOnDisk(file).read(), file=str(file))


def _file(packages: Path, record: ReleaseRecord) -> str:
    """Add a line to the log, with nobody in between, and give the digest of the line."""
    file = packages / LOG_NAME
    heads: list[str] = []

    def change(content: bytes) -> bytes:
        longer, line = ReleaseLog.parse(content, file=str(file)).append(record)
        heads.append(longer.head)
        return line

    LedgerOnDisk(file).transact(change)
    return heads[-1]
