"""Time a call: events around a CUDA graph or around the calls themselves, or the clock where there is no GPU."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from dayzero.collector.work import Torch, Work

_FLUSH_BYTES = 256 << 20  # more than twice the largest L2 cache of a GPU that is sold today
_ESTIMATES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Method:
    """How a case is timed.

    Attributes:
        warmup: Calls before anything is timed.
        least, most: Samples, at least and at most.
        window_s: Samples are taken until they add up to this, within those bounds.
        sample_us: Time that one sample should take; calls are repeated inside it until they do. The few microseconds between
            an event and a graph's first kernel are spread over them.
        repeats: Calls in one sample, at most.
        flush: Whether the L2 cache is written over before each sample, which then is a single call.
        limit_s: No further sample is taken after this.
    """

    warmup: int = 3
    least: int = 5
    most: int = 200
    window_s: float = 0.04
    sample_us: float = 1000.0
    repeats: int = 128
    flush: bool = False
    limit_s: float = 5.0


@dataclass(slots=True, kw_only=True)
class Timed:
    """What was timed; microseconds for one call."""

    samples_us: list[float] = field(default_factory=list)
    inner_repeats: int = 1
    timing_method: str = "wall"
    used_cuda_graph: bool = False
    l2_state: str = "unknown"
    began_ns: int = 0
    ended_ns: int = 0
    note: str = ""


def measure(torch: Torch | None, work: Work, method: Method) -> Timed:
    """Time a call.

    Ranks that wait for each other line up before each sample, make the same calls, and tell the mean of what each saw, as
    nccl-tests does by default.
    """
    if work.device == "cuda" and torch is not None:
        return _on_gpu(torch, work, method)
    return _on_cpu(work, method)


def _on_cpu(work: Work, method: Method) -> Timed:
    for _ in range(method.warmup):
        work.call()

    def clocked(repeats: int) -> float:
        _line_up(work)
        return _clocked(work.call, repeats)

    once = _agreed(work, min(clocked(1) for _ in range(_ESTIMATES)))
    timed = Timed(inner_repeats=_repeats(once, method), began_ns=time.monotonic_ns())
    _sample(timed, work, method, lambda: clocked(timed.inner_repeats), once)
    return timed


def _line_up(work: Work) -> None:
    if work.ranks is not None:
        work.ranks.line_up()


def _agreed(work: Work, once_us: float) -> float:
    """Give what one call takes, the same number on all ranks: how often each of them calls follows from it."""
    return once_us if work.ranks is None else work.ranks.largest(once_us)


def _clocked(call: Callable[[], object], repeats: int) -> float:
    began = time.perf_counter_ns()
    for _ in range(repeats):
        call()
    return (time.perf_counter_ns() - began) / 1000


def _on_gpu(torch: Torch, work: Work, method: Method) -> Timed:
    for _ in range(method.warmup):
        work.call()
    torch.cuda.synchronize()
    timed = Timed(l2_state="flushed" if method.flush else "warm")
    run = _repeated(torch, work, timed)
    run()
    # in its graph: outside it the host's launches would be timed
    once = _agreed(work, min(_events(torch, work, run) for _ in range(_ESTIMATES)))
    timed.inner_repeats = 1 if method.flush else _repeats(once, method)
    if timed.inner_repeats > 1:
        run = _repeated(torch, work, timed)
        run()
    torch.cuda.synchronize()
    cover = torch.empty(_FLUSH_BYTES, dtype=torch.int8, device="cuda") if method.flush else None

    def sample() -> float:
        if cover is not None:
            cover.zero_()
        return _events(torch, work, run)

    timed.began_ns = time.monotonic_ns()
    _sample(timed, work, method, sample, once)
    return timed


def _repeated(torch: Torch, work: Work, timed: Timed) -> Callable[[], object]:
    """Give something that makes the calls of one sample: a graph of them where the lane allows one."""

    def calls() -> None:
        for _ in range(timed.inner_repeats):
            work.call()

    timed.timing_method = "cuda_event"
    if not work.graph:
        return calls
    graph = torch.cuda.CUDAGraph()
    # a thread of the communicator asks for events meanwhile, which the mode of other lanes takes for an error of this one
    mode = {} if work.ranks is None else {"capture_error_mode": "thread_local"}
    try:
        with torch.cuda.graph(graph, **mode):
            calls()
    except Exception as error:  # noqa: BLE001  (whatever it is, the calls themselves can be timed)
        timed.note = f"no CUDA graph: {type(error).__name__}: {error}"[:300]
        torch.cuda.synchronize()
        return calls
    timed.timing_method, timed.used_cuda_graph = "graph_event", True
    replay: Callable[[], object] = graph.replay
    return replay


def _events(torch: Torch, work: Work, run: Callable[[], object]) -> float:
    began, ended = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    _line_up(work)
    began.record()
    run()
    ended.record()
    ended.synchronize()
    return float(began.elapsed_time(ended)) * 1000


def _repeats(once_us: float, method: Method) -> int:
    return max(1, min(method.repeats, round(method.sample_us / max(once_us, 0.1))))


def _sample(timed: Timed, work: Work, method: Method, sample: Callable[[], float], once_us: float) -> None:
    began, total_us = time.monotonic(), 0.0
    most = method.most if work.ranks is None else _samples(once_us * timed.inner_repeats, method)
    while len(timed.samples_us) < most:
        enough = len(timed.samples_us) >= method.least and total_us >= method.window_s * 1e6
        late = len(timed.samples_us) > 0 and time.monotonic() - began > method.limit_s
        if (enough or late) and work.ranks is None:
            break
        took = sample()
        total_us += took
        timed.samples_us.append(round(took / timed.inner_repeats, 4))
    timed.ended_ns = time.monotonic_ns()
    if work.ranks is not None:
        timed.samples_us = work.ranks.mean(timed.samples_us)


def _samples(sample_us: float, method: Method) -> int:
    """Say how many samples fill the window; ranks settle it beforehand, for none may stop before the others."""
    wanted = min(method.most, max(method.least, math.ceil(method.window_s * 1e6 / sample_us)))
    return max(1, min(wanted, int(method.limit_s * 1e6 / sample_us)))
