"""What metadata asks for."""

import pytest
from tests.simulators.distributions import distribution

from dayzero.audit.requirements import asked_by, unreadable


@pytest.mark.parametrize(
    ("engine", "line", "names"),
    [
        ("vllm", "flashinfer_python==0.6.14", ["flashinfer-python"]),
        ("vllm", 'a; sys_platform == "linux"', ["a"]),
        ("vllm", 'a; sys_platform == "win32"', []),
        ("vllm", 'a; platform_machine == "x86_64"', ["a"]),
        ("vllm", 'a; platform_machine == "aarch64"', []),
        ("vllm", 'a; extra == "bench"', []),
        ("sglang", 'flashinfer_python==0.2.3; extra == "srt"', ["flashinfer-python"]),
        ("vllm", "not a requirement at all!", []),
    ],
)
def test_only_what_holds_for_linux_without_extras_is_asked_for(engine, line, names):
    assert [one.name for one in asked_by(distribution(engine, "1.0", requires=[line]))] == names


def test_an_extra_that_asks_for_an_extra_of_its_own_is_followed():
    requires = ['sglang[runtime-common]; extra == "srt"', 'transformers==4.48.3; extra == "runtime-common"']
    (asked,) = asked_by(distribution("sglang", "0.4.4.post1", requires=requires))
    assert (asked.name, asked.exact) == ("transformers", "4.48.3")


def test_what_is_no_requirement_is_named():
    assert list(unreadable(distribution("a", "1", requires=["a b c"]))) == ["a b c"]
