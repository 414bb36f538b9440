"""What the evaluator of an engine's own Python computes with: Python's plain values, and these for all that is not plain.

``Unknown`` is the third answer: whatever depends on it is unknown too, unless all that it may be leads to the same.
"""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import product
from typing import TypeAlias

from dayzero.audit.python_source import Module

_MOST_ALTERNATIVES = 12
Definition: TypeAlias = ast.FunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that the files do not tell.

    Attributes:
        why: What would have to be known.
        among: All values that it may have; empty where it may have any.
    """

    why: str
    among: tuple[object, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class Klass:
    """A class of the files."""

    module: Module = field(repr=False)
    node: ast.ClassDef = field(repr=False)

    @property
    def name(self) -> str:
        """Its dotted name."""
        return f"{self.module.name}.{self.node.name}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Klass) and other.node is self.node

    def __hash__(self) -> int:
        return id(self.node)


@dataclass(frozen=True, slots=True)
class External:
    """Something of a module that is not among the files, known by its dotted name (``torch.bfloat16``)."""

    name: str


@dataclass(frozen=True, slots=True)
class ModuleRef:
    """A module of the files."""

    name: str


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A function, with the class that defines it and the names that it closes over."""

    module: Module = field(repr=False)
    node: Definition = field(repr=False)
    owner: Klass | None = None
    outer: Mapping[str, object] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """``module:Class.function``."""
        inner = self.node.name if isinstance(self.node, ast.FunctionDef) else "<lambda>"
        return f"{self.module.name}:{self.owner.node.name}.{inner}" if self.owner else f"{self.module.name}:{inner}"


@dataclass(frozen=True, slots=True, eq=False)
class Bound:
    """A function with its first argument."""

    function: Function
    receiver: object


@dataclass(frozen=True, slots=True, eq=False)
class Super:
    """What ``super()`` stands for: the classes after ``owner`` in the receiver's order."""

    owner: Klass
    receiver: object


@dataclass(frozen=True, slots=True)
class Member:
    """A member of an enumeration, and the plain value that it is equal to besides (``StrEnum``), if any."""

    klass: Klass
    name: str
    value: object = field(compare=False)
    plain: bool = field(default=False, compare=False)


@dataclass(slots=True, eq=False)
class Instance:
    """An object: its class and the fields that are known. ``whole``: a field that is not there is an error, not unknown."""

    klass: Klass | None
    fields: dict[str, object]
    ordered: bool = False
    whole: bool = True


class RaisedError(Exception):
    """The evaluated code raises.

    Args:
        error: What it raises.
        is_stated: A ``raise`` statement does so, and not an operation that fails.
    """

    def __init__(self, error: BaseException, *, is_stated: bool = False) -> None:
        super().__init__(str(error))
        self.error = error
        self.is_stated = is_stated


def plain(value: object) -> object:
    """Give what a value is compared as: a named tuple as its tuple, a member of ``StrEnum`` as its text."""
    match value:
        case Instance(fields=fields, ordered=True):
            return tuple(plain(one) for one in fields.values())
        case Member(value=inner, plain=True):
            return inner
        case tuple():
            return tuple(plain(one) for one in value)
        case _:
            return value


def same(one: object, other: object) -> bool:
    """Say whether two known values are equal."""
    left, right = plain(one), plain(other)
    if isinstance(left, (list, tuple)) and type(left) is type(right) and isinstance(right, (list, tuple)):
        return len(left) == len(right) and all(same(a, b) for a, b in zip(left, right, strict=True))
    return left is right or bool(left == right)


def join(one: object, other: object, why: str = "one of several") -> object:
    """Give what is known when a value is the one or the other; ``why`` that is not known."""
    if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
        return tuple(join(a, b, why) for a, b in zip(one, other, strict=True))
    if not isinstance(one, Unknown) and not isinstance(other, Unknown) and same(one, other):
        return one
    among: list[object] = []
    for value in (one, other):
        if isinstance(value, Unknown) and not value.among:
            return value
        for alternative in value.among if isinstance(value, Unknown) else (value,):
            if not any(same(alternative, known) for known in among):
                among.append(alternative)
    why = next((value.why for value in (one, other) if isinstance(value, Unknown)), why)
    return Unknown(why, tuple(among) if len(among) <= _MOST_ALTERNATIVES else ())


def lift(compute: Callable[..., object], *values: object) -> object:
    """Compute with values of which some may be unknown: for each that they may be, where that is told."""
    unknown = next((value for value in values if isinstance(value, Unknown) and not value.among), None)
    if unknown is not None:
        return unknown
    choices = [value.among if isinstance(value, Unknown) else (value,) for value in values]
    why = next((value.why for value in values if isinstance(value, Unknown)), "")
    results = [compute(*choice) for choice in product(*choices)]
    answer = results[0]
    for result in results[1:]:
        answer = join(answer, result)
    return Unknown(why, answer.among) if isinstance(answer, Unknown) and why else answer


def truth(value: object) -> bool | None:
    """Say whether a value counts as true; ``None`` where that is unknown."""
    match value:
        case Unknown(among=()) | External():
            return None
        case Unknown(among=among):
            answers = {truth(one) for one in among}
            return answers.pop() if len(answers) == 1 else None
        case Klass() | Function() | Bound() | ModuleRef() | Super():
            return True
        case Instance(ordered=False):
            return True
        case Member(value=inner, plain=True):
            return bool(inner)
        case _:
            return bool(plain(value))
