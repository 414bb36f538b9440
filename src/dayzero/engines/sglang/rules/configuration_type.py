"""Is there a configuration class for the model's type, in SGLang or in the Transformers library?"""

import ast
from collections.abc import Iterator
from typing import Final

from dayzero.audit.architectures import trusts_remote_code
from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.installed import PythonFiles
from dayzero.audit.model import FactTable, Unread
from dayzero.audit.python_source import Module, last_name
from dayzero.audit.rules import Subject
from dayzero.audit.transformers_library import DISTRIBUTION, configuration_types
from dayzero.core.verdict import Place

_TABLE = "_CONFIG_REGISTRY"
_BELOW = "sglang.srt"


class SglangConfigurationType:
    """Implements ``audit.rules.Rule``."""

    id: str = "configuration-type"
    question: str = "Is there a configuration class for the model's type?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Look the model's type up in SGLang's own classes, then in the Transformers library."""
        model_type = subject.model.get("model_type") if subject.model is not None else None
        if subject.engine != "sglang" or not isinstance(model_type, str):
            return
        place = _table(subject.installed.python)
        if place is None:
            yield NotChecked(self.question, f"no file of {subject.installed.engine} has a table {_TABLE}")
            return
        if _declares(subject.installed.python, model_type):
            return
        match configuration_types(subject.installed):
            case FactTable() as table if table.find(model_type) is None:
                yield self._unknown(subject, model_type, place, table.place)
            case Unread(reason=reason) if subject.installed.find(DISTRIBUTION) is not None:
                yield NotChecked(self.question, reason)
            case _:
                return

    def _unknown(self, subject: Subject, model_type: str, place: Place, library: Place | None) -> Finding:
        remote = subject.model is not None and isinstance(subject.model.get("auto_map"), dict)
        trusted = remote and trusts_remote_code(subject.flags)
        return Finding(
            self.id,
            Severity.UNVERIFIED if trusted else Severity.START,
            f"neither {subject.installed.engine} nor {subject.installed.find(DISTRIBUTION)} has a configuration of type"
            f" {model_type}",
            place,
            library,
            "Use a release that has it" + (", or pass --trust-remote-code." if remote else "."),
            "the model's own configuration class works" if trusted else "",
            Applies.UNKNOWN if trusted else Applies.YES,
        )


def _table(python: PythonFiles) -> Place | None:
    for name in python.holding(_TABLE.encode(), below=_BELOW):
        module = python.parsed(name)
        for node in module.tree.body if isinstance(module, Module) else ():
            if isinstance(node, ast.Assign | ast.AnnAssign) and _TABLE in map(last_name, _targets(node)):
                return module.place(node.lineno) if isinstance(module, Module) else None
    return None


def _targets(node: ast.Assign | ast.AnnAssign) -> list[ast.expr]:
    return node.targets if isinstance(node, ast.Assign) else [node.target]


def _declares(python: PythonFiles, model_type: str) -> bool:
    """Say whether SGLang has a configuration class of the type: ``model_type = "kimi_k3"``, or a table that has it as a key."""
    for name in python.holding(f'"{model_type}"'.encode(), f"'{model_type}'".encode(), below=_BELOW):
        module = python.parsed(name)
        for node in ast.walk(module.tree) if isinstance(module, Module) else ():
            match node:
                case ast.Assign(targets=targets, value=ast.Constant(value=text)) if text == model_type:
                    if "model_type" in map(last_name, targets):
                        return True
                case ast.AnnAssign(target=target, value=ast.Constant(value=text)) if text == model_type:
                    if last_name(target) == "model_type":
                        return True
                case ast.Assign(targets=[ast.Subscript(value=table, slice=ast.Constant(value=text))]) if (
                    text == model_type
                ):
                    if last_name(table) == _TABLE:
                        return True
                case _:
                    continue
    return False


RULE: Final = SglangConfigurationType()
