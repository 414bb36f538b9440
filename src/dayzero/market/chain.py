"""Write what was recorded as bytes, and chain them: a changed, missing or invented row is named by what was written about it."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from dayzero.core.errors import IntegrityError
from dayzero.market.model import Deed, Finding, Row, Value, Values

_CANONICAL = msgspec.json.Encoder(order="sorted")


class _Body(msgspec.Struct):
    rows: tuple[tuple[str, dict[str, Value]], ...]


_BODY = msgspec.json.Decoder(_Body)


@dataclass(frozen=True, slots=True)
class Head:
    """The newest entry of a chain: its number and hash; 0 and ``""`` before the first."""

    seq: int = 0
    hash: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """An entry of a chain, as its columns are."""

    seq: int
    prev_seq: int | None
    prev_hash: str
    body: str
    hash: str


def canonical(value: object) -> str:
    """Write text, whole numbers, ``null``, lists and objects (dataclasses too) with ASCII names in their RFC 8785 form."""
    return _CANONICAL.encode(value).decode("utf-8")


def digest(text: str) -> str:
    """Name a text by the SHA-256 of its UTF-8 bytes."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def link(head: Head, body: str) -> Link:
    """Put a body after the newest entry."""
    return Link(
        seq=head.seq + 1,
        prev_seq=head.seq or None,
        prev_hash=head.hash,
        body=body,
        hash=_hash(head.hash, body),
    )


def entry_body(deed: Deed, seq: int) -> str:
    """Write a deed as the bytes that the journal keeps; the account and the number are part of them."""
    return f"{entry_stem(deed)}{seq}}}"


def entry_stem(deed: Deed) -> str:
    """Write a deed as the bytes that the journal keeps, up to its number, which comes last: the number and ``}`` end them."""
    unnumbered = {
        "account": deed.account,
        "at": deed.at,
        "kind": deed.kind,
        "rows": [[row.table, row.values] for row in deed.rows],
        "seq": 0,
    }
    return canonical(unnumbered)[: -len("0}")]


def entry_row(deed: Deed, head: Head) -> Row:
    """Write the entry that a deed makes in its account's chain."""
    linked = link(head, entry_body(deed, head.seq + 1))
    return Row(
        "journal",
        {
            "account_id": deed.account,
            "seq": linked.seq,
            "prev_seq": linked.prev_seq,
            "kind": deed.kind,
            "body": linked.body,
            "prev_hash": linked.prev_hash,
            "hash": linked.hash,
        },
    )


def rows_in(body: str) -> tuple[Row, ...]:
    """Read back which rows an entry is about.

    Raises:
        IntegrityError: It is no body of an entry.
    """
    try:
        return tuple(Row(table, values) for table, values in _BODY.decode(body).rows)
    except msgspec.DecodeError as error:
        raise IntegrityError("an entry of the journal cannot be read", hint="Run 'dayzero market audit'.") from error


def broken(entries: Iterable[Values], name: str, head: Head | None = None) -> Iterator[Finding]:
    """Find where a chain does not hold: a number out of turn, a link to something else, bytes that do not give the hash.

    Args:
        entries: The rows of one chain, by number.
        name: What to call the chain.
        head: The entry before the first of these; where it is not given, the chain begins with them.
    """
    head = head or Head()
    for entry in entries:
        where = f"{name} #{entry['seq']}"
        expected = link(head, str(entry["body"]))
        if entry["seq"] != expected.seq:
            yield Finding(kind="chain", where=where, reason=f"#{expected.seq} is missing before it")
        elif entry["prev_hash"] != expected.prev_hash:
            yield Finding(kind="chain", where=where, reason="it does not follow from the entry before it")
        elif entry["hash"] != expected.hash:
            yield Finding(kind="chain", where=where, reason="its bytes do not give its hash")
        head = Head(_number(entry["seq"]), str(entry["hash"]))


def block_body(heads: Mapping[str, Head], at: str, seq: int) -> str:
    """Write the heads of the chains that grew since the last block."""
    grown = [[account, head.seq, head.hash] for account, head in sorted(heads.items())]
    return canonical({"at": at, "heads": grown, "seq": seq})


def heads_in(body: str) -> dict[str, Head]:
    """Read back which heads a block is about.

    Raises:
        IntegrityError: It is no body of a block.
    """
    try:
        return {str(account): Head(int(seq), str(entry_hash)) for account, seq, entry_hash in json.loads(body)["heads"]}
    except (ValueError, KeyError, TypeError) as error:
        raise IntegrityError("a block cannot be read", hint="Run 'dayzero market audit'.") from error


def written_at(body: str) -> str:
    """Read when a block was written."""
    return str(json.loads(body)["at"])


def _hash(before: str, body: str) -> str:
    return digest(f"{before}\n{body}")


def _number(value: Value) -> int:
    return value if isinstance(value, int) else 0
