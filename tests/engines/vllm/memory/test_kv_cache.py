"""How the cache is cut: pages, groups, blocks of one request."""

from dataclasses import replace

import pytest
from tests.engines.vllm.memory.models import QWEN3_8B, checkpoint, kimi_k3

from dayzero.engines.vllm.memory.kv_cache import CachePlan, cache_layout
from dayzero.engines.vllm.memory.shape import Shape, shape_of

PLAN = CachePlan(
    tp=1,
    value_bytes=2,
    model_bytes=2,
    packed_latent=0,
    block=16,
    block_multiple=128,
    in_flight=16384,
    speculative=0,
    checkpoints=1,
    hybrid_groups=True,
    context=40960,
)
LATENT = {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128}
GPT_OSS = {
    "model_type": "gpt_oss",
    "num_hidden_layers": 36,
    "head_dim": 64,
    "sliding_window": 128,
    "layer_types": ["sliding_attention", "full_attention"] * 18,
}
GEMMA3 = {"model_type": "gemma3_text", "num_hidden_layers": 26, "sliding_window": 512, "sliding_window_pattern": 6}
NEXT = {
    "model_type": "qwen3_next",
    "num_hidden_layers": 48,
    "num_key_value_heads": 2,
    "head_dim": 256,
    "full_attention_interval": 4,
    "linear_num_key_heads": 16,
    "linear_num_value_heads": 32,
    "linear_key_head_dim": 128,
    "linear_value_head_dim": 128,
    "linear_conv_kernel_dim": 4,
    "mamba_ssm_dtype": "float32",
}


def shape(**changed: object) -> Shape:
    found = shape_of(checkpoint({**QWEN3_8B, **changed}, ()))
    assert isinstance(found, Shape)
    return found


def k3(layers: int) -> Shape:
    found = shape_of(kimi_k3(layers))
    assert isinstance(found, Shape)
    return found


HEADS = 2 * 8 * 128 * 2  # bytes of one token's keys and values in one layer of Qwen3-8B


@pytest.mark.parametrize(
    ("model", "changed", "block_bytes", "request_blocks", "block_tokens"),
    [
        pytest.param(shape(), {}, 36 * 16 * HEADS, 2560, 16, id="every layer sees everything: one group"),
        pytest.param(shape(), {"tp": 4}, 36 * 16 * HEADS // 4, 2560, 16, id="heads are split"),
        pytest.param(shape(), {"tp": 16}, 36 * 16 * HEADS // 8, 2560, 16, id="no rank caches less than a head"),
        pytest.param(shape(), {"value_bytes": 1}, 36 * 16 * HEADS // 2, 2560, 16, id="an 8-bit cache"),
        pytest.param(shape(), {"context": 40961}, 36 * 16 * HEADS, 2561, 16, id="a block is taken whole"),
        pytest.param(shape(**LATENT), {}, 36 * 16 * 1152, 2560, 16, id="a latent is not split and has no values"),
        pytest.param(shape(**LATENT), {"tp": 8}, 36 * 16 * 1152, 2560, 16, id="a latent is on every rank"),
        pytest.param(shape(**LATENT), {"packed_latent": 656}, 36 * 16 * 656, 2560, 16, id="a packed latent"),
        pytest.param(
            shape(**LATENT, index_head_dim=128),
            {"block": 64},
            36 * 64 * (1152 + 132),
            640,
            64,
            id="an indexer keeps a key of its own",
        ),
        pytest.param(
            shape(**GPT_OSS),
            {},
            18 * 16 * 2048,
            2560 + 1033,
            16,
            id="half of the layers see a window and what is in flight",
        ),
        pytest.param(
            shape(**GPT_OSS), {"in_flight": 1024, "context": 131072}, 18 * 16 * 2048, 8192 + 73, 16, id="4.54 GiB"
        ),
        pytest.param(
            shape(**GPT_OSS), {"hybrid_groups": False}, 36 * 16 * 2048, 2560, 16, id="windows that never slide"
        ),
        pytest.param(
            shape(**GEMMA3), {}, 4 * 16 * HEADS, 2560 + 6 * 1057, 16, id="22 windows in 6 groups of at most 4"
        ),
        pytest.param(k3(4), {"block": 128}, 5760 * 1152, 8 + 3, 5760, id="4 layers of Kimi-K3, as a run printed"),
        pytest.param(k3(5), {"block": 128}, 5760 * 1152, 8 + 4, 5760, id="5 layers of Kimi-K3"),
        pytest.param(
            k3(4), {"block": 128, "checkpoints": 2}, 5760 * 1152, 8 + 6, 5760, id="states kept for a prefix cache"
        ),
        pytest.param(k3(4), {"block_multiple": 1}, 5664 * 1152, 8 + 3, 5664, id="before the multiple of 128"),
        pytest.param(k3(93), {"block": 128, "tp": 8}, 24 * 768 * 1152, 54 + 3, 768, id="all layers over 8 ranks"),
        pytest.param(
            shape(**NEXT), {}, 12 * 1056 * 2048, 39 + 3, 1056, id="Qwen3-Next: a block is as large as a state"
        ),
    ],
)
def test_the_cache_is_cut_as_vllm_cuts_it(
    model: Shape, changed: dict[str, int], block_bytes: int, request_blocks: int, block_tokens: int
):
    layout = cache_layout(model, replace(PLAN, **changed), 0, model.layers)
    assert (layout.block_bytes, layout.request_blocks, layout.block_tokens) == (
        block_bytes,
        request_blocks,
        block_tokens,
    )
    assert layout.request_bytes == block_bytes * request_blocks


def test_stages_hold_their_part_of_the_groups_of_all_layers():
    model, plan = k3(93), replace(PLAN, block=128, tp=8)
    whole = cache_layout(model, plan, 0, 93)
    stages = [cache_layout(model, plan, 0, 47), cache_layout(model, plan, 47, 93)]
    assert {stage.request_blocks for stage in stages} == {whole.request_blocks}
    assert sum(stage.block_bytes for stage in stages) in range(whole.block_bytes, whole.block_bytes * 26 // 24)


def test_what_is_left_holds_whole_blocks_and_none_where_nothing_is_left():
    layout = cache_layout(shape(), PLAN, 0, 36)
    assert layout.blocks(layout.block_bytes * 7 + 1) == 7
    assert layout.blocks(-1) == 0
    assert layout.concurrency(5120) == 2.0


@pytest.mark.parametrize(
    ("printed_gib", "tokens", "model", "changed"),
    [
        (17.90, 146_608, shape(num_hidden_layers=64), {"tp": 2, "context": 32768}),
        (102.05, 743_120, shape(), {}),
    ],
)
def test_a_printed_cache_holds_the_printed_tokens(
    printed_gib: float, tokens: int, model: Shape, changed: dict[str, int]
):
    plan = replace(PLAN, **changed)
    layout = cache_layout(model, plan, 0, model.layers)
    held = layout.concurrency(layout.blocks(round(printed_gib * 1024**3)))
    assert held * plan.context == pytest.approx(tokens, rel=0.0005)
