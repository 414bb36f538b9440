"""What an amount of money is: whole minor units in a currency of three letters, small enough that no sum of them is too large."""

import re
from typing import Final

from dayzero.market.errors import RefusedError

MOST_MINOR: Final = 10**15
"""The largest amount that is entered at once; a database's whole number holds thousands of them."""

_CURRENCY: Final = re.compile("[A-Z]{3}")


def check_currency(currency: str) -> None:
    """Hold a currency to what it is written as.

    Raises:
        RefusedError: It is not three capital letters.
    """
    if not _CURRENCY.fullmatch(currency):
        raise RefusedError(
            "refused-by-schema", f"{currency!r} is no currency", hint="Write three capital letters, such as EUR."
        )


def check_amount(amount_minor: int, *, least: int = 1) -> None:
    """Hold an amount to what the books take, in minor units.

    Raises:
        RefusedError: It is less or more than that.
    """
    if not least <= amount_minor <= MOST_MINOR:
        raise RefusedError(
            "refused-by-schema",
            f"an amount is {least} to {MOST_MINOR} minor units, and this is {amount_minor}",
            hint="Give whole minor units, such as cents.",
        )
