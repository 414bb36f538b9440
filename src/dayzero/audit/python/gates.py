"""Answer conditions from the installed files: is a capability probe true or false on this build, and what does it probe?"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from packaging.version import InvalidVersion, Version

from dayzero.audit.python.bindings import FUNCTIONS, bound_once_run, statements_in
from dayzero.audit.python.bound import names_in, unpacked
from dayzero.audit.python.context import caught_by
from dayzero.audit.python.evaluate import value_of
from dayzero.audit.python.scope import Scope
from dayzero.audit.python.substitution import Names, rebound, substituted
from dayzero.audit.python.values import (
    Absent,
    Choice,
    ClassValue,
    FunctionValue,
    Instance,
    ModuleValue,
    Nothing,
    Opaque,
    Value,
)
from dayzero.audit.python.world import World
from dayzero.audit.python_source import import_source, last_name, nodes_of

_VERSIONED = re.compile(r"is_(\w+?)_equal(_or_newer)?")
_MOST_DEEP = 6
_MOST_ROUNDS = 32
_LONGEST_NAME = 80

Answer: TypeAlias = bool | None


@dataclass(frozen=True, slots=True)
class _Outcome:
    """What a block can give back, and whether it can run on."""

    answers: frozenset[Answer]
    runs_on: bool


@dataclass(slots=True)
class Gates:
    """Answers conditions. What it cannot answer is ``None``, never a guess.

    Args:
        world: Where names are looked up.
        lost: What was found absent on the way to an answer, by the gate that asked.
    """

    world: World
    lost: list[Absent] = field(default_factory=list)
    _known: dict[tuple[str, str], Answer] = field(default_factory=dict)
    _because: dict[tuple[str, str], tuple[Absent, ...]] = field(default_factory=dict)
    _words: dict[tuple[str, str, int], frozenset[str]] = field(default_factory=dict)
    _names: dict[tuple[str, int, str, str, int], frozenset[str]] = field(default_factory=dict)

    def truth(  # noqa: PLR0911  (one answer a kind of test)
        self, test: ast.expr, scope: Scope, names: Names, depth: int = _MOST_DEEP
    ) -> Answer:
        """Say whether a test is true on this build."""
        if not depth:
            return None
        match test:
            case ast.Constant(value=value):
                return bool(value)
            case ast.UnaryOp(op=ast.Not(), operand=inner):
                answer = self.truth(inner, scope, names, depth)
                return None if answer is None else not answer
            case ast.BoolOp(op=op, values=values):
                answers = [self.truth(one, scope, names, depth) for one in values]
                stop = isinstance(op, ast.Or)
                return stop if stop in answers else None if None in answers else not stop
            case ast.Compare(left=left, ops=[ast.Is() | ast.IsNot() as op], comparators=[ast.Constant(value=None)]):
                there = self._there(left, scope, names)
                return None if there is None else there == isinstance(op, ast.IsNot)
            case ast.Name(id="TYPE_CHECKING") | ast.Attribute(attr="TYPE_CHECKING"):
                return False
            case ast.Call():
                return self._called(test, scope, names, depth)
            case ast.Name(id=name):
                return self._named(name, scope, names, depth)
            case _:
                return None

    def function(self, value: FunctionValue, depth: int = _MOST_DEEP) -> Answer:
        """Say what a function gives back on this build, whatever it is given."""
        definition = value.definition
        key = (definition.module.name, definition.qualname)
        if key not in self._known:
            self._known[key] = None
            node = definition.node
            before = len(self.lost)
            if isinstance(node, FUNCTIONS) and depth:
                outcome = self._block(node.body, self.world.scope_of(definition), {}, depth - 1)
                answers = outcome.answers | ({None} if outcome.runs_on else set())
                self._known[key] = next(iter(answers)) if len(answers) == 1 else None
            self._because[key] = tuple(self.lost[before:])
        elif self._known[key] is False:
            self.lost += self._because.get(key, ())
        return self._known[key]

    def words(self, test: ast.expr, scope: Scope, depth: int = _MOST_DEEP) -> frozenset[str]:
        """Give the strings and imported names that a condition speaks of, also through flags and functions it asks."""
        found: set[str] = set()
        for node in nodes_of(test):
            match node:
                case ast.Constant(value=str() as text):
                    found.add(text)
                case ast.Name(id=name) if depth:
                    found |= self._words_of_name(name, scope, depth)
                case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=attr) if depth and scope.owner:
                    owner = scope.owner.definition()
                    for expression, at in self.world.self_values(owner).get(attr, ()) if owner else ():
                        found |= self.words(expression, at, depth - 1) if expression is not None else set()
                case ast.Attribute(attr=attr) if depth:
                    found |= self._words_of_value(value_of(self.world, scope, node), depth)
                case _:
                    continue
        return frozenset(found)

    def _words_of_name(self, name: str, scope: Scope, depth: int) -> frozenset[str]:
        key = (scope.module.name, scope.node.lineno if scope.node else 0, scope.qualname, name, depth)
        if key not in self._names:
            self._names[key] = self._words_bound(name, scope, depth)
        return self._names[key]

    def _words_bound(self, name: str, scope: Scope, depth: int) -> frozenset[str]:
        at = scope.binder(name)
        found: set[str] = set()
        for one in at.names.found.get(name, ()) if at else ():
            if one.value is not None and at:
                found |= self.words(one.value, at, depth - 1)
        return frozenset(found) | self._words_of_value(self.world.in_scope(scope, name), depth)

    def _words_of_value(self, value: Value, depth: int) -> frozenset[str]:
        if not isinstance(value, FunctionValue):
            return frozenset()
        key = (value.definition.module.name, value.definition.qualname, depth)
        if key not in self._words:
            self._words[key] = frozenset()
            inner = self.world.scope_of(value.definition)
            found: set[str] = set()
            for node in nodes_of(value.definition.node):
                match node:
                    case ast.Constant(value=str() as text) if len(text) <= _LONGEST_NAME:
                        found.add(text)
                    case ast.ImportFrom(names=aliases):
                        found |= {one.name for one in aliases}
                    case ast.Call(func=ast.Name() as function) if depth > 1:
                        found |= self._words_of_value(value_of(self.world, inner, function), depth - 1)
                    case _:
                        continue
            self._words[key] = frozenset(found)
        return self._words[key]

    def _value(self, node: ast.expr, scope: Scope, names: Names) -> Value:
        closed = substituted(node, names)
        if isinstance(closed, ast.Call) and last_name(closed.func) == "find_spec" and closed.args:
            match closed.args[0]:
                case ast.Constant(value=str() as module):
                    return self.world.module_value(module, scope.module.place(node.lineno))
                case _:
                    return Opaque()
        if isinstance(closed, ast.Call) and last_name(closed.func) == "getattr" and len(closed.args) > 1:
            match closed.args[1]:
                case ast.Constant(value=str() as attr):
                    return self.world.attribute(value_of(self.world, scope, closed.args[0]), attr)
                case _:
                    return Opaque()
        return value_of(self.world, scope, closed)

    def _there(self, node: ast.expr, scope: Scope, names: Names) -> Answer:
        if isinstance(node, ast.Name) and node.id in names:
            node = names[node.id]
        elif isinstance(node, ast.Name):
            single = scope.names.single(node.id)
            node = single.value if single is not None and single.value is not None else node
        match self._value(node, scope, names):
            case Absent() as absent:
                self.lost.append(absent)
                return False
            case Choice(among=among) if all(isinstance(one, Absent | Nothing) for one in among):
                self.lost += [one for one in among if isinstance(one, Absent)]
                return False
            case ModuleValue() | ClassValue() | FunctionValue() | Instance():
                return True
            case _:
                return None

    def _called(self, test: ast.Call, scope: Scope, names: Names, depth: int) -> Answer:
        word = last_name(test.func)
        if word == "hasattr" and len(test.args) == 2:  # noqa: PLR2004  (hasattr takes two)
            asked = ast.Call(func=ast.Name(id="getattr", ctx=ast.Load()), args=test.args, keywords=[])
            return self._there(ast.copy_location(asked, test), scope, names)
        if word in {"bool", "callable"} and test.args:
            return self.truth(test.args[0], scope, names, depth - 1) if word == "bool" else None
        if word in {"all", "any"}:
            return self._over(test, scope, names, depth, stop=word == "any")
        if (versioned := _VERSIONED.fullmatch(word)) and test.args:
            return self._of_version(versioned[1], test.args[0], newer=bool(versioned[2]))
        value = value_of(self.world, scope, test.func)
        return self.function(value, depth - 1) if isinstance(value, FunctionValue) else None

    def _of_version(self, library: str, version: ast.expr, *, newer: bool) -> Answer:
        """Answer ``is_torch_equal_or_newer("2.13")`` and ``is_torch_equal("2.9.0")`` by the version that is installed."""
        found = self.world.python.packages.get(library)
        match version:
            case ast.Constant(value=str() as asked) if found is not None:
                try:
                    own, other = Version(found.version), Version(asked)
                except InvalidVersion:
                    return None
                return own >= other if newer else own.base_version == other.base_version
            case _:
                return None

    def _over(self, test: ast.Call, scope: Scope, names: Names, depth: int, *, stop: bool) -> Answer:
        """Answer for ``all(... for x in (a, b))`` and ``any``, round by round, where the text shows the rounds."""
        match test.args:
            case [
                ast.GeneratorExp(elt=inner, generators=[ast.comprehension(target=target, iter=over, ifs=[])])
                | ast.ListComp(elt=inner, generators=[ast.comprehension(target=target, iter=over, ifs=[])])
            ]:
                rounds = names.get(over.id, over) if isinstance(over, ast.Name) else over
            case _:
                return None
        if not isinstance(rounds, ast.List | ast.Tuple) or len(rounds.elts) > _MOST_ROUNDS:
            return None
        each = (rebound(names, names_in(unpacked(target, one))) for one in rounds.elts)
        answers = [self.truth(inner, scope, known, depth - 1) for known in each]
        return stop if stop in answers else None if None in answers else not stop

    def _named(  # noqa: PLR0911  (one answer a kind of name)
        self, name: str, scope: Scope, names: Names, depth: int
    ) -> Answer:
        if name in names:
            there = self._there(names[name], scope, {})
            return there if there is False else self.truth(names[name], scope, {}, depth - 1)
        at = scope.binder(name)
        if at is None:
            return None
        bound = at.names.given(name)
        if at.node is None and self.world.sets_later(at.module.name, name):
            return None
        if any(isinstance(one.statement, ast.Import | ast.ImportFrom) for one in bound):
            return self._imported(name, at, depth)
        if at.node is None and len(bound) > 1:
            return self._flag(name, at)
        single = at.names.single(name)
        if single is None or single.value is None or not single.always:
            return None
        there = self._there(single.value, at, {})
        return there if there is False else self.truth(single.value, at, {}, depth - 1)

    def _imported(self, name: str, at: Scope, depth: int) -> Answer:
        """Answer for a flag that another module of the asker sets."""
        for one in at.names.found[name]:
            if isinstance(one.statement, ast.ImportFrom):
                source = self.world.scope(import_source(one.statement, at.module))
                if source is not None and name in source.names.found and source is not at:
                    return self._named(name, source, {}, depth - 1) if depth > 1 else None
        return None

    def _flag(self, name: str, at: Scope) -> Answer:
        """Answer for ``try: import x; FLAG = True`` with ``except ImportError: FLAG = False``."""
        for statement in at.module.tree.body:
            if isinstance(statement, ast.Try):
                binds = [one for one in nodes_of(statement) if isinstance(one, ast.Name) and one.id == name]
                if binds and self._fails(statement.body, at):
                    return False
        return None

    def _fails(self, body: Iterable[ast.stmt], scope: Scope) -> bool:
        """Say whether an import in a block cannot succeed."""
        for statement in body:
            for absent in self.lacking(statement, scope):
                self.lost.append(absent)
                return True
        return False

    def lacking(self, statement: ast.stmt, scope: Scope) -> Iterator[Absent]:
        """Give what an import asks for in vain."""
        place = scope.module.place(statement.lineno)
        match statement:
            case ast.Import(names=aliases):
                found = [self.world.module_value(one.name, place) for one in aliases]
            case ast.ImportFrom(names=aliases):
                source = import_source(statement, scope.module)
                found = [self.world.imported_from(source, one.name, place) for one in aliases if one.name != "*"]
            case _:
                return
        yield from (one for one in found if isinstance(one, Absent))

    def _block(self, body: list[ast.stmt], scope: Scope, names: Names, depth: int) -> _Outcome:
        answers: frozenset[Answer] = frozenset()
        for statement in body:
            outcome = self._statement(statement, scope, names, depth)
            answers |= outcome.answers
            if not outcome.runs_on:
                return _Outcome(answers, runs_on=False)
            names = rebound(names, bound_once_run(statement))
        return _Outcome(answers, runs_on=True)

    def _statement(  # noqa: PLR0911  (one answer a kind of statement)
        self, node: ast.stmt, scope: Scope, names: Names, depth: int
    ) -> _Outcome:
        match node:
            case ast.Return(value=value):
                answer = False if value is None else self.truth(value, scope, names, depth)
                return _Outcome(frozenset({answer}), runs_on=False)
            case ast.Raise():
                return _Outcome(frozenset(), runs_on=False)
            case ast.If(test=test, body=body, orelse=orelse):
                return self._if(self.truth(test, scope, names, depth), (body, orelse), scope, names, depth)
            case ast.Try(body=body, handlers=handlers):
                return self._try(node, (body, [one.body for one in handlers]), scope, names, depth)
            case ast.For():
                return self._for(node, scope, names, depth)
            case ast.With(body=body) | ast.AsyncWith(body=body):
                return self._block(body, scope, names, depth)
            case _:
                returns = any(isinstance(one, ast.Return) for one, _, _ in statements_in([node]))
                return _Outcome(frozenset({None}) if returns else frozenset(), runs_on=True)

    def _if(
        self, answer: Answer, ways: tuple[list[ast.stmt], list[ast.stmt]], scope: Scope, names: Names, depth: int
    ) -> _Outcome:
        taken = [way for way, holds in zip(ways, (True, False), strict=True) if answer in {None, holds}]
        return _either(self._block(way, scope, names, depth) for way in taken)

    def _try(
        self,
        node: ast.Try,
        ways: tuple[list[ast.stmt], list[list[ast.stmt]]],
        scope: Scope,
        names: Names,
        depth: int,
    ) -> _Outcome:
        body, handlers = ways
        caught, _ = caught_by(node)
        if caught and self._fails(body, scope):
            return _either(self._block(way, scope, names, depth) for way in handlers)
        return _either(self._block(way, scope, names, depth) for way in ([*body, *node.orelse], *handlers))

    def _for(self, node: ast.For, scope: Scope, names: Names, depth: int) -> _Outcome:
        rounds = names.get(node.iter.id, node.iter) if isinstance(node.iter, ast.Name) else node.iter
        names = rebound(names, bound_once_run(node))  # of what an earlier round bound, nothing is known
        if not isinstance(rounds, ast.List | ast.Tuple) or len(rounds.elts) > _MOST_ROUNDS:
            inner = self._block(node.body, scope, names, depth)
            return _Outcome(inner.answers | self._block(node.orelse, scope, names, depth).answers, runs_on=True)
        answers: frozenset[Answer] = frozenset()
        for element in rounds.elts:
            outcome = self._block(node.body, scope, rebound(names, names_in(unpacked(node.target, element))), depth)
            answers |= outcome.answers
            if not outcome.runs_on:
                return _Outcome(answers, runs_on=False)
        outcome = self._block(node.orelse, scope, names, depth)
        return _Outcome(answers | outcome.answers, outcome.runs_on)


def _either(outcomes: Iterable[_Outcome]) -> _Outcome:
    found = list(outcomes)
    return _Outcome(frozenset().union(*(one.answers for one in found)), any(one.runs_on for one in found))
