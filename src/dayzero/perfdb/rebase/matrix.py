"""Say of each kernel and system what rows of one build are worth on another: measured, kernel-equal, to re-collect, undecided."""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.resources import files

import msgspec

from dayzero.perfdb.builds import says_the_same
from dayzero.perfdb.model import Family
from dayzero.perfdb.ports import Rows
from dayzero.perfdb.predicate import Predicate, parse_terms
from dayzero.perfdb.rebase.model import Compared, DeclaredKernel, Holding
from dayzero.perfdb.retraction import taken_back


class _Kernels(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    kernel: tuple[DeclaredKernel, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldCell:
    """Rows of a kernel on a system.

    Attributes:
        system: The system.
        holding: What they say of the new build.
        old: Rows of the old build.
        new: Rows of the new build itself.
        open: Rows of the old build at shapes that the new one was not measured at.
        foreign: Rows under the old build's label that report another version; they count for neither.
        retracted: Rows that were taken back.
        substituted: How many of ``old`` and ``new`` measure something else in its place.
    """

    system: str
    holding: Holding
    old: int
    new: int
    open: int
    foreign: int
    retracted: int
    substituted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldLane:
    """A kernel's rows, and what was held side by side for them.

    Attributes:
        table: Their table.
        label: Their kernel label.
        compared: The evidence; ``None`` where nobody has declared which files make this kernel.
        cells: What that means, system by system.
    """

    table: str
    label: str
    compared: Compared | None
    cells: tuple[HeldCell, ...]

    @property
    def reason(self) -> str:
        """Say why rows of the old build count or not."""
        return self.compared.reason if self.compared else "nobody has declared which files make this kernel"

    @property
    def holding(self) -> Holding:
        """Say what the evidence says, whatever rows there are."""
        return self.compared.holding if self.compared else Holding.UNDECIDED


@dataclass(frozen=True, slots=True, kw_only=True)
class _Counts:
    old: int = 0
    new: int = 0
    foreign: int = 0
    retracted: int = 0
    substituted: int = 0


def declared_kernels() -> tuple[DeclaredKernel, ...]:
    """Read which files make which kernel."""
    text = files("dayzero.perfdb.rebase").joinpath("kernels.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), _Kernels, strict=True).kernel


def kernel_of(known: Sequence[DeclaredKernel], engine: str, table: str, label: str) -> DeclaredKernel | None:
    """Find what is declared of a kernel label: the first that fits; a row that names a substitution is of the kernel before it."""
    bare = label.partition("_as_")[0].rpartition("_")[0] if "_as_" in label else label
    return next(
        (
            one
            for one in known
            if one.engine == engine
            and table in one.tables
            and any(fnmatchcase(bare, pattern) or fnmatchcase(label, pattern) for pattern in one.labels)
        ),
        None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Versions:
    """The two builds as the tree labels them: engine, and the folder's version of each."""

    engine: str
    old: str
    new: str


def held(
    families: Sequence[Family],
    rows: Rows,
    versions: Versions,
    compared: Callable[[DeclaredKernel], Compared],
    retracted: Mapping[str, Sequence[Predicate]],
) -> tuple[HeldLane, ...]:
    """Say of every kernel with rows of either build what they say of the new one.

    Args:
        families: The tables that are looked at.
        rows: Their rows.
        versions: The builds.
        compared: Holds a declared kernel of the old build beside the new one; asked once for each.
        retracted: What was taken back, by table.
    """
    known = declared_kernels()
    seen: dict[DeclaredKernel, Compared] = {}
    lanes: list[HeldLane] = []
    for family in families:
        counted = _counted(family, rows, versions, retracted)
        both = any(one.new and one.old for cells in counted.values() for one in cells.values())
        unmatched = _unmatched(family, rows, versions, retracted) if both else {}
        for label, cells in counted.items():
            kernel = kernel_of(known, versions.engine, family.table, label)
            if kernel is not None and kernel not in seen:
                seen[kernel] = compared(kernel)
            answer = seen[kernel] if kernel is not None else None
            says = answer.holding if answer else Holding.UNDECIDED
            lanes.append(
                HeldLane(
                    table=family.table,
                    label=label,
                    compared=answer,
                    cells=tuple(
                        _cell(system, counts, unmatched.get((label, system), 0), says)
                        for system, counts in sorted(cells.items())
                    ),
                )
            )
    return tuple(lanes)


def _cell(system: str, counts: _Counts, unmatched: int, says: Holding) -> HeldCell:
    left = unmatched if counts.new else counts.old
    holding = says if left else Holding.MEASURED if counts.new else Holding.NO_ROWS
    return HeldCell(
        system=system,
        holding=holding,
        old=counts.old,
        new=counts.new,
        open=left,
        foreign=counts.foreign,
        retracted=counts.retracted,
        substituted=counts.substituted,
    )


def _counted(
    family: Family, rows: Rows, versions: Versions, retracted: Mapping[str, Sequence[Predicate]]
) -> Mapping[str, Mapping[str, _Counts]]:
    found: dict[str, dict[str, _Counts]] = {}
    for label, system, version, reported, swapped, kept, gone in _asked(family, rows, versions, retracted):
        own = says_the_same(version, reported)
        before = found.setdefault(label, {}).get(system, _Counts())
        found[label][system] = _Counts(
            old=before.old + (kept if own and version == versions.old else 0),
            new=before.new + (kept if own and version == versions.new else 0),
            foreign=before.foreign + (0 if own else kept),
            retracted=before.retracted + gone,
            substituted=before.substituted + (kept if own and swapped else 0),
        )
    return found


def _asked(
    family: Family, rows: Rows, versions: Versions, retracted: Mapping[str, Sequence[Predicate]]
) -> Iterator[tuple[str, str, str, str, bool, int, int]]:
    gone = taken_back(family, retracted)
    engine = Predicate(table=family.table, terms=parse_terms((f"engine={versions.engine}",))).sql(family)
    either = " OR ".join(
        Predicate(table=family.table, terms=parse_terms((f"dir_version={version}",))).sql(family)
        for version in (versions.old, versions.new)
    )
    sql = (
        "SELECT kernel_label, system, dir_version, coalesce(row_version, ''), substitution IS NOT NULL, "  # noqa: S608  (checked)
        f"count(*) FILTER (NOT {gone}), count(*) FILTER ({gone}) FROM {family.table} "
        f"WHERE {engine} AND ({either}) GROUP BY ALL ORDER BY ALL"
    )
    for label, system, version, reported, swapped, kept, back in rows.ask(sql):
        yield str(label), str(system), str(version), str(reported), bool(swapped), int(str(kept)), int(str(back))


def _unmatched(
    family: Family, rows: Rows, versions: Versions, retracted: Mapping[str, Sequence[Predicate]]
) -> Mapping[tuple[str, str], int]:
    """Count rows of the old build at shapes that the new one was not measured at, by kernel label and system."""
    gone = taken_back(family, retracted)
    old, new = (_own(family, versions.engine, version) for version in (versions.old, versions.new))
    key = ", ".join(f'"{name}"' for name in ("system", *family.key))
    sql = (
        "SELECT kernel_label, system, count(*) FROM (SELECT kernel_label, system, "  # noqa: S608  (checked)
        f"{old} AS of_old, bool_or({new}) OVER (PARTITION BY {key}) AS there "
        f"FROM {family.table} WHERE NOT {gone} AND ({old} OR {new})) WHERE of_old AND NOT there GROUP BY ALL"
    )
    return {(str(label), str(system)): int(str(count)) for label, system, count in rows.ask(sql)}


def _own(family: Family, engine: str, version: str) -> str:
    """Write the condition under which a row is of a build: it lies under its label and reports its version."""
    terms = parse_terms((f"engine={engine}", f"dir_version={version}"))
    public = "split_part(row_version, '+', 1)"
    said = f"(row_version = dir_version OR ({public} = dir_version AND regexp_matches({public}, '\\.dev\\d+')))"
    return f"coalesce({Predicate(table=family.table, terms=terms).sql(family)} AND {said}, false)"
