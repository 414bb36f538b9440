"""Find definitions in a build's Python files by reading them as text: nothing is imported or run.

A file is parsed only where its bytes hold the name in question, so that a whole environment can be searched.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dayzero.audit.folded import Text, syntax
from dayzero.audit.ports import BuildFiles
from dayzero.core.errors import DayzeroError
from dayzero.core.verdict import Place

_LARGEST_BYTES = 16 << 20
_QUOTE = 200

Definer: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
# What holds statements: the fields of statements, and of the parts of ``try`` and ``match``, in the order of their grammar.
_BLOCKS = ("cases", "body", "handlers", "orelse", "finalbody")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Module:
    """One Python file of a build. Equal to itself only: it is parsed once.

    Attributes:
        artifact: What holds it.
        file: Its path there.
        name: As it is imported (``vllm.attention.layer``).
        tree: Its syntax.
        text: Its text.
    """

    artifact: str
    file: str
    name: str
    tree: ast.Module
    text: Text

    def place(self, line: int) -> Place:
        """Name a line of it, 1-based."""
        quote = self.text.line(line).strip()[:_QUOTE]
        return Place(artifact=self.artifact, file=self.file, position=f"line {line}", quote=quote)

    def whole(self) -> Place:
        """Name the file as a whole."""
        return Place(artifact=self.artifact, file=self.file)


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A function or class, and where it stands.

    Attributes:
        module: The file.
        qualname: Its ``__qualname__``.
        node: Its syntax.
    """

    module: Module
    qualname: str
    node: Definer

    def place(self) -> Place:
        """Name its first line."""
        return self.module.place(self.node.lineno)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """The modules that hold a word, and the files that hold it and cannot be parsed."""

    modules: tuple[Module, ...]
    unread: tuple[Place, ...]

    def definitions(self, qualname: str) -> tuple[Definition, ...]:
        """Find every definition of that qualified name, those for type checkers alone left out."""
        return tuple(
            found
            for module in self.modules
            for found in definitions(module)
            if found.qualname == qualname and not any(last_name(one) == "overload" for one in found.node.decorator_list)
        )


def sources(builds: Sequence[BuildFiles], word: str, *, module: str = "") -> Sources:
    """Parse every Python file of some builds that holds a word; with ``module``, only the file that is that module."""
    modules, unread = [], []
    for files in builds:
        for name in sorted(files.names()):
            if name.endswith(".py") and module in {"", module_name(name)}:
                found = _parsed(files, name, word)
                if isinstance(found, Module):
                    modules.append(found)
                elif isinstance(found, Place):
                    unread.append(found)
    return Sources(modules=tuple(modules), unread=tuple(unread))


def module_name(file: str) -> str:
    """Give the name under which a file is imported; a wheel's ``x.data/purelib/`` is where it is installed from."""
    parts = file.removesuffix(".py").split("/")
    if parts[0].endswith(".data") and len(parts) > 2:  # noqa: PLR2004  (x.data, purelib, and the rest)
        parts = parts[2:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def import_source(node: ast.ImportFrom, module: Module) -> str:
    """Name the module that a ``from`` statement asks, relative ones too."""
    if not node.level:
        return node.module or ""
    parts = module.name.split(".")
    up = node.level - (1 if module.file.endswith("__init__.py") else 0)
    parts = parts[: len(parts) - up] if up else parts
    return ".".join((*parts, *((node.module,) if node.module else ())))


def definitions(module: Module) -> Iterator[Definition]:
    """Give each function and class of a module with its qualified name, also those under conditions."""
    waiting: list[tuple[str, ast.AST]] = [("", module.tree)]
    while waiting:
        scope, node = waiting.pop()
        for child in ast.iter_child_nodes(node):
            inner = scope
            if isinstance(child, _SCOPES):
                qualname = f"{scope}{child.name}"
                yield Definition(module=module, qualname=qualname, node=child)
                inner = f"{qualname}." if isinstance(child, ast.ClassDef) else f"{qualname}.<locals>."
            waiting.append((inner, child))


def class_at_top(module: Module, name: str) -> ast.ClassDef | None:
    """Give the class of that name among a module's own statements; ``None`` where there is none."""
    return next((one for one in module.tree.body if isinstance(one, ast.ClassDef) and one.name == name), None)


def class_named(builds: Sequence[BuildFiles], name: str, near: Module) -> Definition | None:
    """Find the one class of that name, in the module that speaks of it or else in all builds; ``None`` unless it is one."""
    here = Sources(modules=(near,), unread=()).definitions(name)
    found = here or sources(builds, f"class {name}").definitions(name)
    return found[0] if len(found) == 1 and isinstance(found[0].node, ast.ClassDef) else None


def nodes_of(node: ast.AST) -> list[ast.AST]:
    """Give a node and every node below it, breadth first as ``ast.walk`` does, without the marks of use (``Load``)."""
    found = [node]
    for one in found:  # grows while it is gone through
        for field in one._fields:
            value = getattr(one, field, None)
            if isinstance(value, list):
                found += [inner for inner in value if isinstance(inner, ast.AST)]
            elif isinstance(value, ast.AST) and field != "ctx":
                found.append(value)
    return found


def statements_of(node: ast.AST) -> list[ast.AST]:
    """Give a node and every statement below it in the order of :func:`nodes_of`; expressions are not gone into."""
    found = [node]
    for one in found:  # grows while it is gone through
        for field in _BLOCKS:
            found += getattr(one, field, ())
    return found


def last_name(node: ast.expr) -> str:
    """Give the last word of a dotted name, of what is called or of what is subscripted; ``""`` for anything else."""
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Call(func=inner) | ast.Subscript(value=inner):
            return last_name(inner)
        case _:
            return ""


def _parsed(files: BuildFiles, name: str, word: str) -> Module | Place | None:
    try:
        content = files.read(name)
    except DayzeroError as error:
        return Place(artifact=files.artifact, file=name, quote=error.message)
    if word.encode() not in content:
        return None
    if len(content) > _LARGEST_BYTES:
        return Place(artifact=files.artifact, file=name, quote="larger than 16 MiB")
    try:
        tree = syntax(content)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return Place(artifact=files.artifact, file=name, quote=f"not parsed: {type(error).__name__}")
    return Module(artifact=files.artifact, file=name, name=module_name(name), tree=tree, text=Text(content))
