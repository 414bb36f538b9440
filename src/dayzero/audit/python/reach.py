"""Is a line reached at every start? Follow imports and calls back from it to what an engine's processes start with."""

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from itertools import islice

from dayzero.audit.python.approach import Calls, outermost
from dayzero.audit.python.bindings import FUNCTIONS, Definer, bindings
from dayzero.audit.python.context import Condition, caught_by
from dayzero.audit.python.scope import Scope
from dayzero.audit.python.world import World
from dayzero.audit.python_source import Module, import_source, last_name, nodes_of, statements_of
from dayzero.core.verdict import Place

_MOST_MODULES = 400
# import a, b / from .a import b / from a import (b, c), also over several lines and with comments.
_IMPORT = rb"(?:import[ \t]+([^\n#]*)|from[ \t]+(\.*)[ \t]*([\w.]*)[ \t]+import[ \t]*(\((?:[^)#]|#[^\n]*)*\)|(?:[^\n\\]|\\\r?\n)*))"
_MARGIN, _ANYWHERE = (re.compile(start + _IMPORT, re.MULTILINE) for start in (rb"^", rb"^[ \t]*"))
_ON_CUDA = re.compile(rb"^if [\w.]*\bis_cuda\(\):[^\n]*\n((?:[ \t][^\n]*\n|\n)+)", re.MULTILINE)
_MOST_CALLS = 4
_MOST_CALLERS = 16
# Folders with the code for GPUs of other makers, which a start on this one does not import.
_ELSEWHERE = frozenset({"amd", "rocm", "xpu", "cpu", "npu", "hpu", "tpu"})
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
        calls: Calls by module.
    """

    world: World
    packages: frozenset[str]
    startup: Startup
    calls: Calls
    _seen: set[str] = field(default_factory=set)
    _known: dict[str, Way | None] = field(default_factory=dict)
    _loaders: dict[str, Loader | None] = field(default_factory=dict)
    _classes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _margin: set[str] = field(default_factory=set)
    _calling: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _at_margin: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _loading: dict[frozenset[str], "Reach"] = field(default_factory=dict)

    def imported(self, module: str) -> Way | None:
        """Say how a start imports a module without any condition; ``None`` where it is not shown to."""
        self._seen.clear()
        return self._way_to(module)

    def may_import(self, module: str) -> bool:
        """Say whether a start may import a module: what it imports at the left margin, under whatever condition."""
        return module in self._from_start()

    def imported_with(self, module: str, architectures: Iterable[str]) -> Way | None:
        """Say how the modules that hold a model's classes import a module; ``None`` where they are not shown to."""
        roots = frozenset(one for name in architectures for one in self._holders(name))
        if not roots:
            return None
        if roots not in self._loading:
            loading = Reach(self.world, self.packages, Startup(modules=roots, functions=frozenset()), self.calls)
            loading._at_margin = self._at_margin
            self._loading[roots] = loading
        return self._loading[roots].imported(module)

    def _holders(self, name: str) -> tuple[str, ...]:
        """Name the modules that define a class, without those for another maker's GPUs."""
        if name not in self._classes:
            found = (one for one in self._below(f"class {name}(".encode()) if not _ELSEWHERE & set(one.split(".")))
            self._classes[name] = tuple(found)
        return self._classes[name]

    def _way_to(self, module: str) -> Way | None:
        if module not in self._known:
            self._known[module] = None
            self._known[module] = self._imported(module)
        return self._known[module]

    def called(self, scope: Scope) -> Way | None:
        """Say how a start calls the function around a line; ``None`` where it is not shown to."""
        self._seen.clear()
        function = outermost(scope)
        return self._called(function, scope.module, _MOST_CALLS) if function else None

    def loader(self, module: str) -> Loader | None:
        """Find who holds the module's path as a string to import it by, as a table of backends does."""
        if module not in self._loaders:
            self._seen.clear()
            self._loaders[module] = self._loader(module)
        return self._loaders[module]

    def _loader(self, module: str) -> Loader | None:
        word = module.encode()
        for name in self._below(word):
            parsed = self._parse(name)
            if parsed is None or name == module:
                continue
            for owner in (one for one in statements_of(parsed.tree) if isinstance(one, ast.ClassDef)):
                line = _spells(owner, module)
                if line:
                    return Loader(parsed.place(line), self._caught(parsed, owner))
        return None

    def _imported(self, module: str) -> Way | None:
        if module in self.startup.modules:
            return Way(())
        if module not in self._from_start():
            return None
        for name, line in self._importers(module):
            way = self._way_to(name)
            if way is not None and (parsed := self._parse(name)):
                return Way((parsed.place(line), *way.through))
        return None

    def _from_start(self) -> set[str]:
        """Give all that a start can import by lines at the left margin, read as text: what is not among it need not be parsed."""
        modules = self.world.python.modules
        waiting = [one for name in self.startup.modules for one in with_parents(name)] if not self._margin else []
        while waiting:
            name = waiting.pop()
            if name in modules and name not in self._margin and name.split(".", 1)[0] in self.packages:
                self._margin.add(name)
                waiting += (one for asked in self._spelled(name) for one in with_parents(asked))
        return self._margin

    def _spelled(self, name: str) -> tuple[str, ...]:
        if name not in self._at_margin:
            package = self.world.python.modules[name].path.endswith("__init__.py")
            text = _at_margin(self.world.python.text(name))
            self._at_margin[name] = tuple(dict.fromkeys(spelled(text, name, package=package)))
        return self._at_margin[name]

    def _importers(self, module: str) -> Iterator[tuple[str, int]]:
        """Name the modules that import one at their top level, under no condition; what is below it imports it too."""
        inside = f"{module}."
        for below in self.world.python.modules:
            if below in self.startup.modules and below.startswith(inside):
                yield below, 1
                return
        for name in self._below(module.rpartition(".")[2].encode()):
            parsed = self._parse(name) if name != module and name in self._from_start() else None
            if parsed is None:
                continue
            for one in bindings(_unfolded(parsed.tree.body), walrus=False):
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
        for name in self._callers(function.name):
            parsed = self._parse(name)
            for call, context in self.calls.of(parsed, function.name) if parsed else ():
                caller = outermost(context.scope)
                if caller is None or caller is function or context.catches("ImportError"):
                    continue
                way = self._called(caller, context.scope.module, depth - 1)
                if way is not None:
                    place = context.scope.module.place(call.lineno)
                    return Way((place, *way.through), (*context.conditions, *way.conditions))
        return None

    def _callers(self, name: str) -> tuple[str, ...]:
        """Name the files that call a function; none where they are many: those are functions of one name, not one function."""
        if name not in self._calling:
            found = tuple(islice(self._below(f"{name}(".encode()), _MOST_CALLERS + 1))
            self._calling[name] = found if len(found) <= _MOST_CALLERS else ()
        return self._calling[name]

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
            for node in statements_of(parsed.tree):
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
        self._seen.add(name)
        if len(self._seen) > _MOST_MODULES:
            return None
        found = self.world.python.parsed(name)
        return found if isinstance(found, Module) else None


def with_parents(name: str) -> list[str]:
    """Give a module and the packages above it, which its import imports too."""
    parts = name.split(".")
    return [".".join(parts[:count]) for count in range(1, len(parts) + 1)]


def spelled(text: bytes, module: str, *, package: bool, margin: bool = True) -> Iterator[str]:
    """Name what the import statements of a text may import; some of it may be no module.

    Args:
        text: The file.
        module: Its module.
        package: Whether that is a package.
        margin: Whether only statements at the left margin count.
    """
    for found in (_MARGIN if margin else _ANYWHERE).finditer(text):
        plain, dots, source, names = (one.decode("utf-8", "replace") if one else "" for one in found.groups())
        if plain:
            yield from re.findall(r"[\w.]+", plain)
            continue
        parts = module.split(".")
        up = len(dots) - package
        around = parts[: len(parts) - up] if dots else []
        base = ".".join([*around, *([source] if source else [])])
        yield base
        yield from (f"{base}.{one}" for one in re.findall(r"\w+", names))


def _at_margin(text: bytes) -> bytes:
    """Move what stands under ``if current_platform.is_cuda():`` to the left margin, as :func:`_unfolded` does."""
    return _ON_CUDA.sub(lambda block: re.sub(rb"^(?: {4}|\t)", b"", block[1], flags=re.MULTILINE), text)


def _unfolded(body: list[ast.stmt]) -> list[ast.stmt]:
    """Put what stands under ``if current_platform.is_cuda():`` in its place: other makers' GPUs are not followed."""
    asks = (
        isinstance(one, ast.If) and isinstance(one.test, ast.Call) and last_name(one.test) == "is_cuda" for one in body
    )
    parts = (one.body if yes and isinstance(one, ast.If) else [one] for one, yes in zip(body, asks, strict=True))
    return [inner for part in parts for inner in part]


def _calls_any(node: ast.AST, names: set[str]) -> bool:
    return any(isinstance(one, ast.Call) and last_name(one.func) in names for one in nodes_of(node))


def _loads(node: ast.AST) -> bool:
    return _calls_any(node, {"import_module", "resolve_obj_by_qualname", "__import__", "import_string"})


def _spells(owner: ast.ClassDef, module: str) -> int:
    for node in nodes_of(owner):
        text = node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
        if isinstance(node, ast.Constant) and (text == module or text.startswith((f"{module}.", f"{module}:"))):
            return node.lineno
    return 0
