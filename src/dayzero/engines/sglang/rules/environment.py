"""Does this version of SGLang read the environment variables, and take these values?"""

import ast
import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from dayzero.audit.finding import Finding, NotChecked, Severity
from dayzero.audit.python_source import Module, last_name
from dayzero.audit.rules import Subject

_ENVIRON = "sglang.srt.environ"
_TABLE = "Envs"
_PREFIX = "SGLANG_"
_RESEMBLANCE = 0.75
_BOOLEANS = frozenset({"true", "1", "yes", "y", "false", "0", "no", "n"})  # sglang 0.5.18, srt/environ.py:133
_WHOLE, _NUMBER = (
    re.compile(r"\s*[+-]?\d(_?\d)*\s*"),
    re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?\s*", re.IGNORECASE),
)


@dataclass(frozen=True, slots=True)
class _Variable:
    line: int
    kind: str


class SglangEnvironment:
    """Implements ``audit.rules.Rule``. A value that SGLang cannot read it warns about, and takes its default instead."""

    id: str = "engine-environment"
    question: str = "Does this version of the engine read these environment variables, and take these values?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Hold each variable of SGLang's own to the table of this version, and to what else its files read."""
        own = {name: value for name, value in subject.env.items() if name.startswith(_PREFIX)}
        if subject.engine != "sglang" or not own:
            return
        python = subject.installed.python
        module = python.parsed(_ENVIRON)
        if not isinstance(module, Module):
            yield NotChecked(self.question, f"{module.file}: {module.quote}")
            return
        known = dict(_variables(module))
        for name, value in own.items():
            variable = known.get(name)
            if variable is not None:
                yield from self._valued(module, variable, name, value)
            elif next(python.holding(name.encode(), below="sglang"), None) is None:
                yield self._unread(module, known, name)

    def _unread(self, module: Module, known: Mapping[str, _Variable], name: str) -> Finding:
        near = difflib.get_close_matches(name, known, n=1, cutoff=_RESEMBLANCE)
        advice = f"Did you mean {near[0]}? " if near else ""
        message = f"{module.artifact} does not read {name}: it goes on without it"
        return Finding(self.id, Severity.DOWNGRADE, message, module.whole(), None, f"{advice}Leave it away.")

    def _valued(self, module: Module, variable: _Variable, name: str, value: str) -> Iterator[Finding]:
        wanted = _refused(variable.kind, value)
        if wanted:
            message = f"{name} takes {wanted}, and {value!r} is none: it warns, and takes the default"
            yield Finding(
                self.id, Severity.DOWNGRADE, message, module.place(variable.line), None, f"Set it to {wanted}."
            )


def _variables(module: Module) -> Iterator[tuple[str, _Variable]]:
    """Read ``SGLANG_NAME = EnvBool(False)`` in the table's class."""
    for owner in (node for node in module.tree.body if isinstance(node, ast.ClassDef) and node.name == _TABLE):
        for node in owner.body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=func)):
                    yield name, _Variable(node.lineno, last_name(func))
                case _:
                    continue


def _refused(kind: str, value: str) -> str:
    """Say what a variable takes where the value is none; ``""`` where it may be one."""
    if kind.startswith("EnvBool") and value.lower() not in _BOOLEANS:
        return "true or false"
    if kind.startswith("EnvInt") and not _WHOLE.fullmatch(value):
        return "a whole number"
    if kind.startswith("EnvFloat") and not _NUMBER.fullmatch(value):
        return "a number"
    return ""


RULE: Final = SglangEnvironment()
