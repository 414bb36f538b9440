"""Survey what one distribution asks of others, and keep in few words where something was found.

The next survey of the very same files looks only there. Nothing of what is kept is an answer: the modules that it names are
surveyed again, and where they do not give the same again, all are.
"""

import ast
import hashlib
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate

from dayzero.audit.installed import Distribution, Installed, PythonFiles
from dayzero.audit.model import KeptSurvey
from dayzero.audit.ports import Aside, SearchedFiles
from dayzero.audit.python.context import Context
from dayzero.audit.python.gates import Gates
from dayzero.audit.python.lanes import Lane, closed_lanes
from dayzero.audit.python.survey import Lack, Survey
from dayzero.audit.python.values import Absent
from dayzero.audit.python.world import World
from dayzero.audit.python_source import Module
from dayzero.core.verdict import Place

_WORTH_BYTES = 1 << 20  # of text: a survey of less takes less than half a second


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Who asks whom.

    Attributes:
        asker: Who asks.
        packages: Its top-level packages.
        speaking: Its modules that speak of the others.
        targets: Top-level packages of the others.
    """

    asker: Distribution
    packages: frozenset[str]
    speaking: tuple[str, ...]
    targets: frozenset[str]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Surveyed:
    """What was found.

    Attributes:
        world: Where names were looked up.
        gates: What its conditions answer on this build.
        lacks: What is asked in vain, in the order of the files.
        lanes: Its own probes that are false on this build.
        unread: The modules that speak of the others, or that these ask, and that cannot be parsed, each with its place.
    """

    world: World
    gates: Gates
    lacks: tuple[Lack, ...]
    lanes: tuple[Lane, ...]
    unread: tuple[tuple[str, Place], ...]


def surveyed(installed: Installed, asking: Asking) -> Surveyed:
    """Survey, or look again where the last survey of the same files found something."""
    key = _key(installed, asking) if installed.surveys is not None else ""
    kept = installed.surveys.recall(key) if installed.surveys is not None and key else None
    if kept is not None:
        found = _survey(installed.python, asking, kept)
        if _in_few_words(found) == kept:
            return found
    found = _survey(installed.python, asking, _everywhere(asking.speaking), installed.aside)
    if installed.surveys is not None and key:
        installed.surveys.keep(key, _in_few_words(found))
    return found


def _everywhere(modules: tuple[str, ...]) -> KeptSurvey:
    """Ask for a survey of modules of which nothing is known yet."""
    return KeptSurvey(lacking=modules, probing=modules, unread=modules, found="")


def _survey(python: PythonFiles, asking: Asking, where: KeptSurvey, aside: Aside | None = None) -> Surveyed:
    """Survey; with somebody aside, let him find out where something is lacking in one half meanwhile."""
    first, rest = _halves(python, asking.speaking) if aside is not None else ((), ())
    begun = aside.begin(lambda: _in_few_words(_survey(python, asking, _everywhere(rest)))) if aside and rest else None
    if begun is not None:
        where = _everywhere(first)
    world = World(python, asking.packages, frozenset(asking.speaking))
    gates = Gates(world)
    lacks = _lacks(world, asking, where)
    lanes = list(closed_lanes(world, gates, asking.packages, where.probing))
    asked = where.unread
    if begun is not None:
        told = begun()
        lacks += _lacks(world, asking, told)
        lanes += closed_lanes(world, gates, asking.packages, told.probing)
        asked += told.unread
    tops = asking.targets
    held = {name: python.parsed(name) for name in dict.fromkeys(asked)}
    torn = {name: python.parsed(name) for name in sorted(python.unparsed(tops))}
    own = {name: one for name, one in held.items() if name not in torn}
    return Surveyed(
        world=world,
        gates=gates,
        lacks=tuple(lacks),
        lanes=tuple(lanes),
        unread=tuple((name, one) for name, one in {**own, **torn}.items() if not isinstance(one, Module)),
    )


def _lacks(world: World, asking: Asking, where: KeptSurvey) -> list[Lack]:
    found: list[Lack] = []
    for name in where.lacking:
        found += Survey(world, asking.targets).module(name)
        world.settle()
    return found


def _halves(python: PythonFiles, modules: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Cut modules in two of about the same length of text, in their order: neighbours ask each other."""
    lengths = list(accumulate(len(python.text(one)) for one in modules))
    if not lengths or lengths[-1] < _WORTH_BYTES:
        return modules, ()
    cut = bisect_left(lengths, lengths[-1] // 2) + 1
    return modules[:cut], modules[cut:]


def _key(installed: Installed, asking: Asking) -> str:
    """Name a survey by the content of all that it reads, in the order in which modules are found; ``""`` where that is unknown."""
    read = [one for one in installed.distributions if one.files.names()]
    known = [(one.name, one.files.digest) for one in read if isinstance(one.files, SearchedFiles)]
    return _digest((asking.asker.name, known, sorted(asking.targets))) if len(known) == len(read) else ""


def _in_few_words(found: Surveyed) -> KeptSurvey:
    return KeptSurvey(
        lacking=tuple(dict.fromkeys(one.module.name for one in found.lacks)),
        probing=tuple(dict.fromkeys(one.probe.module.name for one in found.lanes)),
        unread=tuple(name for name, _ in found.unread),
        found=_digest((list(map(_lack, found.lacks)), list(map(_lane, found.lanes)), list(map(str, found.unread)))),
    )


def _lack(one: Lack) -> object:
    if isinstance(one.what, Absent):
        what: object = (one.what.kind, one.what.owner, one.what.name, str(one.what.place), one.what.lazy)
    else:
        callee = one.what.callee
        what = (callee.module.name, callee.qualname, one.what.unexpected, one.what.missing, one.what.surplus)
    keywords = [(word.name, word.line, _context(word.context)) for word in one.keywords]
    return (str(one.place), one.raised, what, _context(one.context), keywords)


def _context(context: Context) -> Sequence[object]:
    conditions = [(ast.unparse(one.test), one.holds, one.scope.qualname) for one in context.conditions]
    return (context.scope.qualname, conditions, sorted(context.caught), sorted(context.foreseen))


def _lane(one: Lane) -> object:
    askers = [(module.name, around, line) for module, around, line in one.askers]
    return (str(one.probe.place()), one.lost.owner, one.lost.name, askers)


def _digest(of: object) -> str:
    return hashlib.sha256(repr(of).encode()).hexdigest()
