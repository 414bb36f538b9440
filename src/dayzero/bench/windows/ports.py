"""What a comparison needs from outside: arms that can be measured, and somebody who is told."""

from typing import Protocol

from dayzero.bench.windows.model import Compared, Silent, Taken, Window
from dayzero.core.workload import Cell


class Arms(Protocol):
    """The two arms, as they can be reached."""

    def measure(self, window: Window, cell: Cell) -> Taken | Silent:
        """Measure one window, or find that its arm does not serve; what was received is kept either way."""
        ...


class Listener(Protocol):
    """Is told what happens, as it happens."""

    def begins(self, window: Window, number: int, total: int) -> None:
        """Learn that a window begins, which it is and of how many."""
        ...

    def certified(self, certificate: Compared, minimum_before: float) -> None:
        """Learn that A against itself shows no difference, and what the comparison will be able to find."""
        ...
