"""Read what is known of the tree's tables, units and systems, and hold a table's columns to it."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files

import msgspec

from dayzero.core.errors import InputError

IDENTITY = ("framework", "version", "device", "op_name", "kernel_source")
OPTIONAL_IDENTITY = frozenset({"framework", "version", "device"})
LATENCY = "latency_us"
TOLD = {
    "run": "VARCHAR",
    "raw_file": "VARCHAR",
    "raw_line": "BIGINT",
    "own_grade": "VARCHAR",
    "grade_because": "VARCHAR",
    "timing_method": "VARCHAR",
    "l2_state": "VARCHAR",
    "used_cuda_graph": "BOOLEAN",
    "n_warmup": "BIGINT",
    "n_samples": "BIGINT",
    "inner_repeats": "BIGINT",
    "checked": "VARCHAR",
    "kernel_digest": "VARCHAR",
}
"""What a row of a run of one's own says beside its key, with the types; nothing of it tells two measurements apart."""
_COLUMN = re.compile(r"[a-z][a-z0-9_]*")
# What a row has beside the tree's columns, and what is asked of files while they are read.
_BESIDE = ("system", "family", "engine", "dir_version", "row_version", "kernel_label", "build", "grade", "substitution")
_TAKEN = frozenset({*_BESIDE, "source", "row", "told", "filename", "file_row_number"})
_TEXT, _WHOLE, _REAL = (
    frozenset({"VARCHAR", "BOOLEAN"}),
    frozenset({"BIGINT", "INTEGER", "SMALLINT", "TINYINT", "UBIGINT", "UINTEGER", "USMALLINT", "UTINYINT"}),
    frozenset({"DOUBLE", "FLOAT"}),
)
_AXES = ("num_tokens", "num_token", "message_size", "batch_size", "isl", "seq_len", "step")


class _TableFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    lane: tuple[str, ...]
    shape: tuple[str, ...]
    axes: tuple[str, ...]
    derived: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()
    latency_factor: float = 1000.0
    sum_us: tuple[str, ...] = ()


class _UnitFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    factor: float


class SystemFacts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is known of a system.

    Attributes:
        devices: Names of its GPU.
        sm: Compute capability; 103 is 10.3.
        bf16_tflops, fp8_tflops, fp4_tflops: Dense tensor rates in TFLOP/s; 0 where it has none.
        link_gb_s: Rate between GPUs of a node, in one direction, in GB/s; 0 where it is not known.
    """

    devices: tuple[str, ...]
    sm: int
    bf16_tflops: float
    fp8_tflops: float = 0.0
    fp4_tflops: float = 0.0
    link_gb_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """A measured column: as the tree calls it, as it is called here, and the factor between."""

    column: str
    name: str
    factor: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The columns of one table.

    Attributes:
        name: ``moe_perf``.
        lane: Columns that name the lane, beside operator and kernel.
        shape: Columns that are shape.
        axes: Shape columns along which rows form series, the finest last.
        derived: Columns that follow from the shape; kept, and no part of the key.
        needed: Shape columns that each row has a value in.
        identity: Which of the identity columns it has.
        measured: Its measured columns.
        sum_us: Columns in microseconds that add up to the latency; empty as a rule.
    """

    name: str
    lane: tuple[str, ...]
    shape: tuple[str, ...]
    axes: tuple[str, ...]
    derived: tuple[str, ...]
    needed: tuple[str, ...]
    identity: tuple[str, ...]
    measured: tuple[Measured, ...]
    sum_us: tuple[str, ...]


@lru_cache
def systems() -> Mapping[str, SystemFacts]:
    """Give what is known of each system."""
    return msgspec.convert(_toml("systems.toml"), dict[str, SystemFacts], strict=True)


def table_of(name: str, schemas: Mapping[str, Mapping[str, str]]) -> Table:
    """Settle the columns of a table from the columns of its files.

    Args:
        name: The table.
        schemas: Column to type, by path of the file.

    Raises:
        InputError: A file lacks a column, has one of another type or of no known unit, or measures one thing in two units.
    """
    union: dict[str, str] = {}
    for path, schema in schemas.items():
        for column, kind in schema.items():
            if union.setdefault(column, kind) != kind:
                raise InputError(
                    f"{path}: column {column} is {kind}, and {union[column]} in other files of {name}",
                    hint="Import the tree as it was published; a column has one type in a table.",
                )
    facts = _tables().get(name) or _inferred(union)
    for path, schema in schemas.items():
        _need_columns(name, path, schema, facts)
    known = {*IDENTITY, *facts.lane, *facts.shape, *facts.derived, *TOLD}
    extra = {column: kind for column, kind in union.items() if column not in known}
    lane = (*facts.lane, *(c for c, kind in extra.items() if kind in _TEXT and c not in _units()))
    shape = (*facts.shape, *(c for c, kind in extra.items() if kind in _WHOLE and c not in _units()))
    measured = _measured(name, [c for c in extra if c not in {*lane, *shape}], facts)
    return Table(
        name=name,
        lane=tuple(c for c in lane if c in union),
        shape=tuple(c for c in shape if c in union),
        axes=tuple(c for c in facts.axes if c in union),
        derived=tuple(c for c in (*facts.derived, *TOLD) if c in union),
        needed=tuple(c for c in facts.shape if c not in facts.optional),
        identity=tuple(c for c in IDENTITY if c in union),
        measured=measured,
        sum_us=facts.sum_us,
    )


def _need_columns(name: str, path: str, schema: Mapping[str, str], facts: _TableFacts) -> None:
    odd = next((column for column in schema if not _COLUMN.fullmatch(column) or column in _TAKEN), None)
    if odd is not None:
        raise InputError(
            f"{path} has a column that cannot be called {odd!r}",
            hint="Columns are called in lower case, by letters, digits and _, and not as what a row has beside them.",
        )
    needed = (
        {*IDENTITY, *facts.lane, *facts.shape, *facts.derived, *facts.sum_us} - OPTIONAL_IDENTITY - set(facts.optional)
    )
    missing = sorted(needed - schema.keys())
    if missing:
        raise InputError(
            f"{path} lacks the column {', '.join(missing)}",
            hint=f"A file of {name} has it; import the tree as it was published, or take the file out.",
        )
    _need_types(path, schema, facts)
    names = [unit.name for column, unit in _units().items() if column in schema]
    if not names:
        raise InputError(f"{path} holds no measured column", hint=f"It needs one of {', '.join(_units())}.")
    twice = next((n for n in names if names.count(n) > 1), None)
    if twice:
        both = [column for column, unit in _units().items() if column in schema and unit.name == twice]
        raise InputError(
            f"{path} measures {twice} in more than one unit: {' and '.join(both)}",
            hint="Leave one of the columns in the file.",
        )


def _need_types(path: str, schema: Mapping[str, str], facts: _TableFacts) -> None:
    """Hold each column to what it is for: words are not measured, and what is counted has no fraction."""
    fitting = {
        **dict.fromkeys(_units(), (_REAL | _WHOLE, "a number")),
        **dict.fromkeys(facts.lane, (_TEXT | _WHOLE, "a word or a whole number")),
        **dict.fromkeys(facts.shape, (_WHOLE, "a whole number")),
        **dict.fromkeys(IDENTITY, (frozenset({"VARCHAR"}), "text")),
        **{name: (frozenset({kind}), kind) for name, kind in TOLD.items()},
    }
    for column, kind in schema.items():
        kinds, told = fitting.get(column, (frozenset({kind}), ""))
        if kind not in kinds:
            raise InputError(
                f"{path}: column {column} is {kind}, not {told}",
                hint="Import the tree as it was published; nothing in it is converted by guess.",
            )


def _measured(name: str, columns: list[str], facts: _TableFacts) -> tuple[Measured, ...]:
    units = _units()
    unknown = next((c for c in columns if c not in units), None)
    if unknown:
        raise InputError(
            f"{name}: nothing says in which unit {unknown} is",
            hint="Name its unit in dayzero/perfdb/units.toml, with a source.",
        )
    named = [units[c].name for c in columns]
    mixed = next((n for n in named if named.count(n) > 1), None)
    if mixed:
        both = [c for c in columns if units[c].name == mixed]
        raise InputError(
            f"files of {name} measure {mixed} in different units: {' and '.join(both)}",
            hint="Import the tree as it was published; a table has one unit.",
        )
    return tuple(
        Measured(column=c, name=units[c].name, factor=facts.latency_factor if c == "latency" else units[c].factor)
        for c in columns
    )


def _inferred(union: Mapping[str, str]) -> _TableFacts:
    """Take a table that nobody described: text is lane, whole numbers are shape."""
    rest = {c: kind for c, kind in union.items() if c not in {*IDENTITY, *TOLD, *_units()}}
    shape = tuple(c for c, kind in rest.items() if kind in _WHOLE)
    return _TableFacts(
        lane=tuple(c for c, kind in rest.items() if kind in _TEXT),
        shape=shape,
        axes=tuple(a for a in _AXES if a in shape),
        optional=tuple(c for c, kind in rest.items() if kind not in _REAL),
    )


@lru_cache
def _units() -> Mapping[str, _UnitFacts]:
    return msgspec.convert(_toml("units.toml"), dict[str, _UnitFacts], strict=True)


@lru_cache
def _tables() -> Mapping[str, _TableFacts]:
    return msgspec.convert(_toml("tables.toml"), dict[str, _TableFacts], strict=True)


def _toml(name: str) -> Mapping[str, object]:
    return tomllib.loads(files("dayzero.perfdb").joinpath(name).read_text(encoding="utf-8"))
