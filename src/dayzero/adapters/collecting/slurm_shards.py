"""Run one command a shard as jobs of Slurm, by submitit, and wait until Slurm has none of them left."""

import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from dayzero.core.errors import InputError, RemoteError

_POLL_S = 0.5


def run_on_slurm(
    commands: Sequence[Sequence[str]],
    logs: Path,
    settings: Mapping[str, str],
    *,
    minutes: int,
    tell: Callable[[str], None] = lambda _: None,
) -> None:
    """Submit the commands as an array of jobs, one each, and wait for their end; what they made of it is in their folders.

    Args:
        commands: The words of each.
        logs: Folder for submitit's files and the jobs' output; every node has to see it.
        settings: Options of sbatch, such as partition or gres.
        minutes: How long a job may take.
        tell: Is told which jobs they are.

    Raises:
        InputError: submitit is not installed, or there is no Slurm here.
        RemoteError: Slurm takes no jobs.
    """
    try:
        import submitit  # noqa: PLC0415  (optional)
    except ImportError as error:
        raise InputError("jobs of Slurm need submitit", hint="Run 'pip install dayzero[slurm]'.") from error
    try:
        executor = submitit.SlurmExecutor(folder=logs)
        executor.update_parameters(job_name="dayzero-collect", time=minutes, additional_parameters=dict(settings))
        jobs = executor.map_array(lambda function: function(), [_Command(tuple(words)) for words in commands])
    except (RuntimeError, submitit.core.utils.FailedJobError) as error:
        raise RemoteError(f"Slurm takes no jobs: {error}", hint="Try sbatch by hand with the same options.") from error
    numbers = sorted({job.job_id.partition("_")[0] for job in jobs})
    tell(f"Slurm job {', '.join(numbers)}: {len(jobs)} shards")
    while not all(_over(job) for job in jobs):
        if not _queued(numbers):
            break
        time.sleep(_POLL_S)


class _Command:
    """A command that a job runs; its exit code stays its own."""

    def __init__(self, words: tuple[str, ...]) -> None:
        self._words = words

    def __call__(self) -> int:
        return subprocess.run(self._words, check=False).returncode  # noqa: S603  (our own command)


def _over(job: Any) -> bool:  # noqa: ANN401  (submitit comes without types here)
    return bool(job.paths.result_pickle.exists())


def _queued(numbers: Sequence[str]) -> bool:
    """Whether Slurm has any of the jobs left; a job that it no longer knows is over."""
    asked = ("squeue", "--noheader", "--jobs", ",".join(numbers))
    told = subprocess.run(asked, check=False, capture_output=True, text=True)  # noqa: S603  (Slurm's own program)
    return bool(told.stdout.strip()) or ("Invalid job id" not in told.stderr and told.returncode != 0)
