"""What the server's side says about a measurement."""

from collections.abc import Mapping
from typing import Final

from dayzero.bench.telemetry.model import ClientSide, Finding, Gauge, Unknown, Window

# Bounds: docs/reference/telemetry.md.
CACHED_SHARE: Final = 0.01
IN_FLIGHT_SHARE: Final = 0.95
FOREIGN_SHARE: Final = 0.02
FOREIGN_TOKENS: Final = 100
ENOUGH_LOOKS: Final = 3


def findings(window: Window | Unknown, client: ClientSide) -> tuple[Finding, ...]:
    """Say what the server's side adds to, or takes from, what the client measured."""
    match window:
        case Unknown(reason=reason):
            return (Finding(rule="telemetry-absent", sentence=f"no server metrics: {reason}", weight="note"),)
        case Window():
            found = (
                _restarted(window),
                _cached(window, client),
                _foreign(window, client),
                _held_back(window, client),
                _preempted(window),
                _throttle(window),
            )
            return tuple(finding for finding in found if finding is not None)


def _restarted(window: Window) -> Finding | None:
    if not window.restarted:
        return None
    return Finding(
        rule="server-restarted", sentence="the server's counters went back: it restarted meanwhile", weight="spoils"
    )


def _cached(window: Window, client: ClientSide) -> Finding | None:
    hits, prompts = window.counted.get("cached_tokens", 0.0), window.counted.get("prompt_tokens", 0.0)
    if client.declares_reuse or hits <= CACHED_SHARE * max(prompts, 1.0):
        return None
    told = "told the client nothing" if client.cached_tokens is None else f"told the client {client.cached_tokens}"
    return Finding(
        rule="server-cache-hits",
        sentence=f"the server took {hits:.0f} prompt tokens out of its prefix cache and {told}",
        weight="spoils",
    )


def _foreign(window: Window, client: ClientSide) -> Finding | None:
    served = window.counted.get("generated_tokens")
    if served is None or client.generated_tokens is None:
        return None
    more = served - client.generated_tokens
    if more <= FOREIGN_TOKENS + FOREIGN_SHARE * client.generated_tokens:
        return None
    return Finding(
        rule="foreign-load",
        sentence=f"the server generated {more:.0f} tokens that this client did not receive: someone else was served",
        weight="spoils",
    )


def _held_back(window: Window, client: ClientSide) -> Finding | None:
    running, waiting = window.gauges.get("requests_running"), window.gauges.get("requests_waiting")
    if running is None or window.scrapes < ENOUGH_LOOKS or running.mean >= IN_FLIGHT_SHARE * client.in_flight:
        return None
    queued = f"; {waiting.mean:.1f} waited in its queue" if waiting is not None else ""
    return Finding(
        rule="server-ran-fewer",
        sentence=f"of {client.in_flight} requests in flight the server ran {running.mean:.1f} on average{queued}",
        weight="note",
    )


def _preempted(window: Window) -> Finding | None:
    count = window.counted.get("preemptions", 0.0)
    if not count:
        return None
    return Finding(
        rule="preemptions",
        sentence=f"the server took {count:.0f} requests back out of the batch for want of cache",
        weight="note",
    )


def _throttle(window: Window) -> Finding | None:
    if not window.throttled:
        return None
    reasons = ", ".join(f"{name} in {share:.0%} of the looks" for name, share in window.throttled.items())
    return Finding(rule="throttled", sentence=f"GPU clocks were held down: {reasons}", weight="note")


def document(window: Window | Unknown) -> Mapping[str, object]:
    """Write a window for a report or a receipt; the fields: docs/reference/telemetry.md."""
    match window:
        case Unknown(reason=reason):
            return {"absent": reason}
        case Window():
            return {
                "scrapes": window.scrapes,
                "seconds": round((window.to_ns - window.from_ns) / 1e9, 3),
                "counted": dict(window.counted),
                "gauges": {name: _figures(gauge) for name, gauge in window.gauges.items()},
                "gpus": {name: _figures(gauge) for name, gauge in window.gpus.items()},
                "throttled": {name: round(share, 4) for name, share in window.throttled.items()},
                "restarted": window.restarted,
            }


def _figures(gauge: Gauge) -> Mapping[str, float]:
    named = {"mean": gauge.mean, "min": gauge.least, "max": gauge.most, "first": gauge.first, "last": gauge.last}
    return {name: round(value, 4) for name, value in named.items()}
