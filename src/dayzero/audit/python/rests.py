"""Note what an answer rests on: the asker's own text alone, or also what other distributions hold."""

from collections.abc import Callable, Hashable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

_Key = TypeVar("_Key", bound=Hashable)
_Found = TypeVar("_Found")
Kept: TypeAlias = dict[_Key, tuple[_Found, bool]]


@dataclass(slots=True)
class Rests:
    """Follows answers that are kept, so that who is given one a second time rests on all that it rests on.

    What is asked for again while it is worked out counts as resting on others, and so does what asked for it, since what comes
    of that depends on who asked first. An answer that asks for itself with none in between is the same whoever asks.

    Attributes:
        others: Top-level packages of the other distributions.
        on_others: Whether anything rests on them that was worked out since this was last unset.
    """

    others: AbstractSet[str]
    on_others: bool = False
    _innermost: object = None

    def asks(self, module: str) -> None:
        """Note that a module is asked, or whether there is one."""
        if module.split(".", 1)[0] in self.others:
            self.on_others = True

    def tried(self, work: Callable[[], object]) -> bool:
        """Do something, and say whether it rests on others."""
        before, self.on_others = self.on_others, False
        work()
        found = self.on_others
        self.on_others = before or found
        return found

    def keep(self, kept: Kept[_Key, _Found], key: _Key, meanwhile: _Found, work: Callable[[], _Found]) -> _Found:
        """Give an answer that is kept, or work it out and keep it.

        Args:
            kept: Where it is kept, with whether it rests on others.
            key: What is asked.
            meanwhile: The answer for who asks while it is worked out.
            work: Works it out.
        """
        if key in kept:
            entry = kept[key]
            self.on_others = self.on_others or (entry[1] and entry is not self._innermost)
            return entry[0]
        before, around = self.on_others, self._innermost
        self.on_others = False
        kept[key] = self._innermost = (meanwhile, True)
        found = work()
        kept[key] = (found, self.on_others)
        self.on_others, self._innermost = before or self.on_others, around
        return found
