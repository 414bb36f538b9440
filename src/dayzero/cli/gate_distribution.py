"""``dayzero gate distribution``: do two endpoints give the same distributions, and could the instrument tell?"""

import secrets
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import cyclopts

from dayzero.adapters.gate_endpoints import Reach
from dayzero.adapters.openai_http import parse_address
from dayzero.cli.console import stderr_console
from dayzero.cli.endpoint_options import connection
from dayzero.cli.gate_filing import FiledUnder, claimed
from dayzero.cli.main import FINDINGS, PROVEN, UNDECIDED
from dayzero.cli.output import OutputFormat, print_json
from dayzero.cli.status_line import StatusLine
from dayzero.core.verdict import Undecided
from dayzero.gates.exchange import Side
from dayzero.gates.model import Arm, Different, DistributionPlan, GateVerdict, Same
from dayzero.gates.probe import Seen
from dayzero.gates.prompts import Layout
from dayzero.gates.report import sentences
from dayzero.gates.setting import SIDES, Setting
from dayzero.gates.size import needed
from dayzero.wiring.gate import ATTEMPTS, GATE, RECEIPT, Compared, compare

GATE_SLUG = "gate-distribution"

_SEED_BITS = 32
_PERCENT = 100
_BOTH = (Arm.PREFILL, Arm.DECODE)

_MEANINGS = {
    "raw": "the model's own log-probabilities at any temperature",
    "processed": "log-probabilities after the temperature, so all is asked at 0",
    "unclear": "log-probabilities too flat to tell what a temperature does",
}
_SCORINGS = {
    "prompt": "a prompt's own in one request",
    "prefix": "a prompt's own in one request a prefix",
    "none": "none for a prompt's own tokens",
}


@cyclopts.Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """What is captured, and what does not matter: fixed before the first capture, and written to plan.json.

    Attributes:
        prompts: Prompts, when every look is taken.
        positions: Places compared in each prompt: its last tokens (prefill), and as many that are written (decode).
        k: Candidates asked for at each place.
        context: Tokens of a prompt before the places that are compared.
        margin: Excess divergence that does not matter, in nats.
        margin_flip: Excess percentage of places, with another first token or a far tail, that does not matter.
        looks: How often the data are looked at; each look spends a part of alpha.
        alpha: One-sided error of each statement, over all looks.
        concurrency: Requests in flight at each endpoint.
        arm: Which kernels: those that read a prompt (prefill), those that write (decode), or both.
        seed: Draws prompts, order and resamples; a new one each time when left out.
    """

    prompts: int = 100
    positions: int = 64
    k: Annotated[int, cyclopts.Parameter(name=["-k", "--candidates"])] = 20
    context: int = 64
    margin: float = 0.002
    margin_flip: float = 0.5
    looks: int = 2
    alpha: float = 0.05
    concurrency: int = 8
    arm: Literal["prefill", "decode", "both"] = "both"
    seed: int | None = None


@cyclopts.Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """How the endpoints are reached.

    Attributes:
        model_a: Model to ask A for; the only one that is served when left out.
        model_b: The same for B.
        api_key_env: Environment variable that holds the API key of both.
        ca_file: Certificates to trust instead of the system's.
        timeout: Seconds after which a request counts as failed.
    """

    model_a: str = ""
    model_b: str = ""
    api_key_env: str | None = None
    ca_file: Path | None = None
    timeout: float = 600.0


def distribution(  # noqa: PLR0913  (each argument is one option, or a group of them)
    a: str,
    b: str,
    /,
    *,
    output: Annotated[Path, cyclopts.Parameter(name=["--output", "-o"])] = Path("dayzero-gate"),
    resume: Annotated[bool, cyclopts.Parameter(negative=())] = False,
    output_format: OutputFormat = "text",
    sample: Sample | None = None,
    reached: Reached | None = None,
    filed: FiledUnder | None = None,
) -> int:
    """Compare the next-token distributions of two endpoints, after each has been compared with itself.

    Exit 0: the same, at the margin. 1: different. 3: inconclusive, unsound (the instrument cannot tell) or undecided
    (an endpoint does not answer, or its log-probabilities cannot be compared).

    Args:
        a: The reference: http(s)://HOST:PORT.
        b: The candidate.
        output: Folder for the attempts at this pair: each keeps its plan, every exchange, its answer and its receipt.
        resume: Go on with the last attempt, which was interrupted, by its own plan; only what was in flight is asked again.
        output_format: How the result is written to stdout.
        sample: What is captured, and what does not matter.
        reached: How the endpoints are reached.
        filed: Where the attempt is filed.
    """
    filing = (filed or FiledUnder()).filing(GATE_SLUG, "dayzero gate distribution A B")
    asked = sample or Sample()
    plan, layout = _plan(asked), Layout(context=asked.context, tail=asked.positions)
    told = _Told(text=output_format == "text")
    with told.line:
        found = compare(_reaches(a, b, reached or Reached()), plan, layout, output, told, resume=resume, filing=filing)
    if output_format == "json":
        print_json(found.document)
    else:
        _print_answer(found, output)
    return exit_code(found.answer if isinstance(found.answer, Undecided) else found.answer.verdict)


def exit_code(verdict: GateVerdict) -> int:
    """Give the exit code of a gate's verdict."""
    match verdict:
        case Same():
            return PROVEN
        case Different():
            return FINDINGS
        case _:
            return UNDECIDED


def _plan(asked: Sample) -> DistributionPlan:
    return DistributionPlan(
        prompts=asked.prompts,
        positions=asked.positions,
        k=asked.k,
        margin_nat=asked.margin,
        margin_flip=asked.margin_flip / _PERCENT,
        concurrency=asked.concurrency,
        seed=secrets.randbits(_SEED_BITS) if asked.seed is None else asked.seed,
        looks=asked.looks,
        alpha=asked.alpha,
        arms=_BOTH if asked.arm == "both" else (Arm(asked.arm),),
    )


def _reaches(a: str, b: str, aim: Reached) -> dict[Side, Reach]:
    found: dict[Side, Reach] = {}
    for side, url, model in (("A", a, aim.model_a), ("B", b, aim.model_b)):
        parse_address(url)
        reached = connection(url, timeout=aim.timeout, api_key_env=aim.api_key_env, ca_file=aim.ca_file)
        found["A" if side == "A" else "B"] = Reach(connection=reached, model=model)
    return found


class _Told:
    """Says what happens: progress on stderr; in text, what is known before the captures on stdout.

    Implements ``wiring.gate.Told``.
    """

    def __init__(self, *, text: bool) -> None:
        self._text = text
        self._console = stderr_console()
        self.line = StatusLine(self._console, "looking at both endpoints")
        self._doing, self._done, self._of = "", 0, 0
        self._lock = threading.Lock()

    def attempt(self, number: int, earlier: tuple[str, ...], folder: Path) -> None:
        """Print which attempt this is, where there were others."""
        if self._text and earlier:
            said = ", ".join(verdict or "did not end" for verdict in earlier)
            print(f"attempt    {number}, in {folder}; before it: {said}", flush=True)

    def fixed(self, setting: Setting) -> None:
        """Print what will be captured, and what it could see."""
        if self._text:
            for line in _fixed(setting):
                print(line, flush=True)

    def captures(self, look: int, prompts: int, requests: int) -> None:
        """Show that the captures before a look begin."""
        self._doing, self._done, self._of = f"look {look}: {prompts} prompts", 0, requests
        if not self.line.shown:
            self._console.print(f"{self._doing}, {requests} requests", markup=False)

    def answered(self) -> None:
        """Show how far the captures have come."""
        with self._lock:
            self._done += 1
            self.line.update(f"{self._doing}, {self._done} of {self._of} requests")


def _fixed(setting: Setting) -> list[str]:
    plan, layout, requests = setting.plan, setting.layout, setting.requests()
    unit = "tokens" if all(seen.takes_ids for seen in setting.seen.values()) else "words"
    arms = " and ".join(arm.value for arm in plan.arms)
    spent = (
        f"{plan.margin_nat:g} nat and {plan.margin_flip * _PERCENT:g} % of places do not matter; alpha {plan.alpha:g}"
    )
    looks = ", ".join(map(str, plan.look_sizes))
    return [
        *(f"{side}          {_seen(setting.seen[side])}" for side in SIDES),
        f"plan       {plan.prompts} prompts of {layout.context} {unit} and {plan.positions} places behind them, {arms}",
        f"           top {plan.k} of each place, {plan.concurrency} requests in flight at each endpoint",
        f"           {requests['A']} requests to A, {requests['B']} to B; looks at {looks} prompts; seed {plan.seed}",
        f"           {spent}",
        f"control    A and B each against itself, and A without the first {layout.dropped} {unit} of the context, which must show",
        f"could see  {needed(plan).because}",
        *(f"note       {note}" for note in setting.notes),
    ]


def _seen(seen: Seen) -> str:
    named = " ".join(part for part in (seen.engine or "an unknown engine", seen.build) if part)
    identity = "token ids" if seen.names_ids else "bytes"
    cache = "" if seen.dialect.bypasses_cache else "; a prefix cache may help"
    return (
        f"{seen.url} {seen.model} ({named})\n"
        f"           {_MEANINGS[seen.meaning]}; {seen.k} candidates by {identity}; {_SCORINGS[seen.scoring]}{cache}"
    )


def _print_answer(found: Compared, output: Path) -> None:
    if isinstance(found.answer, Undecided):
        print(f"undecided: {found.answer.reason}")
    else:
        print()
        for sentence in sentences(found.answer):
            print(sentence)
    print(f"kept: {found.folder / GATE}, {found.folder / RECEIPT}, {output / ATTEMPTS}")
    if found.claim is not None:
        print(claimed(found.claim))
