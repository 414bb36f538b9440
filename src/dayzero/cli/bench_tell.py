"""Write what was measured beside its raw reads, and print it."""

from collections.abc import Sequence
from pathlib import Path

from dayzero.bench.model import Row
from dayzero.cli.main import PROVEN, UNDECIDED
from dayzero.cli.output import OutputFormat, print_json
from dayzero.wiring import run_files
from dayzero.wiring.endpoint import EndpointMeasurement
from dayzero.wiring.look import ROWS


def tell(
    measured: EndpointMeasurement,
    folder: Path,
    formats: tuple[str, ...],
    *logs: Path,
    page: bool,
    output_format: OutputFormat,
) -> int:
    """Write the receipt, and what was asked for besides; print the result, and give the exit code.

    Args:
        measured: The run.
        folder: Its folder.
        formats: Formats to write besides.
        logs: Logs below that folder that the receipt speaks of.
        page: Whether the page of the run is written.
        output_format: How the result is printed.
    """
    run_files.write_receipt(measured, folder, *logs)
    written = run_files.document_of(measured, folder / ROWS)
    _write_beside(written, measured.outcome.rows, folder, formats, page=page)
    if output_format == "json":
        print_json(written)
    else:
        from dayzero.cli.bench_text import print_text  # noqa: PLC0415  (only people read it)

        print_text(measured, folder / ROWS)
    return PROVEN if measured.report.valid else UNDECIDED


def _write_beside(
    written: dict[str, object], rows: Sequence[Row], folder: Path, formats: tuple[str, ...], *, page: bool
) -> None:
    """Write the page of a run, and what was asked for."""
    if not (formats or page):
        return
    from dayzero.cli.bench_export import export_run, write_report  # noqa: PLC0415  (a run that nobody looks at needs none)

    export_run(written, rows, formats, folder)
    if page:
        write_report(written, rows, folder)
