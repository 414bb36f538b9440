"""Does a library ask for a symbol, and does any library of these builds export it?"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from dayzero.audit.agreement import Says, Witness, agreement
from dayzero.audit.dynamic_symbols import DynamicSymbols, read_symbols
from dayzero.audit.model import Check
from dayzero.audit.ports import BuildFiles
from dayzero.core.errors import DayzeroError
from dayzero.core.verdict import Place, Proven, Refuted, Undecided, Verdict

_LIBRARY = re.compile(r"\.so(?:\.[\d.]+)?$")
# What the system brings, and CUDA's libraries, whose functions are C's: none of them exports a C++ name of another project.
_SYSTEM = re.compile(r"(?:lib(?:c|m|dl|rt|pthread|util|gcc_s|stdc\+\+|gomp)|ld-linux[\w-]*)\.so")
_FUNCTIONS_OF_C = re.compile(r"lib(?:cu|nv|nccl)\w*\.so")
_MANGLED = "_Z"


@dataclass(frozen=True, slots=True)
class _Library:
    place: Place
    symbols: DynamicSymbols


def needs_symbol(builds: Sequence[BuildFiles], library: str, symbol: str) -> Check:
    """Look whether the library leaves the symbol for others to define.

    Args:
        builds: Files of the builds that are installed together.
        library: Its path or file name, as the log writes it.
        symbol: The symbol as the log writes it, mangled.
    """
    name = file_name(library)
    return Check(
        id=f"undefined:{name}:{symbol}",
        question=f"Does {name} leave {symbol} for others to define?",
        verdict=_asks(builds, name, symbol, lambda read: read.undefined),
    )


def needs_version(builds: Sequence[BuildFiles], library: str, version: str) -> Check:
    """Look whether the library needs a symbol version (``GLIBC_2.34``)."""
    name = file_name(library)
    return Check(
        id=f"version:{name}:{version}",
        question=f"Does {name} need {version}?",
        verdict=_asks(builds, name, version, lambda read: read.versions),
    )


def no_library_exports(builds: Sequence[BuildFiles], library: str, symbol: str) -> Check:
    """Look whether no library of these builds exports the symbol.

    It is proven only where the libraries that the asking one links to were read too; the system's own are left out.

    Args:
        builds: Files of the builds that are installed together.
        library: The library that asks for it; ``""`` where the log does not say.
        symbol: The symbol as the log writes it, mangled.
    """
    return Check(
        id=f"exported:{symbol}",
        question=f"Does no library of these builds export {symbol}?",
        verdict=_unexported(builds, file_name(library), symbol),
    )


def holds_no_library(builds: Sequence[BuildFiles], name: str) -> Check:
    """Look whether no build holds a library of that file name, as a log claims that says ``cannot open shared object file``."""
    files = [Place(artifact=build.artifact, file=file) for build in builds for file in build.names()]
    held = tuple(place for place in files if file_name(place.file) == name)
    verdict: Verdict = (
        Proven(f"none of {len(files)} files is called {name}") if files else Undecided("no file was read")
    )
    if held:
        verdict = Refuted(f"{held[0]} is there: the loader does not look in its folder", held)
    return Check(id=f"library:{name}", question=f"Is {name} in none of these builds?", verdict=verdict)


def file_name(path: str) -> str:
    """Give a path's last part."""
    return path.rpartition("/")[2]


def _asks(
    builds: Sequence[BuildFiles], library: str, word: str, of: Callable[[DynamicSymbols], frozenset[str]]
) -> Verdict:
    witnesses, unread = [], []
    for found in _libraries(builds, lambda name: name == library):
        if isinstance(found, Place):
            unread.append(found)
        elif word in of(found.symbols):
            witnesses.append(Witness(Says.HOLDS, f"{library} asks for {word}", found.place))
        else:
            witnesses.append(Witness(Says.FAILS, f"{library} does not ask for {word}", found.place))
    return agreement(witnesses, unread, nowhere=f"none of the builds given holds {library}")


def _unexported(builds: Sequence[BuildFiles], library: str, symbol: str) -> Verdict:
    read, unread, missing = 0, [], set()
    names = {file_name(name) for build in builds for name in build.names()}
    for found in _libraries(builds, lambda _: True):
        if isinstance(found, Place):
            unread.append(found)
            continue
        if symbol in found.symbols.exported:
            return Refuted(f"{found.place.file} exports {symbol}", (found.place,))
        read += 1
        if file_name(found.place.file) == library:
            missing |= {
                needed for needed in found.symbols.needed if needed not in names and not _beside(needed, symbol)
            }
    if unread:
        return Undecided(f"{unread[0]} was not read: {unread[0].quote}", tuple(unread))
    if missing:
        return Undecided(f"{library} links to {', '.join(sorted(missing))}, which none of the builds given holds")
    if library not in names:
        return Undecided(f"none of the builds given holds {library or 'the library that asks for it'}")
    return Proven(f"none of the {read} libraries in these builds exports it")


def _beside(needed: str, symbol: str) -> bool:
    return bool(_SYSTEM.match(needed)) or (symbol.startswith(_MANGLED) and bool(_FUNCTIONS_OF_C.match(needed)))


def _libraries(builds: Sequence[BuildFiles], wanted: Callable[[str], bool]) -> Iterator[_Library | Place]:
    """Read libraries one at a time: one may take a gigabyte."""
    for files in builds:
        for name in sorted(files.names()):
            if _LIBRARY.search(name) and wanted(file_name(name)):
                try:
                    symbols = read_symbols(files.read(name))
                except DayzeroError as error:
                    yield Place(artifact=files.artifact, file=name, quote=error.message)
                else:
                    yield _Library(Place(artifact=files.artifact, file=name), symbols)
