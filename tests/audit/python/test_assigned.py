"""Which attributes code gives to objects that it did not make."""

import pytest
from tests.simulators.build_files import BuildInMemory

from dayzero.audit.installed import Distribution, Installed
from dayzero.audit.python.assigned import Assigned


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("app.state = 1", True),
        ("app[0].state =1", True),
        ("self.app.state = 1", True),
        ("self.state = app.state = 1", True),
        ("    torch.backends.state\t= 1", True),
        ("setattr(app, 'state', 1)", True),
        ("self.state = 1", False),
        ("cls.state = 1", False),
        ("app.state == 1", False),
        ("app.stateful = 1", False),
        ("print(app.state)", False),
    ],
)
def test_what_is_given_to_another_object_is_told_from_what_is_asked_of_it(text, expected):
    assert given(text).holds("state", ["App", "Backends"]) is expected


@pytest.mark.parametrize(
    ("text", "klass", "expected"),
    [
        ("request.app.state.client = 1", "State", True),
        ("self._hf_tokenizer.client = 1", "PreTrainedTokenizerBase", True),
        ("decode_wrappers.client = 1", "BatchDecodeWrapper", True),
        ("setattr(self.text_config, 'client', 1)", "PretrainedConfig", True),
        ("w.client = 1", "BatchDecodeWrapper", True),
        ("made[0].client = 1", "PreTrainedTokenizerBase", True),
        ("instance.client = 1", "PreTrainedTokenizerBase", True),
        ("server_args.client = 1", "PreTrainedTokenizerBase", False),
        ("setattr(app.state, 'client', 1)", "PretrainedConfig", False),
        ("app.state.client = 1", "ActivationType", False),
    ],
)
def test_what_the_object_is_called_tells_of_which_class_it_may_be(text, klass, expected):
    assert given(text).holds("client", [klass]) is expected


def test_the_classes_above_it_count_too():
    assert given("tokenizer.client = 1").holds("client", ["LlamaFast", "TokenizerBase"])


def given(text: str) -> Assigned:
    files = BuildInMemory({"eng/__init__.py": b"", "eng/app.py": text.encode()})
    engine = Distribution(name="eng", version="1", requires=(), files=files)
    return Assigned(Installed(engine=engine, others=()).python, frozenset({"eng"}))
