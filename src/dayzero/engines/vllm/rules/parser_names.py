"""Does this version of vLLM register the tool parser and the reasoning parser that are asked for?"""

import ast
import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from dayzero.audit.finding import Finding, NotChecked, Severity
from dayzero.audit.installed import PythonFiles
from dayzero.audit.python_source import Module, last_name, nodes_of
from dayzero.audit.rules import Subject
from dayzero.core.verdict import Place
from dayzero.engines.command_line import given
from dayzero.engines.vllm.source import UnreadableError, text_of

_REGISTERS = {"register_module", "register_lazy_module"}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """One kind of parser: its flag, its registry, what a refusal says, and the flag that adds others."""

    flag: str
    manager: str
    table: str
    refusal: str
    plugin: str


# vllm 0.8.5, entrypoints/openai/api_server.py:1045, to 0.33.0, entrypoints/common/cli_args.py:615: validate_api_server_args.
_KINDS = (
    _Kind(
        flag="--tool-call-parser",
        manager="ToolParserManager",
        table="_TOOL_PARSERS_TO_REGISTER",
        refusal="invalid tool call parser",
        plugin="--tool-parser-plugin",
    ),
    _Kind(
        flag="--reasoning-parser",
        manager="ReasoningParserManager",
        table="_REASONING_PARSERS_TO_REGISTER",
        refusal="invalid reasoning parser",
        plugin="--reasoning-parser-plugin",
    ),
)


class ParserNames:
    """Implements ``audit.rules.Rule``."""

    id: str = "parser-name"
    question: str = "Does this version of the engine register the tool and reasoning parsers that are asked for?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Hold each parser's name to what the engine and the packages beside it register."""
        if subject.engine != "vllm":
            return
        asked = {one.name: next(iter(one.values), "") for one in given(subject.flags)}
        for kind in _KINDS:
            name = asked.get(kind.flag, "")
            refused = next(_refusals(subject.installed.python, kind.refusal), None) if name else None
            if refused is None or not refused.switches.issubset(asked):
                continue
            if kind.plugin in asked:
                what = f"Is the parser {name} registered?"
                yield NotChecked(what, f"{kind.plugin} may register it, and is not read", needed=False)
                continue
            yield from self._one(subject.installed.python, kind, name, refused.place)

    def _one(self, python: PythonFiles, kind: _Kind, name: str, refused: Place) -> Iterator[Finding | NotChecked]:
        try:
            known = frozenset(_registered(python, kind))
        except UnreadableError as error:
            yield NotChecked(self.question, str(error))
            return
        if name in known or not known:
            return
        near = difflib.get_close_matches(name, known, n=1)
        noun = kind.flag.removeprefix("--").replace("-", " ")
        message = f"{refused.artifact} registers no {noun} {name!r}, but only {', '.join(sorted(known))}"
        advice = f"Did you mean {near[0]}? " if near else ""
        advice += f"Leave {kind.flag} away, or use a version that has it."
        yield Finding(self.id, Severity.START, message, refused, None, advice)


@dataclass(frozen=True, slots=True)
class _Refusal:
    """Where the server refuses a name that it does not know, and the switches without which it does not look."""

    place: Place
    switches: frozenset[str]


def _refusals(python: PythonFiles, words: str) -> Iterator[_Refusal]:
    """Find ``if args.enable_x and args.name not in known: raise KeyError("words ...")``."""
    for name in python.holding(words.encode(), below="vllm"):
        module = python.parsed(name)
        for node in nodes_of(module.tree) if isinstance(module, Module) else ():
            match node:
                case ast.If(test=test, body=[ast.Raise() as refusal]) if _says(refusal, words):
                    asked = (one.attr for one in ast.walk(test) if isinstance(one, ast.Attribute))
                    switches = frozenset(f"--{one.replace('_', '-')}" for one in asked if one.startswith("enable_"))
                    if isinstance(module, Module):
                        yield _Refusal(module.place(refusal.lineno), switches)
                case _:
                    continue


def _says(refusal: ast.Raise, words: str) -> bool:
    texts = (one.value for one in ast.walk(refusal) if isinstance(one, ast.Constant))
    return any(isinstance(text, str) and words in text for text in texts)


def _registered(python: PythonFiles, kind: _Kind) -> Iterator[str]:
    """Give each name that any module registers: by a decorator, a call, or the table that a loop goes through.

    Raises:
        UnreadableError: One of them is not written out.
    """
    for name in python.holding(kind.manager.encode()):
        module = python.parsed(name)
        if not isinstance(module, Module):
            raise UnreadableError(f"{module.file}: {module.quote}")
        table = _table(module, kind.table)
        yield from table
        for call in nodes_of(module.tree):
            if isinstance(call, ast.Call) and _registers(call, kind.manager):
                yield from _named(module, call, looped=bool(table))


def _table(module: Module, name: str) -> tuple[str, ...]:
    for node in module.tree.body:
        match node:
            case ast.Assign(targets=[ast.Name(id=own)], value=ast.Dict(keys=keys)) if own == name:
                texts = [text_of(key) for key in keys if key is not None]
                if len(texts) != len(keys) or None in texts:
                    raise UnreadableError(f"{module.file}:{node.lineno}: not every name of {name} is written out")
                return tuple(text for text in texts if text is not None)
            case _:
                continue
    return ()


def _registers(call: ast.Call, manager: str) -> bool:
    return (
        isinstance(call.func, ast.Attribute) and call.func.attr in _REGISTERS and last_name(call.func.value) == manager
    )


def _named(module: Module, call: ast.Call, *, looped: bool) -> Iterator[str]:
    given_as = next((one.value for one in call.keywords if one.arg == "name"), next(iter(call.args), None))
    listed = given_as.elts if isinstance(given_as, ast.List | ast.Tuple) else [given_as]
    for one in listed:
        text = text_of(one) if one is not None else None
        if text is not None:
            yield text
        elif not (looped and isinstance(one, ast.Name)):
            raise UnreadableError(f"{module.file}:{call.lineno}: the name of this parser is not written out")


RULE: Final = ParserNames()
