"""Write a run for other programs: ``--export csv,parquet,vllm,...``."""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

from dayzero.adapters.disk import write_whole
from dayzero.adapters.file_digest import digest_of
from dayzero.bench.export.formats import FORMATS
from dayzero.bench.export.model import MeasuredRun
from dayzero.bench.model import Row
from dayzero.bench.page import FileView, page
from dayzero.cli.console import stderr_console
from dayzero.core.errors import InputError

PARQUET: Final = "parquet"
REPORT: Final = "report.html"
NAMES: Final = (*(known.name for known in FORMATS), PARQUET)
_RAW: Final = ("reads.bin", "requests.jsonl", "telemetry.jsonl")


def wanted_formats(words: str) -> tuple[str, ...]:
    """Read a list such as ``csv,parquet``, before anything is measured.

    Raises:
        InputError: One of them is not a format.
    """
    names = tuple(dict.fromkeys(word.strip() for word in words.split(",") if word.strip()))
    for name in names:
        if name not in NAMES:
            raise InputError(f"no such format: {name!r}", hint=f"Choose from {', '.join(NAMES)}.")
    return names


def export_run(
    document: dict[str, object], rows: Sequence[Row], names: Sequence[str], folder: Path
) -> tuple[Path, ...]:
    """Write a run in each format that was asked for.

    A format that carries figures without their reasons is not written of a run that is not valid; stderr says so.

    Args:
        document: The run's JSON result.
        rows: All its rows.
        names: Formats, from :func:`wanted_formats`.
        folder: Where the files go; files of the same name are replaced.

    Returns:
        The files that were written.
    """
    run = MeasuredRun(document=document, rows=rows, version=version("dayzero"))
    written: list[Path] = []
    for known in (known for known in FORMATS if known.name in names):
        if known.figures and not run.valid:
            stderr_console().print(
                f"not exported: {known.name} has no place for the reasons why a run is not valid", markup=False
            )
            continue
        for name, content in known.files(run):
            write_whole(folder / name, content)
            written.append(folder / name)
    if PARQUET in names:
        from dayzero.adapters.parquet_file import write_parquet  # noqa: PLC0415  (DuckDB is heavy)

        written += write_parquet(rows, folder)
    return tuple(written)


def write_report(document: dict[str, object], rows: Sequence[Row], folder: Path) -> Path:
    """Write ``report.html`` beside a run's raw files, and name those by their digests.

    Args:
        document: The run's JSON result.
        rows: All its rows.
        folder: The run's folder.
    """
    from dayzero.adapters.bench_page.render import render_page  # noqa: PLC0415  (jinja2 is needed after the run only)

    raw = [folder / name for name in _RAW if (folder / name).is_file()]
    files = [FileView(name=file.name, sha256=digest_of(file).hex, size=file.stat().st_size) for file in raw]
    target = folder / REPORT
    write_whole(target, render_page(page(document, rows, files)))
    return target
