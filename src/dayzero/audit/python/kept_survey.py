"""Survey what one distribution asks of others, and keep in few words where something was found, and where something could be.

The next survey of the very same files looks only where something was found. Nothing of what is kept is an answer: the modules that
it names are surveyed again, and where they do not give the same again, more are. With other versions of the others it looks where
the asker's text can ask them; that is its outline, and depends on the asker and on their names alone.
"""

import ast
import hashlib
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate

from dayzero.audit.installed import Distribution, Installed, PythonFiles
from dayzero.audit.model import HalfSurvey, KeptSurvey
from dayzero.audit.ports import Aside, DigestedFiles, Surveys
from dayzero.audit.python.context import Context
from dayzero.audit.python.gates import Gates
from dayzero.audit.python.lack import Lack
from dayzero.audit.python.lanes import Lane, closed_lanes, probes
from dayzero.audit.python.survey import Survey
from dayzero.audit.python.values import Absent
from dayzero.audit.python.world import World
from dayzero.audit.python_source import Module, module_name
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
        within: For each module that asks so, the lines of the functions that do.
        lanes: Its own probes that are false on this build.
        unread: The modules that speak of the others, or that these ask, and that cannot be parsed, each with its place.
        outline: Where a survey with other versions of the others has to look.
    """

    world: World
    gates: Gates
    lacks: tuple[Lack, ...]
    within: Mapping[str, tuple[int, ...]]
    lanes: tuple[Lane, ...]
    unread: tuple[tuple[str, Place], ...]
    outline: KeptSurvey


@dataclass(slots=True)
class _Walked:
    """What walking through modules came to: what they lack, in which functions, and the functions that rest on others."""

    lacks: list[Lack] = field(default_factory=list)
    within: dict[str, tuple[int, ...]] = field(default_factory=dict)
    resting: dict[str, tuple[int, ...]] = field(default_factory=dict)

    def walk(self, world: World, asking: Asking, where: KeptSurvey) -> None:
        """Walk through the modules that may lack something."""
        for name in where.lacking:
            survey = Survey(world, asking.targets, where.within.get(name))
            if world.rests.tried(partial(survey.module, name)):
                self.resting[name] = tuple(survey.resting)
            if survey.lacks:
                self.lacks += survey.lacks
                self.within[name] = tuple(survey.lacking)
            world.settle()


def surveyed(installed: Installed, asking: Asking) -> Surveyed:
    """Survey, or look again where the last survey of the same files found something."""
    content = _content(installed)
    if installed.surveys is None or not content:
        return _survey(installed.python, asking, _everywhere(asking.speaking), installed.aside)
    key = _digest((asking.asker.name, content, sorted(asking.targets)))
    kept = installed.surveys.recall(key)
    if kept is not None:
        found = _survey(installed.python, asking, kept)
        if _in_few_words(found) == kept:
            return found
    found = _outlined(installed, asking, installed.surveys)
    installed.surveys.keep(key, _in_few_words(found))
    return found


def _outlined(installed: Installed, asking: Asking, surveys: Surveys) -> Surveyed:
    """Survey where the asker's text can ask the others, or everywhere where that is not known."""
    key = _own_key(installed, asking)
    outline = surveys.recall(key) if key else None
    found = _survey(installed.python, asking, outline or _everywhere(asking.speaking), installed.aside)
    if key and outline is None:
        surveys.keep(key, found.outline)
    return found


def _everywhere(modules: tuple[str, ...]) -> KeptSurvey:
    """Ask for a survey of modules of which nothing is known yet."""
    return KeptSurvey(lacking=modules, probing=modules, unread=modules, found="")


def _survey(python: PythonFiles, asking: Asking, where: KeptSurvey, aside: Aside | None = None) -> Surveyed:
    """Survey; with somebody aside, let him find out where something is lacking in one half meanwhile."""
    first, rest = _halves(python, asking, where) if aside is not None else (where, None)
    begun = aside.begin(lambda: _half(_survey(python, asking, rest))) if aside and rest else None
    mine = where if begun is None else first
    world = World(python, asking.packages, frozenset(asking.speaking))
    gates, walked = Gates(world), _Walked()
    walked.walk(world, asking, mine)
    lanes = list(closed_lanes(world, gates, asking.packages, mine.probing))
    outline = _outline(world, walked, mine)
    asked = mine.unread
    if begun is not None:
        told = begun()
        walked.walk(world, asking, told.found)
        lanes += closed_lanes(world, gates, asking.packages, told.found.probing)
        outline = _joined(outline, told.outline)
        asked += told.found.unread
    tops = asking.targets
    held = {name: python.parsed(name) for name in dict.fromkeys(asked)}
    torn = {name: python.parsed(name) for name in sorted(python.unparsed(tops))}
    own = {name: one for name, one in held.items() if name not in torn and not isinstance(one, Module)}
    return Surveyed(
        world=world,
        gates=gates,
        lacks=tuple(walked.lacks),
        within=walked.within,
        lanes=tuple(lanes),
        unread=tuple((name, one) for name, one in {**own, **torn}.items() if not isinstance(one, Module)),
        outline=replace(outline, unread=tuple(own)),
    )


def _outline(world: World, walked: _Walked, where: KeptSurvey) -> KeptSurvey:
    """Say where others can matter: what rests on them, and every probe. What cannot be parsed is filled in by who knows."""
    probing = tuple(name for name in where.probing if any(True for _ in probes(world, name)))
    return KeptSurvey(lacking=tuple(walked.resting), probing=probing, unread=(), found="", within=dict(walked.resting))


def _joined(one: KeptSurvey, other: KeptSurvey) -> KeptSurvey:
    return KeptSurvey(
        lacking=one.lacking + other.lacking,
        probing=one.probing + other.probing,
        unread=one.unread + other.unread,
        found="",
        within={**one.within, **other.within},
    )


def _half(found: Surveyed) -> HalfSurvey:
    return HalfSurvey(found=_in_few_words(found), outline=found.outline)


def _halves(python: PythonFiles, asking: Asking, where: KeptSurvey) -> tuple[KeptSurvey, KeptSurvey | None]:
    """Cut modules in two of about the same length of text, in their order: neighbours ask each other."""
    lengths = list(accumulate(len(python.text(one)) for one in where.lacking))
    if not lengths or lengths[-1] < _WORTH_BYTES:
        return where, None
    cut = bisect_left(lengths, lengths[-1] // 2) + 1
    behind = frozenset(asking.speaking[asking.speaking.index(where.lacking[cut - 1]) + 1 :])
    return _those(where, frozenset(asking.speaking) - behind), _those(where, behind)


def _those(where: KeptSurvey, of: AbstractSet[str]) -> KeptSurvey:
    lacking, probing, unread = (
        tuple(one for one in names if one in of) for names in (where.lacking, where.probing, where.unread)
    )
    return replace(where, lacking=lacking, probing=probing, unread=unread)


def _content(installed: Installed) -> str:
    """Digest all that a survey reads, in the order in which modules are found; ``""`` where that is unknown."""
    read = [one for one in installed.distributions if one.files.names()]
    known = [(one.name, one.files.digest) for one in read if isinstance(one.files, DigestedFiles)]
    return _digest(known) if len(known) == len(read) else ""


def _own_key(installed: Installed, asking: Asking) -> str:
    """Name the asker's outline by all that it depends on; ``""`` where others hold modules of its packages."""
    own = asking.asker.files
    others = (one for one in installed.distributions if one is not asking.asker)
    if not isinstance(own, DigestedFiles) or any(_holds(one, asking.packages) for one in others):
        return ""
    tops = sorted(installed.python.packages)
    return _digest(
        (
            "outline",
            asking.asker.name,
            own.digest,
            sorted(asking.packages),
            sorted(asking.targets),
            tops,
            asking.speaking,
        )
    )


def _holds(distribution: Distribution, packages: AbstractSet[str]) -> bool:
    """Say whether a distribution holds a module of some top-level packages, compiled ones too."""
    code = (name for name in distribution.files.names() if name.endswith((".py", ".pyi", ".so", ".pyd")))
    return any(module_name(name).split(".", 1)[0] in packages for name in code)


def _in_few_words(found: Surveyed) -> KeptSurvey:
    return KeptSurvey(
        lacking=tuple(dict.fromkeys(one.module.name for one in found.lacks)),
        probing=tuple(dict.fromkeys(one.probe.module.name for one in found.lanes)),
        unread=tuple(name for name, _ in found.unread),
        found=_digest((list(map(_lack, found.lacks)), list(map(_lane, found.lanes)), list(map(str, found.unread)))),
        within=found.within,
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
