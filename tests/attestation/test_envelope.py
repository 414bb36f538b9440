import base64
import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from tests.simulators.signer import BrokenSigner, KnownSigner

from dayzero.attestation.envelope import seal, sign_statements, unseal
from dayzero.attestation.model import Statement, Subject
from dayzero.attestation.statement import payload
from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.pins import Sha256
from dayzero_verify.dsse import pae, parse_envelope

OWNER, STRANGER = KnownSigner(), KnownSigner(seed=b"\x02" * 32)
STATEMENT = Statement(
    subjects=(Subject("a.zip", Sha256("ab" * 32)),),
    predicate_type="urn:example:x",
    predicate={"signer": {"kind": "demo"}, "value": "140.30"},
)


def test_what_is_sealed_is_unsealed_with_the_signers_key():
    assert unseal(seal(STATEMENT, OWNER), (OWNER.trusted,)) == STATEMENT


def test_an_envelope_is_one_line_with_the_members_of_dsse():
    line = seal(STATEMENT, OWNER)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    document = json.loads(line)
    assert sorted(document) == ["payload", "payloadType", "signatures"]
    assert document["payloadType"] == "application/vnd.in-toto+json"
    assert base64.b64decode(document["payload"]) == payload(STATEMENT)
    assert document["signatures"][0]["keyid"] == OWNER.trusted.keyid


def test_signing_the_same_statement_twice_gives_the_same_bytes():
    assert seal(STATEMENT, OWNER) == seal(STATEMENT, OWNER)


def test_statements_are_signed_in_the_order_given():
    other = replace(STATEMENT, predicate_type="urn:example:y")
    lines = sign_statements([STATEMENT, other], OWNER).splitlines(keepends=True)
    assert [unseal(line, (OWNER.trusted,)).predicate_type for line in lines] == ["urn:example:x", "urn:example:y"]


@pytest.mark.parametrize(
    "line", [seal(STATEMENT, STRANGER), b"", b"hello\n", seal(STATEMENT, OWNER).replace(b"in-toto", b"in-xoxo")]
)
def test_what_no_trusted_key_signed_is_not_unsealed(line: bytes):
    with pytest.raises(IntegrityError, match="not a statement signed by a trusted key"):
        unseal(line, (OWNER.trusted,))


@pytest.mark.parametrize("signer", [{"kind": "release"}, None, "demo", {}])
def test_a_demo_key_does_not_sign_a_statement_that_says_otherwise(signer: object):
    with pytest.raises(InputError, match="does not say that a demo key signs it"):
        seal(replace(STATEMENT, predicate={"signer": signer}), OWNER)


def test_a_signer_that_signs_with_another_key_than_it_shows_is_caught():
    with pytest.raises(IntegrityError, match="does not hold"):
        seal(STATEMENT, BrokenSigner())


def test_openssl_accepts_the_signature_over_the_signed_bytes_and_no_other(tmp_path: Path):
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    envelope = parse_envelope(seal(STATEMENT, OWNER).rstrip(b"\n"))
    key = Ed25519PublicKey.from_public_bytes(OWNER.public_key)
    (tmp_path / "key.pem").write_bytes(key.public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    (tmp_path / "sig.bin").write_bytes(envelope.signatures[0].value)
    codes = []
    for message in (pae(envelope.payload), pae(envelope.payload + b" ")):
        (tmp_path / "pae.bin").write_bytes(message)
        command = "openssl pkeyutl -verify -pubin -inkey key.pem -rawin -in pae.bin -sigfile sig.bin"
        codes.append(subprocess.run(command.split(), cwd=tmp_path, capture_output=True, check=False).returncode)
    assert codes == [0, 1]
