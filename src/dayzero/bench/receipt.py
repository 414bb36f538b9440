"""Write the receipt of a valid run, schema ``dayzero/bench-receipt/v1``: what a reader needs to believe a figure, or not.

It names the raw files by their digests, the definitions and the client that made figures of them, and every rule of validity
with the value that was held against it. The format: docs/reference/bench.md.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Final

from dayzero.bench import document
from dayzero.bench.metrics import DEFINITIONS
from dayzero.bench.report import Report
from dayzero.core.errors import EvidenceError
from dayzero.core.pins import Sha256
from dayzero.core.workload import Workload

SCHEMA: Final = "dayzero/bench-receipt/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatched:
    """One thing that the engine decided when it started, by its own log.

    Attributes:
        what: Which (``attention backend``, ``block size``).
        asked: What the recipe asked; ``""`` when it left the choice to the engine.
        resolved: What the engine says that it took.
        source_line: Where it says so (``engine.log:412``).
    """

    what: str
    asked: str
    resolved: str
    source_line: str

    @property
    def differs(self) -> bool:
        """True when something else was taken than was asked."""
        return bool(self.asked) and self.asked != self.resolved


@dataclass(frozen=True, slots=True)
class StartPhase:
    """One phase of the start, in order, by the engine's own log."""

    name: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Arm:
    """One side of a comparison, and what was measured on it."""

    name: str
    document: Mapping[str, object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What was measured, and what is known of it besides its figures.

    Attributes:
        model: Model that was asked for.
        engine: Engine that answered, ``""`` when none was recognised.
        route: Where prompts were sent, ``""`` when it is not known.
        files: (name, digest) of the raw files that the figures come from.
        dispatched: What the engine decided.
        start_phases: How its start went.
        environment: The machine that the client ran on, as ordered (name, value) pairs.
        server: What the server and its GPUs said over each cell.
        arms: Both sides, where it is a comparison.
        notes: Notes besides the report's own.
    """

    model: str
    engine: str
    route: str = ""
    files: tuple[tuple[str, Sha256], ...]
    dispatched: tuple[Dispatched, ...] = ()
    start_phases: tuple[StartPhase, ...] = ()
    environment: tuple[tuple[str, str], ...] = ()
    server: Mapping[str, object] = field(default_factory=dict)
    arms: tuple[Arm, ...] = ()
    notes: tuple[str, ...] = field(default=())


def receipt(report: Report, workload: Workload, subject: Subject) -> dict[str, object]:
    """Write the receipt.

    Args:
        report: What was measured.
        workload: What was planned.
        subject: What it was measured of, and the files it comes from.

    Raises:
        EvidenceError: The run is not valid, or no raw file stands under it: there is no receipt of that.
    """
    if not report.valid:
        raise EvidenceError(
            f"no receipt of a run that is not valid: {report.invalid_because[0]}", hint="Measure again."
        )
    if not subject.files:
        raise EvidenceError("no receipt without a raw file", hint="Keep the raw reads and the rows.")
    return {
        "schema": SCHEMA,
        "model": subject.model,
        "engine": subject.engine,
        "route": subject.route,
        "workload": {
            "seed": workload.seed,
            "nonce": workload.nonce,
            "cells": [document.of_plan(cell) for cell in workload.cells],
        },
        "definitions": {"version": DEFINITIONS, "metrics": document.definitions()},
        "client": document.of_client(report.client, report.environment, tokens=report.tokens),
        "environment": dict(subject.environment),
        "valid": report.valid,
        "validity": [document.of_judgement(judgement) for judgement in report.judgements],
        "cells": [document.of_cell(cell) for cell in report.cells],
        "server": dict(subject.server),
        "dispatched": [of_dispatched(entry) for entry in subject.dispatched],
        "start_phases": [asdict(phase) for phase in subject.start_phases],
        "arms": [{"name": arm.name, **arm.document} for arm in subject.arms],
        "raw": [{"file": name, "sha256": digest.hex} for name, digest in subject.files],
        "notes": _distinct((*subject.notes, *report.notes)),
    }


def of_dispatched(entry: Dispatched) -> dict[str, object]:
    """Write one decision of the engine."""
    return {
        "what": entry.what,
        "asked": entry.asked,
        "resolved": entry.resolved,
        "differs": entry.differs,
        "source_line": entry.source_line,
    }


def _distinct(notes: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(notes))
