"""Does the model's configuration have what SGLang's code for the model reads from it?"""

from collections.abc import Iterator, Mapping
from typing import Final

from dayzero.audit.architectures import architectures_of
from dayzero.audit.configuration_attributes import QUESTION, Models, read_in_vain
from dayzero.audit.configuration_attributes import RULE as RULE_ID
from dayzero.audit.finding import Finding, NotChecked
from dayzero.audit.rules import Subject
from dayzero.engines.sglang.rules.configuration_type import declares

_PACKAGE, _ENTRY = "sglang.srt.models", b"EntryClass"


class SglangConfigurationAttribute:
    """Implements ``audit.rules.Rule``."""

    id: str = RULE_ID
    question: str = QUESTION

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Follow the making of the model's class."""
        if subject.engine != "sglang" or subject.model is None:
            return
        python = subject.installed.python
        registered: dict[str, tuple[str, str]] = {}
        for name in architectures_of(subject.model):
            holding = python.holding(f"class {name}(".encode(), below=_PACKAGE)
            module = next((one for one in holding if _ENTRY in python.text(one)), None)
            if module is not None:
                registered[name] = (module, name)
        own = frozenset(one for one in _types(subject.model) if declares(python, one))
        yield from read_in_vain(subject, Models(package=_PACKAGE, registered=registered, own_types=own))


def _types(model: Mapping[str, object]) -> Iterator[str]:
    """Give the types of a stored configuration and of its parts."""
    for part in (model, *(one for one in model.values() if isinstance(one, Mapping))):
        kind = part.get("model_type")
        if isinstance(kind, str):
            yield kind


RULE: Final = SglangConfigurationAttribute()
