"""Turn the lines of a run into rows of the tree's tables: in the tree's own columns, with what a run knows beside them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dayzero.core.errors import InputError
from dayzero.perfdb.collection import CollectedLane
from dayzero.perfdb.model import TreePlace
from dayzero.perfdb.run import Line, standing
from dayzero.perfdb.tables import TOLD

_MEASURED = ("latency_us_p50", "latency_us_min", "latency_us_p90", "latency_us_std", "busy_us", "sm_clock_mhz", "power")
_FAMILIES = {"context_attention_perf": "attention", "generation_attention_perf": "attention", "nccl_perf": "comm"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPart:
    """One run, read: what was asked, its lines, the processes that measured, and where its lines lie."""

    asked: Mapping[str, Any]
    lines: Sequence[Line]
    workers: Sequence[Line]
    raw_file: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTable:
    """The rows of one table in one folder of a tree.

    Attributes:
        place: The folder.
        table: The table.
        kinds: Type of each column, in order.
        rows: The rows.
        failures: Cases that failed.
        build: What names the build, as ``wheel sha256:...`` or ``record sha256:...``; ``""`` for a version only.
        framework: What ran, as the tree spells it.
        run: Id of the run.
        collector: Digest of what collected.
        collected_at: The day.
    """

    place: TreePlace
    table: str
    kinds: Mapping[str, str]
    rows: tuple[Mapping[str, Any], ...]
    failures: tuple[Mapping[str, Any], ...]
    build: str
    framework: str
    run: str
    collector: str
    collected_at: str


def tables_of(part: RunPart, lanes: Iterable[CollectedLane]) -> tuple[RunTable, ...]:
    """Sort a run's lines into tables; lines of control lanes are left out, and a case that was repeated counts each time.

    Raises:
        InputError: Rows of one version are of several builds.
    """
    controls = {lane.title for lane in lanes if lane.control}
    grouped: dict[tuple[str, str, str, str], list[tuple[int, Line]]] = {}
    for number, line in enumerate(part.lines, start=1):
        if line["lane"] not in controls and line["state"] != "unsupported" and line["version"]:
            key = str(line["table"]), str(line["engine"]), str(line["version"]), _build(part, line)
            grouped.setdefault(key, []).append((number, line))
    joined: dict[tuple[str, str, str], list[tuple[int, Line]]] = {}
    for key, numbered in grouped.items():
        joined.setdefault(key[:3], []).extend(numbered)
    built = {key: one_build(key[1], key[2], (other[3] for other in grouped if other[:3] == key)) for key in joined}
    return tuple(_table(part, key, built[key], numbered) for key, numbered in joined.items())


def one_build(engine: str, version: str, named: Iterable[str]) -> str:
    """Give what names the build of rows that lie together; ``""`` where nothing does.

    Args:
        engine: Their engine.
        version: Its version.
        named: What names the build of each, or ``""``.

    Raises:
        InputError: They are of several builds.
    """
    builds = sorted({*named} - {""})
    if builds[1:]:
        raise InputError(
            f"two builds call themselves {engine} {version}: {builds[0]} and {builds[1]}",
            hint="Measure each build into a run of its own.",
        )
    return builds[0] if builds else ""


def _build(part: RunPart, line: Line) -> str:
    name, _, digest = str(part.asked["build"]).partition("@")
    if digest and name == f"{line['engine']}=={line['version']}":
        return f"wheel {digest}"
    record = line.get("files", {}).get("record_sha256", "")
    return f"record sha256:{record}" if record else ""


def _table(part: RunPart, key: tuple[str, str, str], build: str, numbered: Sequence[tuple[int, Line]]) -> RunTable:
    table, engine, version = key
    numbered = sorted(numbered, key=lambda one: one[0])
    measured = [(number, line) for number, line in numbered if line["state"] == "measured"]
    shape = {
        name: "VARCHAR" if isinstance(value, str) else "BIGINT" for name, value in numbered[0][1]["columns"].items()
    }
    return RunTable(
        place=TreePlace(
            system=str(part.asked["system"]),
            family=_FAMILIES.get(table, table.removesuffix("_perf")),
            engine=engine,
            version=version,
        ),
        table=table,
        kinds={
            **dict.fromkeys(("framework", "version", "device", "op_name", "kernel_source"), "VARCHAR"),
            **shape,
            "latency": "DOUBLE",
            **dict.fromkeys(_MEASURED, "DOUBLE"),
            **TOLD,
        },
        rows=tuple(_row(part, number, line, build) for number, line in measured),
        failures=tuple(_failure(line) for _, line in numbered if line["state"] == "failed"),
        build=build,
        framework=str(numbered[0][1]["framework"]),
        run=str(part.asked["run"]),
        collector=f"sha256:{part.asked['collector']['worker_sha256']}",
        collected_at=str(numbered[0][1]["began_at"])[:10],
    )


def _row(part: RunPart, number: int, line: Line, build: str) -> Mapping[str, Any]:
    took, clocks = line["latency_us"], line.get("clocks", {})
    grade = standing(line, part.workers[int(line["worker"]) - 1], build=build)
    return {
        "framework": line["framework"],
        "version": line["version"],
        "device": line["device"],
        "op_name": line["op_name"],
        "kernel_source": line["kernel_label"],
        **line["columns"],
        "latency": took["mean"] / 1000,
        **{f"latency_us_{name}": took[name] for name in ("p50", "min", "p90", "std")},
        "busy_us": line.get("busy_us"),
        "sm_clock_mhz": clocks.get("sm_mhz_mean"),
        "power": clocks.get("power_w_mean"),
        "run": part.asked["run"],
        "raw_file": part.raw_file,
        "raw_line": number,
        "own_grade": grade.grade,
        "grade_because": "; ".join(grade.because),
        "checked": line["check"]["state"],
        "kernel_digest": line.get("kernel_digest", ""),
        **{
            name: line[name]
            for name in ("timing_method", "l2_state", "used_cuda_graph", "n_warmup", "n_samples", "inner_repeats")
        },
    }


def _failure(line: Line) -> Mapping[str, Any]:
    return {
        "op": str(line["table"]).removesuffix("_perf"),
        "error_type": line["error"]["class"],
        "case": {**line["columns"], "op_name": line["op_name"], "kernel_label": line["kernel_label"]},
    }
