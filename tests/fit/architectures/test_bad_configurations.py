"""A configuration that cannot be read says which field; an architecture that is not described is unknown."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.fit.architectures.published import PUBLISHED

from dayzero.core.errors import InputError
from dayzero.fit.architectures import checkpoint_of
from dayzero.fit.checkpoint import Checkpoint, Unknown

_LLAMA = PUBLISHED["Llama-3.1-8B"].config
_DEEPSEEK = PUBLISHED["DeepSeek-V3"].config
_GEMMA = PUBLISHED["Gemma-3-27b"].config


@pytest.mark.parametrize(
    "field", ["hidden_size", "vocab_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"]
)
def test_a_missing_field_is_named_with_its_architecture(field: str) -> None:
    config = {key: value for key, value in _LLAMA.items() if key != field}
    with pytest.raises(InputError, match=rf"LlamaForCausalLM: .*{field}.* is missing"):
        checkpoint_of(config)


@pytest.mark.parametrize("field", ["kv_lora_rank", "qk_nope_head_dim", "v_head_dim", "moe_intermediate_size"])
def test_a_missing_field_of_a_family_is_named_too(field: str) -> None:
    config = {key: value for key, value in _DEEPSEEK.items() if key != field}
    with pytest.raises(InputError, match=rf"DeepseekV3ForCausalLM: {field} is missing"):
        checkpoint_of(config)


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (0, "below 1"),
        (-4096, "below 1"),
        (10**12, "absurd"),
        (4096.5, "not a whole number"),
        ("4096", "not a whole number"),
        (True, "not a whole number"),
        (float("nan"), "not a whole number"),
        (float("inf"), "not a whole number"),
        ([4096], "not a whole number"),
        (None, "missing"),
    ],
)
def test_a_width_that_cannot_be_is_refused(value: object, says: str) -> None:
    with pytest.raises(InputError, match=rf"hidden_size .*{says}"):
        checkpoint_of({**_LLAMA, "hidden_size": value})


def test_an_absurd_number_of_layers_is_refused_before_they_are_listed() -> None:
    with pytest.raises(InputError, match="num_hidden_layers is absurd"):
        checkpoint_of({**_LLAMA, "num_hidden_layers": 10**9})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("architectures", "LlamaForCausalLM"),
        ("architectures", [7]),
        ("tie_word_embeddings", "yes"),
        ("torch_dtype", "int3"),
        ("quantization_config", "fp8"),
        ("quantization_config", {"quant_method": "fp8", "weight_block_size": [128]}),
        ("quantization_config", {"quant_method": "gptq", "bits": 5}),
        ("quantization_config", {"quant_method": "compressed-tensors"}),
        ("num_attention_heads", 3),
    ],
)
def test_other_nonsense_is_refused_too(field: str, value: object) -> None:
    with pytest.raises(InputError, match=field if field != "torch_dtype" else "dtype"):
        checkpoint_of({**_LLAMA, field: value})


def test_an_expression_that_is_none_names_itself() -> None:
    group = {"targets": ["Linear"], "weights": {"num_bits": 4}}
    quantisation = {
        "quant_method": "compressed-tensors",
        "format": "mxfp4-pack-quantized",
        "config_groups": {"g": group},
        "ignore": ["re:("],
    }
    with pytest.raises(InputError, match=r"ignore holds no regular expression: re:\("):
        checkpoint_of({**_LLAMA, "quantization_config": quantisation})


def test_a_configuration_that_names_nothing_is_refused() -> None:
    with pytest.raises(InputError, match="architectures is missing, and so is model_type"):
        checkpoint_of({})


def test_without_architectures_the_model_type_decides() -> None:
    bare = {key: value for key, value in _LLAMA.items() if key != "architectures"}
    told, known = checkpoint_of(bare), checkpoint_of(_LLAMA)
    assert isinstance(told, Checkpoint)
    assert isinstance(known, Checkpoint)
    assert told.tensors == known.tensors


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"architectures": ["MadeUpForCausalLM"]}, "MadeUpForCausalLM"),
        ({"num_nextn_predict_layers": 2}, "drafting layers"),
        ({"vision_config": {"hidden_size": 64}}, "tower"),
    ],
)
def test_what_is_not_described_is_unknown_even_beside_a_known_model_type(change: dict[str, object], says: str) -> None:
    told = checkpoint_of({**_LLAMA, **change}, "folder/config.json")
    assert isinstance(told, Unknown)
    assert says in told.reason
    assert told.place.file == "folder/config.json"


def test_an_unknown_tower_is_not_left_out_in_silence() -> None:
    told = checkpoint_of({**_GEMMA, "vision_config": {"model_type": "made_up"}})
    assert isinstance(told, Unknown)
    assert "made_up" in told.reason


def test_a_nested_part_means_what_its_own_class_means_where_it_says_nothing() -> None:
    text = dict(PUBLISHED["Gemma-3-4b"].config["text_config"])  # type: ignore[call-overload]
    for field in ("num_attention_heads", "num_key_value_heads", "head_dim"):
        del text[field]
    told, known = (
        checkpoint_of({**PUBLISHED["Gemma-3-4b"].config, "text_config": text}),
        checkpoint_of(PUBLISHED["Gemma-3-4b"].config),
    )
    assert isinstance(told, Checkpoint)
    assert isinstance(known, Checkpoint)
    assert told.tensors == known.tensors


def test_a_type_that_is_taken_for_granted_is_told() -> None:
    told = checkpoint_of({key: value for key, value in _LLAMA.items() if key != "torch_dtype"})
    assert isinstance(told, Checkpoint)
    assert told.notes == ("config.json names no dtype; BF16 was taken",)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(name=st.sampled_from(sorted(PUBLISHED)), data=st.data())
def test_no_value_of_any_field_ends_in_anything_but_an_answer_or_an_error_of_ours(
    name: str, data: st.DataObject
) -> None:
    config = dict(PUBLISHED[name].config)
    part = data.draw(st.sampled_from([config, *(value for value in config.values() if isinstance(value, dict))]))
    field = data.draw(st.sampled_from(sorted(part)))
    changed = {**part, field: data.draw(_JSON)}
    config = changed if part is config else {key: changed if value is part else value for key, value in config.items()}
    try:
        told = checkpoint_of(config)
    except InputError as error:
        assert error.hint  # noqa: PT017  (either outcome is right)
    else:
        assert isinstance(told, Checkpoint | Unknown)
