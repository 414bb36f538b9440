"""What two arms are compared by: the design that is fixed beforehand, the windows, and the answers.

A difference is the natural logarithm of B over A; the edges write it as a share (``exp(x) - 1``).
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from dayzero.bench.metrics import CHUNK_GAP, E2E, ITL, STATISTICS, TPOT, TTFO, TTFT
from dayzero.bench.receipt import Dispatched, StartPhase
from dayzero.core.errors import InputError
from dayzero.core.workload import Cell

Label: TypeAlias = Literal["A", "B"]
Stage: TypeAlias = Literal["rehearsal", "certificate", "comparison"]

FEWEST_PAIRS = 4
_RATES = ("output_tok_s", "output_tok_s_per_user")
_LATENCIES = tuple(metric.name for metric in (TTFT, TTFO, ITL, CHUNK_GAP, TPOT, E2E))


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure of a window.

    Attributes:
        metric: Name of the metric, its unit at the end.
        statistic: One of :data:`dayzero.bench.metrics.STATISTICS` for a latency, ``""`` for a rate.
    """

    metric: str
    statistic: str = ""

    def __str__(self) -> str:
        return f"{self.metric}.{self.statistic}" if self.statistic else self.metric

    @property
    def higher_is_better(self) -> bool:
        """True for a rate."""
        return self.metric in _RATES

    @property
    def percentile(self) -> float | None:
        """Which percentile it is, ``None`` for a mean or a rate."""
        return float(self.statistic[1:]) if self.statistic.startswith("p") else None


SECONDARY = tuple(
    Measure(*names)
    for names in (("output_tok_s",), ("ttft_ms", "p50"), ("ttft_ms", "p99"), ("tpot_ms", "p50"), ("e2e_ms", "p50"))
)
"""The family that is looked at besides the primary measure; Holm's correction is over those of them that the windows carry."""


def parse_measure(text: str) -> Measure:
    """Read a measure as the user types it: ``output_tok_s``, ``ttft_ms.p99``; a latency alone means its median.

    Raises:
        InputError: There is no such measure.
    """
    metric, _, statistic = text.partition(".")
    if metric in _RATES and not statistic:
        return Measure(metric)
    if metric in _LATENCIES and (statistic or "p50") in STATISTICS:
        return Measure(metric, statistic or "p50")
    raise InputError(
        f"no measure is called {text!r}",
        hint=f"Use {' or '.join(_RATES)}, or one of {', '.join(_LATENCIES)} followed by .{', .'.join(STATISTICS)}.",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Design:
    """All that is fixed before the first request.

    Attributes:
        seed: Draws which arm begins, and every prompt.
        cell: The load of one window.
        pairs: Pairs of the comparison; even, so that each order comes equally often and the slot cancels.
        certificate_pairs: Pairs of A against itself before it; even.
        primary: The one measure that decides.
        margin: Share below which a difference does not matter (0.02).
        alpha: Two-sided error of the comparison (0.05).
        certificate_alpha: Two-sided error of the certificate: how often a good instrument is refused.
        restarts: True where each window starts its arm anew.
    """

    seed: int
    cell: Cell
    pairs: int = 8
    certificate_pairs: int = 6
    primary: Measure = SECONDARY[0]
    margin: float = 0.02
    alpha: float = 0.05
    certificate_alpha: float = 0.01
    restarts: bool = False

    def __post_init__(self) -> None:
        for name, count in (("pairs", self.pairs), ("certificate pairs", self.certificate_pairs)):
            if count < FEWEST_PAIRS or count % 2:
                raise InputError(
                    f"{count} {name} cannot be compared", hint=f"Give an even number, {FEWEST_PAIRS} or more."
                )
        if not 0 < self.margin < 1:
            raise InputError(
                f"a margin of {self.margin:.2%} cannot be held", hint="Give a percentage between 0 and 100."
            )
        for level in (self.alpha, self.certificate_alpha):
            if not 0 < level < 1:
                raise InputError(f"{level:g} is no error rate", hint="Give a number between 0 and 1, such as 0.05.")

    @property
    def secondary(self) -> tuple[Measure, ...]:
        """The measures that are looked at besides the primary one."""
        return tuple(measure for measure in SECONDARY if measure != self.primary)


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """One measured stretch of load on one arm.

    Attributes:
        stage: ``rehearsal`` (enters nothing), ``certificate`` or ``comparison``.
        pair: 1-based in its stage.
        slot: 1 for the first half of the pair, 2 for the second.
        label: Under which label its figures count.
        arm: Which arm serves it; in the certificate ``A`` serves both labels.
        prompt_seed: Seed of its prompts: the same in both halves of a pair.
        nonce: Keeps the prompts of a pair's halves apart in a prefix cache.
        again: Whether it is taken a second time.
    """

    stage: Stage
    pair: int
    slot: int
    label: Label
    arm: Label
    prompt_seed: int
    nonce: str
    again: bool = False

    @property
    def name(self) -> str:
        """Name of its folder (``comparison-03-1-B``): in the order of the run when sorted within a stage."""
        return f"{self.stage}-{self.pair:02}-{self.slot}-{self.label}{'-again' if self.again else ''}"

    @property
    def second_try(self) -> "Window":
        """The same once more, with prompts that no cache has seen."""
        return replace(self, nonce=f"{self.nonce}/again", again=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What one window brought.

    Attributes:
        window: Which one.
        figures: Its figures, all above 0.
        missing: Why the window carries no such figure.
        values: One value a request for each latency metric that has them, for the bootstrap.
        invalid_because: Why its figures must not be believed; empty when nothing speaks against them.
        deserves_another: Whether only the client or its machine was at fault.
    """

    window: Window
    figures: Mapping[Measure, float]
    missing: Mapping[Measure, str]
    values: Mapping[str, tuple[float, ...]]
    invalid_because: tuple[str, ...] = ()
    deserves_another: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Silent:
    """An arm that does not serve.

    Attributes:
        arm: Which.
        reason: What was seen (``died after 0.32 s with exit code 1``).
        cause: The last line of its log that looks like a cause; ``""`` where there is no log, or no such line.
        log: Where that stands (``arm-B.log:12``), or the log as a whole; ``""`` where there is none.
        proven: True where its engine was seen to end; False where nothing answered, as behind a mistyped address.
        diagnosis: What triage makes of the log, where somebody asked it.
    """

    arm: Label
    reason: str
    cause: str = ""
    log: str = ""
    proven: bool = False
    diagnosis: Mapping[str, object] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An estimate with its two-sided interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PairRatio:
    """One pair.

    Attributes:
        a, b: The figure under each label.
        log_ratio: ``ln(b / a)``.
        b_first: Whether B's window came first.
    """

    a: float
    b: float
    log_ratio: float
    b_first: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What the pairs say about one measure.

    Attributes:
        effect: Mean log-ratio and its t interval.
        p: Two-sided p of the t test.
        p_sign_flips: Two-sided p of the sign-flip permutation test: a cross-check.
        slot: How much the second window of a pair differs from the first; estimated apart, in no other figure here.
        sd: Spread of a pair's log-ratio, the slot removed.
        minimum_effect: The difference that this many pairs of this spread show 4 times in 5.
    """

    effect: Interval
    p: float
    p_sign_flips: float
    slot: Interval
    sd: float
    minimum_effect: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """One measure over all pairs of a stage."""

    measure: Measure
    pairs: tuple[PairRatio, ...]
    estimate: Estimate


@dataclass(frozen=True, slots=True, kw_only=True)
class Secondary:
    """A measure that does not decide.

    Attributes:
        compared: Its pairs and its estimate; the interval is its own, not corrected.
        p_holm: Its p after Holm's correction.
        bootstrap: The hierarchical studentised bootstrap's interval, for a percentile of which each request has a value.
        holds: Whether it differs at the design's alpha after the correction.
    """

    compared: Compared
    p_holm: float
    bootstrap: Interval | None
    holds: bool


Verdict: TypeAlias = Literal["BETTER", "WORSE", "EQUIVALENT", "INCONCLUSIVE"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """The comparison was made.

    Attributes:
        certificate: A against itself, the primary measure.
        minimum_before: The smallest difference that the comparison was going to find 4 times in 5, from the certificate.
        primary: The comparison itself.
        bootstrap: The bootstrap's interval of the primary measure, where it has one.
        secondary: The other measures.
        left_out: (measure, why) of those that some window does not carry.
        verdict: About B, by the primary measure alone.
    """

    certificate: Compared
    minimum_before: float
    primary: Compared
    bootstrap: Interval | None
    secondary: tuple[Secondary, ...]
    left_out: tuple[tuple[Measure, str], ...]
    verdict: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class InstrumentBad:
    """No difference can be read off this set-up.

    Attributes:
        reasons: Why.
        certificate: A against itself, where it came to that.
    """

    reasons: tuple[str, ...]
    certificate: Compared | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DoesNotServe:
    """An arm does not serve: a result by itself, and no ratio stands beside it."""

    silent: Silent


Result: TypeAlias = Decided | InstrumentBad | DoesNotServe


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """What an arm was found to be.

    Attributes:
        given: As the user named it.
        model: The model that was asked for, ``""`` before it was known.
        engine: The engine that was recognised, ``""`` for none.
        dispatched: What it decided when it started, where its log is at hand.
        start_phases: How its start went.
    """

    given: str
    model: str = ""
    engine: str = ""
    dispatched: tuple[Dispatched, ...] = ()
    start_phases: tuple[StartPhase, ...] = ()
