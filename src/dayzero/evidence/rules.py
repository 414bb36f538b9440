"""What a repository asks of its pages and its ledger beyond backed numbers: topics, comparisons, kits; where it keeps them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from dayzero.core.verdict import Place
from dayzero.evidence.citation import UNITS, Citation, Reading
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.model import Explanation, NotMeasured, Record, Uncitable
from dayzero.evidence.report import Finding, Kind
from dayzero.evidence.state import Missing, Standing, State

PUBLISHED = ("README.md", "docs/**/*.md", "site/**/*.html")
FOLDER = "evidence"
_JOINTS = frozenset("/-._")

Standings: TypeAlias = Mapping[str, State]


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    """Something that readers ask about, so that silence on it is a finding.

    Attributes:
        name: What it is called, in a ``not_measured`` record too.
        claims: Slug of the claim that measures it, or how the slugs of such claims begin.
        place: Where it is required.
    """

    name: str
    claims: str
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Two arms that mean something only beside their control.

    Attributes:
        claim: Slug of the claim that compares; ``""`` where the page compares that cites every arm.
        arms: Slugs of what is compared.
        control: Slug of the control: the same against the same.
        place: Where it is required.
    """

    claim: str
    arms: tuple[str, ...]
    control: str
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How a repository keeps its evidence, and what it asks of its pages; as it stands here, what one without a policy gets.

    Attributes:
        pages: Patterns of its published pages, from its root.
        folder: Its folder of evidence, from its root.
        units: What makes a number a measurement on its pages.
        raw: Patterns of result files that may be cited where they lie, from its root.
        kits: Patterns of its kits, from its root.
        topics: What has to be measured or declared not measured.
        comparisons: What has to have its control.
    """

    pages: tuple[str, ...] = PUBLISHED
    folder: str = FOLDER
    units: tuple[str, ...] = UNITS
    raw: tuple[str, ...] = ()
    kits: tuple[str, ...] = ()
    topics: tuple[Topic, ...] = ()
    comparisons: tuple[Comparison, ...] = ()


def rule_findings(policy: Policy, ledger: Ledger, readings: Sequence[Reading]) -> tuple[Finding, ...]:
    """Hold ledger and pages against the policy; each finding names where it is required, then every citing place."""
    standings = ledger.standings()
    return (
        *(finding for topic in policy.topics for finding in _topic_findings(topic, ledger, standings, readings)),
        *(finding for asked in policy.comparisons for finding in _comparison_findings(asked, standings, readings)),
    )


def _topic_findings(
    topic: Topic, ledger: Ledger, standings: Standings, readings: Sequence[Reading]
) -> Iterator[Finding]:
    under = [slug for slug in standings if _is_under(slug, topic.claims)]
    if any(_is_measured(standings[slug]) for slug in under):
        return
    if any(_says_nothing_on(entry.record, topic.name) for entry in ledger.entries):
        return
    cited = tuple(citation.place for slug in under for citation in _citations(readings, slug))
    gone = f"; {' and '.join(under)} {'is' if len(under) == 1 else 'are'} no number that stands" if under else ""
    reason = f"the topic {topic.name!r} is neither measured by a claim {topic.claims!r} nor declared not measured{gone}"
    yield Finding(Kind.TOPIC_UNSAID, reason, (topic.place, *cited))


def _is_under(slug: str, claims: str) -> bool:
    """Say whether a slug is this one or goes on from it; ``k3/c1`` begins ``k3/c1-p50``, not ``k3/c128``."""
    rest = slug.removeprefix(claims)
    return slug.startswith(claims) and (not rest or claims[-1:] in _JOINTS or rest[0] in _JOINTS)


def _is_measured(state: State) -> bool:
    return isinstance(state, Standing) and not isinstance(state.claim, Explanation)


def _says_nothing_on(record: Record, topic: str) -> bool:
    return isinstance(record, NotMeasured | Uncitable) and record.topic == topic


def _comparison_findings(asked: Comparison, standings: Standings, readings: Sequence[Reading]) -> Iterator[Finding]:
    if not asked.claim:
        yield from _comparing_pages(asked, standings, readings)
        return
    match standings.get(asked.claim, Missing(asked.claim)):
        case Standing():
            citing = tuple(citation.place for citation in _citations(readings, asked.claim))
            yield from _incomplete(asked, standings, f"the comparison {asked.claim}", citing)
        case Missing():
            reason = f"the comparison {asked.claim} is required to have its control, and no claim is called so"
            yield Finding(Kind.COMPARISON_INCOMPLETE, reason, (asked.place,))
        case _:
            pass  # nobody asserts it any more; a page that cites it is a finding of its own


def _comparing_pages(asked: Comparison, standings: Standings, readings: Sequence[Reading]) -> Iterator[Finding]:
    """Look at each page that cites every arm: the control has to stand, and to be cited beside them."""
    for reading in readings:
        citing = tuple(citation.place for citation in reading.citations if citation.slug in asked.arms)
        slugs = {citation.slug for citation in reading.citations}
        if not slugs.issuperset(asked.arms):
            continue
        what = f"the page compares {' with '.join(asked.arms)}"
        yield from _incomplete(asked, standings, what, citing)
        if asked.control not in slugs and isinstance(standings.get(asked.control), Standing):
            reason = f"{what} and does not cite their control {asked.control}"
            yield Finding(Kind.COMPARISON_INCOMPLETE, reason, (asked.place, *citing))


def _incomplete(asked: Comparison, standings: Standings, what: str, citing: tuple[Place, ...]) -> Iterator[Finding]:
    parts = (*((f"arm {arm}", arm) for arm in asked.arms), (f"control {asked.control}", asked.control))
    for name, slug in parts:
        state = standings.get(slug, Missing(slug))
        if not isinstance(state, Standing):
            became = "was never measured" if isinstance(state, Missing) else "does not stand any more"
            reason = f"{what} lacks its {name}, which {became}"
            yield Finding(Kind.COMPARISON_INCOMPLETE, reason, (asked.place, *citing))


def _citations(readings: Sequence[Reading], slug: str) -> Iterator[Citation]:
    return (citation for reading in readings for citation in reading.citations if citation.slug == slug)
