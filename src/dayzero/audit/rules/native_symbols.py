"""Do the native extensions of the engine and its libraries find every symbol of the torch that is installed beside them?

An extension that was built against another torch asks the loader for names that this one does not export; the import of it
fails, and with it whatever runs on it.
"""

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from dayzero.audit.extensions import Extension, extensions
from dayzero.audit.finding import Finding, NotChecked
from dayzero.audit.installed import Distribution
from dayzero.audit.python.unloaded import unloaded
from dayzero.audit.rules import Subject


class NativeSymbols:
    """Implements ``audit.rules.Rule``."""

    id: str = "native-symbols"
    question: str = "Does the installed torch export every symbol that the native extensions ask it for?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Say of each extension that cannot be loaded who imports it, and whether a start gets there."""
        found = extensions(subject.installed)
        for place in found.unread:
            at = f" ({place.file})" if place.file else ""
            yield NotChecked(f"{self.question}{at}", place.quote, needed=False)
        for one in found.broken:
            if found.torch is not None:
                yield self._finding(subject, one, found.torch)

    def _finding(self, subject: Subject, extension: Extension, torch: Distribution) -> Finding:
        said = f"{extension.title} cannot be loaded: {extension.lacks(torch)}"
        found = unloaded(subject.installed, subject, extension, self.id, said)
        advice = "Install the torch that the engine pins, or a build of the extension for this torch."
        return replace(found, library=extension.place, resolution=advice)


RULE: Final = NativeSymbols()
