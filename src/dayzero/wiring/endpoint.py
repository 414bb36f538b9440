"""Measure an endpoint over HTTP."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

from dayzero.adapters.openai_discovery import Discovered, discover
from dayzero.adapters.openai_http import Connection, OpenAiEndpoint, open_client
from dayzero.adapters.row_file import RowFile, exists_error
from dayzero.bench.model import Environment, Outcome
from dayzero.bench.model import Progress as BenchProgress
from dayzero.bench.report import Report as BenchReport
from dayzero.bench.report import report as report_bench
from dayzero.bench.run import measure
from dayzero.core.workload import Workload
from dayzero.wiring.plugins import engine, engine_names


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchTarget:
    """What is measured and where its rows go.

    Attributes:
        connection: How the endpoint is reached; one connection a stream of the widest cell.
        model: The model to ask for, ``""`` for the only one.
        rows_file: The file to create for the rows.
    """

    connection: Connection
    model: str
    rows_file: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointMeasurement:
    """What an endpoint was found to be, and what was measured of it."""

    found: Discovered
    outcome: Outcome
    report: BenchReport


async def measure_endpoint(
    target: BenchTarget, workload: Workload, on_progress: Callable[[BenchProgress], None]
) -> EndpointMeasurement:
    """Look at an endpoint, measure a workload over it, and keep every row.

    Args:
        target: What is measured.
        workload: What is sent.
        on_progress: Called after each row.

    Raises:
        InputError: The rows file exists, or the model has to be named.
        RemoteError: The endpoint cannot be reached, or the rows cannot be written.
    """
    if target.rows_file.exists():
        raise exists_error(target.rows_file)
    candidates = tuple((name, engine(name).dialect) for name in engine_names())
    async with open_client(target.connection) as client:
        found = await discover(client, model=target.model, candidates=candidates)
        endpoint = OpenAiEndpoint(client, found.how, timeout_s=target.connection.timeout_s)
        before = os.getloadavg()[0]
        with RowFile(target.rows_file) as rows:
            outcome = await measure(workload, found.pool, endpoint, rows, on_progress)
    environment = Environment(
        client=f"dayzero {version('dayzero')}, httpx {version('httpx')}",
        cores=len(os.sched_getaffinity(0)),
        load_before=before,
        load_after=os.getloadavg()[0],
    )
    return EndpointMeasurement(found=found, outcome=outcome, report=report_bench(outcome, workload, environment))
