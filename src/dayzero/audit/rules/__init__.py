"""What a rule is asked about, and what a rule is. One file a rule; what an engine or library alone needs lies with it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from dayzero.audit.finding import Finding, NotChecked
from dayzero.audit.installed import Installed
from dayzero.audit.ports import BuildFiles
from dayzero.core.hardware import System


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is to be served, on what, with what.

    Attributes:
        installed: The engine and its libraries.
        engine: Name of the engine's plug-in (``vllm``).
        model: The model's ``config.json``; ``None`` where no model is given.
        system: The GPUs; ``None`` where they are not given.
        capability: Compute capability of the GPUs; ``None`` where they are not given.
        flags: Words of the engine's command line, after the model.
        env: Environment variables that are set.
        cubins: A folder of kernel binaries that is given; ``None`` without one.
    """

    installed: Installed
    engine: str
    model: Mapping[str, object] | None = None
    system: System | None = None
    capability: tuple[int, int] | None = None
    flags: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    cubins: BuildFiles | None = None


class Rule(Protocol):
    """One question that is put to every subject; entry-point group ``dayzero.audit_rules``."""

    @property
    def id(self) -> str:
        """Its name in reports (``pin-conflict``)."""
        ...

    @property
    def question(self) -> str:
        """What it asks, one sentence; the reference and SARIF print it."""
        ...

    def check(self, subject: Subject) -> Iterator[Finding | NotChecked]:
        """Give what is wrong, and what could not be looked at; nothing where it does not concern the subject."""
        ...
