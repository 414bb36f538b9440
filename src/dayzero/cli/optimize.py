"""``dayzero optimize``: which flags serve this workload best?"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Final

import cyclopts

from dayzero.bench.model import Progress
from dayzero.cli.console import stderr_console
from dayzero.cli.main import FINDINGS, PROVEN, UNDECIDED
from dayzero.cli.optimize_machines import Machines, searched, written_lines
from dayzero.cli.optimize_text import explained_lines, result_lines, standing_words
from dayzero.cli.output import OutputFormat, print_json
from dayzero.cli.status_line import StatusLine
from dayzero.core.errors import InputError
from dayzero.optimize.plan import View
from dayzero.wiring.optimize import Hearer, Order, explained
from dayzero.wiring.optimize_confirm import Confirmation, parse_flags
from dayzero.wiring.optimize_report import write_report
from dayzero.wiring.optimize_study import Opened, Question
from dayzero.wiring.window_arms import Waiting

_LINE: Final = 60
_CODES: Final[Mapping[str, int]] = {
    "BETTER": PROVEN,
    "NO-BETTER-FOUND": PROVEN,
    "UNCONFIRMED": UNDECIDED,
    "NOT-THE-SAME": FINDINGS,
    "DOES-NOT-SERVE": FINDINGS,
    "UNDECIDED": UNDECIDED,
}
_OFF: Final = cyclopts.Parameter(negative="")


@cyclopts.Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """What is to be best, under which load.

    Attributes:
        workload: A cell of the package's workload, or a TOML file with one [[cells]] table; the only cell when left out.
        requests: Measured requests of a trial, in place of the cell's.
        objective: Measures, joined with commas; the first one decides (output_tok_s, tok_s_gpu, cost, ttft_ms.p90, ...).
        slo: Limits that have to be kept, joined with commas: ttft_ms.p90=500,tpot_ms.p50=30.
        price_per_hour: Price of one device for an hour, for cost; device-seconds when left out.
    """

    workload: str = ""
    requests: int = 0
    objective: str = "output_tok_s"
    slo: str = ""
    price_per_hour: float | None = None


@cyclopts.Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How long, and how.

    Attributes:
        budget: Time for trials: 90s, 12m, 2h. 1h when left out.
        trials: Most starts, baselines included.
        baseline_every: Measure the package as it is again after so many trials; 0 for never.
        stop_margin: A trial ends early where it is proven worse than the best by more than this percentage; 100 for never.
        stop_alpha: How often a trial is ended wrongly, at most.
        seed: Of what the sampler draws.
    """

    budget: str | None = None
    trials: int | None = None
    baseline_every: int = 8
    stop_margin: float = 5.0
    stop_alpha: float = 0.05
    seed: int | None = None


@cyclopts.Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What may be tried, and who looks at it before a start.

    Attributes:
        space: TOML file of the flags to try; the engine's list when left out.
        lossy: Try flags that change what is computed, too; needs --gate.
        build: Files of the engine for the audit: NAME==VERSION, a wheel, or a folder where it is installed.
        offline: Ask no index for them.
        storage: URL where Optuna keeps its study; a file in the study's folder when left out.
        worker: Name of this process among several on one study.
    """

    space: Path | None = None
    lossy: Annotated[bool, _OFF] = False
    build: str = ""
    offline: Annotated[bool, _OFF] = False
    storage: str = ""
    worker: str = "main"


@cyclopts.Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class Confirming:
    """How the winner is confirmed.

    Attributes:
        confirm: Compare the best with the package as it is in alternating windows.
        confirm_pairs: Pairs of the comparison; even.
        confirm_requests: Requests of a window; the trial's, at least 10 a stream, when left out.
        confirm_with: Flags that both arms get in place of their own, as one text.
        one_at_a_time: Start and stop the engine for each window.
        gate: Hold the winner to the distribution gate.
    """

    confirm: bool = True
    confirm_pairs: int = 6
    confirm_requests: int = 0
    confirm_with: Annotated[str, cyclopts.Parameter(allow_leading_hyphen=True)] = ""
    one_at_a_time: Annotated[bool, _OFF] = False
    gate: Annotated[bool, _OFF] = False


_AIM, _EFFORT, _GROUND, _CONFIRMING, _MACHINES = Aim(), Effort(), Ground(), Confirming(), Machines()


def optimize(  # noqa: PLR0913  (each argument is one option, or a group of them)
    package: str | None = None,
    /,
    *,
    output: Annotated[Path, cyclopts.Parameter(name=["--output", "-o"])] = Path("dayzero-optimize"),
    resume: Annotated[bool, cyclopts.Parameter(negative=())] = False,
    explain: Path | None = None,
    report: Path | None = None,
    output_format: OutputFormat = "text",
    aim: Aim = _AIM,
    effort: Effort = _EFFORT,
    ground: Ground = _GROUND,
    confirming: Confirming = _CONFIRMING,
    machines: Machines = _MACHINES,
) -> int:
    """Search an engine's flags for a workload; every trial is a real start, the winner is confirmed against the package.

    Exit 0: BETTER, confirmed and written as a package, or NO-BETTER-FOUND. 1: the package does not serve, or the winner is not
    the same model. 3: UNCONFIRMED or UNDECIDED.

    Args:
        package: Name, folder or file of the package.
        output: Folder of the study; empty, unless --resume.
        resume: Go on with the study in the folder.
        explain: Start nothing: say which flags mattered in the study in this folder.
        report: Start nothing: write report.html of the study in this folder again.
        output_format: How the result is written to stdout.
        aim: What is to be best.
        effort: How long.
        ground: What may be tried.
        confirming: How the winner is confirmed.
        machines: Where trials run.
    """
    if explain is not None or report is not None:
        return _told_again(explain, report, output_format, alone=package is None and not resume)
    if ground.lossy and not confirming.gate:
        raise InputError("--lossy may change the model", hint="Give --gate, too, so that the winner is held to it.")
    order = Order(
        question=_question(package, aim, effort, ground, resume=resume),
        change=lambda question: _changed(question, effort),
        confirmation=_confirmation(confirming),
        folder=output,
        worker=ground.worker,
    )
    told = _Told()
    if machines.render is not None:
        print("\n".join(written_lines(order, machines, told.hearer)))
        return PROVEN
    with told.line:
        result = searched(order, machines, told.hearer)
    if output_format == "json":
        print_json(result)
    else:
        print("\n".join(result_lines(result, output)))
        print(f"report: {write_report(output)}")
    return _CODES[str(result["verdict"])]


def _told_again(explain: Path | None, report: Path | None, output_format: OutputFormat, *, alone: bool) -> int:
    if not alone or (explain is not None and report is not None):
        raise InputError("--explain and --report start nothing", hint="Give one of them, and no package or --resume.")
    if report is not None:
        print(write_report(report))
    elif explain is not None:
        found = explained(explain)
        if output_format == "json":
            print_json(found)
        else:
            print("\n".join(explained_lines(found)))
    return PROVEN


def _question(package: str | None, aim: Aim, effort: Effort, ground: Ground, *, resume: bool) -> Question | None:
    if resume:
        if package is not None or aim != _AIM or replace(ground, worker="main") != _GROUND:
            raise InputError(
                "a study goes on as it was begun", hint="Give -o, and --budget, --trials or the confirmation's options."
            )
        return None
    if package is None:
        raise InputError("no package is given", hint="Give a package, --resume or --explain STUDY.")
    return Question(
        package=package,
        workload=aim.workload,
        requests=aim.requests,
        objective=aim.objective,
        slo=aim.slo,
        price_per_hour=aim.price_per_hour,
        budget=effort.budget or "1h",
        trials=effort.trials,
        space=str(ground.space or ""),
        lossy=ground.lossy,
        build=ground.build,
        offline=ground.offline,
        baseline_every=effort.baseline_every,
        stop_margin=effort.stop_margin,
        stop_alpha=effort.stop_alpha,
        storage=ground.storage,
        seed=effort.seed,
    )


def _changed(question: Question, effort: Effort) -> Question:
    return replace(
        question,
        budget=effort.budget or question.budget,
        trials=question.trials if effort.trials is None else effort.trials,
    )


def _confirmation(asked: Confirming) -> Confirmation:
    return Confirmation(
        wanted=asked.confirm,
        pairs=asked.confirm_pairs,
        requests=asked.confirm_requests,
        flags=parse_flags(asked.confirm_with),
        one_at_a_time=asked.one_at_a_time,
        gate=asked.gate,
    )


class _Told:
    """Says what happens on stderr: a line for each trial, and on a terminal one that changes meanwhile."""

    def __init__(self) -> None:
        self._console = stderr_console()
        self.line = StatusLine(self._console, "looking at the package")
        self._what = ""

    @property
    def hearer(self) -> Hearer:
        """Give the ways in which it hears."""
        return Hearer(say=self._say, stands=self._stands, waiting=Waiting(self._waits, self._progresses))

    def _say(self, text: str) -> None:
        self._what = text
        if self.line.shown:
            self.line.update(text)
        elif text.startswith(("confirmation", "the ")):
            self._console.print(text, markup=False)

    def _stands(self, text: str, now: View, opened: Opened) -> None:
        words = standing_words(now, opened.goal, opened.study.space.stock)
        self._what = f"{text} | {words}"
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)
        self.line.update(self._what)

    def _waits(self, seconds: float, line: str) -> None:
        self.line.update(f"{self._what}, waiting for health, {seconds:.0f} s: {line[:_LINE]}")

    def _progresses(self, progress: Progress) -> None:
        if self.line.shown:
            self.line.update(f"{self._what}, {progress.phase} {progress.done} of {progress.planned}")
