"""Which attributes does code give to objects that it did not make? Read as text: no file need be parsed for it."""

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from dayzero.audit.installed import PythonFiles

_OWNER = re.compile(rb"(?<![\w.\[\]])[\w.\[\]]+\Z")
_OWN = {b"self", b"cls"}
_LONGEST = 200  # bytes of an owner's expression


@dataclass(slots=True)
class Assigned:
    """Finds ``other.name = ...`` and ``setattr(other, "name", ...)``; what a method gives to ``self`` is its class's own.

    Args:
        python: The modules.
        askers: Top-level packages whose code is looked at.
    """

    python: PythonFiles
    askers: AbstractSet[str]
    _known: dict[str, bool] = field(default_factory=dict)

    def holds(self, name: str) -> bool:
        """Say whether the askers give an object that attribute, so that its class need not show it."""
        if name not in self._known:
            files = (file for one in sorted(self.askers) for file in self.python.holding(name.encode(), below=one))
            self._known[name] = any(_gives(self.python.text(file), name.encode()) for file in files)
        return self._known[name]


def _gives(text: bytes, name: bytes) -> bool:
    # what follows a dot is looked for first: a pattern that begins with the owner's name would be tried at every letter
    assigned = re.finditer(rb"\." + re.escape(name) + rb"[ \t]*=(?!=)", text)
    owners = (_OWNER.search(text, max(0, one.start() - _LONGEST), one.start()) for one in assigned)
    if any(owner is not None and owner[0] not in _OWN for owner in owners):
        return True
    return (
        b"setattr(" in text
        and re.search(rb"\bsetattr\([^,\n]+,\s*[\"']" + re.escape(name) + rb"[\"']", text) is not None
    )
