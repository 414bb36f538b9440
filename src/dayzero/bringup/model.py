"""What a bring-up found, step by step."""

from dataclasses import dataclass
from typing import TypeAlias

from dayzero.audit.model import Report as AuditReport
from dayzero.bench.model import Outcome
from dayzero.bench.report import Report as BenchReport
from dayzero.core.package import Wall
from dayzero.core.verdict import Verdict
from dayzero.fit.model import HostReport as FitReport
from dayzero.serve.model import Died, Healthy, TimedOut


@dataclass(frozen=True, slots=True, kw_only=True)
class Captured:
    """A file that the run produced, as it will be filed: its name, its bytes, and the command that made it."""

    name: str
    content: bytes
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A measurement.

    Attributes:
        outcome: What it brought.
        report: What was made of it.
        captured: Its rows, and its receipt where it is valid.
        again: Why it was measured a second time, ``""`` where it was not.
    """

    outcome: Outcome
    report: BenchReport
    captured: tuple[Captured, ...]
    again: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownWall:
    """A wall, shown for real: the audit that refuted the build, and how the build failed when it was started."""

    wall: Wall
    audit: AuditReport
    start: Died | TimedOut
    log: Captured


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The laboratory's half of a bring-up, complete.

    Attributes:
        walls: Each wall of the package, shown.
        audit: The pinned build, proven.
        fit: The machine, proven large enough.
        start: The start, healthy.
        bench: The measurement, valid.
        captured: Every file that it left: engine log, start record, raw rows.
        environment: The machine, as ordered (name, value) pairs.
    """

    walls: tuple[ShownWall, ...]
    audit: AuditReport
    fit: FitReport
    start: Healthy
    bench: BenchReport
    captured: tuple[Captured, ...]
    environment: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """A bring-up that ended early; no receipt is written.

    Attributes:
        step: The step at which it ended.
        verdict: Why: refuted (a finding) or undecided (something failed).
        kept: What stays on disk from it, as paths for the reader.
    """

    step: str
    verdict: Verdict
    kept: tuple[str, ...]


Laboratory: TypeAlias = Measured | Stopped
