"""Calls of an engine's own code: its functions and classes, and what Python's own functions give on known values."""

import ast
import builtins
from collections.abc import Callable, Mapping
from functools import partial

from dayzero.audit.python_source import last_name
from dayzero.core.errors import DayzeroError
from dayzero.engines.vllm.capabilities.expressions import Frame, shown
from dayzero.engines.vllm.capabilities.objects import ABSENT, Objects, class_of
from dayzero.engines.vllm.capabilities.program import Constant
from dayzero.engines.vllm.capabilities.values import (
    Bound,
    External,
    Function,
    Instance,
    Klass,
    Member,
    ModuleRef,
    RaisedError,
    Super,
    Unknown,
    lift,
    plain,
    truth,
)

# Python's own functions that may run on known values: they touch nothing outside.
_BUILTINS = (
    "len",
    "min",
    "max",
    "any",
    "all",
    "bool",
    "int",
    "float",
    "str",
    "range",
    "enumerate",
    "sorted",
    "sum",
    "abs",
    "zip",
)
_BUILTINS_WITH_LISTS = ("list", "tuple", "dict", "reversed")


class Calls(Objects):
    """Calls functions, classes and what Python brings."""

    def true(self, value: object) -> bool | None:
        """Say whether a value counts as true, by its class's own ``__bool__`` if it has one; ``None`` where that is unknown."""
        match value:
            case Instance(klass=Klass(node=ast.ClassDef(body=body))) if any(
                isinstance(one, ast.FunctionDef) and one.name == "__bool__" for one in body
            ):
                return truth(self.call(self.attribute(value, "__bool__"), (), {}))
            case Unknown(among=[_, *_] as among):
                answers = {self.true(one) for one in among}
                return answers.pop() if len(answers) == 1 else None
            case _:
                return truth(value)

    def builtin(self, name: str, frame: Frame) -> object:
        """Give what a name of Python's own stands for."""
        if name == "super":
            return partial(self._super, frame)
        if name == "__name__":
            return frame.module.name
        if name == "__file__":
            return frame.module.file
        own = {"isinstance": self._isinstance, "hasattr": self._hasattr, "getattr": self._getattr, "set": list,
               "frozenset": list, "cast": lambda _kind, value: value, "type": _type, "callable": _callable,
               "issubclass": self._issubclass}  # fmt: skip
        if name in own:
            return own[name]
        found = getattr(builtins, name, None)
        if name in {*_BUILTINS, *_BUILTINS_WITH_LISTS} or (
            isinstance(found, type) and issubclass(found, BaseException)
        ):
            return found
        return External(f"builtins.{name}")

    def _super(self, frame: Frame) -> object:
        return Super(frame.owner, frame.receiver) if frame.owner else Unknown("super() outside a class")

    def call(self, callee: object, args: tuple[object, ...], kwargs: Mapping[str, object]) -> object:  # noqa: PLR0911  (one return a kind)
        """Call a known value."""
        match callee:
            case Function():
                return self._function(callee, args, kwargs, None)
            case Bound(function=function, receiver=receiver):
                return self._function(function, (receiver, *args), kwargs, receiver)
            case Klass():
                return self._construct(callee, args, kwargs)
            case External(name=name):
                fact = self.program.facts.get(name)
                return fact(args, kwargs) if callable(fact) else _outside(name, args)
            case Instance() | Member() | ModuleRef() | Super():
                return Unknown(f"{shown(callee)} is called")
            case _ if callee in self.program.facts.values():
                return callee(args, kwargs)  # type: ignore[operator]
            case _ if callable(callee):
                return self._native(callee, args, kwargs)
            case _:
                raise RaisedError(TypeError(f"{shown(callee)} is not callable"))

    def _function(
        self, function: Function, args: tuple[object, ...], kwargs: Mapping[str, object], first: object
    ) -> object:
        fact = self.program.facts.get(function.name)
        if fact is not None and not isinstance(fact, Constant):
            return fact(args, kwargs)
        return self.run(function, args, kwargs, first)

    def _native(self, callee: Callable[..., object], args: tuple[object, ...], kwargs: Mapping[str, object]) -> object:
        takes_unknown = getattr(callee, "__self__", None) is not None or callee in {list, tuple, dict, len, enumerate}
        own = getattr(callee, "__self__", None)
        compute = partial(_run_native, callee, kwargs)
        if (
            isinstance(own, Objects | list | dict)
            or isinstance(callee, partial)
            or (takes_unknown and callee is not len)
        ):
            return compute(*args)
        return lift(compute, *(plain(one) for one in args))

    def _construct(self, klass: Klass, args: tuple[object, ...], kwargs: Mapping[str, object]) -> object:
        if self.program.enumeration(klass):
            return self._member_of(klass, args)
        fields = self.program.fields(klass)
        made = Instance(klass, {}, ordered=fields is not None and self.program.is_named_tuple(klass))
        if fields is not None:
            names = [one.target.id for one in fields if isinstance(one.target, ast.Name)]
            given = dict(zip(names, args, strict=False)) | dict(kwargs)
            scope = Frame(klass.module, {}, klass)
            for name, field in zip(names, fields, strict=True):
                default = self._default(field.value, scope) if field.value else Unknown(f"{name} of {klass.name}")
                made.fields[name] = given.get(name, default)
            return made
        start = self.of_class(klass, "__init__", made)
        if isinstance(start, Bound):
            self.call(start, args, kwargs)
        return made

    def _default(self, node: ast.expr, scope: Frame) -> object:
        if not (isinstance(node, ast.Call) and last_name(node) in {"field", "Field"}):
            return self.evaluate(node, scope)
        given = {one.arg: one.value for one in node.keywords}
        if "default" in given or node.args:
            return self.evaluate(given.get("default", node.args[0] if node.args else None), scope)
        return {"dict": {}, "list": []}.get(last_name(given.get("default_factory", node)), Unknown("a field's default"))

    def _member_of(self, klass: Klass, args: tuple[object, ...]) -> object:
        for node in klass.node.body:
            match node:
                case ast.Assign(targets=[ast.Name(id=name)]):
                    member = self.own(klass, name, klass)
                    if args and isinstance(member, Member) and member.value == plain(args[0]):
                        return member
                case _:
                    continue
        if args and isinstance(args[0], Unknown):
            return args[0]
        raise RaisedError(ValueError(f"{shown(args[0]) if args else ''} is not a valid {klass.node.name}"))

    def _hasattr(self, owner: object, name: str) -> object:
        if isinstance(owner, External | Unknown):
            return Unknown(f"whether {shown(owner)} has {name}", (True, False))
        if isinstance(owner, Klass) and (owner.name, name) in self.granted:
            return True
        try:
            found = self.found(owner, name)
        except RaisedError:
            found = ABSENT
        if found is ABSENT and isinstance(owner, Klass):
            self.probes[owner.name, name] = owner.module.place(owner.node.lineno)
        if isinstance(found, Unknown) and not isinstance(owner, Klass | ModuleRef | Instance):
            return Unknown(found.why, (True, False))
        return found is not ABSENT

    def _getattr(self, owner: object, name: str, *default: object) -> object:
        try:
            return lift(lambda known: self.attribute(known, name), owner)
        except RaisedError as error:
            if default and isinstance(error.error, AttributeError):
                return default[0]
            raise

    def _isinstance(self, value: object, kinds: object) -> object:
        if isinstance(value, Unknown | External):
            return Unknown(f"the type of {shown(value)}", (True, False))
        return any(self._is_a(value, kind) for kind in (kinds if isinstance(kinds, tuple) else (kinds,)))

    def _is_a(self, value: object, kind: object) -> bool:
        if isinstance(kind, Klass):
            klass = class_of(value)
            return klass is not None and kind in self.program.order(klass)
        if kind is _type:
            return isinstance(value, Klass)
        if kind is tuple and isinstance(value, Instance):
            return value.ordered
        return isinstance(kind, type) and isinstance(value, kind)

    def _issubclass(self, klass: object, kind: object) -> object:
        return kind in self.program.order(klass) if isinstance(klass, Klass) else Unknown("issubclass", (True, False))


def _outside(name: str, args: tuple[object, ...]) -> Unknown:
    for one in args:
        if isinstance(one, list):
            one[:] = [Unknown(f"what {name}() does to a list")]
    return Unknown(f"{name}() is outside the files")


def _type(value: object) -> object:
    return class_of(value) or type(value)


def _callable(value: object) -> bool:
    return isinstance(value, Function | Bound | Klass)


def _run_native(callee: Callable[..., object], kwargs: Mapping[str, object], *args: object) -> object:
    try:
        result = callee(*args, **kwargs)
    except RaisedError:
        raise
    except (KeyError, IndexError, ValueError) as error:
        raise RaisedError(error) from error
    except (TypeError, AttributeError, DayzeroError):
        return Unknown(f"{getattr(callee, '__name__', 'a call')} on values that are not plain")
    return list(result) if isinstance(result, (enumerate, zip, reversed)) else result
