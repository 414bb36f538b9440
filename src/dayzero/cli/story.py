"""Tell a bring-up as it happens: findings on stdout, the waiting on stderr."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from dayzero.bench.model import Progress as RowsSoFar
from dayzero.cli.console import stderr_console

_LABEL = 12
_COLOURS = {
    "proven": "green",
    "healthy": "green",
    "verified": "green",
    "refuted": "red",
    "died": "red",
    "timed out": "red",
}
_LINE = 100


class ConsoleNarrator:
    """Prints steps and findings; implements ``bringup.ports.Narrator``.

    Args:
        steps: How many steps the whole job has.
        out: Where findings go; standard output by default.
    """

    def __init__(self, steps: int, out: Console | None = None) -> None:
        self._out = out or Console(highlight=False, soft_wrap=True)
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=stderr_console(),
            transient=True,
        )
        self._task: TaskID | None = None
        self._shown = ""
        self._steps = steps
        self._number = 0

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def step(self, title: str, subject: str) -> None:
        """Begin a step."""
        self._clear()
        self._number += 1
        self._out.print(f"\n[bold][{self._number}/{self._steps}] {title}[/bold]  ", end="")
        self._out.print(subject, markup=False)

    def say(self, label: str, text: str) -> None:
        """Print a finding."""
        self._clear()
        colour = _COLOURS.get(label, "default")
        self._out.print(f"  [{colour}]{label:<{_LABEL}}[/{colour}]", end="")
        self._out.print(text, markup=False)

    def waiting(self, seconds: float, line: str) -> None:
        """Show that an engine is coming up, with the newest line of its log."""
        self._show(f"  waiting for health, {seconds:.0f} s: {line[:_LINE]}", done=0, total=None)

    def measuring(self, progress: RowsSoFar) -> None:
        """Show how far a cell has come."""
        failed = f", {progress.failed} failed" if progress.failed else ""
        self._show(f"  measuring {progress.cell}, {progress.phase}{failed}", done=progress.done, total=progress.planned)

    def _show(self, text: str, *, done: int, total: int | None) -> None:
        if self._task is None:
            self._task = self._bar.add_task(text, total=total)
        self._bar.update(self._task, description=text.replace("[", "\\["), completed=done, total=total)

    def _clear(self) -> None:
        if self._task is not None:
            self._bar.remove_task(self._task)
            self._task = None
