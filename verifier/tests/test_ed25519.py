import json
from hashlib import sha512

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given, settings
from hypothesis import strategies as st
from verifier.tests.prehashed import sign_prehashed
from verifier.tests.vectors import vectors

from dayzero_verify.ed25519 import WeakKeyError, check_key, verify

GROUP_ORDER = 2**252 + 27742317777372353535851937790883648493
KEY = Ed25519PrivateKey.from_private_bytes(b"\x07" * 32)
PUBLIC = KEY.public_key().public_bytes_raw()
# RFC 8032, section 7.3: a secret key, and its Ed25519ph signature of "abc".
PH_SEED = bytes.fromhex("833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42")
PH_SIGNATURE = bytes.fromhex(
    "98a70222f0b8121aa9d30f813d683f809e462b469c7ff87639499bb94e6dae41"
    "31f85042463c2a355a2003d062adf5aaa10b8c61e636062aaad11c2a26083406"
)


def test_wycheproof_gives_the_expected_verdict_on_all_151_vectors():
    suite = json.loads(next(vectors("wycheproof").rglob("ed25519_test.json")).read_bytes())
    verdicts = [
        (verify(bytes.fromhex(group["publicKey"]["pk"]), bytes.fromhex(test["msg"]), bytes.fromhex(test["sig"])), test)
        for group in suite["testGroups"]
        for test in group["tests"]
    ]
    assert [test["tcId"] for accepted, test in verdicts if accepted != (test["result"] == "valid")] == []
    assert (len(verdicts), sum(accepted for accepted, _ in verdicts)) == (151, 88)


def test_of_the_914_edge_cases_of_cctv_43_are_accepted_none_with_a_weak_key():
    cases = json.loads((vectors("cctv") / "ed25519" / "ed25519vectors.json").read_bytes())
    accepted = [
        case for case in cases if verify(bytes.fromhex(case["key"]), case["msg"].encode(), bytes.fromhex(case["sig"]))
    ]
    assert (len(cases), len(accepted)) == (914, 43)
    banned = {"low_order_A", "low_order_R", "non_canonical_A", "non_canonical_R"}
    assert [case["number"] for case in accepted if banned & set(case["flags"] or ())] == []


def test_the_keys_of_cctv_with_a_low_order_part_are_refused_where_a_key_is_taken_in():
    cases = json.loads((vectors("cctv") / "ed25519" / "ed25519vectors.json").read_bytes())
    mixed = {case["key"] for case in cases if "low_order_component_A" in (case["flags"] or ())}
    assert len(mixed) > 10
    for key in mixed:
        with pytest.raises(WeakKeyError):
            check_key(bytes.fromhex(key))


def test_speccheck_gives_the_verdicts_of_libsodium():
    cases = json.loads((vectors("speccheck") / "cases.json").read_bytes())
    verdicts = [
        verify(bytes.fromhex(case["pub_key"]), bytes.fromhex(case["message"]), bytes.fromhex(case["signature"]))
        for case in cases
    ]
    assert "".join("V" if accepted else "X" for accepted in verdicts) == "XXXVXXXXXXXX"


@given(seed=st.binary(min_size=32, max_size=32), message=st.binary(max_size=200))
@settings(max_examples=25, deadline=None)
def test_every_signature_of_an_honest_signer_is_accepted_under_a_key_that_is_taken_in(seed: bytes, message: bytes):
    key = Ed25519PrivateKey.from_private_bytes(seed)
    check_key(key.public_key().public_bytes_raw())
    assert verify(key.public_key().public_bytes_raw(), message, key.sign(message))


@given(bit=st.integers(min_value=0, max_value=511))
@settings(max_examples=60, deadline=None)
def test_no_flipped_bit_of_a_signature_is_accepted(bit: int):
    signature = bytearray(KEY.sign(b"message"))
    signature[bit // 8] ^= 1 << bit % 8
    assert not verify(PUBLIC, b"message", bytes(signature))


def test_a_second_scalar_for_the_same_signature_is_refused():
    signature = KEY.sign(b"message")
    scalar = int.from_bytes(signature[32:], "little") + GROUP_ORDER
    assert verify(PUBLIC, b"message", signature)
    assert not verify(PUBLIC, b"message", signature[:32] + scalar.to_bytes(32, "little"))


@pytest.mark.parametrize("message", [b"abc", sha512(b"abc").digest()])
def test_a_prehashed_signature_is_not_a_pure_one(message: bytes):
    key = Ed25519PrivateKey.from_private_bytes(PH_SEED)
    public = key.public_key().public_bytes_raw()
    assert sign_prehashed(PH_SEED, b"abc") == PH_SIGNATURE
    assert verify(public, message, key.sign(message))
    assert not verify(public, message, PH_SIGNATURE)


@pytest.mark.parametrize(
    ("key", "why"),
    [
        (b"\x01" + b"\x00" * 31, "small order"),
        (b"\x00" * 32, "small order"),
        (bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "small order"),
        (b"\xee" + b"\xff" * 30 + b"\x7f", "canonical"),  # p + 1: a second way to write the neutral point
        (b"\x01" + b"\x00" * 30 + b"\x80", "canonical"),  # -0
        (b"\x02" + b"\x00" * 31, "canonical"),  # no point has this y
        (PUBLIC[:31], "32 bytes"),
        (PUBLIC + b"\x00", "32 bytes"),
        (b"", "32 bytes"),
    ],
)
def test_a_key_under_which_a_signature_proves_nothing_is_refused(key: bytes, why: str):
    with pytest.raises(WeakKeyError, match=why):
        check_key(key)


@pytest.mark.parametrize("length", [0, 63, 65])
def test_a_signature_of_another_length_is_refused(length: int):
    assert not verify(PUBLIC, b"message", (KEY.sign(b"message") + b"\x00")[:length])


def test_under_the_neutral_key_one_signature_would_hold_for_every_message():
    # R = B, S = 1, A = neutral: S*B = R + k*A for each k. A verifier that takes small-order keys accepts it.
    base = bytes.fromhex("5866666666666666666666666666666666666666666666666666666666666666")
    forged = base + (1).to_bytes(32, "little")
    assert not verify(b"\x01" + b"\x00" * 31, b"whatever", forged)
