"""Collect the Python code that a function can reach inside its build, definition by definition.

What is followed: names of the function's own module, names that it imports from other modules of the build, and attributes of such
modules, as long as they lie within the modules that are declared to make up the kernel. What is not: everything else of the build,
which is named, other distributions, attributes of objects, and names that are put together at run time.
"""

import ast
import hashlib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from dayzero.core.errors import InputError
from dayzero.core.verdict import Place, Undecided
from dayzero.perfdb.ports import BuildText
from dayzero.perfdb.rebase.normal import here, normal

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_IMPORTS = (ast.Import, ast.ImportFrom)
_STAR = "*"
_MOST_DEFINITIONS = 4000


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """One top-level statement that gives a name its meaning.

    Attributes:
        name: The name.
        file: Where it stands.
        line: 1-based.
        sha256: Digest of the statement, see :func:`~dayzero.perfdb.rebase.normal.normal`.
    """

    name: str
    file: str
    line: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Code:
    """What some functions can reach.

    Attributes:
        artifact: The build.
        definitions: What was followed, by name, digest and place.
        outside: Dotted names that were not followed.
    """

    artifact: str
    definitions: tuple[Definition, ...]
    outside: tuple[str, ...]

    def place(self, one: Definition) -> Place:
        """Name where a definition stands."""
        return Place(artifact=self.artifact, file=one.file, position=f"line {one.line}")


@dataclass(slots=True)
class _Module:
    name: str
    file: str
    package: bool
    bound: dict[str, list[ast.stmt]]


@dataclass(slots=True)
class CodeReader:
    """Reads the code of one build; each file is parsed once.

    Attributes:
        text: The build.
        within: Modules that are followed, each with what is below it.
    """

    text: BuildText
    within: frozenset[str]
    _names: frozenset[str] = field(init=False)
    _parsed: dict[str, _Module | str] = field(init=False, default_factory=dict)
    _followed: dict[tuple[str, str], tuple[tuple[Definition, ...], tuple[tuple[str, str], ...], tuple[str, ...]]] = (
        field(init=False, default_factory=dict)
    )

    def __post_init__(self) -> None:
        """List the files once."""
        self._names = frozenset(self.text.names())

    def read(self, entries: Sequence[str]) -> Code | Undecided:
        """Collect what some functions reach.

        Args:
            entries: Each as ``FILE::NAME``; ``FILE|FILE::NAME`` where it has moved between builds: the first that is there counts.
        """
        waiting: deque[tuple[str, str]] = deque()
        for entry in entries:
            files, _, name = entry.partition("::")
            file = next((one for one in files.split("|") if one in self._names), "")
            found = self._module(file) if file else f"{files.split('|')[-1]} is not in {self.text.artifact}"
            if isinstance(found, str):
                return Undecided(found)
            if name not in found.bound:
                return Undecided(f"{file} of {self.text.artifact} has no {name}")
            waiting.append((file, name))
        return self._reached(waiting)

    def _reached(self, waiting: deque[tuple[str, str]]) -> Code | Undecided:
        seen = set(waiting)
        found: list[Definition] = []
        beyond: set[str] = set()
        while waiting:
            file, name = waiting.popleft()
            module = self._module(file)
            if isinstance(module, str):
                return Undecided(module)
            definitions, next_, outside = self._follow(module, name)
            found.extend(definitions)
            beyond.update(outside)
            waiting.extend(target for target in next_ if target not in seen)
            seen.update(next_)
            if len(seen) > _MOST_DEFINITIONS:
                return Undecided(f"more than {_MOST_DEFINITIONS} definitions are reached in {self.text.artifact}")
        ordered = tuple(sorted(found, key=lambda one: (one.name, one.sha256, one.file, one.line)))
        return Code(artifact=self.text.artifact, definitions=ordered, outside=tuple(sorted(beyond)))

    def _follow(
        self, module: _Module, name: str
    ) -> tuple[tuple[Definition, ...], tuple[tuple[str, str], ...], tuple[str, ...]]:
        key = module.file, name
        if key not in self._followed:
            statements = module.bound.get(name, ())
            named = dict.fromkeys(dotted for one in statements for dotted in self._named(module, name, one))
            found = [self._resolved(dotted) for dotted in named]
            self._followed[key] = (
                tuple(_definition(module, name, one) for one in statements if not isinstance(one, _IMPORTS)),
                tuple(target for target in found if not isinstance(target, str)),
                tuple(target for target in found if isinstance(target, str)),
            )
        return self._followed[key]

    def _named(self, module: _Module, name: str, statement: ast.stmt) -> Iterator[str]:
        """Give the dotted names that a statement refers to; those of its own module too."""
        if isinstance(statement, _IMPORTS):
            yield from (dotted for alias, dotted in _imported(module, statement) if alias == name)
            return
        tree = here(statement)
        local = {a: d for one in ast.walk(tree) if isinstance(one, _IMPORTS) for a, d in _imported(module, one)}
        for node in ast.walk(tree):
            chain = _chain(node)
            if chain and chain[0] in local:
                yield ".".join((local[chain[0]], *chain[1:]))
            elif chain and chain[0] in module.bound and chain != (name,):
                yield from self._of_own(module, chain)
            elif chain and _STAR in module.bound and chain[0] not in module.bound:
                yield from (f"{whole}{chain[0]}" for whole in _whole(module))

    def _of_own(self, module: _Module, chain: tuple[str, ...]) -> Iterator[str]:
        """Lead a name of a module to what it stands for: through an import of a module right to the attribute."""
        statements = module.bound[chain[0]]
        imports = [
            d for one in statements if isinstance(one, _IMPORTS) for a, d in _imported(module, one) if a == chain[0]
        ]
        if len(imports) < len(statements) or not imports:
            yield f"{module.name}.{chain[0]}"
        for dotted in imports:
            whole = self._file(dotted) is not None
            yield ".".join((dotted, *chain[1:])) if whole else dotted

    def _resolved(self, dotted: str) -> tuple[str, str] | str:
        """Find the definition behind a dotted name; the name itself where it is not followed."""
        parts = dotted.split(".")
        if not any(".".join(parts[:end]) in self.within for end in range(len(parts), 0, -1)):
            return dotted
        for end in range(len(parts) - 1, 0, -1):
            file = self._file(".".join(parts[:end]))
            if file is not None:
                module = self._module(file)
                known = isinstance(module, str) or parts[end] in module.bound  # one that cannot be read is met later
                return (file, parts[end]) if known else dotted
        return dotted

    def _file(self, dotted: str) -> str | None:
        path = dotted.replace(".", "/")
        return next((one for one in (f"{path}.py", f"{path}/__init__.py") if one in self._names), None)

    def _module(self, file: str) -> _Module | str:
        if file not in self._parsed:
            self._parsed[file] = self._parse(file)
        return self._parsed[file]

    def _parse(self, file: str) -> _Module | str:
        try:
            tree = ast.parse(self.text.read(file))
        except (InputError, SyntaxError, ValueError, RecursionError) as error:
            return f"{file} of {self.text.artifact} cannot be read: {type(error).__name__}"
        package = file.endswith("/__init__.py")
        name = file.removesuffix("/__init__.py").removesuffix(".py").replace("/", ".")
        bound: dict[str, list[ast.stmt]] = {}
        for statement in tree.body:
            for one in dict.fromkeys(_binds(statement)):
                bound.setdefault(one, []).append(statement)
        return _Module(name=name, file=file, package=package, bound=bound)


def differing(one: Code, other: Code) -> tuple[Definition | None, Definition | None] | None:
    """Give the first definition that two builds do not have in common, in each of them; ``None`` where they have the same.

    Files do not count: code that has only moved is the same.
    """
    first, second = _by_name(one), _by_name(other)
    for name in sorted(first.keys() | second.keys()):
        mine, theirs = first.get(name, {}), second.get(name, {})
        if mine.keys() != theirs.keys():
            left = next((mine[d] for d in mine if d not in theirs), None)
            right = next((theirs[d] for d in theirs if d not in mine), None)
            return left, right
    return None


def _by_name(code: Code) -> Mapping[str, Mapping[str, Definition]]:
    found: dict[str, dict[str, Definition]] = {}
    for one in code.definitions:
        found.setdefault(one.name, {})[one.sha256] = one
    return found


def _definition(module: _Module, name: str, statement: ast.stmt) -> Definition:
    digest = hashlib.sha256(normal(statement).encode()).hexdigest()
    return Definition(name=name, file=module.file, line=statement.lineno, sha256=digest)


def _binds(statement: ast.stmt) -> Iterator[str]:
    """Name what a top-level statement gives a meaning to; what is below a condition counts with the whole of it."""
    if isinstance(statement, _DEFINITIONS):
        yield statement.name
        return
    waiting: list[ast.AST] = [statement]
    while waiting:
        node = waiting.pop()
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
                continue
            case ast.Import() | ast.ImportFrom():
                yield from (alias.asname or alias.name.split(".")[0] for alias in node.names)
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case _:
                pass
        waiting.extend(ast.iter_child_nodes(node))


def _imported(module: _Module, node: ast.Import | ast.ImportFrom) -> Iterator[tuple[str, str]]:
    """Give each name that an import binds, and the dotted name that it stands for."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            yield alias.asname or alias.name.split(".")[0], alias.name if alias.asname else alias.name.split(".")[0]
        return
    parts = module.name.split(".")
    base = parts[: len(parts) - node.level + module.package] if node.level else []
    start = ".".join([*base, *([node.module] if node.module else [])])
    for alias in node.names:
        yield alias.asname or alias.name, f"{start}.{alias.name}"


def _whole(module: _Module) -> Iterator[str]:
    """Give the modules of which a module imports every name, each with a dot."""
    for statement in module.bound[_STAR]:
        for one in ast.walk(statement):
            if isinstance(one, ast.ImportFrom):
                yield from (dotted.removesuffix(_STAR) for alias, dotted in _imported(module, one) if alias == _STAR)


def _chain(node: ast.AST) -> tuple[str, ...]:
    """Read ``a.b.c`` off a node; nothing where it is no such chain."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return (node.id, *reversed(parts)) if isinstance(node, ast.Name) else ()
