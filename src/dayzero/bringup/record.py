"""Write down what a bring-up found, so that the status of a package rests on a raw file as its numbers do."""

import json
from collections.abc import Mapping

from dayzero.audit.model import Report as AuditReport
from dayzero.bringup.model import Captured, Measured, ShownWall
from dayzero.core.package import Package
from dayzero.core.verdict import verdict_word
from dayzero.serve.model import Died, Healthy, Start, TimedOut

NAME = "bringup.json"
REACHED = ("resolves", "starts", "serves", "measured")
FIT = "measured-fits"


def bringup_record(package: Package, measured: Measured) -> Captured:
    """Write the record of a complete bring-up.

    A step of the status ladder is in it as ``reached`` only when this run reached it; quality is not looked at here.

    Args:
        package: What was brought up.
        measured: What was found.
    """
    document = {
        "schema": "dayzero/bringup/v1",
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
        "environment": dict(measured.environment),
        "load_average": {
            "before": f"{measured.bench.environment.load_before:.2f}",
            "after": f"{measured.bench.environment.load_after:.2f}",
        },
        "notes": list(measured.bench.notes),
    }
    content = json.dumps(document, indent=2, ensure_ascii=False).encode() + b"\n"
    return Captured(name=NAME, content=content, command=f"dayzero demo {package.name}")


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
