"""The set of distributions that is installed together, and its Python modules, read as text and parsed once."""

import re
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import TypeVar, cast

from packaging.utils import canonicalize_name

from dayzero.audit.folded import Text, fold, syntax
from dayzero.audit.ports import Aside, BuildFiles, SearchedFiles, Surveys
from dayzero.audit.python_source import Module, module_name
from dayzero.core.errors import DayzeroError, InputError
from dayzero.core.verdict import Place

_LARGEST_BYTES = 16 << 20
_MOST_WHOLE_BYTES = 3 << 18  # of text; its syntax takes some forty times that
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Distribution:
    """One installed distribution. Equal to itself only: its files need not be comparable.

    Attributes:
        name: Its name, normalised as the package index does.
        version: Its version, as its metadata has it.
        requires: Its ``Requires-Dist`` lines.
        files: Its files.
    """

    name: str
    version: str
    requires: tuple[str, ...]
    files: BuildFiles

    def __str__(self) -> str:
        return f"{self.name}=={self.version}"


@dataclass(frozen=True, slots=True)
class PythonModule:
    """A module: which distribution holds it, and in which file."""

    distribution: Distribution
    path: str

    @property
    def place(self) -> Place:
        """Name the file as a whole."""
        return Place(artifact=self.distribution.files.artifact, file=self.path)


_FOR_MAKERS = {"tests", "test", "benchmarks", "benchmark", "examples", "docs"}


class PythonFiles:
    """The Python modules of a set of distributions. A file is parsed at most once; what is searched where it lies is not held.

    Args:
        distributions: Who holds them; the first that has a module wins, as on ``sys.path``.
    """

    def __init__(self, distributions: tuple[Distribution, ...]) -> None:
        self._distributions = distributions
        self._bytes: dict[str, bytes] = {}
        self._holders: dict[tuple[Distribution, bytes], AbstractSet[str]] = {}
        self._parsed: dict[str, Module | Place] = {}
        self._whole: deque[Module] = deque()

    @cached_property
    def modules(self) -> Mapping[str, PythonModule]:
        """Every module by the name under which it is imported."""
        found: dict[str, PythonModule] = {}
        for distribution in self._distributions:
            for path in _put_there(distribution):
                if path.endswith(".py"):
                    found.setdefault(module_name(path), PythonModule(distribution, path))
        return found

    @cached_property
    def packages(self) -> Mapping[str, Distribution]:
        """Every top-level package by its name, native extension modules too, and who holds it."""
        found: dict[str, Distribution] = {}
        for distribution in self._distributions:
            for path in _put_there(distribution):
                top = path.split("/", 1)[0].split(".", 1)[0]
                if path.endswith((".py", ".so", ".pyi")) and not path.split("/", 1)[0].endswith(".dist-info"):
                    found.setdefault(top, distribution)
        return found

    @cached_property
    def required(self) -> AbstractSet[str]:
        """Name what the distributions always ask for, as a package of that name would be imported."""
        lines = (line for one in self._distributions for line in one.requires if "extra ==" not in line)
        return {re.split(r"[^\w.-]", line, maxsplit=1)[0].replace("-", "_") for line in lines}

    @cached_property
    def native(self) -> AbstractSet[str]:
        """Every compiled module, stub and folder without ``__init__`` by its name: they are there, and their text is not."""
        found: set[str] = set()
        for distribution in dict.fromkeys(self.packages.values()):
            for path in distribution.files.names():
                if path.endswith((".so", ".pyd", ".pyi")):
                    folder, _, file = path.rpartition("/")
                    found.add(module_name(f"{folder}/{file.split('.', 1)[0]}.py").lstrip("."))
        for name in self.modules:
            parent = name.rpartition(".")[0]
            while parent and parent not in found and parent not in self.modules:
                found.add(parent)
                parent = parent.rpartition(".")[0]
        return found

    def read(self, module: str) -> bytes:
        """Read a module's file.

        Raises:
            InputError: There is no such module, or its file cannot be read.
        """
        entry = self.modules.get(module)
        if entry is None:
            raise InputError(f"no distribution here holds the module {module}", hint="Add the one that does.")
        if entry.distribution in self._searched:
            return entry.distribution.files.read(entry.path)
        if module not in self._bytes:
            self._bytes[module] = entry.distribution.files.read(entry.path)
        return self._bytes[module]

    def holding(self, *words: bytes, below: str = "") -> Iterator[str]:
        """Name the modules whose bytes hold any of the words: what need not be parsed is not.

        A module that cannot be read is named too, so that :meth:`parsed` says why.

        Args:
            words: What to look for.
            below: Only this package and what is below it.
        """
        found: set[str] = set()
        top = below.split(".", 1)[0]
        for distribution, own in self._held.items():
            if top and top not in self._tops[distribution]:
                continue
            if distribution in self._searched:
                holders = (self._holding(distribution, word) for word in words)
                found.update(own[path] for group in holders for path in group if path in own)
            else:
                found.update(name for name in own.values() if _within(name, below) and self._may_hold(name, words))
        yield from sorted((name for name in found if _within(name, below)), key=self._order.__getitem__)

    @cached_property
    def _searched(self) -> Mapping[Distribution, SearchedFiles]:
        """Give the distributions whose files can be searched."""
        return {one: one.files for one in self._distributions if isinstance(one.files, SearchedFiles)}

    @cached_property
    def _held(self) -> Mapping[Distribution, Mapping[str, str]]:
        """Give the modules of each distribution by their files."""
        found: dict[Distribution, dict[str, str]] = {}
        for name, entry in self.modules.items():
            found.setdefault(entry.distribution, {})[entry.path] = name
        return found

    @cached_property
    def _tops(self) -> Mapping[Distribution, AbstractSet[str]]:
        return {one: {name.split(".", 1)[0] for name in own.values()} for one, own in self._held.items()}

    @cached_property
    def _order(self) -> Mapping[str, int]:
        return {name: number for number, name in enumerate(self.modules)}

    def _holding(self, distribution: Distribution, word: bytes) -> AbstractSet[str]:
        key = (distribution, word)
        if key not in self._holders:
            self._holders[key] = self._searched[distribution].holding(word)
        return self._holders[key]

    def _may_hold(self, name: str, words: tuple[bytes, ...]) -> bool:
        content = self._known(name)
        return content is None or any(word in content for word in words)

    def text(self, module: str) -> bytes:
        """Read a module's file; nothing where it cannot be read."""
        return self._known(module) or b""

    def _known(self, name: str) -> bytes | None:
        try:
            return self.read(name)
        except DayzeroError:
            return None

    def parsed(self, module: str) -> Module | Place:
        """Parse a module: its syntax, or the place of a file that cannot be parsed with the reason as its quote."""
        if module not in self._parsed:
            self._parsed[module] = self._parse(module)
        return self._parsed[module]

    def unparsed(self, packages: AbstractSet[str]) -> Iterator[str]:
        """Name the modules of some top-level packages that were asked for so far and cannot be parsed."""
        for name, found in self._parsed.items():
            if isinstance(found, Place) and name in self.modules and name.split(".", 1)[0] in packages:
                yield name

    def _parse(self, name: str) -> Module | Place:
        entry = self.modules.get(name)
        if entry is None:
            return Place(artifact="", file=name, quote="no distribution here holds this module")
        artifact = entry.distribution.files.artifact
        try:
            content = self.read(name)
            if len(content) > _LARGEST_BYTES:
                return Place(artifact=artifact, file=entry.path, quote="larger than 16 MiB")
            tree = syntax(content)
        except DayzeroError as error:
            return Place(artifact=artifact, file=entry.path, quote=error.message)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return Place(artifact=artifact, file=entry.path, quote=f"not parsed: {type(error).__name__}")
        parsed = Module(artifact=artifact, file=entry.path, name=name, tree=tree, text=Text(content))
        self._whole.append(parsed)
        return parsed

    def fold(self) -> Iterator[str]:
        """Fold the trees that were parsed first, until what is whole is little; name their modules."""
        held = sum(len(one.text.content) for one in self._whole)
        while held > _MOST_WHOLE_BYTES:
            parsed = self._whole.popleft()
            held -= len(parsed.text.content)
            fold(parsed.tree, parsed.text)
            yield parsed.name


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Installed:
    """An engine and what is installed beside it. Equal to itself only: what is worked out from it is kept for it alone.

    Attributes:
        engine: The engine's distribution.
        others: Its libraries.
        runs: The Python that runs them, ``cp312``; ``""`` where that is not known.
        surveys: Where what surveys of them came to is kept; ``None`` where it is not.
        aside: Who surveys a half of them meanwhile; ``None`` where nobody does.
        python: The Python modules of all of them.
        answers: What was worked out from it, by who did; see :func:`once`.
    """

    engine: Distribution
    others: tuple[Distribution, ...]
    runs: str = ""
    surveys: Surveys | None = None
    aside: Aside | None = None
    python: PythonFiles = field(init=False, repr=False)
    answers: dict[Callable[..., object], object] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "python", PythonFiles(self.distributions))

    @property
    def distributions(self) -> tuple[Distribution, ...]:
        """All of them, the engine first."""
        return (self.engine, *self.others)

    def find(self, name: str) -> Distribution | None:
        """Give a distribution by its name in any spelling, ``None`` where it is not installed."""
        wanted = canonicalize_name(name)
        return next((one for one in self.distributions if one.name == wanted), None)


def _put_there(distribution: Distribution) -> Iterator[str]:
    """Give the files that an installation puts there: of sources, not what stands beside the packages for their makers."""
    names = distribution.files.names()
    built = any(path.endswith((".dist-info/RECORD", ".dist-info/WHEEL")) for path in names)
    yield from (path for path in names if built or path.split("/", 1)[0] not in _FOR_MAKERS)


def _within(module: str, package: str) -> bool:
    return not package or module == package or module.startswith(f"{package}.")


def once(work: Callable[[Installed], _Answer]) -> Callable[[Installed], _Answer]:
    """Make a function work once for each set of distributions; its answer lives as long as that set does."""

    @wraps(work)
    def answered(installed: Installed) -> _Answer:
        if work not in installed.answers:
            installed.answers[work] = work(installed)
        return cast("_Answer", installed.answers[work])

    return answered
