"""Versions that are compared with a literal."""

import pytest
from tests.simulators.distributions import distribution, found_by

from dayzero.audit.finding import Severity
from dayzero.audit.rules.version_literals import RULE

GATE = 'def supported(x):\n    v = package_version("flashinfer-python")\n    if v != "0.6.17":\n        return False\n'
RAISES = 'def run(x):\n    if flashinfer.__version__ != "0.6.17":\n        raise ValueError("no")\n'
AT_IMPORT = 'v = metadata.version("flashinfer-python")\nif v != "0.6.17":\n    raise ImportError("no")\n'
ANOTHER = 'def f():\n    if package_version("triton") != "0.6.17":\n        raise ValueError\n'
SWITCH = 'def f():\n    if package_version("flashinfer-python") == "0.6.17":\n        return 1\n'
LIBRARY = {"flashinfer/__init__.py": ""}


@pytest.mark.parametrize(
    ("code", "version", "severities"),
    [
        (GATE, "0.7.2", [Severity.DOWNGRADE]),
        (GATE, "0.6.17", []),
        (GATE, "0.6.17+cu129", []),
        (RAISES, "0.7.2", [Severity.PATH]),
        (AT_IMPORT, "0.7.2", [Severity.START]),
        (ANOTHER, "0.7.2", []),
        (SWITCH, "0.7.2", []),
    ],
)
def test_a_path_that_demands_another_version_is_found_with_what_happens_to_it(code, version, severities):
    engine = distribution("sglang", "0.5.23", {"sglang/quant.py": code})
    found = found_by(RULE, engine, distribution("flashinfer-python", version, LIBRARY))
    assert [one.severity for one in found] == severities


@pytest.mark.parametrize("code", ['version != "1.2"\nif (', "(" * 4000 + 'version != "1.2"'])
def test_a_file_that_cannot_be_parsed_is_said_and_not_passed_over(code):
    engine = distribution("sglang", "0.5.23", {"sglang/quant.py": code})
    (one,) = found_by(RULE, engine)
    assert "not parsed" in one.why
