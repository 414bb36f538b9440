"""An advisory: a known wall as data."""

from dataclasses import dataclass

from dayzero.core.pins import Sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one build shows: its wheel, the file in it, and what stands there or does not.

    Attributes:
        build: Distribution and version, separated by a blank.
        wheel_sha256: Digest of the wheel that was looked at.
        file: Path in the wheel.
        finding: What it shows, in words.
        line: Line of a text file, counted from 1; 0 means the file as a whole.
        quote: What that line says, without its indent; without a line, bytes that the file holds; ``""`` where neither is recorded.
        lacks: What stands nowhere in the file; ``""`` where that is not the point.
    """

    build: str
    wheel_sha256: Sha256
    file: str
    finding: str
    line: int = 0
    quote: str = ""
    lacks: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Advisory:
    """One known wall.

    Attributes:
        id: ``DZA-<year>-<number>``.
        title: The wall in one line.
        distribution: Whose builds are affected.
        check: The check of a package's audit that detects it (``architecture``, ``setting``, ``tensor-type``), or ``""``.
        value: What that check asks for.
        rule: The rule of ``dayzero audit`` that detects it from released files, ``""`` where none does.
        also: Other rules of it that show it, too.
        says: What a finding of these rules says where it is this wall; ``""`` where whatever they find in these builds is.
        walls: Rules of ``dayzero triage`` that recognise it in a log.
        affected: PEP 440 specifier of the affected versions; ``""`` means that no released version is.
        first_build: The first version without the wall, ``""`` where none is known.
        resolution: What to do.
        reproduce: The command that shows it from released files, ``""`` where there is none.
        not_shown: What no released file shows, ``""`` where they show all of it.
        evidence: Builds that were looked at.
    """

    id: str
    title: str
    distribution: str
    check: str = ""
    value: str = ""
    rule: str = ""
    also: tuple[str, ...] = ()
    says: str = ""
    walls: tuple[str, ...] = ()
    affected: str
    first_build: str
    resolution: str
    reproduce: str = ""
    not_shown: str = ""
    evidence: tuple[Finding, ...]
