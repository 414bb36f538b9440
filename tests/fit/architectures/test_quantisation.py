"""Which projections a ``quantization_config`` covers, and what each is stored as."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dayzero.fit.architectures import checkpoint_of, logical_parameters
from dayzero.fit.checkpoint import Checkpoint, Unknown

_SHAPE: dict[str, object] = {
    "architectures": ["Qwen3MoeForCausalLM"],
    "model_type": "qwen3_moe",
    "vocab_size": 640,
    "hidden_size": 256,
    "intermediate_size": 512,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "num_experts": 4,
    "moe_intermediate_size": 128,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
}
_O, _EXPERT = "model.layers.0.self_attn.o_proj.", "model.layers.1.mlp.experts.*.down_proj."


def _stored(quantisation: Mapping[str, object] | None, **more: object) -> Checkpoint:
    told = checkpoint_of({**_SHAPE, **more, **({"quantization_config": quantisation} if quantisation else {})})
    assert isinstance(told, Checkpoint), told
    return told


def _of(checkpoint: Checkpoint, module: str) -> dict[str, tuple[tuple[int, ...], str, int]]:
    return {
        tensor.name.removeprefix(module): (tensor.shape, tensor.dtype, tensor.count)
        for tensor in checkpoint.tensors
        if tensor.name.startswith(module)
    }


def _compressed(form: str, weights: Mapping[str, object], **more: object) -> dict[str, object]:
    group = {"targets": ["Linear"], "weights": {"symmetric": True, **weights}, **more}
    return {
        "quant_method": "compressed-tensors",
        "format": form,
        "config_groups": {"group_0": group},
        "ignore": ["lm_head"],
    }


_INT4 = _compressed("pack-quantized", {"num_bits": 4, "type": "int", "strategy": "group", "group_size": 128})
_FP8_BLOCK = {"quant_method": "fp8", "weight_block_size": [128, 128]}

# The output projection of attention is 256 by 256; an expert's projection back is 256 by 128.
_FORMS: list[tuple[str, Mapping[str, object], dict[str, tuple[tuple[int, ...], str]]]] = [
    (
        "int4 in words",
        _INT4,
        {"weight_packed": ((256, 32), "I32"), "weight_scale": ((256, 2), "BF16"), "weight_shape": ((2,), "I64")},
    ),
    (
        "int8 with a zero point a row",
        _compressed("pack-quantized", {"num_bits": 8, "type": "int", "strategy": "channel", "symmetric": False}),
        {
            "weight_packed": ((256, 64), "I32"),
            "weight_scale": ((256, 1), "BF16"),
            "weight_shape": ((2,), "I64"),
            "weight_zero_point": ((64, 1), "I32"),
        },
    ),
    (
        "int8 with an activation of eight bits",
        _compressed("int-quantized", {"num_bits": 8, "type": "int", "strategy": "channel"}),
        {"weight": ((256, 256), "I8"), "weight_scale": ((256, 1), "BF16")},
    ),
    (
        "mxfp4",
        _compressed("mxfp4-pack-quantized", {"num_bits": 4, "type": "float", "strategy": "group", "group_size": 32}),
        {"weight_packed": ((256, 128), "U8"), "weight_scale": ((256, 8), "U8")},
    ),
    (
        "nvfp4",
        _compressed(
            "nvfp4-pack-quantized",
            {"num_bits": 4, "type": "float", "strategy": "tensor_group", "group_size": 16},
            input_activations={"num_bits": 4, "type": "float", "dynamic": "local"},
        ),
        {
            "weight_packed": ((256, 128), "U8"),
            "weight_scale": ((256, 16), "F8_E4M3"),
            "weight_global_scale": ((1,), "F32"),
            "input_global_scale": ((1,), "F32"),
        },
    ),
    (
        "fp8 with a scale a row",
        _compressed("float-quantized", {"num_bits": 8, "type": "float", "strategy": "channel"}),
        {"weight": ((256, 256), "F8_E4M3"), "weight_scale": ((256, 1), "BF16")},
    ),
    (
        "fp8 with one scale, activations too",
        _compressed(
            "float-quantized",
            {"num_bits": 8, "type": "float", "strategy": "tensor"},
            input_activations={"dynamic": False},
        ),
        {"weight": ((256, 256), "F8_E4M3"), "weight_scale": ((1,), "BF16"), "input_scale": ((1,), "BF16")},
    ),
    (
        "fp8 in blocks, compressed-tensors",
        _compressed(
            "float-quantized", {"num_bits": 8, "type": "float", "strategy": "block", "block_structure": [128, 128]}
        ),
        {"weight": ((256, 256), "F8_E4M3"), "weight_scale": ((2, 2), "BF16")},
    ),
    ("fp8 in blocks, DeepSeek", _FP8_BLOCK, {"weight": ((256, 256), "F8_E4M3"), "weight_scale_inv": ((2, 2), "F32")}),
    (
        "modelopt nvfp4",
        {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"]},
        {
            "weight": ((256, 128), "U8"),
            "weight_scale": ((256, 16), "F8_E4M3"),
            "weight_scale_2": ((), "F32"),
            "input_scale": ((), "F32"),
        },
    ),
    (
        "modelopt fp8, in its own file",
        {"quant_method": "modelopt", "quantization": {"quant_algo": "FP8", "exclude_modules": ["lm_head"]}},
        {"weight": ((256, 256), "F8_E4M3"), "weight_scale": ((), "F32"), "input_scale": ((), "F32")},
    ),
    (
        "gptq",
        {"quant_method": "gptq", "bits": 4, "group_size": 128},
        {
            "qweight": ((32, 256), "I32"),
            "qzeros": ((2, 32), "I32"),
            "scales": ((2, 256), "F16"),
            "g_idx": ((256,), "I32"),
        },
    ),
    (
        "awq",
        {"quant_method": "awq", "bits": 4, "group_size": 64},
        {"qweight": ((256, 32), "I32"), "qzeros": ((4, 32), "I32"), "scales": ((4, 256), "F16")},
    ),
]


@pytest.mark.parametrize(("quantisation", "stored"), [row[1:] for row in _FORMS], ids=[row[0] for row in _FORMS])
def test_a_projection_is_stored_in_its_form(quantisation: Mapping[str, object], stored: Mapping[str, object]) -> None:
    found = _of(_stored(quantisation), _O)
    assert {name: (shape, dtype) for name, (shape, dtype, _) in found.items()} == stored


@pytest.mark.parametrize("quantisation", [row[1] for row in _FORMS], ids=[row[0] for row in _FORMS])
def test_embedding_head_router_and_norms_stay_as_they_are(quantisation: Mapping[str, object]) -> None:
    told = {tensor.name: tensor.dtype for tensor in _stored(quantisation).tensors}
    for name in ("model.embed_tokens", "lm_head", "model.layers.0.mlp.gate", "model.layers.0.input_layernorm"):
        assert told[f"{name}.weight"] == "BF16"


def test_experts_are_counted_with_their_scales() -> None:
    assert _of(_stored(_FP8_BLOCK), _EXPERT) == {
        "weight": ((256, 128), "F8_E4M3", 4),
        "weight_scale_inv": ((2, 1), "F32", 4),
    }


@pytest.mark.parametrize(
    "ignore",
    [
        "re:.*self_attn.*",
        "re:model\\.layers\\.\\d+\\.self_attn\\.o_proj$",
        "model.layers.0.self_attn.o_proj",
        "model.language_model.layers.0.self_attn.o_proj",
        "language_model.model.layers.0.self_attn.o_proj",
    ],
)
def test_an_ignored_module_stays_as_it_is_in_whichever_way_it_is_spelt(ignore: str) -> None:
    told = _stored({**_INT4, "ignore": ["lm_head", ignore]})
    assert _of(told, _O) == {"weight": ((256, 256), "BF16", 1)}
    assert "weight_packed" in _of(told, _EXPERT)


@pytest.mark.parametrize(
    ("quantisation", "kept"),
    [
        ({**_FP8_BLOCK, "modules_to_not_convert": ["self_attn"]}, True),
        ({**_FP8_BLOCK, "modules_to_not_convert": ["model.layers.0"]}, True),
        ({**_FP8_BLOCK, "modules_to_not_convert": ["model.layers.1", "attn", "proj"]}, False),
        ({"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["*o_proj*"]}, True),
        ({"quant_method": "gptq", "bits": 4, "dynamic": {"-:.*self_attn.*": {}}}, True),
        ({"quant_method": "awq", "bits": 4, "modules_to_not_convert": ["o_proj"]}, True),
    ],
)
def test_each_method_names_what_it_leaves_in_its_own_way(quantisation: Mapping[str, object], *, kept: bool) -> None:
    assert (
        "weight" in _of(_stored(quantisation), _O) and _of(_stored(quantisation), _O)["weight"][1] == "BF16"
    ) is kept


def test_targets_choose_the_form_of_a_module() -> None:
    experts = {
        "targets": ["re:.*mlp\\.experts.*"],
        "format": "mxfp4-pack-quantized",
        "weights": {"num_bits": 4, "type": "float"},
    }
    rest = {
        "targets": ["Linear"],
        "format": "float-quantized",
        "weights": {"num_bits": 8, "type": "float", "strategy": "channel"},
    }
    groups = {"experts": experts, "rest": rest}
    told = _stored({"quant_method": "compressed-tensors", "config_groups": groups, "ignore": ["lm_head"]})
    assert set(_of(told, _EXPERT)) == {"weight_packed", "weight_scale"}
    assert _of(told, _O)["weight"][1] == "F8_E4M3"


def test_gpt_oss_stores_its_experts_as_blocks_and_scales() -> None:
    config = {**_SHAPE, "architectures": ["GptOssForCausalLM"], "model_type": "gpt_oss", "num_local_experts": 4}
    config["quantization_config"] = {"quant_method": "mxfp4", "modules_to_not_convert": ["self_attn"]}
    told = checkpoint_of(config)
    assert isinstance(told, Checkpoint)
    assert _of(told, "model.layers.0.mlp.experts.gate_up_proj") == {
        "_blocks": ((4, 1024, 8, 16), "U8", 1),
        "_scales": ((4, 1024, 8), "U8", 1),
        "_bias": ((4, 1024), "BF16", 1),
    }
    assert _of(told, _O)["weight"][1] == "BF16"


@pytest.mark.parametrize(
    ("quantisation", "says"),
    [
        ({"quant_method": "squeezellm"}, "squeezellm"),
        ({}, "(none)"),
        (_compressed("marlin-24", {"num_bits": 4}), "marlin-24"),
        ({"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION"}, "MIXED_PRECISION"),
        ({"quant_method": "gptq", "bits": 4, "dynamic": {"+:.*0.*": {"bits": 8}}}, "different number of bits"),
    ],
)
def test_a_form_that_is_not_described_is_unknown_and_never_a_guess(
    quantisation: Mapping[str, object], says: str
) -> None:
    told = checkpoint_of({**_SHAPE, "quantization_config": quantisation})
    assert isinstance(told, Unknown)
    assert says in told.reason


_METHODS = st.sampled_from([row[1] for row in _FORMS])


@given(quantisation=_METHODS)
def test_quantisation_never_changes_the_parameters_of_the_model(quantisation: Mapping[str, object]) -> None:
    assert logical_parameters({**_SHAPE, "quantization_config": quantisation}) == logical_parameters(_SHAPE)
    assert _stored(quantisation).size < _stored(None).size


_MODULES = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


@given(some=st.sets(st.sampled_from(_MODULES)), more=st.sets(st.sampled_from(_MODULES)))
def test_ignoring_more_never_makes_the_checkpoint_smaller(some: set[str], more: set[str]) -> None:
    few, many = (
        _stored({**_INT4, "ignore": ["lm_head", *(f"re:.*{module}$" for module in sorted(names))]}).size
        for names in (some, some | more)
    )
    assert few <= many


@given(layers=st.integers(1, 6), experts=st.integers(1, 9), quantisation=_METHODS)
def test_more_layers_or_experts_never_make_it_smaller(
    layers: int, experts: int, quantisation: Mapping[str, object]
) -> None:
    base = _stored(quantisation, num_hidden_layers=layers, num_experts=experts).size
    assert base < _stored(quantisation, num_hidden_layers=layers + 1, num_experts=experts).size
    assert base < _stored(quantisation, num_hidden_layers=layers, num_experts=experts + 1).size
