"""Is there a configuration class for the model's type, in vLLM or in the Transformers library?"""

import ast
from collections.abc import Iterator
from typing import Final

from dayzero.audit.configuration_types import QUESTION, model_type_of, undeclared
from dayzero.audit.configuration_types import RULE as RULE_ID
from dayzero.audit.finding import Finding, NotChecked
from dayzero.audit.rules import Subject
from dayzero.core.verdict import Place
from dayzero.engines.vllm.source import Source, UnreadableError, parse, text_of

_FILE = "vllm/transformers_utils/config.py"
_TABLE = "_CONFIG_REGISTRY"


class VllmConfigurationType:
    """Implements ``audit.rules.Rule``."""

    id: str = RULE_ID
    question: str = QUESTION

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Look the model's type up in vLLM's own registry, then in the Transformers library."""
        model_type = model_type_of(subject, "vllm")
        if model_type is None:
            return
        try:
            source = parse(subject.installed.engine.files, _FILE)
            own, place = _registered(source)
        except UnreadableError as error:
            yield NotChecked(self.question, str(error))
            return
        if model_type in own:
            return
        yield from undeclared(subject, model_type, place)


def _registered(source: Source) -> tuple[frozenset[str], Place]:
    for node in source.tree.body:
        match node:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=value)
            ) if name == _TABLE:
                return frozenset(_keys(value)), source.place(node.lineno)
    raise UnreadableError(f"{source.path} has no table {_TABLE}")


def _keys(value: ast.expr | None) -> Iterator[str]:
    match value:
        case ast.Call(keywords=keywords):
            yield from (one.arg for one in keywords if one.arg is not None)
        case ast.Dict(keys=keys):
            yield from (text for key in keys if key is not None and (text := text_of(key)) is not None)
        case _:
            return


RULE: Final = VllmConfigurationType()
