"""The registry is read from its own syntax, and left unread where the syntax does not tell everything."""

import pytest
from tests.engines.vllm.builds import WrittenBuild

from dayzero.audit.model import FactTable, Unread
from dayzero.core.verdict import Place
from dayzero.engines.vllm.architectures import REGISTRY, read_architectures

TABLES = """\
_TEXT = {
    "LlamaForCausalLM": ("llama", "LlamaForCausalLM"),
    "KimiK3ForConditionalGeneration": (
        "vllm.models.kimi_k3",
        "KimiK3ForConditionalGeneration",
    ),
}
_EMBEDDING: dict[str, tuple[str, str]] = {
    **{k: (mod, arch) for k, (mod, arch) in _TEXT.items() if arch == "LlamaForCausalLM"},
    "BertModel": ("bert", "BertModel"),
}
"""
MERGED = TABLES + "_VLLM_MODELS = {\n    **_TEXT,\n    **_EMBEDDING,\n}\n"


def read(text: str):
    return read_architectures(WrittenBuild({REGISTRY: text}))


def test_all_merged_tables_are_read_with_the_line_of_each_key():
    facts = read(MERGED)
    assert isinstance(facts, FactTable)
    assert [(name, place.position) for name, place in facts.entries] == [
        ("LlamaForCausalLM", "line 2"),
        ("KimiK3ForConditionalGeneration", "line 3"),
        ("BertModel", "line 10"),
    ]
    assert facts.place == Place(artifact="vllm 0.0.0", file=REGISTRY, position="line 12", quote="_VLLM_MODELS = {")


def test_an_architecture_of_a_table_that_is_not_merged_is_not_known():
    facts = read(MERGED + '_OOT_SUPPORTED = {"FarawayModel": "https://example.org"}\n')
    assert isinstance(facts, FactTable)
    assert facts.find("FarawayModel") is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "has no literal table _VLLM_MODELS"),
        ("_VLLM_MODELS = dict(a=1)\n", "has no literal table _VLLM_MODELS"),
        ("_VLLM_MODELS = {NAME: 1}\n", "registry.py:1: a key is not a literal"),
        ("_VLLM_MODELS = {**load_plugins()}\n", "registry.py:1: what is merged here is not a literal table"),
        (MERGED + '_VLLM_MODELS["New"] = ("new", "New")\n', "changes _VLLM_MODELS after writing it down"),
        (MERGED + "_TEXT.update(more)\n", "changes _TEXT after writing it down"),
        (MERGED + "_EMBEDDING |= more\n", "changes _EMBEDDING after writing it down"),
        (MERGED + "_VLLM_MODELS = patched(_VLLM_MODELS)\n", "changes _VLLM_MODELS after writing it down"),
        (TABLES + "_VLLM_MODELS = {**_EMBEDDING}\n", "a choice of _TEXT that only running it can tell"),
        ("_VLLM_MODELS = {\n", "cannot be parsed"),
        ("_A = {**_VLLM_MODELS}\n_VLLM_MODELS = {**_A}\n", "recursion"),
    ],
)
def test_a_registry_that_is_not_wholly_literal_is_left_unread(text: str, reason: str):
    facts = read(text)
    assert isinstance(facts, Unread)
    assert reason in facts.reason


def test_a_build_without_a_registry_is_left_unread():
    assert read_architectures(WrittenBuild({})) == Unread(
        noun="architecture", reason=f"vllm 0.0.0 has no file {REGISTRY}"
    )
