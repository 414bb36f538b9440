"""Print an audit so that a tired engineer can act on it: the verdict, then what is wrong, worst first, and what to do."""

import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby

from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.report import Audited
from dayzero.audit.rules import Subject
from dayzero.core.verdict import Place, verdict_word

_HEADINGS = {
    Severity.START: "START: it will not start",
    Severity.PATH: "PATH: it starts, and this path through it fails",
    Severity.OPT_IN: "OPT-IN: it fails only with a flag that is not set by itself",
    Severity.DOWNGRADE: "DOWNGRADE: it serves, but not as intended",
    Severity.GUARDED: "GUARDED: the code catches it",
    Severity.UNVERIFIED: "UNVERIFIED: these files cannot show it",
}
_APPLIES = {Applies.YES: "this is so here", Applies.NO: "not so here", Applies.UNKNOWN: "not known here"}
_QUOTE = 110


def audit_lines(audit: Audited, subject: Subject, model: str, *, everything: bool, width: int) -> Iterator[str]:
    """Write an audit.

    Args:
        audit: The answer.
        subject: What it is about.
        model: What the model is called, ``""`` without one.
        everything: Whether to write what does not concern this subject, too.
        width: Columns of the page.
    """
    others = ", ".join(str(one) for one in subject.installed.others if one.files.names())
    asked = [
        str(subject.installed.engine),
        *([f"with {others}"] if others else []),
        *([f"for {model}"] if model else []),
    ]
    asked += [f"on {subject.system.name}"] if subject.system else []
    yield from _wrapped(f"{verdict_word(audit.verdict).upper()}: {audit.verdict.reason}", width)
    yield from _wrapped(" ".join(asked), width, indent="  ")
    shown = audit.findings if everything else tuple(one for one in audit.findings if _concerns(one))
    for severity, group in groupby(shown, key=lambda one: one.severity):
        yield ""
        yield _HEADINGS[severity]
        for one in group:
            yield from _finding(one, width)
    hidden = len(audit.findings) - len(shown)
    if audit.not_checked:
        yield ""
        yield "Not checked"
        yield from _not_checked(audit.not_checked, width)
    if hidden:
        yield ""
        yield f"{hidden} more do not concern this model, GPU and flags, or are caught by the code; --all lists them."


def _concerns(finding: Finding) -> bool:
    match finding.severity:
        case Severity.START | Severity.DOWNGRADE:
            return finding.holds is not Applies.NO
        case Severity.PATH | Severity.UNVERIFIED:
            return finding.holds is not Applies.NO
        case Severity.OPT_IN:
            return finding.applies is Applies.YES
        case Severity.GUARDED:
            return False


def _finding(one: Finding, width: int) -> Iterator[str]:
    yield from _wrapped(f"- {one.message}  [{one.rule}]", width, indent="  ", hanging="    ")
    if one.when:
        yield from _wrapped(f"when: {one.when} ({_APPLIES[one.holds]})", width, indent="    ")
    for place in (one.engine, one.library):
        if place is not None:
            yield from _place(place)
    if one.advisories:
        yield f"    known as {', '.join(one.advisories)}"
    if one.resolution:
        yield from _wrapped(f"-> {one.resolution}", width, indent="    ", hanging="       ")


def _place(place: Place) -> Iterator[str]:
    yield f"    at {place}"
    if place.quote and place.position:
        yield f"       {place.quote[:_QUOTE]}"


def _not_checked(missing: Sequence[NotChecked], width: int) -> Iterator[str]:
    for one in missing:
        yield from _wrapped(f"- {one.what}: {one.why}", width, indent="  ", hanging="    ")


def _wrapped(text: str, width: int, *, indent: str = "", hanging: str = "") -> Iterator[str]:
    yield from textwrap.wrap(
        text,
        width,
        initial_indent=indent,
        subsequent_indent=hanging or indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
