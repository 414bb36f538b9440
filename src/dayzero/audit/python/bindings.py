"""Find what the statements of a module, a class or a function bind, and under what."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Definer: TypeAlias = Function | ast.ClassDef
DEFINERS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_FIELDS = ("body", "orelse", "finalbody")
# What holds statements that are not a function's or a class's own.
_BLOCKS = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.TryStar, ast.AsyncFor, ast.AsyncWith, ast.Match)


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """One statement that binds a name.

    Attributes:
        name: What is bound; ``*`` for a star import.
        statement: Who binds it.
        always: Whether no condition stands before it.
        tried: Whether an import error at it is caught.
    """

    name: str
    statement: ast.stmt
    always: bool
    tried: bool


def bindings(body: Sequence[ast.stmt], *, always: bool = True, tried: bool = False) -> Iterator[Binding]:
    """Give each binding in the order of the text; what functions and classes inside bind is theirs."""
    for statement in body:
        for name in _bound(statement):
            yield Binding(name=name, statement=statement, always=always, tried=tried)
        if not isinstance(statement, _BLOCKS):
            continue
        caught = tried or (isinstance(statement, ast.Try) and bool(statement.handlers))
        for field in _FIELDS:
            certain = always and (field == "finalbody" or isinstance(statement, ast.With))
            inner: Sequence[ast.stmt] = getattr(statement, field, ())
            yield from bindings(inner, always=certain, tried=caught if field == "body" else tried)
        for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            yield from bindings(part.body, always=False, tried=tried)


def by_name(body: Sequence[ast.stmt]) -> Mapping[str, tuple[Binding, ...]]:
    """Group what is bound by name; definitions for type checkers alone and what ``global`` hands on are left out."""
    found: dict[str, list[Binding]] = {}
    elsewhere = {name for one in body if isinstance(one, ast.Global | ast.Nonlocal) for name in one.names}
    for one in bindings(body):
        if one.name in elsewhere:
            continue
        if not (isinstance(one.statement, FUNCTIONS) and _overload(one.statement)):
            found.setdefault(one.name, []).append(one)
    return {name: tuple(group) for name, group in found.items()}


def _overload(node: Function) -> bool:
    return any(isinstance(one, ast.Name | ast.Attribute) and _last(one) == "overload" for one in node.decorator_list)


def _last(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr


def _bound(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name
        case ast.Import(names=names):
            yield from ((alias.asname or alias.name.split(".")[0]) for alias in names)
        case ast.ImportFrom(names=names):
            yield from ((alias.asname or alias.name) for alias in names)
        case ast.For(target=target) | ast.AsyncFor(target=target):
            yield from _stored(target)
        case ast.With(items=items) | ast.AsyncWith(items=items):
            yield from (name for item in items if item.optional_vars for name in _stored(item.optional_vars))
        case ast.Assign(targets=targets):
            yield from (name for target in targets for name in _stored(target))
        case ast.AnnAssign(target=target) | ast.AugAssign(target=target):
            yield from _stored(target)
        case ast.Expr(value=value) | ast.If(test=value) | ast.While(test=value):
            yield from _walrus(value)
        case _:
            return


def _stored(node: ast.expr) -> Iterator[str]:
    match node:
        case ast.Name(id=name):
            yield name
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            for part in parts:
                yield from _stored(part)
        case ast.Starred(value=inner):
            yield from _stored(inner)
        case _:
            return


def _walrus(node: ast.expr) -> Iterator[str]:
    """Give what ``:=`` binds where it stands in a test or is what is compared; deeper ones bind nothing that is asked for."""
    match node:
        case ast.NamedExpr(target=target):
            yield target.id
        case ast.Compare(left=inner) | ast.UnaryOp(operand=inner):
            yield from _walrus(inner)
        case ast.BoolOp(values=values):
            for one in values:
                yield from _walrus(one)
        case _:
            return
