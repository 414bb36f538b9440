import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from verifier.tests.kits import OWNER

from dayzero_verify.keys import DEMO_MARK, KeyFileError, PublicKey, read_public_pem

PEM = OWNER.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
RAW = OWNER.public_key().public_bytes_raw()


def spki(key: object) -> bytes:
    return key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)  # type: ignore[attr-defined]


def test_the_pem_that_openssl_and_cryptography_write_is_read():
    assert read_public_pem(PEM) == PublicKey(RAW)
    assert read_public_pem(PEM.replace(b"\n", b"\r\n")) == PublicKey(RAW)


def test_a_key_that_says_it_was_made_for_a_demo_is_one():
    assert read_public_pem(DEMO_MARK.encode() + b"\n" + PEM) == PublicKey(RAW, demo=True)
    assert read_public_pem(b"# Anna's key\n" + PEM) == PublicKey(RAW)


def test_the_key_id_is_the_one_that_securesystemslib_computes():
    # securesystemslib 1.6.0, SSlibKey.from_crypto(RFC 8032 test 1's public key).keyid
    key = PublicKey(bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"))
    assert key.keyid == "74c181c7ad8a0855d4b55e44d2ba87aabdddb196832571f15f92fece332e4916"


@pytest.mark.parametrize(
    ("pem", "why"),
    [
        (b"", "not one PEM block"),
        (b"hello\n" + PEM, "not one PEM block"),
        (PEM + b"x", "not one PEM block"),
        (PEM + PEM, "not one PEM block"),
        (PEM.replace(b"PUBLIC KEY", b"CERTIFICATE"), "not one PEM block"),
        (OWNER.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()), "private key"),
        (PEM.replace(b"MCow", b"MCo="), "base64|not an Ed25519"),
        (b"-----BEGIN PUBLIC KEY-----\nAAA\n-----END PUBLIC KEY-----\n", "not base64"),
        (spki(Ed448PrivateKey.generate()), "not an Ed25519"),
        (spki(X25519PrivateKey.generate()), "not an Ed25519"),
        (spki(generate_private_key(SECP256R1())), "not an Ed25519"),
        (b"\xff\xfe" + PEM, "not one PEM block"),
    ],
)
def test_anything_but_one_ed25519_public_key_is_refused(pem: bytes, why: str):
    with pytest.raises(KeyFileError, match=why):
        read_public_pem(pem)
