"""The capability tables: a class's own word, the class of its bases that says it, and code carried as code."""

import ast

import pytest
from tests.engines.vllm.capabilities.builds import installed, shared
from tests.wheels.released import wheel

from dayzero.audit.installed import PythonFiles
from dayzero.engines.vllm.capabilities.program import Program
from dayzero.engines.vllm.capabilities.tables import attention_backends, experts

LONGEST_SHARED = 900  # the shared tables cut the text of a method there


def entries():
    return {one.name: one for one in attention_backends(Program(PythonFiles(installed().distributions), {}))}


@pytest.mark.parametrize(
    ("backend", "capability", "value", "where"),
    [
        ("FAST_MLA", "get_supported_kernel_block_sizes", [32, 64], "vllm/backends/fast.py"),
        ("FAST_MLA", "supports_compute_capability", "capability.major == 10", "vllm/backends/fast.py"),
        ("FAST_MLA", "get_supported_head_sizes", [320, 576], "vllm/backends/mla.py"),
        ("SLOW_MLA", "supported_kv_cache_dtypes", ["auto"], "vllm/v1/attention/backend.py"),
        ("SLOW_MLA", "get_supported_kernel_block_sizes", ["MultipleOf(16)"], "vllm/v1/attention/backend.py"),
        ("PLAIN", "is_mla", False, "vllm/v1/attention/backend.py"),
    ],
)
def test_a_capability_is_what_the_first_class_in_the_order_says(backend, capability, value, where):
    found = entries()[backend].capabilities[capability]
    assert (found.value, found.is_code, found.place.file) == (value, False, where)


def test_a_method_of_several_statements_is_code_and_has_no_value():
    found = entries()["FAST_MLA"].capabilities["supports_combination"]
    assert found.is_code
    assert found.value is None
    assert "qk_nope_head_dim" in found.body


def test_an_entry_that_names_no_class_of_the_files_says_what_is_missing():
    found = entries()
    assert (found["GONE"].missing, found["VIT"].path, found["CUSTOM"].path) == ("module", "", None)
    assert found["SLOW_MLA"].order == ("SlowBackend", "MlaBackend", "AttentionBackend")


VERSIONS = ("0.26.0", "0.27.0", "0.33.0")


@pytest.mark.wheels
@pytest.mark.parametrize("version", VERSIONS)
def test_the_attention_backends_of_a_release_are_what_was_read_by_hand(version):
    expected = shared(f"cases/audit/attn_caps_vllm-{version}.json")
    files = PythonFiles((wheel("vllm", version),))
    assert {one.name: _attention(one) for one in attention_backends(Program(files, {}))} == expected


@pytest.mark.wheels
@pytest.mark.parametrize("version", VERSIONS)
def test_the_kernels_for_experts_of_a_release_are_what_was_read_by_hand(version):
    expected = shared(f"cases/audit/moe_caps_vllm-{version}.json")
    files = PythonFiles((wheel("vllm", version),))
    assert {one.name: _experts(one) for one in experts(Program(files, {}), tuple(files.modules))} == expected


@pytest.mark.wheels
@pytest.mark.parametrize("version", ["0.28.0", "0.29.0", "0.30.0", "0.31.0", "0.32.0"])
def test_the_releases_between_are_read_without_a_special_case(version):
    files = PythonFiles((wheel("vllm", version),))
    found = attention_backends(Program(files, {}))
    assert len([one for one in found if one.klass]) >= 30
    assert len(experts(Program(files, {}), tuple(files.modules))) >= 60


def _at(place) -> str:
    return f"{place.file}:{place.position.removeprefix('line ')}"


def _attention(entry) -> dict:
    if not entry.path:
        return {"path": entry.path}
    caps: object = f"MISSING {entry.missing.upper()}"
    if entry.klass is not None:
        head = {"class": entry.path, "file": entry.klass.module.file, "line": entry.klass.node.lineno}
        caps = head | {"mro": list(entry.order)} | {name: _said(one) for name, one in entry.capabilities.items()}
    return {"path": entry.path, "registry": _at(entry.registered), "caps": caps}


def _said(one) -> dict:
    said = {"code": _without_imports(one.body)} if one.is_code else {"v": one.value}
    line = {"line": int(one.place.position.removeprefix("line "))} if one.body else {}
    return said | line | {"from": _at(one.place)}


def _without_imports(body: str) -> str:
    function = ast.parse("def f():\n " + body.replace("\n", "\n ")).body[0]
    assert isinstance(function, ast.FunctionDef)
    kept = [one for one in function.body if not isinstance(one, ast.Import | ast.ImportFrom)]
    return "\n".join(map(ast.unparse, kept))


def _experts(entry) -> dict:
    head = {"file": entry.klass.module.file, "line": entry.klass.node.lineno, "mro": list(entry.order)}
    said = {
        name: {"code": one.body[:LONGEST_SHARED], "from": _at(one.place)} for name, one in entry.capabilities.items()
    }
    return head | said
