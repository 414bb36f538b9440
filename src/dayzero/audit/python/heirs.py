"""Which classes derive from another, by the names of their bases? Read as text: no file need be parsed for it."""

import re
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from dayzero.audit.installed import PythonFiles


@dataclass(slots=True)
class Heirs:
    """Finds classes by what stands between the parentheses behind their names.

    Args:
        python: The modules.
    """

    python: PythonFiles
    _known: dict[tuple[frozenset[str], frozenset[str]], frozenset[str]] = field(default_factory=dict)

    def may_be(self, name: str, library: str, askers: AbstractSet[str]) -> bool:
        """Say whether some class of the askers derives from a class of a library, also over one of the library between them.

        Args:
            name: The class.
            library: Top-level package that holds it.
            askers: Top-level packages of those who ask.
        """
        if self._of({name}, askers):
            return True
        between = self._of({name}, {library})
        return bool(between) and bool(self._of(between, askers))

    def _of(self, names: AbstractSet[str], packages: AbstractSet[str]) -> frozenset[str]:
        key = (frozenset(names), frozenset(packages))
        if key not in self._known:
            words = [one.encode() for one in sorted(names)]
            spelled = (
                rb"^[ \t]*class[ \t]+(\w+)[ \t]*\([^)]*\b(?:" + b"|".join(map(re.escape, words)) + rb")\b[^)]*\)[ \t]*:"
            )
            derives = re.compile(spelled, re.MULTILINE)
            holding = (file for one in sorted(packages) for file in self.python.holding(*words, below=one))
            found = (name for file in holding for name in derives.findall(self.python.text(file)))
            self._known[key] = frozenset(one.decode("utf-8", "replace") for one in found)
        return self._known[key]
