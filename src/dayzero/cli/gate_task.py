"""``dayzero gate task``: do both endpoints answer the same items as well?"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import cyclopts

from dayzero.adapters.lm_eval import TaskRoute
from dayzero.adapters.openai_http import Connection
from dayzero.cli.console import stderr_console
from dayzero.cli.endpoint_options import connection
from dayzero.cli.gate_distribution import exit_code
from dayzero.cli.gate_filing import FiledUnder, claimed
from dayzero.cli.main import UNDECIDED
from dayzero.cli.output import OutputFormat, print_json
from dayzero.core.errors import InputError
from dayzero.gates.task import TaskPlan
from dayzero.gates.task_document import sentences
from dayzero.wiring.gate_task import RESULT, TaskRequest, TaskRun, run_task, skip_task

GATE_SLUG = "gate-task"

_PERCENT = 100


@cyclopts.Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRules:
    """What is fixed before the first request, and written to plan.json.

    Attributes:
        margin: Percentage points of right answers that do not matter.
        alpha: One-sided error of calling the same what is not; two-sided error of the test for a difference.
        limit: Items at most; all when left out.
        filter: Extraction rule that decides; the task's first when left out.
        metric: Metric that says right or wrong; the task's first when left out.
        max_unscorable: Percentage of an arm's answers from which nothing may be extracted.
        max_truncated: Percentage of an arm's answers that may end at their limit of tokens.
        seed: Of lm-eval's own draws.
    """

    margin: float = 2.0
    alpha: float = 0.05
    limit: int = 0
    filter: str = ""
    metric: str = ""
    max_unscorable: float = 2.0
    max_truncated: float = 2.0
    seed: int = 1234


@cyclopts.Parameter(name="*")
@dataclass(frozen=True, slots=True, kw_only=True)
class TaskReach:
    """How the endpoints are asked.

    Attributes:
        model_a: Model to ask A for; the only one that is served when left out.
        model_b: The same for B.
        route: completions sends the task's text as it is, chat through the model's chat template.
        concurrency: Requests in flight.
        api_key_env: Environment variable that holds the API key of both.
        timeout: Seconds after which a request counts as failed.
    """

    model_a: str = ""
    model_b: str = ""
    route: TaskRoute = "chat"
    concurrency: int = 4
    api_key_env: str | None = None
    timeout: float = 600.0


def task(  # noqa: PLR0913  (each argument is one option, or a group of them)
    a: str,
    b: str,
    /,
    *,
    tasks: str,
    include_path: Path | None = None,
    skip: str = "",
    output: Annotated[Path, cyclopts.Parameter(name=["--output", "-o"])] = Path("dayzero-task"),
    output_format: OutputFormat = "text",
    rules: TaskRules | None = None,
    reach: TaskReach | None = None,
    filed: FiledUnder | None = None,
) -> int:
    """Ask two endpoints the same items with lm-eval, and judge the pairs: same, different, inconclusive.

    Exit 0: the same within the margin. 1: different. 3: inconclusive, unsound (the task cannot tell), undecided or skipped.

    Args:
        a: The reference: http://HOST:PORT.
        b: The endpoint in question.
        tasks: Name of lm-eval's task or group.
        include_path: Folder with task files of your own; lm-eval is started in it, with the hub switched off.
        skip: Do not run it, and keep a receipt that says so, for this reason.
        output: Folder for the plan, the samples, the requests and answers, and the result; it must be empty.
        output_format: How the result is written to stdout.
        rules: What is fixed before the first request.
        reach: How the endpoints are asked.
        filed: Where the attempt is filed.
    """
    filing = (filed or FiledUnder()).filing(GATE_SLUG, f"dayzero gate task A B --tasks {tasks}")
    fixed, aim = rules or TaskRules(), reach or TaskReach()
    plan = _plan(tasks, fixed)
    if skip:
        return _skipped(skip_task(plan, output, skip, filing), skip, output, output_format)
    console = stderr_console()
    done = run_task(
        TaskRequest(
            plan=plan,
            a=(_connection(a, aim), aim.model_a),
            b=(_connection(b, aim), aim.model_b),
            include_path=include_path,
            route=aim.route,
            concurrency=aim.concurrency,
            folder=output,
            filing=filing,
        ),
        lambda line: console.print(line, markup=False),
    )
    return _told(done, output, output_format)


def _skipped(written: Mapping[str, object], why: str, output: Path, output_format: OutputFormat) -> int:
    if output_format == "json":
        print_json(written)
    else:
        print(f"skipped: {why}\nkept: {output / RESULT}")
    return UNDECIDED


def _told(done: TaskRun, output: Path, output_format: OutputFormat) -> int:
    if output_format == "json":
        print_json(done.document)
    else:
        for line in sentences(done.judged):
            print(line)
        print(f"kept: {output / RESULT}")
        if done.claim is not None:
            print(claimed(done.claim))
    return exit_code(done.judged.verdict)


def _plan(tasks: str, fixed: TaskRules) -> TaskPlan:
    for name, value, most in (("margin", fixed.margin, _PERCENT), ("alpha", fixed.alpha, 0.5)):
        if not 0 < value < most:
            raise InputError(f"--{name} must lie between 0 and {most}, not {value:g}", hint="Give another value.")
    if fixed.limit < 0:
        raise InputError(f"--limit must not be negative, and is {fixed.limit}", hint="Leave it out for all items.")
    return TaskPlan(
        task=tasks,
        margin=fixed.margin / _PERCENT,
        alpha=fixed.alpha,
        limit=fixed.limit,
        filter=fixed.filter,
        metric=fixed.metric,
        most_unscorable=fixed.max_unscorable / _PERCENT,
        most_truncated=fixed.max_truncated / _PERCENT,
        seed=fixed.seed,
    )


def _connection(url: str, aim: TaskReach) -> Connection:
    return connection(url, timeout=aim.timeout, api_key_env=aim.api_key_env)
