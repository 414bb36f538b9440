"""What the making of a model reads from its configuration, held to what the Transformers library gives that."""

from typing import Any

import pytest
from tests.simulators.distributions import distribution, found_by

from dayzero.audit.finding import Applies, Severity
from dayzero.engines.sglang.rules.configuration_attribute import RULE as SGLANG
from dayzero.engines.vllm.rules.configuration_attribute import RULE as VLLM

BASE = """
class PreTrainedConfig:
    attribute_map: dict = {}
    def __init__(self, **kwargs):
        self.architectures = kwargs.pop("architectures", None)
        kwargs.pop("rope_theta", None)
        for key, value in kwargs.items():
            setattr(self, key, value)
    @property
    def use_return_dict(self):
        return True
PretrainedConfig = PreTrainedConfig
"""
LLAMA = """
from ...configuration_utils import PretrainedConfig
class LlamaConfig(PretrainedConfig):
    model_type = "llama"
    attribute_map = {"width": "hidden_size"}
    head_dim: int = 64
    def __init__(self, hidden_size=1, **kwargs):
        self.hidden_size = hidden_size
        setattr(self, "eps", 1)
        super().__init__(tie_word_embeddings=True, **kwargs)
"""
MAPPING = """
CONFIG_MAPPING_NAMES = OrderedDict(
    [
        ("llama", "LlamaConfig"),
        ("seen", "SeenConfig"),
        ("seen_text", "SeenTextConfig"),
        ("odd", "OddConfig"),
    ]
)
"""
SEEN = (
    LLAMA.replace("LlamaConfig", "SeenConfig")
    + """
class SeenTextConfig(PretrainedConfig):
    def __init__(self, layers=1, **kwargs):
        self.layers = layers
        super().__init__(**kwargs)
"""
)
ODD = LLAMA.replace("LlamaConfig", "OddConfig") + "    def __getattr__(self, name):\n        return 1\n"
TRANSFORMERS = {
    "transformers/__init__.py": "",
    "transformers/configuration_utils.py": BASE,
    "transformers/models/auto/configuration_auto.py": MAPPING,
    "transformers/models/llama/configuration_llama.py": LLAMA,
    "transformers/models/seen/configuration_seen.py": SEEN,
    "transformers/models/odd/configuration_odd.py": ODD,
}
MODEL = """
from .layers import Block
class LlamaForCausalLM(Module):
    def __init__(self, *, vllm_config, prefix=""):
        config = vllm_config.model_config.hf_config
        self.config = config
        self.model = LlamaModel(vllm_config=vllm_config)
        READ
class LlamaModel(Module):
    def __init__(self, *, vllm_config):
        config = vllm_config.model_config.hf_config
        self.layers = make_layers(config.hidden_size, lambda prefix: LlamaLayer(config))
class LlamaLayer(Module):
    def __init__(self, config: LlamaConfig):
        self.block = Block(config)
        DEEP
class Unused(Module):
    def __init__(self, config: LlamaConfig):
        self.gone = config.gone
"""
BLOCK = """
class Base:
    def __init__(self, config):
        INHERITED
class Block(Base):
    pass
"""
REGISTRY = '_M = {"LlamaForCausalLM": ("llama", "LlamaForCausalLM"), "Seen": ("seen", "Seen")}\n'
ENGINE = {
    "vllm/model_executor/models/registry.py": REGISTRY,
    "vllm/transformers_utils/config.py": '_CONFIG_REGISTRY = dict(\n    own="OwnConfig",\n)\n',
}
STORED = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "rope_theta": 1e4, "bias": False}


def asked(read="", deep="", inherited="pass", *, files=None, library=None, **about: Any):
    model = MODEL.replace("READ", read or "pass").replace("DEEP", deep or "pass")
    engine = ENGINE | {
        "vllm/model_executor/models/llama.py": model,
        "vllm/model_executor/models/layers.py": BLOCK.replace("INHERITED", inherited),
        **(files or {}),
    }
    held = distribution("vllm", "1.0", engine, requires=["transformers<5"])
    beside = distribution("transformers", "5.0.0", library or TRANSFORMERS)
    return found_by(VLLM, held, beside, **{"model": STORED} | about)


@pytest.mark.parametrize(
    "attribute",
    ["hidden_size", "width", "head_dim", "eps", "tie_word_embeddings", "model_type", "bias", "use_return_dict"],
)
def test_what_the_class_or_the_file_has_is_there(attribute):
    assert not asked(f"self.x = config.{attribute}", f"self.x = config.{attribute}")


@pytest.mark.parametrize(
    ("parts", "attribute"),
    [
        ({"read": "self.x = config.gone"}, "gone"),
        ({"read": "self.x = self.config.gone * 2"}, "gone"),
        ({"read": "self.x = config.rope_theta"}, "rope_theta"),
        ({"read": "self.x = [config.gone for _ in range(2)]"}, "gone"),
        ({"read": "self.x = config.gone if config.bias else 1", "deep": "f(config.gone)"}, "gone"),
        ({"deep": "self.x = config.gone"}, "gone"),
        ({"inherited": "self.x = config.gone"}, "gone"),
    ],
)
def test_what_neither_has_stops_the_start(parts, attribute):
    (found,) = asked(**parts)
    assert (found.severity, found.applies) == (Severity.START, Applies.YES)
    assert f"LlamaConfig of transformers==5.0.0 has no {attribute} for this model" in found.message
    assert "transformers<5" in found.resolution


@pytest.mark.parametrize(
    "read",
    [
        "self.x = config.bias and config.gone",
        "if config.bias:\n            self.x = config.gone",
        "self.x = [config.gone for one in (1, 2) if one]",
        "while config.bias:\n            self.x = config.gone",
    ],
)
def test_what_a_condition_may_keep_it_from_is_not_certain(read):
    (found,) = asked(read)
    assert (found.severity, found.applies) == (Severity.PATH, Applies.UNKNOWN)


@pytest.mark.parametrize(
    "read",
    [
        'self.x = config.gone if hasattr(config, "gone") else 1',
        "self.x = config.gone if config.bias else 1",
        "self.x = config.bias or config.gone",
        "if config.bias:\n            self.x = 1\n        else:\n            self.x = config.gone",
        "if config.bias:\n            return\n        self.x = config.gone",
        "def later():\n            return config.gone",
        "self.ok = isinstance(self.model, Unused)",
        "self.kind: Unused = None",
        'self.x = getattr(config, "gone", 1) or config.gone',
        "config = other()\n        self.x = config.gone",
        "try:\n            self.x = config.gone\n        except AttributeError:\n            self.x = 1",
        "config.gone = 1",
        "self.x = prefix.gone",
    ],
)
def test_what_is_looked_for_or_is_of_something_else_is_not_held_against_it(read):
    assert not asked(read)


@pytest.mark.parametrize(
    "about",
    [
        {"model": STORED | {"model_type": "own"}},
        {"model": STORED | {"model_type": "odd"}},
        {"model": STORED | {"model_type": "not-there"}},
        {"model": STORED | {"architectures": ["Other"]}},
        {"model": STORED | {"auto_map": {"AutoConfig": "x.Y"}}, "flags": ("--trust-remote-code",)},
        {"files": {"vllm/config/model.py": "def fix(config):\n    config.gone = 1\n"}},
        {"files": {"vllm/config/model.py": 'def fix(config):\n    config.update({"gone": 1})\n'}},
    ],
)
def test_where_it_cannot_be_told_nothing_is_said(about):
    assert not asked("self.x = config.gone", **about)


SEEN_MODEL = """
class Seen(Module):
    def __init__(self, *, vllm_config):
        config = vllm_config.model_config.hf_config
        self.x = config.gone
        self.text = Text(config.text_config)
        text = vllm_config.model_config.hf_text_config
        self.layers = text.layers
        TEXT
class Text(Module):
    def __init__(self, config: SeenTextConfig):
        NAMED
"""


@pytest.mark.parametrize(
    ("named", "text", "expected"),
    [
        ("self.x = config.layers", "", 0),
        ("self.x = config.gone", "", 1),
        ("pass", "self.y = text.hidden_size", 1),
        ("pass", "self.y = text.extra", 0),
    ],
)
def test_of_several_configurations_only_one_that_is_named_is_told(named, text, expected):
    stored = {
        "architectures": ["Seen"],
        "model_type": "seen",
        "text_config": {"model_type": "seen_text", "extra": 1},
    }
    code = SEEN_MODEL.replace("NAMED", named).replace("TEXT", text or "pass")
    found = asked(files={"vllm/model_executor/models/seen.py": code}, model=stored)
    assert len(found) == expected, found


LAYERED = """
from ...configuration_utils import PretrainedConfig
class Mixin:
    def __getattribute__(self, key):
        if key in spec.per_layer_attributes:
            raise RuntimeError(key)
        return super().__getattribute__(key)
    @property
    def per_layer_config(self):
        return Layers(self)
class LlamaConfig(PretrainedConfig, Mixin):
    hidden_size: int = 1
    kv_heads: int = 1
    head_dim: int = 64
    def __post_init__(self, **kwargs):
        other = {"hidden_size": 1}
        overrides: dict = {"head_dim": kwargs.pop("global_head_dim", 512)}
        if other:
            overrides["kv_heads"] = 1
        kwargs["per_layer_config"] = {index: overrides for index in range(2)}
        super().__post_init__(**kwargs)
"""


@pytest.mark.parametrize(
    ("read", "engine", "expected"),
    [
        ("self.x = config.head_dim", "", [Severity.START]),
        ("self.x = config.kv_heads", "", [Severity.START]),
        (
            "if config.hidden_size:\n            a = config.head_dim\n        else:\n            b = config.head_dim",
            "",
            [Severity.START],
        ),
        ("self.x = config.per_layer_config[0].head_dim", "", []),
        ("self.x = config.hidden_size", "", []),
        ("self.x = config.head_dim", "config.allow_global_per_layer_attribute_access = True\n", []),
    ],
)
def test_what_differs_by_layer_is_not_read_from_the_whole_models_configuration(read, engine, expected):
    layered = TRANSFORMERS | {"transformers/models/llama/configuration_llama.py": LAYERED}
    assert [one.severity for one in asked(read, files={"vllm/layers.py": engine}, library=layered)] == expected
    without = layered | {
        "transformers/models/llama/configuration_llama.py": LAYERED.replace("raise RuntimeError(key)", "pass")
    }
    assert not asked(read, files={"vllm/layers.py": engine}, library=without)


UNNAMED = """
class Seen(Module):
    def __init__(self, *, vllm_config):
        self.text = Text(part(vllm_config))
class Text(Module):
    def __init__(self, config):
        self.x = (config.one, config.two, config.layers, config.extra)
        self.y = config.gone
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ({"one": 1, "two": 2, "extra": 3}, 1),
        ({"one": 1, "two": 2}, 0),
        ({"one": 1, "two": 2, "extra": 3, "gone": 4}, 0),
    ],
)
def test_what_is_read_beside_it_tells_which_configuration_it_is(text, expected):
    stored = {"architectures": ["Seen"], "model_type": "seen", "text_config": {"model_type": "seen_text", **text}}
    files = {"vllm/model_executor/models/seen.py": UNNAMED}
    assert len(asked(files=files, model=stored)) == expected
    twice = stored | {"one": 1, "two": 2, "extra": 3, "layers": 4}
    assert not asked(files=files, model=twice)


def test_an_architecture_that_is_named_is_followed():
    named = 'self.y = init_model(config.text_config, architectures=["SeenText"])'
    code = SEEN_MODEL.replace("NAMED", "pass").replace("TEXT", named)
    text = "class SeenText(Module):\n    def __init__(self, config: SeenTextConfig):\n        self.x = config.gone\n"
    files = {
        "vllm/model_executor/models/registry.py": '_M = {"Seen": ("seen", "Seen"), "SeenText": ("seen_text", "SeenText")}\n',
        "vllm/model_executor/models/seen.py": code,
        "vllm/model_executor/models/seen_text.py": text,
    }
    stored = {"architectures": ["Seen"], "model_type": "seen", "text_config": {"model_type": "seen_text"}}
    (found,) = asked(files=files, model=stored)
    assert "SeenTextConfig" in found.message


def test_sglang_is_asked_the_same():
    files = {
        "sglang/srt/models/llama.py": "class LlamaForCausalLM(Module):\n    def __init__(self, config: LlamaConfig):\n"
        "        self.x = config.gone\nEntryClass = LlamaForCausalLM\n"
    }
    library = distribution("transformers", "5.0.0", TRANSFORMERS)
    (found,) = found_by(SGLANG, distribution("sglang", "1.0", files), library, model=STORED)
    assert found.severity is Severity.START
    own = files | {"sglang/srt/configs/llama.py": 'class LlamaConfig:\n    model_type = "llama"\n'}
    assert not found_by(SGLANG, distribution("sglang", "1.0", own), library, model=STORED)
