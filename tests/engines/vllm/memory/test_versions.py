"""What older versions do otherwise, beside what their public logs printed."""

import json
from dataclasses import replace

import pytest
from tests.engines.vllm.memory.models import dense

from dayzero.core.hardware import parse_system
from dayzero.core.parallelism import Parallelism
from dayzero.core.quantities import Bytes
from dayzero.engines.vllm.memory.budget import budget
from dayzero.fit.architectures import checkpoint_of
from dayzero.fit.checkpoint import Checkpoint
from dayzero.fit.model import Budget, Component, Figure, FitPlan

GIB = 1024**3
LLAMA = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "vocab_size": 128256,
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "max_position_embeddings": 131072,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
}
# Every fourth layer of 64 attends; fields of a public configuration of 27 thousand million parameters.
HYBRID = {
    "architectures": ["Qwen3_5ForConditionalGeneration"],
    "model_type": "qwen3_5",
    "tie_word_embeddings": False,
    "text_config": {
        "model_type": "qwen3_5_text",
        "attn_output_gate": True,
        "dtype": "bfloat16",
        "full_attention_interval": 4,
        "head_dim": 256,
        "hidden_size": 5120,
        "intermediate_size": 17408,
        "layer_types": [*["linear_attention"] * 3, "full_attention"] * 16,
        "linear_conv_kernel_dim": 4,
        "linear_key_head_dim": 128,
        "linear_num_key_heads": 16,
        "linear_num_value_heads": 48,
        "linear_value_head_dim": 128,
        "mamba_ssm_dtype": "float32",
        "max_position_embeddings": 262144,
        "mtp_num_hidden_layers": 1,
        "num_attention_heads": 24,
        "num_hidden_layers": 64,
        "num_key_value_heads": 4,
        "vocab_size": 248320,
    },
    "vision_config": {
        "model_type": "qwen3_5",
        "depth": 27,
        "hidden_size": 1152,
        "in_channels": 3,
        "intermediate_size": 4304,
        "num_heads": 16,
        "num_position_embeddings": 2304,
        "out_hidden_size": 5120,
        "patch_size": 16,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
        "deepstack_visual_indexes": [],
    },
}
# As published: what the class says anyway is left out.
SPARE = {
    "architectures": ["Gemma3ForConditionalGeneration"],
    "model_type": "gemma3",
    "mm_tokens_per_image": 256,
    "torch_dtype": "bfloat16",
    "text_config": {
        "head_dim": 128,
        "hidden_size": 5376,
        "intermediate_size": 21504,
        "model_type": "gemma3_text",
        "num_attention_heads": 32,
        "num_hidden_layers": 62,
        "num_key_value_heads": 16,
        "sliding_window": 1024,
    },
    "vision_config": {
        "hidden_size": 1152,
        "image_size": 896,
        "intermediate_size": 4304,
        "model_type": "siglip_vision_model",
        "num_attention_heads": 16,
        "num_hidden_layers": 27,
        "patch_size": 14,
    },
}


def model(config: object) -> Checkpoint:
    found = checkpoint_of(json.loads(json.dumps(config)))
    assert isinstance(found, Checkpoint), found
    return found


def plan(checkpoint: Checkpoint, version: str, flags: str = "", system: str = "1xh200", **more: object) -> FitPlan:
    asked = FitPlan(
        checkpoint=checkpoint,
        system=parse_system(system),
        parallelism=Parallelism(),
        version=version,
        flags=tuple(flags.split()),
    )
    return replace(asked, **more)


def sized(asked: FitPlan) -> Budget:
    found = budget(asked)
    assert isinstance(found, Budget), found
    return found


def cached(asked: FitPlan, gib: float) -> Budget:
    size = Bytes(int(gib * GIB))
    told = Figure(component=Component.KV_CACHE, size=size, low=size, high=size, source="a log", basis="measured")
    return sized(replace(asked, measured=(told,)))


def test_the_tokens_printed_are_blocks_until_they_became_requests():
    flags = "--max-model-len=32768 --max-num-seqs=16 --num-gpu-blocks-override=1487"
    old, new = (sized(plan(model(HYBRID), version, flags)) for version in ("0.19.0", "0.21.0"))
    assert old.kv_tokens == 290_864
    assert old.max_concurrency == pytest.approx(33.04, abs=0.01)
    assert new.kv_tokens == int(1487 / 45 * 32768)


def test_a_hybrid_cache_in_eight_bits_holds_what_was_printed():
    flags = "--max-model-len=262144 --kv-cache-dtype=fp8_e5m2 --enable-prefix-caching"
    asked = plan(model(HYBRID), "0.21.0", flags, "2xrtx-3090", parallelism=Parallelism(tp=2))
    assert cached(asked, 9.84).kv_tokens == 619_202


@pytest.mark.parametrize(("context", "activations", "cache"), [(20000, 2.07, 3.81), (29000, 2.99, 2.89)])
def test_the_first_engine_profiles_a_whole_prompt(context: int, activations: float, cache: float):
    rank = sized(plan(model(LLAMA), "0.6.4", f"--max-model-len={context}", "1xrtx-3090")).ranks[0]
    assert rank.figure(Component.ACTIVATIONS).size.count / GIB == pytest.approx(activations, rel=0.05)
    assert rank.figure(Component.KV_CACHE).size.count / GIB == pytest.approx(cache, rel=0.1)


def test_sorting_every_logit_takes_five_times_what_a_kernel_takes():
    old, new = (
        sized(plan(dense(), version)).ranks[0].figure(Component.ACTIVATIONS).size.count / GIB
        for version in ("0.16.0", "0.17.0")
    )
    assert old == pytest.approx(1024 * 151936 * 38 / GIB, rel=0.05)
    assert new < old / 3


@pytest.mark.parametrize(("version", "larger"), [("0.7.3", -1), ("0.8.5", 0)])
def test_layers_that_are_left_over_go_to_the_last_stage_and_later_to_the_one_before(version: str, larger: int):
    asked = plan(dense(num_hidden_layers=37), version, system="2xh200", parallelism=Parallelism(pp=2))
    weights = [rank.figure(Component.WEIGHTS).size.count for rank in sized(asked).ranks]
    assert max(weights) == weights[larger]


def test_windows_keep_all_tokens_before_there_were_groups():
    asked = plan(model(SPARE), "0.9.2", "--max-model-len=131072")
    apart, together = sized(asked), sized(replace(asked, version="0.8.5"))
    assert together.ranks[0].request.size.count > 3 * apart.ranks[0].request.size.count
    connected = sized(replace(asked, flags=(*asked.flags, "--kv-transfer-config", "{}")))
    assert connected.ranks[0].request.size == together.ranks[0].request.size


def test_what_a_nested_configuration_leaves_out_is_what_its_class_says():
    asked = plan(model(SPARE), "0.8.2", system="4xa100-40", parallelism=Parallelism(tp=4))
    assert sized(asked).ranks[0].figure(Component.WEIGHTS).size.count / GIB == pytest.approx(13.1665, rel=0.03)


@pytest.mark.parametrize(
    ("flags", "block"),
    [
        ("", 784),
        ("--kv-cache-dtype=fp8", 1568),
        ("--kv-cache-dtype=fp8 --mamba-ssm-cache-dtype=bfloat16", 800),
    ],
)
def test_a_block_of_attention_is_as_large_as_the_state_in_its_own_type(flags: str, block: int):
    each = 16 * 2 * 4 * 256 * (1 if "fp8" in flags else 2)  # layers of a group, keys and values, heads, numbers
    rank = sized(plan(model(HYBRID), "0.26.0", f"--max-model-len=32768 {flags}")).ranks[0]
    assert f"blocks of {block * each} bytes" in rank.figure(Component.KV_CACHE).source


def test_the_type_of_the_state_is_read_under_either_name():
    text = {key: value for key, value in HYBRID["text_config"].items() if key != "mamba_ssm_dtype"}
    named = model({**HYBRID, "text_config": {**text, "mamba_ssm_cache_dtype": "float32"}})
    asked = plan(named, "0.26.0", "--max-model-len=32768")
    assert sized(asked).ranks[0].request == sized(replace(asked, checkpoint=model(HYBRID))).ranks[0].request
