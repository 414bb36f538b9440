import pytest

from dayzero.core.errors import InputError
from dayzero.proxy.shrink import shrink

HYBRID = {
    "architectures": ["AcmeForConditionalGeneration"],
    "auto_map": {"AutoConfig": "configuration_acme.AcmeConfig"},
    "vision_config": {"num_hidden_layers": 27, "layer_list": [1, 2, 3]},
    "text_config": {
        "hidden_size": 512,
        "num_hidden_layers": 6,
        "num_nextn_predict_layers": 1,
        "vocab_size": 1024,
        "layer_types": ["linear", "linear", "full", "linear", "linear", "full"],
        "linear_attn_config": {"kda_layers": [1, 2, 4, 5], "full_attn_layers": [3, 6], "num_heads": 8},
        "mlp_only_layers": [0, 5],
        "hybrid_override_pattern": "M-M*M-",
        "quantization_config": {"ignore": ["re:.*gate", "model.layers.1.mlp", "model.layers.4.mlp", "lm_head"]},
        "rope_scaling": {"factor": 4, "short_factor": [1.0] * 5},
    },
}


def test_what_counts_or_names_layers_follows_and_every_width_stays():
    text = shrink(HYBRID, 3).config["text_config"]
    assert isinstance(text, dict)
    assert text["num_hidden_layers"] == 3
    assert text["num_nextn_predict_layers"] == 0
    assert text["layer_types"] == ["linear", "linear", "full"]
    assert text["linear_attn_config"] == {"kda_layers": [1, 2], "full_attn_layers": [3], "num_heads": 8}
    assert text["mlp_only_layers"] == [0]
    assert text["hybrid_override_pattern"] == "M-M"
    assert text["quantization_config"] == {"ignore": ["re:.*gate", "model.layers.1.mlp", "lm_head"]}
    assert (text["hidden_size"], text["rope_scaling"]) == (512, HYBRID["text_config"]["rope_scaling"])


def test_the_tower_beside_the_language_model_is_left_alone_and_code_that_is_not_there_is_not_named():
    made = shrink(HYBRID, 3)
    assert made.config["vision_config"] == HYBRID["vision_config"]
    assert "auto_map" not in made.config
    assert list(made.config) == ["architectures", "vision_config", "text_config"]


def test_every_change_is_told_with_its_place():
    told = shrink(HYBRID, 3).changed
    assert "/text_config/num_hidden_layers: 6 to 3" in told
    assert "/text_config/linear_attn_config/full_attn_layers: 2 entries to 1 entries" in told
    assert "/auto_map: left out" in told
    assert not any("vision_config" in line or "rope" in line for line in told)


def test_lists_of_layers_count_from_0_unless_one_names_the_number_of_layers():
    plain = {"num_hidden_layers": 4, "mlp_only_layers": [0, 3], "vocab_size": 1024}
    assert shrink(plain, 3).config["mlp_only_layers"] == [0]
    assert shrink({**plain, "mlp_only_layers": [1, 4]}, 3).config["mlp_only_layers"] == [1]


def test_all_layers_may_stay():
    made = shrink(HYBRID, 6)
    assert made.config["text_config"]["layer_types"] == HYBRID["text_config"]["layer_types"]
    assert made.layers == made.of_layers == 6


@pytest.mark.parametrize("layers", [0, -1, 7])
def test_layers_that_cannot_be_kept_are_refused(layers):
    with pytest.raises(InputError, match="of 6 layers cannot be kept"):
        shrink(HYBRID, layers)


@pytest.mark.parametrize("config", [{}, {"num_hidden_layers": True}, {"num_hidden_layers": "6"}, {"text_config": [1]}])
def test_a_configuration_that_counts_no_layers_is_refused(config):
    with pytest.raises(InputError, match="has no num_hidden_layers"):
        shrink(config, 1)
