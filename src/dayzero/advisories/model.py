"""An advisory: a known wall as data."""

from dataclasses import dataclass

from dayzero.core.pins import Sha256


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one build shows: its wheel, the file in it, and what stands there or does not."""

    build: str
    wheel_sha256: Sha256
    file: str
    finding: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Advisory:
    """One known wall.

    Attributes:
        id: ``DZA-<year>-<number>``.
        title: The wall in one line.
        distribution: Whose builds are affected.
        check: The audit check that detects it (``architecture``, ``setting``, ``tensor-type``).
        value: What that check asks for.
        affected: PEP 440 specifier of the affected versions.
        first_build: The first version without the wall.
        resolution: What to do.
        evidence: Builds that were looked at.
    """

    id: str
    title: str
    distribution: str
    check: str
    value: str
    affected: str
    first_build: str
    resolution: str
    evidence: tuple[Finding, ...]
