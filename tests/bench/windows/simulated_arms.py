"""Two arms without a network: log-latency noise of a window and of its requests, from one seed."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from dayzero.bench.windows.model import Compared, Label, Measure, Silent, Taken, Window
from dayzero.core.workload import Cell

RATE, TTFT = Measure("output_tok_s"), Measure("ttft_ms", "p50")
CELL = Cell(name="c2", concurrency=2, requests=60, warmup_requests=2, input_tokens=40, output_tokens=6)


@dataclass
class SimulatedArms:
    """Implements ``bench.windows.ports.Arms`` and ``Listener``.

    Attributes:
        slower: By how much each arm is slower than 50 ms, as a logarithm.
        slot: By how much a second window is slower than a first.
        window_sd, request_sd: Noise, as logarithms.
        spoil: Changes what a window brings.
        seen: (window, cell) in the order in which they came.
    """

    seed: int = 1
    slower: Mapping[Label, float] = field(default_factory=lambda: {"A": 0.0, "B": 0.0})
    slot: float = 0.0
    window_sd: float = 0.01
    request_sd: float = 0.1
    spoil: Callable[[Window, Taken], Taken | Silent] = lambda _, taken: taken
    seen: list[tuple[Window, Cell]] = field(default_factory=list)
    certificates: list[tuple[Compared, float]] = field(default_factory=list)
    begun: list[tuple[str, int, int]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._draws = np.random.default_rng(self.seed)

    def measure(self, window: Window, cell: Cell) -> Taken | Silent:
        self.seen.append((window, cell))
        level = self.slower[window.arm] + self.slot * (window.slot - 1) + self._draws.normal(0, self.window_sd)
        values = 50 * np.exp(level + self._draws.normal(0, self.request_sd, cell.requests))
        rate = cell.concurrency * cell.output_tokens / float(values.mean()) * 1000
        taken = Taken(
            window=window,
            figures={RATE: rate, TTFT: float(np.median(values))},
            missing={},
            values={"ttft_ms": tuple(values.tolist())},
        )
        return self.spoil(window, taken)

    def begins(self, window: Window, number: int, total: int) -> None:
        self.begun.append((window.name, number, total))

    def certified(self, certificate: Compared, minimum_before: float) -> None:
        self.certificates.append((certificate, minimum_before))


def slower_by(percent: float) -> dict[Label, float]:
    return {"A": 0.0, "B": math.log1p(percent / 100)}
