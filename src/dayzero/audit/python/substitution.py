"""Put in what names stand for in an expression, and what binding them anew makes of that."""

import ast
import copy
from collections.abc import Iterable, Mapping
from typing import TypeAlias

from dayzero.audit.python_source import nodes_of

Names: TypeAlias = Mapping[str, ast.expr]


def substituted(node: ast.expr, names: Names) -> ast.expr:
    """Put in what the names of an expression stand for; it is copied only where it holds one of them."""
    if not any(isinstance(one, ast.Name) and one.id in names for one in nodes_of(node)):
        return node
    closed: ast.expr = _Substitute(names).visit(copy.deepcopy(node))
    return closed


def rebound(names: Names, bound: Iterable[tuple[str, ast.expr | None]]) -> dict[str, ast.expr]:
    """Give what names stand for after some are bound anew; one whose value is not shown stands for nothing that is known."""
    known = dict(names)
    for name, value in bound:
        known.pop(name, None)
        if value is not None:
            known[name] = substituted(value, names)
    return known


class _Substitute(ast.NodeTransformer):
    def __init__(self, names: Names) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Put in what a name stands for."""
        return copy.deepcopy(self._names[node.id]) if node.id in self._names else node
