"""The set of distributions that is installed together, and its Python modules, read as text and parsed once."""

import ast
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import TypeVar, cast

from packaging.utils import canonicalize_name

from dayzero.audit.ports import BuildFiles
from dayzero.audit.python_source import Module, module_name
from dayzero.core.errors import DayzeroError, InputError
from dayzero.core.verdict import Place

_LARGEST_BYTES = 16 << 20
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


class PythonFiles:
    """The Python modules of a set of distributions. A file is read once and parsed at most once.

    Args:
        distributions: Who holds them; the first that has a module wins, as on ``sys.path``.
    """

    def __init__(self, distributions: tuple[Distribution, ...]) -> None:
        self._distributions = distributions
        self._bytes: dict[str, bytes] = {}
        self._below: dict[str, Sequence[tuple[str, bytes | None]]] = {}
        self._parsed: dict[str, Module | Place] = {}

    @cached_property
    def modules(self) -> Mapping[str, PythonModule]:
        """Every module by the name under which it is imported."""
        found: dict[str, PythonModule] = {}
        for distribution in self._distributions:
            for path in distribution.files.names():
                if path.endswith(".py"):
                    found.setdefault(module_name(path), PythonModule(distribution, path))
        return found

    @cached_property
    def packages(self) -> Mapping[str, Distribution]:
        """Every top-level package by its name, native extension modules too, and who holds it."""
        found: dict[str, Distribution] = {}
        for distribution in self._distributions:
            for path in distribution.files.names():
                top = path.split("/", 1)[0].split(".", 1)[0]
                if path.endswith((".py", ".so", ".pyi")) and not path.split("/", 1)[0].endswith(".dist-info"):
                    found.setdefault(top, distribution)
        return found

    def read(self, module: str) -> bytes:
        """Read a module's file.

        Raises:
            InputError: There is no such module, or its file cannot be read.
        """
        if module not in self._bytes:
            entry = self.modules.get(module)
            if entry is None:
                raise InputError(f"no distribution here holds the module {module}", hint="Add the one that does.")
            self._bytes[module] = entry.distribution.files.read(entry.path)
        return self._bytes[module]

    def holding(self, *words: bytes, below: str = "") -> Iterator[str]:
        """Name the modules whose bytes hold any of the words: what need not be parsed is not.

        A module that cannot be read is named too, so that :meth:`parsed` says why.

        Args:
            words: What to look for.
            below: Only this package and what is below it.
        """
        texts = self._texts(below)
        if len(words) == 1:
            (word,) = words
            yield from (name for name, content in texts if content is None or word in content)
        else:
            yield from (name for name, content in texts if content is None or any(word in content for word in words))

    def _texts(self, below: str) -> Sequence[tuple[str, bytes | None]]:
        """Give a package's modules with their text, ``None`` where one cannot be read."""
        if below not in self._below:
            inside = f"{below}."
            names = (one for one in self.modules if not below or one == below or one.startswith(inside))
            self._below[below] = [(name, self._known(name)) for name in names]
        return self._below[below]

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

    def _parse(self, name: str) -> Module | Place:
        entry = self.modules.get(name)
        if entry is None:
            return Place(artifact="", file=name, quote="no distribution here holds this module")
        artifact = entry.distribution.files.artifact
        try:
            content = self.read(name)
            if len(content) > _LARGEST_BYTES:
                return Place(artifact=artifact, file=entry.path, quote="larger than 16 MiB")
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of other people's code
                tree = ast.parse(content)
        except DayzeroError as error:
            return Place(artifact=artifact, file=entry.path, quote=error.message)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            return Place(artifact=artifact, file=entry.path, quote=f"not parsed: {type(error).__name__}")
        lines = tuple(content.decode("utf-8", "replace").split("\n"))
        return Module(artifact=artifact, file=entry.path, name=name, tree=tree, lines=lines)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Installed:
    """An engine and what is installed beside it. Equal to itself only: what is worked out from it is kept for it alone.

    Attributes:
        engine: The engine's distribution.
        others: Its libraries.
        python: The Python modules of all of them.
        answers: What was worked out from it, by who did; see :func:`once`.
    """

    engine: Distribution
    others: tuple[Distribution, ...]
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


def once(work: Callable[[Installed], _Answer]) -> Callable[[Installed], _Answer]:
    """Make a function work once for each set of distributions; its answer lives as long as that set does."""

    @wraps(work)
    def answered(installed: Installed) -> _Answer:
        if work not in installed.answers:
            installed.answers[work] = work(installed)
        return cast("_Answer", installed.answers[work])

    return answered
