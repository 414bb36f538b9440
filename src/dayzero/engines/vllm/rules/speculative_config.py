"""Does this version of vLLM know the speculative method, and the settings of speculation, that are asked for?"""

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from typing import Final

from dayzero.audit.finding import Finding, NotChecked, Severity
from dayzero.audit.ports import BuildFiles
from dayzero.audit.rules import Subject
from dayzero.core.verdict import Place
from dayzero.engines.command_line import given
from dayzero.engines.vllm.fields import ConfigFields
from dayzero.engines.vllm.settings import ENGINE_ARGS
from dayzero.engines.vllm.source import UnreadableError

_FLAG, _CLASS, _METHOD = "--speculative-config", "SpeculativeConfig", "method"
_CHECKED = b"pydantic.dataclasses"
_TAKEN_OUT = re.compile(rb"""speculative_config\.pop\(\s*["'](\w+)""")


class SpeculativeConfig:
    """Implements ``audit.rules.Rule``."""

    id: str = "speculative-config"
    question: str = "Does this version of vLLM know the speculative method and the settings that are asked for?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Hold the method and each setting to the fields of the class that vLLM makes of them."""
        asked = _asked(subject.flags) if subject.engine == "vllm" else {}
        if not asked:
            return
        files = subject.installed.engine.files
        if not _takes(files):
            return  # what becomes of the flag itself is another rule's
        fields = ConfigFields(files)
        try:
            place, known = fields.place(_CLASS), fields.names(_CLASS)
            methods = fields.choices(_CLASS, _METHOD)
        except UnreadableError as error:
            yield NotChecked(self.question, str(error), needed=False)
            return
        taken_out = _taken_out(files)
        for name in asked:
            if name.replace("-", "_") not in {*known, *taken_out}:
                yield self._refused(files, place, f"setting of speculation {name!r}", name, known)
        method = asked.get(_METHOD)
        checked = any(_CHECKED in files.read(path) for path in _paths(files, place))
        if isinstance(method, str) and methods and checked and method not in methods:
            yield self._refused(files, place, f"speculative method {method!r}", method, methods)

    def _refused(self, files: BuildFiles, place: Place, what: str, name: str, known: tuple[str, ...]) -> Finding:
        near = difflib.get_close_matches(name, known, n=1)
        advice = f"Did you mean {near[0]}? " if near else ""
        listed = ", ".join(one for one in known if one != "None")
        message = f"{files.artifact} has no {what}, but only {listed}"
        return Finding(self.id, Severity.START, message, place, None, f"{advice}Use a version of vLLM that has it.")


def _asked(flags: tuple[str, ...]) -> Mapping[str, object]:
    """Give the settings, given as JSON or key by key; none where they cannot be read, which the flag's own check says."""
    found: dict[str, object] = {}
    for one in given(flags):
        name, dot, key = one.name.partition(".")
        value = next(iter(one.values), "")
        if name != _FLAG or not value:
            continue
        if dot:
            found[key.partition(".")[0]] = value
            continue
        try:
            read = json.loads(value)
        except ValueError:
            continue
        found |= read if isinstance(read, dict) else {}
    return found


def _takes(files: BuildFiles) -> bool:
    """Say whether the engine has the flag."""
    return ENGINE_ARGS in files.names() and _FLAG.encode() in files.read(ENGINE_ARGS)


def _taken_out(files: BuildFiles) -> frozenset[str]:
    """Name the settings that the engine takes out before it makes the object: ``speculative_config.pop("name")``."""
    return frozenset(one.decode() for one in _TAKEN_OUT.findall(files.read(ENGINE_ARGS)))


def _paths(files: BuildFiles, place: Place) -> tuple[str, ...]:
    """Name the files that say whether the class checks what it is given: its own, and the one that decorates it."""
    return tuple(name for name in (place.file, "vllm/config/utils.py") if name in files.names())


RULE: Final = SpeculativeConfig()
