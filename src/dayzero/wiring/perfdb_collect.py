"""Measure lanes on this machine, case by case, into a run that can be stopped and gone on with."""

import hashlib
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec

from dayzero import __version__
from dayzero.adapters.collecting.run_folder import CASES, RunFolder
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
from dayzero.perfdb.run import SCHEMA
from dayzero.perfdb.tables import systems
from dayzero.wiring import clock
from dayzero.wiring.perfdb_session import Asked, Session

_BUILD = re.compile(r"(?P<name>[^=@]+)==(?P<version>[^@]+)@sha256:[0-9a-f]{64}")


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
        InputError: There is no such lane, the GPU is not the system's, or the folder holds another run, or is another
            process's.
        IntegrityError: A line of the run is not what was written.
        RemoteError: The disk refused.
    """
    wanted = _wanted(asked)
    until = time.monotonic() + asked.seconds if asked.seconds else float("inf")
    run = RunFolder(folder)
    with run.held():
        session = Session(asked, run, tell)
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
        needs = f"{lane.gpus} GPUs" if lane.gpus > 1 else "a GPU"
        why = f"it needs {needs}, and this machine has {len(gpus) or 'none'}" if lacking else ""
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
        "plan_sha256": plan_digest(case.id for case in cases),
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
