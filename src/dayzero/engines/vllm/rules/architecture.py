"""Is the model's architecture in vLLM's registry?"""

import ast
from collections.abc import Iterator, Mapping
from typing import Final

from dayzero.audit.architectures import QUESTION, Known, architectures_of, unregistered
from dayzero.audit.architectures import RULE as RULE_ID
from dayzero.audit.finding import Finding, NotChecked
from dayzero.audit.first_releases import first_release
from dayzero.audit.model import FactTable
from dayzero.audit.ports import BuildFiles
from dayzero.audit.python.bound import bound_by
from dayzero.audit.rules import Subject
from dayzero.engines.vllm.architectures import REGISTRY, read_architectures
from dayzero.engines.vllm.source import UnreadableError, parse

_DEFAULTS = "vllm/config/model.py"
_SUFFIXES = "_SUFFIX_TO_DEFAULTS"
_PREVIOUS, _PLUGINS = "_PREVIOUSLY_SUPPORTED_MODELS", "_OOT_SUPPORTED_MODELS"


class VllmArchitecture:
    """Implements ``audit.rules.Rule``."""

    id: str = RULE_ID
    question: str = QUESTION

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Look the model's architectures up in the registry, also under the names that vLLM derives from them."""
        if subject.engine != "vllm" or subject.model is None:
            return
        names = architectures_of(subject.model)
        if not names:
            yield NotChecked(QUESTION, "the model's config.json names no architectures")
            return
        engine = subject.installed.engine
        table = read_architectures(engine.files)
        if isinstance(table, FactTable) and any(map(table.find, names)):
            return
        known = Known(table=table, resolution=_resolution(engine.files, names, engine.version))
        yield from unregistered(subject, (*names, *_derived(engine.files, names)), known)


def _derived(files: BuildFiles, names: tuple[str, ...]) -> Iterator[str]:
    """Give the names under which vLLM looks once more: with each other suffix (0.27.0, models/registry.py:1218)."""
    suffixes = tuple(name for name, _ in _literal(files, _DEFAULTS, _SUFFIXES))
    for name in names:
        ending = next((suffix for suffix in suffixes if name.endswith(suffix)), "")
        if ending:
            yield from (name.replace(ending, suffix) for suffix in suffixes)


def _resolution(files: BuildFiles, names: tuple[str, ...], version: str) -> str:
    previous, plugins = dict(_literal(files, REGISTRY, _PREVIOUS)), dict(_literal(files, REGISTRY, _PLUGINS))
    for name in names:
        if name in previous:
            return f"Use vllm {previous[name]}, the last release that had it."
        if name in plugins:
            return f"Install the plug-in that has it: {plugins[name]}"
        first = first_release("dayzero.engines.vllm", name, after=version)
        if first:
            return f"Use vllm {first}, the first release that registers it."
    return ""


def _literal(files: BuildFiles, path: str, name: str) -> Iterator[tuple[str, str]]:
    """Read a table whose keys are text: a dict, or a list of pairs; nothing where it is not written out."""
    try:
        source = parse(files, path)
    except UnreadableError:
        return
    for node in source.tree.body:
        for bound, value in bound_by(node):
            if bound == name and value is not None:
                try:
                    table = ast.literal_eval(value)
                except ValueError:
                    return
                pairs = table.items() if isinstance(table, Mapping) else table
                yield from ((str(key), str(meaning)) for key, meaning in pairs)


RULE: Final = VllmArchitecture()
