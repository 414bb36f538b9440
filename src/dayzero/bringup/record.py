"""Write down what a bring-up found, so that the status of a package rests on a raw file as its numbers do."""

import json
from collections.abc import Mapping

from dayzero.audit.model import Report as AuditReport
from dayzero.bench.report import Report as BenchReport
from dayzero.bringup.model import Captured, Measured, ShownWall
from dayzero.core.package import Package
from dayzero.core.recipe import Recipe
from dayzero.core.verdict import verdict_word
from dayzero.evidence.subject import recipe_digest
from dayzero.serve.model import Died, Healthy, Start, TimedOut

NAME, SCHEMA = "bringup.json", "dayzero/bringup/v1"
START_NAME, START_SCHEMA = "start.json", "dayzero/start/v1"
REACHED = ("resolves", "starts", "serves", "measured")
FIT = "measured-fits"


def start_record(recipe: Recipe, start: Healthy) -> Captured:
    """Write how a start that became healthy went.

    Args:
        recipe: What was started.
        start: Its start.
    """
    document = {
        "schema": START_SCHEMA,
        "build": str(recipe.engine),
        "model": recipe.model.name,
        "recipe": recipe_digest(recipe).hex,
        "outcome": "healthy",
        "seconds": f"{start.seconds:.4f}",
    }
    content = json.dumps(document, indent=2).encode() + b"\n"
    return Captured(name=START_NAME, content=content, command=f"dayzero serve (build {recipe.engine})")


def run_record(
    package: Package, bench: BenchReport, start: Mapping[str, object] | None, environment: Mapping[str, str], at: str
) -> Captured:
    """Write the record of a measurement of a package at an endpoint that served already.

    A step is ``reached`` in it only where this run shows it: the start where its own record is there, the measurement where it is
    valid.

    Args:
        package: What was measured.
        bench: What was made of the measurement.
        start: The start's record, ``None`` where it is not at hand.
        environment: The machine that measured.
        at: When it was written, UTC.
    """
    steps = [*(("starts",) if start else ()), "serves", *(("measured",) if bench.valid else ())]
    document = {
        "schema": SCHEMA,
        "package": package.name,
        "version": package.version,
        "recipe": recipe_digest(package.recipe).hex,
        "build": str(package.recipe.engine),
        "at": at,
        "status": dict.fromkeys(steps, "reached"),
        **({"fit": FIT} if start else {}),
        "start": start,
        **_measured_on(environment, bench),
    }
    content = json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n"
    return Captured(name=NAME, content=content, command=f"dayzero bench {package.name}")


def bringup_record(package: Package, measured: Measured) -> Captured:
    """Write the record of a complete bring-up.

    A step of the status ladder is in it as ``reached`` only when this run reached it; quality is not looked at here.

    Args:
        package: What was brought up.
        measured: What was found.
    """
    document = {
        "schema": SCHEMA,
        "package": package.name,
        "version": package.version,
        "build": measured.audit.build,
        "status": dict.fromkeys(REACHED, "reached"),
        "fit": FIT,
        "audit": _audit(measured.audit),
        "memory": {
            "needed_bytes": measured.fit.needed.count,
            "available_bytes": measured.fit.memory.available.count,
            "terms": [
                {"name": term.name, "bytes": term.size.count, "source": term.source} for term in measured.fit.terms
            ],
        },
        "start": start_fields(measured.start),
        "walls": [_wall(shown) for shown in measured.walls],
        **_measured_on(dict(measured.environment), measured.bench),
    }
    content = json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n"
    return Captured(name=NAME, content=content, command=f"dayzero demo {package.name}")


def _measured_on(environment: Mapping[str, str], bench: BenchReport) -> Mapping[str, object]:
    return {
        "environment": environment,
        "load_average": {
            "before": f"{bench.environment.load_before:.2f}",
            "after": f"{bench.environment.load_after:.2f}",
        },
        "notes": list(bench.notes),
    }


def _audit(report: AuditReport) -> Mapping[str, object]:
    return {
        "verdict": verdict_word(report.verdict),
        "reason": report.verdict.reason,
        "checks": {check.id: [str(place) for place in check.verdict.places] for check in report.checks},
    }


def _wall(shown: ShownWall) -> Mapping[str, object]:
    return {
        "advisory": shown.wall.advisory,
        "build": shown.audit.build,
        "audit": _audit(shown.audit),
        "start": start_fields(shown.start),
    }


def start_fields(start: Start) -> Mapping[str, object]:
    """Write how a start ended, as every record of one has it."""
    seconds = f"{start.seconds:.4f}"
    match start:
        case Healthy():
            return {"outcome": "healthy", "seconds": seconds}
        case Died(exit_code=code, root=root):
            return {
                "outcome": "died",
                "seconds": seconds,
                "exit_code": code,
                "looks_like": {"line": root.number, "text": root.text} if root else None,
            }
        case TimedOut():
            return {"outcome": "timed out", "seconds": seconds}
