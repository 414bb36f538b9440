"""Rules about the client: did it send in time, and did it see when what it received arrived?"""

from typing import Final

from dayzero.bench.metrics import DISPATCH_LAG, minimum_sample, percentile, sample
from dayzero.bench.metrics.arrival import WIDE_NS, unsure_by_ns
from dayzero.bench.model import Aborted
from dayzero.bench.rule import CellCase, CellRule, Finding, RunCase, RunRule, broken, kept, untold
from dayzero.core.workload import ClosedLoop

_P50, _P90, _P95, _P99 = 50, 90, 95, 99
_LAG_MS: Final = 1.0
_DISPATCH_SHARE: Final = 0.02
_LAG_SHARE: Final = 0.05  # the stamps are the kernel's, so a lag falsifies nothing before reads coalesce
_WAITED_SHARE: Final = 0.10
_SHORTEST_S: Final = 1.0
_CENSORED_SHARE: Final = 0.05
_TOGETHER_SHARE: Final = 0.50
_CLOCK_NS: Final = 200_000
_NS_PER_MS: Final = 1_000_000


def _ended(case: RunCase) -> Finding:
    if isinstance(case.ending, Aborted):
        return broken("early", f"the run ended early: {case.ending.reason}")
    return kept("complete")


def _dispatch(case: CellCase) -> Finding | None:
    if isinstance(case.cell.load, ClosedLoop):
        return None
    lags = sample(DISPATCH_LAG, case.measured).values
    if not lags:
        return untold("no request was sent by the schedule")
    late, limit = percentile(lags, _P99), _limit_ms(case, _DISPATCH_SHARE)
    measured, bound = f"{late:.3f} ms", f"at most {limit:.3f} ms"
    if late <= limit:
        return kept(measured, bound=bound)
    reason = f"requests were sent {late:.1f} ms after they were due at p99, {limit:.1f} ms is allowed: raise the cap or slow down"
    return broken(measured, reason, bound=bound)


def _lag(case: CellCase) -> Finding:
    lags = case.client.lag_ms
    if not lags:
        return untold("without kernel stamps the client cannot say how late its own are")
    late, limit = percentile(lags, _P99), _limit_ms(case, _LAG_SHARE)
    measured, bound = f"{late:.3f} ms", f"at most {limit:.3f} ms"
    if late <= limit:
        return kept(measured, bound=bound)
    # One pause can hit several of few reads: those are judged by the highest percentile that they certify.
    p = next((p for p in (_P99, _P95, _P90) if len(lags) >= minimum_sample(p)), _P50)
    certain = percentile(lags, p)
    if certain <= limit:
        return untold(
            f"{len(lags)} reads are too few to tell whether the client was late at p99: p{p} is {certain:.2f} ms"
        )
    reason = (
        f"the client had what arrived {certain:.1f} ms late at p{p}, {limit:.1f} ms is allowed: "
        "give it a core of its own, or more processes"
    )
    return broken(f"{certain:.3f} ms", reason, bound=bound)


def _censored(case: CellCase) -> Finding:
    seen = [row for row in case.whole if row.content_ns]
    wide = sum(unsure_by_ns(row, 0) > WIDE_NS for row in seen)
    measured = f"{wide} of {len(seen)}"
    if wide <= _CENSORED_SHARE * len(seen):
        return kept(measured)
    reason = f"the first content of {measured} requests came together with more, and when is not known within 0.5 ms"
    return broken(measured, reason)


def _apart(case: CellCase) -> Finding:
    chunks = sum(len(row.content_ns) for row in case.whole)
    together = sum(len(row.censored) for row in case.whole)
    measured = f"{together} of {chunks}"
    if together <= _TOGETHER_SHARE * chunks:
        return kept(measured)
    return untold(
        f"{together / chunks:.0%} of the chunks came together with others: "
        "the server writes them so, or something on the way collects them"
    )


def _waited(case: RunCase) -> Finding:
    client = case.client
    if client.window_s < _SHORTEST_S:
        return untold(f"{client.window_s:.2f} s are too short a window to say whether the client had a processor")
    share = client.waited_s / client.window_s
    measured = f"{share:.1%}"
    if share <= _WAITED_SHARE:
        return kept(measured)
    return broken(measured, f"the client waited for a processor in {measured} of the time: give it a core of its own")


def _clock(case: RunCase) -> Finding:
    moved_ms = case.client.clock_moved_ns / _NS_PER_MS
    measured = f"{moved_ms:.3f} ms"
    if case.client.clock_moved_ns <= _CLOCK_NS:
        return kept(measured)
    return broken(
        measured, f"the real-time clock was moved by {moved_ms:.1f} ms during the run, and kernel stamps with it"
    )


def _limit_ms(case: CellCase, share: float) -> float:
    return max(_LAG_MS, share * (case.median_ttft_ms or 0.0))


ENDED: Final = RunRule(id="ended", sentence="The run came to its end.", bound="every cell", check=_ended)
DISPATCH: Final = CellRule(
    id="dispatch-lag",
    sentence="An open loop sends when its schedule says.",
    bound="p99 at most 1 ms, or 2 % of the median time to the first token",
    check=_dispatch,
)
LAG: Final = CellRule(
    id="client-lag",
    sentence="The client has what arrives soon after the kernel has it.",
    bound="p99 at most 1 ms, or 5 % of the median time to the first token",
    check=_lag,
)
CENSORED: Final = CellRule(
    id="censored",
    sentence="It is known when the first content of a request arrived.",
    bound="not within 0.5 ms for at most 5 % of the requests",
    check=_censored,
)
APART: Final = CellRule(
    id="chunks-apart",
    sentence="Chunks come one by one, as they are made.",
    bound="at most 50 % together with others; more is a note",
    check=_apart,
)
WAITED: Final = RunRule(
    id="run-queue",
    sentence="The client has a processor when it needs one.",
    bound="waiting for one at most 10 % of a window of at least 1 s",
    check=_waited,
)
CLOCK: Final = RunRule(
    id="clock",
    sentence="The real-time clock was not set during the run.",
    bound="moved by at most 0.2 ms",
    check=_clock,
)
