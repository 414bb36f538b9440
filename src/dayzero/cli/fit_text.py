"""Print an answer about memory: the verdict with its margin first, then the bars, the figures, and what would make it fit."""

import shutil
import sys
import textwrap
from collections.abc import Iterator, Sequence
from decimal import Decimal

from dayzero.core.quantities import Bytes
from dayzero.core.verdict import Proven
from dayzero.fit.bar import LETTERS, WORDS, bar, full_width
from dayzero.fit.cheapest import described, spread
from dayzero.fit.compare import Comparison, Row
from dayzero.fit.document import notes, verdict_name
from dayzero.fit.memory_log import GIB
from dayzero.fit.model import Component, Figure, RankBudget, Report, State
from dayzero.fit.sweep import Swept
from dayzero.wiring.fit import Answer, WaysOut

_LABEL = 14
_BAR = 60
_MOST_ROWS = 40
_HUNDRED = 100
_NARROWEST = 60
_VERDICTS = {"fits": "FITS", "does-not-fit": "DOES NOT FIT", "undecided": "UNDECIDED"}


def answer_lines(found: Answer, ways: WaysOut, *, log: str, explain: bool) -> Iterator[str]:
    """Write an answer.

    Args:
        found: The answer.
        ways: What would make it fit.
        log: What the log that was compared is called.
        explain: Whether to write the formulas.
    """
    report = found.report
    parts = (report.verdict.reason, _margin(report), _capacity(report))
    yield f"{_VERDICTS[verdict_name(report.verdict)]}: {'; '.join(filter(None, parts))}"
    yield from _row("model", _model(found))
    yield from _row("", "; ".join(str(place) for place in report.verdict.places) if not report.ranks else "")
    yield from _bars(report)
    yield from _figures(report)
    yield from _row("measured", found.evidence)
    for difference in found.differences if found.comparison is None else ():
        yield from _row("differs", f"{difference}: the filed log is of another run, so it does not decide")
    for note in notes(report):
        yield from _row("note", note)
    for advisory in report.advisories:
        yield from _row("careful", advisory)
    yield from _ways_out(report, ways)
    if found.comparison is not None:
        yield from _comparison(found.comparison, found.differences, log)
    if explain:
        yield from _formulas(found.predicted or report)


def sweep_lines(name: str, engine: str, rows: Sequence[Swept]) -> Iterator[str]:
    """Write a sweep as one table, what fits first and the cheapest of it at the top."""
    fits = sum(isinstance(row.report.verdict, Proven) for row in rows)
    yield f"{name} with {engine}: {fits} of {len(rows)} ways fit; sorted by GPU memory taken up"
    if not rows:
        return
    table: list[tuple[str, ...]] = [
        ("", "system", "spread", "GPU memory", "weights", "to spare", "KV tokens", "at once")
    ]
    table += [_swept(row) for row in rows[:_MOST_ROWS]]
    yield from _aligned(table)
    if len(rows) > _MOST_ROWS:
        yield f"and {len(rows) - _MOST_ROWS} more (--output-format json gives all)"


def _swept(row: Swept) -> tuple[str, ...]:
    report = row.report
    return (
        verdict_name(report.verdict),
        row.plan.system.name,
        spread(row.plan),
        f"{row.cost / GIB:.0f} GiB",
        "-" if row.weights_gib is None else f"{row.weights_gib:.2f}",
        f"{report.headroom / GIB:.2f}" if report.ranks else "-",
        "-" if report.kv_tokens is None else f"{report.kv_tokens:,}",
        "-" if report.max_concurrency is None else f"{report.max_concurrency:.2f}",
    )


def _row(label: str, text: str) -> Iterator[str]:
    if text:
        yield f"{label:<{_LABEL}}{text}"


def _capacity(report: Report) -> str:
    """Say what the cache holds, in tokens and in requests."""
    if report.kv_tokens is None or report.max_concurrency is None:
        return ""
    requests = f"{report.max_concurrency:.2f} requests of {report.context_tokens:,} tokens at once"
    return f"{report.kv_tokens:,} tokens of KV cache, {requests}"


def _margin(report: Report) -> str:
    """Give the headroom where the reason is a run's and does not name it."""
    if not report.ranks or report.state not in {State.MEASURED_FITS, State.MEASURED_DOES_NOT_FIT}:
        return ""
    return f"{abs(report.headroom) / GIB:.2f} GiB {'to spare' if report.headroom >= 0 else 'short'} with one request"


def _model(found: Answer) -> str:
    plan = found.plan
    if plan is None:
        return found.name
    checkpoint = plan.checkpoint
    shards = f" in {checkpoint.shards} files" if checkpoint.shards else ""
    basis = {"headers": "read from its files", "index": "from its index", "config": "worked out from config.json alone"}
    return (
        f"{found.name}, {checkpoint.size}{shards}, {basis[checkpoint.basis.value]}; {described(plan)}; "
        f"{found.engine} {plan.version}; {found.report.state.value}"
    )


def _bars(report: Report) -> Iterator[str]:
    if not report.ranks:
        return
    full = full_width(report.ranks)
    for rank in report.ranks:
        many = f" x {rank.count}" if rank.count > 1 else ""
        yield ""
        yield f"{rank.rank}{many}: {_gib(rank.free)} GiB free, {_gib(rank.limit)} may be used"
        yield f"  {bar(rank, width=_BAR, full=full)}"
    legend = "  ".join(f"{letter} {WORDS[component]}" for component, letter in LETTERS.items())
    yield f"  {legend}  . free  | limit"


def _figures(report: Report) -> Iterator[str]:
    sources: dict[str, int] = {}  # each is said once, below the figures
    for rank in report.ranks:
        yield ""
        low, size, high = rank.needed
        rows: list[tuple[str, ...]] = [(rank.rank, "GiB", "from", "to", "", "")]
        rows += [_figure(WORDS[figure.component], figure, sources) for figure in _ordered(rank)]
        rows.append(_figure("one request", rank.request, sources))
        rows.append(("needed", _gib(size), _gib(low), _gib(high), "all but the cache, with one request", ""))
        rows.append(("free", _gib(rank.free), "", "", "before the engine starts", _mark(rank.free_source, sources)))
        low, high = sorted((rank.limit_low, rank.limit_high))
        rows.append(("may be used", _gib(rank.limit), _gib(low), _gib(high), "", ""))
        rows.append(("headroom", f"{rank.headroom / GIB:.2f}", "", "", "with one request", ""))
        yield from _aligned(rows)
    width = max(shutil.get_terminal_size().columns, _NARROWEST) if sys.stdout.isatty() else 0
    for source, number in sources.items():
        text = f"  [{number}] {source}"
        yield from textwrap.wrap(text, width, subsequent_indent="      ", break_long_words=False) if width else (text,)


def _mark(source: str, sources: dict[str, int]) -> str:
    return f"[{sources.setdefault(source, len(sources) + 1)}]" if source else ""


def _ordered(rank: RankBudget) -> tuple[Figure, ...]:
    return tuple(rank.figure(component) for component in Component)


def _figure(name: str, figure: Figure, sources: dict[str, int]) -> tuple[str, ...]:
    sizes = (_gib(figure.size), _gib(figure.low), _gib(figure.high))
    return (name, *sizes, figure.basis, _mark(figure.source, sources))


def _ways_out(report: Report, ways: WaysOut) -> Iterator[str]:
    if isinstance(report.verdict, Proven) or not report.ranks:
        return
    yield ""
    if not ways.changes:
        yield from _row("cheapest", "no change of settings on these GPUs makes it fit")
    for place, remedy in enumerate(ways.changes):
        costs = f"gives up {remedy.costs}; {_left(remedy.report)}"
        yield from _row("cheapest" if place == 0 else "or", f"{remedy.words}  ({costs})")
    if ways.smallest is not None:
        yield from _row("smallest", f"{ways.smallest.words} fits ({_left(ways.smallest.report)})")
    else:
        yield from _row("smallest", "it fits on none of the known systems up to four nodes of eight")


def _left(report: Report) -> str:
    parts = [f"{report.headroom / GIB:.2f} GiB to spare"]
    if report.max_concurrency is not None:
        parts.append(f"{report.max_concurrency:.2f} requests of {report.context_tokens:,} tokens")
    return ", ".join(parts)


def _comparison(comparison: Comparison, differences: Sequence[str], log: str) -> Iterator[str]:
    stated = comparison.log.stated
    yield ""
    yield f"beside {log} ({comparison.log.engine} {stated.version or 'of unknown version'}, {stated.model or 'model not named'})"
    rows: list[tuple[str, ...]] = [("", "predicted", "actual", "error", "", "line")]
    rows += [_compared(row) for row in comparison.rows]
    yield from _aligned(rows)
    yield from _row("prediction", comparison.verdict.reason)
    for difference in differences:
        yield from _row("differs", f"{difference}: the log is of another run, so it does not decide")


def _compared(row: Row) -> tuple[str, ...]:
    error = "" if row.error is None else f"{float(row.error) * _HUNDRED:+.1f} %"
    held = {True: "within", False: "OFF", None: ""}[row.within]
    if row.tolerance is not None and held:
        held += f" {_amount(row.tolerance, counted=row.counted)}"
    values = (_amount(value, counted=row.counted) for value in (row.predicted, row.actual))
    return (row.name, *values, error, held, str(row.line or ""))


def _amount(value: Decimal | None, *, counted: bool) -> str:
    if value is None:
        return "-"
    if not counted:
        return f"{value / GIB:.2f} GiB"
    return f"{value:,.0f}" if value >= _HUNDRED else f"{value:,.2f}"


def _formulas(report: Report) -> Iterator[str]:
    for rank in report.ranks:
        yield ""
        yield f"{rank.rank}: how each figure comes about"
        for formula in rank.formulas:
            yield f"  {formula.name} = {formula.expression} = {formula.value} ({formula.value.count:,} bytes)"
            yield f"      {formula.source}"
        yield from _placements(rank)


def _placements(rank: RankBudget) -> Iterator[str]:
    """Write the weights of a rank as a table, the sources below it."""
    if not rank.placements:
        return
    sources: dict[str, int] = {}
    table: list[tuple[str, ...]] = [("tensor", "number", "stored GiB", "held GiB", "split", "")]
    table += [
        (
            placement.name,
            f"{placement.number:,}",
            f"{placement.stored.count / GIB:.4f}",
            f"{placement.held.count / GIB:.4f}",
            placement.how,
            _mark(placement.source, sources),
        )
        for placement in rank.placements
    ]
    yield ""
    yield f"{rank.rank}: where the weights go"
    yield from _aligned(table)
    yield from (f"  [{number}] {source}" for source, number in sources.items())


def _gib(size: Bytes) -> str:
    return f"{size.count / GIB:.2f}"


def _aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[place]) for row in rows) for place in range(len(rows[0]))]
    for row in rows:
        cells = [
            cell.rjust(width) if cell[:1].isdigit() or cell[:1] in "+-" else cell.ljust(width)
            for cell, width in zip(row, widths, strict=True)
        ]
        yield f"  {'  '.join(cells)}".rstrip()
