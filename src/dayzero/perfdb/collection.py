"""Which cases are measured for a lane on a system, and which cannot be? A grid of shapes, less what the GPU cannot run or hold."""

import hashlib
import itertools
import json
import math
import operator
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib.resources import files
from typing import TypeAlias

import msgspec

from dayzero.core.errors import InputError
from dayzero.perfdb.predicate import Term, parse_terms
from dayzero.perfdb.tables import systems

Value: TypeAlias = str | int
_COMPARED: Mapping[str, Callable[[int, int], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ROOM = 0.9  # of a GPU's memory; the rest is its context and what the allocator cannot join


class CollectedLane(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A lane that can be measured.

    Attributes:
        title: Its name.
        kind: What makes its inputs, in :mod:`dayzero.collector`; ``""`` where nothing is written yet.
        package: Distribution that it measures.
        engine: Engine that its rows name; the package where none is given.
        table: Table of its rows.
        op_name: Operator of its rows.
        op_column: Column of the grid that names the operator instead.
        kernel_label: What its rows are called.
        kernels: Expressions, each of which a launched kernel has to match.
        options: For what makes the inputs.
        fixed: Columns with one value.
        same: Columns that repeat another.
        product: Columns that multiply others.
        bytes: Products of columns and numbers that add up to what a case needs of the GPU's memory.
        grid: Values of each other column.
        device: ``cuda`` or ``cpu``.
        sm: Compute capabilities that can run it; empty where all can that ``sm_at_least`` lets.
        sm_at_least: The lowest that can.
        gpus: How many ranks run it.
        recipe: How to run it where this machine cannot.
        control: What is wrong with it on purpose; ``""`` for a lane whose rows count.
    """

    title: str
    kind: str
    package: str
    table: str
    bytes: tuple[tuple[str | int, ...], ...]
    grid: dict[str, tuple[Value, ...]]
    engine: str = ""
    op_name: str = ""
    op_column: str = ""
    kernel_label: str = ""
    kernels: tuple[str, ...] = ()
    options: dict[str, str | int | bool] = {}
    fixed: dict[str, Value] = {}
    same: dict[str, str] = {}
    product: dict[str, tuple[str, ...]] = {}
    device: str = "cuda"
    sm: tuple[int, ...] = ()
    sm_at_least: int = 0
    gpus: int = 1
    recipe: str = ""
    control: str = ""


class _Collected(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    lane: tuple[CollectedLane, ...]


class PlannedLane(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What a plan wants of the lanes below a title: the cases that meet conditions on columns."""

    title: str
    where: tuple[str, ...] = ()


class _Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    lane: tuple[PlannedLane, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One shape of one lane.

    Attributes:
        id: First 16 digits of the digest over lane and columns.
        lane: Title of the lane.
        op_name: Operator of its row.
        columns: Lane and shape columns of its row.
        left_out: Why it cannot run here; ``""`` where it can.
    """

    id: str
    lane: str
    op_name: str
    columns: Mapping[str, Value]
    left_out: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where cases shall run.

    Attributes:
        system: Name of the system.
        memory_bytes: Memory of one GPU; 0 where it is not known.
    """

    system: str
    memory_bytes: int = 0


def collected_lanes() -> tuple[CollectedLane, ...]:
    """Read the lanes that can be measured."""
    text = files("dayzero.perfdb").joinpath("collected.toml").read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), _Collected, strict=True).lane


def chosen_lanes(names: Sequence[str]) -> tuple[CollectedLane, ...]:
    """Pick lanes by title, or by its first words: ``kimi-k3/vllm/kda`` stands for all lanes below it.

    Raises:
        InputError: A name stands for none.
    """
    lanes = collected_lanes()
    found: dict[str, CollectedLane] = {}
    for name in names:
        below = [lane for lane in lanes if lane.title == name or lane.title.startswith(f"{name.rstrip('/')}/")]
        if not below:
            close = get_close_matches(name, sorted({first for lane in lanes for first in _firsts(lane.title)}), n=3)
            told = ", ".join(close or (lane.title for lane in lanes))
            raise InputError(f"no lane is called {name!r}", hint=f"There is {told}.")
        found |= {lane.title: lane for lane in below}
    return tuple(found.values())


def _firsts(title: str) -> Iterable[str]:
    """Give a title and the first words of it, by which it can be called."""
    return itertools.accumulate(title.split("/"), "{}/{}".format)


def parse_plan(text: str, name: str) -> tuple[PlannedLane, ...]:
    """Read a plan: lanes in the order in which they are measured.

    Raises:
        InputError: It is not TOML, or has other keys than ``[[lane]]`` with ``title`` and ``where``.
    """
    try:
        return msgspec.convert(tomllib.loads(text), _Plan, strict=True).lane
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise InputError(f"{name}: {error}", hint="A plan has [[lane]] tables with title and where.") from error


def cases_of(lane: CollectedLane, place: Place, where: Sequence[str] = ()) -> tuple[Case, ...]:
    """Multiply a lane's grid out, and say of each case whether it can run.

    Args:
        lane: The lane.
        place: Where.
        where: Conditions on its columns; cases that do not meet them are none.

    Raises:
        InputError: A condition names no column of the lane.
    """
    terms = parse_terms(where)
    cases = [
        _case(lane, place, dict(zip(lane.grid, values, strict=True)))
        for values in itertools.product(*lane.grid.values())
    ]
    unknown = next((t.column for t in terms if cases and t.column not in cases[0].columns), None)
    if unknown is not None:
        raise InputError(f"{lane.title} has no column {unknown!r}", hint=f"It has {', '.join(cases[0].columns)}.")
    return tuple(case for case in cases if all(_meets(case.columns[term.column], term) for term in terms))


def shard_of(cases: Sequence[Case], number: int, count: int) -> tuple[Case, ...]:
    """Deal the cases out, and take one hand; all hands together hold each case once."""
    return tuple(cases[number - 1 :: count])


def plan_digest(ids: Iterable[str]) -> str:
    """Give the digest of a plan: of the cases' ids, in order."""
    return hashlib.sha256("\n".join(ids).encode()).hexdigest()


def _case(lane: CollectedLane, place: Place, picked: Mapping[str, Value]) -> Case:
    columns = {**lane.fixed, **picked}
    columns |= {name: columns[other] for name, other in lane.same.items()}
    columns |= {name: math.prod(int(columns[f]) for f in factors) for name, factors in lane.product.items()}
    op_name = str(columns.pop(lane.op_column)) if lane.op_column else lane.op_name
    told = json.dumps([lane.title, op_name, sorted(columns.items())])
    return Case(
        id=hashlib.sha256(told.encode()).hexdigest()[:16],
        lane=lane.title,
        op_name=op_name,
        columns=columns,
        left_out=_obstacle(lane, place, columns),
    )


def _obstacle(lane: CollectedLane, place: Place, columns: Mapping[str, Value]) -> str:
    facts = systems().get(place.system)
    if not lane.kind:
        return "nothing makes its inputs yet"
    if lane.device == "cuda" and facts is not None:
        if lane.sm and facts.sm not in lane.sm:
            return f"it runs on compute capability {', '.join(map(str, lane.sm))}, and {place.system} has {facts.sm}"
        if facts.sm < lane.sm_at_least:
            return f"it needs compute capability {lane.sm_at_least}, and {place.system} has {facts.sm}"
    needed = sum(math.prod(int(columns[f]) if isinstance(f, str) else f for f in term) for term in lane.bytes)
    if place.memory_bytes and needed > place.memory_bytes * _ROOM:
        return f"it needs {needed} bytes at least, and the GPU has {place.memory_bytes}"
    return ""


def _meets(value: Value, term: Term) -> bool:
    """Whether a value of a case meets a condition.

    Raises:
        InputError: A number is compared with a word, or words by which is larger.
    """
    if isinstance(value, str):
        if term.operator not in {"=", "!="}:
            raise InputError(f"{term.column} is a word, and nothing is {term.operator} it", hint="Use = or !=.")
        return (value == term.value) == (term.operator == "=")
    try:
        wanted = int(term.value)
    except ValueError as error:
        raise InputError(
            f"{term.column} is a number, and {term.value!r} is not", hint="Give a whole number."
        ) from error
    return _COMPARED[term.operator](value, wanted)
