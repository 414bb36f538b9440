"""What a transparency log says about a statement: its record, its place, and the head of the log (c2sp.org/tlog-proof)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from dayzero_verify.log_head import Checkpoint, LogFolder
from dayzero_verify.log_tree import (
    MAX_ENTRY_BYTES,
    LogTreeError,
    consistency_proof,
    included_root,
    is_consistent,
    leaf_hash,
    over_tiles,
    root_hash,
    tiles,
)
from dayzero_verify.report import DecidingError, ExitCode
from dayzero_verify.signed_note import (
    NoteError,
    NoteKey,
    NoteSignatureError,
    decode_base64,
    parse_checkpoint,
    parse_hash,
    parse_note,
    parse_number,
    verify_note,
)
from dayzero_verify.strict_json import StrictJsonError, loads
from dayzero_verify.times import TimeError, parse_time

_FIRST_LINE = "c2sp.org/tlog-proof@v1"
_RECORD = {"seq", "type", "statement", "kit", "version", "time"}
_SHA256 = re.compile(r"[0-9a-f]{64}")


class LogProofError(DecidingError):
    """The log does not say what it is said to say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One record of the log.

    Attributes:
        seq: Its number, from 0.
        type: ``release``, ``retraction`` or ``key-event``.
        statement: SHA-256 of the payload of the statement.
        kit: Name of the kit, ``""`` where it is about none.
        version: Version of the kit.
        time: When it was logged.
    """

    seq: int
    type: str
    statement: str
    kit: str
    version: str
    time: datetime


@dataclass(frozen=True, slots=True)
class Logged:
    """A record that is in the log, and the signed head that says so."""

    record: Record
    checkpoint: Checkpoint


def parse_record(content: bytes) -> Record:
    """Read a record.

    Raises:
        LogProofError: It is malformed (15).
    """
    try:
        document = loads(content)
        if not isinstance(document, dict) or set(document) != _RECORD:
            raise _malformed(f"a record has exactly the members {', '.join(sorted(_RECORD))}")
        match document:
            case {
                "seq": int(seq),
                "type": "release" | "retraction" | "key-event" as kind,
                "statement": str(statement),
                "kit": str(kit),
                "version": str(version),
                "time": time,
            } if _SHA256.fullmatch(statement) and not isinstance(seq, bool):
                return Record(
                    seq=seq, type=str(kind), statement=statement, kit=kit, version=version, time=parse_time(time)
                )
    except (StrictJsonError, TimeError) as error:
        raise _malformed(f"a record: {error}") from error
    raise _malformed("a member of a record is not of its type")


def verify_proof(proof: bytes, key: NoteKey) -> Logged:
    """Check that the record in a proof is in the log that the key signs for.

    Raises:
        LogProofError: The proof is malformed or leads to another head (15), or the head is not signed by the key (10).
    """
    head, _, note = proof.partition(b"\n\n")
    try:
        lines = head.decode("ascii").split("\n")
        if len(lines) < 3 or lines[0] != _FIRST_LINE:  # noqa: PLR2004  (name, extra, index)
            raise _malformed(f"it does not begin with {_FIRST_LINE}, extra and index")
        leaf = decode_base64(_after(lines[1], "extra "))
        index = parse_number(_after(lines[2], "index "))
        checkpoint = signed_checkpoint(note, key)
        if len(leaf) > MAX_ENTRY_BYTES:
            raise _malformed(f"a record is larger than {MAX_ENTRY_BYTES} bytes")
        root = included_root(leaf_hash(leaf), index, checkpoint.size, [parse_hash(line) for line in lines[3:]])
    except (UnicodeDecodeError, NoteError, LogTreeError) as error:
        raise _malformed(str(error)) from error
    if root != checkpoint.root:
        raise _malformed("the record is not in the log whose head is signed")
    record = parse_record(leaf)
    if record.seq != index:
        raise _malformed(f"the record says it is number {record.seq}, it is number {index}")
    return Logged(record, checkpoint)


def signed_checkpoint(note: bytes, key: NoteKey) -> Checkpoint:
    """Read the head of a log.

    Raises:
        LogProofError: It is malformed or of another log (15), or not signed by the key (10).
    """
    try:
        checkpoint = parse_checkpoint(verify_note(parse_note(note), key))
    except NoteSignatureError as error:
        raise LogProofError(ExitCode.SIGNATURE, f"the log's head: {error}") from error
    except NoteError as error:
        raise _malformed(f"the log's head: {error}") from error
    if checkpoint.origin != key.name:
        raise _malformed(f"the head is that of the log {checkpoint.origin!a}, not of {key.name!a}")
    return checkpoint


def agree(old: Checkpoint, new: Checkpoint, folder: LogFolder) -> bool:
    """Say whether the log with the new head begins with the log with the old one; ``False`` where that cannot be told.

    Args:
        old: A head.
        new: A head of the same log, no smaller.
        folder: Where the tiles lie; not needed for heads of one size.

    Raises:
        LogProofError: The two are heads of two different logs: a split view (18).
    """
    if old.size == new.size:
        consistent = old.root == new.root
    elif old.size == 0:
        return True
    else:
        try:
            proof = consistency_proof(over_tiles(folder, new.size), old.size, new.size)
        except LogTreeError:
            return False
        consistent = is_consistent(old.size, old.root, new.size, new.root, proof)
    if not consistent:
        raise LogProofError(
            ExitCode.STALE,
            f"a split view: the log with {new.size} records does not begin with the log of {old.size} records seen before",
        )
    return True


def records(head: Checkpoint, folder: LogFolder) -> tuple[Record, ...] | None:
    """Read every record of a log, ``None`` where the folder does not hold them all.

    Args:
        head: The log's signed head; the records have to lead to it.
        folder: Where the bundles of entries lie.

    Raises:
        LogProofError: They lead to another head (18), or one is malformed (15).
    """
    found: list[bytes] = []
    for tile in tiles(head.size):
        bundle = folder(tile.entries_path) if tile.level == 0 else b""
        if bundle is None:
            return None
        found += _entries(bundle)
    if root_hash([leaf_hash(entry) for entry in found]) != head.root:
        raise LogProofError(ExitCode.STALE, "the records in the log's folder are not those of its signed head")
    return tuple(map(parse_record, found))


def _entries(bundle: bytes) -> Iterator[bytes]:
    """Take a bundle of entries apart; each has its length before it, in two bytes."""
    at = 0
    while at < len(bundle):
        size = int.from_bytes(bundle[at : at + 2], "big")
        yield bundle[at + 2 : at + 2 + size]  # one that is cut short does not lead to the signed head
        at += 2 + size


def _after(line: str, word: str) -> str:
    if not line.startswith(word):
        raise _malformed(f"a line does not begin with {word.strip()!a}")
    return line.removeprefix(word)


def _malformed(reason: str) -> LogProofError:
    return LogProofError(ExitCode.STATEMENT, f"the log's proof: {reason}")
