"""Fixtures that start the embedded engine with the seeded Kimi-K3 (a pytest plugin)."""

import contextlib
import os
import re
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from tests import samples
from tests.conftest import EmbeddedEngine

from dayzero.core.launch import LaunchSpec
from dayzero.core.pins import FilePin
from dayzero.core.quantities import Bytes
from dayzero.core.recipe import Recipe
from dayzero.engines.llamacpp.engine import ENGINE
from dayzero.engines.llamacpp.seeded import make_kimi_k3

START_BUDGET_S, STOP_BUDGET_S = 60, 5
FLAGS = ("--n-ctx", "8192", "--n-parallel", "4", "--cpuparams.n-threads", "1", "--kv-unified", "true")


@dataclass(frozen=True)
class Server:
    """A started launcher: the leader of its own session, so that every process it starts can be found."""

    process: subprocess.Popen[str]
    base_url: str
    log_path: Path

    def session(self) -> tuple[int, ...]:
        """Give the processes of the session that still run."""
        return tuple(pid for pid, session, state in _processes() if session == self.process.pid and state != "Z")

    def status(self, field: str) -> int:
        """Read a memory figure of ``/proc/PID/status`` in bytes."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        found = re.search(rf"^{field}:\s+(\d+) kB$", text, re.MULTILINE)
        assert found, text
        return int(found[1]) * 1024

    def stop(self, budget_s: float = STOP_BUDGET_S) -> int:
        """Ask it to end; kill the session when the budget is over and fail the test for it."""
        self.process.send_signal(signal.SIGTERM)
        try:
            code = self.process.wait(budget_s)
        except subprocess.TimeoutExpired:
            code = None
        left = self.session()
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        if self.process.stdout:
            self.process.stdout.close()
        if code is None or left:
            pytest.fail(f"processes {left} did not end within {budget_s} s of SIGTERM")
        return code


@dataclass(frozen=True)
class LlamaCppEndpoint:
    """The endpoint that the suites talk to: ``http://127.0.0.1:PORT`` without ``/v1``, and the name that it serves."""

    base_url: str
    model: str
    server: Server


def recipe_for(weights: Path, *, port: int = 0, flags: tuple[str, ...] = FLAGS) -> Recipe:
    """Write a recipe that serves one file, named as the launch expects it."""
    pin = FilePin(path=weights.name, sha256=samples.DIGEST, size=Bytes(weights.stat().st_size))
    recipe = samples.recipe()
    return replace(recipe, model=replace(recipe.model, files=(pin,)), flags=flags, port=port)


def unpack(spec: LaunchSpec, weights: Path, folder: Path) -> tuple[list[str], Mapping[str, str]]:
    """Lay out what the launch needs, and give the command and a clean environment."""
    (folder / "model").mkdir(parents=True, exist_ok=True)
    target = folder / "model" / weights.name
    if not target.exists():
        target.symlink_to(weights)
    for name, content in ENGINE.launch_files():
        (folder / name).write_bytes(content)
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return [sys.executable, *spec.argv[1:]], {**inherited, **dict(spec.env)}


def start(site: Path, recipe: Recipe, weights: Path, folder: Path) -> Server:
    """Start the launch of a recipe and wait for the line that says where it listens."""
    command, environment = unpack(ENGINE.launch(recipe, memory_bytes=1 << 30), weights, folder)
    log_path = folder / "engine.log"
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            command,
            cwd=folder,
            env={**environment, "PYTHONPATH": str(site)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            start_new_session=True,
        )
    assert process.stdout
    ready, _, _ = select.select([process.stdout], [], [], START_BUDGET_S)
    line = process.stdout.readline() if ready else ""
    found = re.fullmatch(r"listening on (http://127\.0\.0\.1:\d+)\n", line)
    server = Server(process=process, base_url=found[1] if found else "", log_path=log_path)
    if not found:
        server.stop()
        pytest.fail(f"the engine does not listen: {line!r}\n{log_path.read_text()}")
    return server


def wait_for_end(pid: int, budget_s: float) -> bool:
    """Say whether a process that is not our child ended within the budget."""
    deadline = time.monotonic() + budget_s
    while time.monotonic() < deadline:
        if all(running != pid or state == "Z" for running, _, state in _processes()):
            return True
        time.sleep(0.05)
    return False


def _processes() -> Iterator[tuple[int, int, str]]:
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            state, _, _, session = stat.read_text().rpartition(")")[2].split()[:4]
            yield int(stat.parent.name), int(session), state


@pytest.fixture(scope="session")
def tiny_k3(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the seeded Kimi-K3."""
    path = tmp_path_factory.mktemp("weights") / "tiny-k3.gguf"
    make_kimi_k3(7, path)
    return path


@pytest.fixture(scope="session")
def llamacpp_endpoint(
    embedded_engine: EmbeddedEngine, tiny_k3: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LlamaCppEndpoint]:
    """Serve the seeded Kimi-K3 until the last test that asks is done."""
    recipe = recipe_for(tiny_k3)
    server = start(embedded_engine.site, recipe, tiny_k3, tmp_path_factory.mktemp("llamacpp"))
    yield LlamaCppEndpoint(base_url=server.base_url, model=recipe.name, server=server)
    server.stop()
