"""``dayzero bench``: how fast, measured how?"""

import asyncio
import contextlib
import json
import os
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import cyclopts
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from dayzero.adapters.disk import digest_of, write_whole
from dayzero.adapters.openai_http import Connection
from dayzero.bench import document
from dayzero.bench.metrics import CHUNK_GAP, ITL, Figure, Summary, minimum_sample
from dayzero.bench.model import Progress as BenchProgress
from dayzero.bench.report import CellReport, Report
from dayzero.cli import bench_starts
from dayzero.cli.main import PROVEN, UNDECIDED
from dayzero.cli.output import OutputFormat, print_json, stderr_console
from dayzero.core.errors import InputError
from dayzero.core.verdict import Undecided
from dayzero.core.workload import Cell, Workload
from dayzero.wiring import definitions, endpoint, laboratory

_SEED_BITS = 32
_SMALL = 100
_LINE = 80
_TOO_SMALL = "n too small"


@cyclopts.Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is sent.

    Attributes:
        concurrency: Requests in flight at once (a closed loop).
        requests: Measured requests; p50 needs 11 of them, p90 64, p99 662.
        warmup: Requests before them that enter no figure; as many as --concurrency when left out.
        input_tokens: Prompt tokens of each request, as the server counts them.
        output_tokens: Tokens asked of each request.
        seed: Seed of the prompts; a new one each time when left out, so that no prefix cache can know them.
    """

    concurrency: int = 1
    requests: int = 32
    warmup: int | None = None
    input_tokens: int = 128
    output_tokens: int = 64
    seed: int | None = None


@cyclopts.Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where it is sent.

    Attributes:
        url: Address of an OpenAI-compatible server (http://HOST:PORT).
        model: Model to ask for; the only one that is served when left out.
        api_key_env: Environment variable that holds the API key.
        timeout: Seconds after which a request counts as failed.
    """

    url: str | None = None
    model: str = ""
    api_key_env: str | None = None
    timeout: float = 600.0


def bench(  # noqa: PLR0913  (each argument is one option, or a group of them)
    package: str | None = None,
    /,
    *,
    repeat_start: int | None = None,
    output: Annotated[Path, cyclopts.Parameter(name=["--output", "-o"])] = Path("dayzero-bench"),
    output_format: OutputFormat = "text",
    target: Target | None = None,
    load: Load | None = None,
) -> int:
    """Measure an endpoint: one raw row a request, figures by one set of definitions, and whether to believe them.

    Give either a package (its engine is started, its own workload is measured) or --url. Exit 0: every request was
    measured and nothing speaks against the figures; 3: something does, or the server went away. With --repeat-start
    nothing is measured but how often a start fails; exit 1: one did.

    Args:
        package: Package definition to start and measure.
        repeat_start: Start the package so many times instead, and give the rate of failed starts with its exact interval.
        output: Folder for requests.jsonl; rows that are there already are never overwritten.
        output_format: How the result is written to stdout.
        target: Where it is sent.
        load: What is sent.
    """
    aim, sent = target or Target(), load or Load()
    if package is not None and load is not None:
        raise InputError(
            "a package is measured under its own workload", hint="Leave the load's options out, or give --url."
        )
    if (package is None) == (aim.url is None):
        raise InputError(
            "give either a package or --url", hint="For a server that runs: dayzero bench --url http://HOST:PORT"
        )
    if repeat_start is not None:
        return bench_starts.repeat_start(_package_alone(package, aim), output, repeat_start, output_format)
    rows_file = output / laboratory.ROWS
    with _progress_bar() as (on_wait, on_progress):
        if package is not None:
            measured = laboratory.bench_package(definitions.package(package), output, on_wait, on_progress)
        else:
            place = endpoint.BenchTarget(connection=_connection(aim, sent), model=aim.model, rows_file=rows_file)
            measured = asyncio.run(endpoint.measure_endpoint(place, _workload(sent), on_progress))
    if measured.report.valid:
        _write_receipt(measured, rows_file)
    if output_format == "json":
        print_json(_document(measured, rows_file))
    else:
        _print_text(measured, rows_file)
    return PROVEN if measured.report.valid else UNDECIDED


def _package_alone(package: str | None, aim: Target) -> str:
    if package is None or aim != Target():
        raise InputError("--repeat-start starts a package", hint="Give a package, and leave out the server's options.")
    return package


def _document(measured: endpoint.EndpointMeasurement, rows_file: Path) -> dict[str, object]:
    found = measured.found
    return document.of_report(
        measured.report, model=found.how.model, engine=found.engine, rows_file=str(rows_file), notes=found.notes
    )


def _write_receipt(measured: endpoint.EndpointMeasurement, rows_file: Path) -> None:
    """Write what was measured beside its rows, bound to them by their digest; an invalid run gets none."""
    receipt = {**_document(measured, rows_file), "rows": rows_file.name, "rows_sha256": digest_of(rows_file).hex}
    write_whole(rows_file.with_name("receipt.json"), json.dumps(receipt, indent=2).encode() + b"\n")


def _connection(aim: Target, sent: Load) -> Connection:
    key = ""
    if aim.api_key_env is not None:
        key = os.environ.get(aim.api_key_env, "")
        if not key:
            raise InputError(
                f"the environment variable {aim.api_key_env} is not set", hint="Export it, or leave the option out."
            )
    if aim.timeout <= 0:
        raise InputError(f"--timeout must be above 0, not {aim.timeout:g}", hint="Give seconds.")
    return Connection(url=aim.url or "", streams=sent.concurrency, timeout_s=aim.timeout, api_key=key)


def _workload(sent: Load) -> Workload:
    cell = Cell(
        name=f"c{sent.concurrency}",
        concurrency=sent.concurrency,
        requests=sent.requests,
        warmup_requests=sent.concurrency if sent.warmup is None else sent.warmup,
        input_tokens=sent.input_tokens,
        output_tokens=sent.output_tokens,
    )
    return Workload(seed=secrets.randbits(_SEED_BITS) if sent.seed is None else sent.seed, cells=(cell,))


@contextlib.contextmanager
def _progress_bar() -> Iterator[tuple[Callable[[float, str], None], Callable[[BenchProgress], None]]]:
    """Show the progress on stderr while the block runs."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[failed]}"),
        TimeRemainingColumn(),
    )
    console = stderr_console()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("looking at the server", total=None, failed="")

        def show(progress: BenchProgress) -> None:
            failed = f"{progress.failed} failed" if progress.failed else ""
            description = f"{progress.cell} {progress.phase}"
            bar.update(task, description=description, completed=progress.done, total=progress.planned, failed=failed)

        def wait(seconds: float, line: str) -> None:
            bar.update(task, description=f"waiting for health, {seconds:.0f} s: {line[:_LINE]}")

        yield wait, show


def _print_text(measured: endpoint.EndpointMeasurement, rows_file: Path) -> None:
    report, found = measured.report, measured.found
    console = Console(highlight=False, soft_wrap=True)
    engine = found.engine or "engine not recognised"
    console.print(f"{found.how.model} ({engine}), {found.how.route}, seed {report.seed}", markup=False)
    for cell in report.cells:
        print_cell(console, cell)
    print_client(console, report)
    for note in (*found.notes, *report.notes):
        console.print(f"note: {note}", markup=False)
    if rows_file.exists():
        console.print(f"rows: {rows_file}", markup=False)
    if report.valid:
        console.print("valid: every request was measured, nothing speaks against the figures")
    else:
        console.print("NOT VALID; do not believe these figures:")
        for reason in report.invalid_because:
            console.print(f"  {reason}", markup=False)


def print_cell(console: Console, cell: CellReport) -> None:
    """Print the figures of one cell as a table."""
    plan = cell.cell
    table = Table(
        title=f"{plan.name}: {cell.measured} requests, {plan.concurrency} in flight, "
        f"{plan.input_tokens} tokens in, {plan.output_tokens} out",
        title_justify="left",
    )
    table.add_column("")
    statistics = [name for name, _ in cell.summaries[0].figures]
    for name in (*statistics, "requests"):
        table.add_column(name, justify="right")
    reasons: dict[str, list[str]] = {}
    for summary in shown(cell):
        figures = [_figure(figure, summary.metric.name, reasons) for _, figure in summary.figures]
        table.add_row(summary.metric.name, *figures, str(summary.requests))
    console.print(table)
    rate = _figure(cell.output_tok_s, "output_tok_s", reasons)
    per_user = _figure(cell.output_tok_s_per_user, "output_tok_s_per_user", reasons)
    console.print(
        f"output_tok_s {rate}, per user {per_user}; failed {cell.failed}; in flight on average {cell.in_flight:.2f}"
    )
    if reasons.pop(_TOO_SMALL, None) is not None:
        needed = ", ".join(f"{name} {minimum_sample(float(name[1:]))}" for name in statistics if name != "mean")
        console.print(f"{_TOO_SMALL}: requests needed for a percentile to be certified: {needed}")
    for reason, names in reasons.items():
        console.print(f"-: {reason} ({', '.join(names)})", markup=False)


def shown(cell: CellReport) -> tuple[Summary, ...]:
    """Leave out the gaps between chunks where they are the gaps between tokens."""
    itl = next(summary for summary in cell.summaries if summary.metric is ITL)
    same = not any(isinstance(figure, Undecided) and name == "mean" for name, figure in itl.figures)
    return tuple(summary for summary in cell.summaries if not (same and summary.metric is CHUNK_GAP))


def print_client(console: Console, report: Report) -> None:
    """Print what the figures were measured with."""
    environment = report.environment
    lag = document.lag(report.lag_ms)
    console.print(
        f"client: {environment.client}; {environment.cores} cores, load average {environment.load_before:.2f} before, "
        f"{environment.load_after:.2f} after; loop lag p50 {lag['p50']} ms, max {lag['max']} ms",
        markup=False,
    )


def _figure(figure: Figure, name: str, reasons: dict[str, list[str]]) -> str:
    if isinstance(figure, Undecided):
        if figure.reason.startswith(_TOO_SMALL):
            reasons.setdefault(_TOO_SMALL, [])
            return _TOO_SMALL
        names = reasons.setdefault(figure.reason, [])
        names += [] if name in names else [name]
        return "-"
    return f"{figure:.2f}" if figure < _SMALL else f"{figure:.1f}"
