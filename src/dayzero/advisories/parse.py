"""Parse an advisory's TOML text."""

import tomllib

import msgspec
from packaging.specifiers import InvalidSpecifier, SpecifierSet
from packaging.version import InvalidVersion, Version

from dayzero.advisories.model import Advisory, Finding
from dayzero.core.errors import InputError
from dayzero.core.pins import Sha256


class _EvidenceTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    build: str
    wheel_sha256: str
    file: str
    finding: str


class _AdvisoryTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    id: str
    title: str
    distribution: str
    check: str
    value: str
    affected: str
    first_build: str
    resolution: str
    evidence: tuple[_EvidenceTable, ...]


def parse_advisory(text: str, source: str) -> Advisory:
    """Parse one advisory.

    Args:
        text: The TOML text.
        source: What to call it in errors.

    Raises:
        InputError: The text is not an advisory, or its first build is itself affected.
    """
    try:
        table = msgspec.convert(tomllib.loads(text), _AdvisoryTable)
        affected, first = SpecifierSet(table.affected), Version(table.first_build)
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, InvalidSpecifier, InvalidVersion) as error:
        raise InputError(f"{source}: {error}", hint="See docs/reference/advisories.md for the keys.") from error
    if affected.contains(first, prereleases=True):
        raise InputError(
            f"{source}: first_build {first} is itself affected by {affected}", hint="Correct one of the two."
        )
    if not table.evidence:
        raise InputError(f"{source}: no build was looked at", hint="Add an [[evidence]] table.")
    return Advisory(
        id=table.id,
        title=table.title,
        distribution=table.distribution,
        check=table.check,
        value=table.value,
        affected=table.affected,
        first_build=table.first_build,
        resolution=" ".join(table.resolution.split()),
        evidence=tuple(
            Finding(build=row.build, wheel_sha256=Sha256(row.wheel_sha256), file=row.file, finding=row.finding)
            for row in table.evidence
        ),
    )


def applies(advisory: Advisory, *, distribution: str, version: str, check: str, value: str) -> bool:
    """Say whether an advisory is about this check on this build."""
    return (
        advisory.distribution == distribution
        and advisory.check == check
        and advisory.value == value
        and SpecifierSet(advisory.affected).contains(Version(version), prereleases=True)
    )
