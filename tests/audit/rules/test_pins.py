"""Installed versions against METADATA: one shape an incident."""

import pytest
from tests.simulators.distributions import distribution, found_by

from dayzero.audit.finding import Applies, Severity
from dayzero.audit.rules.pins import RULE

USES = {"transformers/hub.py": "from kernels import LayerRepository\n"}
CODE = {"a.py": "x = 1\n"}


@pytest.mark.parametrize(
    ("requires", "version", "severity"),
    [
        ("transformers<5,>=4.56.0", "5.3.0", Severity.PATH),
        ("transformers<5,>=4.56.0", "4.57.1", None),
        ("transformers>=4.56.0", "5.0.0rc1", None),
        ("transformers==4.48.3", "4.49.0", Severity.UNVERIFIED),
        ("transformers==4.48.*", "4.49.0", Severity.PATH),
        ("transformers", "4.49.0", None),
        ('transformers<5; sys_platform == "win32"', "5.3.0", None),
    ],
)
def test_a_range_that_excludes_the_version_refutes_and_a_pin_to_another_is_only_said(requires, version, severity):
    engine = distribution("vllm", "0.17.1", CODE, requires=[requires])
    found = found_by(RULE, engine, distribution("transformers", version, CODE))
    assert [one.severity for one in found] == ([severity] if severity else [])


def test_a_pin_to_another_version_refutes_where_no_files_can_show_better():
    engine = distribution("vllm", "0.13.0", CODE, requires=["compressed-tensors==0.13.0"])
    (one,) = found_by(RULE, engine, distribution("compressed-tensors", "0.12.2"))
    assert (one.severity, one.holds) == (Severity.PATH, Applies.YES)


@pytest.mark.parametrize(("files", "version", "count"), [(USES, "0.15.2", 1), (USES, "0.12.9", 0), (CODE, "0.15.2", 0)])
def test_the_limits_of_an_extra_hold_for_who_imports_it_though_the_extra_was_not_asked_for(files, version, count):
    engine = distribution("sglang", "0.5.12", CODE, requires=["kernels"])
    lines = ['kernels<0.13,>=0.12.0; extra == "kernels"', 'kernels<0.13,>=0.12.0; extra == "all"']
    library = distribution("transformers", "5.6.0", files, requires=lines)
    found = found_by(RULE, engine, library, distribution("kernels", version, CODE))
    assert len(found) == count
    assert all("transformers==5.6.0 asks for kernels<0.13,>=0.12.0" in one.message for one in found)


@pytest.mark.parametrize(("asked", "count"), [("kernels<0.16,>=0.15", 0), ("kernels<0.15", 2), ("kernels", 1)])
def test_the_limits_of_an_extra_that_nobody_asked_for_give_way_to_a_range_that_was_asked_for(asked, count):
    engine = distribution("vllm", "0.27.0", CODE, requires=[asked])
    library = distribution("transformers", "5.6.0", USES, requires=['kernels<0.13,>=0.12.0; extra == "kernels"'])
    assert len(found_by(RULE, engine, library, distribution("kernels", "0.15.2", CODE))) == count


def test_a_source_checkout_has_no_version_to_compare():
    engine = distribution("vllm", "0.17.1", requires=["flashinfer-python>=0.6"])
    assert found_by(RULE, engine, distribution("flashinfer-python", "0+g0123456789ab", CODE)) == []
