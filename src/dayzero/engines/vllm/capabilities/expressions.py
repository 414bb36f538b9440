"""Evaluate expressions of an engine's own code with what is known; what is not known makes the answer unknown, never a guess."""

import ast
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dayzero.audit.python_source import Module, last_name
from dayzero.engines.vllm.capabilities.values import (
    Bound,
    External,
    Function,
    Instance,
    Klass,
    Member,
    ModuleRef,
    RaisedError,
    Unknown,
    join,
    lift,
    plain,
    same,
    truth,
)

_CHANGEABLE = (list, dict)


@dataclass(slots=True, eq=False)
class Frame:
    """The names that a running function sees.

    Attributes:
        module: Where its code stands.
        names: Its local names.
        owner: The class that defines it.
        receiver: Its first argument, for ``super()``.
        copies: Of a copy: what can be changed in place, and the copy of it.
    """

    module: Module
    names: dict[str, object] = field(default_factory=dict)
    owner: Klass | None = None
    receiver: object = None
    copies: list[tuple[object, object]] = field(default_factory=list)

    def fork(self) -> "Frame":
        """Copy it, with what its code may change in place."""
        copied = {name: value.copy() if isinstance(value, _CHANGEABLE) else value for name, value in self.names.items()}
        for name, value in self.names.items():
            if isinstance(value, Function) and value.outer is self.names:
                copied[name] = Function(value.module, value.node, value.owner, copied)
        pairs: list[tuple[object, object]] = [
            (value, copied[name]) for name, value in self.names.items() if isinstance(value, _CHANGEABLE)
        ]
        return Frame(self.module, copied, self.owner, self.receiver, pairs)

    @staticmethod
    def merge(one: "Frame", other: "Frame", why: str) -> None:
        """Carry what two copies changed in place back to what they were copied from; where they differ it is unknown."""
        for (original, left), (_, right) in zip(one.copies, other.copies, strict=True):
            if isinstance(original, list) and isinstance(left, list):
                original[:] = left if same(left, right) else [Unknown(why)]
            elif isinstance(original, dict) and isinstance(left, dict) and isinstance(right, dict):
                absent = Unknown(why)
                merged = {key: join(left.get(key, absent), right.get(key, absent), why) for key in left | right}
                original.clear()
                original.update(merged)


class Expressions(ABC):
    """Evaluates expressions; what a name, an attribute and a call are is the subclass's."""

    @abstractmethod
    def name(self, name: str, frame: Frame) -> object:
        """Give what a name stands for in a frame."""

    @abstractmethod
    def attribute(self, owner: object, name: str) -> object:
        """Give an attribute of a known value."""

    @abstractmethod
    def call(self, callee: object, args: tuple[object, ...], kwargs: Mapping[str, object]) -> object:
        """Call a known value."""

    @abstractmethod
    def true(self, value: object) -> bool | None:
        """Say whether a value counts as true; ``None`` where that is unknown."""

    def evaluate(self, node: ast.expr | None, frame: Frame) -> object:  # noqa: PLR0911  (one return a kind)
        """Evaluate an expression in a frame.

        Raises:
            RaisedError: The code raises.
        """
        match node:
            case None:
                return None
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return self.name(name, frame)
            case ast.Attribute(value=inner, attr=name):
                return lift(lambda owner: self.attribute(owner, name), self.evaluate(inner, frame))
            case ast.Call():
                return self._call(node, frame)
            case ast.BoolOp() | ast.UnaryOp() | ast.BinOp() | ast.Compare() | ast.IfExp():
                return self._operation(node, frame)
            case ast.Lambda():
                return Function(frame.module, node, frame.owner, dict(frame.names))
            case ast.NamedExpr(target=ast.Name(id=name), value=inner):
                frame.names[name] = self.evaluate(inner, frame)
                return frame.names[name]
            case _:
                return self._display(node, frame)

    def _display(self, node: ast.expr, frame: Frame) -> object:  # noqa: PLR0911  (one return a kind)
        match node:
            case ast.Tuple(elts=elements):
                return self._elements(elements, frame, tuple)
            case ast.List(elts=elements):
                return self._elements(elements, frame, list)
            case ast.Set(elts=elements):
                return self._elements(elements, frame, list)
            case ast.Dict():
                return self._dict(node, frame)
            case ast.JoinedStr(values=parts):
                return self._text(parts, frame)
            case ast.Subscript(value=inner, slice=index):
                return self._item(self.evaluate(inner, frame), index, frame)
            case ast.ListComp(elt=element) | ast.GeneratorExp(elt=element) | ast.SetComp(elt=element):
                rows = self._rows(node.generators, frame)
                return [self.evaluate(element, row) for row in rows] if rows is not None else Unknown("a loop")
            case ast.DictComp(key=key, value=value, generators=generators):
                rows = self._rows(generators, frame)
                return {self.evaluate(key, r): self.evaluate(value, r) for r in rows} if rows else Unknown("a loop")
            case _:
                return Unknown(f"{frame.module.file}:{node.lineno} is not evaluated")

    def _operation(self, node: ast.expr, frame: Frame) -> object:  # noqa: PLR0911  (one return a kind)
        match node:
            case ast.BoolOp(op=op, values=values):
                return self._bool(values, frame, stop=isinstance(op, ast.Or))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                value = self.true(inner := self.evaluate(operand, frame))
                return Unknown(_why(inner), (True, False)) if value is None else not value
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return lift(lambda value: -value, self.evaluate(operand, frame))
            case ast.BinOp(op=op, left=left, right=right) if type(op) in _BINARY:
                compute = _BINARY[type(op)]
                return _guarded(compute, self.evaluate(left, frame), self.evaluate(right, frame))
            case ast.Compare():
                return self._compare(node, frame)
            case ast.IfExp(test=test, body=then, orelse=otherwise):
                known = self.true(self.evaluate(test, frame))
                if known is None:
                    return join(self.evaluate(then, frame), self.evaluate(otherwise, frame))
                return self.evaluate(then if known else otherwise, frame)
            case _:
                return Unknown(f"{frame.module.file}:{node.lineno} is not evaluated")

    def _bool(self, values: list[ast.expr], frame: Frame, *, stop: bool) -> object:
        """Evaluate ``and`` / ``or``: a known answer behind an unknown one decides all the same."""
        doubt: object = None
        value: object = None
        for one in values:
            value = self.evaluate(one, frame)
            known = self.true(value)
            if known is stop:
                return value
            if known is None and doubt is None:
                doubt = value
        return value if doubt is None else Unknown(_why(doubt), (True, False))

    def _compare(self, node: ast.Compare, frame: Frame) -> object:
        left = self.evaluate(node.left, frame)
        answer: object = True
        for op, right_node in zip(node.ops, node.comparators, strict=True):
            right = self.evaluate(right_node, frame)
            answer = _guarded(_COMPARE[type(op)], left, right)
            if truth(answer) is not True:
                break
            left = right
        if isinstance(answer, Unknown) and not answer.among:
            return Unknown(answer.why, (True, False))
        return answer

    def _elements(self, nodes: list[ast.expr], frame: Frame, make: Callable[[list[object]], object]) -> object:
        found: list[object] = []
        for node in nodes:
            if not isinstance(node, ast.Starred):
                found.append(self.evaluate(node, frame))
                continue
            inner = self.evaluate(node.value, frame)
            if not isinstance(inner, (list, tuple)):
                return Unknown(_why(inner))
            found += inner
        return make(found)

    def _dict(self, node: ast.Dict, frame: Frame) -> object:
        found: dict[object, object] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            inner = self.evaluate(value, frame)
            if key is not None:
                found[self.evaluate(key, frame)] = inner
            elif isinstance(inner, dict):
                found |= inner
            else:
                return Unknown(_why(inner))
        return found

    def _text(self, parts: list[ast.expr], frame: Frame) -> object:
        texts = []
        for part in parts:
            value = self.evaluate(part.value if isinstance(part, ast.FormattedValue) else part, frame)
            texts.append(shown(value))
        return "".join(texts)

    def _item(self, owner: object, index: ast.expr, frame: Frame) -> object:
        if isinstance(index, ast.Slice):
            bounds = [self.evaluate(one, frame) for one in (index.lower, index.upper, index.step)]
            return _guarded(lambda value: plain(value)[slice(*bounds)], owner)  # type: ignore[index]
        key = self.evaluate(index, frame)
        if isinstance(owner, Klass):
            return self.attribute(owner, key) if isinstance(key, str) else owner
        return _guarded(lambda value, at: plain(value)[at], owner, key)  # type: ignore[index]

    def _rows(self, generators: list[ast.comprehension], frame: Frame) -> list[Frame] | None:
        rows = [frame.fork()]
        for generator in generators:
            wider = []
            for row in rows:
                values = self.iterated(self.evaluate(generator.iter, row))
                if values is None:
                    return None
                for value in values:
                    inner = row.fork()
                    self.bind(generator.target, value, inner)
                    kept = [truth(self.evaluate(test, inner)) for test in generator.ifs]
                    if None in kept:
                        return None
                    if all(kept):
                        wider.append(inner)
            rows = wider
        return rows

    def iterated(self, value: object) -> list[object] | None:
        """List what a loop over a value goes through; ``None`` where that is unknown."""
        match value:
            case list() | tuple() | dict() | set() | frozenset() | str() | range():
                return list(value)
            case Instance(ordered=True, fields=fields):
                return list(fields.values())
            case _:
                return None

    def bind(self, target: ast.expr, value: object, frame: Frame) -> None:
        """Assign a value to what stands left of ``=``."""
        match target:
            case ast.Name(id=name):
                frame.names[name] = value
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                parts = self.iterated(value) or []
                known = len(parts) == len(elements)
                for index, element in enumerate(elements):
                    self.bind(element, parts[index] if known else Unknown(_why(value)), frame)
            case ast.Attribute(value=inner, attr=name):
                owner = self.evaluate(inner, frame)
                if isinstance(owner, Instance):
                    owner.fields[name] = value
            case ast.Subscript(value=inner, slice=index):
                owner = self.evaluate(inner, frame)
                if isinstance(owner, dict):
                    owner[self.evaluate(index, frame)] = value
            case _:
                return

    def _call(self, node: ast.Call, frame: Frame) -> object:
        callee = self.evaluate(node.func, frame)
        args = self._elements(node.args, frame, tuple)
        kwargs: dict[str, object] = {}
        for keyword in node.keywords:
            value = self.evaluate(keyword.value, frame)
            if keyword.arg is not None:
                kwargs[keyword.arg] = value
            elif isinstance(value, dict):
                kwargs |= value
            else:
                return Unknown(_why(value))
        if not isinstance(args, tuple):
            return args
        return lift(lambda known: self.call(known, args, kwargs), callee)


def shown(value: object) -> str:  # noqa: PLR0911  (one return a kind)
    """Write a value as the engine's messages would."""
    match value:
        case Unknown(why=why, among=among):
            return " or ".join(map(shown, among)) or f"<{why}>"
        case Member(klass=klass, name=name, plain=False):
            return f"{klass.node.name}.{name}"
        case Klass(node=node):
            return node.name
        case External(name=name) | ModuleRef(name=name):
            return name
        case Function() | Bound() | Instance(ordered=False):
            return f"<{type(value).__name__.lower()}>"
        case list() | tuple():
            return "[" + ", ".join(map(shown, value)) + "]"
        case _:
            return str(plain(value))


def _equal(one: object, other: object) -> object:
    """Compare; what an outside module's attribute is worth is not known, only that it is itself."""
    outside = [isinstance(value, External) for value in (one, other)]
    if any(outside) and not all(outside):
        return Unknown(f"the value of {shown(one if outside[0] else other)}", (True, False))
    if isinstance(one, Instance) and isinstance(other, Instance) and one is not other and not one.ordered:
        return _alike(one, other)
    return same(one, other)


def _alike(one: Instance, other: Instance) -> object:
    """Compare two objects: of a dataclass by its fields; else each may be the other, made once more, and is not known to be."""
    klass = one.klass
    doubt = Unknown("whether two objects are equal", (True, False))
    marks = map(last_name, klass.node.decorator_list) if klass is not None and klass == other.klass else ()
    if klass is None or "dataclass" not in marks:
        return doubt
    fields = [node.target for node in klass.node.body if isinstance(node, ast.AnnAssign)]
    names = [one.id for one in fields if isinstance(one, ast.Name)]
    pairs = [(one.fields.get(name, doubt), other.fields.get(name, doubt)) for name in names]
    if any(isinstance(value, Unknown) for pair in pairs for value in pair):
        return doubt
    answers = [_equal(left, right) for left, right in pairs]
    return False if False in answers else doubt if any(isinstance(one, Unknown) for one in answers) else True


def _not(value: object) -> object:
    return value if isinstance(value, Unknown) else not value


def _contains(container: object, value: object) -> object:
    inner = plain(container)
    if isinstance(inner, str):
        return isinstance(plain(value), str) and str(plain(value)) in inner
    doubt: object = False
    for one in inner:  # type: ignore[attr-defined]
        answer = one if isinstance(one, Unknown) else _equal(one, value)
        if answer is True:
            return True
        if isinstance(answer, Unknown):
            doubt = Unknown(answer.why, (True, False))
    return doubt


def _guarded(compute: Callable[..., object], *values: object) -> object:
    try:
        return lift(compute, *values)
    except (KeyError, IndexError) as error:
        raise RaisedError(error) from error
    except (TypeError, ValueError, AttributeError, ArithmeticError):
        return Unknown("an operation on " + ", ".join(shown(one) for one in values if not isinstance(one, Unknown)))


def _why(value: object) -> str:
    return value.why if isinstance(value, Unknown) else shown(value)


def _any(value: object) -> Any:  # noqa: ANN401  (whether it can be ordered is found out by ordering it)
    return plain(value)


_COMPARE: Mapping[type[ast.cmpop], Callable[[object, object], object]] = {
    ast.Eq: _equal,
    ast.NotEq: lambda a, b: _not(_equal(a, b)),
    ast.Is: _equal,
    ast.IsNot: lambda a, b: _not(_equal(a, b)),
    ast.In: lambda a, b: _contains(b, a),
    ast.NotIn: lambda a, b: _not(_contains(b, a)),
    ast.Lt: lambda a, b: operator.lt(_any(a), _any(b)),
    ast.LtE: lambda a, b: operator.le(_any(a), _any(b)),
    ast.Gt: lambda a, b: operator.gt(_any(a), _any(b)),
    ast.GtE: lambda a, b: operator.ge(_any(a), _any(b)),
}
_BINARY: Mapping[type[ast.operator], Callable[[object, object], object]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.BitOr: operator.or_,
    ast.BitAnd: operator.and_,
}
