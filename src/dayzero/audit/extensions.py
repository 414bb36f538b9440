"""Which native extensions cannot be loaded beside the torch that is installed? Read from their symbol tables."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from dayzero.audit.dynamic_symbols import DynamicSymbols, read_symbols
from dayzero.audit.installed import Distribution, Installed, once
from dayzero.audit.undefined_symbol import file_name
from dayzero.core.errors import DayzeroError
from dayzero.core.verdict import Place

_LIBRARY = re.compile(r"\.so(?:\.[\d.]+)?$")
_TORCH = re.compile(r"lib(?:torch|c10)\w*\.so")
# Names of torch's own namespaces, and of its C interface: nothing else on a system defines them. In a nested name, qualifiers
# of the member function stand between N and the namespace (Itanium C++ ABI, "Mangling", CV-qualifiers and ref-qualifier).
_OWN = re.compile(
    r"_Z(?:T[IVSv])?(?:N[rVK]*[RO]?)?(?:[0-9]*)?(?:3c10|2at|5torch)|aoti_torch_|torch_(?:call|get|set|list|library)_"
)
_NOTHING = "it holds no library"
_OF_ONE_PYTHON = re.compile(r"\.cpython-(\d+)\w*[.-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Extension:
    """A library of a distribution that torch leaves without symbols.

    Attributes:
        distribution: Who brings it.
        path: Its file, of several for one Python each the first.
        module: The name under which Python imports it.
        builds: How many files there are of it, one for each Python, where it is not known which Python runs.
        missing: Symbols that it asks torch for and that torch does not export.
    """

    distribution: Distribution
    path: str
    module: str
    builds: int
    missing: tuple[str, ...]

    @property
    def place(self) -> Place:
        """Name the file as a whole."""
        return Place(artifact=self.distribution.files.artifact, file=self.path)

    def lacks(self, torch: Distribution) -> str:
        """Say what a torch leaves it without."""
        more = f" and {len(self.missing) - 1} more" if len(self.missing) > 1 else ""
        return f"{torch} does not export {self.missing[0]}{more}"

    @property
    def title(self) -> str:
        """Name it as a report does."""
        many = f" (and {self.builds - 1} more, one for each Python)" if self.builds > 1 else ""
        return f"{self.path}{many}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Extensions:
    """What was found of all extensions.

    Attributes:
        torch: The torch that they are held against; ``None`` where none is installed.
        broken: Those that cannot be loaded.
        unread: Files that could not be looked at, each with the reason as its quote.
    """

    torch: Distribution | None
    broken: tuple[Extension, ...] = ()
    unread: tuple[Place, ...] = ()

    @property
    def modules(self) -> Mapping[str, Extension]:
        """Those that cannot be loaded, by the name under which Python imports them."""
        return {one.module: one for one in self.broken}


@once
def extensions(installed: Installed) -> Extensions:
    """Hold what each extension leaves undefined against what torch's libraries export."""
    torch = installed.find("torch")
    if torch is None or not torch.files.names():
        return Extensions(torch=torch)
    exported: set[str] = set()
    unread = list(_exports(torch, exported))
    if unread or not exported:
        return Extensions(torch=torch, unread=tuple(unread) or (Place(artifact=str(torch), file="", quote=_NOTHING),))
    broken: list[Extension] = []
    for distribution in (one for one in installed.distributions if one is not torch):
        for module, paths in loaded_by(installed.runs, distribution).items():
            found = _broken(distribution, module, paths, exported)
            broken += [found] if isinstance(found, Extension) else []
            unread += [found] if isinstance(found, Place) else []
    return Extensions(torch=torch, broken=tuple(broken), unread=tuple(unread))


def loaded_by(runs: str, distribution: Distribution) -> Mapping[str, tuple[str, ...]]:
    """Give the libraries of a distribution by the name under which Python imports them.

    A Python takes the file for itself before one for any (``abi3``). Where it is not known which one runs, all that one may
    take are given.

    Args:
        runs: The Python that runs, ``cp312``; ``""`` where that is not known.
        distribution: Whose.
    """
    found: dict[str, list[str]] = {}
    for path in sorted(distribution.files.names()):
        if _LIBRARY.search(path):
            folder, _, file = path.rpartition("/")
            stem = file.split(".", maxsplit=1)[0]
            found.setdefault(f"{folder}/{stem}".replace("/", ".").strip("."), []).append(path)
    taken = {module: _taken(runs, paths) for module, paths in found.items()}
    return {module: paths for module, paths in taken.items() if paths}


def _taken(runs: str, paths: list[str]) -> tuple[str, ...]:
    of = {path: match[1] if (match := _OF_ONE_PYTHON.search(path)) else "" for path in paths}
    if not runs:
        return tuple(paths)
    own = [path for path, python in of.items() if f"cp{python}" == runs]
    return tuple(own[:1] or [path for path, python in of.items() if not python][:1])


def _broken(
    distribution: Distribution, module: str, paths: tuple[str, ...], exported: set[str]
) -> Extension | Place | None:
    missing: list[tuple[str, ...]] = []
    for path in paths:
        try:
            missing.append(_missing(read_symbols(distribution.files.read(path)), exported))
        except DayzeroError as error:
            return Place(artifact=distribution.files.artifact, file=path, quote=error.message)
    if not any(missing):
        return None
    if not all(missing):
        why = "some of its builds cannot be loaded, and it is not known which Python runs"
        return Place(artifact=distribution.files.artifact, file=paths[0], quote=why)
    return Extension(distribution=distribution, path=paths[0], module=module, builds=len(paths), missing=missing[0])


def _exports(torch: Distribution, exported: set[str]) -> Iterator[Place]:
    """Add what torch's libraries export, and give those that cannot be read."""
    for path in torch.files.names():
        if _TORCH.match(file_name(path)):
            try:
                exported |= read_symbols(torch.files.read(path)).exported
            except DayzeroError as error:
                yield Place(artifact=torch.files.artifact, file=path, quote=f"{path}: {error.message}")


def _missing(symbols: DynamicSymbols, exported: set[str]) -> tuple[str, ...]:
    if not any(_TORCH.match(one) for one in symbols.needed):
        return ()
    return tuple(sorted(one for one in symbols.undefined - exported if _OWN.match(one)))
