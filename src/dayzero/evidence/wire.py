"""Turn records into the JSON bodies of ledger lines, and back; unknown keys, types and missing keys are refused."""

from collections.abc import Mapping
from typing import TypeAlias, cast

import msgspec

from dayzero.core.errors import InputError
from dayzero.core.pins import Sha256
from dayzero.core.quantities import Bytes
from dayzero.evidence.model import (
    Claim,
    Extraction,
    LineLocator,
    Locator,
    NotMeasured,
    PointerLocator,
    RawFile,
    Record,
    Refused,
    Retraction,
    WholeFile,
)


class _Wire(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    pass


class _File(_Wire, frozen=True, tag_field="kind", tag="file"):
    pass


class _Line(_Wire, frozen=True, tag_field="kind", tag="line"):
    line: int
    sha256: str


class _Pointer(_Wire, frozen=True, tag_field="kind", tag="pointer"):
    pointer: str


class _Extraction(_Wire, frozen=True):
    extractor: str
    parameters: tuple[tuple[str, str], ...]


class _Raw(_Wire, frozen=True):
    sha256: str
    name: str
    size: int
    captured_at: str
    command: str


class _Claim(_Wire, frozen=True):
    slug: str
    label: str
    value: str
    unit: str
    raw: str
    locator: _File | _Line | _Pointer
    extraction: _Extraction
    subject: str


class _NotMeasured(_Wire, frozen=True):
    topic: str
    why: str


class _Refused(_Wire, frozen=True):
    sentence: str
    reason: str


class _Retraction(_Wire, frozen=True):
    slug: str
    kind: str
    reason: str
    at: str


_Body: TypeAlias = _Raw | _Claim | _NotMeasured | _Refused | _Retraction

_BODIES: Mapping[str, type[_Body]] = {
    "raw": _Raw,
    "claim": _Claim,
    "not_measured": _NotMeasured,
    "refused": _Refused,
    "retraction": _Retraction,
}


def to_wire(record: Record) -> tuple[str, dict[str, object]]:
    """Write a record as its type and body, in plain JSON values."""
    match record:
        case RawFile():
            body: _Body = _Raw(
                sha256=record.sha256.hex,
                name=record.name,
                size=record.size.count,
                captured_at=record.captured_at,
                command=record.command,
            )
        case Claim():
            body = _claim_to_wire(record)
        case NotMeasured(topic=topic, why=why):
            body = _NotMeasured(topic=topic, why=why)
        case Refused(sentence=sentence, reason=reason):
            body = _Refused(sentence=sentence, reason=reason)
        case Retraction(slug=slug, kind=kind, reason=reason, at=at):
            body = _Retraction(slug=slug, kind=kind, reason=reason, at=at)
    name = next(name for name, shape in _BODIES.items() if isinstance(body, shape))
    return name, cast("dict[str, object]", msgspec.to_builtins(body))


def from_wire(name: str, body: Mapping[str, object]) -> Record:
    """Read a record back from its type and body.

    Raises:
        InputError: The type is unknown, or the body is not what a record of this type looks like.
    """
    if name not in _BODIES:
        raise InputError(
            f"no record type {name!r}", hint=f"This version knows {', '.join(_BODIES)}; a newer dayzero may know more."
        )
    try:
        return _from_body(msgspec.convert(body, _BODIES[name], strict=True))
    except (msgspec.ValidationError, ValueError) as error:
        raise InputError(f"not a {name} record: {error}", hint="Compare with docs/reference/evidence.md.") from error


def _from_body(body: _Body) -> Record:
    match body:
        case _Raw():
            return RawFile(
                sha256=Sha256(body.sha256),
                name=body.name,
                size=Bytes(body.size),
                captured_at=body.captured_at,
                command=body.command,
            )
        case _Claim():
            return _claim_from_wire(body)
        case _NotMeasured():
            return NotMeasured(topic=body.topic, why=body.why)
        case _Refused():
            return Refused(sentence=body.sentence, reason=body.reason)
        case _Retraction():
            return Retraction(slug=body.slug, kind=body.kind, reason=body.reason, at=body.at)


def _claim_to_wire(claim: Claim) -> _Claim:
    return _Claim(
        slug=claim.slug,
        label=claim.label,
        value=claim.value,
        unit=claim.unit,
        raw=claim.raw.hex,
        locator=_locator_to_wire(claim.locator),
        extraction=_Extraction(extractor=claim.extraction.extractor, parameters=claim.extraction.parameters),
        subject=claim.subject.hex,
    )


def _claim_from_wire(body: _Claim) -> Claim:
    return Claim(
        slug=body.slug,
        label=body.label,
        value=body.value,
        unit=body.unit,
        raw=Sha256(body.raw),
        locator=_locator_from_wire(body.locator),
        extraction=Extraction(extractor=body.extraction.extractor, parameters=body.extraction.parameters),
        subject=Sha256(body.subject),
    )


def _locator_to_wire(locator: Locator) -> _File | _Line | _Pointer:
    match locator:
        case WholeFile():
            return _File()
        case LineLocator(line=line, sha256=digest):
            return _Line(line=line, sha256=digest.hex)
        case PointerLocator(pointer=pointer):
            return _Pointer(pointer=pointer)


def _locator_from_wire(wire: _File | _Line | _Pointer) -> Locator:
    match wire:
        case _File():
            return WholeFile()
        case _Line():
            return LineLocator(line=wire.line, sha256=Sha256(wire.sha256))
        case _Pointer():
            return PointerLocator(pointer=wire.pointer)
