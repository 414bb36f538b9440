"""What is written of a measurement beside its raw files: its report as a document, and the receipt that binds it to them."""

import json
from pathlib import Path
from typing import Final

from dayzero.adapters.disk import write_whole
from dayzero.adapters.file_digest import digest_of
from dayzero.adapters.machine import environment
from dayzero.bench import document
from dayzero.bench.receipt import Subject, receipt
from dayzero.wiring import server_side
from dayzero.wiring.endpoint import EndpointMeasurement
from dayzero.wiring.look import ROWS
from dayzero.wiring.server_side import TELEMETRY

RECEIPT: Final = "receipt.json"


def document_of(measured: EndpointMeasurement, rows_file: Path) -> dict[str, object]:
    """Write the report of a run, with what the server's side said.

    Args:
        measured: The run.
        rows_file: Where its rows stand.
    """
    found = measured.found
    report = document.of_report(
        measured.report, model=found.how.model, engine=found.engine, rows_file=str(rows_file), notes=found.notes
    )
    return {**report, **server_side.document(measured.server, measured.decided)}


def write_receipt(measured: EndpointMeasurement, folder: Path, *logs: Path) -> Path | None:
    """Write the receipt of a valid run beside its raw files, bound to them by their digests; an invalid run gets none.

    Args:
        measured: The run.
        folder: Its folder.
        logs: Logs below that folder that it speaks of, complete by now.

    Raises:
        RemoteError: The disk refused.
    """
    if not measured.report.valid:
        return None
    found, decided = measured.found, measured.decided
    raw = (*sorted(folder.glob("reads*.bin")), folder / ROWS, folder / TELEMETRY, *logs)
    subject = Subject(
        model=found.how.model,
        engine=found.engine,
        route=found.how.route,
        files=tuple((str(file.relative_to(folder)), digest_of(file)) for file in raw),
        dispatched=decided.dispatched,
        start_phases=decided.start_phases,
        environment=environment(),
        server=server_side.said(measured.server),
        notes=found.notes,
    )
    written = receipt(measured.report, measured.workload, subject)
    write_whole(folder / RECEIPT, json.dumps(written, indent=2, ensure_ascii=False).encode() + b"\n")
    return folder / RECEIPT
