"""Grow the public log of releases, retractions and roots: its records, its tiles, its signed head and its proofs."""

import base64
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import rfc8785

from dayzero.attestation.ports import Signer
from dayzero.attestation.trust_model import LogHead
from dayzero.attestation.trust_roles import instant
from dayzero.core.errors import InputError, IntegrityError
from dayzero_verify import ed25519
from dayzero_verify.log_head import Checkpoint, LogFolder
from dayzero_verify.log_proof import LogProofError, Record, parse_record, signed_checkpoint
from dayzero_verify.log_proof import records as records_of
from dayzero_verify.log_tree import (
    MAX_ENTRY_BYTES,
    TILE_WIDTH,
    inclusion_proof,
    leaf_hash,
    over_leaves,
    root_hash,
    tiles,
)
from dayzero_verify.signed_note import (
    NoteKey,
    note_bytes,
)
from dayzero_verify.times import format_time

CHECKPOINT = "checkpoint"
RELEASE, RETRACTION, KEY_EVENT = "release", "retraction", "key-event"


@dataclass(frozen=True, slots=True)
class LogEvent:
    """What a record says, but for its number and time.

    Attributes:
        type: ``release``, ``retraction`` or ``key-event``.
        statement: Digest of the signed bytes: the payload of a kit's or a retraction's statement, or a root.
        kit: Name of the kit, ``""`` where it is about none.
        version: Version of the kit or of the root, ``""`` where it is about neither.
    """

    type: str
    statement: str
    kit: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True)
class Log:
    """A log as it is on disk: its records, oldest first, and its signed head, empty before the first record."""

    records: tuple[bytes, ...] = ()
    checkpoint: bytes = b""

    @property
    def head(self) -> LogHead:
        """Its length, and its root hash."""
        return self.head_at(len(self.records))

    def head_at(self, size: int) -> LogHead:
        """Give the head that it had when it had so many records."""
        return LogHead(size, root_hash([leaf_hash(record) for record in self.records[:size]]).hex())

    def find(self, event: LogEvent) -> int | None:
        """Give the number of the record that says this already."""
        for number, content in enumerate(self.records):
            record = parse_record(content)
            if LogEvent(record.type, record.statement, record.kit, record.version) == event:
                return number
        return None


@dataclass(frozen=True, slots=True)
class Growth:
    """A log with more records, and the files that have to be written for that, the head last.

    Attributes:
        log: The log then.
        files: Path under the log's folder, and content, in the order in which they are written.
        obsolete: Folders of partial tiles that are full now, to be removed at the very end.
    """

    log: Log
    files: tuple[tuple[str, bytes], ...]
    obsolete: tuple[str, ...]


def read_log(read: LogFolder, keys: Sequence[NoteKey]) -> Log:
    """Read a log whole and check it: its head is signed, and its records are those that the head is about.

    Files beyond the head, which a writer left that died before it wrote the next head, are not looked at.

    Args:
        read: Reads its files.
        keys: The keys that may have signed the head: the newest root's, and those of the roots before it.

    Raises:
        IntegrityError: It is damaged, or signed by another key.
    """
    checkpoint = read(CHECKPOINT)
    if checkpoint is None:
        return Log()
    head = _verified_head(checkpoint, keys)
    try:
        found = records_of(head, read)
    except LogProofError as error:
        raise _damaged(error.reason) from error
    if found is None:
        raise _damaged("a file of its entries is missing")
    written = tuple(_written(record) for record in found)
    for name, content in _tile_files(written, [leaf_hash(record) for record in written], 0):
        if read(name) != content:
            raise _damaged(f"{name} does not hold what the checkpoint signs")
    return Log(written, checkpoint)


def grow(log: Log, events: Sequence[LogEvent], key: NoteKey, signer: Signer, now: str) -> Growth:
    """Append a record for each event.

    Args:
        log: The log as it is.
        events: What happened, at least one.
        key: The log's key as the newest root names it.
        signer: The private half of it.
        now: The time.

    Raises:
        InputError: The signer has another key, or a record is too long for the log's format.
        IntegrityError: The signer gave a signature that does not hold.
    """
    if signer.public_key != key.raw:
        raise InputError("the key given is not the log's", hint="Give the online key with --sign.")
    first = len(log.records)
    added = tuple(_record(number, event, now) for number, event in enumerate(events, start=first))
    records = (*log.records, *added)
    leaves = [leaf_hash(record) for record in records]
    text = Checkpoint(key.name, len(records), root_hash(leaves)).text
    signature = signer.sign(text.encode())
    if not ed25519.verify(key.raw, text.encode(), signature):
        raise IntegrityError("the signer's signature does not hold under its key", hint="Do not use this key.")
    checkpoint = note_bytes(text, key, signature)
    files = (*_tile_files(records, leaves, first), (CHECKPOINT, checkpoint))
    return Growth(Log(records, checkpoint), files, tuple(_obsolete(first, len(records))))


def proof_bytes(log: Log, number: int) -> bytes:
    """Prove that a record is in the log, in the form of c2sp.org/tlog-proof; the record itself is its extra data."""
    leaves = [leaf_hash(record) for record in log.records]
    proof = inclusion_proof(over_leaves(leaves), number, len(leaves))
    lines = [
        "c2sp.org/tlog-proof@v1",
        f"extra {_base64(log.records[number])}",
        f"index {number}",
        *map(_base64, proof),
        "",
        log.checkpoint.decode("utf-8"),
    ]
    return "\n".join(lines).encode("utf-8")


def _record(number: int, event: LogEvent, now: str) -> bytes:
    record = _written(Record(seq=number, time=instant(now), **asdict(event)))
    if len(record) > MAX_ENTRY_BYTES:
        raise InputError(f"a record of the log has {len(record)} bytes", hint="Use shorter names.")
    return record


def _written(record: Record) -> bytes:
    return rfc8785.dumps({**asdict(record), "time": format_time(record.time)})


def _verified_head(checkpoint: bytes, keys: Sequence[NoteKey]) -> Checkpoint:
    reason = "no key is known"
    for key in keys:
        try:
            return signed_checkpoint(checkpoint, key)
        except LogProofError as error:
            reason = error.reason
    raise _damaged(reason)


def _tile_files(records: Sequence[bytes], leaves: Sequence[bytes], before: int) -> Iterator[tuple[str, bytes]]:
    """Write the tiles and bundles of records that a log of the size before did not have."""
    had = set(tiles(before))
    levels = [list(leaves)]
    for tile in tiles(len(records)):
        if tile.level == len(levels):
            below = levels[-1]
            full = range(0, len(below) - len(below) % TILE_WIDTH, TILE_WIDTH)
            levels.append([root_hash(below[start : start + TILE_WIDTH]) for start in full])
        if tile in had:
            continue
        held = slice(tile.index * TILE_WIDTH, tile.index * TILE_WIDTH + tile.width)
        yield tile.path, b"".join(levels[tile.level][held])
        if tile.level == 0:
            yield tile.entries_path, b"".join(len(record).to_bytes(2, "big") + record for record in records[held])


def _obsolete(before: int, after: int) -> Iterator[str]:
    full = {(tile.level, tile.index): tile for tile in tiles(after) if tile.width == TILE_WIDTH}
    for tile in tiles(before):
        replaced = full.get((tile.level, tile.index))
        if tile.width < TILE_WIDTH and replaced is not None:
            yield f"{replaced.path}.p"
            if tile.level == 0:
                yield f"{replaced.entries_path}.p"


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def _damaged(reason: str) -> IntegrityError:
    return IntegrityError(f"the log is damaged: {reason}", hint="Put back the last copy of the folder that was whole.")
