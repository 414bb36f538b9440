"""The load under which a recipe is measured."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, get_args

from dayzero.core.errors import InputError

Spacing: TypeAlias = Literal["constant", "poisson"]

SLO_METRICS: Final = ("ttft_ms", "itl_ms", "tpot_ms", "e2e_ms")
"""Metrics of one request that an objective can bound."""


@dataclass(frozen=True, slots=True)
class ClosedLoop:
    """Each stream sends its next request as soon as it has the answer to its last one."""


@dataclass(frozen=True, slots=True)
class Constant:
    """Requests at even distances, whether or not earlier ones were answered."""

    rate_per_s: float

    def __post_init__(self) -> None:
        _check_rate("rate_per_s", self.rate_per_s)


@dataclass(frozen=True, slots=True)
class Poisson:
    """Requests that know nothing of each other: the gaps between them are exponentially distributed."""

    rate_per_s: float

    def __post_init__(self) -> None:
        _check_rate("rate_per_s", self.rate_per_s)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ramp:
    """A rate that moves in a straight line, and stays at its end.

    Attributes:
        start_per_s: Rate at the beginning; may be 0.
        end_per_s: Rate after ``over_s``.
        over_s: Seconds from the one to the other.
        arrivals: How requests are spaced around that rate.
    """

    start_per_s: float
    end_per_s: float
    over_s: float
    arrivals: Spacing = "constant"

    def __post_init__(self) -> None:
        if self.start_per_s != 0:
            _check_rate("start_per_s", self.start_per_s)
        _check_rate("end_per_s", self.end_per_s)
        if not 0 < self.over_s < math.inf:
            raise InputError(f"over_s must be above 0, not {self.over_s:g}", hint="Give seconds.")
        if self.arrivals not in get_args(Spacing):
            raise InputError(f"no arrivals called {self.arrivals!r}", hint="Give constant or poisson.")


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a chat."""

    role: str
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """One request of a trace.

    Attributes:
        at_s: When it came, in seconds after the trace's first one.
        input_tokens: Length of its prompt; 0 where the trace holds the prompt itself, whose length only the server knows.
        output_tokens: Tokens that were generated.
        session: Conversation that it belongs to, ``""`` for none. Prompts of one session have their beginning in common.
        blocks: Names of the blocks of ``BLOCK_TOKENS`` tokens that its prompt consists of, the last one cut to the length;
            blocks with one name hold the same tokens. Empty where the trace says nothing of the kind.
        prompt: The prompt itself, where the trace holds it: text, or the messages of a chat.
    """

    at_s: float
    input_tokens: int
    output_tokens: int
    session: str = ""
    blocks: tuple[int, ...] = ()
    prompt: str | tuple[Message, ...] = ""

    def __post_init__(self) -> None:
        if not 0 <= self.at_s < math.inf:
            raise InputError(f"a request cannot come at {self.at_s:g} s", hint="Give seconds from 0 on.")
        if self.output_tokens < 1:
            raise InputError(
                f"a request of {self.output_tokens} output tokens measures nothing", hint="Leave it out of the trace."
            )
        if self.input_tokens < (0 if self.prompt else 1):
            raise InputError(
                f"a prompt of {self.input_tokens} tokens cannot be sent", hint="Leave it out of the trace."
            )
        if self.blocks and len(self.blocks) != -(-self.input_tokens // BLOCK_TOKENS):
            raise InputError(
                f"{self.input_tokens} tokens are not {len(self.blocks)} blocks of {BLOCK_TOKENS}",
                hint="Only traces with blocks of that size can be replayed.",
            )


BLOCK_TOKENS: Final = 512
"""Tokens of one block. Source: the traces that Mooncake published (FAST'25)."""


@dataclass(frozen=True, slots=True)
class Replay:
    """Requests with the lengths and at the times of a trace.

    Attributes:
        arrivals: In order of their times.
        speed: 2 halves every gap.
    """

    arrivals: tuple[Arrival, ...]
    speed: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.speed < math.inf:
            raise InputError(f"speed must be above 0, not {self.speed:g}", hint="Give 1 for the trace's own pace.")
        if not self.arrivals:
            raise InputError("a trace without requests cannot be replayed", hint="Give at least one.")
        if any(later.at_s < earlier.at_s for earlier, later in zip(self.arrivals, self.arrivals[1:], strict=False)):
            raise InputError("the requests of the trace are not in order", hint="Sort them by time.")


Load: TypeAlias = ClosedLoop | Constant | Poisson | Ramp | Replay


@dataclass(frozen=True, slots=True)
class Slo:
    """An objective for each request: its metric stays at or below a limit.

    Attributes:
        metric: One of ``SLO_METRICS``.
        limit_ms: The most that it may be, in milliseconds.
    """

    metric: str
    limit_ms: float

    def __post_init__(self) -> None:
        if self.metric not in SLO_METRICS:
            raise InputError(f"no objective for {self.metric!r}", hint=f"Give one of {', '.join(SLO_METRICS)}.")
        if not 0 < self.limit_ms < math.inf:
            raise InputError(f"the limit of {self.metric} must be above 0, not {self.limit_ms:g}", hint="Give ms.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One point of the grid.

    Attributes:
        name: Short name, unique in the grid (``c4``).
        concurrency: Streams of a closed loop, or conversations at once; under any other load the most requests in flight.
        requests: Measured requests.
        warmup_requests: Requests sent before them, kept raw and left out of every figure.
        input_tokens: Prompt tokens of each request, as the server counts them; of the first turn in a conversation, and the
            rounded mean of a replay.
        output_tokens: Tokens asked of each request; the engine is told not to stop earlier. Rounded mean of a replay.
        load: When requests are sent.
        turns: Requests of one conversation; each carries what was said before.
        think_s: Seconds between an answer and the next turn.
        shared_prefix_tokens: Tokens at the beginning that all prompts of the workload have in common, beside what the server
            itself puts there; 0 means that no prefix cache can help.
        slos: What a request has to keep to count as good.
    """

    name: str
    concurrency: int
    requests: int
    warmup_requests: int
    input_tokens: int
    output_tokens: int
    load: Load = ClosedLoop()
    turns: int = 1
    think_s: float = 0.0
    shared_prefix_tokens: int = 0
    slos: tuple[Slo, ...] = ()

    def __post_init__(self) -> None:
        for what, hint in self._faults():
            raise InputError(f"{what} in cell {self.name!r}", hint=hint)

    @property
    def size(self) -> int:
        """All its requests, warm-up and measured."""
        return self.warmup_requests + self.requests

    def _faults(self) -> Iterator[tuple[str, str]]:
        for field in ("concurrency", "requests", "input_tokens", "output_tokens", "turns"):
            if getattr(self, field) < 1:
                yield f"{field} must be at least 1", "Give a positive whole number."
        for field in ("warmup_requests", "shared_prefix_tokens", "think_s"):
            if not 0 <= getattr(self, field) < math.inf:
                yield f"{field} must not be negative", "Give 0 or more."
        if self.shared_prefix_tokens >= self.input_tokens:
            yield "the shared prefix leaves no token of a prompt's own", "Ask for more input_tokens."
        if len({slo.metric for slo in self.slos}) != len(self.slos):
            yield "two objectives for one metric", "Give each metric one limit."
        if self.turns > 1:
            yield from self._conversation_faults()
        elif self.think_s:
            yield "think_s without turns", "Give turns, too."
        if isinstance(self.load, Replay):
            yield from self._replay_faults(len(self.load.arrivals))

    def _conversation_faults(self) -> Iterator[tuple[str, str]]:
        if not isinstance(self.load, ClosedLoop):
            yield (
                "conversations have no rate of their own",
                "Leave the rate out: concurrency says how many go on at once.",
            )
        for field in ("requests", "warmup_requests"):
            if getattr(self, field) % self.turns:
                yield f"{field} is no multiple of {self.turns} turns", "Count whole conversations."

    def _replay_faults(self, arrivals: int) -> Iterator[tuple[str, str]]:
        if self.size != arrivals:
            yield f"{self.size} requests of a trace of {arrivals}", "Give as many requests as the trace has."
        if self.shared_prefix_tokens:
            yield "a shared prefix beside a trace", "Leave it out: the trace says what its prompts share."


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """A grid of cells, run in order.

    Attributes:
        seed: Decides every prompt and every arrival.
        cells: At least one.
        nonce: Sets the prompts apart from those of the same workload under another nonce, see :func:`with_nonce`.
    """

    seed: int
    cells: tuple[Cell, ...]
    nonce: str = ""

    def __post_init__(self) -> None:
        names = [cell.name for cell in self.cells]
        if not names:
            raise InputError("a workload needs at least one cell", hint="Add a [[workload.cells]] table.")
        if len(set(names)) != len(names):
            raise InputError(f"cell names are not unique: {', '.join(names)}", hint="Give each cell its own name.")


def with_nonce(workload: Workload, nonce: str) -> Workload:
    """Give the same requests again in a form that no prefix cache has seen.

    Lengths, arrivals and all but the first few tokens of each prompt stay; those tokens change.
    """
    return replace(workload, nonce=nonce)


def pace_words(cell: Cell) -> str:
    """Say when the requests of a cell are sent, in words that follow a number of requests."""
    cap = f"at most {cell.concurrency} in flight"
    match cell.load:
        case ClosedLoop() if cell.turns > 1:
            pause = f" with {cell.think_s:g} s between them" if cell.think_s else ""
            return f"{cell.concurrency} at once of conversations of {cell.turns} turns{pause}"
        case ClosedLoop():
            return f"{cell.concurrency} in flight"
        case Constant(rate_per_s=rate):
            return f"{rate:g} a second at even distances, {cap}"
        case Poisson(rate_per_s=rate):
            return f"{rate:g} a second as a Poisson process, {cap}"
        case Ramp(start_per_s=start, end_per_s=end, over_s=over):
            return f"{start:g} to {end:g} a second over {over:g} s, {cap}"
        case Replay(speed=speed):
            return f"at the times of a trace, {speed:g} times as fast, {cap}"


def _check_rate(name: str, rate: float) -> None:
    if not 0 < rate < math.inf:
        raise InputError(f"{name} must be above 0, not {rate:g}", hint="Give requests per second.")
