"""Study what one distribution asks of others, once for a set of installed files; the rules read it."""

import ast
import re
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion, Version

from dayzero.audit.installed import Distribution, Installed, once
from dayzero.audit.python.approach import Approaches, Calls
from dayzero.audit.python.context import caught_by
from dayzero.audit.python.defaults import Defaults
from dayzero.audit.python.gates import Gates
from dayzero.audit.python.kept_survey import Asking, surveyed
from dayzero.audit.python.lack import Lack
from dayzero.audit.python.lanes import Lane
from dayzero.audit.python.loads import Loads
from dayzero.audit.python.reach import Reach, startup_of
from dayzero.audit.python.scope import Scope
from dayzero.audit.python.world import World
from dayzero.audit.python_source import nodes_of
from dayzero.core.verdict import Place

_OF_IMPORTS = {"ImportError", "ModuleNotFoundError"}
_NOT_SERVED = re.compile(r"(?:^|\.)(?:tests?|testing|benchmarks?|examples?|conftest)(?:\.|$)")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Study:
    """What one distribution asks of others and does not get.

    Attributes:
        installed: All the files.
        asker: Who asks.
        packages: Its top-level packages.
        speaking: Its modules that speak of the others.
        lacks: What it asks in vain, in the order of its files.
        unread: Its modules that speak of the others, and theirs that are asked, that cannot be parsed, each with its place.
        world: Where names are looked up.
        gates: What its conditions answer on this build.
        reach: What a start gets to.
        lanes: Its own probes that are false on this build.
        approaches: Who leads to a line.
        defaults: What holds while nothing is set.
        loads: Which models a module is there for.
    """

    installed: Installed
    asker: Distribution
    packages: frozenset[str]
    speaking: tuple[str, ...]
    lacks: tuple[Lack, ...]
    unread: tuple[tuple[str, Place], ...]
    world: World
    gates: Gates
    reach: Reach
    lanes: tuple[Lane, ...]
    approaches: Approaches
    defaults: Defaults
    loads: Loads

    def distribution_of(self, module: str) -> Distribution | None:
        """Say who holds a module."""
        return self.installed.python.packages.get(module.split(".", 1)[0])


@once
def engine_study(installed: Installed) -> Study:
    """Study what the engine asks of its libraries."""
    targets = frozenset(top for top, of in installed.python.packages.items() if of is not installed.engine)
    return _study(installed, installed.engine, targets)


@once
def plugin_studies(installed: Installed) -> tuple[Study, ...]:
    """Study what each library asks of the engine, where one does; a library's prose speaks of many engines, its imports of few."""
    targets = frozenset(top for top, of in installed.python.packages.items() if of is installed.engine)
    tops = b"|".join(re.escape(one.encode()) for one in sorted(targets))
    asking = re.compile(rb"\b(?:import|from)[ \t]+(?:" + tops + rb""")\b|["'](?:""" + tops + rb""")[.:"']""")
    studies = (_study(installed, other, targets, asking) for other in installed.others if targets)
    return tuple(study for study in studies if study.speaking)


def survey(installed: Installed) -> None:
    """Study all that the rules will, for the sake of what is kept of it."""
    engine_study(installed)
    plugin_studies(installed)


def at_own_pin(asker: Distribution, library: Distribution) -> bool:
    """Say whether the library is a version that the asker's own metadata asks for."""
    for line in asker.requires:
        try:
            requirement = Requirement(line)
            named = canonicalize_name(requirement.name) == library.name and bool(requirement.specifier)
            if named and requirement.specifier.contains(Version(library.version), prereleases=True):
                return True
        except (InvalidRequirement, InvalidVersion):
            continue
    return False


def wanted(asker: Distribution, library: Distribution) -> str:
    """Give the versions of the library that the asker's metadata asks for; ``""`` where it says none."""
    for line in asker.requires:
        try:
            requirement = Requirement(line)
        except InvalidRequirement:
            continue
        if canonicalize_name(requirement.name) == library.name and requirement.specifier:
            return str(requirement.specifier)
    return ""


def stands_in(study: Study, line: int, scope: Scope) -> bool:
    """Say whether a line stands in for an import that is there, or that is asked for by what is installed.

    That is the handler of a ``try`` which catches the error of the import: it is not known to run.
    """
    for node in nodes_of(scope.module.tree):
        handlers = node.handlers if isinstance(node, ast.Try) and caught_by(node)[0] & _OF_IMPORTS else ()
        if isinstance(node, ast.Try) and any(one.lineno <= line <= (one.end_lineno or 0) for one in handlers):
            return all(_comes(study, one, scope) for one in node.body)
    return False


def _comes(study: Study, statement: ast.stmt, scope: Scope) -> bool:
    match statement:
        case ast.Import(names=aliases):
            asked = [one.name for one in aliases]
        case ast.ImportFrom(module=str(source), level=0):
            asked = [source]
        case _:
            return False
    python = study.installed.python
    tops = {one.split(".", 1)[0] for one in asked}
    return tops <= {*python.packages, *python.required} and not any(study.gates.lacking(statement, scope))


def _study(
    installed: Installed, asker: Distribution, targets: frozenset[str], asking: re.Pattern[bytes] | None = None
) -> Study:
    python = installed.python
    packages = frozenset(top for top, of in python.packages.items() if of is asker) - targets
    words = tuple(one.encode() for one in sorted(targets))
    speaking = tuple(
        name
        for package in sorted(packages)
        for name in (python.holding(*words, below=package) if words else ())
        if not _NOT_SERVED.search(name) and (asking is None or asking.search(python.text(name)))
    )
    found = surveyed(installed, Asking(asker=asker, packages=packages, speaking=speaking, targets=targets))
    world, calls = found.world, Calls()
    return Study(
        installed=installed,
        asker=asker,
        packages=packages,
        speaking=speaking,
        lacks=found.lacks,
        unread=found.unread,
        world=world,
        gates=found.gates,
        lanes=found.lanes,
        reach=Reach(world, packages, startup_of(asker.name, packages), calls),
        approaches=Approaches(world, packages, calls),
        defaults=Defaults(world, packages),
        loads=Loads(world, packages),
    )
