"""One more run, where the first one is not valid and only the client was at fault.

The server has no part in whether figures are kept: a run that any rule about the server speaks against is never taken again.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from dayzero.adapters.disk import disk_errors
from dayzero.core.workload import Workload, with_nonce
from dayzero.wiring.endpoint import EndpointMeasurement
from dayzero.wiring.look import READS, ROWS
from dayzero.wiring.server_side import TELEMETRY

FIRST_RUN: Final = "first-run"


def with_second_try(
    measure: Callable[[Workload], EndpointMeasurement], workload: Workload, folder: Path
) -> tuple[EndpointMeasurement, str]:
    """Measure, and once more where that deserves it; the first run's files are kept in ``first-run/``.

    Args:
        measure: Measures into the folder.
        workload: What is measured; the second time with prompts that no cache has seen.
        folder: The folder.

    Returns:
        The measurement that counts, and why there were two, which is among its notes too; ``""`` where there was one.

    Raises:
        RemoteError: The endpoint cannot be reached, or the disk refused.
    """
    measured = measure(workload)
    if not measured.report.deserves_another:
        return measured, ""
    because = "; ".join(measured.report.invalid_because)
    with disk_errors(folder):
        kept = folder / FIRST_RUN
        kept.mkdir()
        for name in (READS, ROWS, TELEMETRY):
            (folder / name).rename(kept / name)
    second = measure(with_nonce(workload, "again"))
    again = f"measured twice: the first run was not valid, for faults of the client alone ({because}); it is in {FIRST_RUN}/"
    return replace(second, report=replace(second.report, notes=(*second.report.notes, again))), again
