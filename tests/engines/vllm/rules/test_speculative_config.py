"""Which speculative methods and settings a build knows."""

import json

import pytest
from tests.simulators.distributions import distribution, found_by

from dayzero.audit.finding import NotChecked, Severity
from dayzero.engines.vllm.rules import speculative_config

CONFIG = """
from pydantic.dataclasses import dataclass
MTPTypes = Literal["deepseek_mtp", "mtp"]
EagleTypes = Literal["eagle", "eagle3", MTPTypes]
Method = Literal["ngram", EagleTypes]
@dataclass
class SpeculativeConfig:
    num_speculative_tokens: int = 0
    method: Method | None = None
    model: str | None = None
"""
ARGS = 'group.add_argument("--speculative-config", type=json.loads)\nself.speculative_config.pop("extra", None)\n'


def vllm(config: str = CONFIG, arguments: str = ARGS):
    return distribution("vllm", "1.0", {"vllm/config/speculative.py": config, "vllm/engine/arg_utils.py": arguments})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "mtp", "num_speculative_tokens": 1}, ""),
        ({"method": "eagle3", "model": "x", "num-speculative-tokens": 1}, ""),
        ({"method": "dflash"}, "no speculative method 'dflash', but only ngram, eagle, eagle3, deepseek_mtp, mtp"),
        ({"num_speculative_tokns": 1}, "no setting of speculation 'num_speculative_tokns'"),
        ({"extra": 1, "method": None}, ""),
    ],
)
def test_speculation_is_held_to_the_class_that_is_made_of_it(settings, message):
    for words in (("--speculative-config", json.dumps(settings)), (f"--speculative_config={json.dumps(settings)}",)):
        found = found_by(speculative_config.RULE, vllm(), flags=words)
        assert [one.severity for one in found] == ([Severity.START] if message else []), found
        assert all(message in one.message for one in found)


def test_settings_that_are_given_key_by_key_are_held_to_it_too():
    (one,) = found_by(speculative_config.RULE, vllm(), flags=("--speculative-config.method", "dflash"))
    assert "no speculative method 'dflash'" in one.message


@pytest.mark.parametrize(
    ("engine", "words"),
    [
        (vllm(CONFIG.replace("pydantic.dataclasses", "dataclasses")), '{"method": "dflash"}'),
        (vllm(arguments='"--speculative-model"'), '{"method": "dflash"}'),
        (vllm(CONFIG.replace('Literal["ngram", EagleTypes]', "str")), '{"method": "dflash"}'),
        (vllm(), "{method: dflash}"),
        (vllm(), '["dflash"]'),
    ],
)
def test_what_the_release_does_not_check_here_is_not_refused_here(engine, words):
    assert not found_by(speculative_config.RULE, engine, flags=("--speculative-config", words))


def test_a_release_without_the_class_is_not_held_to_it():
    (one,) = found_by(speculative_config.RULE, vllm(config=""), flags=("--speculative-config", '{"method": "x"}'))
    assert isinstance(one, NotChecked)
    assert not one.needed
