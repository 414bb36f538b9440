"""Which attributes does code give to objects that it did not make? Read as text: no file need be parsed for it."""

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from dayzero.audit.installed import PythonFiles


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
            word = re.escape(name.encode())
            gives = re.compile(
                rb"(?<![\w.])(?!(?:self|cls)\." + word + rb"\b)[\w.\[\]]+\." + word + rb"[ \t]*=(?!=)"
                rb"|\bsetattr\([^,\n]+,\s*[\"']" + word + rb"[\"']"
            )
            files = (file for one in sorted(self.askers) for file in self.python.holding(name.encode(), below=one))
            self._known[name] = any(gives.search(self.python.text(file)) for file in files)
        return self._known[name]
