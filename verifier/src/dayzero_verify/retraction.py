"""Retractions: what their statements say, and what a kit's own ledger takes back."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from dayzero_verify.statement import Statement, StatementError
from dayzero_verify.strict_json import Json, loads
from dayzero_verify.times import TimeError, parse_time

RETRACTION_TYPE = "urn:dayzero:retraction:v1"

_WHATS = ("kit", "receipt", "claim")
_PARTICIPLES = {"retract": "retracted", "withdraw": "withdrawn"}
_MAX_REASON = 500


@dataclass(frozen=True, slots=True)
class ClaimName:
    """What names a claim: its slug, and the digest of the raw file under it."""

    slug: str
    raw: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Retraction:
    """One thing that its maker no longer stands by.

    Attributes:
        what: ``kit``, ``receipt`` or ``claim``.
        word: ``retracted`` (it should not have been published) or ``withdrawn`` (it is no longer asserted).
        digests: Of what is taken back: a kit's archive, a receipt's payload, or the raw file of a claim.
        slug: The claim's slug; ``""`` for a kit or a receipt.
        reason: Why.
        effective: From when on.
        replaced_by: What takes its place, ``""`` where nothing does.
    """

    what: str
    word: str
    digests: tuple[str, ...]
    slug: str
    reason: str
    effective: datetime
    replaced_by: str


def parse_retraction(statement: Statement) -> Retraction:
    """Read a retraction statement.

    Raises:
        StatementError: Another predicate type, or a member that is missing or not as described above.
    """
    if statement.predicate_type != RETRACTION_TYPE:
        raise StatementError(f"not a retraction but {statement.predicate_type!a}")
    predicate = statement.predicate
    what, kind = _text(predicate, "what"), _text(predicate, "kind")
    slug = _text(predicate, "slug") if "slug" in predicate else ""
    if what not in _WHATS or kind not in _PARTICIPLES or (what == "claim") != bool(slug):
        raise StatementError("a retraction retracts or withdraws a kit, a receipt, or a claim by its slug")
    reason = _text(predicate, "reason")
    if not reason:
        raise StatementError("a retraction gives no reason")
    try:
        effective = parse_time(predicate.get("effective"))
    except TimeError as error:
        raise StatementError(f"effective: {error}") from error
    return Retraction(
        what=what,
        word=_PARTICIPLES[kind],
        digests=tuple(subject.sha256 for subject in statement.subjects),
        slug=slug,
        reason=reason,
        effective=effective,
        replaced_by=_text(predicate, "replacedBy"),
    )


def hits(retraction: Retraction, *, kit: str, receipts: Iterable[str], claims: Iterable[ClaimName]) -> bool:
    """Say whether a retraction is about a kit, a receipt of it, or a claim that a receipt of it states.

    Args:
        retraction: The retraction.
        kit: Digest of the archive.
        receipts: Digests of the receipts' payloads.
        claims: What the receipts state.
    """
    match retraction.what:
        case "kit":
            return kit in retraction.digests
        case "receipt":
            return not set(retraction.digests).isdisjoint(receipts)
        case _:
            return any(claim.slug == retraction.slug and claim.raw in retraction.digests for claim in claims)


def stated_claims(receipt: Mapping[str, Json]) -> tuple[ClaimName, ...]:
    """Name the claims of a receipt's predicate; entries without a slug and a raw file are no claims.

    Raises:
        StatementError: ``claims`` is not a list of objects.
    """
    listed = receipt.get("claims", [])
    if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
        raise StatementError("the claims of a receipt are not a list of objects")
    names = (_claim_name(entry) for entry in listed if isinstance(entry, dict))
    return tuple(name for name in names if name is not None)


def taken_back(ledger: bytes) -> Mapping[ClaimName, str]:
    """Give the claims that a ledger takes back and does not make again later, each with what happened and why.

    An event names a slug and means the last claim under it. Where the ledger never made one, it stands under an empty digest.

    Raises:
        StrictJsonError: A line is not JSON.
    """
    latest: dict[str, ClaimName] = {}
    gone: dict[ClaimName, str] = {}
    for line in ledger.splitlines():
        entry = loads(line)
        body = entry.get("body") if isinstance(entry, dict) else None
        if not isinstance(entry, dict) or not isinstance(body, dict):
            continue
        claim, slug = _claim_name(body), body.get("slug")
        if entry.get("type") == "claim" and claim is not None:
            latest[claim.slug] = claim
            gone.pop(claim, None)
        elif entry.get("type") == "retraction" and isinstance(slug, str):
            word = _PARTICIPLES.get(str(body.get("kind")), "taken back")
            gone[latest.get(slug, ClaimName(slug, ""))] = f"{word}: {plain(str(body.get('reason')))}"
    return gone


def plain(text: str) -> str:
    """Make a text fit for one line of a terminal: no control characters, and none that turn the order of letters around."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:_MAX_REASON])


def _claim_name(body: Mapping[str, Json]) -> ClaimName | None:
    match body:
        case {"slug": str(slug), "raw": str(raw)}:
            return ClaimName(slug, raw)
        case _:
            return None


def _text(predicate: Mapping[str, Json], member: str) -> str:
    value = predicate.get(member)
    if not isinstance(value, str):
        raise StatementError(f"{member} of a retraction is not a text")
    return plain(value)
