"""Versions that code demands of a library, and raises beside any other."""

import pytest
from tests.simulators.distributions import distribution, found_by

from dayzero.audit.finding import Applies, Severity
from dayzero.audit.rules.version_checks import RULE

HELPER = """
def assert_pkg_version(pkg, min_version, message):
    installed_version = version(pkg)
    if pkg_version.parse(installed_version) < pkg_version.parse(min_version):
        raise Exception(message)
"""
LAUNCH = """
from sglang.utils import assert_pkg_version
def _set_envs_and_config(server_args):
    if not get_bool_env_var("SKIP_CHECK"):
        if server_args.attention_backend == "flashinfer":
            assert_pkg_version("flashinfer_python", "0.5.0", "old")
        if _is_cuda:
            assert_pkg_version("sgl-kernel", "0.3.16.post5", "old")
"""
SGLANG = {"sglang/__init__.py": "", "sglang/utils.py": HELPER, "sglang/launch.py": LAUNCH}
TABLE = {
    "transformers/__init__.py": "from . import dependency_versions_check\n",
    "transformers/versions.py": "def require_version_core(requirement): ...\n",
    "transformers/table.py": 'deps = {"numpy": "numpy>=1.17", "huggingface-hub": "huggingface-hub>=0.30,<1.0"}\n',
    "transformers/dependency_versions_check.py": """
from .table import deps
from .versions import require_version_core
wanted = ["python", "numpy", "huggingface-hub"]
for pkg in wanted:
    if pkg in deps:
        require_version_core(deps[pkg])
    else:
        raise ValueError(pkg)
""",
}
BITS = """
def create(self):
    try:
        import bitsandbytes
        if version.parse(bitsandbytes.__version__) < version.parse("0.46.1"):
            raise ImportError("old")
    except ImportError as err:
        raise ImportError("please install it") from err
"""


def beside(files, *libraries: tuple[str, str, dict[str, str]], requires=(), engine="sglang", **about: object):
    held = [distribution(name, version, content) for name, version, content in libraries]
    return found_by(RULE, distribution(engine, "1.0", files, requires=requires), *held, **about)


@pytest.mark.parametrize(
    ("kernel", "flashinfer", "flags", "env", "expected"),
    [
        ("0.3.16.post5", "0.5.0", (), {}, []),
        ("0.3.17", "0.5.0+cu128", (), {}, []),
        ("0.3.16.post4", "0.5.0", (), {}, [(Severity.START, Applies.YES)]),
        ("0.3.16.post4", "0.5.0", (), {"SKIP_CHECK": "1"}, []),
        ("0.3.17", "0.4.1", (), {}, [(Severity.PATH, Applies.UNKNOWN)]),
        ("0.3.17", "0.4.1", ("--attention-backend", "flashinfer"), {}, [(Severity.START, Applies.YES)]),
        ("0.3.17", "0.4.1", ("--attention-backend=fa3",), {}, []),
        ("0+local", "0.5.0", (), {}, []),
    ],
)
def test_the_least_version_of_a_helper_is_held_against_the_installed_one(kernel, flashinfer, flags, env, expected):
    libraries = [("sgl-kernel", kernel, {}), ("flashinfer-python", flashinfer, {})]
    found = beside(SGLANG, *libraries, flags=flags, env=env)
    assert [(one.severity, one.holds) for one in found] == expected, found


def test_a_helper_that_only_warns_demands_nothing():
    warns = SGLANG | {"sglang/utils.py": HELPER.replace("raise Exception(message)", "print(message)")}
    assert not beside(warns, ("sgl-kernel", "0.1", {}))


@pytest.mark.parametrize(
    ("hub", "requires", "severity"),
    [
        ("0.36.0", ["transformers"], None),
        ("1.0.0", ["transformers"], Severity.START),
        ("0.29.1", ["transformers>=4"], Severity.START),
        ("1.0.0", [], Severity.OPT_IN),
    ],
)
def test_the_table_that_a_library_checks_while_it_is_imported_counts(hub, requires, severity):
    libraries = [("transformers", "4.57.0", TABLE), ("huggingface-hub", hub, {}), ("numpy", "2.0", {})]
    found = beside({"vllm/__init__.py": ""}, *libraries, requires=requires, engine="vllm")
    assert [one.severity for one in found] == ([severity] if severity else []), found
    assert all("huggingface-hub<1.0,>=0.30, and raises beside" in one.message for one in found)


@pytest.mark.parametrize(
    ("version", "method", "expected"),
    [
        ("0.46.1", "bitsandbytes", []),
        ("0.45.0", "bitsandbytes", [(Severity.OPT_IN, Applies.YES)]),
        ("0.45.0", "fp8", [(Severity.OPT_IN, Applies.UNKNOWN)]),
    ],
)
def test_a_comparison_that_leads_to_raise_matters_to_whom_the_file_is_for(version, method, expected):
    engine = {"vllm/__init__.py": "", "vllm/quantization/bitsandbytes.py": BITS}
    library = ("bitsandbytes", version, {"bitsandbytes/__init__.py": ""})
    found = beside(engine, library, engine="vllm", model={"quantization_config": {"quant_method": method}})
    assert [(one.severity, one.holds) for one in found] == expected


@pytest.mark.parametrize(
    ("line", "version", "expected"),
    [
        ('if parse(lib.__version__) < parse("1.2"):', "1.1", 1),
        ('if parse(lib.__version__) < parse("1.2"):', "1.2", 0),
        ('if parse(lib.__version__) <= parse("1.2"):', "1.2", 1),
        ('if parse("2.0") <= parse(lib.__version__):', "2.0", 1),
        ('if parse("2.0") <= parse(lib.__version__):', "1.9", 0),
        ('if old or Version(version("lib")) >= Version("2.0"):', "2.1", 1),
        ('if old and Version(version("lib")) >= Version("2.0"):', "2.1", 0),
        ('if parse(other.__version__) < parse("1.2"):', "1.1", 0),
    ],
)
def test_both_ways_of_writing_a_comparison_are_read(line, version, expected):
    code = f"import lib\ndef f():\n    {line}\n        raise ValueError\n"
    assert len(beside({"sglang/a.py": code}, ("lib", version, {"lib/__init__.py": ""}))) == expected


@pytest.mark.parametrize("ends", ["except ImportError:\n        pass", "except Exception:\n        return None"])
def test_what_is_caught_demands_nothing(ends):
    code = f"import lib\ndef f():\n    try:\n        require_version('lib>=2')\n    {ends}\n"
    assert not beside({"sglang/a.py": code}, ("lib", "1.0", {"lib/__init__.py": ""}))
