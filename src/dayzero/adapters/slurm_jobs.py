"""Jobs of Slurm, submitted through submitit: a command each, after others where that is asked, and whether they have ended."""

import contextlib
import shutil
import subprocess
import warnings
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from dayzero.adapters.disk import write_whole
from dayzero.core.errors import InputError, RemoteError

_ENDED: Final = frozenset(
    ("BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED", "TIMEOUT")
)
_ASK_S: Final = 30


def run_command(argv: Sequence[str], said_file: str) -> None:
    """Run a command to its end, on the machine that the job was given, and keep what it said on stdout."""
    done = subprocess.run(argv, check=False, stdout=subprocess.PIPE)  # noqa: S603
    write_whole(Path(said_file), done.stdout)


class SlurmJobs:
    """The jobs of one piece of work.

    Args:
        folder: Where submitit keeps what it submits and what jobs print; on a disk that every node sees.
        options: Of sbatch, by their long names.

    Raises:
        InputError: submitit or Slurm's programs are not here.
    """

    def __init__(self, folder: Path, options: Mapping[str, str]) -> None:
        self._folder = folder
        self._options = dict(options)
        self._submitit = _submitit()
        missing = [name for name in ("sbatch", "srun", "squeue", "scancel") if shutil.which(name) is None]
        if missing:
            raise InputError(
                f"Slurm is not on this machine: no {', '.join(missing)}", hint="Start this where sbatch works."
            )

    def submit(self, name: str, argv: Sequence[str], *, after: Sequence[str] = ()) -> str:
        """Submit a command, and give the job's number.

        Args:
            name: What the job is called; no other one of this work is called so.
            argv: The command.
            after: Jobs that have to end before, however they end.

        Raises:
            RemoteError: Slurm refused it.
        """
        said = self._said(name)
        said.unlink(missing_ok=True)
        with warnings.catch_warnings(), _refused(name):
            warnings.simplefilter("ignore")
            executor = self._submitit.SlurmExecutor(folder=self._folder)
            waits = {"dependency": f"afterany:{':'.join(after)}"} if after else {}
            executor.update_parameters(
                job_name=name, additional_parameters={**self._options, **waits}, stderr_to_stdout=True
            )
            return str(executor.submit(run_command, tuple(argv), str(said)).job_id)

    def ended(self, job: str) -> bool:
        """Say whether a job has ended; one that Slurm has forgotten has."""
        asked = _ask("squeue", "--noheader", "--states=all", "--format=%T", f"--jobs={job}")
        if asked.returncode and "invalid job id" not in asked.stderr.lower():
            raise RemoteError(f"squeue: {asked.stderr.strip()}", hint="The jobs go on; --resume follows no job.")
        states = asked.stdout.split()
        return not states or all(state in _ENDED for state in states)

    def said(self, name: str) -> bytes:
        """Give what a job's command said on stdout; nothing where the job ended before it."""
        file = self._said(name)
        return file.read_bytes() if file.is_file() else b""

    def cancel(self, jobs: Sequence[str]) -> None:
        """End jobs, those that run and those that wait."""
        _ask("scancel", *jobs)

    def log(self, job: str) -> Path:
        """Give the file of what a job printed on stderr."""
        return self._folder / f"{job}_0_log.out"

    def _said(self, name: str) -> Path:
        return self._folder / f"{name}.said"


def parse_options(text: str) -> Mapping[str, str]:
    """Read sbatch's options as typed: ``partition=gpu,gres=gpu:1,time=120``.

    Raises:
        InputError: A part has no value, or sets what is not the user's to set.
    """
    found: dict[str, str] = {}
    for part in text.split(","):
        name, equals, value = part.strip().removeprefix("--").partition("=")
        if not name or not equals or not value:
            raise InputError(
                f"not an option of sbatch: {part!r}", hint="Write --slurm partition=NAME,gres=gpu:1,time=120."
            )
        if name in {"dependency", "array", "output", "error", "job-name"}:
            raise InputError(f"--slurm sets {name} itself", hint=f"Leave {name} out.")
        found[name] = value
    return found


def _ask(*argv: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run(argv, capture_output=True, text=True, timeout=_ASK_S, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired) as error:
        raise RemoteError(f"{argv[0]} does not answer: {error}", hint="Look at Slurm; the jobs go on.") from error


@contextlib.contextmanager
def _refused(name: str) -> Iterator[None]:
    try:
        yield
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        said = next((line for line in reversed(str(error).splitlines()) if line.strip()), type(error).__name__)
        raise RemoteError(
            f"Slurm did not take the job {name}: {said}", hint="Look at the options of --slurm."
        ) from error


def _submitit() -> Any:  # noqa: ANN401  (an optional package, loaded late)
    try:
        return import_module("submitit")
    except ImportError as error:
        raise InputError(
            "jobs of Slurm need submitit, which is not installed", hint="Install dayzero[slurm]."
        ) from error
