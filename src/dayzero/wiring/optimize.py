"""Search the flags of a package for a workload on this machine, confirm the best, and write it as a package."""

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dayzero import __version__
from dayzero.adapters.file_digest import digest_of
from dayzero.adapters.optuna_sampler import OptunaSampler, importance
from dayzero.adapters.processes import end_marked
from dayzero.adapters.study_journal import StudyJournal
from dayzero.core.errors import InputError
from dayzero.optimize import document, explain
from dayzero.optimize.document import Found
from dayzero.optimize.objective import parse_time
from dayzero.optimize.plan import Plan, Tools, View, view
from dayzero.optimize.search import search
from dayzero.wiring.optimize_bench import TrialBench, TrialLoad
from dayzero.wiring.optimize_conclude import Conclusion
from dayzero.wiring.optimize_confirm import Confirmation
from dayzero.wiring.optimize_files import write_document
from dayzero.wiring.optimize_study import Opened, Question, begin, reopen
from dayzero.wiring.window_arms import Waiting

RECEIPT: Final = "package/receipt.json"
_HIDDEN: Final = (".look", "launch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """What is to be done.

    Attributes:
        question: What is asked; ``None`` goes on with the study in the folder.
        change: What is asked otherwise now, of a study that goes on.
        confirmation: How the winner is confirmed.
        folder: The study.
        worker: Name of this process.
    """

    question: Question | None
    change: Callable[[Question], Question]
    confirmation: Confirmation
    folder: Path
    worker: str = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hearer:
    """Who is told what happens.

    Attributes:
        say: Takes a line.
        stands: Takes a line with where the search stands.
        waiting: Is told of each start and each load.
    """

    say: Callable[[str], None]
    stands: Callable[[str, View, Opened], None]
    waiting: Waiting


def optimize(order: Order, hearer: Hearer) -> Mapping[str, object]:
    """Search, confirm, and write what was found.

    Args:
        order: What is to be done.
        hearer: Who is told.

    Returns:
        The result, as it stands in ``result.json``.

    Raises:
        InputError: Something that was named is not there or cannot be used.
        RemoteError: The disk, the storage or a port refused.
        IntegrityError: The journal was changed.
        KeyboardInterrupt: Somebody asked for the end; ``--resume`` goes on.
    """
    if order.question is not None:
        opened = begin(order.question, order.folder, hearer.say)
    else:
        opened = reopen(order.folder, order.change, hearer.say)
    if opened.study.question.lossy and order.confirmation.wanted and not order.confirmation.gate:
        raise InputError("this study tries what may change the model", hint="Give --gate, or --no-confirm.")
    journal = StudyJournal(opened.folder.journal, order.worker)
    plan = plan_of(opened, order.worker)
    _end_orphans(view(plan, journal), order.worker, opened)
    bench = TrialBench(
        opened.folder,
        TrialLoad(cell=opened.cell, seed=opened.package.workload.seed, figures=opened.goal.figures),
        opened.judge,
        journal,
        order.worker,
        hearer.waiting,
    )
    tools = Tools(
        bench=bench,
        sampler=_sampler(opened),
        journal=journal,
        clock=time.time,
        told=lambda text, now: hearer.stands(text, now, opened),
    )
    end = search(plan, tools)
    now = view(plan, journal)
    found = Conclusion(opened, now, order.confirmation, hearer.say, hearer.waiting).found(end)
    return _kept(opened, now, found)


def explained(folder: Path) -> Mapping[str, object]:
    """Say which flags mattered in a study.

    Raises:
        InputError: There is no study, or Optuna is not installed.
    """
    opened = reopen(folder, lambda question: question, lambda _: None)
    now = view(plan_of(opened, "main"), StudyJournal(opened.folder.journal, "main"))
    space, objective = opened.study.space, opened.goal.objectives[0]
    placed = tuple(one for one in now.standing.placed if one.values is not None)
    trials = [(one.trial.point, one.values[0]) for one in placed if one.values]
    weighed = importance(space.settings, trials, higher_is_better=objective.higher_is_better, seed=opened.study.seed)
    return explain.document(str(folder), objective.name, space.settings, placed, weighed)


def plan_of(opened: Opened, worker: str) -> Plan:
    """Give what a search of a study goes by."""
    question, study = opened.study.question, opened.study
    return Plan(
        goal=opened.goal,
        space=study.space,
        seeds=study.seeds,
        requests=opened.cell.requests,
        warmup=opened.cell.warmup_requests,
        rule=question.rule,
        baseline_every=question.baseline_every,
        budget_s=parse_time(question.budget),
        trials=question.trials,
        worker=worker,
        seed=study.seed,
    )


def _sampler(opened: Opened) -> OptunaSampler:
    return OptunaSampler(
        opened.study.question.storage or opened.folder.storage,
        opened.study.space.settings,
        [one.higher_is_better for one in opened.goal.objectives],
        seed=opened.study.seed,
        limits=bool(opened.goal.limits),
        name=opened.study.name,
    )


def _end_orphans(now: View, worker: str, opened: Opened) -> None:
    """End engines that outlived their worker: they hold what the next trial needs."""
    lost = {one.number for one in now.state.lost(worker)}
    for one in now.state.running:
        if one.number in lost:
            end_marked(one.pid, (one.ticks, one.boot), opened.package.recipe.stop_budget_s)


def _kept(opened: Opened, now: View, found: Found) -> Mapping[str, object]:
    result = document.of_result(opened.about, opened.goal, opened.study.space, now, found)
    write_document(opened.folder.result, result)
    if found.winner is not None:
        files = [
            (str(file.relative_to(opened.folder.root)), digest_of(file).hex) for file in _files(opened.folder.root)
        ]
        receipt = document.of_receipt(result, files, client=f"dayzero {__version__}")
        write_document(opened.folder.root / RECEIPT, receipt)
    return result


def _files(root: Path) -> Iterator[Path]:
    """Give every file that a result rests on, in order: not the weights, not what a storage is changing."""
    own = root / RECEIPT
    for file in sorted(root.rglob("*")):
        parts = file.relative_to(root).parts
        if (
            not set(parts) & set(_HIDDEN)
            and not file.name.startswith(("optuna.db", "report.html", "."))
            and file != own
        ):
            yield from [file] if file.is_file() else []
