"""The launcher as a program: on its own, with a simulated wheel for the command line, and with the real builds."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

import httpx
import pytest
from tests.conftest import EmbeddedEngine
from tests.engines.llamacpp.fixtures import LlamaCppEndpoint, recipe_for, start, unpack, wait_for_end

from dayzero.core.errors import InputError
from dayzero.engines.llamacpp.engine import ENGINE
from dayzero.engines.llamacpp.facts import settings_in

NEEDED = ("--model", "model/m.gguf", "--alias", "m", "--host", "127.0.0.1", "--port", "0")

# The wheel's module as far as the launcher uses it: parameters with their kinds, and a server that prints what it was given.
SIMULATED = """
import enum, json, os
class CacheType(enum.IntEnum):
    GGML_TYPE_F16 = 1
    GGML_TYPE_Q8_0 = 8
    GGML_TYPE_COUNT = 42
class Cpu:
    n_threads = -1
class Model:
    path = ""
class CommonParams:
    HOST
    port = 0; n_ctx = 0; n_parallel = 1; n_threads_http = -1; rope_freq_base = 0.0; kv_unified = False; ui = True
    cache_ram_mib = 8192; endpoint_metrics = False; warmup = True; offline = False; chat_template = ""
    cache_type_k = CacheType.GGML_TYPE_F16; model_alias = set(); default_template_kwargs = {}
    def __init__(self):
        self.cpuparams, self.cpuparams_batch, self.model = Cpu(), Cpu(), Model()
        self.tensor_split, self.api_keys = [0.5], []
    def print(self): ...
def plain(value):
    return sorted(value) if isinstance(value, set) else fields(value)
def fields(owner):
    return {name: getattr(owner, name) for name in dir(owner) if not name.startswith("_") and name != "print"}
class Server:
    listening_address = "http://127.0.0.1:1"
    def __init__(self, params):
        if os.environ.get("RAISE"):
            raise RuntimeError("Failed to init server")
        print(json.dumps(fields(params), default=plain), flush=True)
        os._exit(0)
"""


class Run(Protocol):
    """Runs the launcher with a command line; ``host`` is how the simulated build declares the address."""

    def __call__(self, *words: str, host: str = ..., **env: str) -> subprocess.CompletedProcess[str]: ...


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Give a function that runs the launcher against a simulated wheel of an older or a newer build."""
    ((name, content),) = ENGINE.launch_files()
    (tmp_path / name).write_bytes(content)

    def run_launcher(*words: str, host: str = "hostnames = []", **env: str) -> subprocess.CompletedProcess[str]:
        (tmp_path / "xllamacpp.py").write_text(SIMULATED.replace("HOST", host, 1))
        return subprocess.run(
            [sys.executable, "-S", name, *words],
            check=False,
            cwd=tmp_path,
            env=env,
            capture_output=True,
            text=True,
            timeout=30,
        )

    return run_launcher


def seen(done: subprocess.CompletedProcess[str]) -> Mapping[str, Any]:
    assert done.returncode == 0, done.stderr
    params: Mapping[str, Any] = json.loads(done.stdout.splitlines()[0])
    return params


def test_it_sets_what_a_server_needs(run: Run):
    params = seen(run(*NEEDED))
    assert params["model"] == {"path": "model/m.gguf"}
    assert params["model_alias"] == ["m"]
    assert (params["endpoint_metrics"], params["offline"], params["warmup"], params["ui"]) == (True, True, False, False)
    assert params["cache_ram_mib"] == 0


@pytest.mark.parametrize(
    ("host", "name", "expected"),
    [("hostname = ''", "hostname", "127.0.0.1"), ("hostnames = []", "hostnames", ["127.0.0.1"])],
)
def test_it_speaks_both_builds_name_for_the_address(run: Run, host: str, name: str, expected: object):
    assert seen(run(*NEEDED, host=host))[name] == expected


@pytest.mark.parametrize(
    ("words", "name", "value"),
    [
        (("--n-ctx", "16384"), "n_ctx", 16384),
        (("--n-ctx", "-1"), "n_ctx", -1),
        (("--kv-unified", "true"), "kv_unified", True),
        (("--warmup", "true"), "warmup", True),
        (("--cache-ram-mib", "64"), "cache_ram_mib", 64),
        (("--rope-freq-base", "1e4"), "rope_freq_base", 10000.0),
        (("--chat-template", "--x--"), "chat_template", "--x--"),
        (("--cpuparams.n-threads", "3"), "cpuparams", {"n_threads": 3}),
        (("--cpuparams.n-threads", "3"), "cpuparams_batch", {"n_threads": 3}),
        (("--cache-type-k", "q8_0"), "cache_type_k", 8),
        (("--tensor-split", "0.25,0.75"), "tensor_split", [0.25, 0.75]),
        (("--api-keys", "a,b"), "api_keys", ["a", "b"]),
        (("--n-parallel", "16"), "n_threads_http", 20),
        (("--n-threads-http", "2"), "n_threads_http", 2),
    ],
)
def test_a_setting_is_read_by_the_kind_of_value_that_is_there(
    run: Run, words: tuple[str, ...], name: str, value: object
):
    assert seen(run(*NEEDED, *words))[name] == value


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((*NEEDED, "--n-contexts", "1"), "error: unknown setting --n-contexts"),
        ((*NEEDED, "--cpuparams.x-y", "1"), "error: unknown setting --cpuparams.x-y"),
        ((*NEEDED, "--nothing.n-threads", "1"), "error: unknown setting --nothing.n-threads"),
        ((*NEEDED, "--n-ctx", "1.5"), "error: setting --n-ctx takes a whole number that fits, got '1.5'"),
        ((*NEEDED, "--rope-freq-base", "x"), "error: setting --rope-freq-base takes a number, got 'x'"),
        ((*NEEDED, "--kv-unified", "1"), "error: setting --kv-unified takes true or false, got '1'"),
        ((*NEEDED, "--cache-type-k", "count"), "error: setting --cache-type-k takes one of f16, q8_0, got 'count'"),
        ((*NEEDED, "--print", "1"), "error: setting --print cannot be set on a command line"),
        (
            (*NEEDED, "--default-template-kwargs", "{}"),
            "error: setting --default-template-kwargs cannot be set on a command line",
        ),
        ((*NEEDED, "--n-ctx", "1", "--n-ctx", "2"), "error: setting --n-ctx is given twice"),
        ((*NEEDED, "--n-ctx"), "error: setting --n-ctx has no value"),
        ((*NEEDED, "--n_ctx", "1"), "error: expected a setting such as --n-ctx, got '--n_ctx'"),
        ((*NEEDED, "-c", "1"), "error: expected a setting such as --n-ctx, got '-c'"),
        ((*NEEDED, "--__class__.x", "1"), "error: expected a setting such as --n-ctx, got '--__class__.x'"),
        (NEEDED[:-2], "error: --port is missing"),
        (NEEDED[2:], "error: --model is missing"),
    ],
)
def test_a_command_line_that_cannot_be_used_ends_with_2_and_one_line(run: Run, words: tuple[str, ...], said: str):
    done = run(*words)
    assert (done.returncode, done.stderr.strip(), done.stdout) == (2, said, "")
    assert ENGINE.looks_like_cause(done.stderr.strip())


def test_an_engine_that_raises_ends_with_1_and_pythons_own_last_line(run: Run):
    done = run(*NEEDED, RAISE="1")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == "RuntimeError: Failed to init server"


def test_it_imports_nothing_but_the_standard_library_and_the_wheel():
    ((_, content),) = ENGINE.launch_files()
    imported = {
        line.split()[1].split(".")[0]
        for line in content.decode().splitlines()
        if line.strip().startswith(("import ", "from "))
    }
    assert imported - set(sys.stdlib_module_names) == {"xllamacpp"}


@pytest.mark.engine
class TestOnRealBuilds:
    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_a_signal_ends_it_and_leaves_no_process_behind(
        self, embedded_engine: EmbeddedEngine, tiny_k3: Path, tmp_path: Path, number: signal.Signals
    ):
        server = start(embedded_engine.site, recipe_for(tiny_k3), tiny_k3, tmp_path)
        server.process.send_signal(number)
        assert server.process.wait(5) == 0
        assert server.stop() == 0

    def test_the_older_build_ends_with_1_and_names_the_architecture(
        self, embedded_engine: EmbeddedEngine, tiny_k3: Path, tmp_path: Path
    ):
        done = run_to_end(embedded_engine.old_site, tiny_k3, tmp_path)
        assert done.returncode == 1
        causes = [line for line in done.stderr.splitlines() if ENGINE.looks_like_cause(line)]
        assert [cause.partition(" E ")[2] for cause in causes] == [
            "llama_model_load: error loading model: unknown model architecture: 'kimi-k3'"
        ]

    def test_it_ends_with_its_parent(self, embedded_engine: EmbeddedEngine, tiny_k3: Path, tmp_path: Path):
        assert self.orphan_ends(embedded_engine, tiny_k3, tmp_path, prefix="")

    def test_under_nohup_it_outlives_its_parent(self, embedded_engine: EmbeddedEngine, tiny_k3: Path, tmp_path: Path):
        assert not self.orphan_ends(embedded_engine, tiny_k3, tmp_path, prefix="trap '' HUP; ")

    def orphan_ends(self, embedded_engine: EmbeddedEngine, weights: Path, folder: Path, prefix: str) -> bool:
        """Start it from a shell that prints its id and ends once it listens; say whether it ends too."""
        command, environment = unpack(ENGINE.launch(recipe_for(weights), memory_bytes=0), weights, folder)
        words = " ".join(f"'{word}'" for word in command)
        script = f"{prefix}{words} >out 2>err & echo $!; until grep -q listening out; do sleep 0.05; done"
        shell = subprocess.run(
            ["sh", "-c", script],
            cwd=folder,
            env={**environment, "PYTHONPATH": str(embedded_engine.site)},
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        pid = int(shell.stdout)
        ended = wait_for_end(pid, budget_s=5 if not prefix else 1)
        if not ended:
            os.kill(pid, signal.SIGKILL)
        return ended

    def test_what_the_table_calls_a_setting_the_launcher_takes(
        self, embedded_engine: EmbeddedEngine, tiny_k3: Path, tmp_path: Path
    ):
        flags = ("--n-ctx", "512", "--sampling.temp", "0.5", "--cache-ram-mib", "8", "--speculative.draft.n-max", "4")
        assert len(settings_in(flags)) == 4
        start(embedded_engine.site, recipe_for(tiny_k3, flags=flags), tiny_k3, tmp_path).stop()

    def test_the_port_answers_on_loopback_only_and_says_it_is_healthy(self, llamacpp_endpoint: LlamaCppEndpoint):
        assert httpx.get(f"{llamacpp_endpoint.base_url}/health", timeout=10).json() == {"status": "ok"}


def run_to_end(site: Path, weights: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    command, environment = unpack(ENGINE.launch(recipe_for(weights), memory_bytes=0), weights, folder)
    return subprocess.run(
        command,
        check=False,
        cwd=folder,
        env={**environment, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_the_launch_refuses_nothing_that_settings_in_accepts_by_form():
    with pytest.raises(InputError):
        settings_in(("--n-ctx", "1", "stray", "2"))
