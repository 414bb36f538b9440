"""Is a line reached at every start? Follow imports and calls back from it to what an engine's processes start with."""

import ast
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files

from dayzero.audit.python.bindings import FUNCTIONS, Definer, bindings
from dayzero.audit.python.context import Condition, Context, caught_by, leaves
from dayzero.audit.python.scope import Names, Scope
from dayzero.audit.python.world import World, import_source
from dayzero.audit.python_source import Module, last_name
from dayzero.core.verdict import Place

_MOST_MODULES = 80
_MOST_CALLS = 4
_IMPORT_ERRORS = frozenset({"ImportError", "ModuleNotFoundError", "Exception", "BaseException"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Startup:
    """What runs at every start.

    Attributes:
        modules: What the processes import.
        functions: Names of functions that they call before the first request.
    """

    modules: frozenset[str]
    functions: frozenset[str]


@dataclass(frozen=True, slots=True)
class Way:
    """How a start gets to a line: the places on the way from there, and the conditions that it depends on."""

    through: tuple[Place, ...]
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Loader:
    """Somebody who imports a module by its path in a string, and whether an import error is caught there."""

    place: Place
    caught: tuple[Place, ...]


def startup_of(distribution: str, packages: frozenset[str]) -> Startup:
    """Give what runs at every start of a distribution; its top-level packages where nothing is known of it."""
    text = files("dayzero.audit.python").joinpath("startup.toml").read_text(encoding="utf-8")
    table: Mapping[str, Mapping[str, list[str]]] = tomllib.loads(text)
    known = table.get(distribution, {})
    return Startup(modules=frozenset(known.get("modules", packages)), functions=frozenset(known.get("functions", ())))


@dataclass(slots=True)
class Reach:
    """Follows imports and calls backwards. Files are read whole and parsed only where they speak of what is sought.

    Args:
        world: The modules.
        packages: Top-level packages of the one that starts.
        startup: What runs at every start.
    """

    world: World
    packages: frozenset[str]
    startup: Startup
    _seen: set[str] = field(default_factory=set)
    _known: dict[str, Way | None] = field(default_factory=dict)

    def imported(self, module: str) -> Way | None:
        """Say how a start imports a module without any condition; ``None`` where it is not shown to."""
        if module not in self._known:
            self._known[module] = None
            self._known[module] = self._imported(module)
        return self._known[module]

    def called(self, scope: Scope) -> Way | None:
        """Say how a start calls the function around a line; ``None`` where it is not shown to."""
        function = _outermost(scope)
        return self._called(function, scope.module, _MOST_CALLS) if function else None

    def loader(self, module: str) -> Loader | None:
        """Find who holds the module's path as a string to import it by, as a table of backends does."""
        word = module.encode()
        for name in self._below(word):
            parsed = self._parse(name)
            if parsed is None or name == module:
                continue
            for owner in (one for one in ast.walk(parsed.tree) if isinstance(one, ast.ClassDef)):
                line = _spells(owner, module)
                if line:
                    return Loader(parsed.place(line), self._caught(parsed, owner))
        return None

    def _imported(self, module: str) -> Way | None:
        if module in self.startup.modules:
            return Way(())
        for name, line in self._importers(module):
            way = self.imported(name)
            if way is not None and (parsed := self._parse(name)):
                return Way((parsed.place(line), *way.through))
        return None

    def _importers(self, module: str) -> Iterator[tuple[str, int]]:
        """Name the modules that import one at their top level, under no condition; what is below it imports it too."""
        inside = f"{module}."
        for below in self.world.python.modules:
            if below in self.startup.modules and below.startswith(inside):
                yield below, 1
                return
        for name in self._below(module.rpartition(".")[2].encode()):
            parsed = self._parse(name) if name != module else None
            if parsed is None:
                continue
            for one in bindings(parsed.tree.body):
                if (
                    one.always
                    and not one.tried
                    and any(asked == module or asked.startswith(inside) for asked in self._asked(one.statement, parsed))
                ):
                    yield name, one.statement.lineno
                    break

    def _asked(self, statement: ast.stmt, module: Module) -> Iterator[str]:
        match statement:
            case ast.Import(names=names):
                yield from (one.name for one in names)
            case ast.ImportFrom(names=names):
                source = import_source(statement, module)
                yield source
                yield from (f"{source}.{one.name}" for one in names)
            case _:
                return

    def _called(self, function: Definer, module: Module, depth: int) -> Way | None:
        if function.name in self.startup.functions:
            return Way((module.place(function.lineno),))
        if not depth or function.name.startswith("__"):
            return None
        for name in self._below(f"{function.name}(".encode()):
            parsed = self._parse(name)
            for call, context in _calls(parsed, function.name) if parsed else ():
                caller = _outermost(context.scope)
                if caller is None or caller is function or context.catches("ImportError"):
                    continue
                way = self._called(caller, context.scope.module, depth - 1)
                if way is not None:
                    place = context.scope.module.place(call.lineno)
                    return Way((place, *way.through), (*context.conditions, *way.conditions))
        return None

    def _caught(self, registry: Module, owner: ast.ClassDef) -> tuple[Place, ...]:
        """Find each ``try`` that loads through the table and takes an import error as an answer."""
        found: list[Place] = []
        methods = {one.name for one in owner.body if isinstance(one, FUNCTIONS) and _loads(one)}
        if not methods:
            return ()
        for name in self._below(owner.name.encode()):
            parsed = self._parse(name)
            if parsed is None or parsed is registry:
                continue
            wrappers = {one.name for one in parsed.tree.body if isinstance(one, FUNCTIONS) and _calls_any(one, methods)}
            for node in ast.walk(parsed.tree):
                caught = isinstance(node, ast.Try) and bool(caught_by(node)[0] & _IMPORT_ERRORS)
                if (
                    caught
                    and isinstance(node, ast.Try)
                    and any(_calls_any(one, methods | wrappers) for one in node.body)
                ):
                    found.append(parsed.place(node.handlers[0].lineno))
        return tuple(found)

    def _below(self, word: bytes) -> Iterator[str]:
        for package in sorted(self.packages):
            yield from self.world.python.holding(word, below=package)

    def _parse(self, name: str) -> Module | None:
        if name not in self._seen:
            self._seen.add(name)
        if len(self._seen) > _MOST_MODULES:
            return None
        found = self.world.python.parsed(name)
        return found if isinstance(found, Module) else None


def _outermost(scope: Scope) -> Definer | None:
    """Give the function that is called to get to a scope: the outermost one below the module or class."""
    found: Definer | None = None
    at: Scope | None = scope
    while at is not None and at.node is not None:
        if isinstance(at.node, FUNCTIONS):
            found = at.node
        at = at.around
    return found


def _calls(module: Module, name: str) -> Iterator[tuple[ast.Call, Context]]:
    scope = Scope(module, None, None, Names(module.tree.body))
    yield from _calls_in(module.tree.body, Context(scope), name)


def _calls_in(body: list[ast.stmt], context: Context, name: str) -> Iterator[tuple[ast.Call, Context]]:
    for statement in body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield from _calls_in(statement.body, Context(context.scope.inner(statement)), name)
            case ast.If(test=test, body=then, orelse=orelse):
                yield from _calls_in(then, context.given(test, holds=True), name)
                yield from _calls_in(orelse, context.given(test, holds=False), name)
                if leaves(then):
                    context = context.given(test, holds=False)
            case ast.Try():
                yield from _calls_in(statement.body, context.catching(*caught_by(statement)), name)
                yield from _calls_in([*statement.orelse, *statement.finalbody], context, name)
            case ast.With(body=inner) | ast.For(body=inner) | ast.While(body=inner):
                yield from _calls_in(inner, context, name)
            case _:
                for node in ast.walk(statement):
                    if isinstance(node, ast.Call) and last_name(node.func) == name:
                        yield node, context


def _calls_any(node: ast.AST, names: set[str]) -> bool:
    return any(isinstance(one, ast.Call) and last_name(one.func) in names for one in ast.walk(node))


def _loads(node: ast.AST) -> bool:
    return _calls_any(node, {"import_module", "resolve_obj_by_qualname", "__import__", "import_string"})


def _spells(owner: ast.ClassDef, module: str) -> int:
    for node in ast.walk(owner):
        text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
        if isinstance(node, ast.Constant) and (text == module or text.startswith((f"{module}.", f"{module}:"))):
            return node.lineno
    return 0
