"""Take rows back: sign the record, and say of each record what it does to an import."""

import base64
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum

from dayzero.attestation.model import SignerKind, Statement, Subject
from dayzero.attestation.ports import Signer
from dayzero.attestation.statement import payload
from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.pins import Sha256
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.row_model import RowReinstatement, RowRetraction, Signing
from dayzero.perfdb.model import Family, Import, Match
from dayzero.perfdb.ports import Rows
from dayzero.perfdb.predicate import Predicate, parse_terms
from dayzero.perfdb.row_hash import hash_columns, hash_text
from dayzero_verify import ed25519
from dayzero_verify.dsse import pae
from dayzero_verify.keys import PublicKey

_TYPE = "urn:dayzero:perfdb-row-retraction:v1"


class Effect(StrEnum):
    """What a retraction does to an import."""

    APPLIED = "applied"
    STALE = "stale, review"
    GONE = "its rows are gone"
    REINSTATED = "reinstated"
    UNTRUSTED = "signed by a key that is not trusted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """A retraction, and what it does.

    Attributes:
        record: The retraction.
        line: Its line in the ledger, from 1.
        effect: What it does.
        found: The rows that it matches now.
    """

    record: RowRetraction
    line: int
    effect: Effect
    found: Match


def sign(record: RowRetraction | RowReinstatement, signer: Signer) -> RowRetraction | RowReinstatement:
    """Sign a record.

    Raises:
        IntegrityError: The signer gave a signature that does not hold under its own key.
    """
    signature = signer.sign(_signed_bytes(record, signer.kind))
    signed = replace(
        record,
        signing=Signing(
            key=signer.public_key.hex(), kind=signer.kind, signature=base64.b64encode(signature).decode("ascii")
        ),
    )
    need_signature(signed)
    return signed


def need_signature(record: RowRetraction | RowReinstatement) -> None:
    """Hold a record to its signature.

    Raises:
        IntegrityError: It is not what was signed.
    """
    signing = record.signing
    kind: SignerKind = "demo" if signing is not None and signing.kind == "demo" else "release"
    if signing is None or not ed25519.verify(
        bytes.fromhex(signing.key), _signed_bytes(record, kind), base64.b64decode(signing.signature)
    ):
        raise IntegrityError(
            f"{record.slug} is not what was signed", hint="Take the ledger from where it was published."
        )


def match(predicate: Predicate, family: Family, rows: Rows) -> Match:
    """Find which rows a predicate matches now."""
    first, second = hash_columns(family)
    sql = f"SELECT count(*), {first}, {second} FROM {family.table} WHERE {predicate.sql(family)}"  # noqa: S608  (checked)
    count, low, high = rows.ask(sql)[0]
    return Match(rows=int(str(count)), hash=hash_text(low, high))


def family_of(made: Import, table: str) -> Family:
    """Look a table up.

    Raises:
        InputError: The import has no such table.
    """
    found = next((family for family in made.families if family.table == table), None)
    if found is None:
        raise InputError(f"there is no table {table!r}", hint=f"There are {', '.join(f.table for f in made.families)}.")
    return found


def standings(ledger: Ledger, made: Import, rows: Rows, trusted: Sequence[PublicKey] = ()) -> tuple[Standing, ...]:
    """Say of each retraction of rows in a ledger what it does to an import.

    Args:
        ledger: The ledger.
        made: The import.
        rows: Its rows.
        trusted: Keys whose records count; where none is given every record counts whose signature holds.

    Raises:
        IntegrityError: A record is not what was signed.
    """
    # A record that does not count stands beside one of its slug that does, and neither replaces nor lifts it.
    latest: dict[tuple[str, bool], tuple[RowRetraction, int]] = {}
    lifted: set[str] = set()
    for entry in ledger.entries:
        match entry.record:
            case RowRetraction() as record:
                counts = _counts(record, trusted)
                latest[record.slug, counts] = record, entry.seq + 1
                lifted -= {record.slug} if counts else set()
            case RowReinstatement(slug=slug) as record if _counts(record, trusted):
                lifted.add(slug)
            case _:
                pass
    return tuple(
        _standing(record, line, made, rows, reinstated=slug in lifted, trusted=counts)
        for (slug, counts), (record, line) in latest.items()
    )


def applied(standing: Iterable[Standing]) -> Mapping[str, tuple[Predicate, ...]]:
    """Collect the predicates of the retractions that are applied, by table."""
    found: dict[str, tuple[Predicate, ...]] = {}
    for one in standing:
        if one.effect is Effect.APPLIED:
            table = one.record.table
            found[table] = (*found.get(table, ()), Predicate(table=table, terms=parse_terms(one.record.where)))
    return found


def taken_back(family: Family, predicates: Mapping[str, Sequence[Predicate]]) -> str:
    """Write the SQL condition under which a row of a table is retracted."""
    told = " OR ".join(f"coalesce({one.sql(family)}, false)" for one in predicates.get(family.table, ()))
    return f"({told})" if told else "false"


def _counts(record: RowRetraction | RowReinstatement, trusted: Sequence[PublicKey]) -> bool:
    need_signature(record)
    return not trusted or any(record.signing is not None and record.signing.key == key.raw.hex() for key in trusted)


def _standing(  # noqa: PLR0913  (each is one thing)
    record: RowRetraction, line: int, made: Import, rows: Rows, *, reinstated: bool, trusted: bool
) -> Standing:
    family = next((family for family in made.families if family.table == record.table), None)
    found = Match(rows=0, hash=hash_text(0, 0))
    if family is not None:
        found = match_of(record, family, rows)
    if not trusted:
        effect = Effect.UNTRUSTED
    elif reinstated:
        effect = Effect.REINSTATED
    elif not found.rows:
        effect = Effect.GONE
    elif (found.rows, found.hash) != (record.matched_rows, record.matched_hash):
        effect = Effect.STALE
    else:
        effect = Effect.APPLIED
    return Standing(record=record, line=line, effect=effect, found=found)


def match_of(record: RowRetraction, family: Family, rows: Rows) -> Match:
    """Find which rows a record matches now."""
    return match(Predicate(table=record.table, terms=parse_terms(record.where)), family, rows)


def _signed_bytes(record: RowRetraction | RowReinstatement, kind: SignerKind) -> bytes:
    told = {name: value for name, value in asdict(record).items() if name != "signing"}
    said = "row_retraction" if isinstance(record, RowRetraction) else "row_reinstatement"
    statement = Statement(
        subjects=(Subject(record.slug, Sha256.of(f"{said} {record.slug} {record.at}".encode())),),
        predicate_type=_TYPE,
        predicate={"what": said, **told, "signer": {"kind": kind}},
    )
    return pae(payload(statement))
