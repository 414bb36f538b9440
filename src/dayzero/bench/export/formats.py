"""The formats that need no library of their own."""

from typing import Final

from dayzero.bench.export import csv_tables, llmd_report, openmetrics, vllm_result
from dayzero.bench.export.model import ExportFormat

FORMATS: Final[tuple[ExportFormat, ...]] = (
    csv_tables.FORMAT,
    vllm_result.FORMAT,
    llmd_report.FORMAT,
    openmetrics.FORMAT,
)
