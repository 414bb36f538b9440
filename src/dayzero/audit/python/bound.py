"""What does one statement bind, and to what? Whatever reads Python as text asks here.

Source: The Python Language Reference (3.11), 4.2.1 "Binding of names", and 7.2.2 on annotations without a value.
"""

import ast
from collections.abc import Iterable, Iterator, Sequence

# Most statements; they bind by ``:=`` alone.
_NEITHER = (ast.Expr, ast.If, ast.Return, ast.Raise, ast.Assert, ast.While, ast.Pass)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def bound_by(statement: ast.stmt) -> Iterator[tuple[str, ast.expr | None]]:
    """Give each name that a statement itself binds, with the expression whose value it gets.

    The expression is ``None`` where the text shows none: of an import, a definition, a loop, ``with``, ``+=``, an exception, a
    pattern, and of what is unpacked from a call. A star import binds ``*``. The blocks inside a statement are not gone into.
    An annotation without a value binds nothing (:func:`declared`), and neither do ``del`` and ``global``.
    """
    yield from bound_outright(statement)
    yield from walruses(statement)


def bound_outright(statement: ast.stmt) -> Iterator[tuple[str, ast.expr | None]]:
    """Give what a statement binds but by a ``:=`` in its expressions: at a tenth of the cost, for a text that holds none."""
    if isinstance(statement, _NEITHER):
        return
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):  # as below, and by far the most frequent
            yield name, value
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name, None
        case ast.Import(names=names):
            yield from ((one.asname or one.name.split(".")[0], None) for one in names)
        case ast.ImportFrom(names=names):
            yield from ((one.asname or one.name, None) for one in names)
        case ast.Try(handlers=handlers) | ast.TryStar(handlers=handlers):
            yield from ((one.name, None) for one in handlers if one.name is not None)
        case ast.Match(cases=cases):
            yield from ((name, None) for one in cases for name in _captured(one.pattern))
        case _:
            yield from names_in(assigned(statement))


def assigned(statement: ast.AST) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """Give each name, attribute and item that a statement assigns to, with the expression whose value it gets, if that is shown."""
    match statement:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                yield from unpacked(target, value)
        case ast.AnnAssign(target=target, value=ast.expr() as value):
            yield target, value
        case ast.AugAssign(target=target):
            yield target, None
        case ast.For(target=target) | ast.AsyncFor(target=target):
            yield from unpacked(target, None)
        case ast.With(items=items) | ast.AsyncWith(items=items):
            for item in items:
                yield from unpacked(item.optional_vars, None) if item.optional_vars is not None else ()
        case _:
            return


def names_in(targets: Iterable[tuple[ast.expr, ast.expr | None]]) -> Iterator[tuple[str, ast.expr | None]]:
    """Give those of some targets that are names, each with its value."""
    yield from ((target.id, value) for target, value in targets if isinstance(target, ast.Name))


def unpacked(target: ast.expr, value: ast.expr | None) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    """Give each single target in a target, with the part of a value that it gets; ``None`` where the text shows none."""
    match target:
        case ast.Tuple(elts=targets) | ast.List(elts=targets):
            for one, part in zip(targets, _parts(value, targets), strict=True):
                yield from unpacked(one, part)
        case ast.Starred(value=inner):
            yield from unpacked(inner, None)
        case _:
            yield target, value


def _parts(value: ast.expr | None, targets: Sequence[ast.expr]) -> Sequence[ast.expr | None]:
    match value:
        case ast.Tuple(elts=parts) | ast.List(elts=parts) if len(parts) == len(targets):
            starred = any(isinstance(one, ast.Starred) for one in (*parts, *targets))
            return parts if not starred else [None] * len(targets)
        case _:
            return [None] * len(targets)


def declared(statement: ast.AST) -> ast.expr | None:
    """Give the name or attribute that an annotation without a value speaks of; ``None`` for any other statement."""
    match statement:
        case ast.AnnAssign(target=target, value=None):
            return target
        case _:
            return None


def unbound_by(statement: ast.stmt) -> Iterator[str]:
    """Name what ``del`` unbinds."""
    if isinstance(statement, ast.Delete):
        yield from (name for target in statement.targets for name, _ in names_in(unpacked(target, None)))


def handed_on_by(statement: ast.stmt) -> Sequence[str]:
    """Name what a function binds elsewhere because of ``global`` or ``nonlocal``."""
    return statement.names if isinstance(statement, ast.Global | ast.Nonlocal) else ()


def walruses(node: ast.AST, *, shown: bool = True) -> Iterator[tuple[str, ast.expr | None]]:
    """Give what ``:=`` binds in the expressions of a statement itself; in a comprehension the value rests on its rounds."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt):
            continue
        if isinstance(child, ast.NamedExpr):
            yield child.target.id, child.value if shown else None
        inner = child.args if isinstance(child, ast.Lambda) else child  # its body binds names of its own
        yield from walruses(inner, shown=shown and not isinstance(child, _COMPREHENSIONS))


def _captured(pattern: ast.pattern) -> Iterator[str]:
    for node in ast.walk(pattern):
        match node:
            case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                yield name
            case _:
                continue
