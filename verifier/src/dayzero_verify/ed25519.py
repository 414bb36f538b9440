"""Verify pure Ed25519 signatures (RFC 8032) strictly: one encoding for each point and scalar, no point of small order."""

from hashlib import sha512
from typing import TypeAlias

KEY_BYTES = 32
SIGNATURE_BYTES = 64

# The curve of RFC 8032, section 5.1: field prime, group order, d, a square root of -1, the base point.
_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
_D = 0x52036CEE2B6FFE738CC740797779E89800700A4D4141D8AB75EB4DCA135978A3
_SQRT_OF_MINUS_1 = 0x2B8324804FC1DF0B2B4D00993DFBD7A72F431806AD2FE478C4EE1B274A0EA0B0
_BASE_X = 0x216936D3CD6E53FEC0A4E231FDD6DC5C692CC7609525A7B2C9562D608F25D51A
_BASE_Y = 0x6666666666666666666666666666666666666666666666666666666666666658

_Point: TypeAlias = tuple[int, int, int, int]  # X, Y, Z, T with x = X/Z, y = Y/Z, x*y = T/Z
_NEUTRAL: _Point = (0, 1, 1, 0)


class WeakKeyError(ValueError):
    """A public key under which a signature proves nothing, or that is no point of the curve."""


def check_key(public_key: bytes) -> None:
    """Refuse a public key that no honest key generation makes.

    Costs one scalar multiplication, so it is done once for each key, not for each signature.

    Raises:
        WeakKeyError: Wrong length, second encoding of a point, small order, or outside the group of prime order.
    """
    if len(public_key) != KEY_BYTES:
        raise WeakKeyError(f"an Ed25519 public key has {KEY_BYTES} bytes, not {len(public_key)}")
    point = _decode(public_key)
    if point is None:
        raise WeakKeyError("the public key is not the canonical encoding of a point of the curve")
    if _has_small_order(point):
        raise WeakKeyError(
            "the public key is a point of small order: signatures under it can be forged for any message"
        )
    if not _is_neutral(_multiply(_L, point)):
        raise WeakKeyError("the public key is not in the group of prime order")


def verify(public_key: bytes, message: bytes, signature: bytes) -> bool:
    """Say whether the signature over the message is valid under the key.

    Accepts exactly what libsodium accepts: S below the group order, canonical A, no A and no R of small order, and the
    equation without the cofactor.
    """
    if len(public_key) != KEY_BYTES or len(signature) != SIGNATURE_BYTES:
        return False
    a, r = _decode(public_key), _decode(signature[:32])
    s = int.from_bytes(signature[32:], "little")
    if a is None or r is None or s >= _L or _has_small_order(a) or _has_small_order(r):
        return False
    k = int.from_bytes(sha512(signature[:32] + public_key + message).digest(), "little") % _L
    base = (_BASE_X, _BASE_Y, 1, _BASE_X * _BASE_Y % _P)
    return _equal(_multiply_two(s, base, k, _negate(a)), r)


def _decode(encoded: bytes) -> _Point | None:
    """Read a point, or ``None`` where the bytes are not the one encoding of a point of the curve."""
    number = int.from_bytes(encoded, "little")
    sign, y = number >> 255, number & (2**255 - 1)
    if y >= _P:
        return None
    numerator, denominator = (y * y - 1) % _P, (_D * y * y + 1) % _P
    # RFC 8032, section 5.1.3: the candidate root is u * v^3 * (u * v^7)^((p-5)/8).
    x = numerator * pow(denominator, 3, _P) * pow(numerator * pow(denominator, 7, _P), (_P - 5) // 8, _P) % _P
    square = denominator * x * x % _P
    if square == -numerator % _P:
        x = x * _SQRT_OF_MINUS_1 % _P
    elif square != numerator:
        return None
    if x == 0 and sign == 1:
        return None
    if x & 1 != sign:
        x = _P - x
    return (x, y, 1, x * y % _P)


def _add(p: _Point, q: _Point) -> _Point:
    a = (p[1] - p[0]) * (q[1] - q[0]) % _P
    b = (p[1] + p[0]) * (q[1] + q[0]) % _P
    c = 2 * p[3] * q[3] * _D % _P
    d = 2 * p[2] * q[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return (e * f % _P, g * h % _P, f * g % _P, e * h % _P)


def _double(p: _Point) -> _Point:
    a, b = p[0] * p[0] % _P, p[1] * p[1] % _P
    e, g = (p[0] + p[1]) ** 2 - a - b, b - a
    f, h = g - 2 * p[2] * p[2], -a - b
    return (e * f % _P, g * h % _P, f * g % _P, e * h % _P)


def _negate(p: _Point) -> _Point:
    return (-p[0] % _P, p[1], p[2], -p[3] % _P)


def _multiply(scalar: int, p: _Point) -> _Point:
    return _multiply_two(scalar, p, 0, _NEUTRAL)


def _multiply_two(s: int, p: _Point, t: int, q: _Point) -> _Point:
    """Compute s*P + t*Q in one pass over the bits. Nothing here is secret, so the time may depend on the input."""
    both, total = _add(p, q), _NEUTRAL
    for bit in range(max(s.bit_length(), t.bit_length()) - 1, -1, -1):
        total = _double(total)
        match (s >> bit & 1, t >> bit & 1):
            case (1, 1):
                total = _add(total, both)
            case (1, 0):
                total = _add(total, p)
            case (0, 1):
                total = _add(total, q)
    return total


def _equal(p: _Point, q: _Point) -> bool:
    return (p[0] * q[2] - q[0] * p[2]) % _P == 0 and (p[1] * q[2] - q[1] * p[2]) % _P == 0


def _is_neutral(p: _Point) -> bool:
    return _equal(p, _NEUTRAL)


def _has_small_order(p: _Point) -> bool:
    for _ in range(3):
        p = _double(p)
    return _is_neutral(p)
