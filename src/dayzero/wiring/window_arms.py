"""The two arms of a comparison on this machine: servers that run already, or packages that are started for it."""

import errno
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias, assert_never

from dayzero.adapters.disk import disk_errors
from dayzero.adapters.openai_http import Connection, parse_address
from dayzero.adapters.processes import free_port
from dayzero.bench.model import Progress
from dayzero.bench.windows.model import Label, Served, Silent, Taken, Window
from dayzero.bench.windows.take import take
from dayzero.core.errors import InputError, RemoteError
from dayzero.core.package import Package
from dayzero.core.workload import Cell, Workload
from dayzero.serve.model import Died, Healthy, LogLine, TimedOut
from dayzero.wiring import definitions
from dayzero.wiring.endpoint import measure_endpoint
from dayzero.wiring.laboratory import HOST, LocalSession, LocalWorkbench
from dayzero.wiring.look import BenchTarget, Looked, look_at
from dayzero.wiring.run_files import write_receipt

WINDOWS = "windows"

_SCHEMES = ("http://", "https://")
_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EACCES, errno.EPERM, errno.EROFS})


@dataclass(frozen=True, slots=True, kw_only=True)
class RunningArm:
    """A server that runs already.

    Attributes:
        connection: How it is reached.
        model: The model to ask for, ``""`` for the only one.
    """

    connection: Connection
    model: str = ""

    def __str__(self) -> str:
        return f"{self.connection.url} {self.model}".rstrip()


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageArm:
    """A package whose engine is started for the comparison.

    Attributes:
        package: Its definition; its own workload is not used, since both arms get the same.
        connection: How its endpoint is reached, but for the address.
    """

    package: Package
    connection: Connection = field(default_factory=lambda: Connection(url=""))

    def __str__(self) -> str:
        return f"{self.package.name} ({self.package.recipe.engine})"


Arm: TypeAlias = RunningArm | PackageArm


@dataclass(frozen=True, slots=True)
class Waiting:
    """Who is told of each wait for health (seconds and newest line of the log), and how far a window has come."""

    on_wait: Callable[[float, str], None]
    on_progress: Callable[[Progress], None]


def arm(text: str, connection: Connection, model: str) -> Arm:
    """Read an arm as the user names it: an address, or a package by its name, folder or file.

    Args:
        text: The user's word.
        connection: How an endpoint is reached, but for its address.
        model: The model to ask for; a package has its own.

    Raises:
        InputError: It is neither, or a package is given a model.
    """
    if text.startswith(_SCHEMES):
        parse_address(text)
        return RunningArm(connection=replace(connection, url=text), model=model)
    if model:
        raise InputError(f"{text!r} is a package, and serves its own model", hint="Leave the model's option out.")
    return PackageArm(package=definitions.package(text), connection=connection)


class LocalArms:
    """The arms of one comparison. Implements ``bench.windows.ports.Arms``.

    Args:
        arms: What they are.
        folder: Folder of the comparison.
        waiting: Who is told.
        restarts: Whether each window starts its arm anew, and stops it.

    Attributes:
        found: What each arm was found to be.
        again: Names of the windows that were taken a second time.
    """

    def __init__(self, arms: Mapping[Label, Arm], folder: Path, waiting: Waiting, *, restarts: bool) -> None:
        self.found: dict[Label, Served] = {label: Served(given=str(one)) for label, one in arms.items()}
        self._arms = arms
        self._folder = folder
        self._waiting = waiting
        self._restarts = restarts
        self.again: list[str] = []
        self._looked: dict[Label, Looked] = {}
        self._up: dict[Label, LocalSession] = {}
        self._held = ExitStack()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._held.close()

    def measure(self, window: Window, cell: Cell) -> Taken | Silent:
        """Measure one window; an arm that is not up is started first."""
        match self._arms[window.arm]:
            case RunningArm() as running:
                return self._measure(window, cell, running.connection, running.model)
            case PackageArm() as packaged if self._restarts:
                with self._started(window, packaged) as started:
                    return self._measured(window, cell, packaged, started)
            case PackageArm() as packaged:
                up = self._up.get(window.arm) or self._hold(window.arm, packaged)
                return self._measured(window, cell, packaged, up)
            case never:
                assert_never(never)

    def _hold(self, label: Label, packaged: PackageArm) -> LocalSession | Silent:
        """Start an arm that stays up until the comparison ends."""
        started = self._try(label, packaged, self._held, "engine.log")
        others = [other for other in self._up if other != label]
        if isinstance(started, Silent) and others:
            # What ended it can be the other one: memory, a device, a port. Alone, it is its own fault.
            self._held.close()
            self._up.clear()
            with ExitStack() as alone:
                again = self._try(label, packaged, alone, "engine-alone.log")
            if isinstance(again, LocalSession):
                raise InputError(
                    f"{label} serves, but not while {others[0]} is up: {started.reason}",
                    hint="Compare them with --one-at-a-time.",
                )
            return again
        if isinstance(started, LocalSession):
            self._up[label] = started
        return started

    def _try(self, label: Label, packaged: PackageArm, stack: ExitStack, log_name: str) -> LocalSession | Silent:
        recipe = packaged.package.recipe
        port = free_port(HOST) if self._up or not recipe.port else recipe.port
        bench = LocalWorkbench(self._folder / f"arm-{label}", port=port)
        session = stack.enter_context(bench.start(recipe, recipe.engine, log_name))
        start = session.wait(self._waiting.on_wait)
        return session if isinstance(start, Healthy) else _silent(label, start, session)

    @contextmanager
    def _started(self, window: Window, packaged: PackageArm) -> Iterator[LocalSession | Silent]:
        with ExitStack() as stack:
            yield self._try(window.arm, packaged, stack, f"{window.name}.log")

    def _measured(
        self, window: Window, cell: Cell, packaged: PackageArm, session: LocalSession | Silent
    ) -> Taken | Silent:
        if isinstance(session, Silent):
            return session
        decided = session.decided()
        self.found[window.arm] = replace(
            self.found[window.arm], dispatched=decided.dispatched, start_phases=decided.start_phases
        )
        taken = self._measure(window, cell, replace(packaged.connection, url=session.url), "")
        ended = session.ended()
        if ended is None:
            return taken
        code, cause = ended
        died = Silent(arm=window.arm, reason=f"died under load with exit code {code}", proven=True)
        return _with_cause(died, cause, session)

    def _measure(self, window: Window, cell: Cell, connection: Connection, model: str) -> Taken | Silent:
        place = BenchTarget(connection=connection, model=model, folder=self._folder / WINDOWS / window.name)
        workload = Workload(seed=window.prompt_seed, cells=(cell,), nonce=window.nonce)
        with disk_errors(place.folder):
            place.folder.mkdir(parents=True)
        if window.again:
            self.again.append(window.name)
        try:
            looked = self._look(window.arm, connection, model)
            measured = measure_endpoint(place, workload, self._waiting.on_progress, looked=looked)
        except RemoteError as error:
            if isinstance(error.__cause__, OSError) and error.__cause__.errno in _DISK:
                raise
            return Silent(arm=window.arm, reason=error.message)
        self.found[window.arm] = replace(
            self.found[window.arm], model=measured.found.how.model, engine=measured.found.engine
        )
        write_receipt(measured, place.folder)
        rows = measured.outcome.rows
        if not any(row.ok for row in rows):
            errors = [row.error for row in rows] or ["nothing was sent"]
            return Silent(arm=window.arm, reason=f"no request came whole; most often: {max(errors, key=errors.count)}")
        return take(window, cell, rows, report=measured.report)

    def _look(self, label: Label, connection: Connection, model: str) -> Looked:
        """Look at an arm once; one that starts anew for each window may stand elsewhere each time."""
        if self._restarts or label not in self._looked:
            self._looked[label] = look_at(connection, model)
        return self._looked[label]


def _silent(label: Label, start: Died | TimedOut, session: LocalSession) -> Silent:
    match start:
        case Died(seconds=seconds, exit_code=code):
            found = Silent(arm=label, reason=f"died after {seconds:.2f} s with exit code {code}", proven=True)
        case TimedOut(seconds=seconds):
            found = Silent(arm=label, reason=f"was not healthy within {seconds:.0f} s, its start budget")
    return _with_cause(found, start.root, session)


def _with_cause(silent: Silent, cause: LogLine | None, session: LocalSession) -> Silent:
    if cause is None:
        return replace(silent, log=session.log_path)
    return replace(silent, cause=cause.text.strip(), log=f"{session.log_path}:{cause.number}")
