"""Put in what names stand for in an expression, and what each round of a loop gives them."""

import ast
import copy
from collections.abc import Mapping
from typing import TypeAlias

from dayzero.audit.python_source import nodes_of

Names: TypeAlias = Mapping[str, ast.expr]


def substituted(node: ast.expr, names: Names) -> ast.expr:
    """Put in what the names of an expression stand for; it is copied only where it holds one of them."""
    if not any(isinstance(one, ast.Name) and one.id in names for one in nodes_of(node)):
        return node
    closed: ast.expr = _Substitute(names).visit(copy.deepcopy(node))
    return closed


def unpacked(target: ast.expr, element: ast.expr) -> dict[str, ast.expr]:
    """Give what the names of a target stand for where an element is assigned to it."""
    match target, element:
        case ast.Name(id=name), _:
            return {name: element}
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            return {one.id: value for one, value in zip(targets, values, strict=True) if isinstance(one, ast.Name)}
        case _:
            return {}


class _Substitute(ast.NodeTransformer):
    def __init__(self, names: Names) -> None:
        self._names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Put in what a name stands for."""
        return copy.deepcopy(self._names[node.id]) if node.id in self._names else node
