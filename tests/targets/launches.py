"""Launches for the tests of deploy targets: plain, hostile, of GPUs, of the hub, of several nodes, and any that can be drawn."""

from dataclasses import replace
from itertools import pairwise

from hypothesis import strategies as st

from dayzero.core.launch import Budgets, HubModel, LaunchSpec, LocalModel, Nodes, Placeholder
from dayzero.core.pins import Commit, FilePin, Sha256, SourceBuild, WheelPin
from dayzero.core.quantities import Bytes

HOSTILE_WORDS = (
    "",
    " ",
    "  led and trailed  ",
    "tab\there\t",
    "a$HOME${B}$(id)$$c",
    "$",
    "$$",
    "100%h%%",
    "%",
    "it's",
    '"quoted"',
    "`id`",
    "back\\slash",
    "ends in \\",
    "\\n",
    "#;&|*?~",
    ";",
    "#",
    "~/cache",
    "!x",
    "-",
    "--",
    "@x",
    "1e3",
    "yes",
    "no",
    "null",
    "~",
    "0777",
    "0x1f",
    "1_000",
    "12:30:45",
    "2026-07-27",
    "é✓",
    "\u2028\u2029\ufeff\u00a0",
    "\U0001f600",
    "<<",
    "*a",
    "&a",
    "!!int 1",
    "{}",
    "[a, b]",
    "k: v",
    "A=B",
    "=",
    "==x",
)

_ALPHABET = st.one_of(
    st.sampled_from("$%\\\"'`{}()#;&|*?~!=:-+ \t\u2028\ufeff\u00a0ab01"),
    st.characters(exclude_categories=("Cc", "Cs", "Cn")),
)
WORDS = st.one_of(st.sampled_from(HOSTILE_WORDS), st.text(_ALPHABET, max_size=12))
_NAMES = st.from_regex(r"\A(?!PATH|PWD|_\Z)[A-Z][A-Z0-9_]{0,8}X\Z")


def launch(
    *words: str, env: tuple[tuple[str, str], ...] = (), image: str = "", accelerators: int = 0, port: int = 8080
) -> LaunchSpec:
    """Give a launch of ``python3 serve.py`` with more words at its end."""
    return LaunchSpec(
        name="demo",
        argv=("python3", "serve.py", "--model", "model/tiny.gguf", "--host", "127.0.0.1", "--port", str(port), *words),
        env=env,
        wheels=(WheelPin(filename="engine-1.0-cp311-cp311-linux_x86_64.whl", sha256=Sha256("1" * 64)),),
        distribution="engine==1.0",
        image=image,
        model=LocalModel(
            files=(
                FilePin(path="tiny.gguf", sha256=Sha256("2" * 64), size=Bytes(17_000_000)),
                FilePin(path="more/second half.gguf", sha256=Sha256("3" * 64), size=Bytes(3)),
            )
        ),
        port=port,
        health_path="/health",
        ready_path="/v1/models",
        accelerator="h200" if accelerators else "",
        accelerators=accelerators,
        memory_bytes=512 * 1024**2,
        shared_memory_bytes=256 * 1024**2 if accelerators else 0,
        budgets=Budgets(start_s=95, stop_s=20),
    )


def plain() -> LaunchSpec:
    """Give the launch of a small engine."""
    return launch("--ctx-size", "2048", "--no-warmup", env=(("OMP_NUM_THREADS", "2"), ("ENGINE_LOG", "info")))


def hostile() -> LaunchSpec:
    """Give a launch that holds every hostile word, as an argument and as a value."""
    env = tuple((f"HOSTILE_{index}", word) for index, word in enumerate(HOSTILE_WORDS))
    return launch(*HOSTILE_WORDS, env=env)


def marked() -> LaunchSpec:
    """Give a launch in which every word and every value stands nowhere else in any file."""
    words = tuple(f"wordmark{index}z" for index in range(6))
    return launch(*words, env=tuple((f"NAMEMARK{index}Z", f"valuemark{index}z") for index in range(4)))


def h200_shape() -> LaunchSpec:
    """Give a launch on eight H200 with weights beside it, a drain, and JSON among its words."""
    model = FilePin(path="model-00001-of-00001.safetensors", sha256=Sha256("4" * 64), size=Bytes(140 * _GIB))
    return LaunchSpec(
        name="h200-shape",
        argv=("vllm", "serve", "model", "--served-model-name", "org/big model", *_ADDRESS, *_H200_WORDS),
        env=(("VLLM_ENGINE_READY_TIMEOUT_S", "1800"), ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True")),
        wheels=(_VLLM,),
        distribution="vllm==0.27.0",
        model=LocalModel(files=(model,)),
        port=8000,
        health_path="/health",
        ready_path="/v1/models",
        accelerator="h200",
        accelerators=8,
        memory_bytes=1024 * _GIB,
        shared_memory_bytes=64 * _GIB,
        budgets=Budgets(start_s=1800, engine_start_s=1800, stop_s=180, pre_stop_s=15, drain_s=120),
    )


def k3() -> LaunchSpec:
    """Give the launch of Kimi K3 on eight B300, its weights fetched from the hub at three commits."""
    revision = Commit("0123456789" * 4)
    pins = ("--revision", revision.hex, "--tokenizer-revision", revision.hex, "--code-revision", revision.hex)
    return LaunchSpec(
        name="kimi-k3",
        argv=("vllm", "serve", "moonshotai/Kimi-K3", *pins, "--served-model-name", "kimi-k3", *_ADDRESS, *_K3_WORDS),
        env=(("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"), ("VLLM_ENGINE_READY_TIMEOUT_S", "3600")),
        wheels=(_VLLM,),
        distribution="vllm==0.27.0",
        image="docker.io/vllm/vllm-openai@sha256:" + "b" * 64,
        model=HubModel(
            repository="moonshotai/Kimi-K3", revision=revision, tokenizer_revision=revision, code_revision=revision
        ),
        port=8000,
        health_path="/health",
        ready_path="/v1/models",
        accelerator="b300",
        accelerators=8,
        memory_bytes=2048 * _GIB,
        shared_memory_bytes=64 * _GIB,
        budgets=Budgets(start_s=3600, engine_start_s=3600, stop_s=180, pre_stop_s=15, drain_s=120),
    )


def k3_two_nodes() -> LaunchSpec:
    """Give the launch of Kimi K3 on two machines of eight H200."""
    spec = k3()
    words = ("--nnodes", "2", "--master-addr", Placeholder.LEADER_ADDRESS, "--node-rank")
    nodes = Nodes(count=2, leader=(*words, "0"), worker=(*words, Placeholder.NODE_RANK, "--headless"))
    argv = tuple("16" if before == "--tensor-parallel-size" else word for before, word in pairwise(("", *spec.argv)))
    return replace(spec, name="kimi-k3-two-nodes", argv=argv, accelerator="h200", nodes=nodes)


def source_build() -> LaunchSpec:
    """Give the launch of an engine that is built from a commit and that no wheel or image holds."""
    source = SourceBuild(repository="https://github.com/vllm-project/vllm", commit=Commit("89abcdef01" * 4))
    return replace(k3(), name="kimi-k3-day-0", image="", wheels=(), source=source)


_GIB = 1024**3
_VLLM = WheelPin(filename="vllm-0.27.0-cp38-abi3-manylinux_2_28_x86_64.whl", sha256=Sha256("5" * 64))
_ADDRESS = ("--host", "127.0.0.1", "--port", "8000")
_H200_WORDS = (
    *(
        "--tensor-parallel-size",
        "8",
        "--max-model-len",
        "131072",
        "--kv-cache-dtype",
        "fp8",
        "--shutdown-timeout",
        "120",
    ),
    *("--speculative-config", '{"method": "mtp", "num_speculative_tokens": 1}', "--enable-auto-tool-choice"),
)
_K3_WORDS = (
    *("--trust-remote-code", "--tensor-parallel-size", "8", "--enable-expert-parallel", "--moe-backend", "marlin"),
    *("--kda-prefill-backend", "triton", "--disable-custom-all-reduce", "--block-size", "128"),
    *("--max-model-len", "40960", "--shutdown-timeout", "120"),
)


@st.composite
def launches(draw: st.DrawFn) -> LaunchSpec:
    """Draw a launch that every target can carry."""
    words = draw(st.lists(WORDS.filter(lambda word: word != "--host"), max_size=6))
    names = draw(st.lists(_NAMES, max_size=4, unique=True))
    spec = launch(*words, accelerators=draw(st.sampled_from((0, 8))))
    return replace(spec, env=tuple((name, draw(WORDS)) for name in names))
