"""Sign the state of all chains, and keep that outside the database: whoever owns the database cannot write another past."""

from collections.abc import Mapping
from dataclasses import dataclass

from dayzero.attestation.envelope import seal, unseal
from dayzero.attestation.model import Statement, Subject
from dayzero.attestation.ports import Signer
from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.pins import Sha256
from dayzero.market.chain import Head, block_body, heads_in, link, written_at
from dayzero.market.model import HOUSE, Values
from dayzero.market.ports import Desk, Market
from dayzero.market.rows import number, text
from dayzero_verify.keys import PublicKey

CHECKPOINT_TYPE = "urn:dayzero:market-checkpoint:v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Signed:
    """A checkpoint whose signature holds.

    Attributes:
        name: Where it was read, for people.
        seq, hash: The block that it is about.
        at: When it was written.
    """

    name: str
    seq: int
    hash: str
    at: str


def take(market: Market) -> Values:
    """Append a block over the chains that grew since the last one, and give the newest block.

    Raises:
        InputError: Nothing was ever recorded.
    """
    return market.books.write(HOUSE, lambda desk: _take(desk, market.now()))


def _take(desk: Desk, at: str) -> Values:
    block = _next_block(desk, at)
    if block is not None:
        desk.append_block(block)
        return block
    blocks = desk.every("block")
    if not blocks:
        raise InputError("nothing was recorded yet", hint="Run 'dayzero market init' first.")
    return blocks[-1]


def _next_block(desk: Desk, at: str) -> Values | None:
    """Write the heads of the chains that grew since the last block as the next one; ``None`` where none grew."""
    last, covered = Head(), dict[str, Head]()
    for block in desk.entries("block", 1):
        covered |= heads_in(text(block, "body"))
        last = Head(number(block, "seq"), text(block, "hash"))
    grown = {account: head for account, head in desk.heads().items() if covered.get(account) != head}
    if not grown:
        return None
    linked = link(last, block_body(grown, at, last.seq + 1))
    return {
        "seq": linked.seq,
        "prev_seq": linked.prev_seq,
        "body": linked.body,
        "prev_hash": linked.prev_hash,
        "hash": linked.hash,
    }


def sign_block(block: Values, signer: Signer) -> bytes:
    """State a block's hash, signed: one line, the same for the same block and key."""
    statement = Statement(
        subjects=(Subject(f"market-block-{block['seq']}", Sha256(text(block, "hash"))),),
        predicate_type=CHECKPOINT_TYPE,
        predicate={
            "sequence": number(block, "seq"),
            "at": written_at(text(block, "body")),
            "signer": {"kind": signer.kind},
        },
    )
    return seal(statement, signer)


def read_checkpoint(line: bytes, name: str, trusted: tuple[PublicKey, ...]) -> Signed:
    """Read a checkpoint.

    Raises:
        IntegrityError: No trusted key signed it, or it is no checkpoint.
    """
    statement = unseal(line, trusted)
    said: Mapping[str, object] = statement.predicate
    sequence, at = said.get("sequence"), said.get("at")
    if statement.predicate_type != CHECKPOINT_TYPE or not isinstance(sequence, int) or not isinstance(at, str):
        raise IntegrityError(f"{name} is no checkpoint of a market", hint="Give the folder of the checkpoints.")
    return Signed(name=name, seq=sequence, hash=statement.subjects[0].sha256.hex, at=at)
