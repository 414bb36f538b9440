"""Find what the statements of a module, a class or a function bind, and under what."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dayzero.audit.python.bound import bound_by, bound_outright, declared, handed_on_by, unbound_by, walruses

Function: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef
Definer: TypeAlias = Function | ast.ClassDef
DEFINERS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_FIELDS = ("body", "orelse", "finalbody")
# What holds statements that are not a function's or a class's own.
_BLOCKS = (ast.If, ast.For, ast.While, ast.With, ast.Try, ast.TryStar, ast.AsyncFor, ast.AsyncWith, ast.Match)
# What may bind none of its own names: a loop without a round, an error that is not raised, a pattern that does not match.
_PERHAPS = (ast.For, ast.AsyncFor, ast.Try, ast.TryStar, ast.Match)


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """One statement that binds a name, or says by an annotation alone that somebody does.

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

    @property
    def declares(self) -> bool:
        """Whether it is an annotation without a value, which binds nothing."""
        return declared(self.statement) is not None

    @property
    def value(self) -> ast.expr | None:
        """The expression whose value the name gets; ``None`` where the text does not show one."""
        outright = [value for name, value in bound_outright(self.statement) if name == self.name]
        values = outright or [value for name, value in walruses(self.statement) if name == self.name]
        return values[0] if len(values) == 1 else None


def bindings(body: Sequence[ast.stmt], *, walrus: bool = True) -> Iterator[Binding]:
    """Give each binding in the order of the text; what functions and classes inside bind is theirs.

    Args:
        body: The statements.
        walrus: Whether ``:=`` is looked for, in all expressions.
    """
    for statement, always, tried in statements_in(body):
        yield from _bindings_of(statement, always=always, tried=tried, walrus=walrus)


def by_name(
    body: Sequence[ast.stmt], definer: Definer | None = None, *, walrus: bool = True
) -> Mapping[str, tuple[Binding, ...]]:
    """Group what is bound by name; definitions for type checkers alone and what a definer hands on are left out.

    Args:
        body: The statements.
        definer: The function or class whose body it is; ``None`` for a module, in which ``global`` hands nothing on.
        walrus: Whether ``:=`` is looked for, in all expressions.
    """
    found: dict[str, list[Binding]] = {}
    elsewhere: set[str] = set()
    for statement, always, tried in statements_in(body):
        elsewhere.update(handed_on_by(statement) if definer is not None else ())
        if not (isinstance(statement, FUNCTIONS) and _overload(statement)):
            for one in _bindings_of(statement, always=always, tried=tried, walrus=walrus):
                found.setdefault(one.name, []).append(one)
    return {name: tuple(group) for name, group in found.items() if name not in elsewhere}


def deleted(body: Sequence[ast.stmt]) -> frozenset[str]:
    """Name what ``del`` takes away again, under a condition or not."""
    return frozenset(name for one, _, _ in statements_in(body) for name in unbound_by(one))


def bound_once_run(statement: ast.stmt, *, walrus: bool = True) -> Iterator[tuple[str, ast.expr | None]]:
    """Give each name that a statement and the blocks in it bind, with its value where the statement is sure to give it that.

    Args:
        statement: It.
        walrus: Whether ``:=`` is looked for, in all expressions.
    """
    if isinstance(statement, _BLOCKS):
        yield from ((one.name, None) for one in bindings([statement], walrus=walrus) if not one.declares)
    else:
        yield from bound_by(statement) if walrus else bound_outright(statement)


def statements_in(
    body: Sequence[ast.stmt], *, always: bool = True, tried: bool = False
) -> Iterator[tuple[ast.stmt, bool, bool]]:
    """Give (statement, whether no condition stands before it, whether an import error in it is caught) of a body and its blocks.

    Functions and classes in it are not gone into.
    """
    for statement in body:
        yield statement, always, tried
        if not isinstance(statement, _BLOCKS):
            continue
        catches = _catches(statement)
        whole = isinstance(statement, ast.With | ast.AsyncWith) and not catches
        for field in _FIELDS:
            certain = always and (field == "finalbody" or whole)
            inner: Sequence[ast.stmt] = getattr(statement, field, ())
            yield from statements_in(inner, always=certain, tried=tried or (catches and field == "body"))
        for part in (*getattr(statement, "handlers", ()), *getattr(statement, "cases", ())):
            yield from statements_in(part.body, always=False, tried=tried)


def _bindings_of(statement: ast.stmt, *, always: bool, tried: bool, walrus: bool) -> Iterator[Binding]:
    sure = always and not isinstance(statement, _PERHAPS)
    for name, _ in bound_by(statement) if walrus else bound_outright(statement):
        yield Binding(name=name, statement=statement, always=sure, tried=tried)
    if isinstance(statement, ast.AnnAssign) and isinstance(only := declared(statement), ast.Name):
        yield Binding(name=only.id, statement=statement, always=always, tried=tried)


def _catches(statement: ast.stmt) -> bool:
    """Say whether an error in the body of a statement may end there."""
    match statement:
        case ast.Try(handlers=handlers) | ast.TryStar(handlers=handlers):
            return bool(handlers)
        case ast.With(items=items) | ast.AsyncWith(items=items):
            called = (one.context_expr.func for one in items if isinstance(one.context_expr, ast.Call))
            return any(isinstance(one, ast.Name | ast.Attribute) and _last(one) == "suppress" for one in called)
        case _:
            return False


def _overload(node: Function) -> bool:
    return any(isinstance(one, ast.Name | ast.Attribute) and _last(one) == "overload" for one in node.decorator_list)


def _last(node: ast.Name | ast.Attribute) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr
