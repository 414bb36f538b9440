"""Sign and check the deliveries of the fake provider, in the way that Stripe does: HMAC-SHA256 over the time and the raw body."""

import hashlib
import hmac

from dayzero.core.errors import IntegrityError

HEADER = "Delivery-Signature"
TOLERANCE_S = 300
_HINT = "Answer 400 and do nothing; the provider signs what it sends."


def header_for(body: bytes, secret: str, at_s: int) -> str:
    """Sign a body, as of a time in seconds."""
    return f"t={at_s},v1={_mac(body, secret, at_s)}"


def check(body: bytes, header: str, secret: str, now_s: int) -> None:
    """Hold a body to its signature.

    Raises:
        IntegrityError: The signature is missing, of another body or secret, or older than five minutes.
    """
    fields = dict(part.partition("=")[::2] for part in header.split(","))
    signed_at = fields.get("t", "")
    if not signed_at.isascii() or not signed_at.isdigit():
        raise IntegrityError("a delivery without a signature", hint=_HINT)
    if not hmac.compare_digest(_mac(body, secret, int(signed_at)).encode(), fields.get("v1", "").encode()):
        raise IntegrityError("the signature of a delivery does not hold", hint=_HINT)
    if int(signed_at) < now_s - TOLERANCE_S:
        raise IntegrityError("a delivery was signed too long ago", hint=_HINT)


def _mac(body: bytes, secret: str, at_s: int) -> str:
    return hmac.new(secret.encode(), f"{at_s}.".encode() + body, hashlib.sha256).hexdigest()
