"""Does a library refuse, while it is imported, the version of a package that is installed beside it?"""

import re
from collections.abc import Iterator
from typing import Final

from packaging.version import InvalidVersion, Version

from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.installed import Distribution
from dayzero.audit.rules import Subject
from dayzero.core.verdict import Place

_REFUSAL = re.compile(
    rb"""raise\s+\w*Error\(\s*f?["'](?P<companion>[A-Za-z][\w-]+) version \(\{[^}]+\}\) does not match[^{]*version \(\{"""
)
_BYPASS = re.compile(rb"""getenv\(["'](?P<name>\w+)["']\)|environ\.get\(["'](?P<other>\w+)["']""")
_NEAR = 700


class Companions:
    """Implements ``audit.rules.Rule``."""

    id: str = "companion-version"
    question: str = "Do packages that a library requires to have its own version have it?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Find where a library compares its version with a companion's and raises, and compare them."""
        python = subject.installed.python
        for module in python.holding(b" does not match "):
            entry = python.modules[module]
            content = python.read(module)
            for refusal in _REFUSAL.finditer(content):
                companion = subject.installed.find(refusal["companion"].decode())
                if companion is not None and not _same(companion, entry.distribution):
                    line = content.count(b"\n", 0, refusal.start()) + 1
                    at = entry.place
                    place = Place(
                        artifact=at.artifact, file=at.file, position=f"line {line}", quote="raise RuntimeError("
                    )
                    near = content[max(refusal.start() - _NEAR, 0) : refusal.start()]
                    yield self._finding(subject, entry.distribution, companion, place, near)

    def _finding(
        self, subject: Subject, library: Distribution, companion: Distribution, place: Place, near: bytes
    ) -> Finding:
        found = list(_BYPASS.finditer(near))
        bypass = (found[-1]["name"] or found[-1]["other"]).decode() if found else ""
        passed = bool(bypass) and bool(subject.env.get(bypass))
        skip = f", or set {bypass}=1" if bypass else ""
        return Finding(
            self.id,
            Severity.GUARDED if passed else Severity.START,
            f"{library} refuses to be imported beside {companion}: their versions must be equal"
            + (f", and {bypass} skips that" if passed else ""),
            place,
            Place(artifact=companion.files.artifact, file="METADATA", quote=f"Version: {companion.version}"),
            f"Install {companion.name}=={library.version} if the index has it, else remove {companion.name}{skip}.",
            f"{bypass} is not set" if bypass else "",
            Applies.NO if passed else Applies.YES,
        )


def _same(one: Distribution, other: Distribution) -> bool:
    try:
        return Version(one.version).public == Version(other.version).public
    except InvalidVersion:
        return one.version == other.version


RULE: Final = Companions()
