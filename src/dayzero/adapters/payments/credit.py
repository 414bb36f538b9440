"""The buyer's credit: money that is in the books already, so that nothing is asked of anybody outside."""

from collections.abc import Mapping

from dayzero.core.errors import InputError, IntegrityError
from dayzero.market.model import CREDIT, Event, Order, Session


class CreditPayments:
    """Credit as a ``dayzero.market.ports.PaymentProvider``: an order is paid when it is placed, and a refund is the ledger's."""

    @property
    def name(self) -> str:
        """What the books call it."""
        return CREDIT

    def begin(self, order: Order, title: str) -> Session:
        """Refuse: there is no page to pay on.

        Raises:
            InputError: Always.
        """
        raise InputError(f"order {order.id} ({title}) is paid from credit", hint="There is nothing to open.")

    def read_event(self, body: bytes, headers: Mapping[str, str]) -> Event:
        """Refuse: credit sends no deliveries.

        Raises:
            IntegrityError: Always.
        """
        raise IntegrityError(
            f"a delivery of {len(body)} bytes with {len(headers)} headers for credit",
            hint="Credit sends none: drop it.",
        )

    def close(self, order: Order, reference: str) -> Event | None:
        """Refuse: there is no page to close.

        Raises:
            InputError: Always.
        """
        raise InputError(f"order {order.id} has no page {reference}", hint="There is nothing to close.")

    def refund(self, order: Order, payment: str, amount_minor: int, key: str) -> None:
        """Send nothing: the reversing transfer in the books is the refund."""
