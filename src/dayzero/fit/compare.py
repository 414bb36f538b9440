"""Put what was predicted beside what a run's own log says, component by component; what was measured then decides."""

from dataclasses import dataclass, replace
from decimal import Decimal

from dayzero.core.quantities import Bytes
from dayzero.core.verdict import Place, Proven, Refuted, Undecided, Verdict
from dayzero.fit.memory_log import GIB, MemoryLog, Quantity, Reading
from dayzero.fit.model import Component, Figure, Report, State

# By how much a prediction may be off: a share of what was measured, and bytes; the larger of the two counts.
WEIGHTS_SHARE, KV_SHARE, ACTIVATION_BYTES = Decimal("0.03"), Decimal("0.10"), GIB // 2
_NOTHING = Decimal(0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One quantity, predicted and actual.

    Attributes:
        name: What it is, in words.
        counted: Whether it is a count, not bytes.
        predicted: What the memory model says; ``None`` where it was not asked or says nothing.
        actual: What the log says; ``None`` where it says nothing.
        line: Where the log says it.
        tolerance: By how much they may differ; ``None`` where the row is shown only.
    """

    name: str
    counted: bool
    predicted: Decimal | None
    actual: Decimal | None
    line: int | None
    tolerance: Decimal | None

    @property
    def error(self) -> Decimal | None:
        """Predicted less actual, as a share of the actual."""
        if self.predicted is None or self.actual is None or self.actual == 0:
            return None
        return (self.predicted - self.actual) / abs(self.actual)

    @property
    def within(self) -> bool | None:
        """Whether it keeps to the tolerance; ``None`` where nothing can be said."""
        if self.predicted is None or self.actual is None or self.tolerance is None:
            return None
        return abs(self.predicted - self.actual) <= self.tolerance


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Rows, and whether the prediction held."""

    log: MemoryLog
    rows: tuple[Row, ...]
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class _Seen:
    value: Decimal
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Allowed:
    """By how much a row may be off: a share of the actual, or bytes."""

    share: Decimal = _NOTHING
    least: Decimal = _NOTHING
    counted: bool = False


_SHOWN = _Allowed()
_WEIGHTS = _Allowed(share=WEIGHTS_SHARE)
_CACHE = _Allowed(share=KV_SHARE)
_COUNT = _Allowed(share=KV_SHARE, counted=True)
_WORKING = _Allowed(least=Decimal(ACTIVATION_BYTES))


def compare(report: Report | None, log: MemoryLog) -> Comparison:
    """Compare a prediction with a log; of several ranks the one that has most weights, and least cache.

    Args:
        report: What was predicted without looking at the log; ``None`` where nothing was.
        log: What the run says.
    """
    rows = tuple(row for row in _rows(report, log) if row.predicted is not None or row.actual is not None)
    return Comparison(log=log, rows=rows, verdict=_held(rows))


def actual_sizes(log: MemoryLog) -> dict[Component, Reading]:
    """Give what each component took on the rank that has most of it."""
    found = {
        Component.WEIGHTS: log.largest(Quantity.WEIGHTS),
        Component.ACTIVATIONS: log.largest(Quantity.ACTIVATIONS),
        Component.GRAPHS: log.largest(Quantity.GRAPHS),
        Component.OTHER: log.largest(Quantity.NON_TORCH) or _beside_weights(log),
        Component.KV_CACHE: log.smallest(Quantity.KV_CACHE),
    }
    return {component: reading for component, reading in found.items() if reading is not None}


def measured_figures(log: MemoryLog, name: str) -> tuple[Figure, ...]:
    """Turn what a log says into figures that replace computed ones.

    Args:
        log: What the run says.
        name: How the log is called in a source.
    """
    return tuple(
        _figure(component, reading, name) for component, reading in actual_sizes(log).items() if reading.value >= 0
    )


def judged(report: Report, log: MemoryLog, name: str) -> Report:
    """Let the run decide: it came up, or it ran out of memory; where it did neither, the report stands."""
    verdict = measured_verdict(log, name)
    match verdict:
        case Proven():
            return replace(_counted(report, log), verdict=verdict, state=State.MEASURED_FITS)
        case Refuted():
            return replace(
                report, verdict=verdict, state=State.MEASURED_DOES_NOT_FIT, kv_tokens=None, max_concurrency=None
            )
        case Undecided():
            return report


def _counted(report: Report, log: MemoryLog) -> Report:
    """Take over what the log counts: tokens, requests, and the context that they are of."""
    tokens, context, requests = kv_tokens(log), log.smallest(Quantity.CONTEXT), log.smallest(Quantity.CONCURRENCY)
    return replace(
        report,
        kv_tokens=report.kv_tokens if tokens is None else int(tokens.value),
        context_tokens=report.context_tokens if context is None else int(context.value),
        max_concurrency=report.max_concurrency if requests is None else float(requests.value),
    )


def measured_verdict(log: MemoryLog, name: str) -> Verdict:
    """Say what a run shows by itself."""
    if log.shortage is not None:
        when = "after it had come up, " if log.started is not None else ""
        place = Place(artifact="", file=name, position=f"line {log.shortage.line}", quote=log.shortage.text)
        return Refuted(f"{when}it ran out of memory: {_short(log.shortage.text)}", (place,))
    if log.started is not None:
        place = Place(artifact="", file=name, position=f"line {log.started}")
        return Proven("it came up and no line says that memory ran out", (place,))
    return Undecided("the log shows neither that it came up nor that memory ran out", (Place(artifact="", file=name),))


_TEXT = 200


def _short(text: str) -> str:
    return text if len(text) <= _TEXT else f"{text[:_TEXT]} [...]"


def _figure(component: Component, reading: Reading, name: str) -> Figure:
    low = max(int(reading.value - reading.rounding), 0)
    return Figure(
        component=component,
        size=Bytes(int(reading.value)),
        low=Bytes(low),
        high=Bytes(int(reading.value + reading.rounding)),
        source=f"{name}:{reading.line}",
        basis="measured",
    )


def _beside_weights(log: MemoryLog) -> Reading | None:
    """Take the weights off what the log gives as weights and non-torch together."""
    consumed, weights = log.largest(Quantity.CONSUMED), log.largest(Quantity.WEIGHTS)
    if consumed is None or weights is None:
        return None
    rounding = consumed.rounding + weights.rounding
    return replace(
        consumed, quantity=Quantity.NON_TORCH, value=max(consumed.value - weights.value, _NOTHING), rounding=rounding
    )


def kv_tokens(log: MemoryLog) -> Reading | None:
    """Give the tokens that the cache holds, from blocks where the log counts those."""
    tokens, blocks = log.smallest(Quantity.KV_TOKENS), log.smallest(Quantity.KV_BLOCKS)
    if tokens is None and blocks is not None:
        return replace(blocks, quantity=Quantity.KV_TOKENS, value=blocks.value * (log.stated.block_size or 16))
    return tokens


def _rows(report: Report | None, log: MemoryLog) -> tuple[Row, ...]:
    actual, predicted = actual_sizes(log), _predicted(report)
    both = (Component.ACTIVATIONS, Component.GRAPHS)
    together = _sum(tuple(actual[part] for part in both if part in actual))
    free, total = log.smallest(Quantity.FREE), log.smallest(Quantity.TOTAL)
    tokens = kv_tokens(log)
    return (
        _row("weights", predicted.get(Component.WEIGHTS), _seen(actual.get(Component.WEIGHTS)), _WEIGHTS),
        _row("activations", predicted.get(Component.ACTIVATIONS), _seen(actual.get(Component.ACTIVATIONS))),
        _row("graphs", predicted.get(Component.GRAPHS), _seen(actual.get(Component.GRAPHS))),
        _row(
            "activations + graphs",
            _both(predicted, both) if together is not None else None,
            together,
            _WORKING,
        ),
        _row("other", predicted.get(Component.OTHER), _seen(actual.get(Component.OTHER))),
        _row("KV cache", predicted.get(Component.KV_CACHE), _seen(actual.get(Component.KV_CACHE)), _CACHE),
        _row(
            "KV tokens",
            Decimal(report.kv_tokens) if report and report.kv_tokens is not None else None,
            _seen(tokens),
            _COUNT,
        ),
        _row(
            "requests at once",
            Decimal(str(report.max_concurrency)) if report and report.max_concurrency is not None else None,
            _seen(log.smallest(Quantity.CONCURRENCY)),
            _COUNT,
        ),
        _row("free before", _free(report), _seen(free)),
        _row("installed", None, _seen(total)),
    )


def _row(name: str, predicted: Decimal | None, actual: _Seen | None, limit: _Allowed = _SHOWN) -> Row:
    judged = actual is not None and bool(limit.share or limit.least)
    allowed = max(limit.share * abs(actual.value), limit.least) if judged and actual is not None else None
    return Row(
        name=name,
        counted=limit.counted,
        predicted=predicted,
        actual=actual.value if actual else None,
        line=actual.line if actual else None,
        tolerance=allowed,
    )


def _predicted(report: Report | None) -> dict[Component, Decimal]:
    if report is None or not report.ranks:
        return {}
    largest = {
        component: max(rank.figure(component).size.count for rank in report.ranks)
        for component in Component
        if component is not Component.KV_CACHE
    }
    smallest = min(rank.figure(Component.KV_CACHE).size.count for rank in report.ranks)
    return {part: Decimal(size) for part, size in (largest | {Component.KV_CACHE: smallest}).items()}


def _both(predicted: dict[Component, Decimal], parts: tuple[Component, ...]) -> Decimal | None:
    return sum((predicted[part] for part in parts), _NOTHING) if all(part in predicted for part in parts) else None


def _sum(readings: tuple[Reading, ...]) -> _Seen | None:
    if len(readings) < 2:  # noqa: PLR2004  (activations and graphs)
        return None
    return _Seen(sum((reading.value for reading in readings), _NOTHING), readings[-1].line)


def _seen(reading: Reading | None) -> _Seen | None:
    return _Seen(reading.value, reading.line) if reading is not None else None


def _free(report: Report | None) -> Decimal | None:
    return Decimal(min(rank.free.count for rank in report.ranks)) if report and report.ranks else None


def _held(rows: tuple[Row, ...]) -> Verdict:
    judged_rows = [row for row in rows if row.within is not None]
    off = [row for row in judged_rows if not row.within]
    if off:
        return Refuted("off by more than the tolerance: " + ", ".join(row.name for row in off))
    if not judged_rows:
        return Undecided("nothing that was predicted stands in the log too")
    return Proven("within the tolerance: " + ", ".join(row.name for row in judged_rows))
