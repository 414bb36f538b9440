"""Make one trial on this machine: start, health, load, stop, and what came of it."""

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from dayzero.adapters.measuring.client import INTERRUPTED
from dayzero.adapters.package_files import load_package
from dayzero.adapters.package_files.rewrite import with_flags
from dayzero.adapters.processes import free_port, process_mark
from dayzero.bench.model import Aborted, EnoughSeenError, Progress, Row
from dayzero.bench.windows.model import parse_measure
from dayzero.bringup.laboratory import diagnosed
from dayzero.core.errors import EvidenceError, RemoteError
from dayzero.core.workload import Cell, Workload
from dayzero.evidence.locator import WholeFile
from dayzero.optimize.facts import Started
from dayzero.optimize.model import Outcome, Refusal, WallMet
from dayzero.optimize.ports import Journal
from dayzero.optimize.stop import Watch, boundaries, speeds
from dayzero.serve.model import Died, Healthy, TimedOut
from dayzero.triage.model import CauseNotInLog, Diagnosis, NamedWall, RootFound
from dayzero.wiring.endpoint import EndpointMeasurement
from dayzero.wiring.laboratory import HOST, LocalSession, LocalWorkbench, new_folder
from dayzero.wiring.look import ROWS
from dayzero.wiring.optimize_files import StudyFolder, put_definition
from dayzero.wiring.optimize_judge import Judge
from dayzero.wiring.plugins import extractor
from dayzero.wiring.run_files import write_receipt
from dayzero.wiring.window_arms import Waiting

LOG: Final = "engine.log"

_ALWAYS: Final = ("output_tok_s", "ttft_ms.p50", "tpot_ms.p50", "e2e_ms.p50")
_DECIMALS: Final = "6"
_NS: Final = 1e9
_NAME_IN_A_LINE: Final = re.compile(r"--[A-Za-z][\w.-]*|[A-Za-z]\w*(?:[._-]\w+)+")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialLoad:
    """What every trial sends.

    Attributes:
        cell: The cell.
        seed: Of its prompts, the same in every trial.
        figures: Measures that are wanted of it, besides the usual ones.
    """

    cell: Cell
    seed: int
    figures: tuple[str, ...]


class TrialBench:
    """Trials on this machine. Implements ``optimize.ports.Bench``.

    Args:
        folder: The study.
        load: What every trial sends.
        judge: Looks at a command line before its start.
        journal: Learns of each engine that was started.
        worker: Name of this process.
        waiting: Is told of the start and of the load.
    """

    def __init__(  # noqa: PLR0913, PLR0917  (each is one thing that a trial needs)
        self, folder: StudyFolder, load: TrialLoad, judge: Judge, journal: Journal, worker: str, waiting: Waiting
    ) -> None:
        self._folder = folder
        self._load = load
        self._judge = judge
        self._journal = journal
        self._worker = worker
        self._waiting = waiting

    def look(self, flags: tuple[str, ...]) -> Refusal | None:
        """Say why a command line is not started."""
        return self._judge.look(flags)

    def measure(self, number: int, flags: tuple[str, ...], watch: Watch) -> Outcome:
        """Make a trial in a folder of its own."""
        place = new_folder(self._folder.trial(number))
        text = with_flags(self._folder.stock.read_text(encoding="utf-8"), flags)
        recipe = load_package(put_definition(text, self._folder.stock, place)).recipe
        began = time.monotonic()
        with LocalWorkbench(place, port=free_port(HOST)).start(recipe, recipe.engine, LOG) as session:
            self._note(number, session)
            start = session.wait(self._waiting.on_wait)
            if isinstance(start, Healthy):
                session.keep_start(recipe, start)
                outcome = replace(self._loaded(session, place, watch), start_seconds=start.seconds)
            else:
                outcome = _fell(start, session)
        return replace(outcome, seconds=time.monotonic() - began)

    def _note(self, number: int, session: LocalSession) -> None:
        ticks, boot = process_mark(session.pid)
        self._journal.write(
            Started(at_s=time.time(), worker=self._worker, number=number, pid=session.pid, ticks=ticks, boot=boot)
        )

    def _loaded(self, session: LocalSession, place: Path, watch: Watch) -> Outcome:
        load = self._load
        try:
            measured, _ = session.measure_endpoint(
                Workload(seed=load.seed, cells=(load.cell,)), _watched(watch, self._waiting.on_progress)
            )
        except RemoteError as error:
            if session.ended() is None:
                return Outcome(kind="failed", reason=error.message, figures={}, missing={})
            return _died_under_load(session)
        ending = measured.outcome.ending
        if isinstance(ending, Aborted) and ending.reason == INTERRUPTED:
            raise KeyboardInterrupt
        if session.ended() is not None:
            return _died_under_load(session)
        return self._figures(measured, place)

    def _figures(self, measured: EndpointMeasurement, place: Path) -> Outcome:
        cell, ending, report = self._load.cell, measured.outcome.ending, measured.report
        blocks = _blocks(measured.outcome.rows, cell)
        if isinstance(ending, Aborted):
            kind: Final = "stopped" if ending.reason.startswith(_HOPELESS) else "failed"
            return Outcome(kind=kind, reason=ending.reason, figures={}, missing={}, blocks=blocks)
        if not report.valid:
            return Outcome(
                kind="invalid", reason="; ".join(report.invalid_because), figures={}, missing={}, blocks=blocks
            )
        wanted = dict.fromkeys((*_ALWAYS, *self._load.figures))
        raw = (place / ROWS).read_bytes()
        found = {name: extracted(raw, cell.name, name) for name in wanted}
        return Outcome(
            kind="measured",
            figures={name: value for name, value in found.items() if isinstance(value, float)},
            missing={name: value for name, value in found.items() if isinstance(value, str)},
            blocks=blocks,
            receipt=write_receipt(measured, place) is not None,
        )


_HOPELESS: Final = "hopeless: "


def extracted(raw: bytes, cell: str, name: str) -> float | str:
    """Take a figure out of a file of rows with the extractor that claims use; or say why it carries none."""
    measure = parse_measure(name)
    asked = (
        ("cell", cell),
        ("metric", measure.metric),
        ("statistic", measure.statistic or "total"),
        ("decimals", _DECIMALS),
    )
    try:
        return float(extractor("bench-rows").extract(raw, WholeFile(), asked))
    except EvidenceError as error:
        return error.message


def _watched(watch: Watch, tell: Callable[[Progress], None]) -> Callable[[Progress], None]:
    def told(progress: Progress) -> None:
        tell(progress)
        found = watch.see(progress.done, time.monotonic())
        if found is not None:
            raise EnoughSeenError(f"{_HOPELESS}{watch.sentence(found)}")

    return told


def _blocks(rows: Sequence[Row], cell: Cell) -> tuple[float, ...]:
    ends = sorted(row.end_ns / _NS for row in rows if row.ok)
    return speeds(ends, cell.warmup_requests, boundaries(cell.requests))


def _fell(start: Died | TimedOut, session: LocalSession) -> Outcome:
    kind: Final = "died-at-start" if isinstance(start, Died) else "never-healthy"
    match start:
        case Died(seconds=seconds, exit_code=code):
            seen = f"died after {seconds:.1f} s with exit code {code}"
        case TimedOut(seconds=seconds):
            seen = f"was not healthy within {seconds:.0f} s, its start budget"
    return _walled(Outcome(kind=kind, reason=seen, figures={}, missing={}), session)


def _died_under_load(session: LocalSession) -> Outcome:
    code, _ = session.ended() or (0, None)
    died = Outcome(kind="died-under-load", reason=f"died under load with exit code {code}", figures={}, missing={})
    return _walled(died, session)


def _walled(outcome: Outcome, session: LocalSession) -> Outcome:
    """Add what triage makes of the log."""
    diagnosis = session.diagnose()
    said = dict(diagnosed(diagnosis, session.log_path))
    cause = said.get("root cause") or said.get("not in log", "")
    return replace(outcome, reason=f"{outcome.reason}; {cause}", wall=wall_of(diagnosis, session.log_path))


def wall_of(diagnosis: Diagnosis, log: str) -> WallMet:
    """Keep of a diagnosis what a constraint needs: the wall, and the words that may name a setting."""
    match diagnosis:
        case RootFound(root=root, wall=wall, numbers=numbers):
            names = (*(one.value for one in numbers), *_NAME_IN_A_LINE.findall(root.text))
            place = f"{log}:{root.line}"
            if isinstance(wall, NamedWall):
                return WallMet(wall=wall.wall, rule=wall.rule, names=names, log=place)
            return WallMet(names=names, log=place)
        case CauseNotInLog(wall=NamedWall() as wall):
            return WallMet(wall=wall.wall, rule=wall.rule, log=log)
        case _:
            return WallMet(log=log)
