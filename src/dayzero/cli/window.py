"""``dayzero window``: does B beat A?"""

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.bench.model import Progress
from dayzero.bench.windows import document
from dayzero.bench.windows.model import (
    Compared,
    Decided,
    Design,
    DoesNotServe,
    InstrumentBad,
    Label,
    Result,
    Secondary,
    Window,
    parse_measure,
)
from dayzero.bench.windows.report import notes, sentences, share, size, span, word
from dayzero.cli.console import stderr_console
from dayzero.cli.endpoint_options import connection
from dayzero.cli.main import FINDINGS, PROVEN, UNDECIDED
from dayzero.cli.output import OutputFormat, print_json
from dayzero.cli.status_line import StatusLine
from dayzero.core.workload import Cell
from dayzero.wiring.window import PLAN, RESULT, Comparison, compare
from dayzero.wiring.window_arms import Arm, Waiting, arm

_SEED_BITS = 32
_LINE = 80
_PERCENT = 100
_REQUESTS, _REQUESTS_A_STREAM = 64, 10


@cyclopts.Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What is fixed before the first request, and written to plan.json.

    Attributes:
        pairs: Pairs of windows of the comparison; even.
        certificate_pairs: Pairs of A against itself before it; even.
        primary: The measure that decides: output_tok_s, or a latency with its statistic (ttft_ms.p50).
        margin: Percentage below which a difference does not matter.
        alpha: Two-sided error of the comparison.
        certificate_alpha: Two-sided error of the certificate: how often a good instrument is refused.
        seed: Draws which arm begins, and the prompts; a new one each time when left out.
        one_at_a_time: Start and stop the engine for each window, for packages that cannot be up at once.
    """

    pairs: int = 8
    certificate_pairs: int = 6
    primary: str = "output_tok_s"
    margin: float = 2.0
    alpha: float = 0.05
    certificate_alpha: float = 0.01
    seed: int | None = None
    one_at_a_time: Annotated[bool, cyclopts.Parameter(negative="")] = False


@cyclopts.Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class WindowLoad:
    """What is sent in each window: the same to both arms.

    Attributes:
        concurrency: Requests in flight at once (a closed loop).
        requests: Measured requests of a window; 64, or 10 a stream, when left out. p99 needs 662.
        warmup: Requests before them that enter no figure; as many as --concurrency when left out.
        input_tokens: Prompt tokens of each request, as the server counts them.
        output_tokens: Tokens asked of each request.
    """

    concurrency: int = 1
    requests: int | None = None
    warmup: int | None = None
    input_tokens: int = 128
    output_tokens: int = 64


@cyclopts.Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """How the servers are reached.

    Attributes:
        model_a: Model to ask A for; the only one that is served when left out.
        model_b: The same for B.
        api_key_env: Environment variable that holds the API key of both.
        timeout: Seconds after which a request counts as failed.
    """

    model_a: str = ""
    model_b: str = ""
    api_key_env: str | None = None
    timeout: float = 600.0


def window(  # noqa: PLR0913  (each argument is one option, or a group of them)
    a: str,
    b: str,
    /,
    *,
    output: Annotated[Path, cyclopts.Parameter(name=["--output", "-o"])] = Path("dayzero-window"),
    output_format: OutputFormat = "text",
    rules: Rules | None = None,
    load: WindowLoad | None = None,
    reach: Reach | None = None,
) -> int:
    """Compare two arms in alternating pairs of windows, after A has been compared with itself.

    Exit 0: the difference was measured and is printed with its interval, whatever the verdict (BETTER, WORSE, EQUIVALENT or
    INCONCLUSIVE, about B). 1: an arm's engine died: it does not serve. 3: INSTRUMENT-BAD (A differs from itself, or a
    window is not valid), or an arm does not answer.

    Args:
        a: The arm to compare with: http://HOST:PORT, or a package by its name, folder or file.
        b: The arm in question.
        output: Folder for the plan, the raw reads and rows of every window, the result and its receipt; it must be empty.
        output_format: How the result is written to stdout.
        rules: What is fixed before the first request.
        load: What is sent in each window.
        reach: How the servers are reached.
    """
    aim, fixed = reach or Reach(), rules or Rules()
    design = _design(fixed, load or WindowLoad())
    reached = connection("", timeout=aim.timeout, api_key_env=aim.api_key_env)
    arms: dict[Label, Arm] = {"A": arm(a, reached, aim.model_a), "B": arm(b, reached, aim.model_b)}
    told = _Told(design, arms, output, text=output_format == "text")
    with told.line:
        found = compare(design, arms, output, told, Waiting(told.waits, told.progresses))
    if output_format == "json":
        print_json(document.of_result(design, found.arms, found.result, again=found.again))
    else:
        _print_result(design, found, output)
    return _exit_code(found.result)


def _exit_code(result: Result) -> int:
    match result:
        case Decided():
            return PROVEN
        case InstrumentBad():
            return UNDECIDED
        case DoesNotServe(silent=silent):
            return FINDINGS if silent.proven else UNDECIDED


def _design(fixed: Rules, sent: WindowLoad) -> Design:
    requests = sent.requests
    cell = Cell(
        name=f"c{sent.concurrency}",
        concurrency=sent.concurrency,
        requests=max(_REQUESTS, _REQUESTS_A_STREAM * sent.concurrency) if requests is None else requests,
        warmup_requests=sent.concurrency if sent.warmup is None else sent.warmup,
        input_tokens=sent.input_tokens,
        output_tokens=sent.output_tokens,
    )
    return Design(
        seed=secrets.randbits(_SEED_BITS) if fixed.seed is None else fixed.seed,
        cell=cell,
        pairs=fixed.pairs,
        certificate_pairs=fixed.certificate_pairs,
        primary=parse_measure(fixed.primary),
        margin=fixed.margin / _PERCENT,
        alpha=fixed.alpha,
        certificate_alpha=fixed.certificate_alpha,
        restarts=fixed.one_at_a_time,
    )


class _Told:
    """Says what happens: progress on stderr; in text, what is known before the comparison on stdout.

    Implements ``bench.windows.ports.Listener``.
    """

    def __init__(self, design: Design, arms: dict[Label, Arm], output: Path, *, text: bool) -> None:
        self._design = design
        self._arms = arms
        self._output = output
        self._text = text
        self._console = stderr_console()
        self.line = StatusLine(self._console, "")
        self._window = ""

    def begins(self, window: Window, number: int, total: int) -> None:
        """Show which window begins; before the first one, print what is compared: the plan stands by then."""
        if number == 1 and self._text:
            self._plan()
        self._window = f"window {number} of {total}: {window.name}"
        self._show("")

    def waits(self, seconds: float, line: str) -> None:
        """Show that an engine is coming up."""
        if self.line.shown:
            self._show(f", waiting for health, {seconds:.0f} s: {line[:_LINE]}")

    def progresses(self, progress: Progress) -> None:
        """Show how far the window has come."""
        if self.line.shown:
            self._show(f", {progress.phase} {progress.done} of {progress.planned}")

    def certified(self, certificate: Compared, minimum_before: float) -> None:
        """Print the certificate and what the comparison will be able to find."""
        if not self._text:
            return
        _print_certificate(certificate)
        print(
            f"before       {self._design.pairs} pairs will find a difference of {size(minimum_before)} 4 times in 5 "
            f"(spread of a pair {size(certificate.estimate.sd)})",
            flush=True,
        )

    def _plan(self) -> None:
        cell, primary = self._design.cell, self._design.primary
        for label, one in self._arms.items():
            print(f"{label}  {one}")
        unit = "a start of its engine" if self._design.restarts else "a window"
        print(
            f"one value is {unit}: {cell.requests} requests after {cell.warmup_requests} of warm-up, "
            f"{cell.concurrency} in flight, {cell.input_tokens} tokens in, {cell.output_tokens} out"
        )
        better = "higher" if primary.higher_is_better else "lower"
        print(
            f"{primary} decides ({better} is better), margin {self._design.margin * _PERCENT:g} %, "
            f"alpha {self._design.alpha:g}, seed {self._design.seed}: fixed in {self._output / PLAN}",
            flush=True,
        )

    def _show(self, more: str) -> None:
        if self.line.shown:
            self.line.update(self._window + more)
        elif not more:
            self._console.print(self._window, markup=False)


def _print_certificate(certificate: Compared) -> None:
    found = certificate.estimate
    print(
        f"certificate  A against itself, {len(certificate.pairs)} pairs: {share(found.effect.value)} "
        f"{span(found.effect)}, p {found.p:.2g}",
        flush=True,
    )


def _print_result(design: Design, found: Comparison, output: Path) -> None:
    result = found.result
    match result:
        case Decided():
            _print_comparison(result)
        case InstrumentBad(certificate=Compared() as certificate) if certificate.estimate.p <= design.certificate_alpha:
            _print_certificate(certificate)
        case InstrumentBad() | DoesNotServe():
            pass
    for note in notes(design, result):
        print(f"note: {note}")
    if found.again:
        print(f"note: taken again for faults of the client alone, as planned: {', '.join(found.again)}")
    print()
    said = sentences(design, result)
    print(f"{word(result)}: {said[0]}")
    for sentence in said[1:]:
        print(f"  {sentence}")
    if isinstance(result, DoesNotServe):
        _print_silent(result)
    print(
        f"kept: {output / RESULT}"
        + (f", {found.receipt}" if found.receipt else "; no receipt for an instrument that is bad")
    )


def _print_comparison(result: Decided) -> None:
    primary = result.primary
    found = primary.estimate
    print(f"\n{primary.measure}, {len(primary.pairs)} pairs")
    print(f"  pair  order  {'A':>12}  {'B':>12}  {'B/A':>9}")
    for number, pair in enumerate(primary.pairs, 1):
        order = "BA" if pair.b_first else "AB"
        print(f"  {number:>4}  {order:<5}  {_figure(pair.a):>12}  {_figure(pair.b):>12}  {share(pair.log_ratio):>9}")
    tests = f"p {found.p:.2g} (t), {found.p_sign_flips:.2g} (sign flips)"
    print(f"difference   B/A {share(found.effect.value)} {span(found.effect)}, {tests}")
    if result.bootstrap is not None:
        print(f"bootstrap    {span(result.bootstrap)} (pairs, then requests; studentised)")
    print(
        f"after        this spread ({size(found.sd)}) finds a difference of {size(found.minimum_effect)} 4 times in 5"
    )
    print(f"slot         second windows against first: {share(found.slot.value)} {span(found.slot)}; not in the spread")
    if result.secondary or result.left_out:
        print(f"\nother measures, p corrected for {len(result.secondary)} of them (Holm)")
    for other in result.secondary:
        print(f"  {_secondary(other)}")
    for measure, why in result.left_out:
        print(f"  {measure!s:<14} left out: {why}")


def _secondary(other: Secondary) -> str:
    measure, found = other.compared.measure, other.compared.estimate
    better = (found.effect.value > 0) == measure.higher_is_better
    said = ("B is better" if better else "B is worse") if other.holds else "no difference shown"
    return f"{measure!s:<14} {share(found.effect.value):>9} {span(found.effect):<22} p {other.p_holm:<8.2g} {said}"


def _print_silent(result: DoesNotServe) -> None:
    silent = result.silent
    if silent.cause:
        print(f"  looks like: {silent.cause}")
    if silent.log:
        print(f"  log: {silent.log}")


def _figure(value: float) -> str:
    return f"{value:.2f}" if value < _PERCENT else f"{value:.1f}"
