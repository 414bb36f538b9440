"""What an expression of Python can be shown to be, without running it."""

from dataclasses import dataclass
from typing import TypeAlias

from dayzero.audit.python_source import Definition
from dayzero.core.verdict import Place


@dataclass(frozen=True, slots=True)
class ModuleValue:
    """A module that is there."""

    name: str


@dataclass(frozen=True, slots=True)
class FunctionValue:
    """A function; ``bound`` where its first parameter is filled in by where it was taken from."""

    definition: Definition
    bound: bool = False


@dataclass(frozen=True, slots=True)
class ClassValue:
    """A class."""

    definition: Definition


@dataclass(frozen=True, slots=True)
class Instance:
    """An object of a class; where not ``exact``, perhaps of one derived from it."""

    definition: Definition
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Partial:
    """A callable with arguments filled in: how many by position, which by name."""

    of: "Value"
    positional: int
    keywords: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Text:
    """A string that is written out."""

    text: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """``None``."""


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several, and the text does not show which."""

    among: tuple["Value", ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Absent:
    """Something that is asked for and that the one who is asked does not have.

    Attributes:
        kind: ``module``, ``name``, ``member`` or ``attribute``.
        owner: Who is asked.
        name: What for.
        place: Where it would have to be.
        lazy: Whether it is looked up only when it is used.
    """

    kind: str
    owner: str
    name: str
    place: Place
    lazy: bool = False


@dataclass(frozen=True, slots=True)
class Opaque:
    """Not shown by the text. ``outside`` names what is not in these files."""

    outside: str = ""


Value: TypeAlias = (
    ModuleValue | FunctionValue | ClassValue | Instance | Partial | Text | Nothing | Choice | Absent | Opaque
)


def choice(values: tuple[Value, ...]) -> Value:
    """Join what a name may be: the same twice is one, and what is absent on one way only may be there."""
    flat: list[Value] = []
    for value in values:
        for one in value.among if isinstance(value, Choice) else (value,):
            if one not in flat:
                flat.append(one)
    present = [one for one in flat if not isinstance(one, Absent | Nothing)] or flat
    return present[0] if len(present) == 1 else Choice(tuple(present)) if present else Opaque()


def home_of(value: Value) -> str:
    """Name the module that a value stands in; ``""`` where it is in none that is known."""
    match value:
        case ModuleValue(name=name):
            return name
        case ClassValue(definition=of) | Instance(definition=of) | FunctionValue(definition=of):
            return of.module.name
        case _:
            return ""


def callables(value: Value) -> tuple[Value, ...]:
    """Give all that may be called where a value is, what a partial call is of included."""
    match value:
        case Choice(among=among):
            return tuple(inner for one in among for inner in callables(one))
        case Partial(of=of):
            return callables(of)
        case _:
            return (value,)


def only_promised(value: Value) -> bool:
    """Say whether a value is, or may be, an object that is known by an annotation alone: it may be of a derived class."""
    among = value.among if isinstance(value, Choice) else (value,)
    return any(isinstance(one, Instance) and not one.exact for one in among)
