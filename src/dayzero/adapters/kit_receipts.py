"""Read what the signed statements beside a kit say of its evidence; signatures are the verifier's matter."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import cast

from dayzero.core.verdict import Place
from dayzero.evidence.receipts import Receipt, Unreadable
from dayzero_verify.dsse import EnvelopeError, parse_envelope
from dayzero_verify.inputs import attestation_path
from dayzero_verify.statement import KIT_TYPE, RECEIPT_TYPE, Statement, StatementError, parse_statement


def read_receipts(kit: Path) -> tuple[Receipt | Unreadable, ...]:
    """Read the attestation beside a kit; one without a receipt, or none at all, is unreadable, not empty."""
    file = attestation_path(kit)
    try:
        statements = tuple(_statements(file.read_bytes()))
    except OSError as error:
        return (Unreadable(kit=str(kit), reason=f"{file}: {error.strerror}"),)
    except (EnvelopeError, StatementError) as error:
        return (Unreadable(kit=str(kit), reason=f"{file}: {error}"),)
    ledger = next((_ledger(said) for _, said in statements if said.predicate_type == KIT_TYPE), "")
    receipts = tuple(
        Receipt(
            kit=str(kit),
            ledger=ledger,
            claims=_claims(said),
            place=Place(artifact="", file=str(file), position=f"line {line}"),
        )
        for line, said in statements
        if said.predicate_type == RECEIPT_TYPE
    )
    return receipts or (Unreadable(kit=str(kit), reason=f"{file} holds no receipt"),)


def _statements(attestation: bytes) -> Iterator[tuple[int, Statement]]:
    for number, line in enumerate(attestation.split(b"\n"), start=1):
        if line:
            yield number, parse_statement(parse_envelope(line).payload)


def _ledger(statement: Statement) -> str:
    named = statement.predicate.get("ledger")
    return str(named.get("sha256", "")) if isinstance(named, Mapping) else ""


def _claims(statement: Statement) -> tuple[Mapping[str, object], ...]:
    claims = statement.predicate.get("claims")
    entries = claims if isinstance(claims, list) else []
    return tuple(cast("Mapping[str, object]", entry) for entry in entries if isinstance(entry, dict))
