"""One place that asks another distribution for what that does not have."""

from dataclasses import dataclass

from dayzero.audit.python.context import Context
from dayzero.audit.python.signatures import Misfit
from dayzero.audit.python.values import Absent
from dayzero.audit.python_source import Module
from dayzero.core.verdict import Place


@dataclass(frozen=True, slots=True, eq=False)
class Keyword:
    """An argument by name: where it is added, under what."""

    name: str
    context: Context
    line: int


@dataclass(frozen=True, slots=True, eq=False)
class Lack:
    """One place that asks for what is not there.

    Attributes:
        what: What is absent, or why the call does not fit.
        context: What stands around it.
        line: Its line, 1-based.
        raised: The exception that Python raises there.
        keywords: For a call: those that are not taken, with what they stand under.
    """

    what: Absent | Misfit
    context: Context
    line: int
    raised: str
    keywords: tuple[Keyword, ...] = ()

    @property
    def module(self) -> Module:
        """The file that asks."""
        return self.context.scope.module

    @property
    def place(self) -> Place:
        """Name the line that asks."""
        return self.module.place(self.line)

    @property
    def words(self) -> frozenset[str]:
        """The names that a guard would have to speak of."""
        match self.what:
            case Absent(name=name):
                return frozenset({name, name.rpartition(".")[2]})
            case Misfit(unexpected=unexpected, missing=missing):
                return frozenset(unexpected or missing)
