"""Sign as Ed25519ph (RFC 8032, section 5.1, with the prehash and its domain prefix), which no library here does."""

from hashlib import sha512

P = 2**255 - 19
L = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, -1, P) % P
BASE = (15112221349535400772501151409588531511454012693041857206046113283949847762202, 4 * pow(5, -1, P) % P)
DOMAIN = b"SigEd25519 no Ed25519 collisions\x01\x00"


def add(p: tuple[int, int], q: tuple[int, int]) -> tuple[int, int]:
    product = D * p[0] * q[0] * p[1] * q[1] % P
    x = (p[0] * q[1] + q[0] * p[1]) * pow(1 + product, -1, P) % P
    y = (p[1] * q[1] + p[0] * q[0]) * pow(1 - product, -1, P) % P
    return x, y


def encoded_multiple(scalar: int) -> bytes:
    total, point = (0, 1), BASE
    while scalar:
        total = add(total, point) if scalar & 1 else total
        point, scalar = add(point, point), scalar >> 1
    return (total[1] | (total[0] & 1) << 255).to_bytes(32, "little")


def sign_prehashed(seed: bytes, message: bytes) -> bytes:
    expanded = sha512(seed).digest()
    secret = int.from_bytes(expanded[:32], "little") & ((1 << 254) - 8) | 1 << 254
    hashed = sha512(message).digest()
    nonce = int.from_bytes(sha512(DOMAIN + expanded[32:] + hashed).digest(), "little") % L
    r, public = encoded_multiple(nonce), encoded_multiple(secret)
    challenge = int.from_bytes(sha512(DOMAIN + r + public + hashed).digest(), "little") % L
    return r + ((nonce + challenge * secret) % L).to_bytes(32, "little")
