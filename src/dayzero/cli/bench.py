"""``dayzero bench``: how fast, measured how?"""

import contextlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Annotated, Final

import cyclopts

from dayzero.adapters.openai_http import Connection
from dayzero.bench.model import Progress
from dayzero.cli.bench_load import Load, asks_for_knee, workload
from dayzero.cli.endpoint_options import connection
from dayzero.cli.output import OutputFormat
from dayzero.core.errors import InputError
from dayzero.wiring.look import BenchTarget, look_at, require_possible

_FIGURES: Final = (
    "dayzero.adapters.machine",
    "dayzero.bench.report",
    "dayzero.adapters.telemetry",
    "dayzero.wiring.server_side",
    "dayzero.cli.bench_tell",
)
"""Loaded one after the other while the server is waited for; the last one needs the others."""


@cyclopts.Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where it is sent.

    Attributes:
        url: Address of an OpenAI-compatible server (http://HOST:PORT or https://HOST).
        model: Model to ask for; the only one that is served when left out.
        api_key_env: Environment variable that holds the API key.
        ca_file: PEM file of certificates to trust instead of the system's.
        timeout: Seconds after which a request counts as failed.
        processes: Processes that share the streams; more than one only where the client says that it lags, and has cores.
        resume: Go on with the interrupted run in the output folder: what was in flight is sent again.
    """

    url: str | None = None
    model: str = ""
    api_key_env: str | None = None
    ca_file: Path | None = None
    timeout: float = 600.0
    processes: int = 1
    resume: Annotated[bool, cyclopts.Parameter(negative=())] = False


def bench(  # noqa: PLR0913  (each argument is one option, or a group of them)
    package: str | None = None,
    /,
    *,
    read: Path | None = None,
    export: str = "",
    report: bool | None = None,
    repeat_start: int | None = None,
    output: Annotated[Path, cyclopts.Parameter(name=["--output", "-o"])] = Path("dayzero-bench"),
    output_format: OutputFormat = "text",
    start: Path | None = None,
    target: Target | None = None,
    load: Load | None = None,
) -> int:
    """Measure an endpoint: every read kept raw, figures by one set of definitions, and whether to believe them.

    Give a package (its engine is started, its own workload is measured), --url, or both (its workload, where it is served
    already). Exit 0: every request was measured and nothing speaks against the figures; 3: something does, or the server
    went away. With --repeat-start nothing is measured but how often a start fails; exit 1: one did. With --read nothing is
    measured either: what another tool wrote is checked, exit 1: something speaks against it.

    Args:
        package: Package definition to start and measure.
        read: File or folder of a run: another tool's, or one of ours to export again.
        export: Formats to write besides, joined with commas.
        report: Write report.html; when left out, it is written where the result is printed as text.
        repeat_start: Start the package so many times instead, and give the rate of failed starts with its exact interval.
        output: Folder for reads, rows, receipt and report; what was measured there already is never overwritten.
        output_format: How the result is written to stdout.
        start: Folder that dayzero serve wrote when it started what --url serves; its log is read for the receipt.
        target: Where it is sent.
        load: What is sent.
    """
    aim, sent = target or Target(), load or Load()
    if read is not None:
        return _read(read, export, output_format, alone=package is None and aim == Target() and load is None)
    if package is not None and load is not None:
        raise InputError(
            "a package is measured under its own workload", hint="Leave the load's options out, or give --url."
        )
    if package is None and aim.url is None:
        raise InputError("give a package or --url", hint="For a server that runs: dayzero bench --url http://HOST:PORT")
    if start is not None and (package is None or aim.url is None):
        raise InputError("--start needs a package and --url", hint="Say which package is served there.")
    if repeat_start is not None:
        return _repeat_start(_package_alone(package, aim), output, repeat_start, output_format)
    made = _Made(
        folder=output,
        formats=_formats(export),
        page=output_format == "text" if report is None else report,
        output_format=output_format,
    )
    if package is not None:
        return _package(_package_alone(package, aim), made) if aim.url is None else _served(package, start, aim, made)
    return _knee(aim, sent, made) if asks_for_knee(sent) else _url(aim, sent, made)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Made:
    """What is made of a run: its folder, the formats to write besides, whether the page is, and how the result is printed."""

    folder: Path
    formats: tuple[str, ...]
    page: bool
    output_format: OutputFormat


def _read(place: Path, export: str, output_format: OutputFormat, *, alone: bool) -> int:
    from dayzero.cli import bench_read  # noqa: PLC0415  (a measurement must not wait for the readers of other tools)

    if not alone:
        raise InputError("--read measures nothing", hint="Leave out the package, the server and the load.")
    return bench_read.read(place, export=export, output_format=output_format)


def _formats(export: str) -> tuple[str, ...]:
    if not export:
        return ()
    from dayzero.cli.bench_export import wanted_formats  # noqa: PLC0415  (as above)

    return wanted_formats(export)


def _url(aim: Target, sent: Load, made: _Made) -> int:
    if aim.resume and sent.seed is None:
        from dayzero.wiring import endpoint  # noqa: PLC0415  (as above)

        sent = replace(sent, seed=endpoint.seed_to_resume(made.folder))
    target, load = _target(aim, made.folder), workload(sent)
    require_possible(target, load)
    with _progress() as (_, on_progress):
        looked = look_at(target.connection, target.model, work=_preparation())
        from dayzero.cli.bench_tell import tell  # noqa: PLC0415  (loaded by now)
        from dayzero.wiring import endpoint  # noqa: PLC0415  (loaded by now)

        measured = endpoint.measure_endpoint(target, load, on_progress, looked=looked)
    return tell(measured, made.folder, made.formats, page=made.page, output_format=made.output_format)


def _preparation() -> Iterator[None]:
    """Load what the measurement and its figures need, and hash the sources of the client, in steps of a few milliseconds."""
    for name in _FIGURES:
        import_module(name)
        yield
    from dayzero.adapters.measuring.digest import client_sha256  # noqa: PLC0415  (as above)

    client_sha256()


def _knee(aim: Target, sent: Load, made: _Made) -> int:
    from dayzero.cli import bench_knee  # noqa: PLC0415  (as above)

    search = bench_knee.knee_search(sent)
    with _progress() as (_, on_progress):
        found = bench_knee.find(_target(aim, made.folder), sent, search, on_progress)
    return bench_knee.tell(found, made.folder, made.output_format)


def _package(package: str, made: _Made) -> int:
    from dayzero.cli.bench_tell import tell  # noqa: PLC0415  (as above)
    from dayzero.wiring import definitions, laboratory  # noqa: PLC0415  (engines are started by few runs, and cost memory)

    with _progress() as (on_wait, on_progress):
        measured = laboratory.bench_package(definitions.package(package), made.folder, on_wait, on_progress)
    logs = (made.folder / "logs" / "engine.log",)
    return tell(measured, made.folder, made.formats, *logs, page=made.page, output_format=made.output_format)


def _served(package: str, start: Path | None, aim: Target, made: _Made) -> int:
    from dayzero.cli.bench_tell import tell  # noqa: PLC0415  (as above)
    from dayzero.wiring import definitions, served  # noqa: PLC0415  (as above)

    if aim.resume or aim.processes != 1:
        raise InputError("a package's workload is measured whole, by one process", hint="Leave the option out.")
    place = served.Served(folder=made.folder, model=aim.model, start=start)
    with _progress() as (_, on_progress):
        measured = served.bench_served(definitions.package(package), _connection(aim), place, on_progress)
    logs = (made.folder / "engine.log",) if start is not None else ()
    return tell(measured, made.folder, made.formats, *logs, page=made.page, output_format=made.output_format)


def _target(aim: Target, output: Path) -> BenchTarget:
    return BenchTarget(
        connection=_connection(aim), model=aim.model, folder=output, processes=aim.processes, resumes=aim.resume
    )


def _repeat_start(package: str, output: Path, count: int, output_format: OutputFormat) -> int:
    from dayzero.cli import bench_starts  # noqa: PLC0415  (as above)

    return bench_starts.repeat_start(package, output, count, output_format)


def _package_alone(package: str | None, aim: Target) -> str:
    if package is None:
        raise InputError("--repeat-start starts a package", hint="Give a package, and leave out the server's options.")
    if aim != Target():
        raise InputError("a package brings its own server", hint="Leave out the server's options.")
    return package


def _connection(aim: Target) -> Connection:
    return connection(aim.url or "", timeout=aim.timeout, api_key_env=aim.api_key_env, ca_file=aim.ca_file)


@contextlib.contextmanager
def _progress() -> Iterator[tuple[Callable[[float, str], None], Callable[[Progress], None]]]:
    """Show the progress on a terminal while the block runs; anywhere else nothing is shown, or loaded."""
    if not sys.stderr.isatty():
        yield (lambda _seconds, _line: None), (lambda _progress: None)
        return
    from dayzero.cli.live_view import live_view  # noqa: PLC0415  (drawn only for people)

    with live_view() as told:
        yield told
