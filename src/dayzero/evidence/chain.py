"""The lines of the ledger: each one the canonical form of its entry, chained to the line before it by its digest."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

import msgspec
import rfc8785

from dayzero.core.errors import InputError, IntegrityError
from dayzero.evidence.model import Entry
from dayzero.evidence.wire import from_wire, to_wire
from dayzero_verify.strict_json import StrictJsonError, loads

RESTORE = "Take the file from the last commit that had it whole; its lines are only ever added to."


class EntryWire(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One line of a chained log as JSON; what ``body`` holds follows from ``type``."""

    seq: int
    prev: str
    type: str
    body: dict[str, object]
    digest: str


@dataclass(frozen=True, slots=True)
class Link:
    """An entry as it is written.

    Attributes:
        digest: SHA-256 of the RFC 8785 form of ``{seq, prev, type, body}``.
        line: The one line that the entry can have, newline included.
    """

    digest: str
    line: bytes


def link(*, seq: int, prev: str, name: str, body: Mapping[str, object]) -> Link:
    """Write an entry behind the one whose digest is ``prev``.

    The body is put into its RFC 8785 form once; around it stand the other members in the order of that form.

    Raises:
        InputError: The body has no such form.
    """
    first = b'{"body":' + _canonical(body)
    last = b"".join((b',"prev":', _canonical(prev), b',"seq":', _canonical(seq), b',"type":', _canonical(name), b"}"))
    digest = hashlib.sha256(first + last).hexdigest()
    return Link(digest, b"".join((first, b',"digest":"', digest.encode(), b'"', last, b"\n")))


def _canonical(document: Mapping[str, object] | str | int) -> bytes:
    try:
        return rfc8785.dumps(cast("dict[str, str]", document))
    except rfc8785.CanonicalizationError as error:
        raise InputError(
            f"this cannot be written into the ledger: {error}",
            hint="Use Unicode text, and whole numbers of at most 2^53 - 1.",
        ) from error


def read_entry(line: bytes, *, seq: int, prev: str, where: str) -> Entry:
    """Read one line; that it equals the line that would be written for its content leaves no second way to write it.

    Args:
        line: The line, without its newline.
        seq: Its 0-based position.
        prev: Digest of the entry before it.
        where: What to call its place in messages.

    Raises:
        IntegrityError: It is not the one canonical form of its entry, or does not follow from the line before it.
    """
    try:
        found = msgspec.convert(loads(line), EntryWire, strict=True)
        record = from_wire(found.type, found.body)
    except (InputError, StrictJsonError, msgspec.ValidationError) as error:
        raise IntegrityError(f"{where}: {error}", hint=RESTORE) from error
    name, body = to_wire(record)
    if found.seq != seq:
        raise IntegrityError(f"{where}: the line says it is number {found.seq}, it is number {seq}", hint=RESTORE)
    if found.prev != prev:
        raise IntegrityError(f"{where}: the line does not follow the line before it", hint=RESTORE)
    written = link(seq=seq, prev=prev, name=name, body=body)
    if found.digest != written.digest:
        raise IntegrityError(f"{where}: the line was changed after it was written", hint=RESTORE)
    if line + b"\n" != written.line:
        raise IntegrityError(f"{where}: the line is not in canonical form (RFC 8785)", hint=RESTORE)
    return Entry(seq=seq, prev=prev, record=record, digest=written.digest)
