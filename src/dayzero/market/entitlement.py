"""Who may download what: the version that was bought, and what was published while its maintenance ran."""

from dataclasses import dataclass

from dayzero.market.errors import RefusedError
from dayzero.market.model import Access, Allowed, Deed, Denied, Row, Values
from dayzero.market.ports import Desk, Market
from dayzero.market.publish import version_of
from dayzero.market.rows import text
from dayzero.market.subscription import covering


@dataclass(frozen=True, slots=True, kw_only=True)
class Download:
    """A download that was let through and recorded.

    Attributes:
        id: Its id in the books.
        allowed: What it rests on.
        kit_sha256: Digest of the kit that may be handed out.
        notices: What was said about the version since: each a kind and a text.
    """

    id: str
    allowed: Allowed
    kit_sha256: str
    notices: tuple[tuple[str, str], ...]


def access(market: Market, account_id: str, product: str, version: str) -> Access:
    """Say whether an account may download a version, and what that rests on."""
    return market.books.read(lambda desk: access_at(desk, account_id, version_of(desk, product, version)))


def download(market: Market, account_id: str, product: str, version: str) -> Download:
    """Check a download against the entitlements, and record it.

    Raises:
        RefusedError: There is no such version (``unknown``), or no right to it (``not-entitled``).
    """
    return market.books.write(account_id, lambda desk: _download(desk, market, account_id, product, version))


def holds_product(desk: Desk, account_id: str, product_id: str) -> bool:
    """Say whether an account has a right to some version of a product that was not revoked."""
    return bool(_held(desk, account_id, product_id))


def access_at(desk: Desk, account_id: str, version: Values) -> Access:
    """Say, within a transaction, whether an account may download a version; see :func:`access`."""
    held = _held(desk, account_id, text(version, "product_id"))
    for entitlement in held:
        if entitlement["version_id"] == version["id"]:
            return Allowed(version=version, entitlement=entitlement, subscription_id="")
    if not held:
        return Denied("no version of the package was bought, or the right to it was revoked")
    maintenance = covering(desk, account_id, version)
    if maintenance is None:
        return Denied("this version was not bought, and no maintenance ran when it was published")
    if _needs_signature(desk, version):
        held = tuple(row for row in held if row["signature_id"] is not None)
        if not held:
            return Denied("this version needs a signed licence, and none was signed for the one that was bought")
    return Allowed(version=version, entitlement=held[0], subscription_id=text(maintenance, "id"))


def _held(desk: Desk, account_id: str, product_id: str) -> tuple[Values, ...]:
    found = desk.every("entitlement", account_id=account_id, product_id=product_id)
    return tuple(row for row in found if desk.one("revocation", entitlement_id=row["id"]) is None)


def _needs_signature(desk: Desk, version: Values) -> bool:
    """Say whether a version is sold under a signed licence; then maintenance does not bring it without one."""
    return any(row["requires_signature"] for row in desk.every("price_tier", version_id=version["id"]))


def _download(desk: Desk, market: Market, account_id: str, product: str, version_name: str) -> Download:
    version = version_of(desk, product, version_name)
    found = access_at(desk, account_id, version)
    if isinstance(found, Denied):
        raise RefusedError("not-entitled", found.why, hint="See what is on offer.")
    at = market.now()
    values = {
        "id": market.new_id(),
        "account_id": account_id,
        "product_id": version["product_id"],
        "version_id": version["id"],
        "kit_sha256": version["kit_sha256"],
        "entitlement_id": found.entitlement["id"],
        "entitled_version_id": found.entitlement["version_id"],
        "subscription_id": found.subscription_id or None,
        "at": at,
    }
    desk.record(Deed(account=account_id, kind="download", at=at, rows=(Row("download", values),)))
    said = desk.every("version_notice", version_id=version["id"])
    return Download(
        id=text(values, "id"),
        allowed=found,
        kit_sha256=text(version, "kit_sha256"),
        notices=tuple((text(row, "kind"), text(row, "body")) for row in said),
    )
