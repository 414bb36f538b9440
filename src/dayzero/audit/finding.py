"""What a rule found in a set of installed files, and how bad that is."""

from dataclasses import dataclass
from enum import Enum

from dayzero.core.verdict import Place


class Severity(Enum):
    """What a finding does to the service, worst first."""

    START = "start"
    PATH = "path"
    OPT_IN = "opt-in"
    DOWNGRADE = "downgrade"
    GUARDED = "guarded"
    UNVERIFIED = "unverified"


class Applies(Enum):
    """Does a finding's condition hold for this model, GPU, flags and environment?"""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong between the engine, its libraries, the model, the GPU and the flags.

    Attributes:
        rule: Id of the rule that found it.
        severity: What it does to the service.
        message: What is wrong, one sentence.
        engine: Where the engine (whoever asks) shows it.
        library: Where the library (whoever is asked) shows it.
        resolution: Which version or flag resolves it, as one imperative sentence.
        when: Under which GPU, model or flag it matters; ``""`` means always.
        applies: Whether ``when`` holds for the subject; looked at for ``PATH``, ``OPT_IN`` and ``UNVERIFIED``.
        advisories: Ids of the known walls that it is.
    """

    rule: str
    severity: Severity
    message: str
    engine: Place | None
    library: Place | None
    resolution: str
    when: str = ""
    applies: Applies = Applies.UNKNOWN
    advisories: tuple[str, ...] = ()

    @property
    def holds(self) -> Applies:
        """Say whether it matters to the subject: what has no condition always does."""
        return Applies.YES if not self.when else self.applies


@dataclass(frozen=True, slots=True)
class NotChecked:
    """A question that could not be answered, and why.

    Attributes:
        what: The question.
        why: What was missing.
        needed: Whether the model depends on the answer: then the audit stays undecided without it.
    """

    what: str
    why: str
    needed: bool = True
