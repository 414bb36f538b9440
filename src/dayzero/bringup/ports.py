"""What a bring-up needs from outside: a workbench, a started engine, and someone to tell the story to."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

from dayzero.audit.model import Report as AuditReport
from dayzero.bench.model import Progress
from dayzero.bringup.model import Captured, Run
from dayzero.core.pins import EngineBuild
from dayzero.core.recipe import Recipe
from dayzero.core.workload import Workload
from dayzero.fit.model import HostReport as FitReport
from dayzero.serve.model import Start
from dayzero.triage.model import Diagnosis


class Session(Protocol):
    """One engine, started; it is stopped when its context ends."""

    @property
    def url(self) -> str:
        """Base URL of its endpoint."""
        ...

    @property
    def log_path(self) -> str:
        """Path of its log, for the reader."""
        ...

    @property
    def rows_path(self) -> str:
        """Path of the raw rows, for the reader."""
        ...

    def wait(self, on_wait: Callable[[float, str], None]) -> Start:
        """Wait until it is healthy, has ended, or its start budget is used up."""
        ...

    def measure(self, workload: Workload, on_progress: Callable[[Progress], None]) -> Run:
        """Run the grid; what is received is on disk as it comes. Where only the client was at fault, it is run once more."""
        ...

    def log(self) -> Captured:
        """Give its log, paths neutralised."""
        ...

    def diagnose(self) -> Diagnosis:
        """Say what its log names as the cause, as far as it was written."""
        ...


class Workbench(Protocol):
    """The laboratory's own adapters behind one bench."""

    def audit(self, recipe: Recipe, build: EngineBuild) -> AuditReport:
        """Audit a recipe against a build."""
        ...

    def fit(self, recipe: Recipe) -> FitReport:
        """Budget a recipe's memory on this machine; its weights are brought here first."""
        ...

    def start(self, recipe: Recipe, build: EngineBuild, log_name: str) -> AbstractContextManager[Session]:
        """Start a build with the recipe's launch."""
        ...

    def environment(self) -> tuple[tuple[str, str], ...]:
        """Describe this machine now."""
        ...


class Narrator(Protocol):
    """Hears each step as it happens."""

    def step(self, title: str, subject: str) -> None:
        """A step begins."""
        ...

    def say(self, label: str, text: str) -> None:
        """Something was found."""
        ...

    def waiting(self, seconds: float, line: str) -> None:
        """An engine is coming up."""
        ...

    def measuring(self, progress: Progress) -> None:
        """A row came in."""
        ...
