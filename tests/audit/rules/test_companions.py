"""A library that refuses to be imported beside another version of its companion."""

import pytest
from tests.simulators.distributions import distribution, found_by

from dayzero.audit.finding import Severity
from dayzero.audit.rules.companions import RULE

CHECK = """def _get_cubin_dir():
    if not os.getenv("FLASHINFER_DISABLE_VERSION_CHECK") and flashinfer_version != cubin_version:
        raise RuntimeError(
            f"flashinfer-cubin version ({cubin_version}) does not match "
            f"flashinfer version ({flashinfer_version}). "
        )
"""


@pytest.mark.parametrize(
    ("installed", "env", "severities"),
    [
        ("0.6.13", {}, [Severity.START]),
        ("0.6.14", {}, []),
        ("0.6.14+cu129", {}, []),
        ("0.6.13", {"FLASHINFER_DISABLE_VERSION_CHECK": "1"}, [Severity.GUARDED]),
        ("", {}, []),
    ],
)
def test_another_version_of_the_companion_stops_the_import_unless_the_check_is_switched_off(installed, env, severities):
    library = distribution("flashinfer-python", "0.6.14", {"flashinfer/jit/env.py": CHECK})
    others = (library, distribution("flashinfer-cubin", installed)) if installed else (library,)
    found = found_by(RULE, distribution("vllm", "0.26.0"), *others, env=env)
    assert [one.severity for one in found] == severities
    assert all(one.engine.position == "line 3" and "remove flashinfer-cubin" in one.resolution for one in found)
