"""Do the installed versions satisfy what each distribution's metadata asks for, extras that were not asked for included?"""

from collections.abc import Iterator
from typing import Final

from packaging.version import InvalidVersion, Version

from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.installed import Distribution, Installed
from dayzero.audit.requirements import Asked, all_asked_by, asked_by, unreadable
from dayzero.audit.rules import Subject
from dayzero.core.verdict import Place


class Pins:
    """Implements ``audit.rules.Rule``."""

    id: str = "pin-conflict"
    question: str = "Do the installed versions satisfy the METADATA of everything that is installed?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Compare each requirement with the version that is installed."""
        installed = subject.installed
        for asker in installed.distributions:
            needed = asked_by(asker)
            for asked in needed:
                yield from self._compare(installed, asker, asked)
            told = {one.name for one in needed if one.requirement.specifier}
            optional = {
                one.name: one for one in all_asked_by(asker) if one.extra and not one.exact and one.name not in told
            }
            for asked in optional.values():
                found = installed.find(asked.name)
                if found is not None and _uses(asker, asked.name) and not _chosen(installed, asker, found):
                    yield from self._compare(installed, asker, asked)
            for line in unreadable(asker):
                yield NotChecked(
                    f"the requirement {line!r} of {asker}", "it is not written as PEP 508 has it", needed=False
                )

    def _compare(self, installed: Installed, asker: Distribution, asked: Asked) -> Iterator[Finding | NotChecked]:
        found = installed.find(asked.name)
        if found is None or found is asker:
            return
        try:
            version = Version(found.version)
        except InvalidVersion:
            yield NotChecked(f"whether {found} satisfies {asked.line!r}", "its version is not one of PEP 440")
            return
        if version.local and version.public == "0":
            return  # a source checkout says nothing of its version
        if asked.requirement.specifier.contains(version, prereleases=True):
            return
        # A pin to one version says what was tested; that another one cannot work is for the files to show, where they are.
        tested = bool(asked.exact) and bool(found.files.names()) and bool(asker.files.names())
        extra = f" (extra {asked.extra})" if asked.extra else ""
        yield Finding(
            self.id,
            Severity.UNVERIFIED if tested else Severity.PATH,
            f"{asker} asks for {asked.requirement.name}{asked.requirement.specifier}{extra}, and {found.version} is installed",
            _metadata(asker, asked.line),
            Place(artifact=found.files.artifact, file="METADATA", quote=f"Version: {found.version}"),
            f"Install {asked.requirement.name}{asked.requirement.specifier}.",
            "the difference from the version that was tested matters" if tested else "",
            Applies.NO if tested else Applies.YES,
        )


def _uses(asker: Distribution, name: str) -> bool:
    """Say whether a distribution's own code imports another, so that an extra's limits hold without the extra."""
    module = name.replace("-", "_")
    words = (f"import {module}".encode(), f"from {module}".encode())
    sources = (path for path in asker.files.names() if path.endswith(".py"))
    return any(word in content for content in map(asker.files.read, sources) for word in words)


def _chosen(installed: Installed, asker: Distribution, found: Distribution) -> bool:
    """Say whether another distribution asks for a range that the version is in: it was chosen, against an extra that was not."""
    others = (one for one in installed.distributions if one is not asker)
    asked = (one.requirement.specifier for other in others for one in asked_by(other) if one.name == found.name)
    try:
        return any(bool(one) and one.contains(found.version, prereleases=True) for one in asked)
    except InvalidVersion:
        return False


def _metadata(asker: Distribution, line: str) -> Place:
    return Place(artifact=asker.files.artifact, file="METADATA", quote=f"Requires-Dist: {line}")


RULE: Final = Pins()
