"""Which of an engine's own capability probes are false on this build, and who asks them?"""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from dayzero.audit.python.bindings import FUNCTIONS
from dayzero.audit.python.gates import Gates
from dayzero.audit.python.values import Absent, FunctionValue
from dayzero.audit.python.world import World
from dayzero.audit.python_source import Definition, Module, last_name

_PROBING = re.compile(rb"hasattr\(|find_spec\(|except\s+\(?\s*(?:ImportError|ModuleNotFoundError)|getattr\(")
_ANSWERS = re.compile(r"(?:^|_)(?:has|is|can|support|supports|supported|available|enabled|check)(?:_|$)")
_MOST_ASKERS = 6


@dataclass(frozen=True, slots=True, eq=False)
class Lane:
    """A probe that is false on this build.

    Attributes:
        probe: The function.
        lost: What it looks for in vain.
        askers: The functions that ask it, each with its module and line.
    """

    probe: Definition
    lost: Absent
    askers: tuple[tuple[Module, str, int], ...]


def closed_lanes(world: World, gates: Gates, packages: frozenset[str], speaking: tuple[str, ...]) -> Iterator[Lane]:
    """Give each probe of an engine that is false because of what its libraries lack.

    Args:
        world: The modules.
        gates: What answers conditions.
        packages: The engine's top-level packages.
        speaking: Its modules that speak of the libraries.
    """
    for name in speaking:
        for definition in probes(world, name):
            gates.lost.clear()
            if gates.function(FunctionValue(definition)) is False and gates.lost:
                yield Lane(definition, gates.lost[-1], tuple(_askers(world, packages, definition))[:_MOST_ASKERS])


def probes(world: World, module: str) -> Iterator[Definition]:
    """Give the probes of a module: its functions that ask for something and are named so."""
    scope = world.scope(module) if _PROBING.search(world.python.text(module)) else None
    for statement in scope.module.tree.body if scope else ():
        if scope and isinstance(statement, FUNCTIONS) and _ANSWERS.search(statement.name):
            definition = scope.inner(statement).definition()
            if definition:
                yield definition


def _askers(world: World, packages: frozenset[str], probe: Definition) -> Iterator[tuple[Module, str, int]]:
    name = probe.node.name
    for package in sorted(packages):
        for module in world.python.holding(f"{name}(".encode(), below=package):
            parsed = world.python.parsed(module)
            if isinstance(parsed, Module):
                yield from ((parsed, around, line) for around, line in _calls(parsed.tree, name, "") if around)


def _calls(node: ast.AST, name: str, around: str) -> Iterator[tuple[str, int]]:
    for child in ast.iter_child_nodes(node):
        inner = around
        if isinstance(child, (*FUNCTIONS, ast.ClassDef)):
            inner = f"{around}.{child.name}" if around else child.name
        elif isinstance(child, ast.Call) and last_name(child.func) == name:
            yield around, child.lineno
        yield from _calls(child, name, inner)
