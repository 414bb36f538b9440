"""Which file the command line chooses."""

import pytest
from tests.simulators.distributions import distribution

from dayzero.audit.finding import Applies
from dayzero.audit.installed import Installed
from dayzero.audit.python.chosen import by_flags
from dayzero.audit.python_source import Module
from dayzero.audit.rules import Subject

_BELOW = "vllm/distributed/kv_connector"
FACTORY = """
Factory.register_connector(
    "CacheConnector",
    "vllm.distributed.kv_connector.cache_connector",
    "CacheConnector")
Factory.register_connector("OtherConnector", "vllm.distributed.kv_connector.other", "OtherConnector")
"""
FILES = {
    f"{_BELOW}/factory.py": FACTORY,
    f"{_BELOW}/cache_connector.py": "",
    f"{_BELOW}/other.py": "",
    f"{_BELOW}/shared.py": "",
    "vllm/backends/flash.py": "",
    "vllm/tokenizers/registry.py": '_TOKENIZERS = {"grok2": ("grok2", "Grok2")}\n',
    "vllm/tokenizers/grok2.py": "",
    "vllm/tokenizers/protocol.py": "",
    "vllm/model_loader/__init__.py": '_LOADERS = {"gguf": GgufLoader}\n',
    "vllm/model_loader/gguf_loader.py": "",
    "vllm/model_loader/weight_utils.py": "",
}
NESTED = '{"kv_connector":"Multi","extra":{"connectors":[{"kv_connector":"CacheConnector"}]}}'


@pytest.mark.parametrize(
    ("module", "flags", "expected"),
    [
        ("vllm.backends.flash", (), None),
        ("vllm.backends.flash", ("--backend", "FLASH"), Applies.YES),
        ("vllm.tokenizers.grok2", (), Applies.NO),
        ("vllm.tokenizers.grok2", ("--tokenizer-mode", "grok2"), Applies.YES),
        ("vllm.tokenizers.protocol", (), None),
        ("vllm.model_loader.gguf_loader", (), Applies.NO),
        ("vllm.model_loader.gguf_loader", ("--load-format", "gguf"), None),
        ("vllm.model_loader.weight_utils", (), None),
        ("vllm.distributed.kv_connector.cache_connector", (), Applies.NO),
        ("vllm.distributed.kv_connector.shared", (), Applies.NO),
        ("vllm.distributed.kv_connector.shared", ("--kv-transfer-config", '{"kv_connector":"CacheConnector"}'), None),
        (
            "vllm.distributed.kv_connector.cache_connector",
            ("--kv-transfer-config", '{"kv_connector":"CacheConnector"}'),
            Applies.YES,
        ),
        ("vllm.distributed.kv_connector.cache_connector", ("--kv-transfer-config", NESTED), Applies.YES),
        (
            "vllm.distributed.kv_connector.cache_connector",
            ("--kv-transfer-config.kv_connector", "CacheConnector"),
            Applies.YES,
        ),
        (
            "vllm.distributed.kv_connector.cache_connector",
            ("--kv-transfer-config", '{"kv_connector": "OtherConnector"}'),
            Applies.NO,
        ),
    ],
)
def test_a_connector_is_chosen_by_the_name_that_it_is_registered_under(module, flags, expected):
    installed = Installed(engine=distribution("vllm", "1.0", FILES), others=())
    parsed = installed.python.parsed(module)
    assert isinstance(parsed, Module)
    said = by_flags(installed.python, parsed, Subject(installed=installed, engine="vllm", flags=flags))
    assert (said[0] if said else None) is expected


def test_a_model_that_is_called_so_may_choose_its_own_tokenizer():
    installed = Installed(engine=distribution("vllm", "1.0", FILES), others=())
    parsed = installed.python.parsed("vllm.tokenizers.grok2")
    assert isinstance(parsed, Module)
    subject = Subject(installed=installed, engine="vllm", model={"architectures": ["Grok2ForCausalLM"]})
    assert by_flags(installed.python, parsed, subject) is None
