"""Measure lanes on this machine, case by case, into a run that can be stopped and gone on with."""

import hashlib
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from dayzero import __version__
from dayzero.adapters.collecting.clocks import Clocks
from dayzero.adapters.collecting.run_folder import CASES, KERNELS, WORKERS, RunFolder
from dayzero.adapters.collecting.worker import Died, Workers
from dayzero.adapters.processes import free_port
from dayzero.core.errors import InputError
from dayzero.perfdb.collection import (
    Case,
    CollectedLane,
    Place,
    PlannedLane,
    cases_of,
    chosen_lanes,
    parse_plan,
    plan_digest,
    shard_of,
)
from dayzero.perfdb.run import SCHEMA, kernel_digest, kernels_say
from dayzero.perfdb.tables import systems
from dayzero.wiring import clock

_FRAMEWORKS = {"vllm": "VLLM"}  # as the tree spells it
_DESCRIBE_S = 120.0
_TELL = 50  # cases between two words on how far it is
_BUILD = re.compile(r"(?P<name>[^=@]+)==(?P<version>[^@]+)@sha256:[0-9a-f]{64}")
_TOGETHER = {"fixed": True, "repeats": 10, "most": 40}  # what ranks that wait for each other have to agree on


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What shall be measured.

    Attributes:
        lanes: Titles, or first words of titles.
        where: Conditions on columns that the cases meet.
        plan: File of a plan, whose lanes come before those that are named.
        system: Name of the system that this is.
        python: Interpreter with the engine.
        build: What is measured, as ``NAME==VERSION@sha256:DIGEST``; ``""`` where only what is installed says so.
        shard: Number and count, from 1.
        ranks: Ranks of a collective; 0 for as many as its lane says.
        method: For :class:`dayzero.collector.timing.Method`.
        trace: Whether the kernels of each case are looked at.
        case_s: How long a case may take.
        seconds: After this no case is begun; 0 for no end.
    """

    lanes: tuple[str, ...]
    system: str
    python: str
    where: tuple[str, ...] = ()
    plan: Path | None = None
    build: str = ""
    shard: tuple[int, int] = (1, 1)
    ranks: int = 0
    method: Mapping[str, Any] = field(default_factory=dict)
    trace: bool = True
    case_s: float = 180.0
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LaneDone:
    """What became of a lane's cases: how many by state, how many cannot run here and why, how many are still to do."""

    lane: CollectedLane
    states: Mapping[str, int]
    left_out: Mapping[str, int]
    to_do: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """A run, as far as it got."""

    run: str
    folder: Path
    lanes: tuple[LaneDone, ...]


def collect(asked: Asked, folder: Path, tell: Callable[[str], None] = lambda _: None) -> Collected:
    """Measure what is not measured yet.

    Raises:
        InputError: There is no such lane, the GPU is not the system's, or the folder holds another run.
        IntegrityError: A line of the run is not what was written.
        RemoteError: The disk refused.
    """
    wanted = _wanted(asked)
    until = time.monotonic() + asked.seconds if asked.seconds else float("inf")
    run = RunFolder(folder)
    session = _Session(asked, run, tell)
    try:
        plan = _plan(wanted, asked, session.machine())
        _begin(run, asked, plan)
        done = {str(line["case"]) for line in run.lines(CASES)}
        for lane, _ in wanted:
            left = [case for case in plan[lane.title] if not case.left_out and case.id not in done]
            session.measure_all(lane, left, until)
    finally:
        session.end()
    return summarize(run)


def _wanted(asked: Asked) -> tuple[tuple[CollectedLane, tuple[str, ...]], ...]:
    """Give each lane that is asked for, once, with the conditions on its cases."""
    planned = _planned(asked.plan) if asked.plan is not None else ()
    found: dict[str, tuple[CollectedLane, tuple[str, ...]]] = {}
    for title, where in (*((one.title, one.where) for one in planned), *((name, ()) for name in asked.lanes)):
        for lane in chosen_lanes((title,)):
            found.setdefault(lane.title, (_with_ranks(lane, asked.ranks), (*asked.where, *where)))
    return tuple(found.values())


def _planned(file: Path) -> tuple[PlannedLane, ...]:
    try:
        return parse_plan(file.read_text(encoding="utf-8"), str(file))
    except OSError as error:
        raise InputError(f"{file} cannot be read: {error.strerror}", hint="Name the plan with --plan FILE.") from error


def summarize(run: RunFolder) -> Collected:
    """Say how far a run got."""
    asked = run.asked()
    lanes = {lane.title: lane for lane in chosen_lanes(tuple(asked["lanes"]))}
    states: dict[str, Counter[str]] = {title: Counter() for title in asked["lanes"]}
    seen: set[str] = set()
    for line in run.lines(CASES):
        states[line["lane"]][line["state"]] += 1
        seen.add(line["case"])
    plan = run.plan()
    return Collected(
        run=asked["run"],
        folder=run.root,
        lanes=tuple(
            LaneDone(
                lane=lanes[title],
                states=dict(states[title]),
                left_out=dict(Counter(c["left_out"] for c in plan if c["lane"] == title and c["left_out"])),
                to_do=sum(c["lane"] == title and not c["left_out"] and c["case"] not in seen for c in plan),
            )
            for title in asked["lanes"]
        ),
    )


def _with_ranks(lane: CollectedLane, ranks: int) -> CollectedLane:
    if lane.gpus == 1 or not ranks:
        return lane
    return msgspec.structs.replace(lane, gpus=ranks, fixed={**lane.fixed, "num_gpus": ranks})


def _plan(
    wanted: Sequence[tuple[CollectedLane, tuple[str, ...]]], asked: Asked, machine: Mapping[str, Any]
) -> Mapping[str, tuple[Case, ...]]:
    gpus = machine["gpus"]
    facts = systems().get(asked.system)
    on_gpu = any(lane.device == "cuda" for lane, _ in wanted)
    _need_build(asked.build, machine["versions"])
    if on_gpu and facts is not None and gpus and gpus[0]["name"] not in facts.devices:
        raise InputError(
            f"this GPU is {gpus[0]['name']}, and {asked.system} has {' or '.join(facts.devices)}",
            hint="Name the system that this machine is with --system.",
        )
    place = Place(system=asked.system, memory_bytes=int(gpus[0]["memory_bytes"]) if gpus else 0)
    plan: dict[str, tuple[Case, ...]] = {}
    for lane, where in wanted:
        hand = shard_of(cases_of(lane, place, where), *asked.shard)
        lacking = lane.device == "cuda" and len(gpus) < lane.gpus
        why = f"it needs {lane.gpus} GPUs, and this machine has {len(gpus)}" if lacking else ""
        plan[lane.title] = tuple(replace(case, left_out=case.left_out or why) for case in hand)
    return plan


def _need_build(build: str, versions: Mapping[str, str]) -> None:
    """Refuse a build that is written wrongly, or that is not the one that is installed."""
    if not build:
        return
    found = _BUILD.fullmatch(build)
    if found is None:
        raise InputError(f"not a build: {build!r}", hint="Write NAME==VERSION@sha256:DIGEST of its wheel.")
    installed = versions.get(found["name"], "")
    if installed != found["version"]:
        raise InputError(
            f"{found['name']} {installed or 'none'} is installed, not {found['version']}",
            hint="Name the build that --python has.",
        )


def _begin(run: RunFolder, asked: Asked, plan: Mapping[str, tuple[Case, ...]]) -> None:
    cases = [case for hand in plan.values() for case in hand]
    told = {
        "schema": SCHEMA,
        "system": asked.system,
        "lanes": list(plan),
        "plan_sha256": plan_digest(cases),
        "shard": f"{asked.shard[0]}/{asked.shard[1]}",
        "build": asked.build,
        "settings": {"method": dict(asked.method), "trace": asked.trace},
        "collector": _collector(),
    }
    if run.exists:
        run.mend()
        before = {name: run.asked().get(name) for name in told}
        other = next((name for name, value in told.items() if before[name] != value), None)
        if other is not None:
            raise InputError(f"{run.root} holds a run with another {other}", hint="Name a new folder with -o.")
        return
    started = clock.now()
    name = hashlib.sha256(f"{told} {started} {os.urandom(16).hex()}".encode()).hexdigest()[:16]
    listed = [{"case": c.id, "lane": c.lane, "columns": dict(c.columns), "left_out": c.left_out} for c in cases]
    run.begin({"run": f"r-{name}", "started_at": started, **told}, listed)


def _collector() -> Mapping[str, str]:
    folder = Path(str(files("dayzero.collector")))
    whole = b"".join(path.name.encode() + b"\n" + path.read_bytes() for path in sorted(folder.glob("*.py")))
    lanes = files("dayzero.perfdb").joinpath("collected.toml").read_bytes()
    return {
        "version": __version__,
        "worker_sha256": hashlib.sha256(whole).hexdigest(),
        "lanes_sha256": hashlib.sha256(lanes).hexdigest(),
    }


class _Session:
    """The processes that measure, one after another as they die, and the clocks beside them."""

    def __init__(self, asked: Asked, run: RunFolder, tell: Callable[[str], None]) -> None:
        self._asked, self._run, self._tell = asked, run, tell
        self._workers: Workers | None = None
        self._ranks, self._number = 0, 0
        self._machine: Mapping[str, Any] = {}
        self._noted = False
        self._clocks: Clocks | None = None
        self._digests: set[str] | None = None

    def machine(self) -> Mapping[str, Any]:
        """Start a process, and ask what it is."""
        self._start(1)
        return self._machine

    def measure_all(self, lane: CollectedLane, cases: Sequence[Case], until: float) -> None:
        """Measure cases until the time has come."""
        for number, case in enumerate(cases, start=1):
            if time.monotonic() > until:
                return
            state = self.measure(lane, case)
            if number in {1, len(cases)} or not number % _TELL:
                self._tell(f"{lane.title}: {number} of {len(cases)}, the last one {state}")

    def measure(self, lane: CollectedLane, case: Case) -> str:
        """Measure one case, and add its line; gives its state."""
        if self._workers is None or self._ranks != lane.gpus:
            self._start(lane.gpus)
        self._note()
        workers, began = self._running(), time.monotonic()
        at, printed = clock.now(), workers.printed
        reply = workers.ask(self._request(lane, case), self._asked.case_s)
        line = {"case": case.id, "lane": lane.title, "worker": self._number, "began_at": at}
        line |= {"took_s": round(time.monotonic() - began, 3), **self._named(lane, case)}
        if isinstance(reply, Died):
            error = {"class": reply.error, "message": reply.message, "raw": list(reply.raw)}
            line |= {"state": "failed", "error": error}
            self._stop()
        else:
            line |= self._answered(lane, reply, printed)
        self._run.add(CASES, line)
        return str(line["state"])

    def end(self) -> None:
        """End the process and stop looking at the clocks."""
        self._stop()
        if self._clocks is not None:
            self._clocks.__exit__()

    def _start(self, ranks: int) -> None:
        self._stop()
        port = free_port("127.0.0.1") if ranks > 1 else 0
        self._workers = Workers(self._asked.python, self._run.root / "worker.log", ranks=ranks, port=port)
        self._ranks, self._noted = ranks, False
        reply = self._workers.ask({"do": "describe"}, _DESCRIBE_S)
        if isinstance(reply, Died):
            raise InputError(
                f"{self._asked.python} does not measure: {reply.message}",
                hint=(reply.raw[-1] if reply.raw else "It said nothing.")
                + " Name the engine's interpreter with --python.",
            )
        self._machine = reply["machine"]
        if self._clocks is None and self._machine["gpus"]:
            self._clocks = Clocks(self._machine["gpus"][0]["uuid"]).__enter__()

    def _note(self) -> None:
        """Add the line of the process that measures now, once."""
        if self._noted:
            return
        card = self._clocks.card if self._clocks is not None else None
        gpus = [{**gpu, "uuid": _hidden(gpu["uuid"])} for gpu in self._machine["gpus"]]
        told = {**self._machine, "gpus": gpus, "ranks": self._ranks, "host": _hidden(os.uname().nodename)}
        told["kernel"] = os.uname().release
        if card is not None:
            facts = {
                name: getattr(card, name) for name in ("driver", "vbios", "ecc", "mig", "power_limit_w", "sm_max_mhz")
            }
            told |= facts
        self._number = self._run.add(WORKERS, told)
        self._noted = True

    def _stop(self) -> None:
        if self._workers is not None:
            self._workers.end()
            self._workers = None

    def _running(self) -> Workers:
        if self._workers is None:
            raise AssertionError
        return self._workers

    def _request(self, lane: CollectedLane, case: Case) -> Mapping[str, Any]:
        options: dict[str, Any] = {**lane.options, "device": lane.device}
        if lane.op_column:
            options[lane.op_column] = case.op_name
        return {
            "do": "case",
            "kind": lane.kind,
            "columns": case.columns,
            "options": options,
            "method": {**self._asked.method, **(_TOGETHER if lane.gpus > 1 else {})},
            "trace": self._asked.trace,
        }

    def _named(self, lane: CollectedLane, case: Case) -> Mapping[str, Any]:
        engine = lane.engine or lane.package
        versions, gpus = self._machine["versions"], self._machine["gpus"]
        return {
            "table": lane.table,
            "engine": engine,
            "version": versions.get(engine) or versions.get(lane.package, ""),
            "framework": _FRAMEWORKS.get(engine, engine),
            "device": gpus[0]["name"] if lane.device == "cuda" and gpus else self._machine["processor"],
            "op_name": case.op_name,
            "kernel_label": lane.kernel_label or case.op_name,
            "columns": case.columns,
        }

    def _answered(self, lane: CollectedLane, reply: Mapping[str, Any], printed: int) -> Mapping[str, Any]:
        told = {
            name: value for name, value in reply.items() if name not in {"do", "trace", "lost", "began_ns", "ended_ns"}
        }
        if "error" in told:
            told["error"] = {**told["error"], "raw": list(self._running().raw(printed))}
        trace = reply.get("trace", {})
        told["kernels"] = kernels_say(lane.kernels, trace.get("kernels"))
        if trace.get("kernels"):
            told |= {"kernel_digest": self._kept(trace), "busy_us": trace["busy_us"]}
        if trace.get("error"):
            told["trace_error"] = trace["error"]
        if self._clocks is not None and "began_ns" in reply:
            told["clocks"] = self._clocks.seen(reply["began_ns"], reply["ended_ns"])
        if reply.get("lost"):
            self._stop()
        return told

    def _kept(self, trace: Mapping[str, Any]) -> str:
        """Keep a list of kernels once, and give its digest."""
        if self._digests is None:
            self._digests = {str(line["digest"]) for line in self._run.lines(KERNELS)}
        digest = kernel_digest(trace["kernels"])
        if digest not in self._digests:
            self._run.add(KERNELS, {"digest": digest, "kernels": trace["kernels"], "tool": trace["tool"]})
            self._digests.add(digest)
        return digest


def _hidden(name: str) -> str:
    """Name a machine or a GPU so that it is known again and not disclosed."""
    return hashlib.sha256(name.encode()).hexdigest()[:16] if name else ""
