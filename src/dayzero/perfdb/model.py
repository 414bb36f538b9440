"""What the database knows of: files, builds and their labels, lanes, rows by family, and what was found in them."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

UNSUPPORTED_CASE = "unsupported"
"""Error class of a case that was tried and said to be impossible there."""
Grade: TypeAlias = Literal["A", "B", "C", "D"]
"""A: digest, commit, driver and clocks. B: image digest and collector hash. C: a version. D: what is said contradicts itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """One Parquet file of a tree.

    Attributes:
        path: Where it lies under the systems folder (``data/b300_sxm/moe/vllm/0.24.0/moe_perf.parquet``).
        sha256: Digest of its bytes, 64 hexadecimal digits; also its name in the database.
        rows: How many it holds.
    """

    path: str
    sha256: str
    rows: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OtherFile:
    """A file of the tree that holds no rows; it is kept, so that an export is whole."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TreePlace:
    """The folder that a Parquet file lies in, taken apart: ``data/SYSTEM/FAMILY/ENGINE/VERSION``."""

    system: str
    family: str
    engine: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SidecarTable:
    """What a sidecar says of one table; ``""`` and -1 where it says nothing."""

    table: str
    collector_ref: str = ""
    collector_hash: str = ""
    case_plan_hash: str = ""
    collected_at: str = ""
    rows: int = -1
    status: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sidecar:
    """The file ``collection_meta.yaml`` beside some tables.

    Attributes:
        place: The folder.
        framework: What ran, as it is spelled there.
        version: Its version.
        image: Reference of the image, with its tag.
        image_digest: ``sha256:`` and 64 digits, or ``""``.
        provenance: ``legacy``, ``local`` and the like.
        tables: What it says of each table.
        build: What names the build of a run of one's own: ``wheel sha256:...`` or ``record sha256:...``.
    """

    place: TreePlace
    framework: str = ""
    version: str = ""
    image: str = ""
    image_digest: str = ""
    provenance: str = ""
    tables: tuple[SidecarTable, ...] = ()
    build: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """What was measured, by what names its bytes; where nothing does, by what the tree says of it.

    Attributes:
        id: ``b-`` and the first 16 digits of the digest of ``identity``.
        identity: ``image sha256:...``, ``wheel sha256:...``, ``record sha256:...`` (of what a wheel recorded), or
            ``import ID, ENGINE/VERSION, row version VERSION``.
        engine: Engine or library (``vllm``, ``nccl``).
        version: The version that its rows report, ``""`` for none.
        image_digest: Digest of its image, or ``""``.
    """

    id: str
    identity: str
    engine: str
    version: str
    image_digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A name that stands for a build, on some systems and for some time; names move, builds do not.

    Attributes:
        label: ``vllm/0.24.0``.
        build: Id of the build.
        systems: Where the label stands for it.
        valid_from: First day that it was collected under this name, or ``""`` where nobody wrote it down.
        valid_to: Last day, or ``""`` while it is valid.
    """

    label: str
    build: str
    systems: tuple[str, ...]
    valid_from: str
    valid_to: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """Rows of one table that one kernel path made, of one engine.

    Attributes:
        id: First 16 digits of the digest of ``title``.
        title: ``moe_perf/vllm/w4a16_mxfp4/balanced/moe/KERNEL``: table, engine, the lane columns, operator, kernel label.
        rows: How many there are on all systems; a lane that was declared may have none.
        substitution: What was measured in place of what (``silu_for_situ``), or ``""``.
    """

    id: str
    title: str
    rows: int
    substitution: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """A case that was tried and failed, as the tree's own error file tells it.

    Attributes:
        place: The folder.
        table: The table that its row would be in, or the file's own word for it.
        error: Class of the error.
        path: The file.
        position: JSON pointer to the case in it.
        case: Its shape as ordered (name, value) pairs.
    """

    place: TreePlace
    table: str
    error: str
    path: str
    position: str
    case: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The rows of one table in one sorted file.

    Attributes:
        table: Name of the table (``moe_perf``).
        sha256: Digest of the file; also its name.
        rows: How many rows.
        columns: Name and type of each column, in order.
        lane: Which of them name the lane.
        shape: Which of them are shape.
        axes: Which shape columns form series.
        sources: What it was made from; a row's ``source`` is a position in here, from 0.
        lanes: Lanes in it.
    """

    table: str
    sha256: str
    rows: int
    columns: tuple[tuple[str, str], ...]
    lane: tuple[str, ...]
    shape: tuple[str, ...]
    axes: tuple[str, ...]
    sources: tuple[Source, ...]
    lanes: tuple[Lane, ...]

    @property
    def key(self) -> tuple[str, ...]:
        """The columns that tell two measurements of one file apart."""
        return ("op_name", "kernel_label", *self.lane, *self.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One tree, as it was read; nothing in it changes later.

    Attributes:
        id: First 16 digits of the digest over the paths and digests of all its files.
        upstream: Name of the distribution or folder.
        version: Its version, or ``""``.
        sha256: Digest of the wheel, or ``""`` for a folder.
        imported_at: UTC, RFC 3339, to the second.
        families: Its rows.
        builds: Builds that its rows name.
        labels: Names of the builds.
        sidecars: What was written down beside the rows.
        failures: Cases that failed.
        others: Its further files.
    """

    id: str
    upstream: str
    version: str
    sha256: str
    imported_at: str
    families: tuple[Family, ...]
    builds: tuple[Build, ...]
    labels: tuple[Label, ...]
    sidecars: tuple[Sidecar, ...]
    failures: tuple[Failure, ...]
    others: tuple[OtherFile, ...]

    @property
    def rows(self) -> int:
        """All its rows."""
        return sum(family.rows for family in self.families)


class CellState(StrEnum):
    """What is known of a lane on a system."""

    MEASURED = "measured"
    SUBSTITUTED = "substituted"
    RETRACTED = "retracted"
    FAILED = "failed"
    UNSUPPORTED = "unsupported"
    NOT_ATTEMPTED = "not attempted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Match:
    """Rows, named by how many they are and by a hash that does not depend on their order.

    Attributes:
        rows: How many.
        hash: 32 hexadecimal digits; see :mod:`dayzero.perfdb.row_hash`.
    """

    rows: int
    hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something about rows that a reader of them should know.

    Attributes:
        rule: Name of the rule, with its version (``duplicate-key@1``).
        severity: ``error`` where the rows should not be used as they are, ``warning`` where it depends, ``note`` for the rest.
        table: Where.
        where: What the rows have in common, as predicate terms that ``perfdb retract --where`` takes.
        match: The rows.
        value: What was measured, with its unit.
        threshold: What it was held against.
        example: A file of the tree and a row in it, from 0.
    """

    rule: str
    severity: Literal["error", "warning", "note"]
    table: str
    where: tuple[str, ...]
    match: Match
    value: str
    threshold: str
    example: str
