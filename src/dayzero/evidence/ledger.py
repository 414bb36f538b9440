"""Read and extend the hash-chained ledger, and say what has become of each claim."""

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias, cast

import msgspec
import rfc8785

from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.pins import Sha256
from dayzero.evidence.model import RETRACT, Claim, Entry, RawFile, Record, Retraction
from dayzero.evidence.ports import LedgerFile
from dayzero.evidence.wire import from_wire, to_wire
from dayzero_verify.strict_json import StrictJsonError, loads

LEDGER_NAME = "ledger.jsonl"
GENESIS = "0" * 64

_RESTORE = "Take the file from the last commit that had it whole; its lines are only ever added to."


class _EntryWire(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    seq: int
    prev: str
    type: str
    body: dict[str, object]
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """The claim is made: its value may be printed. ``line`` is its 1-based line in the ledger, here and below."""

    claim: Claim
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Superseded:
    """A later claim with the same slug took its place; it was not called wrong."""

    claim: Claim
    line: int
    by_line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawn:
    """The claim is no longer asserted; what it rests on stays."""

    claim: Claim
    line: int
    retraction: Retraction
    retraction_line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Retracted:
    """The claim should not have been published."""

    claim: Claim
    line: int
    retraction: Retraction
    retraction_line: int


@dataclass(frozen=True, slots=True)
class Missing:
    """No claim was ever made under this slug."""

    slug: str


ClaimState: TypeAlias = Standing | Superseded | Withdrawn | Retracted
State: TypeAlias = Standing | Withdrawn | Retracted | Missing


@dataclass(frozen=True, slots=True)
class Ledger:
    """What was filed, in order.

    Attributes:
        entries: One a line.
        torn: The bytes of a half line after the last newline, set aside; empty as a rule.
    """

    entries: tuple[Entry, ...] = ()
    torn: bytes = field(default=b"", kw_only=True)

    @property
    def head(self) -> str:
        """Digest of the last entry; 64 zeros when there is none. Who keeps it can tell whether lines were cut off later."""
        return self.entries[-1].digest if self.entries else GENESIS

    def append(self, records: Iterable[Record]) -> tuple["Ledger", bytes]:
        """Chain records on.

        Returns:
            The longer ledger, without ``torn``, and the lines that have to be appended to its file.
        """
        entries, lines, prev = list(self.entries), [], self.head
        for record in records:
            name, body = to_wire(record)
            seq = len(entries)
            digest = _digest(seq=seq, prev=prev, name=name, body=body)
            entries.append(Entry(seq=seq, prev=prev, record=record, digest=digest))
            lines.append(_line(seq=seq, prev=prev, name=name, body=body, digest=digest))
            prev = digest
        return Ledger(tuple(entries)), b"".join(lines)

    def histories(self) -> Mapping[str, tuple[ClaimState, ...]]:
        """Say for each slug what has become of its claims, oldest first; only the last one can be standing."""
        told: dict[str, list[ClaimState]] = {}
        for entry in self.entries:
            match entry.record:
                case Claim() as claim:
                    _claim_made(told.setdefault(claim.slug, []), claim, entry.seq + 1)
                case Retraction() as retraction:
                    _claim_retracted(told.get(retraction.slug, []), retraction, entry.seq + 1)
                case _:
                    pass
        return {slug: tuple(states) for slug, states in told.items()}

    def history(self, slug: str) -> tuple[ClaimState, ...]:
        """Say what has become of the claims under one slug, oldest first."""
        return self.histories().get(slug, ())

    def standings(self) -> Mapping[str, State]:
        """Say for each slug that was ever used where it stands now."""
        return {slug: _latest(slug, states) for slug, states in self.histories().items()}

    def standing(self, slug: str) -> State:
        """Say where a slug stands now: a later claim takes the place of an earlier one, also of a retracted one."""
        return _latest(slug, self.history(slug))

    def raw_files(self) -> Mapping[Sha256, RawFile]:
        """Give the raw files by digest; the first record of a file counts."""
        files: dict[Sha256, RawFile] = {}
        for entry in self.entries:
            if isinstance(entry.record, RawFile):
                files.setdefault(entry.record.sha256, entry.record)
        return files


@dataclass(frozen=True, slots=True)
class Filed:
    """Records were appended.

    Attributes:
        ledger: The ledger with them.
        moved_aside: Where half lines of killed writers were moved to; empty as a rule, and to be said when not.
    """

    ledger: Ledger
    moved_aside: tuple[str, ...]


def parse(content: bytes, *, file: str = LEDGER_NAME) -> Ledger:
    """Read a ledger and check its chain. A half last line is set aside; every other defect is an error.

    Args:
        content: The file, whole.
        file: What to call it in messages.

    Raises:
        IntegrityError: A line is not the one canonical form of its entry, or does not follow from the line before it.
    """
    whole, torn = split_torn(content)
    entries: list[Entry] = []
    prev = GENESIS
    for line in whole.split(b"\n")[:-1]:
        entry = _entry(line, seq=len(entries), prev=prev, where=f"{file}:{len(entries) + 1}")
        entries.append(entry)
        prev = entry.digest
    return Ledger(tuple(entries), torn=torn)


def split_torn(content: bytes) -> tuple[bytes, bytes]:
    """Split a ledger's bytes into whole lines and what stands after the last newline."""
    end = content.rfind(b"\n") + 1
    return content[:end], content[end:]


def file_records(file: LedgerFile, decide: Callable[[Ledger], Sequence[Record]]) -> Filed:
    """Append what ``decide`` makes of the ledger as it stands, with nobody in between.

    Args:
        file: The ledger's file.
        decide: Gives the records, ``lambda _: records`` where they do not depend on the ledger; when it raises, none is appended.

    Raises:
        IntegrityError: The ledger is broken; nothing is added to a broken chain.
        RemoteError: The file could not be written; it is as it was.
    """
    longer: list[Ledger] = []

    def change(content: bytes) -> bytes:
        ledger, lines = parse(content).append(decide(parse(content)))
        longer.append(ledger)
        return lines

    moved = file.transact(change)
    return Filed(longer[-1], moved)


def _latest(slug: str, states: tuple[ClaimState, ...]) -> State:
    match states[-1:]:
        case (Standing() | Withdrawn() | Retracted() as state,):
            return state
        case _:
            return Missing(slug)


def _claim_made(states: list[ClaimState], claim: Claim, line: int) -> None:
    if states and isinstance(states[-1], Standing):
        states[-1] = Superseded(claim=states[-1].claim, line=states[-1].line, by_line=line)
    states.append(Standing(claim=claim, line=line))


def _claim_retracted(states: list[ClaimState], retraction: Retraction, line: int) -> None:
    if states:
        kind = Retracted if retraction.kind == RETRACT else Withdrawn
        last = states[-1]
        states[-1] = kind(claim=last.claim, line=last.line, retraction=retraction, retraction_line=line)


def _digest(*, seq: int, prev: str, name: str, body: Mapping[str, object]) -> str:
    return hashlib.sha256(_canonical({"seq": seq, "prev": prev, "type": name, "body": body})).hexdigest()


def _line(*, seq: int, prev: str, name: str, body: Mapping[str, object], digest: str) -> bytes:
    return _canonical({"seq": seq, "prev": prev, "type": name, "body": body, "digest": digest}) + b"\n"


def _canonical(document: dict[str, object]) -> bytes:
    try:
        return rfc8785.dumps(cast("dict[str, str]", document))
    except rfc8785.CanonicalizationError as error:
        raise InputError(
            f"this cannot be written into the ledger: {error}",
            hint="Use Unicode text, and whole numbers of at most 2^53 - 1.",
        ) from error


def _entry(line: bytes, *, seq: int, prev: str, where: str) -> Entry:
    """Read one line; that it equals the line that would be written for its content leaves no second way to write it."""
    try:
        found = msgspec.convert(loads(line), _EntryWire, strict=True)
        record = from_wire(found.type, found.body)
    except (InputError, StrictJsonError, msgspec.ValidationError) as error:
        raise IntegrityError(f"{where}: {error}", hint=_RESTORE) from error
    name, body = to_wire(record)
    if found.seq != seq:
        raise IntegrityError(f"{where}: the line says it is number {found.seq}, it is number {seq}", hint=_RESTORE)
    if found.prev != prev:
        raise IntegrityError(f"{where}: the line does not follow the line before it", hint=_RESTORE)
    digest = _digest(seq=seq, prev=prev, name=name, body=body)
    if found.digest != digest:
        raise IntegrityError(f"{where}: the line was changed after it was written", hint=_RESTORE)
    if line + b"\n" != _line(seq=seq, prev=prev, name=name, body=body, digest=digest):
        raise IntegrityError(f"{where}: the line is not in canonical form (RFC 8785)", hint=_RESTORE)
    return Entry(seq=seq, prev=prev, record=record, digest=digest)
