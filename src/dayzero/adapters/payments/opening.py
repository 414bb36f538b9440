"""Open the payment providers that are configured; the library of one that is not is never loaded."""

from dayzero.core.errors import InputError
from dayzero.market.ports import PaymentProvider


def open_stripe(api_key: str, *, webhook_secret: str = "", back: str = "", api: str = "") -> PaymentProvider:
    """Open Stripe.

    Args:
        api_key: The secret key.
        webhook_secret: The secret of the endpoint that deliveries come to; none is needed where none is read.
        back: Where the buyer comes back to, paid or not; the order's page tells which. None is needed where no page is opened.
        api: Where the API is; ``""`` for Stripe's own address.

    Raises:
        InputError: Its library is not installed.
    """
    try:
        from dayzero.adapters.payments.stripe import StripeAccount, StripePayments  # noqa: PLC0415  (an optional package)
    except ModuleNotFoundError as error:
        raise InputError("Stripe's library is not installed", hint="pip install 'dayzero[stripe]'") from error
    return StripePayments(
        StripeAccount(api_key=api_key, webhook_secret=webhook_secret, success_url=back, cancel_url=back, api=api)
    )
