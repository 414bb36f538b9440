"""Standard base64 in its one spelling: no white space, padding in full, no bits left over."""

import base64
import binascii


class Base64Error(ValueError):
    """A text is not the one spelling of any bytes."""


def decode(text: str) -> bytes:
    """Decode a text.

    Raises:
        Base64Error: It is not base64, or spells its bytes in another way than encoding does.
    """
    try:
        decoded = base64.b64decode(text.encode("ascii"), validate=True)
    except (UnicodeEncodeError, binascii.Error) as error:
        raise Base64Error("not base64") from error
    if base64.b64encode(decoded) != text.encode("ascii"):
        raise Base64Error("not the one base64 spelling of its bytes")
    return decoded
