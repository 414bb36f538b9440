import base64
import json

import pytest
from verifier.tests.kits import OWNER, STRANGER, envelope, line, public

from dayzero_verify.dsse import EnvelopeError, SignatureError, pae, parse_envelope, verify_envelope

PAYLOAD = b'{"a":1}'
TRUSTED = (public(OWNER),)


def verified(document: object) -> int:
    """Verify, and give the number of signatures that count for nothing."""
    return verify_envelope(parse_envelope(line(document)), TRUSTED).unverified


def signature(key: object = OWNER, keyid: str = "") -> dict[str, str]:
    return {"keyid": keyid, "sig": base64.b64encode(key.sign(pae(PAYLOAD))).decode()}  # type: ignore[attr-defined]


def test_the_signed_bytes_are_those_of_the_dsse_protocol():
    assert pae(b"hello") == b"DSSEv1 28 application/vnd.in-toto+json 5 hello"
    assert pae("é".encode()) == b"DSSEv1 28 application/vnd.in-toto+json 2 \xc3\xa9"


def test_a_payload_signed_by_a_trusted_key_is_given():
    signed = verify_envelope(parse_envelope(line(envelope(PAYLOAD))), TRUSTED)
    assert (signed.payload, [entry.key for entry in signed.signatures], signed.unverified) == (
        PAYLOAD,
        [public(OWNER)],
        0,
    )


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"payloadType": "application/json"}, "payload type"),
        ({"payloadType": "application/vnd.in-toto+JSON"}, "payload type"),
        ({"payloadType": None}, "payload type"),
        ({"algorithm": "none"}, "exactly the members"),
        ({"signatures": []}, "1 to 4"),
        ({"signatures": [signature()] * 5}, "1 to 4"),
        ({"signatures": {}}, "1 to 4"),
        ({"signatures": [{"keyid": ""}]}, "members sig and keyid"),
        ({"signatures": [{**signature(), "cert": "x"}]}, "members sig and keyid"),
        ({"signatures": [{**signature(), "keyid": 1}]}, "key id is text"),
        ({"signatures": ["x"]}, "members sig and keyid"),
        ({"payload": 1}, "not text"),
        ({"payload": None}, "not text"),
    ],
)
def test_an_envelope_of_another_form_is_refused(changes: dict[str, object], why: str):
    with pytest.raises(EnvelopeError, match=why):
        parse_envelope(line(envelope(PAYLOAD, **changes)))


@pytest.mark.parametrize(
    "text",
    [
        "aGVsbG9=",  # bits left over
        "aGVsbG8",  # no padding
        "aGVsbG8==",
        "aGVs\nbG8=",
        " aGVsbG8=",
        "aGVsbG8=\n",
        "aGVsbG8=junk",
        "aGVs!bG8=",
        "_-8=",  # the other alphabet
        "aGVsbG8\u00e9",
    ],
)
def test_base64_has_one_spelling(text: str):
    with pytest.raises(EnvelopeError, match="base64"):
        parse_envelope(line(envelope(PAYLOAD, payload=text)))


def test_a_duplicate_key_in_the_envelope_is_refused():
    honest = line(envelope(PAYLOAD))
    with pytest.raises(EnvelopeError, match="occurs twice"):
        parse_envelope(honest.replace(b'{"payload":', b'{"payload":"AAAA","payload":', 1))


def test_a_key_id_may_be_left_out_or_empty():
    bare = {"sig": signature()["sig"]}
    assert verified(envelope(PAYLOAD, signatures=[bare])) == 0
    assert verified(envelope(PAYLOAD, signatures=[signature()])) == 0


@pytest.mark.parametrize(
    ("signatures", "why"),
    [
        ([signature(STRANGER)], "no trusted key"),
        ([signature(STRANGER, public(OWNER).keyid)], "does not hold"),
        ([signature(OWNER, public(STRANGER).keyid)], "names another key"),
        ([signature(OWNER, "0" * 64)], "names another key"),
        ([signature(), signature(STRANGER, public(OWNER).keyid)], "does not hold"),
        ([{"keyid": "", "sig": ""}], "no trusted key"),
        ([{"keyid": "", "sig": base64.b64encode(OWNER.sign(PAYLOAD)).decode()}], "no trusted key"),
    ],
)
def test_what_no_trusted_key_signed_is_refused_and_a_key_id_may_not_lie(signatures: list[dict[str, str]], why: str):
    with pytest.raises(SignatureError, match=why):
        verified(envelope(PAYLOAD, signatures=signatures))


def test_a_further_signature_by_a_stranger_is_counted_as_unverified():
    assert verified(envelope(PAYLOAD, signatures=[signature(STRANGER), signature()])) == 1


def test_one_key_that_signs_twice_is_one_key():
    signed = verify_envelope(parse_envelope(line(envelope(PAYLOAD, OWNER, OWNER))), TRUSTED)
    assert len(signed.signatures) == 1


def test_every_trusted_key_is_tried():
    trusted = (public(STRANGER), public(OWNER))
    signed = verify_envelope(parse_envelope(line(envelope(PAYLOAD, OWNER, STRANGER))), trusted)
    assert {entry.key for entry in signed.signatures} == set(trusted)


def test_the_envelope_is_plain_json_on_one_line():
    assert json.loads(line(envelope(PAYLOAD)))["payloadType"] == "application/vnd.in-toto+json"
