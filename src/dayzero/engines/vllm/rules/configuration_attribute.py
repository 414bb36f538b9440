"""Does the model's configuration have what vLLM's code for the model reads from it?"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from dayzero.audit.configuration_attributes import QUESTION, Models, read_in_vain
from dayzero.audit.configuration_attributes import RULE as RULE_ID
from dayzero.audit.finding import Finding, NotChecked
from dayzero.audit.rules import Subject

_PACKAGE = "vllm.model_executor.models"
_REGISTRIES = (f"{_PACKAGE}.registry", _PACKAGE)  # the second up to 0.5.4
_ENTRY = re.compile(r"""["'](\w+)["']:\s*\(\s*["']([\w.]+)["'],\s*["'](\w+)["']""")
_TYPES = "vllm.transformers_utils.config"
_TABLES = re.compile(r"^_CONFIG_REGISTRY\w*\b[^\n]*[({]\n(.*?)^[)}]", re.MULTILINE | re.DOTALL)
_KEYS = re.compile(r"(?m)^\s+[\"']?([\w.-]+)[\"']?\s*[:=]\s*[\"']?\w+[\"']?,")


class VllmConfigurationAttribute:
    """Implements ``audit.rules.Rule``."""

    id: str = RULE_ID
    question: str = QUESTION

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Follow the making of the model's class."""
        if subject.engine != "vllm" or subject.model is None:
            return
        types = _text(subject, _TYPES)
        own = frozenset(key for table in _TABLES.findall(types) for key in _KEYS.findall(table))
        yield from read_in_vain(subject, Models(package=_PACKAGE, registered=_registered(subject), own_types=own))


def _registered(subject: Subject) -> Mapping[str, tuple[str, str]]:
    found: dict[str, tuple[str, str]] = {}
    for one in _REGISTRIES:
        for name, module, held in _ENTRY.findall(_text(subject, one)):
            found.setdefault(name, (module if module.startswith("vllm.") else f"{_PACKAGE}.{module}", held))
    return found


def _text(subject: Subject, module: str) -> str:
    return subject.installed.python.text(module).decode("utf-8", "replace")


RULE: Final = VllmConfigurationAttribute()
