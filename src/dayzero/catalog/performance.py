"""What a catalog shows of rows that others measured: how a database of operators tells it, read strictly and shown as it is."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

import msgspec

from dayzero.core.errors import InputError

SCHEMA: Final = "dayzero/perfdb-page/v1"
_HINT: Final = "Write it anew: dayzero perfdb page DB -o FILE.json"


class PerfCell(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A lane on a system: what is known, and of how many rows."""

    system: str
    state: Literal["measured", "substituted", "retracted", "failed", "unsupported", "not attempted"]
    measured: int
    substituted: int
    retracted: int
    failed: int

    @property
    def rows(self) -> int:
        """The rows, or the failed cases, that are behind the state."""
        return {
            "measured": self.measured,
            "substituted": self.substituted,
            "retracted": self.retracted,
            "failed": self.failed,
        }.get(self.state, 0)


class PerfLane(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A lane that somebody asks for, how it would be measured, checked and labelled, who asks, and its systems."""

    lane: str
    recipe: str
    image: str
    checks: tuple[str, ...]
    label: str
    source: str
    cells: tuple[PerfCell, ...]

    @property
    def with_rows(self) -> int:
        """On how many systems it has rows that count."""
        return sum(cell.state in {"measured", "substituted"} for cell in self.cells)

    def on(self, system: str) -> PerfCell | None:
        """Give its cell of a system; ``None`` where it is not asked for there."""
        return next((cell for cell in self.cells if cell.system == system), None)


class PerfPoint(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The rows of one size: their median in microseconds, and what nine in ten repeats stay within."""

    size: int
    value_us: float
    low_us: float
    high_us: float
    rows: int


class PerfLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Rows under one label; ``retracted`` ones were taken back, ``substitution`` says what was measured in place of what."""

    label: str
    substitution: str
    retracted: bool
    points: tuple[PerfPoint, ...]

    @property
    def name(self) -> str:
        """What it is, in words."""
        swapped = f", {self.substitution.replace('_for_', ' measured for ')}" if self.substitution else ""
        return f"{self.label}{swapped}{', taken back' if self.retracted else ''}"


class PerfCurve(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A lane on a system along one axis; ``fixed`` are the other columns with their values."""

    lane: str
    system: str
    axis: str
    fixed: tuple[tuple[str, str], ...]
    lines: tuple[PerfLine, ...]


class PerfRetraction(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Rows that were taken back: by what conditions, why, and what that does to the import."""

    slug: str
    cause: str
    why: str
    at: str
    effect: str
    table: str
    where: tuple[str, ...]
    rows: int
    evidence: tuple[str, ...]


class _Wire(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    schema: Literal["dayzero/perfdb-page/v1"]
    import_id: str = msgspec.field(name="import")
    upstream: str
    version: str
    sha256: str
    imported_at: str
    rows: int
    lanes: tuple[PerfLane, ...]
    curves: tuple[PerfCurve, ...]
    retractions: tuple[PerfRetraction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Performance:
    """Rows of one import, as a page shows them.

    Attributes:
        document: The bytes that it was read from; they lie beside the page.
        title: The import in words.
        import_id: Its id.
        sha256: Digest of the wheel that it came in, or ``""``.
        imported_at: UTC, RFC 3339.
        rows: How many rows it has.
        systems: Every system that a lane is asked for on, sorted.
        lanes: The lanes.
        curves: Their curves.
        retractions: What was taken back.
    """

    document: bytes
    title: str
    import_id: str
    sha256: str
    imported_at: str
    rows: int
    systems: tuple[str, ...]
    lanes: tuple[PerfLane, ...]
    curves: tuple[PerfCurve, ...]
    retractions: tuple[PerfRetraction, ...]

    def of(self, lane: str) -> tuple[PerfCurve, ...]:
        """Give the curves of a lane."""
        return tuple(curve for curve in self.curves if curve.lane == lane)


def read_performance(content: bytes, name: str) -> Performance:
    """Read what ``dayzero perfdb page`` wrote.

    Args:
        content: The file.
        name: What it is called.

    Raises:
        InputError: It is no such document.
    """
    try:
        wire = msgspec.json.decode(content, type=_Wire)
    except msgspec.DecodeError as error:
        raise InputError(f"{name} is no page of a performance database: {error}", hint=_HINT) from error
    return Performance(
        document=content,
        title=f"{wire.upstream} {wire.version}".strip(),
        import_id=wire.import_id,
        sha256=wire.sha256,
        imported_at=wire.imported_at,
        rows=wire.rows,
        systems=_systems(wire.lanes),
        lanes=wire.lanes,
        curves=wire.curves,
        retractions=wire.retractions,
    )


def _systems(lanes: Iterable[PerfLane]) -> tuple[str, ...]:
    return tuple(sorted({cell.system for lane in lanes for cell in lane.cells}))


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What a retraction changes in a curve, at one size.

    Attributes:
        lane: The lane.
        system: The system.
        size: The smallest size that rows are left of; where none are left the smallest that was taken back.
        before_us: Median of what was taken back.
        after_us: Median of what is left; ``None`` where nothing is.
    """

    lane: str
    system: str
    size: int
    before_us: float
    after_us: float | None


def changes(curves: Sequence[PerfCurve]) -> tuple[Change, ...]:
    """Say of each curve in which rows were taken back what that changes, those that have others left first."""
    found = [_change(curve) for curve in curves if any(line.retracted and line.points for line in curve.lines)]
    return tuple(sorted(found, key=lambda one: one.after_us is None))


def _change(curve: PerfCurve) -> Change:
    before, after = (
        {one.size: one.value_us for line in reversed(curve.lines) if line.retracted is gone for one in line.points}
        for gone in (True, False)
    )
    common = before.keys() & after.keys()
    size = min(common or before)
    return Change(
        lane=curve.lane,
        system=curve.system,
        size=size,
        before_us=before[size],
        after_us=after[size] if common else None,
    )
