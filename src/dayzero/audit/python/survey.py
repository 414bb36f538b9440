"""Walk a module once and note where it asks another distribution for what that does not have."""

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias, TypeGuard

from dayzero.audit.python.bindings import FUNCTIONS, Definer
from dayzero.audit.python.bound import assigned
from dayzero.audit.python.context import Condition, Context, caught_by, exclude, leaves, suppressed
from dayzero.audit.python.evaluate import value_of
from dayzero.audit.python.lack import Keyword, Lack
from dayzero.audit.python.scope import Scope
from dayzero.audit.python.signatures import Arguments, misfit
from dayzero.audit.python.values import (
    Absent,
    Choice,
    ClassValue,
    Instance,
    ModuleValue,
    Opaque,
    Value,
    callables,
    home_of,
    only_promised,
)
from dayzero.audit.python.world import World
from dayzero.audit.python_source import Module, import_source, last_name, nodes_of, statements_of

_STORED = re.compile(rb"\.([A-Za-z_]\w*)\s*(?::[^=\n]+)?=(?!=)")
_IGNORED = re.compile(r"#\s*(?:type|pyright|ty):\s*ignore\b")
_TAKES = {"pop", "popitem", "setdefault", "clear"}
_PROBES = {"hasattr", "getattr", "find_spec", "supports_kw", "signature"}


_Block: TypeAlias = list[ast.stmt]


@dataclass(slots=True)
class Survey:
    """Walks one module.

    Args:
        world: Where names are looked up.
        targets: Top-level packages that are asked; what is asked of others is not looked at.
        within: Lines of the functions that are walked; ``None`` for all. What stands in no function is walked in any case.
        lacks: What the module lacks.
        lacking: Lines of the functions in which something is lacking.
        resting: Lines of the functions in which anything rests on other distributions: no other one can lack something.
    """

    world: World
    targets: frozenset[str]
    within: Collection[int] | None = None
    lacks: list[Lack] = field(default_factory=list)
    lacking: list[int] = field(default_factory=list)
    resting: list[int] = field(default_factory=list)
    _outside: bool = True
    _contexts: dict[int, Context] = field(default_factory=dict)
    _stored: frozenset[str] = frozenset()
    _narrowing: dict[int, tuple[ast.Call, ...]] = field(default_factory=dict)

    def module(self, name: str) -> list[Lack]:
        """Give what the module lacks, in the order of its text."""
        scope = self.world.scope(name)
        if scope is None:
            return []
        stored = _STORED.findall(self.world.python.read(name))
        self._stored = frozenset(word.decode("utf-8", "replace") for word in stored)
        self._block(scope.module.tree.body, Context(scope))
        return self.lacks

    def _block(self, body: _Block, context: Context) -> None:
        for statement in body:
            self._contexts[id(statement)] = context
            self._statement(statement, context)
            if isinstance(statement, ast.If) and (leaves(statement.body) or leaves(statement.orelse)):
                context = context.given(statement.test, holds=not leaves(statement.body))
            elif isinstance(statement, ast.Assert):
                context = context.given(statement.test, holds=True)

    def _statement(self, node: ast.stmt, context: Context) -> None:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                self._definer(node, context)
            case ast.If(test=test, body=body, orelse=orelse):
                self._expression(test, context)
                self._block(body, context.given(test, holds=True))
                self._block(orelse, context.given(test, holds=False))
            case ast.Try(body=body, handlers=handlers, orelse=orelse, finalbody=final):
                self._block(body, context.catching(*caught_by(node)))
                for handler in handlers:
                    self._block(handler.body, context)
                self._block([*orelse, *final], context)
            case ast.With() | ast.AsyncWith():
                for item in node.items:
                    self._expression(item.context_expr, context)
                self._block(node.body, context.catching(suppressed(node), frozenset()))
            case ast.Import() | ast.ImportFrom():
                self._import(node, context)
            case _:
                self._parts(node, context)

    def _parts(self, node: ast.AST, context: Context) -> None:
        for part in node._fields:
            value = getattr(node, part, None)
            for child in value if isinstance(value, list) else (value,):
                if isinstance(child, ast.expr):
                    self._expression(child, context)
                elif isinstance(child, ast.stmt):
                    self._contexts[id(child)] = context
                    self._statement(child, context)
                elif isinstance(child, ast.AST) and child._fields:
                    self._parts(child, context)

    def _definer(self, node: Definer, context: Context) -> None:
        if not (self._outside and isinstance(node, FUNCTIONS)):
            self._walk(node, context)
        elif self.within is None or node.lineno in self.within:
            self._outside, before = False, len(self.lacks)
            self.resting += [node.lineno] * self.world.rests.tried(lambda: self._walk(node, context))
            self.lacking += [node.lineno] * (len(self.lacks) > before)
            self._outside = True

    def _walk(self, node: Definer, context: Context) -> None:
        for decorator in node.decorator_list:
            self._expression(decorator, context)
        if isinstance(node, FUNCTIONS):
            for default in (*node.args.defaults, *filter(None, node.args.kw_defaults)):
                self._expression(default, context)
        else:
            for base in node.bases:
                self._expression(base, context)
        caught = frozenset() if isinstance(node, FUNCTIONS) else context.caught
        self._block(node.body, Context(context.scope.inner(node), context.conditions, caught))

    def _import(self, node: ast.Import | ast.ImportFrom, context: Context) -> None:
        place = context.scope.module.place(node.lineno)
        if isinstance(node, ast.Import):
            for alias in node.names:
                if self._targeted(alias.name):
                    self._note(self.world.module_value(alias.name, place), node.lineno, context, "ImportError")
            return
        source = import_source(node, context.scope.module)
        if not self._targeted(source):
            return
        whole = self.world.module_value(source, place)
        if isinstance(whole, Absent):
            self._note(whole, node.lineno, context, "ImportError")
            return
        for alias in node.names:
            if alias.name != "*":
                self._note(self.world.imported_from(source, alias.name, place), node.lineno, context, "ImportError")

    def _expression(self, node: ast.expr, context: Context) -> None:
        match node:
            case ast.Name() | ast.Constant():
                return
            case ast.BoolOp(op=op, values=values):
                for value in values:
                    self._expression(value, context)
                    context = context.given(value, holds=isinstance(op, ast.And))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self._expression(test, context)
                self._expression(body, context.given(test, holds=True))
                self._expression(orelse, context.given(test, holds=False))
            case ast.Lambda(body=body):
                self._expression(body, context)
            case ast.Attribute(value=inner, attr=attr):
                self._expression(inner, context)
                if isinstance(node.ctx, ast.Load):
                    self._attribute(inner, attr, node, context)
            case ast.Call():
                self._call(node, context)
            case _:
                self._parts(node, context)

    def _attribute(self, inner: ast.expr, attr: str, node: ast.Attribute, context: Context) -> None:
        if attr in self._stored and not isinstance(inner, ast.Name):
            return
        owner = self._narrowed(inner, context)
        if only_promised(owner) and _disowned(context.scope.module, node):
            return
        if isinstance(owner, ModuleValue | ClassValue | Instance):
            if self._targeted(home_of(owner)) and not (attr in self._stored and isinstance(owner, Instance)):
                self._note(self.world.attribute(owner, attr), node.lineno, context)
        elif isinstance(owner, Choice) and all(isinstance(one, Instance) or self.world.own(one) for one in owner.among):
            asked = [one for one in owner.among if self._targeted(home_of(one))]
            answers = [self.world.attribute(one, attr) for one in asked]
            if answers and all(isinstance(one, Absent) for one in answers) and attr not in self._stored:
                self._note(answers[0], node.lineno, context)

    def _narrowed(self, node: ast.expr, context: Context) -> Value:
        """Evaluate, believing what ``isinstance`` on the way says of a name."""
        for condition in reversed(context.conditions) if isinstance(node, ast.Name | ast.Attribute) else ():
            for subject, of in (test.args for test in self._asking(condition)):
                if ast.unparse(subject) == ast.unparse(node):
                    found = value_of(self.world, context.scope, of) if condition.holds else Opaque()
                    return Instance(found.definition) if isinstance(found, ClassValue) else Opaque()
        return value_of(self.world, context.scope, node)

    def _asking(self, condition: Condition) -> tuple[ast.Call, ...]:
        """Give the calls of ``isinstance`` that a condition answers for certain."""
        key = id(condition)
        if key not in self._narrowing:
            tests = _all_of(condition.test) if condition.holds else (condition.test,)
            self._narrowing[key] = tuple(one for one in tests if _asks_isinstance(one))
        return self._narrowing[key]

    def _call(self, node: ast.Call, context: Context) -> None:
        if last_name(node.func) not in _PROBES:
            self._expression(node.func, context)
        for argument in (*node.args, *(one.value for one in node.keywords)):
            self._expression(argument, context)
        ways = self._ways(node, context)
        match ways:
            case [(Absent(lazy=True) as absent, _)]:
                self._note(absent, node.lineno, context)
            case _ if any(self._targeted(home_of(one)) for callee, _ in ways for one in callables(callee)):
                self._hold(node, ways, context)

    def _hold(self, node: ast.Call, ways: list[tuple[Value, Context]], context: Context) -> None:
        """Note a call that fits on none of the ways that lead to it."""
        keywords, more = self._keywords(node, context)
        first: Lack | None = None
        for callee, way in ways:
            with_it = [one for one in keywords if not exclude(one.context, way)]
            given = Arguments(
                positional=sum(1 for one in node.args if not isinstance(one, ast.Starred)),
                keywords=tuple(one.name for one in with_it),
                open=more or any(isinstance(one, ast.Starred) for one in node.args),
            )
            found = misfit(self.world, callee, given)
            if not found:
                return
            wrong = tuple(one for one in with_it if one.name in found.unexpected)
            first = first or Lack(found, context, node.lineno, "TypeError", wrong)
        self.lacks += [first] if first else []

    def _ways(self, node: ast.Call, context: Context) -> list[tuple[Value, Context]]:
        """Give what is called; where branches before it choose that, each choice with what stands around it."""
        scope = context.scope
        bound = scope.names.given(node.func.id) if isinstance(node.func, ast.Name) and scope.function else ()
        chosen = [
            (value_of(self.world, scope, one.value), self._contexts[id(one.statement)])
            for one in bound
            if one.value is not None and id(one.statement) in self._contexts
        ]
        ways = [(value, way) for value, way in chosen if not exclude(way, context)]
        return ways if len(bound) == len(chosen) > 1 and ways else [(self._callee(node, context), context)]

    def _callee(self, node: ast.Call, context: Context) -> Value:
        if isinstance(node.func, ast.Attribute):
            owner = self._narrowed(node.func.value, context)
            if node.func.attr in self._stored and isinstance(owner, Instance | Choice):
                return Opaque()  # given to the object by hand, here or elsewhere in the file
            found = self.world.attribute(owner, node.func.attr)
            return found if not isinstance(found, Absent) or found.lazy else Opaque()
        return value_of(self.world, context.scope, node.func)

    def _keywords(self, node: ast.Call, context: Context) -> tuple[list[Keyword], bool]:
        found: list[Keyword] = []
        more = False
        for one in node.keywords:
            if one.arg is not None:
                found.append(Keyword(one.arg, context, node.lineno))
                continue
            entries = self._entries(one.value, context)
            more = more or entries is None
            found += entries or []
        return found, more

    def _entries(self, node: ast.expr, context: Context) -> list[Keyword] | None:
        """List what a dictionary that is built here holds; ``None`` where it may hold more."""
        match node:
            case ast.Dict(keys=keys, values=values):
                return self._literal(keys, values, context)
            case ast.Call(func=ast.Name(id="dict"), args=[], keywords=keywords):
                if all(one.arg for one in keywords):
                    return [Keyword(one.arg or "", context, one.value.lineno) for one in keywords]
                return None
            case ast.Name(id=name) if context.scope.function is not None:
                built = self._built(name, context.scope)
                return built and [one for one in built if not exclude(one.context, context)]
            case _:
                return None

    def _literal(self, keys: list[ast.expr | None], values: list[ast.expr], context: Context) -> list[Keyword] | None:
        found: list[Keyword] = []
        for key, value in zip(keys, values, strict=True):
            match key:
                case ast.Constant(value=str() as word):
                    found.append(Keyword(word, context, key.lineno))
                case None:
                    inner = self._entries(value, context)
                    if inner is None:
                        return None
                    found += inner
                case _:
                    return None
        return found

    def _built(self, name: str, scope: Scope) -> list[Keyword] | None:
        given = scope.names.given(name)
        if not given:
            return None
        found: list[Keyword] = []
        for one in given:
            context = self._contexts.get(id(one.statement))
            if context is None:
                continue  # it stands after the call
            entries = self._entries(one.value, context) if one.value is not None else None
            if entries is None:
                return None
            found += entries
        added = self._added(name, scope)
        return None if added is None else [*found, *added]

    def _added(self, name: str, scope: Scope) -> list[Keyword] | None:
        found: list[Keyword] = []
        for node in nodes_of(scope.node) if scope.node else ():
            for key in _put(node, name) if isinstance(node, ast.stmt) else ():
                if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
                    return None
                found.append(Keyword(key.value, self._contexts.get(id(node), Context(scope)), key.lineno))
            match node:
                case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="update")) if owner == name:
                    if node.args or any(one.arg is None for one in node.keywords):
                        return None
                    found += [Keyword(one.arg or "", self._around(node, scope), node.lineno) for one in node.keywords]
                case ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr=word)) if (owner, word in _TAKES) == (
                    name,
                    True,
                ):
                    return None
                case ast.Subscript(value=ast.Name(id=owner), ctx=ast.Del()) if owner == name:
                    return None
                case _:
                    continue
        return found

    def _around(self, node: ast.Call, scope: Scope) -> Context:
        statements = (one for one in statements_of(scope.node) if isinstance(one, ast.Expr)) if scope.node else ()
        return next((self._contexts[id(one)] for one in statements if one.value is node), Context(scope))

    def _targeted(self, dotted: str) -> bool:
        return dotted.split(".", 1)[0] in self.targets

    def _note(self, value: Value, line: int, context: Context, raised: str = "AttributeError") -> None:
        if isinstance(value, Absent) and self._targeted(value.owner):
            self.lacks.append(Lack(value, context, line, raised))


def _disowned(module: Module, node: ast.Attribute) -> bool:
    """Say whether the author tells the type checker not to look: what is promised of the object is not all that it has."""
    return any(_IGNORED.search(module.text.line(line)) for line in {node.lineno, node.end_lineno or node.lineno})


def _put(node: ast.stmt, name: str) -> Iterator[ast.expr]:
    """Give each key under which a statement puts something into what a name stands for."""
    for target, _ in assigned(node):
        match target:
            case ast.Subscript(value=ast.Name(id=owner), slice=key) if owner == name:
                yield key
            case _:
                continue


def _all_of(test: ast.expr) -> Iterator[ast.expr]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for one in test.values:
            yield from _all_of(one)
    else:
        yield test


def _asks_isinstance(test: ast.expr) -> TypeGuard[ast.Call]:
    return isinstance(test, ast.Call) and last_name(test.func) == "isinstance" and len(test.args) == 2  # noqa: PLR2004
