"""Ask two endpoints the same items with lm-eval, and keep what the answer rests on."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from dayzero.adapters.disk import digest_of, write_whole
from dayzero.adapters.lm_eval import VERSION, Evaluation, Sampled, TaskRoute, evaluate, read_samples, require_program
from dayzero.adapters.lm_eval_proxy import Forwarded, forwarding
from dayzero.adapters.openai_http import Connection
from dayzero.core.errors import InputError, RemoteError
from dayzero.gates.task import TaskArm, TaskJudged, TaskPlan, judge_task
from dayzero.gates.task_document import document, plan_document, skipped_document
from dayzero.wiring.endpoint import Looked, look_at
from dayzero.wiring.laboratory import new_folder
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
    """

    plan: TaskPlan
    a: tuple[Connection, str]
    b: tuple[Connection, str]
    include_path: Path | None
    route: TaskRoute
    concurrency: int
    folder: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRun:
    """What came of it."""

    judged: TaskJudged
    document: dict[str, object]


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
        InputError: lm-eval or a folder is not there, or a model has to be named.
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
    new_folder(request.folder)
    _write(request.folder / PLAN, plan_document(request.plan))
    for name, arm in arms.items():
        told(f"{name}: {request.plan.task} on {arm.looked.server.address}")
        _evaluate(request, program, name, arm)
    judged = judge_task(request.plan, _answered(arms["A"]), _answered(arms["B"]))
    served = {name: _served(arm) for name, arm in arms.items()}
    written = document(
        judged, served=served, files=_digests(request.folder), rules=arms["A"].sampled.rules or arms["B"].sampled.rules
    )
    _write(request.folder / RESULT, written)
    return TaskRun(judged=judged, document=written)


def skip_task(plan: TaskPlan, folder: Path, reason: str) -> dict[str, object]:
    """Keep a receipt that the gate was not run.

    Args:
        plan: What would have been run.
        folder: An empty folder.
        reason: Why it was not.

    Raises:
        InputError: There is no reason, or the folder is not empty.
    """
    if not reason.strip():
        raise InputError("a skipped gate needs a reason", hint="Say why it is not run.")
    new_folder(folder)
    written = skipped_document(plan, reason.strip())
    _write(folder / RESULT, written)
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


def _digests(folder: Path) -> Sequence[tuple[str, str]]:
    files = [folder / PLAN]
    for pattern in (f"*/{EXCHANGES}", "*/lm_eval.log", "*/**/results_*.json", "*/**/samples_*.jsonl"):
        files += sorted(folder.glob(pattern))
    return [(str(file.relative_to(folder)), digest_of(file).hex) for file in files]


def _write(path: Path, content: Mapping[str, object]) -> None:
    write_whole(path, json.dumps(content, indent=2, ensure_ascii=False).encode() + b"\n")
