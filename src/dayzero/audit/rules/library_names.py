"""Does each module and name that a library imports from another, as soon as it is imported itself, exist there?"""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.installed import Distribution, Installed, PythonFiles, once
from dayzero.audit.python.approach import Calls
from dayzero.audit.python.bindings import bindings
from dayzero.audit.python.reach import Reach, Startup
from dayzero.audit.python.study import engine_study
from dayzero.audit.python.values import Absent, Value
from dayzero.audit.python.world import World
from dayzero.audit.python_source import Module, import_source
from dayzero.audit.requirements import asked_by
from dayzero.audit.rules import Subject
from dayzero.core.verdict import Place

_ID = "library-name"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Lack:
    """What a library imports in vain.

    Attributes:
        library: Who imports.
        top: The package whose import fails by it.
        place: Where.
        absent: What is not there.
    """

    library: Distribution
    top: str
    place: Place
    absent: Absent


class LibraryNames:
    """Implements ``audit.rules.Rule``."""

    id: str = _ID
    question: str = "Does each name that a library imports from another one, as soon as it is imported, exist there?"

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Follow the imports of each library from its top-level packages, without those under a condition or in a ``try``."""
        for lack in _lacking(subject.installed):
            yield self._finding(subject.installed, lack)

    def _finding(self, installed: Installed, lack: _Lack) -> Finding:
        holder = installed.python.packages.get(lack.absent.owner.split(".", 1)[0])
        started = _imported_at_start(installed, lack.top)
        what = f"module {lack.absent.name}" if lack.absent.kind == "module" else f"name {lack.absent.name}"
        where = "" if lack.absent.kind == "module" else f" in {lack.absent.owner}"
        return Finding(
            self.id,
            Severity.START if started else Severity.OPT_IN,
            f"{lack.library} cannot be imported: {holder} has no {what}{where}",
            lack.place,
            lack.absent.place,
            f"Install releases of {lack.library.name} and {holder.name if holder else 'the other'} that go together.",
            "" if started else f"{lack.top} is imported",
            Applies.YES if started else Applies.UNKNOWN,
        )


@once
def _lacking(installed: Installed) -> tuple[_Lack, ...]:
    """Look through the libraries that the engine asks for, once for whatever is to be served with them."""
    needed = {one.name for one in asked_by(installed.engine)}
    found: list[_Lack] = []
    for library in installed.others:
        if library.name in needed:
            found += _lacking_in(installed.python, library, installed.engine)
    return tuple(found)


def _lacking_in(python: PythonFiles, library: Distribution, engine: Distribution) -> Iterator[_Lack]:
    own = frozenset(top for top, of in python.packages.items() if of is library)
    targets = {top for top, of in python.packages.items() if of not in (library, engine)}
    for top in sorted(own):
        speaking = frozenset(name for one in sorted(targets) for name in python.holding(one.encode(), below=top))
        world = World(python, frozenset(own), speaking)
        reach = Reach(world, frozenset({top}), Startup(modules=frozenset({top}), functions=frozenset()), Calls())
        for name in sorted(speaking):
            module = python.parsed(name) if reach.may_import(name) and reach.imported(name) is not None else None
            if isinstance(module, Module):
                for place, absent in _in_vain(world, module, targets):
                    yield _Lack(library=library, top=top, place=place, absent=absent)


def _in_vain(world: World, module: Module, targets: set[str]) -> Iterator[tuple[Place, Absent]]:
    for one in bindings(module.tree.body):
        if not one.always:
            continue
        place = module.place(one.statement.lineno)
        for value in _imported(world, module, one.statement, one.name, targets):
            if isinstance(value, Absent) and not value.lazy:
                yield place, value


def _imported(world: World, module: Module, statement: ast.stmt, name: str, targets: set[str]) -> Iterator[Value]:
    place = module.place(statement.lineno)
    match statement:
        case ast.Import(names=names):
            asked = (one.name for one in names if (one.asname or one.name.split(".", 1)[0]) == name)
            yield from (world.module_value(one, place) for one in asked if one.split(".", 1)[0] in targets)
        case ast.ImportFrom(names=names):
            source = import_source(statement, module)
            real = next((one.name for one in names if (one.asname or one.name) == name), "*")
            if source.split(".", 1)[0] in targets and real != "*":
                yield world.imported_from(source, real, place)
        case _:
            return


def _imported_at_start(installed: Installed, top: str) -> bool:
    """Say whether every start of the engine imports a package."""
    study = engine_study(installed)
    words = (f"import {top}".encode(), f"from {top}".encode())
    for package in sorted(study.packages):
        for name in installed.python.holding(*words, below=package):
            module = installed.python.parsed(name) if study.reach.imported(name) is not None else None
            for one in bindings(module.tree.body) if isinstance(module, Module) else ():
                if one.always and _asks(one.statement, top):
                    return True
    return False


def _asks(statement: ast.stmt, top: str) -> bool:
    match statement:
        case ast.Import(names=names):
            return any(one.name.split(".", 1)[0] == top for one in names)
        case ast.ImportFrom(module=str(source), level=0):
            return source.split(".", 1)[0] == top
        case _:
            return False


RULE: Final = LibraryNames()
