"""Does this version of SGLang's server take the flags, with these values, and together?"""

import difflib
from collections.abc import Iterator, Mapping
from typing import Final

from dayzero.audit.finding import Finding, NotChecked, Severity
from dayzero.audit.rules import Subject
from dayzero.core.errors import InputError
from dayzero.core.verdict import Place
from dayzero.engines.command_line import Given, given
from dayzero.engines.sglang.refusals import refusals
from dayzero.engines.sglang.server_args import SERVER_ARGS, Flag, read_flags

_RESEMBLANCE = 0.6


class SglangFlags:
    """Implements ``audit.rules.Rule``. The parser is Python's own: ``_`` is not ``-``, and the last of two values counts."""

    id: str = "serve-flags"
    question: str = "Does this version of the engine take these flags, with these values, once each?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Hold each flag to the parser of this version, and all of them to what its checks refuse."""
        if subject.engine != "sglang" or not subject.flags:
            return
        python = subject.installed.python
        try:
            known = read_flags(python)
        except InputError as error:
            yield NotChecked(self.question, error.message)
            return
        parser = python.modules[SERVER_ARGS].place
        fields: dict[str, object] = {}
        seen: dict[str, Given] = {}
        for one in given(subject.flags):
            flag = _named(one.flag, known)
            if flag is None:
                yield self._unknown(one, known, parser)
                continue
            yield from self._one(one, flag)
            if flag.field in seen and seen[flag.field].values != one.values:
                yield self._twice(seen[flag.field], one, flag)
            seen[flag.field] = one
            fields[flag.field] = _value(one, flag)
        for refused in refusals(python, fields):
            asked = [seen[field].flag for field in dict.fromkeys(refused.fields) if field in seen]
            message = f"SGLang refuses {' with '.join(asked)}: {refused.words}"
            yield self._start(message, refused.place, f"Leave one of {', '.join(asked)} away.")

    def _one(self, one: Given, flag: Flag) -> Iterator[Finding]:
        if flag.refused:
            message = f"{one.flag} is no longer supported: the server ends with a usage error"
            yield self._start(message, flag.place, f"Leave {one.flag} away.")
        elif flag.switch and one.values:
            message = f"{one.flag} takes no value, and {one.values[0]!r} follows it: the server ends with a usage error"
            yield self._start(message, flag.place, f"Write {one.flag} alone.")
        elif flag.choices and (wrong := next((word for word in one.values if word not in flag.choices), None)):
            near = difflib.get_close_matches(wrong, flag.choices, n=1)
            message = f"{one.flag} takes no {wrong!r}, but only {', '.join(flag.choices)}"
            yield self._start(message, flag.place, f"Use {near[0] if near else flag.choices[0]}.")

    def _unknown(self, one: Given, known: Mapping[str, Flag], parser: Place) -> Finding:
        near = difflib.get_close_matches(one.name, known, n=1, cutoff=_RESEMBLANCE)
        closest = f"Did you mean {near[0]}? " if near else ""
        message = f"{parser.artifact} has no flag {one.flag}: the server ends with a usage error"
        return self._start(message, parser, f"{closest}Leave {one.flag} away, or use a version that has it.")

    def _twice(self, first: Given, second: Given, flag: Flag) -> Finding:
        message = f"{first.flag} and {second.flag} set the same thing: the server takes {' '.join(second.values)}"
        return Finding(self.id, Severity.DOWNGRADE, message, flag.place, None, f"Give {second.flag} once.")

    def _start(self, message: str, place: Place, resolution: str) -> Finding:
        return Finding(self.id, Severity.START, message, place, None, resolution)


def _named(word: str, known: Mapping[str, Flag]) -> Flag | None:
    """Find a flag by its name, or by the beginning of one name."""
    if word in known:
        return known[word]
    longer = {flag.place: flag for name, flag in known.items() if word.startswith("--") and name.startswith(word)}
    return next(iter(longer.values())) if len(longer) == 1 else None


def _value(one: Given, flag: Flag) -> object:
    if flag.switch:
        return True
    if flag.several or len(one.values) != 1:
        return list(one.values)
    return int(one.values[0]) if one.values[0].lstrip("-").isdigit() else one.values[0]


RULE: Final = SglangFlags()
