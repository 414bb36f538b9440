"""Who leads to a line? Find every place that calls a function or makes an object of a class, with what stands around it."""

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dayzero.audit.python.bindings import FUNCTIONS
from dayzero.audit.python.context import Context, caught_by, leaves, suppressed
from dayzero.audit.python.scope import Scope, module_scope
from dayzero.audit.python.world import World
from dayzero.audit.python_source import Module, last_name, nodes_of

_MOST_HOLDERS = 8
_LAST_PART = re.compile(r"[.:]")


@dataclass(slots=True)
class Calls:
    """Every call of a module by the name that is called, with what stands around it, and how often each name is read.

    A module is walked once for either.
    """

    _found: dict[str, Mapping[str, list[tuple[ast.Call, Context]]]] = field(default_factory=dict)
    _read: dict[str, Counter[str]] = field(default_factory=dict)

    def of(self, module: Module, name: str) -> Sequence[tuple[ast.Call, Context]]:
        """Give each call of a name."""
        if module.name not in self._found:
            found: dict[str, list[tuple[ast.Call, Context]]] = {}
            scope = module_scope(module)
            for call, context in _calls_in(module.tree.body, Context(scope)):
                found.setdefault(last_name(call.func), []).append((call, context))
            self._found[module.name] = found
        return self._found[module.name].get(name, ())

    def mentions(self, module: Module, name: str) -> int:
        """Count where a name is read, and where a string spells it as the last part of a path."""
        if module.name not in self._read:
            self._read[module.name] = Counter(_mentioned(module.tree))
        return self._read[module.name][name]


@dataclass(slots=True)
class Approaches:
    """Finds the ways to a line. A name that many files hold, or that is handed on uncalled, has none that are known.

    Args:
        world: The modules.
        packages: Top-level packages of the one who asks.
        calls: Calls by module.
    """

    world: World
    packages: frozenset[str]
    calls: Calls
    _known: dict[str, tuple[Context, ...]] = field(default_factory=dict)

    def of(self, scope: Scope) -> Iterator[tuple[Context, ...]]:
        """Give groups of places; whatever gets to the scope comes through one place of each group."""
        function = outermost(scope)
        names = [function.name] if function is not None else []
        if scope.owner is not None and scope.owner.node is not None:
            names.append(scope.owner.node.name)
        yield from filter(None, map(self._places, names))

    def _places(self, name: str) -> tuple[Context, ...]:
        if name not in self._known:
            self._known[name] = () if name.startswith("__") else self._searched(name)
        return self._known[name]

    def _searched(self, name: str) -> tuple[Context, ...]:
        python = self.world.python
        holders = [one for package in sorted(self.packages) for one in python.holding(name.encode(), below=package)]
        if len(holders) > _MOST_HOLDERS:
            return ()
        found: list[Context] = []
        for holder in holders:
            parsed = python.parsed(holder)
            if not isinstance(parsed, Module):
                return ()
            called = [context for _, context in self.calls.of(parsed, name)]
            if self.calls.mentions(parsed, name) != len(called):
                return ()
            found += called
        return tuple(found)


def outermost(scope: Scope) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    """Give the function that is called to get to a scope: the outermost one below the module or class."""
    found: ast.FunctionDef | ast.AsyncFunctionDef | None = None
    at: Scope | None = scope
    while at is not None and at.node is not None:
        if isinstance(at.node, FUNCTIONS):
            found = at.node
        at = at.around
    return found


def parts_in(body: list[ast.stmt], context: Context) -> Iterator[tuple[ast.AST, Context]]:
    """Give each statement that holds no other, and each test and expression of one that does, with what stands around it."""
    for statement in body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield from parts_in(statement.body, Context(context.scope.inner(statement)))
            case ast.If(test=test, body=then, orelse=orelse):
                yield test, context
                yield from parts_in(then, context.given(test, holds=True))
                yield from parts_in(orelse, context.given(test, holds=False))
                if leaves(then):
                    context = context.given(test, holds=False)
            case ast.Try():
                yield from parts_in(statement.body, context.catching(*caught_by(statement)))
                after = [*(one for handler in statement.handlers for one in handler.body), *statement.orelse]
                yield from parts_in([*after, *statement.finalbody], context)
            case ast.With(body=inner) | ast.AsyncWith(body=inner):
                yield from ((item.context_expr, context) for item in statement.items)
                yield from parts_in(inner, context.catching(suppressed(statement), frozenset()))
            case ast.For(body=inner) | ast.AsyncFor(body=inner) | ast.While(body=inner):
                yield statement.test if isinstance(statement, ast.While) else statement.iter, context
                yield from parts_in([*inner, *statement.orelse], context)
            case _:
                yield statement, context


def _calls_in(body: list[ast.stmt], context: Context) -> Iterator[tuple[ast.Call, Context]]:
    for part, around in parts_in(body, context):
        yield from ((one, around) for one in nodes_of(part) if isinstance(one, ast.Call))


def _mentioned(tree: ast.Module) -> Iterator[str]:
    for node in nodes_of(tree):
        match node:
            case ast.Name(id=word, ctx=ast.Load()) | ast.Attribute(attr=word, ctx=ast.Load()):
                yield word
            case ast.Constant(value=str() as text) if "." in text or ":" in text:
                yield _LAST_PART.split(text)[-1]
            case _:
                continue
