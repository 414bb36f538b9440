"""Sign a licence: the terms that were read, who is bound, and each affirmation by itself; with one missing nothing is signed."""

from dataclasses import dataclass
from itertools import zip_longest

from dayzero.market.affirmation import listed
from dayzero.market.chain import canonical
from dayzero.market.errors import RefusedError
from dayzero.market.model import Allowed, Row, Signing, Values
from dayzero.market.ports import Desk, Market
from dayzero.market.rows import known, text

LICENCE_SCHEMA = "dayzero/licence/v1"


@dataclass(frozen=True, slots=True)
class Offer:
    """Terms as a buyer reads them: their row, and the rows of what is affirmed, in order."""

    terms: Values
    affirmations: tuple[Values, ...]


def read_terms(desk: Desk, terms_id: str) -> Offer:
    """Read terms with what is affirmed under them."""
    terms = known(desk, "terms", f"text of terms {terms_id}", id=terms_id)
    return Offer(terms, desk.every("terms_affirmation", terms_id=terms_id))


def signed_row(desk: Desk, signature_id: str, account_id: str, terms_id: str, signing: Signing, at: str) -> Row:  # noqa: PLR0913, PLR0917  (each column that it fills)
    """Write a signature with everything that it affirms.

    Raises:
        RefusedError: Other terms were read than those of the offer, an affirmation is missing or another was made, or a name is
            empty (``signature-unfit``).
    """
    offer = read_terms(desk, terms_id)
    _check(offer, signing)
    signature = {
        "id": signature_id,
        "account_id": account_id,
        "terms_id": terms_id,
        "terms_sha256": signing.terms_sha256,
        "entity": signing.entity.strip(),
        "signer": signing.signer.strip(),
        "authority": signing.authority.strip(),
        "signed_at": at,
        "affirmations": listed(signing.affirmations),
    }
    return Row("signature", signature)


def licence_document(market: Market, allowed: Allowed, download_id: str) -> str:
    """Write the licence that a download is under, as canonical JSON, so that the kit's folder says whose copy it is.

    Args:
        market: The market.
        allowed: What the download rests on.
        download_id: The download's entry in the books.
    """
    return market.books.read(lambda desk: canonical(_document(desk, allowed, download_id)))


def _document(desk: Desk, allowed: Allowed, download_id: str) -> dict[str, object]:
    entitlement, version = allowed.entitlement, allowed.version
    product = known(desk, "product", "product", id=version["product_id"])
    account = known(desk, "account", "account", id=entitlement["account_id"])
    return {
        "schema": LICENCE_SCHEMA,
        "package": product["name"],
        "version": version["version"],
        "kit_sha256": version["kit_sha256"],
        "account": account["name"],
        "entitlement": entitlement["id"],
        "maintenance": allowed.subscription_id or None,
        "download": download_id,
        "licence": _licence(desk, entitlement),
    }


def _licence(desk: Desk, entitlement: Values) -> dict[str, object] | None:
    if entitlement["signature_id"] is None:
        return None
    signature = known(desk, "signature", "signature", id=entitlement["signature_id"])
    offer = read_terms(desk, text(signature, "terms_id"))
    return {
        "signature": signature["id"],
        "entity": signature["entity"],
        "signer": signature["signer"],
        "authority": signature["authority"],
        "signed_at": signature["signed_at"],
        "terms": offer.terms["body"],
        "terms_sha256": signature["terms_sha256"],
        "affirmations": [
            {"kind": row["kind"], "text": row["body"], "sha256": row["sha256"]} for row in offer.affirmations
        ],
    }


def _check(offer: Offer, signing: Signing) -> None:
    if signing.terms_sha256 != offer.terms["sha256"]:
        raise _unfit("other terms were signed than those of the offer", "Read the terms again, and sign those.")
    for row, made in zip_longest(offer.affirmations, signing.affirmations):
        if row is None:
            raise _unfit("more was affirmed than the terms ask for", "Make each affirmation once.")
        if made != row["sha256"]:
            raise _unfit(f"the affirmation on {row['kind']} was not made", "Make each affirmation by itself.")
    for what in ("entity", "signer", "authority"):
        if not getattr(signing, what).strip():
            raise _unfit(
                f"the {what} is not named", "Name the licensed entity, the signer, and the signer's authority."
            )


def _unfit(why: str, hint: str) -> RefusedError:
    return RefusedError("signature-unfit", why, hint=hint)
