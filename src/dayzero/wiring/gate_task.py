"""Ask two endpoints the same items with lm-eval, and keep what the answer rests on."""

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from dayzero.adapters.disk import write_whole
from dayzero.adapters.file_digest import digest_of
from dayzero.adapters.lm_eval import VERSION, Evaluation, Sampled, TaskRoute, evaluate, read_samples, require_program
from dayzero.adapters.lm_eval_proxy import Forwarded, forwarding
from dayzero.adapters.openai_http import Connection
from dayzero.core.errors import InputError, RemoteError
from dayzero.evidence.model import Claim
from dayzero.gates.attempts import UNENDED, Past, in_words, left
from dayzero.gates.report import reasons
from dayzero.gates.task import TaskArm, TaskJudged, TaskPlan, judge_task
from dayzero.gates.task_document import document, plan_document, skipped_document
from dayzero.wiring.gate_filing import Attempted, GateFiling
from dayzero.wiring.laboratory import new_folder
from dayzero.wiring.look import Looked, look_at
from dayzero.wiring.settings import cache_folder

PLAN, RESULT, EXCHANGES = "plan.json", "task.json", "exchanges.jsonl"

_NOTHING: Final = Sampled(items=(), rule="", files=(), rules=())


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRequest:
    """What is asked for.

    Attributes:
        plan: What is fixed beforehand.
        a, b: The endpoints, the reference first, each with the model to ask for (``""``: the only one).
        include_path: Folder with task files of one's own.
        route: Where prompts go.
        concurrency: Requests in flight.
        folder: An empty folder.
        filing: Where the attempt is filed; ``None`` where it is not.
    """

    plan: TaskPlan
    a: tuple[Connection, str]
    b: tuple[Connection, str]
    include_path: Path | None
    route: TaskRoute
    concurrency: int
    folder: Path
    filing: GateFiling | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRun:
    """What came of it, and what was filed of it."""

    judged: TaskJudged
    document: dict[str, object]
    claim: Claim | None = None


@dataclass(slots=True)
class _Arm:
    """One arm while it is evaluated."""

    looked: Looked
    timeout_s: float
    sampled: Sampled = _NOTHING
    forwarded: Forwarded = field(default_factory=Forwarded)


def lm_eval_environment() -> Path:
    """Say where lm-eval is: ``$DAYZERO_LM_EVAL_ENV``, else where ``make lm-eval-env`` puts it."""
    named = os.environ.get("DAYZERO_LM_EVAL_ENV")
    return Path(named) if named else cache_folder() / f"lm-eval-{VERSION}" / "venv"


def run_task(request: TaskRequest, told: Callable[[str], None]) -> TaskRun:
    """Evaluate both endpoints, one after the other, and judge the pairs.

    Args:
        request: What is asked for.
        told: Hears what begins.

    Raises:
        InputError: lm-eval or a folder is not there, a model has to be named, or B does not run the engine of the package.
        RemoteError: An endpoint cannot be reached before it begins, or the disk refused.
    """
    program = lm_eval_environment()
    require_program(program)
    if request.include_path is not None and not request.include_path.is_dir():
        raise InputError(f"{request.include_path} is not a folder", hint="Name the folder that holds the task's YAML.")
    arms = {
        name: _Arm(looked=look_at(connection, model), timeout_s=connection.timeout_s)
        for name, (connection, model) in (("A", request.a), ("B", request.b))
    }
    if request.filing:
        request.filing.require_engine(arms["B"].looked.found.engine)
    new_folder(request.folder)
    begun = _begin(request)
    if request.filing:
        told(in_words(begun.before, begun.plan.alpha))
    for label, arm in arms.items():
        told(f"{label}: {begun.plan.task} on {arm.looked.server.address}")
        _evaluate(request, program, label, arm)
    return _ended(request, begun, arms)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Begun:
    """An attempt whose plan stands.

    Attributes:
        plan: What is fixed, with what attempts before have left of alpha.
        name: What the attempt is called in the ledger, ``""`` where it is filed in none.
        before: The attempts before it.
    """

    plan: TaskPlan
    name: str = ""
    before: tuple[Past, ...] = ()


def _begin(request: TaskRequest) -> _Begun:
    """Write the plan, and file it."""
    filing, begun = request.filing, _Begun(plan=request.plan)
    if filing:
        name = filing.next_name()
        before = filing.before(name)
        begun = _Begun(plan=replace(request.plan, alpha=left(request.plan.alpha, before)), name=name, before=before)
    _write(request.folder / PLAN, {**plan_document(begun.plan), "filed_as": begun.name or None})
    if filing:
        filing.begin(begun.name, request.folder / PLAN)
    return begun


def _ended(request: TaskRequest, begun: _Begun, arms: Mapping[str, _Arm]) -> TaskRun:
    """Judge the pairs, write what was found, and file it."""
    judged = judge_task(begun.plan, _answered(arms["A"]), _answered(arms["B"]))
    files = _files(request.folder)
    written = document(
        judged,
        served={label: _served(arm) for label, arm in arms.items()},
        files=[(path, digest_of(file).hex) for path, file in files.items()],
        rules=arms["A"].sampled.rules or arms["B"].sampled.rules,
    )
    earlier = [past.verdict or UNENDED for past in begun.before]
    written |= {"filed_as": begun.name or None, "earlier_attempts": earlier}
    result = request.folder / RESULT
    _write(result, written)
    claim = None
    if request.filing:
        label = f"{_label(judged)}; {in_words(begun.before, begun.plan.alpha)}"
        attempted = Attempted(name=begun.name, result=result, bound=(), captured=files, label=label)
        claim = request.filing.end(attempted)
    return TaskRun(judged=judged, document=written, claim=claim)


def skip_task(plan: TaskPlan, folder: Path, reason: str, filing: GateFiling | None = None) -> dict[str, object]:
    """Keep a receipt that the gate was not run, and file it.

    Args:
        plan: What would have been run.
        folder: An empty folder.
        reason: Why it was not.
        filing: Where that is filed; ``None`` where it is not.

    Raises:
        InputError: There is no reason, the folder is not empty, or the ledger has an attempt.
    """
    if not reason.strip():
        raise InputError("a skipped gate needs a reason", hint="Say why it is not run.")
    new_folder(folder)
    written = skipped_document(plan, reason.strip())
    _write(folder / RESULT, written)
    if filing:
        filing.skip(folder / RESULT, reason.strip())
    return written


def _evaluate(request: TaskRequest, program: Path, name: str, arm: _Arm) -> None:
    """Run lm-eval through the recorder; a run that ends without results is a failure of the arm, not of the gate."""
    output = request.folder / name
    evaluation = Evaluation(
        program=program,
        tasks=request.plan.task,
        include_path=request.include_path,
        limit=request.plan.limit,
        seed=request.plan.seed,
        route=request.route,
        concurrency=request.concurrency,
        output=output,
    )
    looked = arm.looked
    try:
        with forwarding(looked.server, looked.wording, arm.forwarded, timeout_s=arm.timeout_s) as url:
            evaluate(evaluation, url, looked.found.how.model)
        arm.sampled = read_samples(output, request.plan.filter, request.plan.metric)
    except RemoteError as error:
        arm.forwarded.failed.append(error.message)
    finally:
        arm.forwarded.write(output / EXCHANGES)


def _answered(arm: _Arm) -> TaskArm:
    return TaskArm(
        items=arm.sampled.items,
        truncated=arm.forwarded.truncated,
        failed=tuple(arm.forwarded.failed),
        rule=arm.sampled.rule,
    )


def _served(arm: _Arm) -> Mapping[str, object]:
    found = arm.looked.found
    return {"url": str(arm.looked.server.address), "model": found.how.model, "engine": found.engine}


def _label(judged: TaskJudged) -> str:
    found = judged.compared
    if found is None:
        return f"{judged.plan.task}: {reasons(judged.verdict)[0]}"
    table = found.table
    alone = f"{table.only_a} right in A alone, {table.only_b} in B alone"
    return f"{judged.plan.task}, {table.n} items, {alone}, margin {100 * judged.plan.margin:g} points"


def _files(folder: Path) -> dict[str, Path]:
    files = [folder / PLAN]
    for pattern in (f"*/{EXCHANGES}", "*/lm_eval.log", "*/**/results_*.json", "*/**/samples_*.jsonl"):
        files += sorted(folder.glob(pattern))
    return {str(file.relative_to(folder)): file for file in files}


def _write(path: Path, content: Mapping[str, object]) -> None:
    write_whole(path, json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n")
