"""What is held side by side of two builds, and what that means for the rows of a kernel."""

from dataclasses import dataclass
from enum import StrEnum

import msgspec

from dayzero.core.verdict import Place


class DeclaredKernel(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which files make a kernel what it is.

    Attributes:
        engine: Engine whose rows it is about.
        tables: Tables that its rows are in.
        labels: Kernel labels of its rows, ``*`` stands for any letters.
        code: Functions and classes that are the kernel, or launch it, each as ``FILE::NAME``, ``FILE|FILE::NAME`` where it moved.
        within: Modules that are followed from there.
        dispatch: Functions that choose the kernel, written like ``code``; each is followed within its own module.
        direct: Why nothing chooses it; given where ``dispatch`` is empty.
        libraries: Compiled libraries of the engine that hold it; the letters before the first dot count.
        artifacts: Members of FlashInfer's ``CheckSumHash`` that pin its binaries.
        sources: Files of other distributions that it is compiled from, as ``DISTRIBUTION:PATTERN``.
        compilers: Distributions that compile it when it is first used; the engine's metadata has to pin the same version.
        source: Where all this was read.
    """

    engine: str
    tables: tuple[str, ...]
    labels: tuple[str, ...]
    code: tuple[str, ...]
    within: tuple[str, ...]
    source: str
    dispatch: tuple[str, ...] = ()
    direct: str = ""
    libraries: tuple[str, ...] = ()
    artifacts: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    compilers: tuple[str, ...] = ()


class Aspect(StrEnum):
    """One thing that makes a kernel what it is."""

    CODE = "code"
    DISPATCH = "dispatch"
    LIBRARY = "library"
    ARTIFACT = "artifact pin"
    SOURCES = "sources"
    COMPILER = "compiler"


class Finding(StrEnum):
    """What two builds say of an aspect."""

    EQUAL = "equal"
    DIFFERENT = "different"
    REBUILT = "built anew"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What two builds say of one aspect of a kernel.

    Attributes:
        aspect: Which.
        finding: Whether it is the same.
        detail: In words.
        places: Where that is seen, first in the old build.
        followed: How many definitions or files were compared.
        outside: What the compared code uses that was not compared.
    """

    aspect: Aspect
    finding: Finding
    detail: str
    places: tuple[Place, ...] = ()
    followed: int = 0
    outside: tuple[str, ...] = ()


class Holding(StrEnum):
    """Whether rows of the old build count on the new one."""

    MEASURED = "measured"
    KERNEL_EQUAL = "kernel-equal"
    RECOLLECT = "must re-collect"
    UNDECIDED = "undecided"
    NO_ROWS = "no rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A kernel on two builds.

    Attributes:
        kernel: What was declared of it.
        evidence: What was held side by side.
    """

    kernel: DeclaredKernel
    evidence: tuple[Evidence, ...]

    @property
    def holding(self) -> Holding:
        """Say what that means for rows of the old build."""
        found = {one.finding for one in self.evidence}
        if Finding.DIFFERENT in found:
            return Holding.RECOLLECT
        if not found or found - {Finding.EQUAL}:
            return Holding.UNDECIDED
        return Holding.KERNEL_EQUAL

    @property
    def deciding(self) -> tuple[Evidence, ...]:
        """Give the evidence that is behind the answer."""
        wanted = Finding.DIFFERENT if self.holding is Holding.RECOLLECT else None
        others = tuple(one for one in self.evidence if one.finding is not Finding.EQUAL)
        return tuple(one for one in others if wanted in {None, one.finding}) or self.evidence

    @property
    def reason(self) -> str:
        """Say why, in one line."""
        if self.holding is Holding.KERNEL_EQUAL:
            return "; ".join(one.detail for one in self.evidence)
        return "; ".join(one.detail for one in self.deciding)
