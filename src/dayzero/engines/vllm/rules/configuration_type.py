"""Is there a configuration class for the model's type, in vLLM or in the Transformers library?"""

import ast
from collections.abc import Iterator
from typing import Final

from dayzero.audit.architectures import trusts_remote_code
from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.model import FactTable, Unread
from dayzero.audit.rules import Subject
from dayzero.audit.transformers_library import DISTRIBUTION, configuration_types
from dayzero.core.verdict import Place
from dayzero.engines.vllm.source import Source, UnreadableError, parse, text_of

_FILE = "vllm/transformers_utils/config.py"
_TABLE = "_CONFIG_REGISTRY"


class VllmConfigurationType:
    """Implements ``audit.rules.Rule``."""

    id: str = "configuration-type"
    question: str = "Is there a configuration class for the model's type?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Look the model's type up in vLLM's own registry, then in the Transformers library."""
        model_type = subject.model.get("model_type") if subject.model is not None else None
        if subject.engine != "vllm" or not isinstance(model_type, str):
            return
        try:
            source = parse(subject.installed.engine.files, _FILE)
            own, place = _registered(source)
        except UnreadableError as error:
            yield NotChecked(self.question, str(error))
            return
        if model_type in own:
            return
        match configuration_types(subject.installed):
            case FactTable() as table if table.find(model_type) is None:
                yield self._unknown(subject, model_type, place, table)
            case Unread(reason=reason) if subject.installed.find(DISTRIBUTION) is not None:
                yield NotChecked(self.question, reason)
            case _:
                return

    def _unknown(self, subject: Subject, model_type: str, place: Place, table: FactTable) -> Finding:
        remote = subject.model is not None and isinstance(subject.model.get("auto_map"), dict)
        trusted = remote and trusts_remote_code(subject.flags)
        return Finding(
            self.id,
            Severity.UNVERIFIED if trusted else Severity.START,
            f"neither {subject.installed.engine} nor {subject.installed.find(DISTRIBUTION)} has a configuration of type"
            f" {model_type}",
            place,
            table.place,
            "Use a release that has it" + (", or pass --trust-remote-code." if remote else "."),
            "the model's own configuration class works" if trusted else "",
            Applies.UNKNOWN if trusted else Applies.YES,
        )


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
