"""Measure cases in processes of the engine's Python, one after another as they die, and write down what was said and seen."""

import hashlib
import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dayzero.adapters.collecting.clocks import Clocks
from dayzero.adapters.collecting.run_folder import CASES, KERNELS, WORKERS, RunFolder
from dayzero.adapters.collecting.worker import Died, Workers
from dayzero.adapters.processes import free_port
from dayzero.core.errors import InputError
from dayzero.perfdb.collection import Case, CollectedLane
from dayzero.perfdb.run import kernel_digest, kernels_say
from dayzero.wiring import clock

_FRAMEWORKS = {"vllm": "VLLM"}  # as the tree spells it
_DESCRIBE_S = 120.0
_TELL = 50  # cases between two words on how far it is
# Long samples, for ranks line up within microseconds only.
_TOGETHER = {"warmup": 40, "sample_us": 2000.0, "repeats": 100}


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


class Session:
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
        self._end_clocks()

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
        self._look_at(tuple(gpu["uuid"] for gpu in self._machine["gpus"][:ranks]))

    def _look_at(self, uuids: tuple[str, ...]) -> None:
        """Watch the GPUs that are measured on, and those alone."""
        if self._clocks is not None and self._clocks.uuids == uuids:
            return
        self._end_clocks()
        if uuids:
            self._clocks = Clocks(uuids).__enter__()

    def _end_clocks(self) -> None:
        if self._clocks is not None:
            self._clocks.__exit__()
            self._clocks = None

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
            told |= {"kernel_digest": self._kept(trace)}
            told |= {"busy_us": trace["busy_us"]} if lane.gpus == 1 else {}  # a rank's kernel also waits for the others
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
