"""What a name means in a module, before anything is evaluated: the statements that bind it, and under which conditions."""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from dayzero.audit.python_source import Module

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
    stars = []
    for binding in _bindings(module.tree.body, ()):
        if isinstance(binding.node, ast.ImportFrom) and binding.node.names[0].name == "*":
            stars.append(imported_from(module, binding.node))
        for name in bound_by(binding.node):
            found.setdefault(name, []).append(binding)
    return Names({name: tuple(bindings) for name, bindings in found.items()}, tuple(stars))


def imported_from(module: Module, node: ast.ImportFrom) -> str:
    """Give the absolute name of the module that a ``from`` import names."""
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    package = parts if module.file.endswith("/__init__.py") else parts[:-1]
    kept = package[: len(package) - node.level + 1]
    return ".".join([*kept, *([node.module] if node.module else [])])


def bound_by(node: ast.stmt) -> Iterator[str]:
    """Name what a statement binds."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names):
            yield from ((one.asname or one.name.split(".")[0]) for one in names)
        case ast.ImportFrom(names=names):
            yield from (one.asname or one.name for one in names)
        case ast.Assign(targets=targets):
            yield from (
                inner.id
                for one in targets
                for inner in ast.walk(one)
                if isinstance(inner, ast.Name) and _is_stored(inner)
            )
        case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
            yield name
        case ast.AugAssign(target=ast.Name(id=name)):
            yield name
        case _:
            return


def _is_stored(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Store)


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
