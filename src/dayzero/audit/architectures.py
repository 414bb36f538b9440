"""Does an engine know a model's architecture, itself or through the Transformers library?"""

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.model import Facts, FactTable, Unread
from dayzero.audit.ports import BuildFiles
from dayzero.audit.rules import Subject
from dayzero.audit.transformers_library import DISTRIBUTION, model_class

RULE = "architecture-not-registered"
QUESTION = "Does the engine register the model's architecture, or can it run it through the Transformers library?"
_ASK = "Ask dayzero first for the release that has it."
_RESEMBLANCE = 0.6
_TRUST = "--trust-remote-code"
_FALLBACK = "Transformers"


class ModelRegistry(Protocol):
    """Reads which architectures an engine registers; entry-point group ``dayzero.model_registries``."""

    def read_architectures(self, files: BuildFiles) -> Facts:
        """Read which model architectures the build computes."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What an engine says of architectures.

    Attributes:
        table: Those that it registers.
        resolution: What to do about one that it does not, ``""`` where the engine does not say.
    """

    table: Facts
    resolution: str

    @property
    def falls_back(self) -> bool:
        """Whether the engine registers classes that run others through the Transformers library (``TransformersForCausalLM``)."""
        return isinstance(self.table, FactTable) and any(one.startswith(_FALLBACK) for one in self.table.names())


def architectures_of(model: Mapping[str, object]) -> tuple[str, ...]:
    """Name the architectures of a model's configuration; none where it names none, or not as text."""
    named = model.get("architectures")
    if isinstance(named, list) and named and all(isinstance(one, str) and one for one in named):
        return tuple(named)
    return ()


def trusts_remote_code(flags: tuple[str, ...]) -> bool:
    """Say whether the flags let the model's own code run."""
    return any(word.replace("_", "-") in {_TRUST, f"{_TRUST}=true", f"{_TRUST}=True"} for word in flags)


def unregistered(subject: Subject, names: tuple[str, ...], known: Known) -> Iterator[Finding | NotChecked]:
    """Say what becomes of architectures, none of which may be registered.

    Args:
        subject: What is to be served.
        names: Its architectures, and every other name under which the engine looks for them.
        known: What the engine says.
    """
    match known.table:
        case Unread(reason=reason):
            yield NotChecked(QUESTION, reason)
        case FactTable() as table if not any(table.find(name) for name in names):
            yield from _elsewhere(subject, names, table, known)


def _elsewhere(
    subject: Subject, names: tuple[str, ...], table: FactTable, known: Known
) -> Iterator[Finding | NotChecked]:
    asked = names[0]
    engine = subject.installed.engine
    near = difflib.get_close_matches(asked, table.names(), n=1, cutoff=_RESEMBLANCE)
    closest = f"; the closest is {near[0]}" if near else ""
    message = (
        f"architecture not registered: {asked} is not among the {len(table.entries)} that {engine} registers{closest}"
    )
    library = subject.installed.find(DISTRIBUTION)
    found = model_class(subject.installed.python, asked) if library is not None else None
    remote = _remote_code(subject)
    if not known.falls_back:
        yield Finding(RULE, Severity.START, message, table.place, None, known.resolution or _ASK)
    elif found is not None:
        place, compatible = found
        words = "runs through the Transformers library" if compatible else "may run through the Transformers library"
        yield Finding(
            RULE,
            Severity.DOWNGRADE if compatible else Severity.UNVERIFIED,
            f"{asked} is none of {engine}'s own models and {words} ({library})",
            table.place,
            place,
            known.resolution,
            "" if compatible else f"{library} lets engines run this class",
        )
    elif remote and trusts_remote_code(subject.flags):
        yield Finding(
            RULE,
            Severity.UNVERIFIED,
            f"{message}; whether the model's own code ({remote}) can be run is not in these files",
            table.place,
            None,
            known.resolution,
            "the model's own code is compatible",
            Applies.UNKNOWN,
        )
    elif library is None and not remote:
        yield NotChecked(QUESTION, f"{message}, and {DISTRIBUTION}, through which it may run, was not read")
    else:
        yield Finding(RULE, Severity.START, message, table.place, None, known.resolution or _ASK)


def _remote_code(subject: Subject) -> str:
    listed = subject.model.get("auto_map") if subject.model is not None else None
    if not isinstance(listed, dict):
        return ""
    return next((str(value) for key, value in listed.items() if str(key).startswith("AutoModel")), "")
