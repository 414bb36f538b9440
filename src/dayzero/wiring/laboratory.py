"""The laboratory on this machine: builds from the index, engines as child processes, rows on disk."""

import contextlib
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import replace
from pathlib import Path

from dayzero.adapters.builds import BuildStore, WheelFiles
from dayzero.adapters.disk import disk_errors, write_whole
from dayzero.adapters.health import HttpHealth
from dayzero.adapters.machine import environment, host_memory
from dayzero.adapters.openai_http import Connection
from dayzero.adapters.processes import ChildProcess, require_free_port
from dayzero.adapters.weights import put_weights
from dayzero.audit.check import audit
from dayzero.audit.model import BuildFacts, Unread
from dayzero.audit.model import Report as AuditReport
from dayzero.bench.model import Progress
from dayzero.bringup.laboratory import diagnosed
from dayzero.bringup.model import Captured, Run
from dayzero.bringup.record import start_record
from dayzero.core.errors import InputError, RemoteError
from dayzero.core.launch import HubModel, LaunchSpec
from dayzero.core.package import Package
from dayzero.core.pins import EngineBuild, ModelPin
from dayzero.core.recipe import Recipe
from dayzero.core.workload import Workload
from dayzero.engines.interface import Engine
from dayzero.engines.llamacpp.seeded import GENERATORS
from dayzero.fit.check import fit_host
from dayzero.fit.model import HostReport as FitReport
from dayzero.serve.model import Asked, Healthy, LogLine, Start
from dayzero.serve.start import last_cause, wait_until_healthy
from dayzero.triage.model import Diagnosis
from dayzero.wiring.definitions import advisories
from dayzero.wiring.downloads import hub_download
from dayzero.wiring.endpoint import EndpointMeasurement, measure_endpoint
from dayzero.wiring.kernels_beside import kernels_beside
from dayzero.wiring.launches import launch_of_recipe
from dayzero.wiring.look import ROWS, BenchTarget
from dayzero.wiring.plugins import engine, kernel_library
from dayzero.wiring.run_files import write_receipt
from dayzero.wiring.second_try import with_second_try
from dayzero.wiring.server_side import Decided
from dayzero.wiring.settings import cache_folder, python_executable
from dayzero.wiring.start_log import decided
from dayzero.wiring.triage import diagnose

HOST = "127.0.0.1"


def build_store() -> BuildStore:
    """Open the cache of engine builds."""
    return BuildStore(cache_folder(), python_executable())


def read_facts(recipe: Recipe, build: EngineBuild) -> BuildFacts:
    """Read what a build says about itself, for one recipe.

    Args:
        recipe: Names the kernel libraries whose tables matter.
        build: The build to read.
    """
    files = WheelFiles(artifact=f"{build.distribution} {build.version}", wheel=build_store().wheel(build))
    plugin = engine(build.engine)
    libraries = [kernel.library for kernel in recipe.kernels if kernel.distribution == build.distribution]
    beside = None if libraries else kernels_beside(recipe, build, files)
    unread = Unread(
        noun="tensor type", reason="neither the recipe nor the build's metadata pins a kernel library that is known"
    )
    inside = kernel_library(libraries[0]).read_tensor_types(files) if libraries else unread
    return BuildFacts(
        build=str(build),
        architectures=plugin.read_architectures(files),
        settings=plugin.read_settings(files),
        tensor_types=beside.tensor_types if beside else inside,
        beside=str(beside) if beside else "",
    )


def audit_build(recipe: Recipe, build: EngineBuild) -> AuditReport:
    """Audit one recipe against one build."""
    settings = engine(build.engine).settings_in(recipe.flags)
    return audit(recipe, build, read_facts(recipe, build), settings, advisories())


def weights(model: ModelPin, folder: Path) -> tuple[Path, ...]:
    """Put pinned weights into a folder, verified; nothing is downloaded from a hub."""
    return put_weights(model, folder, build_store(), GENERATORS)


def downloaded_weights(model: ModelPin, folder: Path, *, endpoint: str, say: Callable[[str], None]) -> tuple[Path, ...]:
    """Put pinned weights into a folder, verified, from a hub where that is where they are.

    Args:
        model: What is pinned.
        folder: Where the files go.
        endpoint: The hub; ``""`` for that of the environment.
        say: Takes a line about the progress.
    """
    return put_weights(model, folder, build_store(), GENERATORS, fetch=hub_download(endpoint, say))


def weights_cache(model: ModelPin) -> Path:
    """Say where a model's weights are kept between runs: one folder per set of digests."""
    return cache_folder() / "weights" / model.files[0].sha256.hex


def fit_here(recipe: Recipe) -> FitReport:
    """Budget a recipe's memory on this machine; its weights are brought here first."""
    files = weights(recipe.model, weights_cache(recipe.model))
    return fit_host(engine(recipe.engine.engine).memory_terms(recipe, files[0]), host_memory())


def new_folder(folder: Path) -> Path:
    """Make the folder of a run; what an earlier run left there is never mixed with it.

    Raises:
        InputError: There is something in it already.
    """
    with disk_errors(folder):
        folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise InputError(f"{folder} is not empty", hint="Name a new folder with -o, or move the old one away.")
    return folder


def fresh_folder(folder: Path) -> Path:
    """Make the folder of a run; an earlier run is moved to ``earlier/`` beside it, so nothing is lost or mixed."""
    with disk_errors(folder):
        if folder.exists():
            kept = folder.parent / "earlier"
            kept.mkdir(exist_ok=True)
            number = 1 + sum(1 for _ in kept.glob(f"{folder.name}-*"))
            folder.rename(kept / f"{folder.name}-{number}")
        folder.mkdir(parents=True)
    return folder


class LocalSession:
    """One engine on this machine. Implements ``bringup.ports.Session``."""

    def __init__(
        self, plugin: Engine, launch: LaunchSpec, process: ChildProcess, folder: Path, *, spare: int | None = None
    ) -> None:
        self._spare = spare
        self._plugin = plugin
        self._launch = launch
        self._process = process
        self._folder = folder

    @property
    def url(self) -> str:
        """Base URL of its endpoint."""
        return f"http://{HOST}:{self._launch.port}"

    @property
    def log_path(self) -> str:
        """Path of its log, for the reader."""
        return shown(self._process.log_path())

    @property
    def rows_path(self) -> str:
        """Path of the raw rows, for the reader."""
        return shown(self._folder / ROWS)

    @property
    def pid(self) -> int:
        """Process id of its engine, which is also its group's."""
        return self._process.pid

    def wait(self, on_wait: Callable[[float, str], None]) -> Start:
        """Wait until it is healthy, has ended, or its start budget is used up."""
        return wait_until_healthy(
            self._process,
            HttpHealth(f"{self.url}{self._launch.health_path}"),
            budget_s=self._launch.budgets.start_s,
            looks_like_cause=self._plugin.looks_like_cause,
            clock=time.monotonic,
            sleep=time.sleep,
            on_wait=on_wait,
        )

    def wait_for_end(self) -> int:
        """Wait until it ends by itself, and give its exit code."""
        while self._process.exit_code() is None:
            time.sleep(0.2)
        return self._process.exit_code() or 0

    def ended(self) -> tuple[int, LogLine | None] | None:
        """Give its exit code and the last line of its log that looks like a cause, ``None`` while it runs."""
        code = self._process.exit_code()
        return None if code is None else (code, last_cause(self._process.log(), self._plugin.looks_like_cause))

    def measure(self, workload: Workload, on_progress: Callable[[Progress], None]) -> Run:
        """Run the grid, twice where only the client was at fault; its files are given back as captured."""
        measured, again = self.measure_endpoint(workload, on_progress)
        receipt = write_receipt(measured, self._folder)
        command = f"dayzero bench (build {self._launch.distribution}, workload seed {workload.seed})"
        files = [self._folder / ROWS, *([receipt] if receipt else [])]
        captured = tuple(Captured(name=file.name, content=file.read_bytes(), command=command) for file in files)
        return Run(outcome=measured.outcome, report=measured.report, captured=captured, again=again)

    def measure_endpoint(
        self, workload: Workload, on_progress: Callable[[Progress], None]
    ) -> tuple[EndpointMeasurement, str]:
        """Run the grid, and give what the endpoint was found to be; and why it was run twice, ``""`` where it was not."""
        target = BenchTarget(connection=Connection(url=self.url), model="", folder=self._folder, core=self._spare)
        measured, again = with_second_try(
            lambda sent: measure_endpoint(target, sent, on_progress), workload, self._folder
        )
        found = self.decided()
        report = replace(measured.report, notes=(*measured.report.notes, *found.differences))
        return replace(measured, decided=found, report=report), again

    def decided(self) -> Decided:
        """Say what its log says of its start."""
        log = self._process.log()
        return decided(self._plugin, self._launch, log, log_name=self._process.log_path().name)

    def log(self) -> Captured:
        """Give its log, paths neutralised."""
        text = neutral(self._process.log(), self._folder)
        return Captured(name=self._process.log_path().name, content=text, command=" ".join(self._launch.argv))

    def keep_start(self, recipe: Recipe, start: Healthy) -> Path:
        """Write the record of its start into its folder, and give its path."""
        record = start_record(recipe, start)
        write_whole(self._folder / record.name, record.content)
        return self._folder / record.name

    def diagnose(self) -> Diagnosis:
        """Say what its log names as the cause, as far as it was written."""
        return diagnose(self._process.log())


class LocalWorkbench:
    """The laboratory of this machine. Implements ``bringup.ports.Workbench``.

    Args:
        folder: Folder of the run: launch files, logs and rows go there.
        port: Port to serve on instead of the recipe's; 0 keeps the recipe's.
    """

    def __init__(self, folder: Path, *, port: int = 0) -> None:
        self._folder = folder
        self._port = port

    def audit(self, recipe: Recipe, build: EngineBuild) -> AuditReport:
        """Audit a recipe against a build."""
        return audit_build(recipe, build)

    def fit(self, recipe: Recipe) -> FitReport:
        """Budget a recipe's memory on this machine; its weights are brought here first."""
        return fit_here(recipe)

    @contextlib.contextmanager
    def start(self, recipe: Recipe, build: EngineBuild, log_name: str) -> Iterator[LocalSession]:
        """Start a build with the recipe's launch; it is stopped, with everything it started, when the context ends."""
        chosen = replace(recipe, engine=build, port=self._port or recipe.port)
        launch = launch_of_recipe(chosen)
        require_free_port(HOST, launch.port)
        plugin = engine(build.engine)
        place = self._prepare(plugin, chosen, launch)
        process = ChildProcess(
            _program(launch.argv), _environment(launch, build), place, self._folder / "logs" / log_name
        )
        try:
            spare = spare_core(plugin.asked(launch), os.sched_getaffinity(0))
            process.leave_free(spare)
            yield LocalSession(plugin, launch, process, self._folder, spare=spare)
        finally:
            process.stop(launch.budgets.stop_s)

    def environment(self) -> tuple[tuple[str, str], ...]:
        """Describe this machine now."""
        return environment()

    def _prepare(self, plugin: Engine, recipe: Recipe, launch: LaunchSpec) -> Path:
        place = self._folder / "launch"
        for name, content in plugin.launch_files():
            write_whole(place / name, content)
        if isinstance(launch.model, HubModel):
            with disk_errors(place):
                place.mkdir(parents=True, exist_ok=True)
            return place
        cached = weights_cache(recipe.model)
        weights(recipe.model, cached)
        link = place / "model"
        with disk_errors(link):
            if not link.is_symlink():
                place.mkdir(parents=True, exist_ok=True)
                link.symlink_to(cached.resolve(), target_is_directory=True)
        return place


def spare_core(asked: Iterable[Asked], cores: AbstractSet[int]) -> int | None:
    """Name the core that is kept free for the client: where the launch says how many threads compute, and leaves one.

    Args:
        asked: What the launch asks for.
        cores: Cores of this machine that may be used.
    """
    threads = next((one.value for one in asked if one.name == "n_threads"), "")
    return max(cores) if threads.isdigit() and 0 < int(threads) < len(cores) else None


def bench_package(
    package: Package, folder: Path, on_wait: Callable[[float, str], None], on_progress: Callable[[Progress], None]
) -> EndpointMeasurement:
    """Start a package's engine, measure its workload and stop it.

    Args:
        package: What is started and measured.
        folder: An empty folder for launch files, log and rows.
        on_wait: Told the seconds and the newest line of the log while the engine comes up.
        on_progress: Called after each row.

    Raises:
        RemoteError: The engine did not become healthy.
    """
    recipe = package.recipe
    with LocalWorkbench(new_folder(folder)).start(recipe, recipe.engine, "engine.log") as session:
        start = session.wait(on_wait)
        if not isinstance(start, Healthy):
            said = "; ".join(f"{label}: {text}" for label, text in diagnosed(session.diagnose(), session.log_path))
            raise RemoteError(f"{recipe.engine} did not become healthy; {said}", hint=f"Read {session.log_path}.")
        measured, _ = session.measure_endpoint(package.workload, on_progress)
        return measured


def neutral(text: bytes, folder: Path) -> bytes:
    """Write paths of this machine in a log as what they are: the run's folder, the cache, the home."""
    for path, name in ((folder.resolve(), "RUN"), (cache_folder().resolve(), "CACHE"), (Path.home(), "HOME")):
        text = text.replace(os.fsencode(path), name.encode())
    return text


def _program(argv: tuple[str, ...]) -> tuple[str, ...]:
    """Run ``python3`` as the interpreter of this process, the one for which the build was chosen."""
    return (python_executable(), *argv[1:]) if argv[0] == "python3" else argv


def _environment(launch: LaunchSpec, build: EngineBuild) -> Mapping[str, str]:
    own = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return {**own, **(_of_site(build_store().site(build).resolve()) if build.wheels else {}), **dict(launch.env)}


def _of_site(site: Path) -> Mapping[str, str]:
    """Make a build importable, and its commands found before those of the machine."""
    path = os.pathsep.join((str(site / "bin"), os.environ.get("PATH", os.defpath)))
    return {"PYTHONPATH": str(site), "PYTHONUNBUFFERED": "1", "PATH": path}


def shown(path: Path) -> str:
    """Write a path as the reader types it: relative to the working folder where it is below it."""
    with contextlib.suppress(ValueError):
        return str(path.resolve().relative_to(Path.cwd()))
    return str(path)
