"""Turn records on rows into the JSON bodies of ledger lines, and back."""

import msgspec

from dayzero.core.errors import InputError
from dayzero.evidence.row_model import EvidenceLine, RowReinstatement, RowRetraction, Signing


class _Wire(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    pass


class _Line(_Wire, frozen=True):
    file: str
    line: int
    sha256: str


class _Signing(_Wire, frozen=True):
    key: str
    kind: str
    signature: str


class RowRetractionWire(_Wire, frozen=True):
    """A retraction of rows as JSON."""

    slug: str
    at: str
    cause: str
    why: str
    effect: str
    upstream: str
    table: str
    where: tuple[str, ...]
    matched_rows: int
    matched_hash: str
    evidence: tuple[_Line, ...]
    signing: _Signing


class RowReinstatementWire(_Wire, frozen=True):
    """A reinstatement of rows as JSON."""

    slug: str
    at: str
    why: str
    signing: _Signing


def rows_to_wire(record: RowRetraction) -> RowRetractionWire:
    """Write a retraction of rows.

    Raises:
        InputError: It is not signed.
    """
    return RowRetractionWire(
        slug=record.slug,
        at=record.at,
        cause=record.cause,
        why=record.why,
        effect=record.effect,
        upstream=record.upstream,
        table=record.table,
        where=record.where,
        matched_rows=record.matched_rows,
        matched_hash=record.matched_hash,
        evidence=tuple(_Line(file=line.file, line=line.line, sha256=line.sha256) for line in record.evidence),
        signing=_signing(record.slug, record.signing),
    )


def rows_from_wire(body: RowRetractionWire) -> RowRetraction:
    """Read a retraction of rows back."""
    return RowRetraction(
        slug=body.slug,
        at=body.at,
        cause=body.cause,
        why=body.why,
        effect=body.effect,
        upstream=body.upstream,
        table=body.table,
        where=body.where,
        matched_rows=body.matched_rows,
        matched_hash=body.matched_hash,
        evidence=tuple(EvidenceLine(file=e.file, line=e.line, sha256=e.sha256) for e in body.evidence),
        signing=_signed(body.signing),
    )


def reinstatement_to_wire(record: RowReinstatement) -> RowReinstatementWire:
    """Write a reinstatement.

    Raises:
        InputError: It is not signed.
    """
    signing = _signing(record.slug, record.signing)
    return RowReinstatementWire(slug=record.slug, at=record.at, why=record.why, signing=signing)


def reinstatement_from_wire(body: RowReinstatementWire) -> RowReinstatement:
    """Read a reinstatement back."""
    return RowReinstatement(slug=body.slug, at=body.at, why=body.why, signing=_signed(body.signing))


def _signing(slug: str, signing: Signing | None) -> _Signing:
    if signing is None:
        raise InputError(f"{slug} is not signed", hint="Sign it with --sign KEY.pem.")
    return _Signing(key=signing.key, kind=signing.kind, signature=signing.signature)


def _signed(body: _Signing) -> Signing:
    return Signing(key=body.key, kind=body.kind, signature=body.signature)
