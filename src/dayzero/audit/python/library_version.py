"""Which library's version is an expression?"""

import ast
from collections.abc import Mapping

from dayzero.audit.installed import Distribution, Installed


def library_of(installed: Installed, known: Mapping[str, Distribution], value: ast.expr) -> Distribution | None:
    """Name the distribution whose version an expression is, ``None`` for any other expression.

    Args:
        installed: What is installed.
        known: Local names that are versions.
        value: ``x.__version__``, ``version("x")``, or either inside other calls (``parse(version("x"))``).
    """
    match value:
        case ast.Name(id=name):
            return known.get(name)
        case ast.Attribute(value=ast.Name(id=name), attr="__version__"):
            return installed.python.packages.get(name)
        case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called), args=[ast.Constant(value=str(name)), *_]):
            return installed.find(name) if "version" in called.lower() else None
        case ast.Call(args=[inner]):
            return library_of(installed, known, inner)
        case _:
            return None
