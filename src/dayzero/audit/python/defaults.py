"""Does a condition hold while nothing is set? Evaluate it with the defaults of the engine's settings."""

import ast
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dayzero.audit.python.context import Condition
from dayzero.audit.python.scope import Scope
from dayzero.audit.python.world import World
from dayzero.audit.python_source import nodes_of

# Where engines declare what can be set from outside; classes deeper down hold what they work out themselves.
_SETTINGS = re.compile(r"\w+\.(?:\w+\.)?(?:config|\w*args|arg_\w+)(?:\.|$)")
_MOST_DEEP = 6
# What the engine resolves by itself is no default that a condition can be held against.
_RESOLVED_LATER = (None, "auto", "")
_COMPARE: Mapping[type[ast.cmpop], Callable[[Any, Any], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda one, many: one in many,
    ast.NotIn: lambda one, many: one not in many,
}


@dataclass(frozen=True, slots=True)
class _Known:
    value: object
    settings: tuple[str, ...] = ()


@dataclass(slots=True)
class Defaults:
    """Knows the defaults of settings: the fields of configuration classes, by their names.

    Args:
        world: The modules.
        packages: Top-level packages of the engine.
    """

    world: World
    packages: frozenset[str]
    _found: dict[str, _Known | None] = field(default_factory=dict)
    _settings: list[bytes] = field(default_factory=list)

    def closing(self, conditions: Iterable[Condition]) -> tuple[str, ...]:
        """Name the settings that, while they are at their defaults, keep a line from being reached; none where nothing does."""
        for one in conditions:
            known = self._test(one.test, one.scope, _MOST_DEEP)
            if known is not None and known.settings and bool(known.value) != one.holds:
                return known.settings
        return ()

    def _test(self, node: ast.expr, scope: Scope, depth: int) -> _Known | None:
        match node:
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                known = self._test(inner, scope, depth)
                return known and _Known(not known.value, known.settings)
            case ast.BoolOp(op=op, values=values):
                return _joined(op, [self._test(one, scope, depth) for one in values])
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in _COMPARE:
                return _compared(op, self._value(left, scope, depth), self._value(right, scope, depth))
            case _:
                return self._value(node, scope, depth)

    def _value(self, node: ast.expr, scope: Scope, depth: int) -> _Known | None:
        if not depth:
            return None
        match node:
            case ast.Constant(value=value):
                return _Known(value)
            case ast.Tuple() | ast.List() | ast.Set():
                parts = [self._value(one, scope, depth - 1) for one in node.elts]
                values = [one.value for one in parts if one is not None]
                return _Known(values) if len(values) == len(parts) else None
            case ast.Attribute(attr=name):
                return self._default(name)
            case ast.Name(id=name):
                return self._named(name, scope, depth)
            case _:
                return None

    def _named(self, name: str, scope: Scope, depth: int) -> _Known | None:
        single = scope.names.single(name)
        if single is not None and single.value is not None and single.always:
            return self._test(single.value, scope, depth - 1)
        if name in scope.names.found or scope.function is None or name not in _optional(scope.function.args):
            return None
        given = [self._value(one, scope, depth - 1) for one in _given_by_name(scope.module.tree, name)]
        settings = [one.settings for one in given if one is not None and one.settings]
        same = bool(given) and all(one is not None and one.value == given[0].value for one in given if given[0])
        return _Known(given[0].value, (*settings[0], name)) if same and settings and given[0] else None

    def _default(self, name: str) -> _Known | None:
        if name not in self._found:
            values = list(self._declared(name))
            sure = bool(values) and all(type(one) is type(values[0]) and one == values[0] for one in values)
            usable = sure and not any(values[0] is one or values[0] == one for one in _RESOLVED_LATER)
            self._found[name] = _Known(values[0], (name,)) if usable else None
        return self._found[name]

    def _declared(self, name: str) -> Iterator[object]:
        """Give the default of each field of that name; ``None`` for one that is not written out.

        A field that takes over the default of the one of the same name elsewhere is left out.
        """
        word = re.escape(name.encode())
        # A field's type may be spread over lines: name: A[\n  int, ...\n ] = 1
        pattern = re.compile(
            rb"^[ \t]+" + word + rb"[ \t]*:[ \t]*(?:[^=\n]*|[^=\n]*\[\n.*?\n[ \t]+\])[ \t]=[ \t]*([^\n#]+)",
            re.MULTILINE | re.DOTALL,
        )
        for text in self._texts():
            if name.encode() in text:
                written = (one.strip() for one in pattern.findall(text))
                yield from (_literal(one) for one in written if not one.endswith(b"." + name.encode()))

    def _texts(self) -> Sequence[bytes]:
        """Give the files that declare settings."""
        if not self._settings:
            python = self.world.python
            names = (name for one in sorted(self.packages) for name in python.holding(b"", below=one))
            self._settings += [python.read(name) for name in names if _SETTINGS.match(name)]
        return self._settings


def _literal(text: bytes) -> object:
    try:
        return ast.literal_eval(text.decode("utf-8", "replace"))
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None


def _joined(op: ast.boolop, parts: list[_Known | None]) -> _Known | None:
    stop = isinstance(op, ast.Or)
    for one in parts:
        if one is not None and bool(one.value) == stop and one.settings:
            return one
    known = [one for one in parts if one is not None]
    if len(known) != len(parts):
        return None
    return _Known(not stop, tuple(name for one in known for name in one.settings))


def _compared(op: ast.cmpop, left: _Known | None, right: _Known | None) -> _Known | None:
    if left is None or right is None:
        return None
    try:
        return _Known(_COMPARE[type(op)](left.value, right.value), (*left.settings, *right.settings))
    except TypeError:
        return None


def _optional(arguments: ast.arguments) -> frozenset[str]:
    """Name the parameters that have a default."""
    positional = [*arguments.posonlyargs, *arguments.args]
    with_default = positional[len(positional) - len(arguments.defaults) :] if arguments.defaults else []
    pairs = zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    return frozenset({*(one.arg for one in with_default), *(one.arg for one, value in pairs if value is not None)})


def _given_by_name(tree: ast.Module, name: str) -> list[ast.expr]:
    """Give what the file's own calls pass for a parameter; what only hands the parameter on says nothing new."""
    return [
        one.value
        for one in nodes_of(tree)
        if isinstance(one, ast.keyword)
        and one.arg == name
        and not (isinstance(one.value, ast.Name) and one.value.id == name)
    ]
