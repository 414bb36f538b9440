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
    line: int = 0
    quote: str = ""
    lacks: str = ""


class _AdvisoryTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    id: str
    title: str
    distribution: str
    check: str = ""
    value: str = ""
    rule: str = ""
    also: tuple[str, ...] = ()
    says: str = ""
    walls: tuple[str, ...] = ()
    affected: str = ""
    first_build: str = ""
    resolution: str
    reproduce: str = ""
    not_shown: str = ""
    evidence: tuple[_EvidenceTable, ...]


def parse_advisory(text: str, source: str) -> Advisory:
    """Parse one advisory.

    Args:
        text: The TOML text.
        source: What to call it in errors.

    Raises:
        InputError: The text is not an advisory, or it contradicts itself.
    """
    try:
        table = msgspec.convert(tomllib.loads(text), _AdvisoryTable)
        affected = SpecifierSet(table.affected)
        first = Version(table.first_build) if table.first_build else None
    except (tomllib.TOMLDecodeError, msgspec.ValidationError, InvalidSpecifier, InvalidVersion) as error:
        raise InputError(f"{source}: {error}", hint="See docs/reference/advisories.md for the keys.") from error
    if table.affected and first is not None and affected.contains(first, prereleases=True):
        raise InputError(
            f"{source}: first_build {first} is itself affected by {affected}", hint="Correct one of the two."
        )
    _require_grounds(table, source)
    return Advisory(
        id=table.id,
        title=table.title,
        distribution=table.distribution,
        check=table.check,
        value=table.value,
        rule=table.rule,
        also=table.also,
        says=table.says,
        walls=table.walls,
        affected=table.affected,
        first_build=table.first_build,
        resolution=" ".join(table.resolution.split()),
        reproduce=table.reproduce,
        not_shown=" ".join(table.not_shown.split()),
        evidence=tuple(
            Finding(
                build=row.build,
                wheel_sha256=Sha256(row.wheel_sha256),
                file=row.file,
                finding=row.finding,
                line=row.line,
                quote=row.quote,
                lacks=row.lacks,
            )
            for row in table.evidence
        ),
    )


def _require_grounds(table: _AdvisoryTable, source: str) -> None:
    """Refuse an advisory that rests on no build, or that neither says what shows it nor what does not."""
    if not table.evidence:
        raise InputError(f"{source}: no build was looked at", hint="Add an [[evidence]] table.")
    if bool(table.check) != bool(table.value):
        raise InputError(f"{source}: check and value belong together", hint="Give both or neither.")
    if (table.also or table.says) and not (table.rule and table.reproduce):
        raise InputError(
            f"{source}: also and says belong to a rule that shows it",
            hint="Give rule and reproduce, or leave them out.",
        )
    if not table.reproduce and not table.not_shown:
        raise InputError(
            f"{source}: nothing shows it, and not_shown does not say so",
            hint="Give the command in reproduce, or say in not_shown what no released file shows.",
        )
    if not table.affected and not table.not_shown:
        raise InputError(
            f"{source}: no released version is affected, and not_shown does not say where the wall was met",
            hint="Give affected, or say it in not_shown.",
        )
    if any(row.line < 0 or (row.line and not row.quote) for row in table.evidence):
        raise InputError(f"{source}: a line without its quote", hint="Give line and quote together.")


def applies(advisory: Advisory, *, distribution: str, version: str, check: str, value: str) -> bool:
    """Say whether an advisory is about this check on this build."""
    return (
        advisory.distribution == distribution
        and bool(advisory.check)
        and advisory.check == check
        and advisory.value == value
        and bool(advisory.affected)
        and SpecifierSet(advisory.affected).contains(Version(version), prereleases=True)
    )


def shown_by(advisory: Advisory, *, distribution: str, version: str, rule: str, message: str) -> bool:
    """Say whether a finding of ``dayzero audit`` at a build's own files is this wall.

    Args:
        advisory: The advisory; one that no command shows from released files is never named.
        distribution: Whose files the finding points at.
        version: Its version.
        rule: The rule that found it.
        message: What it says.
    """
    return (
        advisory.distribution == distribution
        and bool(advisory.reproduce and advisory.affected)
        and rule in {advisory.rule, *advisory.also}
        and advisory.says.casefold() in message.casefold()
        and SpecifierSet(advisory.affected).contains(Version(version), prereleases=True)
    )
