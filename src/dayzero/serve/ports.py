"""What serve needs from outside: a launcher per engine, a running process, and a health probe."""

from pathlib import Path
from typing import Protocol

from dayzero.core.launch import LaunchSpec
from dayzero.core.recipe import Recipe
from dayzero.serve.model import Asked, Resolved, StartPhase


class Launcher(Protocol):
    """Knows how one engine is started and how it words its errors."""

    def launch(self, recipe: Recipe, *, memory_bytes: int) -> LaunchSpec:
        """Write the launch of a recipe, relative to the folder that holds ``model/`` and the engine's launch files."""
        ...

    def launch_files(self) -> tuple[tuple[str, bytes], ...]:
        """Give the files that the launch runs and the build does not carry, as (relative path, content)."""
        ...

    def looks_like_cause(self, line: str) -> bool:
        """Say whether a log line names a cause, rather than the fall that follows one."""
        ...

    def asked(self, launch: LaunchSpec) -> tuple[Asked, ...]:
        """Name what a launch asks for, as far as the engine's log would tell what came of it."""
        ...

    def resolved(self, log: bytes) -> tuple[Resolved, ...]:
        """Read what the log of a start says was resolved; a wording that is not known is missing, never guessed."""
        ...

    def start_phases(self, log: bytes) -> tuple[StartPhase, ...]:
        """Read how long each phase of a start took, as the log says."""
        ...


class EngineProcess(Protocol):
    """One started engine."""

    def exit_code(self) -> int | None:
        """Give the exit code, or ``None`` while it runs."""
        ...

    def log(self) -> bytes:
        """Read everything that it has written so far."""
        ...

    def log_path(self) -> Path:
        """Give the file that holds its log."""
        ...

    def stop(self, budget_s: float) -> int:
        """Ask it to end, kill it and its children after ``budget_s`` seconds, and give the exit code."""
        ...


class Health(Protocol):
    """Asks whether the engine is ready."""

    def ready(self) -> bool:
        """Answer at once; an engine that cannot be reached is not ready."""
        ...
