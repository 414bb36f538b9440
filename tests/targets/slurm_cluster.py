"""A real Slurm on this machine for the tests of batch scripts: one controller and two nodes that claim eight GPUs each.

Its GPUs are empty files and its nodes are two daemons on one host; what it schedules, starts, signals and ends is real.
"""

import contextlib
import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

NODES = ("n0", "n1")
_PATH = os.pathsep.join((os.environ["PATH"], "/usr/local/sbin", "/usr/sbin", "/sbin"))
_START_S = 30


def _free_ports(count: int) -> tuple[int, ...]:
    with contextlib.ExitStack() as sockets:
        held = [sockets.enter_context(socket.socket()) for _ in range(count)]
        for one in held:
            one.bind(("127.0.0.1", 0))
        return tuple(one.getsockname()[1] for one in held)


def _configuration(folder: Path) -> str:
    host = socket.gethostname().partition(".")[0]
    controller, *ports = _free_ports(1 + len(NODES))
    nodes = (
        f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=8 RealMemory=4194304 Gres=gpu:b300:8"
        for name, port in zip(NODES, ports, strict=True)
    )
    return "\n".join(
        (
            "ClusterName=dayzero",
            f"SlurmctldHost={host}(127.0.0.1)",
            f"SlurmctldPort={controller}",
            "CommunicationParameters=NoCtldInAddrAny,NoInAddrAny",
            "AuthType=auth/none",
            "CredType=cred/none",
            f"SlurmUser={getpass.getuser()}",
            f"SlurmdUser={getpass.getuser()}",
            f"StateSaveLocation={folder}/state",
            f"SlurmdSpoolDir={folder}/spool/%n",
            f"SlurmctldPidFile={folder}/slurmctld.pid",
            f"SlurmdPidFile={folder}/slurmd-%n.pid",
            f"SlurmctldLogFile={folder}/slurmctld.log",
            f"SlurmdLogFile={folder}/%n.log",
            "SlurmdParameters=config_overrides",
            "ProctrackType=proctrack/linuxproc",
            "TaskPlugin=task/none",
            "SelectType=select/cons_tres",
            "SelectTypeParameters=CR_Core_Memory",
            "GresTypes=gpu",
            "MpiDefault=none",
            "KillWait=3",
            "SchedulerParameters=batch_sched_delay=0,sched_interval=1,bf_interval=1,sched_min_interval=1",
            *nodes,
            f"PartitionName=main Nodes={','.join(NODES)} Default=YES State=UP",
            "",
        )
    )


@dataclass(frozen=True, slots=True)
class SlurmCluster:
    """The cluster, asked through Slurm's own programs."""

    folder: Path

    def ask(
        self, *argv: str, cwd: Path | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run one of Slurm's programs to its end."""
        return subprocess.run(
            argv,
            env={**(env or {"PATH": _PATH}), "SLURM_CONF": str(self.folder / "slurm.conf")},
            cwd=cwd or self.folder,
            capture_output=True,
            check=False,
            text=True,
            timeout=60,
            stdin=subprocess.DEVNULL,
        )

    def submit(self, script: str, *, cwd: Path, env: Mapping[str, str]) -> str:
        """Submit a script of a folder, and give the job's number."""
        done = self.ask("/usr/bin/sbatch", "--parsable", "--output=job.log", script, cwd=cwd, env=env)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def field(self, job: str, name: str) -> str:
        """Read one field of a job."""
        shown = dict(word.partition("=")[::2] for word in self.ask("scontrol", "show", "job", job).stdout.split())
        return shown.get(name, "")

    def wait(self, job: str, seconds: float = 60) -> str:
        """Wait until a job has ended, and give its state and exit code as Slurm tells them."""
        deadline = time.monotonic() + seconds
        while (state := self.field(job, "JobState")) in {"PENDING", "CONFIGURING", "RUNNING", "COMPLETING"}:
            if time.monotonic() > deadline:
                self.ask("scancel", "--full", "--signal=KILL", job)
                pytest.fail(f"job {job} is still {state} after {seconds} s")
            time.sleep(0.1)
        return f"{state} {self.field(job, 'ExitCode')}"

    def _ready(self) -> bool:
        return self.ask("sinfo", "--noheader", "--format=%t %D").stdout.split() == ["idle", str(len(NODES))]

    def wait_until_idle(self) -> None:
        """Wait until every node is free.

        Raises:
            AssertionError: One does not come.
        """
        deadline = time.monotonic() + _START_S
        while not self._ready():
            logs = "\n".join(log.read_text()[-800:] for log in self.folder.glob("*.log"))
            assert time.monotonic() < deadline, f"{self.ask('sinfo', '--long').stdout}\n{logs}"
            time.sleep(0.1)


@contextlib.contextmanager
def started(folder: Path) -> Iterator[SlurmCluster]:
    """Start a cluster in an empty folder, and end it with all that it runs; skip where Slurm is not installed."""
    programs = {name: shutil.which(name, path=_PATH) for name in ("slurmctld", "slurmd", "sbatch")}
    missing = [name for name, found in programs.items() if found is None]
    if missing:
        pytest.skip(f"Slurm is not installed: no {', '.join(missing)} (Debian: slurmctld, slurmd, slurm-client)")
    for name in ("state", *(f"spool/{node}" for node in NODES)):
        (folder / name).mkdir(parents=True)
    for index in range(8):
        (folder / f"gpu{index}").touch()
    (folder / "slurm.conf").write_text(_configuration(folder))
    (folder / "gres.conf").write_text(f"NodeName=n[0-1] Name=gpu Type=b300 File={folder}/gpu[0-7]\n")
    cluster = SlurmCluster(folder)
    daemons = (("slurmctld", "-D"), *(("slurmd", "-D", "-N", node) for node in NODES))
    with contextlib.ExitStack() as stack:
        for name, *words in daemons:
            stack.enter_context(_daemon((str(programs[name]), *words), folder))
        cluster.wait_until_idle()
        stack.callback(_end_jobs, cluster)
        yield cluster


@contextlib.contextmanager
def _daemon(argv: tuple[str, ...], folder: Path) -> Iterator[None]:
    environment = {"PATH": _PATH, "SLURM_CONF": str(folder / "slurm.conf")}
    with subprocess.Popen(
        argv,
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    ) as process:
        try:
            yield
        finally:
            process.terminate()


def _end_jobs(cluster: SlurmCluster) -> None:
    for job in cluster.ask("squeue", "--noheader", "--format=%i").stdout.split():
        cluster.ask("scancel", "--full", "--signal=KILL", job)
        cluster.ask("scancel", job)
    cluster.wait_until_idle()
