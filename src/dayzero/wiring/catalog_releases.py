"""The release log and the frozen definitions on disk, beside the definitions that are worked on."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dayzero.adapters.package_files import LOCK, load_collected, load_package
from dayzero.catalog.release import LOG_NAME, Release, ReleaseLog
from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.package import Package
from dayzero.core.pins import Sha256
from dayzero.evidence.subject import recipe_digest

DEFINITION, RELEASES = "package.toml", "releases"

_RESTORE = "Take it from the last commit that had it whole; what was released is never changed."


@dataclass(frozen=True, slots=True, kw_only=True)
class Defined:
    """One definition, released or not.

    Attributes:
        package: The definition, parsed.
        recipe: Digest of its recipe.
        text: Its text.
        sha256: Digest of the file.
        file: The file.
        release: What it was published as; ``None`` for a draft.
    """

    package: Package
    recipe: Sha256
    text: str
    sha256: Sha256
    file: Path
    release: Release | None


class Definitions:
    """Reads definitions; one that was read before is not parsed again."""

    def __init__(self) -> None:
        """Begin with none."""
        self._parsed: dict[tuple[Sha256, Sha256], tuple[Package, Sha256]] = {}

    def draft(self, file: Path) -> Defined:
        """Read the definition that is worked on.

        Raises:
            InputError: It is not valid, or has another name than its folder.
        """
        return self._read(file, None)

    def frozen(self, file: Path, release: Release) -> Defined:
        """Read what was released.

        Raises:
            IntegrityError: It is not there, or is not what the release log says; the message names the file.
        """
        if not file.is_file():
            raise IntegrityError(
                f"{file} is not there, and {release.package} {release.version} was released as it", hint=_RESTORE
            )
        found = Sha256.of(file.read_bytes())
        if found != release.definition:
            raise IntegrityError(
                f"{file} was changed after it was released: it is {found}, released was {release.definition}",
                hint=_RESTORE,
            )
        try:
            defined = self._read(file, release)
        except InputError as error:
            raise IntegrityError(f"{error.message}; it was released", hint=_RESTORE) from error
        said = (defined.package.name, defined.package.version)
        if said != (release.package, release.version):
            raise IntegrityError(f"{file} defines {' '.join(said)}, which is not what was released", hint=_RESTORE)
        if defined.recipe != release.recipe:
            raise IntegrityError(
                f"the recipe of {file} is {defined.recipe}, released was {release.recipe}",
                hint=f"Restore {file.with_name(LOCK)}, which is part of it.",
            )
        return defined

    def _read(self, file: Path, release: Release | None) -> Defined:
        try:
            content = file.read_bytes()
            text = content.decode("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{file}: {error}", hint="Give a readable UTF-8 file.") from error
        lock = file.with_name(LOCK)
        key = (Sha256.of(content), Sha256.of(lock.read_bytes() if lock.is_file() else b""))
        if key not in self._parsed or (release is None and self._parsed[key][0].name != file.parent.name):
            package = load_collected(file) if release is None else load_package(file)
            self._parsed[key] = package, recipe_digest(package.recipe)
        package, recipe = self._parsed[key]
        return Defined(package=package, recipe=recipe, text=text, sha256=key[0], file=file, release=release)


def read_log(packages: Path) -> ReleaseLog:
    """Read the release log of a folder of packages; an absent one is empty.

    Raises:
        IntegrityError: It was changed otherwise than by adding lines.
    """
    file = packages / LOG_NAME
    try:
        content = file.read_bytes()
    except FileNotFoundError:
        content = b""
    except OSError as error:
        raise InputError(
            f"{file} cannot be read: {error.strerror}", hint="Make it a file that you may read."
        ) from error
    return ReleaseLog.parse(content, file=str(file))


def frozen_file(packages: Path, name: str, version: str) -> Path:
    """Say where the frozen definition of a release lies."""
    return packages / name / RELEASES / version / DEFINITION


def defined_in(packages: Path, names: Mapping[str, Path], log: ReleaseLog, reader: Definitions) -> Iterator[Defined]:
    """Read every release of these packages, and the draft of each whose definition is that of no release.

    Args:
        packages: The folder of packages.
        names: Their folders, by name.
        log: Its release log.
        reader: Reads them.

    Raises:
        InputError: A definition is not valid.
        IntegrityError: A frozen definition is gone, was changed, or is not in the log.
    """
    released: dict[str, set[Sha256]] = {}
    for release in log.releases:
        if release.package in names:
            yield reader.frozen(frozen_file(packages, release.package, release.version), release)
        released.setdefault(release.package, set()).add(release.definition)
    known = {(release.package, release.version) for release in log.releases}
    for name, folder in names.items():
        _need_known(folder, name, known)
        file = folder / DEFINITION
        if file.is_file():
            draft = reader.draft(file)
            if draft.sha256 not in released.get(name, ()):
                yield draft


def _need_known(folder: Path, name: str, known: set[tuple[str, str]]) -> None:
    """Refuse a frozen definition that no line of the log speaks of: the line was cut off, or it was never published."""
    frozen = folder / RELEASES
    for version in sorted(frozen.iterdir()) if frozen.is_dir() else ():
        if (version / DEFINITION).is_file() and (name, version.name) not in known:
            raise IntegrityError(
                f"{version / DEFINITION} is frozen, and {folder.parent / LOG_NAME} has no release of {name} {version.name}",
                hint="Restore the log, or run dayzero catalog publish again where publishing was interrupted.",
            )
