"""The three answers. ``Undecided`` is never a pass: a skip, a missing input and a crash are all ``Undecided``."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a reason can be seen: a file of a named artifact, and the position inside it.

    Attributes:
        artifact: What holds the file, with its version (``xllamacpp 2026.8.10229``), or ``""`` for a plain file.
        file: Path inside the artifact, or on disk.
        position: ``line 12``, ``byte 0x136f8f0`` or a JSON pointer; ``""`` means the file as a whole.
        quote: What stands there, at most one line.
    """

    artifact: str
    file: str
    position: str = ""
    quote: str = ""

    def __str__(self) -> str:
        where = f"{self.file}:{self.position.removeprefix('line ')}" if self.position else self.file
        return f"{self.artifact}: {where}" if self.artifact else where


@dataclass(frozen=True, slots=True)
class Proven:
    """The statement holds, and ``places`` show it."""

    reason: str
    places: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class Refuted:
    """The statement does not hold, and ``places`` show it."""

    reason: str
    places: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class Undecided:
    """Nothing was shown either way; ``reason`` says what was missing."""

    reason: str
    places: tuple[Place, ...] = ()


Verdict: TypeAlias = Proven | Refuted | Undecided


def verdict_word(verdict: Verdict) -> str:
    """Name one of the three answers: ``proven``, ``refuted`` or ``undecided``."""
    match verdict:
        case Proven():
            return "proven"
        case Refuted():
            return "refuted"
        case Undecided():
            return "undecided"


def conjunction(verdicts: Iterable[Verdict], *, proven: str) -> Verdict:
    """Decide whether all statements hold.

    One refutation refutes the whole; failing that, one undecided statement leaves it undecided. No statement at all is
    undecided too: nothing was checked.

    Args:
        verdicts: The answers, one a statement.
        proven: The reason to give when every statement is proven.
    """
    answers = tuple(verdicts)
    refuted = tuple(v for v in answers if isinstance(v, Refuted))
    if refuted:
        return Refuted("; ".join(v.reason for v in refuted), tuple(p for v in refuted for p in v.places))
    undecided = tuple(v for v in answers if isinstance(v, Undecided))
    if undecided:
        return Undecided("; ".join(v.reason for v in undecided), tuple(p for v in undecided for p in v.places))
    if not answers:
        return Undecided("nothing was checked")
    return Proven(proven, tuple(p for v in answers for p in v.places))
