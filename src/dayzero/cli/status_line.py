"""The one line on a terminal that says what is going on; nothing where stderr is no terminal."""

from types import TracebackType
from typing import Self

from rich.console import Console
from rich.status import Status


class StatusLine:
    """Shows a changing text while the block runs.

    Args:
        console: Where it is shown.
        text: What stands there first.

    Attributes:
        shown: Whether there is a terminal to show it on.
    """

    def __init__(self, console: Console, text: str) -> None:
        self.shown = console.is_terminal
        self._status: Status | None = console.status(text) if self.shown else None

    def __enter__(self) -> Self:
        if self._status is not None:
            self._status.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        if self._status is not None:
            self._status.stop()

    def update(self, text: str) -> None:
        """Show another text; brackets in it are no markup."""
        if self._status is not None:
            self._status.update(text.replace("[", "\\["))
