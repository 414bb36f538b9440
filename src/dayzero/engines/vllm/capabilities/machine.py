"""Run an engine's own functions on what is known. Nothing is imported or executed.

A condition that is not known is followed both ways, and what both lead to is the answer; where they differ the answer is unknown.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from dayzero.audit.python_source import Module, import_source, last_name, nodes_of
from dayzero.engines.vllm.capabilities.calls import Calls
from dayzero.engines.vllm.capabilities.expressions import Frame, shown
from dayzero.engines.vllm.capabilities.names import Binding
from dayzero.engines.vllm.capabilities.values import (
    Function,
    Klass,
    RaisedError,
    Unknown,
    join,
    truth,
)

_MOST_STEPS, _DEEPEST = 400_000, 60
_TRANSPARENT = {"cache", "lru_cache", "staticmethod", "classmethod", "property", "abstractmethod", "override", "wraps"}


@dataclass(frozen=True, slots=True)
class _Returned:
    value: object


@dataclass(frozen=True, slots=True)
class _Fell:
    frame: Frame


@dataclass(frozen=True, slots=True)
class _Threw:
    error: RaisedError


@dataclass(frozen=True, slots=True)
class _Turn:
    """Begins one turn of a loop: assigns the loop's name."""

    target: ast.expr
    value: object


@dataclass(frozen=True, slots=True)
class _LoopEnd:
    """Ends a loop."""


_Outcome: TypeAlias = _Returned | _Fell | _Threw
_Step: TypeAlias = ast.stmt | _Turn | _LoopEnd


_ASSERTION = ast.Raise(exc=ast.Name("AssertionError", ast.Load()))


class Machine(Calls):
    """Evaluates functions of a program."""

    _steps = 0
    _depth = 0

    @cached_property
    def _generators(self) -> dict[ast.AST, bool]:
        return {}

    def _yields(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
        if node not in self._generators:
            self._generators[node] = any(isinstance(one, ast.Yield | ast.YieldFrom) for one in nodes_of(node))
        return self._generators[node]

    def run(self, function: Function, args: tuple[object, ...], kwargs: Mapping[str, object], first: object) -> object:
        """Run a function of the files on arguments; ``first`` is what ``super()`` speaks for.

        Raises:
            RaisedError: It raises.
        """
        if self._depth >= _DEEPEST:
            return Unknown(f"{function.name} goes deeper than {_DEEPEST} calls")
        names = dict(function.outer)
        receiver = args[0] if first is None and args and function.owner else first
        frame = Frame(function.module, names, function.owner, receiver)
        self._assign_arguments(function, args, kwargs, frame)
        self._depth += 1
        try:
            if isinstance(function.node, ast.Lambda):
                return self.evaluate(function.node.body, frame)
            strange = [one for one in function.node.decorator_list if last_name(one) not in _TRANSPARENT]
            if strange:
                return self._decorated(function, strange, args, kwargs)
            if self._yields(function.node):
                return Unknown(f"{function.name} is a generator")
            return self._result(self._follow(list(function.node.body), frame))
        finally:
            self._depth -= 1

    def _decorated(
        self, function: Function, decorators: list[ast.expr], args: tuple[object, ...], kwargs: Mapping[str, object]
    ) -> object:
        """Run a function as its decorators make it, those of the files; one from outside leaves it unknown."""
        frame = Frame(function.module)
        bare = {**vars(function.node), "decorator_list": []}
        value: object = Function(function.module, ast.FunctionDef(**bare), function.owner, function.outer)
        for one in reversed(decorators):
            value = self.call(self.evaluate(one, frame), (value,), {})
        return value if isinstance(value, Unknown) else self.call(value, args, kwargs)

    def make(self, klass: Klass, args: tuple[object, ...]) -> object:
        """Make an object of a class."""
        return self.call(klass, args, {})

    def _result(self, outcome: _Outcome) -> object:
        match outcome:
            case _Returned(value=value):
                return value
            case _Threw(error=error):
                raise error
            case _Fell():
                return None

    def _assign_arguments(
        self, function: Function, args: tuple[object, ...], kwargs: Mapping[str, object], frame: Frame
    ) -> None:
        spec = function.node.args
        positional = [*spec.posonlyargs, *spec.args]
        defaults = dict(zip(reversed(positional), reversed(spec.defaults), strict=False))
        given = dict(zip([one.arg for one in positional], args, strict=False)) | {
            name: value
            for name, value in kwargs.items()
            if name in {one.arg for one in [*positional, *spec.kwonlyargs]}
        }
        named = zip(spec.kwonlyargs, spec.kw_defaults, strict=True)
        defaults |= {one: default for one, default in named if default is not None}
        scope = Frame(function.module, dict(function.outer), function.owner)
        for one in [*positional, *spec.kwonlyargs]:
            if one.arg in given:
                frame.names[one.arg] = given[one.arg]
            elif one in defaults:
                frame.names[one.arg] = self.evaluate(defaults[one], scope)
            else:
                frame.names[one.arg] = Unknown(f"{one.arg} of {function.name}")
        if spec.vararg:
            frame.names[spec.vararg.arg] = tuple(args[len(positional) :])
        if spec.kwarg:
            frame.names[spec.kwarg.arg] = {name: value for name, value in kwargs.items() if name not in given}

    def _follow(self, steps: list[_Step], frame: Frame) -> _Outcome:
        """Run statements in order; what is left when a condition is unknown is run on both ways."""
        waiting = list(steps)
        while waiting:
            step = waiting.pop(0)
            self._steps += 1
            if self._steps > _MOST_STEPS:
                return _Returned(Unknown("the evaluation took too many steps"))
            try:
                done = self._step(step, waiting, frame)
            except RaisedError as error:
                return _Threw(error)
            if isinstance(done, (_Returned, _Fell, _Threw)):
                return done
            waiting = done
        return _Fell(frame)

    def _step(  # noqa: C901, PLR0911  (one arm a kind of statement)
        self, step: _Step, rest: list[_Step], frame: Frame
    ) -> _Outcome | list[_Step]:
        """Run one statement, and give the statements that follow, or how it ended."""
        match step:
            case _Turn(target=target, value=value):
                self.bind(target, value, frame)
            case ast.Return(value=value):
                return _Returned(self.evaluate(value, frame))
            case ast.Raise(exc=error):
                return _Threw(self._raised(error, frame))
            case ast.Assert(test=test):
                return self._branch(self.evaluate(test, frame), rest, [_ASSERTION], frame)
            case ast.If(test=test, body=then, orelse=otherwise):
                return self._branch(self.evaluate(test, frame), [*then, *rest], [*otherwise, *rest], frame)
            case ast.For(target=target, iter=iterable, body=body, orelse=[]):
                values = self.iterated(self.evaluate(iterable, frame))
                if values is None:
                    return _Returned(Unknown(f"the loop at {frame.module.file}:{step.lineno}"))
                return [*_turns(target, values, body), _LoopEnd(), *rest]
            case ast.Continue() | ast.Break():
                return _after(rest, whole=isinstance(step, ast.Break))
            case ast.Try():
                return self._attempt(step, rest, frame)
            case ast.With(body=body):
                return [*body, *rest]
            case _:
                return self._simple(step, rest, frame)
        return rest

    def _simple(self, step: _Step, rest: list[_Step], frame: Frame) -> _Outcome | list[_Step]:
        match step:
            case ast.Assign(targets=targets, value=value):
                known = self.evaluate(value, frame)
                for target in targets:
                    self.bind(target, known, frame)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.bind(target, self.evaluate(value, frame), frame)
            case ast.AugAssign(target=target, op=op, value=value):
                self.bind(target, self.evaluate(ast.BinOp(target, op, value, lineno=step.lineno), frame), frame)
            case ast.Expr(value=value):
                if not _is_log(value):
                    self.evaluate(value, frame)
            case ast.Import() | ast.ImportFrom():
                self._import(step, frame)
            case ast.FunctionDef(name=name):
                frame.names[name] = Function(frame.module, step, frame.owner, frame.names)
            case ast.AnnAssign() | ast.Pass() | ast.Global() | ast.Nonlocal() | ast.Delete() | _LoopEnd():
                pass
            case _:
                return _Returned(Unknown(f"{frame.module.file}:{getattr(step, 'lineno', 0)} is not evaluated"))
        return rest

    def _branch(self, test: object, then: list[_Step], otherwise: list[_Step], frame: Frame) -> _Outcome | list[_Step]:
        known = self.true(test)
        if known is not None:
            return then if known else otherwise
        why = test.why if isinstance(test, Unknown) else f"the value of {shown(test)}"
        left, right = frame.fork(), frame.fork()
        outcome = self._joined(self._follow(then, left), self._follow(otherwise, right), why)
        Frame.merge(left, right, why)
        return outcome

    def _joined(self, one: _Outcome, other: _Outcome, why: str) -> _Outcome:
        match one, other:
            case _Threw(), _Threw():
                return one
            case _Fell(frame=left), _Fell(frame=right):
                absent = Unknown("a name that only one way binds")
                names = left.names | right.names
                left.names = {
                    name: join(left.names.get(name, absent), right.names.get(name, absent), why) for name in names
                }
                return _Fell(left)
            case (_Fell(), _) | (_, _Fell()):  # what follows a block that only one way leaves is not known
                return _Returned(Unknown(why))
            case _:
                return _Returned(join(_value(one), _value(other), why))

    def _attempt(self, step: ast.Try, rest: list[_Step], frame: Frame) -> _Outcome | list[_Step]:
        outcome = self._follow(list(step.body), frame)
        match outcome:
            case _Fell(frame=after):
                frame.names = after.names
                return [*step.orelse, *step.finalbody, *rest]
            case _Returned():
                return outcome
            case _Threw(error=error):
                for handler in step.handlers:
                    if self._catches(handler, error.error, frame):
                        if handler.name:
                            frame.names[handler.name] = error.error
                        return [*handler.body, *step.finalbody, *rest]
                return outcome

    def _catches(self, handler: ast.ExceptHandler, error: BaseException, frame: Frame) -> bool:
        kinds = self.evaluate(handler.type, frame) if handler.type else Exception
        known = kinds if isinstance(kinds, tuple) else (kinds,)
        return any(isinstance(kind, type) and isinstance(error, kind) for kind in known)

    def _raised(self, node: ast.expr | None, frame: Frame) -> RaisedError:
        value = self.evaluate(node, frame)
        if isinstance(value, type) and issubclass(value, BaseException):
            value = value()
        return RaisedError(value if isinstance(value, BaseException) else RuntimeError(shown(value)), is_stated=True)

    def _import(self, step: ast.Import | ast.ImportFrom, frame: Frame) -> None:
        for one in step.names:
            if isinstance(step, ast.ImportFrom):
                value = self.from_module(import_source(step, frame.module), one.name)
                frame.names[one.asname or one.name] = value
            else:
                module = self.program.imported(one.name)
                top = self.program.imported(one.name.split(".")[0])
                frame.names[one.asname or one.name.split(".")[0]] = module if one.asname else top

    def holds(self, binding: Binding, module: Module) -> bool | None:
        """Say whether a statement of a module runs: its conditions, and the ``try`` it stands in."""
        frame = Frame(module)
        for test, wanted in binding.guards:
            known = truth(self.evaluate(test, frame))
            if known is None:
                return None
            if known is not wanted:
                return False
        if binding.tried is None:
            return True
        return self._fails(binding.tried, module) is binding.fallback

    def _fails(self, node: ast.Try, module: Module) -> bool:
        key = (module.name, node.lineno)
        if key not in self.tries:
            self.tries[key] = False  # of a module that imports itself
            self.tries[key] = isinstance(self._follow(list(node.body), Frame(module)), _Threw)
        return self.tries[key]


def _turns(target: ast.expr, values: list[object], body: list[ast.stmt]) -> Iterator[_Step]:
    for value in values:
        yield _Turn(target, value)
        yield from body


def _value(outcome: _Outcome) -> object:
    match outcome:
        case _Returned(value=value):
            return value
        case _Threw(error=error):
            return Unknown(f"it may raise {type(error.error).__name__}: {error}")
        case _Fell():
            return None


def _after(rest: list[_Step], *, whole: bool) -> list[_Step]:
    """Give what follows after this turn of a loop, or after the ``whole`` loop."""
    for index, step in enumerate(rest):
        if isinstance(step, _LoopEnd) or (isinstance(step, _Turn) and not whole):
            return rest[index:]
    return []


def _is_log(node: ast.expr) -> bool:
    match node:
        case ast.Constant():
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(id="logger"))):
            return True
        case _:
            return False
