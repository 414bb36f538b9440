"""State that something signed is taken back: a kit, a receipt, or one claim of a receipt."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

from dayzero.attestation.model import SignerKind, Statement, Subject
from dayzero.core.errors import InputError
from dayzero.core.pins import Sha256
from dayzero_verify.kit import RAW_FOLDER
from dayzero_verify.retraction import RETRACTION_TYPE

RetractionKind: TypeAlias = Literal["retract", "withdraw"]


@dataclass(frozen=True, slots=True)
class RetractedKit:
    """A kit, by its archive."""

    archive: str
    sha256: Sha256


@dataclass(frozen=True, slots=True)
class RetractedReceipt:
    """A receipt, by the digest of its payload."""

    sha256: Sha256


@dataclass(frozen=True, slots=True)
class RetractedClaim:
    """A claim, by its handle and by the raw file that it rests on."""

    slug: str
    raw: Sha256


Retracted: TypeAlias = RetractedKit | RetractedReceipt | RetractedClaim


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenBack:
    """What is taken back, and what is said about it.

    Attributes:
        kind: ``retract`` where it should not have been published, ``withdraw`` where it is no longer asserted.
        reason: Why; it is published.
        replaced_by: What to use in its place, ``""`` where there is nothing.
    """

    what: Retracted
    kind: RetractionKind
    reason: str
    replaced_by: str = ""


def retraction_statement(taken: TakenBack, effective: str, signer: SignerKind) -> Statement:
    """State it.

    Args:
        taken: What is taken back, and why.
        effective: Since when.
        signer: Kind of the key that will sign.

    Raises:
        InputError: There is no reason.
    """
    if not taken.reason.strip():
        raise InputError("a retraction says why", hint="Give --reason; it is published.")
    slug: dict[str, object] = {}
    match taken.what:
        case RetractedKit(archive=archive, sha256=digest):
            word, subject = "kit", Subject(archive, digest)
        case RetractedReceipt(sha256=digest):
            word, subject = "receipt", Subject("receipt", digest)
        case RetractedClaim(slug=name, raw=digest):
            word, subject, slug = "claim", Subject(f"{RAW_FOLDER}{digest.hex}", digest), {"slug": name}
    return Statement(
        subjects=(subject,),
        predicate_type=RETRACTION_TYPE,
        predicate={
            "what": word,
            "kind": taken.kind,
            **slug,
            "reason": taken.reason.strip(),
            "effective": effective,
            "replacedBy": taken.replaced_by,
            "signer": {"kind": signer},
        },
    )
