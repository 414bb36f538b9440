"""Where a name is looked up: the functions around it from the inside out, then its module."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from dayzero.audit.python.bindings import Binding, Definer, Function, by_name
from dayzero.audit.python.rests import Kept
from dayzero.audit.python.values import Value
from dayzero.audit.python_source import Definition, Module, statements_of


class Names:
    """What one body binds; worked out when it is first asked for, with what was answered about it since.

    Args:
        body: The statements.
    """

    def __init__(self, body: list[ast.stmt]) -> None:
        self._body = body
        self.answers: Kept[str, Value | None] = {}
        self.inside: dict[int, Scope] = {}

    @cached_property
    def found(self) -> dict[str, tuple[Binding, ...]]:
        """Each name and the statements that bind it."""
        return dict(by_name(self._body))


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """A module, or a function or class in it, with what is around it.

    Attributes:
        module: The file.
        node: The function or class; ``None`` for the module itself.
        around: What is around it.
        names: What its own body binds.
    """

    module: Module
    node: Definer | None
    around: "Scope | None"
    names: Names = field(repr=False)

    def inner(self, node: Definer) -> "Scope":
        """Step into a function or class that stands in this scope."""
        inside = self.names.inside
        if id(node) not in inside:
            inside[id(node)] = Scope(self.module, node, self, Names(node.body))
        return inside[id(node)]

    def forget(self) -> None:
        """Let go of the functions in it, those of its classes too; they are stepped into anew where they are asked for."""
        inside = self.names.inside
        for key, inner in tuple(inside.items()):
            if inner.function is None:
                inner.forget()
            else:
                del inside[key]

    @property
    def function(self) -> Function | None:
        """The function that this is."""
        return self.node if isinstance(self.node, ast.FunctionDef | ast.AsyncFunctionDef) else None

    @property
    def owner(self) -> "Scope | None":
        """The nearest class around or at it."""
        scope: Scope | None = self
        while scope and not isinstance(scope.node, ast.ClassDef):
            scope = scope.around
        return scope

    @property
    def qualname(self) -> str:
        """Its dotted name inside the module; ``""`` for the module."""
        if self.node is None or self.around is None:
            return ""
        outer = self.around.qualname
        return f"{outer}.{self.node.name}" if outer else self.node.name

    def definition(self) -> Definition | None:
        """Give it as a definition; ``None`` for the module."""
        return Definition(module=self.module, qualname=self.qualname, node=self.node) if self.node else None


def assigned_to_self(scope: Scope) -> Mapping[str, tuple[tuple[ast.expr | None, Scope], ...]]:
    """Give what the methods of a class assign to ``self``: each expression, ``None`` where it is unpacked, and its scope."""
    found: dict[str, list[tuple[ast.expr | None, Scope]]] = {}
    body = scope.node.body if scope.node else []
    for method in (child for child in body if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)):
        inner = scope.inner(method)
        for node in statements_of(method):
            match node:
                case ast.Assign(targets=targets, value=given):
                    value: ast.expr | None = given
                case ast.AnnAssign(target=single, value=value):
                    targets = [single]
                case ast.AugAssign(target=single):
                    targets, value = [single], None
                case _:
                    continue
            for target in targets:
                for part, plain in _parts(target):
                    match part:
                        case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                            found.setdefault(name, []).append((value if plain else None, inner))
                        case _:
                            continue
    return {name: tuple(group) for name, group in found.items()}


def _parts(target: ast.expr) -> Iterator[tuple[ast.expr, bool]]:
    if isinstance(target, ast.Tuple | ast.List):
        yield from ((one, False) for one in target.elts)
    else:
        yield target, True
