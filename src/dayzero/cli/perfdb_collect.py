"""``dayzero perfdb collect``: measure lanes on this machine, and keep what was seen."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import cyclopts
from cyclopts.validators import Number

from dayzero.adapters.slurm_jobs import parse_options
from dayzero.cli.console import stderr_console
from dayzero.cli.main import FINDINGS, PROVEN, UNDECIDED
from dayzero.cli.output import OutputFormat, print_json
from dayzero.cli.perfdb_options import SCHEMA, Where
from dayzero.cli.perfdb_tactics import show_tactics
from dayzero.core.errors import InputError
from dayzero.perfdb.collection import collected_lanes
from dayzero.wiring.perfdb_collect import Collected, LaneDone, collect
from dayzero.wiring.perfdb_session import Asked
from dayzero.wiring.perfdb_slurm import Cluster, collect_on_slurm
from dayzero.wiring.perfdb_tactics import try_tactics


@cyclopts.Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Cases:
    """Which cases are measured.

    Attributes:
        where: Condition on a column, as in num_v_heads=96; can be repeated.
        plan: File with [[lane]] tables of title and where, in the order in which they are measured.
        shard: Which part of the cases, as in 2/8.
        ranks: Ranks of a collective; as many as its lane says when left out.
    """

    where: Where = ()
    plan: Path | None = None
    shard: str = "1/1"
    ranks: Annotated[int, cyclopts.Parameter(validator=Number(gte=0))] = 0


@cyclopts.Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Measuring:
    """How each case is measured.

    Attributes:
        l2: Whether the L2 cache holds what the call before left in it, or is written over.
        samples: Samples of a case, at most.
        trace: Whether to see which kernels each case launches.
        case_seconds: How long a case may take.
        seconds: After this no case is begun; 0 for no end.
    """

    l2: Literal["warm", "flushed"] = "warm"
    samples: Annotated[int, cyclopts.Parameter(validator=Number(gte=1))] = 200
    trace: bool = True
    case_seconds: Annotated[float, cyclopts.Parameter(validator=Number(gt=0))] = 180.0
    seconds: Annotated[float, cyclopts.Parameter(validator=Number(gte=0))] = 0.0


@cyclopts.Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Tuner:
    """An operator's candidates, which are tried in place of lanes.

    Attributes:
        tactics: Operator whose tuner's candidates are tried, each in a process of its own.
        jobs: How many candidates are tried at once.
    """

    tactics: str = ""
    jobs: Annotated[int, cyclopts.Parameter(validator=Number(gte=1))] = 1


@cyclopts.Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Machines:
    """Where cases are measured, where that is not this machine.

    Attributes:
        slurm: Measure in jobs of Slurm, with these options of sbatch: partition=gpu,gres=gpu:1.
        workers: Jobs, each with its share of the cases.
    """

    slurm: str = ""
    workers: Annotated[int, cyclopts.Parameter(validator=Number(gte=1))] = 2


def collect_rows(  # noqa: PLR0913  (each is one option, or what belongs together)
    *lanes: str,
    system: str = "",
    output: Annotated[Path | None, cyclopts.Parameter(name=("--output", "-o"))] = None,
    python: str = sys.executable,
    build: str = "",
    cases: Cases = Cases(),
    measuring: Measuring = Measuring(),
    tuner: Tuner = Tuner(),
    machines: Machines = Machines(),
    output_format: OutputFormat = "text",
) -> int:
    """Measure lanes on this machine; called again, it goes on where it was. Without a lane it lists them.

    Each case runs in a process of the engine's Python, which may die: that case is then a failed row. Exit 1: a case failed.
    Exit 3: cases are still to do, or none could run here.

    Args:
        lanes: Lanes by title, or by the first words of several.
        system: Name of the system that this machine is, as in h200_sxm.
        output: The run, a folder.
        python: Interpreter that has the engine; this one without it.
        build: What is measured, as NAME==VERSION@sha256:DIGEST of its wheel.
        cases: Which cases are measured.
        measuring: How each case is measured.
        tuner: An operator's candidates, which are tried in place of lanes.
        machines: Where cases are measured.
        output_format: How the result is written to stdout.
    """
    if not tuner.tactics and not lanes and cases.plan is None:
        _list_lanes()
        return PROVEN
    if output is None or not (system or tuner.tactics):
        needs = "a folder" if tuner.tactics else "a folder and a system"
        raise InputError(f"a run needs {needs}", hint="Give -o RUN" + ("." if tuner.tactics else " and --system NAME."))
    if tuner.tactics:
        case_s, tell = measuring.case_seconds, stderr_console().print
        return show_tactics(
            try_tactics(tuner.tactics, output, python, case_s=case_s, jobs=tuner.jobs, tell=tell), output_format
        )
    asked = Asked(
        lanes=lanes,
        where=cases.where,
        plan=cases.plan,
        system=system,
        python=python,
        build=build,
        shard=_shard(cases.shard),
        ranks=cases.ranks,
        method={"most": measuring.samples, "flush": measuring.l2 == "flushed"},
        trace=measuring.trace,
        case_s=measuring.case_seconds,
        seconds=measuring.seconds,
    )
    return _measured(asked, output, machines, output_format)


def _measured(asked: Asked, output: Path, machines: Machines, output_format: OutputFormat) -> int:
    console = stderr_console()
    if machines.slurm:
        cluster = Cluster(shards=machines.workers, options=parse_options(machines.slurm))
        done = collect_on_slurm(asked, output, cluster, console.print)
    else:
        done = collect(asked, output, console.print)
    if output_format == "json":
        print_json(_document(done))
    else:
        _print(done)
    return _code(done)


def _shard(text: str) -> tuple[int, int]:
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise InputError(f"not a shard: {text!r}", hint="Write it as in 2/8, counted from 1.")
    return int(number), int(count)


def _list_lanes() -> None:
    for lane in collected_lanes():
        needs = f"{lane.gpus} GPUs" if lane.device == "cuda" and lane.gpus > 1 else ""
        told = ("control" if lane.control else "", needs, "not written" if not lane.kind else "", lane.device)
        print(f"{lane.title:<52} {lane.table:<26} {', '.join(filter(None, told))}")


def _code(done: Collected) -> int:
    counted = [lane for lane in done.lanes if not lane.lane.control]
    if any(lane.states.get("failed") for lane in counted):
        return FINDINGS
    measured = sum(lane.states.get("measured", 0) for lane in done.lanes)
    return UNDECIDED if not measured or any(lane.to_do for lane in done.lanes) else PROVEN


def _print(done: Collected) -> None:
    print(f"run {done.run} in {done.folder}")
    for one in done.lanes:
        told = [f"{count} {state}" for state, count in sorted(one.states.items())]
        told += [f"{one.to_do} to do"] if one.to_do else []
        told += [f"{count} left out: {why}" for why, count in one.left_out.items()]
        print(f"  {one.lane.title:<52} {', '.join(told)}")
        if one.lane.control:
            print(f"    control: {one.lane.control}")
        if not one.states and one.lane.recipe:
            print(f"    to measure it: {one.lane.recipe.strip()}")


def _document(done: Collected) -> dict[str, object]:
    return {"schema": SCHEMA, "kind": "collect", "run": done.run, "lanes": [_lane(one) for one in done.lanes]}


def _lane(one: LaneDone) -> dict[str, object]:
    return {
        "lane": one.lane.title,
        "control": bool(one.lane.control),
        "states": dict(one.states),
        "left_out": dict(one.left_out),
        "to_do": one.to_do,
        "recipe": one.lane.recipe.strip(),
    }
