"""The load under which a recipe is measured."""

from dataclasses import dataclass

from dayzero.core.errors import InputError


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One point of the grid: a closed loop of ``concurrency`` streams.

    Attributes:
        name: Short name, unique in the grid (``c4``).
        concurrency: Requests in flight at once.
        requests: Measured requests.
        warmup_requests: Requests sent before them, kept raw and left out of every figure.
        input_tokens: Prompt tokens of each request, as the server counts them.
        output_tokens: Tokens asked of each request; the engine is told not to stop earlier.
    """

    name: str
    concurrency: int
    requests: int
    warmup_requests: int
    input_tokens: int
    output_tokens: int

    def __post_init__(self) -> None:
        for field in ("concurrency", "requests", "input_tokens", "output_tokens"):
            if getattr(self, field) < 1:
                raise InputError(
                    f"{field} must be at least 1 in cell {self.name!r}", hint="Give a positive whole number."
                )
        if self.warmup_requests < 0:
            raise InputError(f"warmup_requests must not be negative in cell {self.name!r}", hint="Give 0 or more.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A grid of cells, run in order, with one seed for all prompts."""

    seed: int
    cells: tuple[Cell, ...]

    def __post_init__(self) -> None:
        names = [cell.name for cell in self.cells]
        if not names:
            raise InputError("a workload needs at least one cell", hint="Add a [[workload.cells]] table.")
        if len(set(names)) != len(names):
            raise InputError(f"cell names are not unique: {', '.join(names)}", hint="Give each cell its own name.")
