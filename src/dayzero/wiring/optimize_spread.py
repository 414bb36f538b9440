"""Search on several machines: workers of one study as jobs of Slurm, and what they find followed from here.

Three steps, each a job or several: the package as it is, on its own; the workers; and one that searches what is left and confirms.
Every job runs ``dayzero optimize --resume`` on the same folder, so each of them can be repeated by hand.
"""

import json
import math
import shlex
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from dayzero.adapters.disk import write_whole
from dayzero.adapters.slurm_jobs import SlurmJobs
from dayzero.adapters.study_journal import StudyJournal
from dayzero.core.errors import InputError, RemoteError
from dayzero.core.launch import Site
from dayzero.optimize.document import SCHEMA
from dayzero.optimize.objective import parse_time
from dayzero.optimize.plan import View, view
from dayzero.targets.precondition import require_one_node
from dayzero.targets.search_jobs import INDEX, STUDY_FOLDER, SearchJob, render_job
from dayzero.wiring.launches import launch_of_package
from dayzero.wiring.optimize import Hearer, Order, plan_of
from dayzero.wiring.optimize_confirm import Confirmation
from dayzero.wiring.optimize_study import Opened, Question, begin, reopen

JOBS: Final = "slurm"
_LAST: Final = "confirm"
_FIRST: Final = 2
_LOOK_S: Final = 1.0
_SPARE_MINUTES: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How a search is spread.

    Attributes:
        options: Of sbatch, by their long names.
        workers: Jobs that search at the same time.
    """

    options: Mapping[str, str]
    workers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pods:
    """Where the Jobs of a search run.

    Attributes:
        image: Holds dayzero and the engine.
        claim: Persistent volume claim that holds the study.
        namespace: Of the Jobs.
        workers: Pods that search at the same time.
    """

    image: str
    claim: str
    namespace: str
    workers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step of a spread search.

    Attributes:
        name: What it does.
        short: The same in a word.
        words: What each of its jobs adds to ``dayzero optimize --resume -o STUDY``, by the job's name.
    """

    name: str
    short: str
    words: Mapping[str, tuple[str, ...]]


def steps(workers: int, confirmation: Confirmation, trials: int | None = None) -> tuple[Step, ...]:
    """Give the steps of a spread search, in order: the next one begins when every job of the one before has ended."""
    quiet = ("--output-format", "json")
    # Two, for a first measurement of the package that is not valid is taken again before anybody is held against it.
    first = ("--worker", "main", "--trials", str(min(_FIRST, trials or _FIRST)), "--no-confirm", *quiet)
    names = [f"worker-{number}" for number in range(1, workers + 1)]
    each = {name: ("--worker", name, "--no-confirm", *quiet) for name in names}
    return (
        Step(name="the package as it is", short="stock", words={"stock": first}),
        Step(name="the search", short="search", words=each),
        Step(
            name="the confirmation",
            short="confirm",
            words={_LAST: ("--worker", "main", *_confirming(confirmation), *quiet)},
        ),
    )


def _confirming(asked: Confirmation) -> tuple[str, ...]:
    """Write how the winner is confirmed as it is typed."""
    if not asked.wanted:
        return ("--no-confirm",)
    counts = ("--confirm-pairs", str(asked.pairs), "--confirm-requests", str(asked.requests))
    common = ("--confirm-with", shlex.join(asked.flags)) if asked.flags else ()
    alone = ("--one-at-a-time",) if asked.one_at_a_time else ()
    return (*counts, *common, *alone, *(("--gate",) if asked.gate else ()))


def opened(order: Order, progress: Callable[[str], None]) -> Opened:
    """Begin the study of an order here, or read it back; nothing is started.

    Raises:
        InputError: As :func:`dayzero.wiring.optimize.optimize`; or several workers would share one file as their storage.
    """
    shared = order.question.storage if order.question is not None else None
    if order.question is None:
        found = reopen(order.folder, order.change, progress)
        shared = found.study.question.storage
    require_shared(shared or "")
    return found if order.question is None else begin(order.question, order.folder, progress)


def for_kubernetes(order: Order, pods: Pods, progress: Callable[[str], None]) -> tuple[Path, ...]:
    """Begin a study here, and write its steps as Kubernetes Jobs; nothing is started.

    Args:
        order: What is asked, as for a search on this machine.
        pods: Where the Jobs run.
        progress: Told what is being read.

    Returns:
        The files, in the order in which they are applied.

    Raises:
        InputError: As :func:`opened`, or the package takes several nodes.
    """
    study = opened(order, progress)
    spec = replace(launch_of_package(study.package), site=Site(namespace=pods.namespace))
    require_one_node(spec)
    deadline_s = math.ceil(parse_time(study.study.question.budget)) + _SPARE_MINUTES * 60
    written = []
    for number, step in enumerate(steps(pods.workers, order.confirmation, study.study.question.trials), 1):
        ((name, words), *_) = step.words.items()
        many = len(step.words)
        words = tuple(word.replace(name, f"worker-{INDEX}") for word in words) if many > 1 else words
        job = SearchJob(
            suffix=f"-{step.short}",
            argv=("dayzero", *_resumed(study, STUDY_FOLDER, words)),
            pods=many,
            deadline_s=deadline_s,
            image=pods.image,
            claim=pods.claim,
        )
        file = study.folder.root / "kubernetes" / f"{number}-{step.short}.yaml"
        write_whole(file, render_job(spec, job).encode())
        written.append(file)
    return tuple(written)


def require_shared(storage: str) -> None:
    """Refuse a storage that workers on several machines cannot share.

    Raises:
        InputError: It is a file.
    """
    if not storage or storage.startswith("sqlite"):
        raise InputError(
            "workers on several machines cannot share a file as their storage",
            hint="Give --storage postgresql://USER@HOST/NAME.",
        )


def on_slurm(order: Order, spread: Spread, hearer: Hearer) -> Mapping[str, object]:
    """Submit a search as jobs of Slurm, follow it to its end, and give its result.

    Args:
        order: What is asked, as for a search on this machine.
        spread: With how many jobs, and which options.
        hearer: Who is told.

    Returns:
        The result, as it stands in ``result.json``.

    Raises:
        InputError: As :func:`opened`; or submitit or Slurm is not here.
        RemoteError: Slurm refused a job, or the last one left no result.
        KeyboardInterrupt: Somebody asked for the end; the jobs are cancelled, and ``--resume`` goes on.
    """
    study = opened(order, hearer.say)
    jobs = SlurmJobs(study.folder.root.resolve() / JOBS, _with_time(spread.options, study.study.question))
    submitted: list[str] = []
    try:
        before: list[str] = []
        for step in steps(spread.workers, order.confirmation, study.study.question.trials):
            before = [jobs.submit(name, _argv(study, words), after=before) for name, words in step.words.items()]
            submitted += before
            hearer.say(f"{step.name}: submitted to Slurm as {', '.join(before)}")
        _follow(study, order, jobs, submitted[-1], hearer)
    except KeyboardInterrupt:
        jobs.cancel(submitted)
        raise
    return _result(jobs, submitted[-1])


def _argv(study: Opened, words: Sequence[str]) -> tuple[str, ...]:
    return (sys.executable, "-m", "dayzero", *_resumed(study, str(study.folder.root.resolve()), words))


def _resumed(study: Opened, folder: str, words: Sequence[str]) -> tuple[str, ...]:
    """Write the command line of one job; what was asked in time and starts goes along, for it is not kept when it changes."""
    question = study.study.question
    bound = ("--trials", str(question.trials)) if question.trials is not None and "--trials" not in words else ()
    return ("optimize", "--resume", "-o", folder, "--budget", question.budget, *bound, *words)


def _with_time(options: Mapping[str, str], question: Question) -> Mapping[str, str]:
    """Give each job the time of the whole budget and some to spare, where no time is asked for."""
    minutes = math.ceil(parse_time(question.budget) / 60) + _SPARE_MINUTES
    return {"time": str(minutes), **options}


def _follow(study: Opened, order: Order, jobs: SlurmJobs, last: str, hearer: Hearer) -> None:
    """Tell what the workers write down until the last job has ended."""
    plan = plan_of(study, order.worker)
    journal = StudyJournal(study.folder.journal, order.worker)
    seen: dict[int, str] = {}
    while True:
        over = jobs.ended(last)
        now = view(plan, journal)
        for text in _news(now, seen):
            hearer.stands(text, now, study)
        if over:
            return
        time.sleep(_LOOK_S)


def _news(now: View, seen: dict[int, str]) -> Sequence[str]:
    """Give a line for each trial that began or ended since the last look."""
    lines = []
    for one in now.state.trials:
        if seen.get(one.number) != one.kind:
            seen[one.number] = one.kind
            reason = one.outcome.reason if one.outcome else ""
            lines.append(f"{one.worker}: trial {one.number} {one.kind}" + (f": {reason}" if reason else ""))
    return lines


def _result(jobs: SlurmJobs, last: str) -> Mapping[str, object]:
    """Read what the last job found: not the file that all of them write, for that may be an earlier one's."""
    try:
        found: object = json.loads(jobs.said(_LAST))
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        raise RemoteError(
            f"the last job left no result; it printed {jobs.log(last)}", hint="Read it; --resume goes on."
        )
    return found
