"""Does this version of ``vllm serve`` take the flags, with these values, once each?"""

import difflib
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Final

from dayzero.audit.finding import Finding, NotChecked, Severity
from dayzero.audit.installed import Distribution
from dayzero.audit.ports import BuildFiles
from dayzero.audit.rules import Subject
from dayzero.core.verdict import Place
from dayzero.engines.command_line import Given, given
from dayzero.engines.vllm.misuse import misused_of
from dayzero.engines.vllm.settings import ENGINE_ARGS, Flag, read_flags, settings_in
from dayzero.engines.vllm.source import UnreadableError

_RESEMBLANCE = 0.6
# A flag of its own up to vllm 0.11, which takes -O3 and -O.level=3; later the short form of --optimization-level.
_LEVEL = "-O"


class VllmFlags:
    """Implements ``audit.rules.Rule``."""

    id: str = "serve-flags"
    question: str = "Does this version of the engine take these flags, with these values, once each?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Hold each flag to the argument parser of this version."""
        if subject.engine != "vllm" or not subject.flags:
            return
        files = subject.installed.engine.files
        try:
            known = _known(subject.installed.engine)
        except UnreadableError as error:
            yield NotChecked(self.question, str(error))
            return
        for one in given(subject.flags):
            yield from self._one(one, known, files)
        for words in misused_of(subject.flags, known):
            yield self._finding(
                f"{words}: vllm serve refuses that", _parser(files), "Give it once, as the parser takes it."
            )

    def _one(self, one: Given, known: Mapping[str, Flag], files: BuildFiles) -> Iterator[Finding]:
        name = next(iter(settings_in((one.flag,))), one.name)
        flag = known.get(name) or (known.get(_LEVEL) if one.flag.startswith(_LEVEL) else None)
        if flag is None:
            longer = [full for full in known if full.startswith(name)]
            if len({known[full].place for full in longer}) == 1 and name.startswith("--"):
                return  # the parser takes an abbreviation of one flag
            near = difflib.get_close_matches(name, known, n=1, cutoff=_RESEMBLANCE)
            closest = f"Did you mean {near[0]}? " if near else ""
            message = f"{files.artifact} has no flag {name}: vllm serve ends with a usage error"
            yield self._finding(
                message, _parser(files), f"{closest}Leave {one.flag} away, or use a version that has it."
            )
        elif flag.choices and one.values and one.values[0] not in flag.choices:
            message = f"{one.flag} takes no {one.values[0]!r}, but only {', '.join(flag.choices)}"
            near = difflib.get_close_matches(one.values[0], flag.choices, n=1)
            yield self._finding(message, flag.place, f"Use {near[0] if near else flag.choices[0]}.")

        elif flag.is_json and one.values and "." not in one.flag and not _is_json(one.values[0]):
            message = f"{one.flag} takes JSON, and {one.values[0]!r} is none: vllm serve ends with a usage error"
            yield self._finding(message, flag.place, f"Write it as JSON, or key by key: {one.flag}.KEY VALUE.")

    def _finding(self, message: str, place: Place, resolution: str) -> Finding:
        return Finding(self.id, Severity.START, message, place, None, resolution)


def _is_json(word: str) -> bool:
    """Say whether a value is JSON, or is still to be filled in by a shell or a template."""
    if word == "None" or "$" in word or "{{" in word:
        return True
    try:
        json.loads(word)
    except ValueError:
        return False
    return True


@lru_cache(maxsize=2)
def _known(engine: Distribution) -> Mapping[str, Flag]:
    """Read the parser's flags, once for whatever is to be served with the build."""
    return read_flags(engine.files)


def _parser(files: BuildFiles) -> Place:
    return Place(artifact=files.artifact, file=ENGINE_ARGS)


RULE: Final = VllmFlags()
