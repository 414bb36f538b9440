"""Versions to look for."""

from dataclasses import replace

from dayzero.catalog.facets import Facets
from dayzero.core.quantities import Bytes

GIB = 2**30

KIMI = Facets(
    name="kimi-k3-vllm-b300",
    handle="1.0.0",
    title="Kimi K3 on eight B300",
    latest=True,
    yanked=False,
    published="2026-08-01T00:00:00Z",
    model="Kimi-K3",
    architecture="KimiK3ForConditionalGeneration",
    gpu="b300",
    gpus="8",
    fits=("b300",),
    memory_each=Bytes(268 * GIB),
    memory=Bytes(8 * 268 * GIB),
    engine="vllm",
    precision=("BF16", "U8"),
    status="measured",
    licence="MIT",
    tier="licensed",
    text="kimi-k3-vllm-b300 Kimi K3 on eight B300 Kimi-K3 vllm MXFP4 mixture of experts, Größe naïve FlashKDA 日本語",
)
KIMI_OLD = replace(KIMI, handle="0.9.0", latest=False, yanked=True, title="Kimi K3 before", status="starts")
SMOL = replace(
    KIMI,
    name="smollm2-llamacpp",
    title="SmolLM2 on a CPU",
    model="SmolLM2",
    architecture="LlamaForCausalLM",
    gpu="cpu",
    gpus="0",
    fits=("b200", "b300", "h100"),
    memory_each=Bytes(2 * GIB),
    memory=Bytes(2 * GIB),
    engine="llamacpp",
    precision=("Q8_0",),
    status="none",
    licence="Apache-2.0",
    tier="open",
    text="smollm2-llamacpp SmolLM2 on a CPU llamacpp, tested beside Kimi K3 'quoted' \"double\" a:b c* NEAR(x y) AND OR NOT",
)
QWEN = replace(
    SMOL,
    name="qwen-vllm-h100",
    title="Qwen beside kimi",
    model="Qwen",
    gpu="h100",
    gpus="1",
    fits=("h100", "b200"),
    memory_each=Bytes(80 * GIB),
    memory=Bytes(80 * GIB),
    engine="vllm",
    precision=("BF16",),
    status="serves",
    text="qwen-vllm-h100 Qwen beside kimi vllm",
)
ALL = (KIMI, KIMI_OLD, QWEN, SMOL)


def found_names(hits: tuple[tuple[str, str], ...]) -> list[str]:
    return [f"{name}@{handle}" for name, handle in hits]
