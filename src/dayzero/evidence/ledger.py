"""Read and extend the hash-chained ledger, and say what has become of each claim."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from graphlib import CycleError, TopologicalSorter

from dayzero.core.errors import InputError
from dayzero.core.pins import Sha256
from dayzero.evidence.chain import link, read_entry
from dayzero.evidence.model import (
    RETRACT,
    Claim,
    Concern,
    Correction,
    Derived,
    Entry,
    Expiry,
    Explanation,
    RawFile,
    Reaffirmation,
    Record,
    Retraction,
    Uncitable,
)
from dayzero.evidence.ports import LedgerFile
from dayzero.evidence.state import (
    ClaimState,
    Corrected,
    Flag,
    Missing,
    Retracted,
    Standing,
    State,
    Superseded,
    Unsupported,
    Withdrawn,
    Withheld,
)
from dayzero.evidence.wire import to_wire

LEDGER_NAME = "ledger.jsonl"
GENESIS = "0" * 64


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

        Raises:
            InputError: A derived claim would rest on itself, or a record cannot be written.
        """
        entries, lines, prev = list(self.entries), [], self.head
        rests: dict[str, tuple[str, ...]] = {}
        for entry in entries:
            _note(rests, entry.record)
        for record in records:
            if isinstance(record, Derived):
                _need_no_circle(rests, record)
            _note(rests, record)
            name, body = to_wire(record)
            seq = len(entries)
            written = link(seq=seq, prev=prev, name=name, body=body)
            entries.append(Entry(seq=seq, prev=prev, record=record, digest=written.digest))
            lines.append(written.line)
            prev = written.digest
        return Ledger(tuple(entries)), b"".join(lines)

    def histories(self) -> Mapping[str, tuple[ClaimState, ...]]:
        """Say for each slug what has become of what was said, oldest first; only the last one can be standing."""
        telling = _Telling()
        for entry in self.entries:
            telling.hear(entry.record, entry.seq + 1)
        _settle(telling.told)
        return {slug: tuple(states) for slug, states in telling.told.items()}

    def pending_corrections(self) -> Mapping[str, int]:
        """Give the lines of corrections whose right claim was never filed, by slug."""
        telling = _Telling()
        for entry in self.entries:
            telling.hear(entry.record, entry.seq + 1)
        return {slug: line for slug, (_, line) in telling.corrections.items()}

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
        entry = read_entry(line, seq=len(entries), prev=prev, where=f"{file}:{len(entries) + 1}")
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
        ledger = parse(content)
        filed, lines = ledger.append(decide(ledger))
        longer.append(filed)
        return lines

    moved = file.transact(change)
    return Filed(longer[-1], moved)


def _latest(slug: str, states: tuple[ClaimState, ...]) -> State:
    match states[-1:]:
        case (Standing() | Withdrawn() | Retracted() | Unsupported() | Withheld() as state,):
            return state
        case _:
            return Missing(slug)


@dataclass(frozen=True, slots=True)
class _Telling:
    """The ledger as it is read from its first line on."""

    told: dict[str, list[ClaimState]] = field(default_factory=dict)
    corrections: dict[str, tuple[Correction, int]] = field(default_factory=dict)

    def hear(self, record: Record, line: int) -> None:
        match record:
            case Claim() | Derived() | Explanation() as statement:
                self._said(statement.slug, Standing(claim=statement, line=line))
            case Uncitable() as uncitable:
                self._said(uncitable.slug, Withheld(uncitable=uncitable, line=line))
            case Retraction() as retraction:
                self._taken_back(retraction, line)
            case Correction() as correction:
                self.corrections[correction.slug] = correction, line
            case Concern() | Expiry() as event:
                self._flagged(event.slug, lambda flags: (*flags, Flag(event, line)))
            case Reaffirmation(slug=slug):
                self._flagged(slug, lambda flags: tuple(f for f in flags if not isinstance(f.event, Concern)))
            case _:
                pass

    def _said(self, slug: str, now: Standing | Withheld) -> None:
        states = self.told.setdefault(slug, [])
        correction, correction_line = self.corrections.pop(slug, (None, 0))
        if states and isinstance(states[-1], Standing):
            before, line = states[-1].claim, states[-1].line
            states[-1] = Superseded(claim=before, line=line, by_line=now.line, flags=states[-1].flags)
            if correction is not None:
                states[-1] = Corrected(
                    claim=before,
                    line=line,
                    by_line=now.line,
                    correction=correction,
                    correction_line=correction_line,
                )
        states.append(now)

    def _taken_back(self, retraction: Retraction, line: int) -> None:
        states = self.told.get(retraction.slug, [])
        if not states or isinstance(states[-1], Withheld):
            return
        self.corrections.pop(retraction.slug, None)
        kind, last = Retracted if retraction.kind == RETRACT else Withdrawn, states[-1]
        states[-1] = kind(claim=last.claim, line=last.line, retraction=retraction, retraction_line=line)

    def _flagged(self, slug: str, change: Callable[[tuple[Flag, ...]], tuple[Flag, ...]]) -> None:
        states = self.told.get(slug, [])
        if states and isinstance(states[-1], Standing):
            states[-1] = replace(states[-1], flags=change(states[-1].flags))


def _rests_on(state: ClaimState) -> tuple[str, ...]:
    match state:
        case Standing(claim=Derived(inputs=inputs)):
            return inputs
        case Standing(claim=Explanation(facts=facts)):
            return facts
        case _:
            return ()


def _settle(told: dict[str, list[ClaimState]]) -> None:
    """Carry flags up, and take support away, from each claim to what rests on it; what rests on itself has no support."""
    order: TopologicalSorter[str] = TopologicalSorter({slug: _rests_on(states[-1]) for slug, states in told.items()})
    with suppress(CycleError):
        order.prepare()
    settled: dict[str, ClaimState] = {}
    while order.is_active():
        for slug in order.get_ready():
            if slug in told:
                settled[slug] = told[slug][-1] = _settled(told[slug][-1], settled)
            order.done(slug)
    for slug in told.keys() - settled.keys():
        told[slug][-1] = _settled(told[slug][-1], settled)


def _settled(state: ClaimState, under: Mapping[str, ClaimState]) -> ClaimState:
    """Settle one state; ``under`` holds the settled states of what it rests on."""
    inputs = _rests_on(state)
    if not isinstance(state, Standing) or not inputs:
        return state
    found = {slug: under.get(slug) for slug in inputs}
    missing = tuple(slug for slug, below in found.items() if not isinstance(below, Standing))
    if missing and isinstance(state.claim, Derived | Explanation):
        return Unsupported(claim=state.claim, line=state.line, missing=missing)
    flags = (flag for below in found.values() if isinstance(below, Standing) for flag in below.flags)
    return replace(state, flags=tuple(dict.fromkeys((*state.flags, *flags))))


def _note(rests: dict[str, tuple[str, ...]], record: Record) -> None:
    """Note what the latest record of a slug is derived from."""
    match record:
        case Derived(slug=slug, inputs=inputs):
            rests[slug] = inputs
        case Claim(slug=slug) | Explanation(slug=slug) | Uncitable(slug=slug):
            rests.pop(slug, None)
        case _:
            pass


def _need_no_circle(rests: Mapping[str, tuple[str, ...]], derived: Derived) -> None:
    """Refuse a derived claim that would rest on itself by way of others."""
    ahead, seen = list(derived.inputs), set()
    while ahead:
        slug = ahead.pop()
        if slug == derived.slug:
            raise InputError(
                f"{derived.slug} would rest on itself, by way of {', '.join(derived.inputs)}",
                hint="Derive it from claims that do not derive from it.",
            )
        if slug not in seen:
            seen.add(slug)
            ahead += rests.get(slug, ())
