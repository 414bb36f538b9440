"""What one rank holds of each kind of weight."""

from collections.abc import Mapping

import pytest
from tests.engines.vllm.memory.models import QWEN3_8B, checkpoint, tensor

from dayzero.core.hardware import parse_system
from dayzero.core.parallelism import Parallelism
from dayzero.engines.vllm.memory.budget import budget
from dayzero.fit.checkpoint import Tensor
from dayzero.fit.model import Budget, Component, FitPlan

ATTENTION = "model.layers.0.self_attn."
MOE = {"num_experts": 10, "moe_intermediate_size": 512, "num_experts_per_tok": 2}
LATENT = {"kv_lora_rank": 512, "qk_rope_head_dim": 64, "qk_nope_head_dim": 128, "v_head_dim": 128}
MXFP4 = {
    "num_experts": 8,
    "moe_intermediate_size": 2880,
    "hidden_size": 2880,
    "quantization_config": {"quant_method": "mxfp4"},
}


def held(stored: Tensor, spread: Parallelism, changed: Mapping[str, object], flags: str) -> tuple[int, ...]:
    """Give the bytes of one tensor on each kind of rank."""
    config = {**QWEN3_8B, **changed}
    answer = budget(
        FitPlan(
            checkpoint=checkpoint(config, (stored,)),
            system=parse_system("4x8xh200"),
            parallelism=spread,
            version="0.27.1",
            flags=tuple(flags.split()),
        )
    )
    assert isinstance(answer, Budget)
    return tuple(rank.figure(Component.WEIGHTS).size.count for rank in answer.ranks)


TP4 = Parallelism(tp=4)
EP4 = Parallelism(tp=4, ep=True)


@pytest.mark.parametrize(
    ("stored", "spread", "changed", "flags", "bytes_held"),
    [
        pytest.param(tensor(f"{ATTENTION}q_proj.weight", 4096, 4096), TP4, {}, "", (1 << 23,), id="queries are split"),
        pytest.param(tensor(f"{ATTENTION}k_proj.weight", 1024, 4096), TP4, {}, "", (1 << 21,), id="so are keys"),
        pytest.param(
            tensor(f"{ATTENTION}k_proj.weight", 1024, 4096),
            Parallelism(tp=16),
            {},
            "",
            (1 << 20,),
            id="down to one head",
        ),
        pytest.param(tensor(f"{ATTENTION}o_proj.weight", 4096, 4096), TP4, {}, "", (1 << 23,), id="rows are split"),
        pytest.param(tensor(f"{ATTENTION}o_proj.bias", 4096), TP4, {}, "", (8192,), id="a row's bias is whole"),
        pytest.param(tensor(f"{ATTENTION}q_proj.bias", 4096), TP4, {}, "", (2048,), id="a column's bias is split"),
        pytest.param(
            tensor(f"{ATTENTION}qkv_proj.weight", 6144, 4096),
            Parallelism(tp=16),
            {},
            "",
            (4 * 128 * 8192,),
            id="fused: 2 + 1 + 1",
        ),
        pytest.param(tensor("model.layers.0.input_layernorm.weight", 4096), TP4, {}, "", (8192,), id="norms are whole"),
        pytest.param(
            tensor("model.embed_tokens.weight", 151936, 64), TP4, {}, "", (37984 * 128,), id="the vocabulary is split"
        ),
        pytest.param(
            tensor("model.embed_tokens.weight", 1000, 64),
            TP4,
            {"vocab_size": 1000},
            "",
            (256 * 128,),
            id="and padded to 64",
        ),
        pytest.param(
            tensor("lm_head.weight", 151936, 64),
            TP4,
            {"tie_word_embeddings": True},
            "",
            (0,),
            id="a tied head is not loaded",
        ),
        pytest.param(
            tensor("model.embed_tokens.weight", 151936, 64),
            Parallelism(pp=2),
            {"tie_word_embeddings": True},
            "",
            (151936 * 128, 151936 * 128),
            id="but the last stage holds the embedding too",
        ),
        pytest.param(
            tensor("lm_head.weight", 151936, 64), Parallelism(pp=2), {}, "", (0, 151936 * 128), id="the head is last"
        ),
        pytest.param(
            tensor(f"{ATTENTION}q_proj.weight", 64, 64), Parallelism(pp=2), {}, "", (8192, 0), id="layer 0 is first"
        ),
        pytest.param(
            tensor(f"{ATTENTION}q_proj.weight", 64, 64, dtype="F32"), TP4, {}, "", (2048,), id="float32 in bfloat16"
        ),
        pytest.param(
            tensor(f"{ATTENTION}q_proj.weight", 64, 64),
            TP4,
            {},
            "--dtype float32",
            (4096,),
            id="or in what is asked for",
        ),
        pytest.param(
            tensor(f"{ATTENTION}A_log", 32, dtype="F32"), TP4, {}, "", (32,), id="but decay rates stay float32"
        ),
        pytest.param(
            tensor(f"{ATTENTION}q_proj.weight", 64, 64),
            TP4,
            {},
            "--quantization fp8",
            (1024,),
            id="quantised while loading",
        ),
        pytest.param(tensor("lm_head.weight", 151936, 64), TP4, {}, "-q fp8", (37984 * 128,), id="the head is not"),
        pytest.param(
            tensor(f"{ATTENTION}o_proj.weight_scale_inv", 32, 32, dtype="F32"),
            TP4,
            {},
            "",
            (1024,),
            id="scales of blocks",
        ),
        pytest.param(
            tensor(f"{ATTENTION}o_proj.weight_scale", 4096, 1), TP4, {}, "", (8192,), id="a row's scales are whole"
        ),
        pytest.param(
            tensor(f"{ATTENTION}q_proj.input_scale", 1, dtype="F32"), TP4, {}, "", (4,), id="one scale is whole"
        ),
        pytest.param(
            tensor("model.layers.0.mlp.experts.*.gate_proj.weight", 512, 64, count=10),
            TP4,
            MOE,
            "",
            (10 * 512 * 64 * 2 // 4,),
            id="each expert is split",
        ),
        pytest.param(
            tensor("model.layers.0.mlp.experts.*.gate_proj.weight", 512, 64, count=10),
            EP4,
            MOE,
            "",
            (3 * 65536, 2 * 65536),
            id="or held whole by some: 3, 3, 2, 2",
        ),
        pytest.param(
            tensor("model.layers.0.mlp.experts.*.gate_proj.weight", 512, 64, count=10),
            EP4,
            MOE,
            "--enable-eplb --eplb-config.num_redundant_experts 2",
            (3 * 65536,),
            id="with two of them twice",
        ),
        pytest.param(
            tensor("model.layers.0.mlp.experts.*.gate_proj.weight", 512, 64, count=10),
            Parallelism(tp=2, dp=2),
            MOE,
            "",
            (10 * 512 * 64 * 2 // 4,),
            id="replicas share the experts",
        ),
        pytest.param(
            tensor("model.layers.0.mlp.experts.gate_up_proj_blocks", 8, 5760, 90, 16, dtype="U8"),
            Parallelism(),
            MXFP4,
            "",
            (8 * 5888 * 96 * 16,),
            id="mxfp4 experts are padded: 2944 of 2880, 3072 of 2880",
        ),
        pytest.param(
            tensor("model.layers.0.mlp.gate.weight", 10, 64), EP4, MOE, "", (1280, 1280), id="the router is whole"
        ),
        pytest.param(
            tensor("model.layers.0.mlp.shared_experts.up_proj.weight", 64, 64),
            EP4,
            MOE,
            "",
            (2048, 2048),
            id="shared experts are split",
        ),
        pytest.param(
            tensor("model.layers.0.mlp.shared_experts.up_proj.weight", 64, 64),
            Parallelism(tp=2, dp=2, ep=True),
            MOE,
            "",
            (8192, 8192),
            id="unless each rank has tokens of its own",
        ),
        pytest.param(
            tensor("model.layers.36.mlp.up_proj.weight", 64, 64), TP4, {}, "", (0,), id="a draft head is not loaded"
        ),
        pytest.param(
            tensor("model.layers.36.mlp.up_proj.weight", 64, 64),
            TP4,
            {},
            """--speculative-config {"num_speculative_tokens":1}""",
            (2048,),
            id="until it drafts",
        ),
        pytest.param(
            tensor("visual.blocks.0.attn.qkv.weight", 64, 64),
            TP4,
            {"vision_config": {"num_heads": 16}},
            "",
            (2048,),
            id="a tower is split",
        ),
        pytest.param(
            tensor("visual.blocks.0.attn.qkv.weight", 64, 64),
            TP4,
            {"vision_config": {"num_heads": 16}},
            "--mm-encoder-tp-mode data",
            (8192,),
            id="or whole on each rank",
        ),
        pytest.param(
            tensor("visual.blocks.0.attn.qkv.weight", 64, 64),
            TP4,
            {},
            "--language-model-only",
            (0,),
            id="or not loaded",
        ),
    ],
)
def test_a_rank_holds_its_part(
    stored: Tensor, spread: Parallelism, changed: Mapping[str, object], flags: str, bytes_held: tuple[int, ...]
):
    assert held(stored, spread, changed, flags) == bytes_held


def test_the_up_projections_of_a_latent_are_held_twice():
    kv_b = tensor(f"{ATTENTION}kv_b_proj.weight", 32 * 256, 512)
    (rank,) = held(kv_b, TP4, {**LATENT, "num_hidden_layers": 1}, "")
    assert rank == 2 * kv_b.stored.count // 4


def test_dummy_weights_are_as_large_as_real_ones():
    sizes = {held(tensor(f"{ATTENTION}q_proj.weight", 64, 64), TP4, {}, flags) for flags in ("", "--load-format dummy")}
    assert len(sizes) == 1


@pytest.mark.parametrize(
    ("layers", "stages", "sizes"),
    [(36, 1, [36]), (36, 4, [9] * 4), (37, 4, [9, 9, 10, 9]), (39, 4, [10, 10, 10, 9]), (93, 2, [47, 46])],
)
def test_layers_left_over_go_to_the_stages_before_the_last(layers: int, stages: int, sizes: list[int]):
    every = tuple(tensor(f"model.layers.{layer}.mlp.up_proj.weight", 8, 8) for layer in range(layers))
    answer = budget(
        FitPlan(
            checkpoint=checkpoint({**QWEN3_8B, "num_hidden_layers": layers}, every),
            system=parse_system("8xh200"),
            parallelism=Parallelism(pp=stages),
            version="0.27.1",
        )
    )
    assert isinstance(answer, Budget)
    assert [rank.figure(Component.WEIGHTS).size.count // 128 for rank in answer.ranks] == sizes
