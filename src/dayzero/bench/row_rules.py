"""Rules that the rows of a cell themselves answer: was everything measured that was planned, as it was planned?"""

from collections.abc import Sequence
from typing import Final

from dayzero.bench.metrics import NO_USAGE, achieved_in_flight
from dayzero.bench.rule import CellCase, CellRule, Finding, broken, kept, untold
from dayzero.core.workload import ClosedLoop, Replay

_CACHED_SHARE: Final = 0.01
_IN_FLIGHT_SHARE: Final = 0.95


def _complete(case: CellCase) -> Finding:
    count, asked = len(case.measured), case.cell.requests
    measured = f"{count} of {asked}"
    return kept(measured) if count >= asked else broken(measured, f"only {count} of {asked} requests were measured")


def _failures(case: CellCase) -> Finding:
    errors = [row.error for row in case.measured if not row.ok]
    measured = f"{len(errors)} of {len(case.measured)}"
    bound = f"at most {case.error_budget:.3%}" if case.error_budget else ""
    if len(errors) <= case.error_budget * len(case.measured):
        return kept(measured, bound=bound)
    most = max(sorted(set(errors)), key=errors.count)
    return broken(measured, f"{measured} requests failed and are in no latency figure; most often: {most}", bound=bound)


def _usage(case: CellCase) -> Finding:
    silent = sum(row.usage is None for row in case.whole)
    measured = f"{silent} of {len(case.whole)} without"
    return broken(measured, NO_USAGE) if silent else kept(measured)


def _prompt_length(case: CellCase) -> Finding:
    planned = [row for row in case.whole if row.exact and row.usage]
    other = [row for row in planned if row.usage and row.usage.prompt_tokens != row.input_tokens]
    measured = f"{len(other)} of {len(planned)} differ"
    if not other:
        return kept(measured)
    counted = _range([row.usage.prompt_tokens for row in other if row.usage])
    asked = _range([row.input_tokens for row in other])
    return broken(
        measured,
        f"{asked} prompt tokens were planned, the server counted {counted} in {len(other)} of {len(case.whole)} requests",
    )


def _output_length(case: CellCase) -> Finding:
    other = [row for row in case.whole if row.usage and row.usage.completion_tokens != row.output_tokens]
    measured = f"{len(other)} of {len(case.whole)} differ"
    if not other:
        return kept(measured)
    made = _range([row.usage.completion_tokens for row in other if row.usage])
    asked = _range([row.output_tokens for row in other])
    return broken(
        measured,
        f"{asked} output tokens were asked, the server made {made} in {len(other)} of {len(case.whole)} requests",
    )


def _cached(case: CellCase) -> Finding | None:
    if case.cell.shared_prefix_tokens or case.cell.turns > 1 or isinstance(case.cell.load, Replay):
        return None
    counted = [row.usage for row in case.whole if row.usage]
    prompt = sum(usage.prompt_tokens for usage in counted)
    cached = sum(usage.cached_tokens or 0 for usage in counted)
    measured = f"{cached} of {prompt} tokens"
    if cached > _CACHED_SHARE * prompt:
        return broken(
            measured,
            f"{cached} of {prompt} prompt tokens came out of the server's prefix cache; use another seed, or restart the server",
        )
    if any(usage.cached_tokens is None for usage in counted):
        return untold("the server does not say how many prompt tokens came out of a cache")
    return kept(measured)


def _in_flight(case: CellCase) -> Finding | None:
    streams = case.cell.concurrency
    if not isinstance(case.cell.load, ClosedLoop) or case.cell.think_s:
        return None
    if case.hole:
        return untold(case.hole.reason)
    achieved = achieved_in_flight(case.rows, streams)
    measured = f"{achieved:.2f} of {streams}"
    if achieved >= _IN_FLIGHT_SHARE * streams:
        return kept(measured)
    return broken(measured, f"only {achieved:.2f} requests were in flight on average, {streams} were asked")


def _range(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return str(low) if low == high else f"{low} to {high}"


COMPLETE: Final = CellRule(id="complete", sentence="Every planned request was measured.", bound="all", check=_complete)
FAILURES: Final = CellRule(
    id="failures", sentence="No request failed; a failed one is in no latency figure.", bound="none", check=_failures
)
USAGE: Final = CellRule(
    id="usage", sentence="The server counted the tokens of every answer.", bound="every whole answer", check=_usage
)
PROMPT_LENGTH: Final = CellRule(
    id="prompt-length",
    sentence="Prompts have the planned length, as the server counts it.",
    bound="every prompt whose length was planned",
    check=_prompt_length,
)
OUTPUT_LENGTH: Final = CellRule(
    id="output-length",
    sentence="Answers have the length that was asked.",
    bound="every whole answer",
    check=_output_length,
)
CACHE: Final = CellRule(
    id="prefix-cache",
    sentence="No prompt came out of a prefix cache, unless the workload shares prefixes.",
    bound="at most 1 % of the prompt tokens",
    check=_cached,
)
IN_FLIGHT: Final = CellRule(
    id="in-flight",
    sentence="As many requests were in flight as the closed loop has streams.",
    bound="at least 95 % of the streams on average, from all started until the last request is sent",
    check=_in_flight,
)

ABOUT_ROWS: Final = (FAILURES, USAGE, PROMPT_LENGTH, OUTPUT_LENGTH, CACHE)
"""Those that need no more than the rows of the measured phase."""
