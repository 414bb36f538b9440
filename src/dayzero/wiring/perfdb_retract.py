"""Take rows back, reinstate them, and write trees without them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import msgspec

from dayzero.adapters.keys import load_key
from dayzero.adapters.perf_database.export import export_tree
from dayzero.core.errors import InputError
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.model import Record
from dayzero.evidence.row_model import EvidenceLine, RowReinstatement, RowRetraction
from dayzero.perfdb.model import Import, Match
from dayzero.perfdb.predicate import Predicate, parse_terms
from dayzero.perfdb.retraction import Effect, Standing, applied, family_of, match, sign, standings, taken_back
from dayzero.wiring import clock
from dayzero.wiring.perfdb import Database
from dayzero.wiring.store import Repository, open_repository
from dayzero_verify.keys import PublicKey

NOTE = "DAYZERO-RETRACTIONS.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Rows that shall be taken back.

    Attributes:
        slug: Handle of the retraction.
        table: Their table.
        where: Conditions on its columns.
        cause: A word of :data:`~dayzero.evidence.row_model.CAUSES`.
        why: The reason in words.
        evidence: Lines that show it, as ``PATH:LINE`` of the tree.
    """

    slug: str
    table: str
    where: tuple[str, ...]
    cause: str
    why: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """A record, and where it was written; ``""`` for a dry run."""

    record: RowRetraction | RowReinstatement
    where: str
    moved_aside: tuple[str, ...] = ()


def upstream_of(made: Import) -> str:
    """Name what the rows came with."""
    return f"{made.upstream} {made.version}".strip()


def retract_rows(database: Database, root: Path, wanted: Wanted, key: Path | None) -> Written:
    """Take rows back.

    Args:
        database: Where the rows are.
        root: Folder that holds evidence/.
        wanted: Which rows, and why.
        key: Private key; without one nothing is written, and what would be is shown.

    Raises:
        InputError: The conditions match nothing, or an evidence line is not there, or a retraction stands under the slug.
    """
    made = database.made
    family = family_of(made, wanted.table)
    found = match(Predicate(table=wanted.table, terms=parse_terms(wanted.where)), family, database.rows)
    record = RowRetraction(
        slug=wanted.slug,
        at=clock.now(),
        cause=wanted.cause,
        why=wanted.why.strip(),
        effect="exclude",
        upstream=upstream_of(made),
        table=wanted.table,
        where=wanted.where,
        matched_rows=_some(found),
        matched_hash=found.hash,
        evidence=tuple(_evidence(database, line) for line in wanted.evidence),
        signing=None,
    )
    return _file(root, record, key, lambda ledger: _need_new(ledger, wanted.slug))


def reinstate_rows(root: Path, slug: str, why: str, key: Path | None) -> Written:
    """Say that a retraction of rows no longer holds.

    Raises:
        InputError: No retraction stands under the slug.
    """
    record = RowReinstatement(slug=slug, at=clock.now(), why=why.strip(), signing=None)
    return _file(root, record, key, lambda ledger: _need_standing(ledger, slug))


def standings_in(database: Database, root: Path | None, trusted: Sequence[PublicKey]) -> tuple[Standing, ...]:
    """Say what the retractions in a folder of evidence do to an import; none where no folder is named."""
    if root is None:
        return ()
    return standings(open_repository(root).ledger, database.made, database.rows, trusted)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exported:
    """A tree that was written: how many files are links, how many were written anew, how many rows they lack."""

    files: int
    rewritten: int
    left_out: int


def export_aic(database: Database, target: Path, standing: Sequence[Standing], head: str) -> Exported:
    """Write the tree without the rows that are taken back.

    Args:
        database: The import.
        target: New folder for the tree.
        standing: What the retractions do; those that are applied are left out.
        head: Digest of the ledger's last line.
    """
    made, without = database.made, _without(database, standing)
    files = {source.path: source.sha256 for family in made.families for source in family.sources}
    files |= {other.path: other.sha256 for other in made.others}
    note = {
        "schema": "dayzero/perfdb/v1",
        "kind": "export",
        "import": made.id,
        "upstream": upstream_of(made),
        "ledger_head": head,
        "left_out": [
            {"slug": one.record.slug, "rows": one.found.rows, "hash": one.found.hash}
            for one in standing
            if one.effect is Effect.APPLIED
        ],
    }
    content = msgspec.json.format(msgspec.json.encode(note)) + b"\n"
    export_tree(database.folder, files, without, target, (NOTE, content))
    left_out = sum(len(rows) for rows in without.values())
    return Exported(files=len(files), rewritten=len(without), left_out=left_out)


def _without(database: Database, standing: Sequence[Standing]) -> dict[str, list[int]]:
    predicates = applied(standing)
    without: dict[str, list[int]] = {}
    for table in predicates:
        family = family_of(database.made, table)
        sql = f"SELECT source, row FROM {table} WHERE {taken_back(family, predicates)} ORDER BY ALL"  # noqa: S608  (checked)
        for source, row in database.rows.ask(sql):
            without.setdefault(family.sources[int(str(source))].path, []).append(int(str(row)))
    return without


_Check: TypeAlias = Callable[[Ledger], None]


def _file(root: Path, record: RowRetraction | RowReinstatement, key: Path | None, check: _Check) -> Written:
    repository: Repository = open_repository(root)
    check(repository.ledger)
    if key is None:
        return Written(record=record, where="")
    signed = sign(record, load_key(key))

    def decide(ledger: Ledger) -> tuple[Record, ...]:
        check(ledger)
        return (signed,)

    filed = repository.file(decide)
    where = f"{repository.ledger_file}:{len(filed.ledger.entries)}"
    return Written(record=signed, where=where, moved_aside=filed.moved_aside)


def _stands(ledger: Ledger, slug: str) -> bool:
    stands = False
    for entry in ledger.entries:
        match entry.record:
            case RowRetraction(slug=other) if other == slug:
                stands = True
            case RowReinstatement(slug=other) if other == slug:
                stands = False
            case _:
                pass
    return stands


def _need_new(ledger: Ledger, slug: str) -> None:
    if _stands(ledger, slug):
        raise InputError(f"{slug} is retracted already", hint="Reinstate it first, or take another slug.")


def _need_standing(ledger: Ledger, slug: str) -> None:
    if not _stands(ledger, slug):
        raise InputError(
            f"no retraction of rows stands under {slug!r}", hint="'dayzero perfdb retractions' lists them."
        )


def _some(found: Match) -> int:
    if not found.rows:
        raise InputError("the conditions match no rows", hint="'dayzero perfdb lint' prints conditions that do.")
    return found.rows


def _evidence(database: Database, word: str) -> EvidenceLine:
    path, _, number = word.rpartition(":")
    kept = (other for made in (database.made, *database.folder.imports()) for other in made.others)
    other = next((other for other in kept if other.path == path), None)
    if other is None or not number.isdecimal():
        raise InputError(
            f"the database holds no file for {word!r}", hint="Name a text file of the tree or of a run, as PATH:LINE."
        )
    lines = database.folder.content(path, other.sha256).split(b"\n")
    if not 1 <= int(number) <= len(lines):
        raise InputError(f"{path} has no line {number}", hint=f"It has {len(lines)}, counted from 1.")
    return EvidenceLine(file=path, line=int(number), sha256=other.sha256)
