"""Measure on several nodes: each shard of a plan is a job of Slurm, and a run folder of its own."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from dayzero.adapters.collecting.run_folder import RunFolder
from dayzero.adapters.slurm_jobs import SlurmJobs
from dayzero.core.errors import RemoteError
from dayzero.wiring.perfdb_collect import Collected, LaneDone, summarize
from dayzero.wiring.perfdb_session import Asked

_POLL_S: Final = 0.5
_MINUTES: Final = "240"  # as sbatch's --time takes them


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """How shards become jobs.

    Attributes:
        shards: How many.
        options: Of sbatch, by their long names; a job may take four hours where ``time`` says nothing else.
    """

    shards: int
    options: Mapping[str, str]


def collect_on_slurm(
    asked: Asked, folder: Path, cluster: Cluster, tell: Callable[[str], None] = lambda _: None
) -> Collected:
    """Submit what is not finished, wait, and sum up.

    Raises:
        InputError: submitit or Slurm is missing.
        RemoteError: No shard was begun.
    """
    folders = [folder / f"shard-{number}-of-{cluster.shards}" for number in range(1, cluster.shards + 1)]
    left = [number for number, shard in enumerate(folders, start=1) if not _finished(shard)]
    commands = [_words(asked, folders[number - 1], f"{number}/{cluster.shards}") for number in left]
    if commands:
        _run(commands, folder / "slurm", cluster, tell)
    begun = [RunFolder(shard) for shard in folders if RunFolder(shard).exists]
    if not begun:
        raise RemoteError("no shard was begun", hint=f"{folder / 'slurm'} has what the jobs said.")
    done = [summarize(run) for run in begun]
    missing = len(folders) - len(begun)
    return _together(folder, done, missing)


def _run(commands: Sequence[Sequence[str]], logs: Path, cluster: Cluster, tell: Callable[[str], None]) -> None:
    """Have each command done by a job of its own, and wait for their end; what they made of it is in their folders."""
    slurm = SlurmJobs(logs, {"time": _MINUTES, **cluster.options})
    try:
        jobs = [slurm.submit(f"dayzero-collect-{number}", words) for number, words in enumerate(commands, start=1)]
    except RemoteError as error:
        raise RemoteError(f"Slurm takes no jobs: {error}", hint="Try sbatch by hand with the same options.") from error
    tell(f"Slurm job {', '.join(jobs)}: {len(jobs)} shards")
    while not all(slurm.ended(job) for job in jobs):
        time.sleep(_POLL_S)


def _finished(shard: Path) -> bool:
    run = RunFolder(shard)
    if not run.exists:
        return False
    run.mend()
    return not any(lane.to_do for lane in summarize(run).lanes)


def _words(asked: Asked, folder: Path, shard: str) -> Sequence[str]:
    words = [sys.executable, "-m", "dayzero", "perfdb", "collect", *asked.lanes, "--system", asked.system]
    words += ["-o", str(folder), "--python", asked.python, "--shard", shard, "--case-seconds", str(asked.case_s)]
    words += [word for condition in asked.where for word in ("--where", condition)]
    words += ["--plan", str(asked.plan)] if asked.plan is not None else []
    words += ["--build", asked.build] if asked.build else []
    words += ["--ranks", str(asked.ranks)] if asked.ranks else []
    words += ["--seconds", str(asked.seconds)] if asked.seconds else []
    words += ["--samples", str(asked.method["most"])] if "most" in asked.method else []
    words += ["--l2", "flushed"] if asked.method.get("flush") else []
    return words if asked.trace else [*words, "--no-trace"]


def _together(folder: Path, done: Sequence[Collected], missing: int) -> Collected:
    """Add shards up; one that was not begun leaves something to do in each lane."""
    lanes = []
    for same in zip(*(one.lanes for one in done), strict=True):
        states: Counter[str] = Counter()
        left_out: Counter[str] = Counter()
        for lane in same:
            states.update(lane.states)
            left_out.update(lane.left_out)
        to_do = sum(lane.to_do for lane in same) + missing
        lanes.append(LaneDone(lane=same[0].lane, states=dict(states), left_out=dict(left_out), to_do=to_do))
    return Collected(run=", ".join(one.run for one in done), folder=folder, lanes=tuple(lanes))
