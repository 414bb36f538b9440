"""What vLLM's files say of a model: its architecture and its configuration type."""

import pytest
from tests.simulators.distributions import distribution, found_by

from dayzero.audit.finding import NotChecked, Severity
from dayzero.engines.vllm.rules import architecture, configuration_type

REGISTRY = """
_TEXT_GENERATION_MODELS = {"LlamaForCausalLM": ("llama", "LlamaForCausalLM")}
_TRANSFORMERS_BACKEND_MODELS = {"TransformersForCausalLM": ("transformers", "TransformersForCausalLM")}
_VLLM_MODELS = {**_TEXT_GENERATION_MODELS, **_TRANSFORMERS_BACKEND_MODELS}
_PREVIOUSLY_SUPPORTED_MODELS = {"MotifForCausalLM": "0.10.2"}
_OOT_SUPPORTED_MODELS = {"BartModel": "https://example.invalid/bart"}
"""
FILES = {
    "vllm/model_executor/models/registry.py": REGISTRY,
    "vllm/config/model.py": '_SUFFIX_TO_DEFAULTS: list = [("ForCausalLM", (1,)), ("ForSequenceClassification", (2,))]\n',
    "vllm/transformers_utils/config.py": '_CONFIG_REGISTRY: dict = LazyConfigDict(\n    kimi_k3="KimiK3Config",\n)\n',
}
VLLM = distribution("vllm", "0.26.0", FILES)
AUTO = {"AutoModel": "m.K"}
SUITED = "class SamModel(PreTrainedModel):\n    _supports_attention_backend = True\n"
TRANSFORMERS = distribution(
    "transformers",
    "5.5.1",
    {
        "transformers/models/sam/modeling_sam.py": SUITED,
        "transformers/models/old/modeling_old.py": "class OldModel(PreTrainedModel):\n    pass\n",
        "transformers/models/auto/configuration_auto.py": ""
        'CONFIG_MAPPING_NAMES = OrderedDict(\n    [("llama", "LlamaConfig")]\n)\n',
    },
)


@pytest.mark.parametrize(
    ("name", "auto_map", "flags", "severities", "resolution"),
    [
        ("LlamaForCausalLM", None, (), [], ""),
        ("LlamaForSequenceClassification", None, (), [], ""),
        ("KimiK3ForConditionalGeneration", AUTO, (), [Severity.START], "Use vllm 0.27.0"),
        ("KimiK3ForConditionalGeneration", AUTO, ("--trust-remote-code",), [Severity.UNVERIFIED], "Use vllm 0.27.0"),
        ("MotifForCausalLM", None, (), [Severity.START], "Use vllm 0.10.2, the last"),
        ("BartModel", None, (), [Severity.START], "Install the plug-in"),
        ("NeverSeenForCausalLM", None, (), [Severity.START], "Ask dayzero first"),
        ("SamModel", None, (), [Severity.DOWNGRADE], ""),
        ("OldModel", None, (), [Severity.UNVERIFIED], ""),
    ],
)
def test_an_architecture_is_looked_for_as_vllm_looks_for_it(name, auto_map, flags, severities, resolution):
    model = {"architectures": [name], "auto_map": auto_map}
    found = found_by(architecture.RULE, VLLM, TRANSFORMERS, model=model, flags=flags)
    assert [one.severity for one in found] == severities
    assert all(resolution in one.resolution for one in found)


@pytest.mark.parametrize(("libraries", "flags"), [((TRANSFORMERS,), ()), ((), ()), ((), ("--trust-remote-code",))])
def test_a_release_that_cannot_run_others_through_the_transformers_library_refuses_them(libraries, flags):
    old = REGISTRY.replace(", **_TRANSFORMERS_BACKEND_MODELS", "")
    engine = distribution("vllm", "0.6.3", {**FILES, "vllm/model_executor/models/registry.py": old})
    model = {"architectures": ["SamModel"], "auto_map": AUTO}
    (one,) = found_by(architecture.RULE, engine, *libraries, model=model, flags=flags)
    assert (one.severity, "SamModel is not among the 1" in one.message) == (Severity.START, True)


def test_without_the_transformers_library_an_unknown_architecture_is_not_decided():
    (one,) = found_by(architecture.RULE, VLLM, model={"architectures": ["SamModel"]})
    assert isinstance(one, NotChecked)


@pytest.mark.parametrize(
    ("model", "flags", "severities"),
    [
        ({"model_type": "kimi_k3"}, (), []),
        ({"model_type": "llama"}, (), []),
        ({"model_type": "new"}, (), [Severity.START]),
        ({"model_type": "new", "auto_map": AUTO}, (), [Severity.START]),
        ({"model_type": "new", "auto_map": AUTO}, ("--trust_remote_code",), [Severity.UNVERIFIED]),
        ({}, (), []),
    ],
)
def test_a_configuration_type_is_looked_for_in_both(model, flags, severities):
    found = found_by(configuration_type.RULE, VLLM, TRANSFORMERS, model=model, flags=flags)
    assert [one.severity for one in found] == severities
