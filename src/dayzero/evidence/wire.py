"""Turn records into the JSON bodies of ledger lines, and back; unknown keys, types and missing keys are refused."""

from collections.abc import Mapping
from typing import TypeAlias, cast

import msgspec

from dayzero.core.errors import InputError
from dayzero.core.pins import Sha256
from dayzero.core.quantities import Bytes
from dayzero.evidence.locator_wire import LocatorWire, locator_from_wire, locator_to_wire
from dayzero.evidence.model import (
    Claim,
    Concern,
    Correction,
    Derived,
    Event,
    Expiry,
    Explanation,
    Extraction,
    NotMeasured,
    RawFile,
    Reaffirmation,
    Record,
    Refused,
    Retraction,
    Trial,
    Uncitable,
)
from dayzero.evidence.row_model import RowReinstatement, RowRetraction
from dayzero.evidence.row_wire import (
    RowReinstatementWire,
    RowRetractionWire,
    reinstatement_from_wire,
    reinstatement_to_wire,
    rows_from_wire,
    rows_to_wire,
)


class _Wire(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    pass


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
    locator: LocatorWire
    extraction: _Extraction
    subject: str


class _Derived(_Wire, frozen=True):
    slug: str
    label: str
    value: str
    unit: str
    rule: str
    inputs: tuple[str, ...]
    decimals: int


class _Trial(_Wire, frozen=True):
    name: str
    conditions: tuple[tuple[str, str], ...]
    outcome: str
    raw: str
    locator: LocatorWire


class _Explanation(_Wire, frozen=True):
    slug: str
    statement: str
    facts: tuple[str, ...]
    trials: tuple[_Trial, ...]


class _Uncitable(_Wire, frozen=True):
    slug: str
    topic: str
    why: str


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


class _Event(_Wire, frozen=True):
    slug: str
    reason: str
    at: str


_Body: TypeAlias = (
    _Raw
    | _Claim
    | _Derived
    | _Explanation
    | _Uncitable
    | _NotMeasured
    | _Refused
    | _Retraction
    | _Event
    | RowRetractionWire
    | RowReinstatementWire
)

_EVENTS: Mapping[str, type[Correction | Concern | Reaffirmation | Expiry]] = {
    "correction": Correction,
    "concern": Concern,
    "reaffirmation": Reaffirmation,
    "expiry": Expiry,
}

_BODIES: Mapping[str, type[_Body]] = {
    "raw": _Raw,
    "claim": _Claim,
    "derived": _Derived,
    "explanation": _Explanation,
    "uncitable": _Uncitable,
    "not_measured": _NotMeasured,
    "refused": _Refused,
    "retraction": _Retraction,
    "row_retraction": RowRetractionWire,
    "row_reinstatement": RowReinstatementWire,
    **dict.fromkeys(_EVENTS, _Event),
}


def to_wire(record: Record) -> tuple[str, dict[str, object]]:
    """Write a record as its type and body, in plain JSON values."""
    name, body = _to_body(record)
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
        return _from_body(name, msgspec.convert(body, _BODIES[name], strict=True))
    except (msgspec.ValidationError, ValueError) as error:
        raise InputError(f"not a {name} record: {error}", hint="Compare with docs/reference/evidence.md.") from error


def _to_body(record: Record) -> tuple[str, _Body]:  # noqa: C901, PLR0911  (one return a type)
    match record:
        case RawFile():
            return "raw", _Raw(
                sha256=record.sha256.hex,
                name=record.name,
                size=record.size.count,
                captured_at=record.captured_at,
                command=record.command,
            )
        case Claim():
            return "claim", _claim_to_wire(record)
        case Derived():
            return "derived", _derived_to_wire(record)
        case Explanation(slug=slug, statement=statement, facts=facts, trials=trials):
            told = tuple(_trial_to_wire(trial) for trial in trials)
            return "explanation", _Explanation(slug=slug, statement=statement, facts=facts, trials=told)
        case Uncitable(slug=slug, topic=topic, why=why):
            return "uncitable", _Uncitable(slug=slug, topic=topic, why=why)
        case NotMeasured(topic=topic, why=why):
            return "not_measured", _NotMeasured(topic=topic, why=why)
        case Refused(sentence=sentence, reason=reason):
            return "refused", _Refused(sentence=sentence, reason=reason)
        case Retraction(slug=slug, kind=kind, reason=reason, at=at):
            return "retraction", _Retraction(slug=slug, kind=kind, reason=reason, at=at)
        case Correction() | Concern() | Reaffirmation() | Expiry():
            return _event_name(record), _Event(slug=record.slug, reason=record.reason, at=record.at)
        case RowRetraction():
            return "row_retraction", rows_to_wire(record)
        case RowReinstatement():
            return "row_reinstatement", reinstatement_to_wire(record)


def _from_body(name: str, body: _Body) -> Record:  # noqa: C901, PLR0911  (one return a type)
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
        case _Derived():
            return _derived_from_wire(body)
        case _Explanation():
            trials = tuple(_trial_from_wire(trial) for trial in body.trials)
            return Explanation(slug=body.slug, statement=body.statement, facts=body.facts, trials=trials)
        case _Uncitable():
            return Uncitable(slug=body.slug, topic=body.topic, why=body.why)
        case _NotMeasured():
            return NotMeasured(topic=body.topic, why=body.why)
        case _Refused():
            return Refused(sentence=body.sentence, reason=body.reason)
        case _Retraction():
            return Retraction(slug=body.slug, kind=body.kind, reason=body.reason, at=body.at)
        case _Event():
            return _EVENTS[name](slug=body.slug, reason=body.reason, at=body.at)
        case RowRetractionWire():
            return rows_from_wire(body)
        case RowReinstatementWire():
            return reinstatement_from_wire(body)


def _event_name(event: Event) -> str:
    return next(name for name, kind in _EVENTS.items() if isinstance(event, kind))


def _claim_to_wire(claim: Claim) -> _Claim:
    return _Claim(
        slug=claim.slug,
        label=claim.label,
        value=claim.value,
        unit=claim.unit,
        raw=claim.raw.hex,
        locator=locator_to_wire(claim.locator),
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
        locator=locator_from_wire(body.locator),
        extraction=Extraction(extractor=body.extraction.extractor, parameters=body.extraction.parameters),
        subject=Sha256(body.subject),
    )


def _derived_to_wire(derived: Derived) -> _Derived:
    return _Derived(
        slug=derived.slug,
        label=derived.label,
        value=derived.value,
        unit=derived.unit,
        rule=derived.rule,
        inputs=derived.inputs,
        decimals=derived.decimals,
    )


def _derived_from_wire(body: _Derived) -> Derived:
    return Derived(
        slug=body.slug,
        label=body.label,
        value=body.value,
        unit=body.unit,
        rule=body.rule,
        inputs=body.inputs,
        decimals=body.decimals,
    )


def _trial_to_wire(trial: Trial) -> _Trial:
    return _Trial(
        name=trial.name,
        conditions=trial.conditions,
        outcome=trial.outcome,
        raw=trial.raw.hex,
        locator=locator_to_wire(trial.locator),
    )


def _trial_from_wire(body: _Trial) -> Trial:
    return Trial(
        name=body.name,
        conditions=body.conditions,
        outcome=body.outcome,
        raw=Sha256(body.raw),
        locator=locator_from_wire(body.locator),
    )
