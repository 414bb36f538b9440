"""Maintenance: a period in which every version of a package that is published belongs to its holder, for good."""

from datetime import datetime, timedelta

from dayzero.market.errors import RefusedError
from dayzero.market.model import Values
from dayzero.market.ports import Desk
from dayzero.market.rows import text

_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


def period(desk: Desk, account_id: str, product_id: str, days: int, at: str) -> tuple[str, str]:
    """Give the period of maintenance that is bought now: it begins where the one that still runs ends, else now.

    Returns:
        Its first moment, and the first moment after it.

    Raises:
        RefusedError: It would run past the year 9999 (``not-on-offer``).
    """
    running = [text(row, "ends_at") for row in live(desk, account_id, product_id)]
    starts = max([at, *running])
    try:
        return starts, ends_after(starts, days)
    except OverflowError as error:
        raise RefusedError(
            "not-on-offer", "maintenance does not run past the year 9999", hint="What runs already is enough."
        ) from error


def ends_after(starts: str, days: int) -> str:
    """Give the first moment after a period of so many days.

    Raises:
        OverflowError: It would be after the year 9999.
        ValueError: The beginning is no moment.
    """
    ends = datetime.strptime(starts, _FORMAT) + timedelta(days=days)  # noqa: DTZ007  (naive on both sides: the text says UTC)
    return ends.strftime(_FORMAT)


def live(desk: Desk, account_id: str, product_id: str) -> tuple[Values, ...]:
    """Read the maintenance of a product that an account has bought and that was not revoked, run out or not."""
    found = desk.every("subscription", account_id=account_id, product_id=product_id)
    return tuple(row for row in found if desk.one("revocation", subscription_id=row["id"]) is None)


def covering(desk: Desk, account_id: str, version: Values) -> Values | None:
    """Find the maintenance in whose period a version was published; the end is not part of it."""
    published = text(version, "published_at")
    for row in live(desk, account_id, text(version, "product_id")):
        if text(row, "starts_at") <= published < text(row, "ends_at"):
            return row
    return None
