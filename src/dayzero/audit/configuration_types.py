"""Does anything have a configuration class for a model's type, where the engine itself has none?"""

from collections.abc import Iterator

from dayzero.audit.architectures import trusts_remote_code
from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.model import FactTable, Unread
from dayzero.audit.rules import Subject
from dayzero.audit.transformers_library import DISTRIBUTION, configuration_types
from dayzero.core.verdict import Place

RULE = "configuration-type"
QUESTION = "Is there a configuration class for the model's type?"


def model_type_of(subject: Subject, engine: str) -> str | None:
    """Give the model's type, ``None`` where the subject does not run on this engine or its type is no text."""
    named = subject.model.get("model_type") if subject.model is not None else None
    return named if subject.engine == engine and isinstance(named, str) else None


def undeclared(subject: Subject, model_type: str, table: Place) -> Iterator[Finding | NotChecked]:
    """Say what becomes of a type for which the engine has no configuration class of its own.

    Args:
        subject: What is to be served.
        model_type: The type.
        table: Where the engine lists its own.
    """
    match configuration_types(subject.installed):
        case FactTable() as library if library.find(model_type) is None:
            yield _unknown(subject, model_type, table, library.place)
        case Unread(reason=reason) if subject.installed.find(DISTRIBUTION) is not None:
            yield NotChecked(QUESTION, reason)
        case _:
            return


def _unknown(subject: Subject, model_type: str, table: Place, library: Place | None) -> Finding:
    remote = subject.model is not None and isinstance(subject.model.get("auto_map"), dict)
    trusted = remote and trusts_remote_code(subject.flags)
    return Finding(
        RULE,
        Severity.UNVERIFIED if trusted else Severity.START,
        f"neither {subject.installed.engine} nor {subject.installed.find(DISTRIBUTION)} has a configuration of type"
        f" {model_type}",
        table,
        library,
        "Use a release that has it" + (", or pass --trust-remote-code." if remote else "."),
        "the model's own configuration class works" if trusted else "",
        Applies.UNKNOWN if trusted else Applies.YES,
    )
