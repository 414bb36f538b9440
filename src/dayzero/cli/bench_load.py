"""The options that say what is sent, shared by the commands that measure."""

import math
import os
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Final

import cyclopts

from dayzero.bench.traces import TraceFormat, parse_trace
from dayzero.core.errors import InputError
from dayzero.core.workload import (
    Arrival,
    Cell,
    ClosedLoop,
    Constant,
    Poisson,
    Ramp,
    Replay,
    Slo,
    Spacing,
    Workload,
    with_nonce,
)
from dayzero.core.workload import Load as CellLoad

_SEED_BYTES: Final = 4
_FEWEST_REQUESTS: Final = 32
_ROUNDS: Final = 4
_SECONDS: Final = 10
_CAP: Final = 512
_KNEE: Final = "knee"


@cyclopts.Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """What is sent.

    Attributes:
        concurrency: Requests in flight at once, or conversations at once (a closed loop); 1 when left out.
        requests: Measured requests (p50 needs 11, p90 64, p99 662); 4 a stream, 10 s of a rate or a whole trace when left out.
        warmup: Requests before them that enter no figure; one a stream or 1 s of a rate when left out.
        input_tokens: Prompt tokens of each request, as the server counts them; in a conversation, of what each turn adds.
        output_tokens: Tokens asked of each request.
        seed: Seed of prompts and arrivals; a new one each time when left out, so that no prefix cache can know them.
        rate: Requests per second, whether or not earlier ones were answered (an open loop).
        arrivals: How the requests of a rate are spaced; poisson when left out.
        max_in_flight: The most requests in flight under a rate or a trace, 512 when left out; one held back is sent late.
        ramp_to: Rate that --rate moves to, in a straight line.
        ramp_over: Seconds that it takes.
        sweep: Levels to measure in turn, as in 1,2,4: concurrencies, or with --arrivals rates. Or "knee", to search for it.
        trace: File of requests to send with their own times and lengths.
        trace_format: Format of that file.
        speed: 2 replays the trace twice as fast.
        turns: Requests of a conversation, each with everything that was said before.
        think_time: Seconds between an answer and the next turn.
        shared_prefix_tokens: Tokens that all prompts begin with; without them no prefix cache can help.
        slo: Objective of each request, as in ttft_ms=200; also for itl_ms, tpot_ms and e2e_ms. Can be repeated.
    """

    concurrency: int | None = None
    requests: int | None = None
    warmup: int | None = None
    input_tokens: int = 128
    output_tokens: int = 64
    seed: int | None = None
    rate: float | None = None
    arrivals: Spacing | None = None
    max_in_flight: int | None = None
    ramp_to: float | None = None
    ramp_over: float | None = None
    sweep: str | None = None
    trace: Path | None = None
    trace_format: TraceFormat | None = None
    speed: float = 1.0
    turns: int = 1
    think_time: float = 0.0
    shared_prefix_tokens: int = 0
    slo: Annotated[tuple[str, ...], cyclopts.Parameter(negative_iterable=(), consume_multiple=False)] = ()


_CLOSED_ONLY: Final = "Leave it out, or leave out what makes it a rate or a trace."
_TRACE_SAYS: Final = "Leave it out: the trace says it."
_EXCLUDE: Final[tuple[tuple[str, tuple[str, ...], str], ...]] = (
    ("concurrency", ("rate", "arrivals", "trace"), "Give --max-in-flight for the most requests in flight."),
    ("turns", ("rate", "arrivals", "trace"), _CLOSED_ONLY),
    ("trace", ("rate", "arrivals", "ramp_to", "ramp_over", "sweep"), "Give either times of a trace or a rate."),
    ("trace", ("input_tokens", "output_tokens", "shared_prefix_tokens"), _TRACE_SAYS),
    ("sweep", ("ramp_to",), "Give either a sweep or a ramp."),
)
_NEED: Final[tuple[tuple[str, tuple[str, ...], str], ...]] = (
    ("arrivals", ("rate", "sweep"), "Give the rate."),
    ("max_in_flight", ("rate", "arrivals", "trace", "sweep"), "In a closed loop, --concurrency says it."),
    ("ramp_to", ("rate",), "Give the rate that the ramp starts from; 0 is allowed."),
    ("ramp_to", ("ramp_over",), "Give the seconds that the ramp takes."),
    ("ramp_over", ("ramp_to",), "Give the rate that the ramp leads to."),
    ("trace", ("trace_format",), "Give mooncake, azure or jsonl."),
    ("trace_format", ("trace",), "Give the file."),
    ("speed", ("trace",), "Give the file of a trace."),
    ("think_time", ("turns",), "Give the turns of a conversation."),
)


def workload(sent: Load) -> Workload:
    """Turn the options into cells; a sweep of levels has one cell each.

    Raises:
        InputError: Options contradict each other, a value makes no load, the trace cannot be read, or a knee is asked for
            (:func:`dayzero.cli.bench_knee.knee_search`).
    """
    check(sent)
    if asks_for_knee(sent):
        raise InputError("the levels are not known before the knee is found", hint="Give them, as in --sweep 1,2,4.")
    if sent.trace is not None:
        cells: tuple[Cell, ...] = (_trace_cell(sent, sent.trace),)
    elif sent.sweep is not None:
        cells = tuple(_cell_at(sent, level) for level in _levels(sent, sent.sweep))
    elif sent.ramp_to is not None:
        cells = (_ramp_cell(sent),)
    else:
        cells = (_cell_at(sent, first_level(sent)),)
    for cell in cells:
        _require_full(cell)
    return Workload(seed=_seed(sent), cells=cells)


def step_workload(sent: Load, level: float, number: int) -> Workload:
    """Give the workload of one step towards the knee: one cell, its prompts unlike those of any other step.

    Args:
        sent: The options; with a seed, else each step draws its own.
        level: Concurrency or rate.
        number: 0-based number of the step.
    """
    return with_nonce(Workload(seed=_seed(sent), cells=(_cell_at(sent, level),)), f"step {number}")


def check(sent: Load) -> None:
    """Refuse options that contradict each other, or say nothing without another.

    Raises:
        InputError: They do.
    """
    defaults = Load()
    given = {each.name for each in fields(Load) if getattr(sent, each.name) != getattr(defaults, each.name)}
    for name, others, hint in _EXCLUDE:
        for other in others:
            if {name, other} <= given:
                raise InputError(f"{_option(name)} and {_option(other)} contradict each other", hint=hint)
    for name, others, hint in _NEED:
        if name in given and given.isdisjoint(others):
            raise InputError(f"{_option(name)} says nothing on its own", hint=hint)
    start = "rate" if "rate" in given else "concurrency"
    if "sweep" in given and not asks_for_knee(sent) and start in given:
        raise InputError(f"--sweep and {_option(start)} contradict each other", hint="Leave one out.")


def _require_full(cell: Cell) -> None:
    if isinstance(cell.load, ClosedLoop) and cell.turns == 1 and cell.requests < cell.concurrency:
        raise InputError(
            f"{cell.requests} requests never keep {cell.concurrency} streams busy",
            hint="Ask for at least one request a stream, better four.",
        )


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def asks_for_knee(sent: Load) -> bool:
    """Say whether the knee is to be searched for, and no level is known yet."""
    return sent.sweep == _KNEE


def is_open(sent: Load) -> bool:
    """Say whether requests are sent at a rate, whether or not earlier ones were answered."""
    return sent.rate is not None or sent.arrivals is not None


def _seed(sent: Load) -> int:
    return int.from_bytes(os.urandom(_SEED_BYTES)) if sent.seed is None else sent.seed


def first_level(sent: Load) -> float:
    """Give the rate or the concurrency that was asked for."""
    if sent.rate is not None:
        return sent.rate
    return 1 if sent.concurrency is None else sent.concurrency


def _levels(sent: Load, text: str) -> tuple[float, ...]:
    kind = float if is_open(sent) else int
    try:
        levels = tuple(kind(part) for part in text.split(","))
    except ValueError as error:
        raise InputError(
            f"--sweep {text} is no list of {'rates' if is_open(sent) else 'whole numbers'}",
            hint='Give levels as in 1,2,4, or "knee"; with --arrivals they are rates.',
        ) from error
    if any(later <= earlier for earlier, later in pairwise(levels)):
        raise InputError(f"--sweep {text} does not rise", hint="Give each level once, the lowest first.")
    return levels


def _cell_at(sent: Load, level: float) -> Cell:
    if is_open(sent):
        load: CellLoad = Constant(level) if sent.arrivals == "constant" else Poisson(level)
        return replace(
            _cell(sent, f"r{level:g}", requests=math.ceil(_SECONDS * level), warmup=math.ceil(level)),
            concurrency=_cap(sent),
            load=load,
        )
    streams = int(level)
    conversations = max(_ROUNDS * streams, math.ceil(_FEWEST_REQUESTS / max(sent.turns, 1)))
    cell = _cell(sent, f"c{streams}", requests=conversations * sent.turns, warmup=streams * sent.turns)
    return replace(cell, concurrency=streams)


def _ramp_cell(sent: Load) -> Cell:
    start, end, over = sent.rate or 0.0, sent.ramp_to or 0.0, sent.ramp_over or 0.0
    ramp = Ramp(start_per_s=start, end_per_s=end, over_s=over, arrivals=sent.arrivals or "poisson")
    on_ramp = math.ceil((start + end) / 2 * over)
    cell = _cell(sent, f"ramp{start:g}-{end:g}", requests=on_ramp, warmup=0, fewest=1)
    return replace(cell, concurrency=_cap(sent), load=ramp)


def _trace_cell(sent: Load, file: Path) -> Cell:
    warmup = sent.warmup or 0
    most = None if sent.requests is None else warmup + sent.requests
    arrivals = _arrivals(sent, file, most)
    cell = _cell(sent, "trace", requests=0, warmup=0)
    return replace(
        cell,
        concurrency=_cap(sent),
        requests=len(arrivals) - warmup,
        input_tokens=max(round(sum(each.input_tokens for each in arrivals) / len(arrivals)), 1),
        output_tokens=round(sum(each.output_tokens for each in arrivals) / len(arrivals)),
        load=Replay(arrivals, sent.speed),
    )


def _arrivals(sent: Load, file: Path, most: int | None) -> tuple[Arrival, ...]:
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            return parse_trace(lines, sent.trace_format or "jsonl", str(file), most=most)
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: {error}", hint="Give a readable UTF-8 file.") from error


def _cell(sent: Load, name: str, *, requests: int, warmup: int, fewest: int = _FEWEST_REQUESTS) -> Cell:
    """Make a closed loop of one stream with the options that every load has."""
    return Cell(
        name=name,
        concurrency=1,
        requests=max(requests, fewest) if sent.requests is None else sent.requests,
        warmup_requests=warmup if sent.warmup is None else sent.warmup,
        input_tokens=sent.input_tokens,
        output_tokens=sent.output_tokens,
        load=ClosedLoop(),
        turns=sent.turns,
        think_s=sent.think_time,
        shared_prefix_tokens=sent.shared_prefix_tokens,
        slos=tuple(map(_slo, sent.slo)),
    )


def _cap(sent: Load) -> int:
    return _CAP if sent.max_in_flight is None else sent.max_in_flight


def _slo(text: str) -> Slo:
    metric, _, limit = text.partition("=")
    try:
        return Slo(metric, float(limit))
    except ValueError as error:
        raise InputError(f"--slo {text} is no objective", hint="Give it as in ttft_ms=200.") from error
