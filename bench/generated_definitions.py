"""Package definitions of models, GPUs and engines that exist, made from a number; digests are drawn and nothing was measured."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from dayzero.core.pins import Sha256

REQUESTS: Final = 12
CELLS: Final = (1, 8, 32)
_METRICS: Final = (
    ("output_tok_s", "total", "output rate", "tok/s"),
    ("ttft_ms", "p50", "time to first token, median", "ms"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A model as its publisher's configuration describes it.

    Attributes:
        name: What people call it.
        repository: Where its publisher keeps it.
        licence: SPDX expression.
        parameters: How many.
        config: Its ``config.json``.
        tensor_types: Storage types of its tensors.
    """

    name: str
    repository: str
    licence: str
    parameters: int
    config: Mapping[str, object]
    tensor_types: tuple[str, ...] = ("bf16",)

    @property
    def architecture(self) -> str:
        """Its architecture."""
        return str(self.config["architectures"][0])  # type: ignore[index]


def _dense(architecture: str, kind: str, *shape: int, **more: object) -> dict[str, object]:
    names = ("vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads")
    return {
        "architectures": [architecture],
        "model_type": kind,
        **dict(zip((*names, "num_key_value_heads"), shape, strict=True)),
        "max_position_embeddings": 40960,
        "tie_word_embeddings": False,
        "torch_dtype": "bfloat16",
        **more,
    }


_QWEN = ("Qwen3ForCausalLM", "qwen3", 151936)
_LLAMA = ("LlamaForCausalLM", "llama", 128256)
_EXPERTS = {"num_experts": 128, "num_experts_per_tok": 8, "decoder_sparse_step": 1, "mlp_only_layers": []}
MODELS = (
    Model(
        name="Qwen3-32B",
        repository="Qwen/Qwen3-32B",
        licence="Apache-2.0",
        parameters=32_762_123_264,
        config=_dense(*_QWEN, 5120, 25600, 64, 64, 8, head_dim=128),
    ),
    Model(
        name="Qwen3-8B",
        repository="Qwen/Qwen3-8B",
        licence="Apache-2.0",
        parameters=8_190_735_360,
        config=_dense(*_QWEN, 4096, 12288, 36, 32, 8, head_dim=128),
    ),
    Model(
        name="Llama-3.1-8B",
        repository="meta-llama/Llama-3.1-8B",
        licence="LicenseRef-Llama-3.1",
        parameters=8_030_261_248,
        config=_dense(*_LLAMA, 4096, 14336, 32, 32, 8),
    ),
    Model(
        name="Llama-3.3-70B",
        repository="meta-llama/Llama-3.3-70B-Instruct",
        licence="LicenseRef-Llama-3.3",
        parameters=70_553_706_496,
        config=_dense(*_LLAMA, 8192, 28672, 80, 64, 8),
    ),
    Model(
        name="Qwen3-235B-A22B",
        repository="Qwen/Qwen3-235B-A22B",
        licence="Apache-2.0",
        parameters=235_093_634_560,
        config=_dense(
            "Qwen3MoeForCausalLM", "qwen3_moe", 151936, 4096, 12288, 94, 64, 4, head_dim=128,
            moe_intermediate_size=1536, **_EXPERTS,
        ),
    ),
)  # fmt: skip
GPUS = (("h200", 1, 150), ("l40s", 1, 47), ("h100", 4, 84), ("h200", 8, 150), ("b200", 8, 191), ("b300", 8, 288))
ENGINES = ("0.27.1", "0.27.0", "0.26.0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a package is to be.

    Attributes:
        name, version: Of the package.
        model: What it serves.
        gpu, count, memory_gb: On what.
        engine: Which vLLM.
        tier: ``open`` or ``licensed``.
        seed: Of everything that is drawn.
        versions: The versions so far, newest first, for the changelog.
    """

    name: str
    version: str = "1.0.0"
    model: Model = MODELS[0]
    gpu: str = "h200"
    count: int = 1
    memory_gb: int = 150
    engine: str = ENGINES[0]
    tier: str = "open"
    seed: int = 0
    versions: tuple[str, ...] = ("1.0.0",)


def wanted(number: int) -> Wanted:
    """Say what package a number stands for; neighbours differ in model, engine and GPU."""
    model = MODELS[number % len(MODELS)]
    gpu, count, memory = GPUS[number // len(MODELS) % len(GPUS)]
    return Wanted(
        name=f"{model.name.lower().replace('.', '-')}-{count}x{gpu}-{number:05}",
        model=model,
        gpu=gpu,
        count=count,
        memory_gb=memory,
        engine=ENGINES[number // 30 % len(ENGINES)],
        tier="licensed" if number % 7 == 6 else "open",  # noqa: PLR2004  (one of seven)
        seed=number,
    )


def _digest(*words: object) -> str:
    return Sha256.of("/".join(map(str, words)).encode()).hex


def config_text(model: Model) -> str:
    """Write a model's ``config.json``."""
    return json.dumps(model.config, indent=1)


def definition(asked: Wanted) -> str:
    """Write ``package.toml``."""
    model, config = asked.model, config_text(asked.model).encode()
    weights = 2 * model.parameters
    changes = "\n".join(_change(version, first=version == asked.versions[-1]) for version in asked.versions)
    claims = "\n".join(_bench_claim(*claim) for claim in _bench_claims())
    cells = "\n".join(_cell(streams) for streams in CELLS)
    return f"""\
schema = "dayzero/package/v1"
name = "{asked.name}"
version = "{asked.version}"
title = "{model.name} on {asked.count} x {asked.gpu.upper()}"
summary = "{model.name} served by vLLM {asked.engine} on {asked.count} x {asked.gpu.upper()}."
tier = "{asked.tier}"
technique = ""

[model]
name = "{model.name}"
architecture = "{model.architecture}"
tensor_types = {json.dumps(model.tensor_types)}
weights_format = "safetensors"
parameters = {model.parameters}
licence = "{model.licence}"

[model.hub]
repository = "{model.repository}"
revision = "{_digest(model.name, "revision")[:40]}"

[[model.files]]
path = "model.safetensors"
sha256 = "{_digest(model.name, "weights")}"
size_bytes = {weights}

[[model.files]]
path = "config.json"
sha256 = "{Sha256.of(config)}"
size_bytes = {len(config)}

[engine]
engine = "vllm"
distribution = "vllm"
version = "{asked.engine}"
image = "docker.io/vllm/vllm-openai@sha256:{_digest(asked.engine, "image")}"

[[engine.wheels]]
filename = "vllm-{asked.engine}-cp38-abi3-manylinux_2_35_x86_64.whl"
sha256 = "{_digest(asked.engine, "wheel")}"

[[kernels]]
library = "flashinfer"
distribution = "flashinfer-python"
version = "0.6.14"

[system]
name = "{asked.count}x{asked.gpu}"
accelerator = "{asked.gpu}"
accelerators = {asked.count}
memory_bytes = {asked.memory_gb}_000_000_000
host_memory_bytes = 137_438_953_472
shared_memory_bytes = 17_179_869_184

[parallelism]
tp = {asked.count}

[serving]
name = "{model.name.lower()}"
port = 8000
flags = ["--max-model-len", "40960", "--seed", "{asked.seed}"{_tensor_parallel(asked)}]
env = {{ VLLM_ENGINE_READY_TIMEOUT_S = "1800" }}
start_budget_s = 1800
stop_budget_s = 60
pre_stop_s = 10

[workload]
seed = {asked.seed}

{cells}

{claims}

[[claims]]
id = "start-to-healthy"
label = "start to healthy"
unit = "s"
source = "start.json"
pointer = "/seconds"
extractor = "json-value@1"
parameters = {{ decimals = "1" }}

[[not_measured]]
topic = "quality of the answers"
why = "No gate was run: no weight byte differs from what its publisher signed."

[[not_measured]]
topic = "refusals and toxicity"
why = "Nothing about them was asked."

{changes}
"""


def _tensor_parallel(asked: Wanted) -> str:
    return f', "--tensor-parallel-size", "{asked.count}"' if asked.count > 1 else ""


def _change(version: str, *, first: bool) -> str:
    kind, text = (
        ("added", "First version.") if first else ("changed", "Engine pinned anew, the same grid measured again.")
    )
    return f'[[changes]]\nversion = "{version}"\ndate = "2026-11-1{version[2]}"\nkind = "{kind}"\ntext = "{text}"\n'


def _cell(streams: int) -> str:
    return f"""\
[[workload.cells]]
name = "c{streams}"
concurrency = {streams}
warmup_requests = 2
requests = {REQUESTS}
input_tokens = 1024
output_tokens = 8
"""


def _bench_claims() -> Iterator[tuple[int, str, str, str, str]]:
    for streams in CELLS:
        for metric, statistic, label, unit in _METRICS:
            yield streams, metric, statistic, f"{label}, {streams} in flight", unit


def _bench_claim(streams: int, metric: str, statistic: str, label: str, unit: str) -> str:
    headline = "headline = true\n" if (streams, metric) == (1, "output_tok_s") else ""
    return f"""\
[[claims]]
id = "c{streams}-{metric.replace("_", "-")}"
label = "{label}"
unit = "{unit}"
source = "requests.jsonl"
extractor = "bench-rows@1"
parameters = {{ cell = "c{streams}", metric = "{metric}", statistic = "{statistic}", decimals = "1" }}
{headline}"""
