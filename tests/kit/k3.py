"""A package definition of Kimi K3 on eight B300: the facts of the launch in ``tests/targets/launches.py``, and made-up digests.

The real repository's commit and the digests of its files are not known here, so this is a test's definition and no offer.
"""

import json

from tests.targets.launches import k3

from dayzero.core.launch import HubModel, LaunchSpec

SHARDS = 96
SHARD_BYTES = 16_250_000_000  # 1.56 TB over 96 shards
# What the launch itself adds: program, model, revisions, name, address.
_OWN = ("--revision", "--tokenizer-revision", "--code-revision", "--served-model-name", "--host", "--port")


def definition() -> str:
    """Write ``package.toml``."""
    spec = k3()
    assert isinstance(spec.model, HubModel)
    files = "".join(
        f'[[model.files]]\npath = "model-{number:05}-of-{SHARDS:05}.safetensors"\n'
        f'sha256 = "{number:064x}"\nsize_bytes = {SHARD_BYTES}\n\n'
        for number in range(1, SHARDS + 1)
    )
    return f"""\
schema = "dayzero/package/v1"
name = "kimi-k3"
version = "0.1.0"
title = "Kimi K3 on eight B300"
summary = "A definition for tests: the launch is the one that the deploy targets are tested with, the digests are made up."
tier = "licensed"
technique = ""

[model]
name = "Kimi-K3"
architecture = "KimiK3ForConditionalGeneration"
tensor_types = ["bf16", "mxfp4"]
weights_format = "safetensors"
parameters = 2_800_000_000_000
licence = "LicenseRef-Kimi-K3"

[model.hub]
repository = "{spec.model.repository}"
revision = "{spec.model.revision}"

{files}[engine]
engine = "vllm"
distribution = "vllm"
version = "0.27.0"
image = "{spec.image}"

[[engine.wheels]]
filename = "{spec.wheels[0].filename}"
sha256 = "{spec.wheels[0].sha256}"

[[kernels]]
library = "flashinfer"
distribution = "flashinfer-python"
version = "0.6.14"

[system]
name = "8xb300"
accelerator = "{spec.accelerator}"
accelerators = {spec.accelerators}
memory_bytes = 288_000_000_000
host_memory_bytes = {spec.memory_bytes}
shared_memory_bytes = {spec.shared_memory_bytes}

[serving]
name = "kimi-k3"
port = {spec.port}
flags = {json.dumps(_flags(spec))}
env = {{ {", ".join(f'{name} = "{value}"' for name, value in spec.env)} }}
start_budget_s = {spec.budgets.start_s}
stop_budget_s = {spec.budgets.stop_s}
pre_stop_s = {spec.budgets.pre_stop_s}

[workload]
seed = 1

[[workload.cells]]
name = "c1"
concurrency = 1
warmup_requests = 2
requests = 16
input_tokens = 1024
output_tokens = 256

[[not_measured]]
topic = "speed, memory and quality"
why = "This definition was never started."

[[changes]]
version = "0.1.0"
date = "2026-11-29"
kind = "added"
text = "First version."
"""


def _flags(spec: LaunchSpec) -> list[str]:
    words, kept = list(spec.argv[3:]), []
    while words:
        word = words.pop(0)
        if word in _OWN:
            words.pop(0)
        else:
            kept.append(word)
    return kept
