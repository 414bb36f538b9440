"""Who imports a module? Statements, and calls that name it in a string, each with what stands around it."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from dayzero.audit.installed import PythonFiles
from dayzero.audit.python.approach import parts_in
from dayzero.audit.python.bindings import FUNCTIONS
from dayzero.audit.python.context import Context
from dayzero.audit.python.reach import spelled
from dayzero.audit.python.scope import module_scope
from dayzero.audit.python_source import Module, import_source, last_name, nodes_of

_IMPORTS = frozenset({"import_module", "__import__"})


@dataclass(frozen=True, slots=True, eq=False)
class Site:
    """One place that imports a module: its line, and what stands around it."""

    context: Context
    line: int

    @property
    def stops_import(self) -> bool:
        """Whether the module that it stands in cannot be imported where this import fails."""
        bare = self.context.scope.node is None and not self.context.conditions
        return bare and not self.context.catches("ImportError")


def import_sites(python: PythonFiles, wanted: str) -> Iterator[Site]:
    """Find who imports a module, among the modules of its own top-level package.

    Args:
        python: All modules.
        wanted: The module's dotted name.
    """
    top, last = wanted.split(".", 1)[0], wanted.rpartition(".")[2]
    for name in python.holding(last.encode(), below=top):
        text = python.text(name)
        package = python.modules[name].path.endswith("__init__.py")
        asked = wanted in spelled(text, name, package=package, margin=False)
        if asked or any(f"{quote}{wanted}{quote}".encode() in text for quote in "\"'"):
            parsed = python.parsed(name)
            if isinstance(parsed, Module):
                yield from _in_module(parsed, wanted)


def _in_module(module: Module, wanted: str) -> Iterator[Site]:
    scope = module_scope(module)
    for part, context in parts_in(module.tree.body, Context(scope)):
        match part:
            case ast.Import(names=names, lineno=line) if any(one.name == wanted for one in names):
                yield Site(context, line)
            case ast.ImportFrom(names=names, lineno=line):
                source = import_source(part, module)
                if source == wanted or any(f"{source}.{one.name}" == wanted for one in names):
                    yield Site(context, line)
            case _:
                yield from _called(part, context, wanted)


def _called(part: ast.AST, context: Context, wanted: str) -> Iterator[Site]:
    for node in nodes_of(part):
        match node:
            case ast.Call(func=func, args=[ast.Constant(value=word), *_], lineno=line) if word == wanted:
                name = last_name(func)
                if name in _IMPORTS:
                    yield Site(context, line)
                elif (caught := _caught_in(context.scope.module, name)) is not None:
                    yield Site(context.catching(caught, frozenset()), line)
            case _:
                continue


def _caught_in(module: Module, name: str) -> frozenset[str] | None:
    """Say what a function of the module catches around its import of the module that it is given; ``None`` where it has none."""
    for node in module.tree.body:
        if isinstance(node, FUNCTIONS) and node.name == name:
            scope = module_scope(module).inner(node)
            for part, context in parts_in(node.body, Context(scope)):
                if any(isinstance(one, ast.Call) and last_name(one.func) in _IMPORTS for one in nodes_of(part)):
                    return context.caught
    return None
