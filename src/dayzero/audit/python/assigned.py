"""Which attributes does code give to objects that it did not make? Read as text: no file need be parsed for it."""

import re
from collections.abc import Collection, Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field

from dayzero.audit.installed import PythonFiles

_OWNER = re.compile(rb"(?<![\w.\[\]])[\w.\[\]]+\Z")
_OWN = {b"self", b"cls"}
_LONGEST = 200  # bytes of an owner's expression
_LAST = re.compile(rb"([A-Za-z_]\w*)\Z")
# Names that say nothing of what the object is: one of few letters, as a class's may be too, or one of these.
_FEW = 3
_ANY = frozenset(
    {"obj", "object", "instance", "inst", "item", "target", "module", "mod", "layer", "owner", "inner", "wrapped"}
)


@dataclass(slots=True)
class Assigned:
    """Finds ``other.name = ...`` and ``setattr(other, "name", ...)``; what a method gives to ``self`` is its class's own.

    Args:
        python: The modules.
        askers: Top-level packages whose code is looked at.
    """

    python: PythonFiles
    askers: AbstractSet[str]
    _known: dict[str, frozenset[str]] = field(default_factory=dict)

    def holds(self, name: str, classes: Collection[str]) -> bool:
        """Say whether the askers give an object of a class that attribute, so that the class need not show it.

        What an object is called tells what it is: ``app.state`` is a ``State``. A name that tells nothing may be of any class.

        Args:
            name: The attribute.
            classes: Names of the class and of those above it.
        """
        if name not in self._known:
            files = (file for one in sorted(self.askers) for file in self.python.holding(name.encode(), below=one))
            owners = (owner for file in files for owner in _owners(self.python.text(file), name.encode()))
            self._known[name] = frozenset(owners)
        return any(_may_be(owner, one) for owner in self._known[name] for one in classes)


def _owners(text: bytes, name: bytes) -> Iterator[str]:
    """Give the last name of each object that gets the attribute; ``""`` for an object without one."""
    # what follows a dot is looked for first: a pattern that begins with the owner's name would be tried at every letter
    for one in re.finditer(rb"\." + re.escape(name) + rb"[ \t]*=(?!=)", text):
        owner = _OWNER.search(text, max(0, one.start() - _LONGEST), one.start())
        if owner is not None and owner[0] not in _OWN:
            yield _last(owner[0])
    if b"setattr(" in text:
        for given in re.finditer(rb"\bsetattr\(([^,\n]+),\s*[\"']" + re.escape(name) + rb"[\"']", text):
            yield _last(given[1].strip())


def _last(owner: bytes) -> str:
    found = _LAST.search(owner)
    return found[1].decode() if found else ""


def _may_be(owner: str, klass: str) -> bool:
    """Say whether an object of that name may be of a class: a word of the one is in the other."""
    plain, words = klass.lower().replace("_", ""), [word for word in owner.lower().split("_") if word]
    telling = [word for word in words if len(word) > _FEW and word not in _ANY]
    return (
        len(plain) <= _FEW or not telling or any(word in plain or word.removesuffix("s") in plain for word in telling)
    )
