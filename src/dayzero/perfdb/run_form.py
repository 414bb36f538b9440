"""Hold a run to what a run says, before rows are made of it: right digests do not say that it was written by what they name."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeAlias

import msgspec

from dayzero.core.errors import InputError, IntegrityError
from dayzero.perfdb.collection import plan_digest
from dayzero.perfdb.run import Line

_Word: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._+-]*\Z")]
_Whole: TypeAlias = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
_Column: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_]*\Z")]


class _Collector(msgspec.Struct, frozen=True, kw_only=True):
    worker_sha256: str
    lanes_sha256: str


class _Asked(msgspec.Struct, frozen=True, kw_only=True):
    """What ``run.json`` has to say; names in it become names of folders."""

    schema: Literal["dayzero/perfdb-run/v1"]
    run: Annotated[str, msgspec.Meta(pattern=r"^r-[0-9a-f]{16}\Z")]
    system: _Word
    shard: Annotated[str, msgspec.Meta(pattern=r"^[1-9][0-9]*/[1-9][0-9]*\Z")]
    lanes: tuple[str, ...]
    build: str
    settings: dict[str, Any]
    collector: _Collector
    plan_sha256: str


class _Latency(msgspec.Struct, frozen=True, kw_only=True):
    mean: float
    p50: float
    min: float
    p90: float
    std: float


class _Check(msgspec.Struct, frozen=True, kw_only=True):
    state: str


class _Case(msgspec.Struct, frozen=True, kw_only=True):
    case: str
    lane: str
    worker: Annotated[int, msgspec.Meta(ge=1)]
    began_at: str
    table: Annotated[str, msgspec.Meta(pattern=r"^[a-z][a-z0-9_]*_perf\Z")]
    engine: _Word
    version: Annotated[str, msgspec.Meta(pattern=r"^([A-Za-z0-9][A-Za-z0-9._+-]*)?\Z")]
    framework: str
    device: str
    op_name: str
    kernel_label: str
    columns: dict[_Column, str | _Whole]


class _Measured(_Case, frozen=True, kw_only=True, tag_field="state", tag="measured"):
    latency_us: _Latency
    check: _Check
    timing_method: str
    l2_state: str
    used_cuda_graph: bool
    n_warmup: _Whole
    n_samples: _Whole
    inner_repeats: _Whole


class _Failed(_Case, frozen=True, kw_only=True, tag_field="state", tag="failed"):
    error: dict[str, Any]


class _Unsupported(_Case, frozen=True, kw_only=True, tag_field="state", tag="unsupported"):
    pass


def need_run(name: str, asked: Line, lines: Sequence[Line], workers: int) -> None:
    """Hold a run to its form.

    Args:
        name: What it is called in an error.
        asked: Its ``run.json``.
        lines: Its cases.
        workers: How many processes it knows of.

    Raises:
        InputError: It lacks something, or something in it is of another kind.
        IntegrityError: A case was measured by a process that it does not know of.
    """
    place = "run.json"
    try:
        msgspec.convert(asked, _Asked)
        for number, line in enumerate(lines, start=1):
            place = f"cases.jsonl:{number}"
            case = msgspec.convert(line, _Measured | _Failed | _Unsupported)
            if case.worker > workers:
                raise IntegrityError(
                    f"{name}/{place} names process {case.worker}, and workers.jsonl has {workers}",
                    hint="Take the run from where it was made.",
                )
    except msgspec.ValidationError as error:
        raise InputError(f"{name}/{place}: {error}", hint="Import what 'dayzero perfdb collect' wrote.") from error


def cases_without_line(name: str, asked: Line, plan: Sequence[Line], lines: Sequence[Line]) -> int:
    """Count the cases of a plan that have no line: that were not run yet, or whose lines were taken from the end of the chain.

    Raises:
        IntegrityError: The plan is not the one that was asked.
    """
    if plan_digest(str(case.get("case")) for case in plan) != asked["plan_sha256"]:
        raise IntegrityError(f"{name}/plan.jsonl is not what was asked", hint="Take the run from where it was made.")
    done = {line["case"] for line in lines}
    return sum(not case.get("left_out") and case["case"] not in done for case in plan)


def need_one_run(parts: Sequence[tuple[str, Line]]) -> None:
    """Hold shards to each other: all of one system, build and plan, each hand once.

    Args:
        parts: Name and ``run.json`` of each shard.

    Raises:
        InputError: Two are of different runs, or are the same hand.
    """
    first, asked = parts[0]
    hands: dict[str, str] = {}
    runs: dict[str, str] = {}
    for name, other in parts:
        same = ("system", "lanes", "build", "settings", "collector")
        differs = next((member for member in same if asked[member] != other[member]), None)
        if differs is None and asked["shard"].partition("/")[2] != other["shard"].partition("/")[2]:
            differs = "number of shards"
        if differs is not None:
            raise InputError(
                f"{name} has another {differs} than {first}", hint="Import shards of one run; others one by one."
            )
        twin = hands.setdefault(other["shard"], name), runs.setdefault(other["run"], name)
        if twin != (name, name):
            raise InputError(
                f"{name} holds what {next(one for one in twin if one != name)} holds", hint="Take one of them away."
            )
