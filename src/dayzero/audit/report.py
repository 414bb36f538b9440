"""Put every rule to a subject, and sum up what they found: proven, refuted or undecided."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from dayzero.audit.finding import Applies, Finding, NotChecked, Severity
from dayzero.audit.rules import Rule, Subject
from dayzero.core.errors import InputError, RemoteError
from dayzero.core.verdict import Place, Proven, Refuted, Undecided, Verdict

_ORDER = {severity: number for number, severity in enumerate(Severity)}
_APPLIES = {Applies.YES: 0, Applies.UNKNOWN: 1, Applies.NO: 2}
_NAMED = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Audited:
    """The answer to one subject.

    Attributes:
        findings: Worst first; each once.
        not_checked: What could not be looked at.
        rules: Ids of the rules that were asked.
        verdict: Can it be served so?
    """

    findings: tuple[Finding, ...]
    not_checked: tuple[NotChecked, ...]
    rules: tuple[str, ...]
    verdict: Verdict


def audited(rules: Sequence[Rule], subject: Subject, unread: Iterable[NotChecked] = ()) -> Audited:
    """Put every rule to a subject.

    Args:
        rules: The rules.
        subject: What is to be served.
        unread: What was missing before the rules were asked.

    Raises:
        IntegrityError: A file is not the one that its wheel lists.
    """
    said = [*unread, *(one for rule in rules for one in _asked(rule, subject))]
    findings = _each_cause_once(tuple(dict.fromkeys(one for one in said if isinstance(one, Finding))))
    not_checked = tuple(dict.fromkeys(one for one in said if isinstance(one, NotChecked)))
    ordered = tuple(sorted(findings, key=_rank))
    return Audited(
        findings=ordered,
        not_checked=not_checked,
        rules=tuple(rule.id for rule in rules),
        verdict=judged(ordered, not_checked, asked=len(rules)),
    )


def judged(findings: Sequence[Finding], not_checked: Sequence[NotChecked], *, asked: int) -> Verdict:
    """Sum up: one finding that stops the start or the path refutes; failing that, an open question leaves it undecided.

    Args:
        findings: What was found.
        not_checked: What could not be looked at.
        asked: How many rules were asked; none proves nothing.
    """
    fatal = [one for one in findings if refutes(one)]
    if fatal:
        return Refuted(_joined(one.message for one in fatal), tuple(_places(fatal)))
    doubtful = [one for one in findings if leaves_open(one)]
    needed = [one for one in not_checked if one.needed]
    if doubtful or needed:
        reasons = (*(one.message for one in doubtful), *(f"{one.what}: {one.why}" for one in needed))
        return Undecided(_joined(reasons), tuple(_places(doubtful)))
    if not asked:
        return Undecided("nothing was checked")
    lost = sum(one.severity is Severity.DOWNGRADE for one in findings)
    kernels = f"; {lost} finding{'s' if lost > 1 else ''} of another kernel than intended" if lost else ""
    return Proven(f"no rule of {asked} found what would stop it{kernels}")


def refutes(finding: Finding) -> bool:
    """Say whether a finding alone means that it cannot be served so."""
    match finding.severity:
        case Severity.START:
            return True
        case Severity.PATH:
            return finding.holds is Applies.YES
        case Severity.OPT_IN:
            return bool(finding.when) and finding.applies is Applies.YES
        case _:
            return False


def leaves_open(finding: Finding) -> bool:
    """Say whether a finding leaves the answer open: what it depends on is not known."""
    match finding.severity:
        case Severity.PATH:
            return finding.holds is Applies.UNKNOWN
        case Severity.UNVERIFIED:
            return finding.holds is not Applies.NO
        case _:
            return False


def _asked(rule: Rule, subject: Subject) -> Iterator[Finding | NotChecked]:
    try:
        yield from rule.check(subject)
    except (InputError, RemoteError) as error:
        yield NotChecked(what=rule.question, why=error.message)
    except RecursionError:
        yield NotChecked(what=rule.question, why="the files are nested too deeply")


def _each_cause_once(findings: tuple[Finding, ...]) -> Iterator[Finding]:
    """Leave out what a rule says of the two places at which another one shows worse, so that it cannot be served: one cause."""
    fatal: dict[tuple[Place | None, Place | None], list[Finding]] = {}
    for one in filter(refutes, findings):
        fatal.setdefault((one.engine, one.library), []).append(one)
    for one in findings:
        both = one.engine is not None and one.library is not None
        others = fatal.get((one.engine, one.library), ()) if both else ()
        if not any(_ORDER[other.severity] < _ORDER[one.severity] and other.rule != one.rule for other in others):
            yield one


def _rank(finding: Finding) -> tuple[int, int, str, str]:
    place = finding.engine or finding.library
    return (_ORDER[finding.severity], _APPLIES[finding.holds], finding.rule, str(place))


def _joined(reasons: Iterable[str]) -> str:
    listed = list(dict.fromkeys(reasons))
    more = len(listed) - _NAMED
    return "; ".join(listed[:_NAMED]) + (f"; and {more} more" if more > 0 else "")


def _places(findings: Sequence[Finding]) -> Iterator[Place]:
    for one in findings:
        yield from (place for place in (one.engine, one.library) if place is not None)
