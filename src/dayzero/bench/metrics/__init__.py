"""The definitions: each metric with its unit, its formula and the stamps that enter it. Nothing else computes a figure.

One class a metric. :data:`DEFINITIONS` names this set of them; a change of any formula is a new name.
"""

from typing import Final

from dayzero.bench.metrics.chunk_gap import ChunkGap
from dayzero.bench.metrics.e2e import E2e
from dayzero.bench.metrics.full_load import achieved_in_flight
from dayzero.bench.metrics.interface import Definition, Figure, Metric, Rate
from dayzero.bench.metrics.itl import Itl
from dayzero.bench.metrics.request_rate import Attainment, Goodput, RequestRate, keeps
from dayzero.bench.metrics.schedule import DispatchLag, ScheduledE2e, ScheduledTtft
from dayzero.bench.metrics.statistics import (
    STATISTICS,
    Sample,
    Summary,
    minimum_sample,
    percentile,
    sample,
    statistic,
    summarise,
)
from dayzero.bench.metrics.token_rate import (
    OutputRate,
    OutputRatePerUser,
    PromptRate,
    output_tok_s,
    output_tok_s_per_user,
)
from dayzero.bench.metrics.tpot import Tpot
from dayzero.bench.metrics.ttfo import Ttfo
from dayzero.bench.metrics.ttft import Ttft
from dayzero.bench.metrics.usage import NO_USAGE

__all__ = [
    "CHUNK_GAP",
    "DEFINITIONS",
    "DISPATCH_LAG",
    "E2E",
    "ITL",
    "METRICS",
    "NO_USAGE",
    "RATES",
    "SCHEDULED_E2E",
    "SCHEDULED_TTFT",
    "STATISTICS",
    "TPOT",
    "TTFO",
    "TTFT",
    "Definition",
    "Figure",
    "Metric",
    "Rate",
    "Sample",
    "Summary",
    "achieved_in_flight",
    "keeps",
    "minimum_sample",
    "output_tok_s",
    "output_tok_s_per_user",
    "percentile",
    "sample",
    "statistic",
    "summarise",
]

DEFINITIONS: Final = "dayzero/bench-definitions/v2"

TTFT: Final = Ttft()
TTFO: Final = Ttfo()
ITL: Final = Itl()
CHUNK_GAP: Final = ChunkGap()
TPOT: Final = Tpot()
E2E: Final = E2e()
SCHEDULED_TTFT: Final = ScheduledTtft()
SCHEDULED_E2E: Final = ScheduledE2e()
DISPATCH_LAG: Final = DispatchLag()

METRICS: Final[tuple[Metric, ...]] = (
    TTFT,
    TTFO,
    ITL,
    CHUNK_GAP,
    TPOT,
    E2E,
    SCHEDULED_TTFT,
    SCHEDULED_E2E,
    DISPATCH_LAG,
)
RATES: Final[tuple[Rate, ...]] = (
    OutputRate(),
    OutputRatePerUser(),
    PromptRate(),
    RequestRate(),
    Goodput(),
    Attainment(),
)
