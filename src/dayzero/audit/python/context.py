"""What stands around a line: conditions that must hold, and exceptions that are caught."""

import ast
from dataclasses import dataclass, replace

from dayzero.audit.python.scope import Scope
from dayzero.audit.python_source import last_name, nodes_of

_LEAVES = (ast.Return, ast.Raise, ast.Continue, ast.Break)
_EVERYTHING = frozenset({"Exception", "BaseException"})
_CATCHERS = {
    "ImportError": _EVERYTHING | {"ImportError", "ModuleNotFoundError"},
    "AttributeError": _EVERYTHING | {"AttributeError"},
    "TypeError": _EVERYTHING | {"TypeError"},
}


@dataclass(frozen=True, slots=True, eq=False)
class Condition:
    """A test on the way to a line, and which answer leads there."""

    test: ast.expr
    holds: bool
    scope: Scope


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """What stands around a line.

    Attributes:
        scope: The function or module that it is in.
        conditions: What must hold to get there, from the outside in.
        caught: Exceptions that somebody around it catches and does not raise again.
        foreseen: Exceptions that somebody around it catches to raise another with words of its own.
    """

    scope: Scope
    conditions: tuple[Condition, ...] = ()
    caught: frozenset[str] = frozenset()
    foreseen: frozenset[str] = frozenset()

    def given(self, test: ast.expr, *, holds: bool) -> "Context":
        """Go on under one more condition."""
        conditions = (*self.conditions, Condition(test, holds, self.scope))
        return Context(self.scope, conditions, self.caught, self.foreseen)

    def catching(self, names: frozenset[str], foreseen: frozenset[str]) -> "Context":
        """Go on where more exceptions are caught."""
        return replace(self, caught=self.caught | names, foreseen=self.foreseen | foreseen)

    def catches(self, raised: str) -> bool:
        """Say whether an exception that is raised here ends here."""
        return bool(self.caught & _CATCHERS[raised])

    def foresees(self, raised: str) -> bool:
        """Say whether somebody turns an exception that is raised here into a message of his own."""
        return bool(self.foreseen & _CATCHERS[raised])


def caught_by(node: ast.Try) -> tuple[frozenset[str], frozenset[str]]:
    """Name what the handlers of a ``try`` catch for good, and what they raise again or as something else."""
    caught: set[str] = set()
    again: set[str] = set()
    for handler in node.handlers:
        raises = any(isinstance(one, ast.Raise) for one in handler.body)
        (again if raises else caught).update(_names(handler.type))
    return frozenset(caught), frozenset(again)


def suppressed(node: ast.With | ast.AsyncWith) -> frozenset[str]:
    """Name what ``contextlib.suppress`` in a ``with`` swallows."""
    found: set[str] = set()
    for item in node.items:
        if isinstance(item.context_expr, ast.Call) and last_name(item.context_expr.func) == "suppress":
            found |= {last_name(one) for one in item.context_expr.args}
    return frozenset(found)


def leaves(body: list[ast.stmt]) -> bool:
    """Say whether a block never runs on into what follows it."""
    return bool(body) and isinstance(body[-1], _LEAVES)


def exclude(one: Context, other: Context) -> bool:
    """Say whether two lines stand in opposite branches of one test."""
    answers = {id(condition.test): condition.holds for condition in one.conditions}
    return any(answers.get(id(condition.test), condition.holds) != condition.holds for condition in other.conditions)


def _names(node: ast.expr | None) -> set[str]:
    match node:
        case None:
            return {"BaseException"}
        case ast.Tuple(elts=parts):
            return {last_name(one) for one in parts}
        case _:
            return {last_name(node)}


def is_constant(method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Say whether a method answers the same on every build: then its answer speaks of the class, and not of this build."""
    returned = [node.value for node in nodes_of(method) if isinstance(node, ast.Return)]
    return all(isinstance(one, ast.Constant) for one in returned)
