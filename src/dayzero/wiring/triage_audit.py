"""Hand what a diagnosis claims about a build to audit, for a proof from the build's own files."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from dayzero.adapters.given_builds import given_build
from dayzero.audit.lacks_keyword import lacks_keyword
from dayzero.audit.lacks_name import lacks_attribute, lacks_name
from dayzero.audit.model import Check
from dayzero.audit.ports import BuildFiles
from dayzero.audit.undefined_symbol import holds_no_library, needs_symbol, needs_version, no_library_exports
from dayzero.core.verdict import Undecided
from dayzero.triage.model import Diagnosis, NamedWall, RootFound

AUDITED = ("api-skew", "native-abi")

_Values = Mapping[str, str]
_Builds = Sequence[BuildFiles]


def open_builds(paths: Sequence[Path]) -> tuple[BuildFiles, ...]:
    """Open wheels, folders of wheels and installed environments.

    Raises:
        InputError: One of them is no build.
    """
    return tuple(one for path in paths for one in given_build(path))


def audit_claim(diagnosis: Diagnosis, files: Sequence[BuildFiles]) -> tuple[Check, ...]:
    """Ask audit whether the files of these builds bear out what the log says of them; at least one answer comes back.

    Args:
        diagnosis: The answer to the log.
        files: The builds, taken as installed together.
    """
    if not isinstance(diagnosis, RootFound):
        return (_nothing_to_ask("the log names no root cause"),)
    wall = diagnosis.wall
    if not isinstance(wall, NamedWall) or wall.wall not in AUDITED:
        named = wall.wall if isinstance(wall, NamedWall) else "a wall that is not known"
        return (_nothing_to_ask(f"files can show {' and '.join(AUDITED)}, and this is {named}"),)
    values = {number.name: number.value for number in reversed(diagnosis.numbers)}
    for of, wanted, ask in _QUESTIONS:
        if of == wall.wall and all(any(name in values for name in names) for names in wanted):
            return ask(files, values)
    return (_nothing_to_ask(f"the log's line names nothing that audit has a question for ({wall.rule})"),)


def _nothing_to_ask(why: str) -> Check:
    return Check(id="claim", question="Do the builds' files bear the log out?", verdict=Undecided(why))


def _first(values: _Values, names: Sequence[str]) -> str:
    return next((values[name] for name in names if name in values), "")


_CLASSES = ("class", "object", "other")
_SYMBOLS, _LIBRARIES, _UNLOADABLE = ("symbol", "missing", "bare"), ("library", "loader"), ("library", "loader", "named")


def _keyword(builds: _Builds, values: _Values) -> tuple[Check, ...]:
    return (lacks_keyword(builds, values["callee"], values["keyword"]),)


def _name(builds: _Builds, values: _Values) -> tuple[Check, ...]:
    return (lacks_name(builds, values["module"], _first(values, ("name", "attribute"))),)


def _attribute(builds: _Builds, values: _Values) -> tuple[Check, ...]:
    return (lacks_attribute(builds, _first(values, _CLASSES), values["attribute"]),)


def _version(builds: _Builds, values: _Values) -> tuple[Check, ...]:
    return (needs_version(builds, values["library"], values["symbol_version"]),)


def _symbol(builds: _Builds, values: _Values) -> tuple[Check, ...]:
    library, symbol = _first(values, _LIBRARIES), _first(values, _SYMBOLS)
    asks = (needs_symbol(builds, library, symbol),) if library else ()
    return (*asks, no_library_exports(builds, library, symbol))


def _library(builds: _Builds, values: _Values) -> tuple[Check, ...]:
    return (holds_no_library(builds, _first(values, _UNLOADABLE)),)


_Question = tuple[str, tuple[Sequence[str], ...], Callable[[_Builds, _Values], tuple[Check, ...]]]
# Of which wall, and which of the log's values it needs, one name of each group; the first that has them all is asked.
_QUESTIONS: tuple[_Question, ...] = (
    ("api-skew", (("callee",), ("keyword",)), _keyword),
    ("api-skew", (("module",), ("name", "attribute")), _name),
    ("api-skew", (_CLASSES, ("attribute",)), _attribute),
    ("native-abi", (("library",), ("symbol_version",)), _version),
    ("native-abi", (_SYMBOLS,), _symbol),
    ("native-abi", (_UNLOADABLE,), _library),
)
