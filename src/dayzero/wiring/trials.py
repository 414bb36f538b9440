"""Repeat a package's start on this machine, and file each one."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from dayzero.adapters.evidence_folder import EvidenceFolder
from dayzero.bringup.model import Captured
from dayzero.bringup.repeat import (
    Attempt,
    attempt_records,
    failure_rate,
    need_count,
    repeat_starts,
    starts_records,
    starts_summary,
)
from dayzero.core.package import Package
from dayzero.evidence.exact import Rate
from dayzero.evidence.ledger import file_records
from dayzero.wiring import clock
from dayzero.wiring.laboratory import LocalWorkbench, new_folder
from dayzero.wiring.plugins import extractors


@dataclass(frozen=True, slots=True, kw_only=True)
class StartTrials:
    """Starts at one condition, filed.

    Attributes:
        attempts: Every start, in order.
        failures: How many failed, with the exact interval.
        summary: The file that the claims rest on.
        evidence: The folder of the ledger and the raw files.
    """

    attempts: tuple[Attempt, ...]
    failures: Rate
    summary: Captured
    evidence: Path


@dataclass(frozen=True, slots=True)
class Listener:
    """Who is told what happens: of each wait its start's number, seconds and newest line; of each start its end."""

    on_wait: Callable[[int, float, str], None]
    on_attempt: Callable[[Attempt], None]


def repeat_package(package: Package, folder: Path, count: int, listener: Listener, *, port: int = 0) -> StartTrials:
    """Start a package's engine ``count`` times, file each start as it ends, and claim how many failed.

    An interruption keeps the starts that were made, without a claim: a series that was cut short gives no rate.

    Args:
        package: What is started.
        folder: An empty folder for launch files, logs and evidence.
        count: How many starts.
        listener: Who is told.
        port: Port to serve on instead of the recipe's; 0 keeps the recipe's.

    Raises:
        InputError: The folder is not empty, or ``count`` is less than one.
        RemoteError: The engine cannot be started here, or the disk refused.
    """
    need_count(count)
    bench = LocalWorkbench(new_folder(folder), port=port)
    evidence = EvidenceFolder(folder / "evidence")

    def keep(attempt: Attempt) -> None:
        records = attempt_records(attempt, evidence.raw, captured_at=clock.now())
        file_records(evidence.ledger, lambda _: records)
        listener.on_attempt(attempt)

    attempts = repeat_starts(package, bench, count, on_wait=listener.on_wait, on_attempt=keep)
    summary = starts_summary(package, attempts, bench.environment())
    claimed = starts_records(package, summary, evidence.raw, extractors(), captured_at=clock.now())
    file_records(evidence.ledger, lambda _: claimed)
    return StartTrials(attempts=attempts, failures=failure_rate(attempts), summary=summary, evidence=evidence.root)
