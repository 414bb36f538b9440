"""A launch that a file describes, and what a file leaves open."""

from dataclasses import dataclass, field
from typing import TypeAlias

from dayzero.core.hardware import System


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a command.

    Attributes:
        text: The word, its variables put in where the file sets them.
        line: Its line, 1-based.
        open: Whether it holds a variable that the file does not set.
    """

    text: str
    line: int
    open: bool = False


@dataclass(frozen=True, slots=True)
class Release:
    """The engine is a released version."""

    engine: str
    version: str

    def __str__(self) -> str:
        return f"{self.engine}=={self.version}"


@dataclass(frozen=True, slots=True)
class Unstated:
    """The file does not say which version of the engine it is; ``why`` says what it says instead."""

    engine: str
    why: str


@dataclass(frozen=True, slots=True)
class UnknownCode:
    """The code is none that anybody released under a version: a custom image."""

    why: str


Code: TypeAlias = Release | Unstated | UnknownCode


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One start that a file describes.

    Attributes:
        line: Where it stands in the file, 1-based.
        name: What the file calls it, ``""`` where it has one alone.
        code: Which code it runs.
        model: The model as it is named there, ``""`` where it is not.
        flags: Words of the engine's command line, after the model, each with its line.
        env: Environment variables.
        system: The GPUs; ``None`` where the file does not say.
        gaps: What the file leaves open of it, one sentence each.
    """

    line: int
    code: Code
    name: str = ""
    model: str = ""
    flags: tuple[Word, ...] = ()
    env: tuple[tuple[str, str], ...] = ()
    system: System | None = None
    gaps: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True)
class NoRecipe:
    """A file that describes no launch, and why it was not read as one."""

    why: str
