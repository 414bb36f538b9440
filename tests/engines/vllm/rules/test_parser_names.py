"""Which tool parsers and reasoning parsers a build registers, in each way in which releases do."""

import pytest
from tests.simulators.distributions import distribution, found_by

from dayzero.audit.finding import NotChecked, Severity
from dayzero.engines.vllm.rules import parser_names

SERVER = """
def validate(args):
    known = ToolParserManager.list_registered()
    if args.enable_auto_tool_choice and args.tool_call_parser not in known:
        raise KeyError(f"invalid tool call parser: {args.tool_call_parser}")
    if (name := args.structured_outputs_config.reasoning_parser) and name not in ReasoningParserManager.list_registered():
        raise KeyError(f"invalid reasoning parser: {name}")
"""
OLD_SERVER = SERVER.replace("if (name", "if args.enable_reasoning and (name")
TABLE = """
_TOOL_PARSERS_TO_REGISTER = {"hermes": ("a", "A"), "kimi_k2": ("b", "B")}
def register():
    for name, (path, owner) in _TOOL_PARSERS_TO_REGISTER.items():
        ToolParserManager.register_lazy_module(name, path, owner)
"""
DECORATED = """
@ToolParserManager.register_module("hermes")
class A: ...
@ToolParserManager.register_module(["kimi_k2", "kimi"])
class B: ...
"""
REASONING = 'ReasoningParserManager.register_lazy_module(name="qwen3", module_path="a", class_name="A")\n'
ON = "--enable-auto-tool-choice"


def vllm(tools: str = TABLE, server: str = SERVER):
    files = {"vllm/server.py": server, "vllm/tool_parsers/__init__.py": tools, "vllm/reasoning/__init__.py": REASONING}
    return distribution("vllm", "1.0", files)


@pytest.mark.parametrize("tools", [TABLE, DECORATED])
@pytest.mark.parametrize(
    ("words", "message"),
    [
        (f"{ON} --tool-call-parser kimi_k2 --reasoning-parser qwen3", ""),
        (f"{ON} --tool-call-parser kimi_k3", "no tool call parser 'kimi_k3'"),
        (f"{ON} --tool_call_parser=openai", "no tool call parser 'openai'"),
        ("--tool-call-parser openai", ""),
        (f"{ON} --tool-call-parser openai --tool-parser-plugin mine.py", ""),
        ("--reasoning-parser glm45", "no reasoning parser 'glm45', but only qwen3"),
        ("", ""),
    ],
)
def test_a_parser_is_held_to_what_the_release_registers(tools, words, message):
    found = [one for one in found_by(parser_names.RULE, vllm(tools), flags=tuple(words.split())) if one]
    judged = [one for one in found if not isinstance(one, NotChecked)]
    assert [one.severity for one in judged] == ([Severity.START] if message else []), found
    assert all(message in one.message for one in judged)
    assert bool(found) == bool(message or "plugin" in words)


def test_a_release_that_looks_only_with_a_switch_refuses_nothing_without_it():
    asked = ("--reasoning-parser", "glm45")
    assert not found_by(parser_names.RULE, vllm(server=OLD_SERVER), flags=asked)
    assert found_by(parser_names.RULE, vllm(server=OLD_SERVER), flags=(*asked, "--enable-reasoning"))


def test_what_a_package_beside_the_engine_registers_is_known():
    plugin = distribution("plugin", "1.0", {"plugin/parser.py": DECORATED.replace("hermes", "own")})
    assert not found_by(parser_names.RULE, vllm(), plugin, flags=(ON, "--tool-call-parser", "own"))


def test_a_name_that_is_not_written_out_leaves_all_undecided():
    engine = vllm(TABLE + "ToolParserManager.register_module(name=computed())\n")
    (one,) = found_by(parser_names.RULE, engine, flags=(ON, "--tool-call-parser", "openai"))
    assert isinstance(one, NotChecked)
