"""SGLang's models and the rule about them."""

import pytest
from tests.simulators.distributions import distribution, found_by

from dayzero.audit.finding import NotChecked, Severity
from dayzero.audit.model import FactTable, Unread
from dayzero.engines.sglang.registry import REGISTRY
from dayzero.engines.sglang.rules.architecture import RULE


def sglang(text, version="0.5.16"):
    return distribution("sglang", version, {"sglang/srt/models/a.py": text})


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("EntryClass = AForCausalLM\n", ("AForCausalLM",)),
        ("EntryClass = [A, B]  # both\n", ("A", "B")),
        ("EntryClass = [\n    A,  # not B\n    C,\n]\n", ("A", "C")),
        ("EntryClass = [A]\r\n", ("A",)),
        ("EntryClass: list = [A]\n", ("A",)),
        ("EntryClass = (A, B)\n", ("A", "B")),
    ],
)
def test_every_entry_class_is_an_architecture(text, names):
    table = REGISTRY.read_architectures(sglang(text).files)
    assert isinstance(table, FactTable)
    assert table.names() == names


@pytest.mark.parametrize("text", ["EntryClass = [A] + more()\n", "EntryClass = make()\n", "x = 1\n"])
def test_an_entry_that_is_not_written_out_leaves_the_table_unread(text):
    assert isinstance(REGISTRY.read_architectures(sglang(text).files), Unread)


K3 = {"architectures": ["KimiK3ForConditionalGeneration"], "auto_map": {"AutoModel": "m.K"}}


def test_an_architecture_without_an_entry_class_will_not_start_and_the_first_release_that_has_it_is_named():
    (one,) = found_by(RULE, sglang("EntryClass = [A]\n"), model=K3)
    assert one.severity is Severity.START
    assert "architecture not registered" in one.message
    assert "0.5.17" in one.resolution


def test_one_that_is_there_is_no_finding():
    assert found_by(RULE, sglang("EntryClass = KimiK3ForConditionalGeneration\n"), model=K3) == []


@pytest.mark.parametrize("model", [{}, {"architectures": []}, {"architectures": "A"}, {"architectures": [1]}])
def test_a_model_that_names_no_architecture_is_not_checked(model):
    (one,) = found_by(RULE, sglang("EntryClass = [A]\n"), model=model)
    assert isinstance(one, NotChecked)
