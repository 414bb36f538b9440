"""What a name means in a module, before anything is evaluated: the statements that bind it, and under which conditions."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from dayzero.audit.python.bindings import bound_once_run
from dayzero.audit.python_source import Module, import_source

Guard: TypeAlias = tuple[ast.expr, bool]


@dataclass(frozen=True, slots=True)
class Binding:
    """One statement that binds a name.

    Attributes:
        node: The statement.
        guards: Conditions, each with the answer under which the statement runs.
        tried: The ``try`` whose body or handler it stands in, if any.
        fallback: It stands in the handler: it counts where the body fails.
    """

    node: ast.stmt
    guards: tuple[Guard, ...]
    tried: ast.Try | None = None
    fallback: bool = False


@dataclass(frozen=True, slots=True)
class Names:
    """What a module binds, and the modules that it imports all names of (``from x import *``)."""

    bindings: Mapping[str, tuple[Binding, ...]]
    stars: tuple[str, ...]


def names_of(module: Module) -> Names:
    """Collect what a module's own statements bind, also under conditions."""
    found: dict[str, list[Binding]] = {}
    stars, walrus = [], b":=" in module.text.content
    for binding in _bindings(module.tree.body, ()):
        if isinstance(binding.node, ast.ImportFrom) and binding.node.names[0].name == "*":
            stars.append(import_source(binding.node, module))
        for name, _ in bound_once_run(binding.node, walrus=walrus):
            found.setdefault(name, []).append(binding)
    return Names({name: tuple(bindings) for name, bindings in found.items()}, tuple(stars))


def _bindings(
    body: list[ast.stmt], guards: tuple[Guard, ...], tried: ast.Try | None = None, *, fallback: bool = False
) -> Iterator[Binding]:
    for node in body:
        match node:
            case ast.If(test=test, body=then, orelse=otherwise):
                yield from _bindings(then, (*guards, (test, True)), tried, fallback=fallback)
                yield from _bindings(otherwise, (*guards, (test, False)), tried, fallback=fallback)
            case ast.Try():
                yield from _bindings([*node.body, *node.orelse, *node.finalbody], guards, node)
                for handler in node.handlers:
                    yield from _bindings(handler.body, guards, node, fallback=True)
            case ast.With(body=inner):
                yield from _bindings(inner, guards, tried, fallback=fallback)
            case _:
                yield Binding(node, guards, tried, fallback)
