"""Scrapes, windows over them, and what they say about a measurement."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

SCHEMA: Final = "dayzero/telemetry/v1"

# nvml.h, nvmlClocksEventReason*: those that say a clock was held below what the load would have it at.
THROTTLES: Final[Mapping[int, str]] = {
    0x04: "power cap",
    0x08: "hardware slowdown",
    0x20: "software thermal slowdown",
    0x40: "hardware thermal slowdown",
    0x80: "power brake",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One line of a Prometheus exposition."""

    name: str
    labels: tuple[tuple[str, str], ...]
    value: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One look at one GPU.

    Attributes:
        index: Its number on the machine.
        sm_mhz, memory_mhz: Clocks.
        power_w: Power drawn.
        temperature_c: Of the chip.
        memory_used_bytes: Of its memory, by everything on it.
        busy: Share of the time in which a kernel ran, over the driver's last sampling period.
        throttle: NVML's bits of clock event reasons.
    """

    index: int
    sm_mhz: int
    memory_mhz: int
    power_w: float
    temperature_c: int
    memory_used_bytes: int
    busy: float
    throttle: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrape:
    """One line of the recording.

    Attributes:
        at_ns: Just before it was asked, on the monotonic clock of the rows.
        took_ns: Until the answer was whole.
        values: Each series that the server gave, summed over its labels (several engines behind one endpoint).
        gpus: Empty where there are none, or where they are not the server's.
        error: ``""``, or why the server's series are missing.
    """

    at_ns: int
    took_ns: int
    values: Mapping[str, float]
    gpus: tuple[Gpu, ...]
    error: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """A recorded run.

    Attributes:
        scrapes: In order.
        gpu_names: Name of each GPU that was looked at.
        gpus_absent: Why none was, ``""`` where some were.
        cost_s: Processor seconds that the scraping took of the client's.
        set_aside: Lines that could not be read: the last one of a client that was killed.
    """

    scrapes: tuple[Scrape, ...]
    gpu_names: tuple[str, ...]
    gpus_absent: str
    cost_s: float
    set_aside: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """A gauge over a window: its mean, its extremes, and what it was at the window's edges."""

    mean: float
    least: float
    most: float
    first: float
    last: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """What the server said over one window.

    Attributes:
        from_ns, to_ns: The scrapes that enclose the window: counters are counted between these, so that they hold it whole.
        scrapes: How many lie within the window.
        counted: By how much each counter rose.
        gauges: Each gauge.
        gpus: Each figure of each GPU, by ``<index>.<figure>``.
        throttled: Share of the looks at any GPU in which each reason was set.
        restarted: A counter went back: the server began anew, and what was counted is too little.
    """

    from_ns: int
    to_ns: int
    scrapes: int
    counted: Mapping[str, float]
    gauges: Mapping[str, Gauge]
    gpus: Mapping[str, Gauge]
    throttled: Mapping[str, float]
    restarted: bool


@dataclass(frozen=True, slots=True)
class Unknown:
    """The server said nothing over this window.

    Attributes:
        reason: Why.
    """

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that the server's side says about a measurement.

    Attributes:
        rule: Its name.
        sentence: What was seen.
        weight: ``spoils``: the figures are not what they are called; ``note``: the reader should know.
    """

    rule: str
    sentence: str
    weight: Literal["spoils", "note"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientSide:
    """What the client knows of the same window.

    Attributes:
        in_flight: Requests that the cell keeps in flight; 0 for an open loop.
        cached_tokens: Prompt tokens that the server told it came out of a cache; ``None`` where it does not say.
        generated_tokens: Tokens of all answers between the two scrapes, warm-up included; ``None`` where that is not known.
        declares_reuse: The workload shares prefixes on purpose.
    """

    in_flight: int
    cached_tokens: int | None
    generated_tokens: int | None
    declares_reuse: bool
