"""Is there a configuration class for the model's type, in SGLang or in the Transformers library?"""

import ast
from collections.abc import Iterator
from typing import Final

from dayzero.audit.configuration_types import QUESTION, model_type_of, undeclared
from dayzero.audit.configuration_types import RULE as RULE_ID
from dayzero.audit.finding import Finding, NotChecked
from dayzero.audit.installed import PythonFiles
from dayzero.audit.python.bound import assigned
from dayzero.audit.python_source import Module, last_name
from dayzero.audit.rules import Subject
from dayzero.core.verdict import Place

_TABLE = "_CONFIG_REGISTRY"
_BELOW = "sglang.srt"


class SglangConfigurationType:
    """Implements ``audit.rules.Rule``."""

    id: str = RULE_ID
    question: str = QUESTION

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Look the model's type up in SGLang's own classes, then in the Transformers library."""
        model_type = model_type_of(subject, "sglang")
        if model_type is None:
            return
        place = _table(subject.installed.python)
        if place is None:
            yield NotChecked(self.question, f"no file of {subject.installed.engine} has a table {_TABLE}")
            return
        if declares(subject.installed.python, model_type):
            return
        yield from undeclared(subject, model_type, place)


def _table(python: PythonFiles) -> Place | None:
    for name in python.holding(_TABLE.encode(), below=_BELOW):
        module = python.parsed(name)
        for node in module.tree.body if isinstance(module, Module) else ():
            if any(last_name(target) == _TABLE for target, value in assigned(node) if value is not None):
                return module.place(node.lineno) if isinstance(module, Module) else None
    return None


def declares(python: PythonFiles, model_type: str) -> bool:
    """Say whether SGLang has a configuration class of the type: ``model_type = "kimi_k3"``, or a table that has it as a key."""
    for name in python.holding(f'"{model_type}"'.encode(), f"'{model_type}'".encode(), below=_BELOW):
        module = python.parsed(name)
        for node in ast.walk(module.tree) if isinstance(module, Module) else ():
            if any(_names(model_type, target, value) for target, value in assigned(node)):
                return True
    return False


def _names(model_type: str, target: ast.expr, value: ast.expr | None) -> bool:
    match target, value:
        case _, ast.Constant(value=text) if text == model_type and last_name(target) == "model_type":
            return True
        case ast.Subscript(value=table, slice=ast.Constant(value=text)), _ if text == model_type:
            return last_name(table) == _TABLE
        case _:
            return False


RULE: Final = SglangConfigurationType()
