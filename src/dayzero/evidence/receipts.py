"""Hold the receipts of kits against the ledger that they were cut from."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dayzero.core.verdict import Place
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.report import Finding, Kind
from dayzero.evidence.state import Retracted, Standing, Superseded, Withdrawn
from dayzero.evidence.wire import to_wire


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What the signed statements beside a kit say of its evidence.

    Attributes:
        kit: The kit.
        ledger: Digest of the ledger in the kit, ``""`` where no statement names one.
        claims: What was measured, as ledger bodies.
        place: Where it says so.
    """

    kit: str
    ledger: str
    claims: tuple[Mapping[str, object], ...]
    place: Place


@dataclass(frozen=True, slots=True, kw_only=True)
class Unreadable:
    """A kit whose statements cannot be read."""

    kit: str
    reason: str


def receipt_findings(
    receipts: Sequence[Receipt | Unreadable], ledger: Ledger, content: bytes, *, file: str
) -> Iterator[Finding]:
    """Say where a receipt and the ledger disagree.

    Args:
        receipts: What the kits say.
        ledger: The ledger.
        content: Its bytes; the ledger of a kit has to be a beginning of them.
        file: What the ledger is called in places.
    """
    beginnings = _beginnings(content)
    histories = ledger.histories()
    for receipt in receipts:
        if isinstance(receipt, Unreadable):
            place = Place(artifact="", file=receipt.kit)
            yield Finding(Kind.RECEIPT_DIFFERS, f"what the kit says cannot be read: {receipt.reason}", (place,))
            continue
        if receipt.ledger and receipt.ledger not in beginnings:
            reason = f"the ledger in {receipt.kit} is no beginning of this one: {receipt.ledger}"
            yield Finding(Kind.RECEIPT_DIFFERS, reason, (receipt.place, Place(artifact="", file=file)))
        for body in receipt.claims:
            slug = str(body.get("slug", ""))
            states = histories.get(slug, ())
            line = states[-1].line if states else 0
            disagreement = _disagreement(body, states[-1] if states else None)
            if disagreement:
                places = (receipt.place, Place(artifact="", file=file, position=f"line {line}" if line else ""))
                reason = f"the receipt of {receipt.kit} says {slug} is {_text(body)!r}, {disagreement}"
                yield Finding(Kind.RECEIPT_DIFFERS, reason, places)


def _disagreement(body: Mapping[str, object], state: object) -> str:
    match state:
        case Standing():
            claim = state.claim
            if _canonical(to_wire(claim)[1]) == _canonical(body):
                return ""
            same = claim.text == _text(body)
            return "the ledger has it from elsewhere" if same else f"the ledger says {claim.text!r}"
        case Withdrawn(retraction=retraction) | Retracted(retraction=retraction):
            return f"which was {retraction.word} on {retraction.at}: {retraction.reason}"
        case Superseded(by_line=line):
            return f"which line {line} superseded"
        case _:
            return "which the ledger does not claim"


def _text(body: Mapping[str, object]) -> str:
    return f"{body.get('value', '')} {body.get('unit', '')}".strip()


def _canonical(body: Mapping[str, object]) -> str:
    return json.dumps(body, sort_keys=True)


def _beginnings(content: bytes) -> frozenset[str]:
    """Give the digest of every beginning of the ledger that ends with a whole line."""
    hashed, digests = hashlib.sha256(), set()
    for line in content.splitlines(keepends=True):
        hashed.update(line)
        digests.add(hashed.hexdigest())
    return frozenset(digests)
