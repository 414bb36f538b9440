"""Which combinations of flags SGLang refuses: the conditions under which its argument checks raise."""

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dayzero.audit.installed import PythonFiles
from dayzero.audit.python_source import Module, last_name
from dayzero.core.verdict import Place
from dayzero.engines.sglang.server_args import GROUPS, SERVER_ARGS

_HOLDERS = {"self", "server_args", "cfg", "args"}
_COMPARE: tuple[tuple[tuple[type[ast.cmpop], ...], Callable[[Any, Any], bool]], ...] = (
    ((ast.Eq, ast.Is), operator.eq),
    ((ast.NotEq, ast.IsNot), operator.ne),
    ((ast.In,), lambda one, many: one in many),
    ((ast.NotIn,), lambda one, many: one not in many),
    ((ast.Gt,), operator.gt),
    ((ast.GtE,), operator.ge),
    ((ast.Lt,), operator.lt),
    ((ast.LtE,), operator.le),
)
# Where the checks start: sglang 0.5.18, srt/server_args.py:3585; 0.5.23, srt/server_args.py:244 and srt/entrypoints/engine.py:1165.
_STARTS = ("__post_init__", "resolve_once", "_run_resolution_pipeline", "run_resolution_pipeline", "check_server_args")


@dataclass(frozen=True, slots=True)
class Refusal:
    """One place that raises for what is given.

    Attributes:
        fields: What it looks at.
        words: What it says.
        place: Where.
    """

    fields: tuple[str, ...]
    words: str
    place: Place


def refusals(python: PythonFiles, given: Mapping[str, object]) -> Iterator[Refusal]:
    """Give each refusal that follows from the given fields alone; what depends on any other is not looked at.

    Args:
        python: The modules.
        given: Fields that the command line sets, with their values.
    """
    walk = _Walk(_functions(python), given)
    for name in _STARTS:
        yield from walk.function(name)


def _functions(python: PythonFiles) -> Mapping[str, list[tuple[Module, ast.FunctionDef]]]:
    found: dict[str, list[tuple[Module, ast.FunctionDef]]] = {}
    for name in (one for one in python.modules if one == SERVER_ARGS or one.startswith(f"{GROUPS}.")):
        module = python.parsed(name)
        for node in ast.walk(module.tree) if isinstance(module, Module) else ():
            if isinstance(node, ast.FunctionDef):
                found.setdefault(node.name, []).append((module, node))  # type: ignore[arg-type]  # a Module: see above
    return found


@dataclass(slots=True)
class _Walk:
    """Follows the checks from where they start, through the functions that they call by name.

    Args:
        functions: The functions of the argument checks, by name.
        given: Fields that the command line sets, with their values.
    """

    functions: Mapping[str, list[tuple[Module, ast.FunctionDef]]]
    given: Mapping[str, object]
    _seen: set[int] = field(default_factory=set)

    def function(self, name: str, fields: tuple[str, ...] = ()) -> Iterator[Refusal]:
        """Give what a function refuses; what it sets itself is not what was given."""
        for module, node in self.functions.get(name, ()):
            if id(node) in self._seen:
                continue
            self._seen.add(id(node))
            stores = (
                one for one in ast.walk(node) if isinstance(one, ast.Attribute) and isinstance(one.ctx, ast.Store)
            )
            set_here = {one.attr for one in stores}
            usable = {one: value for one, value in self.given.items() if one not in set_here}
            yield from self._body(module, node.body, usable, fields, started=name in _STARTS)

    def _body(
        self,
        module: Module,
        body: list[ast.stmt],
        given: Mapping[str, object],
        fields: tuple[str, ...],
        *,
        started: bool,
    ) -> Iterator[Refusal]:
        for node in body:
            match node:
                case ast.If(test=test, body=then, orelse=orelse):
                    answer = _truth(test, given)
                    if answer is None and not started and any(map(_returns, (then, orelse))):
                        return  # whether the rest runs is not known
                    way = [] if answer is None else then if answer else orelse
                    yield from self._body(module, way, given, (*fields, *_asked(test)), started=started)
                    if _leaves(way):
                        return
                case ast.Try(body=inner) | ast.With(body=inner):
                    yield from self._body(module, inner, given, fields, started=started)
                case ast.Assert(test=test, msg=message) if _truth(test, given) is False:
                    yield Refusal((*fields, *_asked(test)), _said(message), module.place(node.lineno))
                case ast.Raise(exc=ast.Call(args=[message, *_])) if fields:
                    yield Refusal(fields, _said(message), module.place(node.lineno))
                case ast.Expr(value=ast.Call() as call):
                    yield from self.function(_called(call), fields)
                case _:
                    pass
            if _leaves([node]):
                return


def _called(call: ast.Call) -> str:
    """Name the function that is called, also through ``run_hook(function, server_args)``."""
    name = last_name(call.func)
    return last_name(call.args[0]) if name == "run_hook" and call.args else name


def _truth(node: ast.expr, given: Mapping[str, object]) -> bool | None:
    match node:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            answer = _truth(inner, given)
            return None if answer is None else not answer
        case ast.BoolOp(op=op, values=values):
            stop = isinstance(op, ast.Or)
            answers = [_truth(one, given) for one in values]
            return stop if stop in answers else None if None in answers else not stop
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            return _compared(op, left, right, given)
        case _:
            known, value = _value(node, given)
            return bool(value) if known else None


def _compared(op: ast.cmpop, left: ast.expr, right: ast.expr, given: Mapping[str, object]) -> bool | None:
    (known, one), (also, other) = _value(left, given), _value(right, given)
    if not (known and also):
        return None
    for kinds, holds in _COMPARE:
        if isinstance(op, kinds):
            try:
                return holds(one, other)
            except TypeError:
                return None
    return None


def _value(node: ast.expr, given: Mapping[str, object]) -> tuple[bool, object]:
    match node:
        case ast.Constant(value=value):
            return True, value
        case ast.List(elts=listed) | ast.Tuple(elts=listed) | ast.Set(elts=listed):
            parts = [_value(one, given) for one in listed]
            return all(known for known, _ in parts), [value for _, value in parts]
        case ast.Attribute(value=ast.Name(id=holder), attr=field) if holder in _HOLDERS and field in given:
            return True, given[field]
        case _:
            return False, None


def _asked(node: ast.expr) -> Iterator[str]:
    for one in ast.walk(node):
        if isinstance(one, ast.Attribute) and last_name(one.value) in _HOLDERS:
            yield one.attr


def _said(node: ast.expr | None) -> str:
    texts = (
        [one.value for one in ast.walk(node) if isinstance(one, ast.Constant) and isinstance(one.value, str)]
        if node
        else []
    )
    return " ".join("".join(texts).split()) or "it raises"


def _returns(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Return)


def _leaves(body: list[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Return | ast.Raise)
