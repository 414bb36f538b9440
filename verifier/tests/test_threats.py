# ruff: noqa: E501  (one attack stands on one line)
"""One attack a row: what it does to a buyer's files, and the exit code with which the command line refuses it."""

import base64
import io
import json
import os
import struct
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from verifier.tests.kits import (
    FILES,
    OWNER,
    STRANGER,
    Made,
    archived,
    digest,
    dump,
    envelope,
    line,
    make,
    public,
    with_manifest,
)
from verifier.tests.models import contents, name_of, put
from verifier.tests.models import pin as model_pin
from verifier.tests.prehashed import sign_prehashed
from verifier.tests.trusts import (
    DAY,
    LOG_KEY,
    NOW,
    RETRACTOR,
    ROOTS,
    SECOND,
    SNAPSHOT,
    TIMESTAMP,
    LogMade,
    TrustMade,
    record,
    retraction,
    role,
    root,
)

from dayzero_verify import handover
from dayzero_verify.canonical_zip import build
from dayzero_verify.cli import run
from dayzero_verify.dsse import pae
from dayzero_verify.times import format_time

HONEST = make()
OTHER = make({**FILES, "README.md": b"# another kit\n"})
TRUST = TrustMade(kit=HONEST)
KIT_PAYLOAD, RECEIPT_PAYLOAD = dump(HONEST.kit), dump(HONEST.receipt)
KIT_LINE, RECEIPT_LINE = HONEST.attestation().splitlines(keepends=True)
LOGGED = LogMade((record(0), record(1, HONEST), record(2)))


@dataclass
class Shop:
    """What a buyer has: files in a folder, and the words after the kit's name."""

    folder: Path
    words: list[str] = field(default_factory=list)
    later: Callable[[], object] = tuple
    """What happens between the checks and the start of the program that they are for."""

    @property
    def model(self) -> Path:
        return self.folder / "model"

    def put(self, name: str, content: bytes) -> Path:
        (self.folder / name).write_bytes(content)
        return self.folder / name

    def sell(self, made: Made, attestation: bytes | None = None) -> None:
        self.put("a.kit.zip", made.archive)
        self.put("a.kit.intoto.jsonl", made.attestation() if attestation is None else attestation)

    def trust(self, made: TrustMade, *words: str, fingerprint: str = "") -> None:
        path = self.put("trust.json", made.bytes())
        self.words = ["--trust", str(path), "--root", fingerprint or made.fingerprint, *words]

    def key(self, raw: bytes) -> None:
        body = base64.b64encode(bytes.fromhex("302a300506032b6570032100") + raw).decode()
        path = self.put("key.pem", f"-----BEGIN PUBLIC KEY-----\n{body}\n-----END PUBLIC KEY-----\n".encode())
        self.words = ["--key", str(path)]

    def remember(self, **changes: object) -> None:
        seen = {"kits": {}, "metadata": {}, "checkpoint": None, "time": format_time(NOW - DAY), **changes}
        path = self.put("state.json", dump({"schema": "dayzero/verify-state/v1", **seen}))
        self.words += ["--state", str(path)]

    def run(self) -> int:
        return run([str(self.folder / "a.kit.zip"), "--json", *self.words])


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shop:
    made, look = Shop(tmp_path), handover.hand_over
    monkeypatch.setattr(handover, "hand_over", lambda *words: (made.later(), look(*words))[1])
    made.sell(HONEST)
    made.trust(TRUST)
    return made


def resigned(payload: bytes, *keys: object) -> bytes:
    return line(envelope(payload, *keys)) + RECEIPT_LINE  # type: ignore[arg-type]


def archive_of(name: str, **settings: object) -> bytes:
    """Make a ZIP as other programs write it, with one member of this name."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", **settings) as made:  # type: ignore[call-overload]
        entry = zipfile.ZipInfo(name)
        entry.external_attr = 0o100644 << 16
        made.writestr(entry, b"\0" * 100_000)
    return out.getvalue()


def attributed(mode: int) -> bytes:
    """Give a member of the honest archive another kind of file in its directory entry."""
    archive = bytearray(HONEST.archive)
    at = archive.index(b"PK\x01\x02") + 38
    archive[at : at + 4] = struct.pack("<I", mode << 16)
    return bytes(archive)


def renamed(path: str) -> bytes:
    """Give a file of the honest archive another name of the same length."""
    return HONEST.archive.replace(b"README.md", path.encode())


def signed_archive(archive: bytes) -> Callable[[Shop], None]:
    """Have the owner sign an archive, so that only the archive itself can be what is refused."""
    return lambda shop: _trusted(shop, make(archive=archive))


def _trusted(shop: Shop, made: Made) -> None:
    shop.sell(made)
    shop.trust(TrustMade(kit=made))


def sold(made: Made = HONEST, attestation: bytes | None = None) -> Callable[[Shop], None]:
    return lambda shop: shop.sell(made, attestation)


def trusting(made: TrustMade, *words: str, fingerprint: str = "") -> Callable[[Shop], None]:
    return lambda shop: shop.trust(made, *words, fingerprint=fingerprint)


def remembering(**changes: object) -> Callable[[Shop], None]:
    return lambda shop: shop.remember(**changes)


def keyed(raw: bytes, attestation: bytes | None = None) -> Callable[[Shop], None]:
    def arrange(shop: Shop) -> None:
        shop.key(raw)
        shop.sell(HONEST, attestation)

    return arrange


def extra_file(shop: Shop) -> None:
    contents = with_manifest(FILES)
    shop.sell(make(archive=build(archived({**contents, ".gitattributes"[1:]: b"*"}))), HONEST.attestation())


def changed_byte(shop: Shop) -> None:
    contents = with_manifest(FILES)
    shop.put("a.kit.zip", build(archived({**contents, "README.md": b"# a kIt\n"})))


def unlisted_file(shop: Shop) -> None:
    """Write one more file after the list of files was made, and sign that archive with that list."""
    contents = with_manifest(FILES)
    _trusted(shop, make(archive=build(archived({**contents, "recipe.yaml": b"late"}))))


def log_of(made: LogMade, index: int = 1) -> Callable[[Shop], None]:
    def arrange(shop: Shop) -> None:
        shop.put("a.kit.tlog-proof", made.proof(index))

    return arrange


def remembered_log(size: int, value: bytes) -> dict[str, object]:
    return {"origin": LOG_KEY.name, "size": size, "root": base64.b64encode(value).decode()}


def split_view(shop: Shop) -> None:
    shop.put("a.kit.tlog-proof", LOGGED.proof(1))
    shop.remember(checkpoint=remembered_log(3, b"\x07" * 32))


def grown_from_another(shop: Shop) -> None:
    shop.put("a.kit.tlog-proof", LOGGED.proof(1))
    LOGGED.write(shop.folder / "log")
    shop.remember(checkpoint=remembered_log(2, b"\x07" * 32))
    shop.words += ["--log", str(shop.folder / "log")]


def kept_back_retraction(shop: Shop) -> None:
    grown = LogMade((*LOGGED.records, record(3, HONEST, kind="retraction", statement="9" * 64)))
    shop.put("a.kit.tlog-proof", grown.proof(1))
    grown.write(shop.folder / "log")
    shop.words += ["--log", str(shop.folder / "log")]


def weighed(change: Callable[[Path], object], mode: str = "quick") -> Callable[[Shop], None]:
    """Sell a kit that pins a model, and change the model's folder."""

    def arrange(shop: Shop) -> None:
        _trusted(shop, PINNING)
        put(shop.model)
        change(shop.model)
        shop.words += ["--weights", mode, "--model", str(shop.model)]

    return arrange


def started(later: Callable[[Shop], object]) -> Callable[[Shop], None]:
    """Have everything in order until the program is to be started."""

    def arrange(shop: Shop) -> None:
        weighed(Path.exists)(shop)
        shop.words += ["--exec", "/bin/false"]
        shop.later = lambda: later(shop)

    return arrange


def truncated(model: Path) -> None:
    os.truncate(model / name_of(2), (model / name_of(2)).stat().st_size - 1)


def rewritten(model: Path) -> None:
    content = (model / name_of(2)).read_bytes()
    (model / name_of(2)).write_bytes(content[:-1] + b"\xff")


def other_revision(model: Path) -> None:
    (model / "config.json").write_bytes(b'{"model_type": "large"}')


def linked(model: Path) -> None:
    (model / name_of(1)).rename(model.parent / "elsewhere")
    (model / name_of(1)).symlink_to(model.parent / "elsewhere")


def ambiguous_trust(shop: Shop) -> None:
    shop.put("trust.json", b'{"schema":"x",' + TRUST.bytes()[1:])


def ledger_takes_back(shop: Shop) -> None:
    raw = next(path.removeprefix("evidence/raw/") for path in FILES if path.startswith("evidence/raw/"))
    body = {"slug": "speed", "raw": raw}
    event = {"slug": "speed", "kind": "withdraw", "reason": "another cause", "at": format_time(NOW)}
    ledger = dump({"type": "claim", "body": body}) + b"\n" + dump({"type": "retraction", "body": event}) + b"\n"
    _trusted(shop, stating([body], ledger))


def stating(claims: list[object], ledger: bytes = FILES["evidence/ledger.jsonl"]) -> Made:
    """Make a kit whose receipt states these claims."""
    made = make(
        {**FILES, "evidence/ledger.jsonl": ledger},
        change=lambda predicate: predicate.update(ledger={"sha256": digest(ledger)}),
    )
    receipt = {**made.receipt, "predicate": {"claims": claims, "signer": {"kind": "release"}}}
    named = [{"predicateType": "urn:dayzero:receipt:v1", "sha256": digest(dump(receipt))}]
    kit = {**made.kit, "predicate": {**made.kit["predicate"], "receipts": named}}  # type: ignore[dict-item]
    return Made(made.archive, kit, receipt)


RAW_DIGEST = digest(FILES[next(path for path in FILES if path.startswith("evidence/raw/"))])
CLAIMING = stating([{"slug": "speed", "raw": RAW_DIGEST}])


def retracted_claim(shop: Shop) -> None:
    shop.sell(CLAIMING)
    shop.trust(TrustMade(kit=CLAIMING, lines=(retraction([RAW_DIGEST], "claim", slug="speed"),)))


PINS = [
    {"path": pin.path, "size": pin.size, "sha256": pin.sha256}
    | ({"headerSha256": pin.header_sha256} if pin.header_sha256 else {})
    for pin in (model_pin(path, content) for path, content in contents().items())
]
PINNING = make(change=lambda predicate: predicate.update(model={"files": PINS}))

ROTATED = (root(1), root(2, (SECOND,)))
REVOKED = {
    "x-dayzero-revoked": [{"keyid": public(OWNER).keyid, "at": format_time(NOW - DAY), "reason": "laptop stolen"}]
}
NO_LONGER = {"x-dayzero-not-after": {public(OWNER).keyid: format_time(NOW - DAY)}}
BY_SECOND = {"targets": (SECOND,)}
SIGNATURE = OWNER.sign(pae(KIT_PAYLOAD))
ORDER = 2**252 + 27742317777372353535851937790883648493
MALLEABLE = SIGNATURE[:32] + (int.from_bytes(SIGNATURE[32:], "little") + ORDER).to_bytes(32, "little")
FORGED_FOR_ALL = bytes.fromhex("58" + "66" * 31) + (1).to_bytes(32, "little")
OFF_GROUP = bytes.fromhex("c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa")  # a point of order eight
HONEST_TARGET = TRUST.target()


def sealed(value: bytes, keyid: str = "") -> bytes:
    signature = {"keyid": keyid, "sig": base64.b64encode(value).decode()}
    return line(envelope(KIT_PAYLOAD, signatures=[signature])) + RECEIPT_LINE


def payload_64(change: Callable[[str], str]) -> bytes:
    return line(envelope(KIT_PAYLOAD, payload=change(base64.b64encode(KIT_PAYLOAD).decode()))) + RECEIPT_LINE


def restated(old: bytes, new: bytes) -> bytes:
    assert old in KIT_PAYLOAD
    return resigned(KIT_PAYLOAD.replace(old, new, 1))


def old_trust(days: int) -> TrustMade:
    return TRUST.but(issued=NOW - days * DAY)


# Number in the threat table, what the attacker does, exit code, the check that refuses, what it does to the files.
THREATS: tuple[tuple[int, str, int, str, Callable[[Shop], None]], ...] = (
    (1, "one byte of a file changed", 12, "subject", changed_byte),
    (2, "a file more", 13, "subject", extra_file),
    (3, "a file written after the list was made", 13, "closed_world", unlisted_file),
    (4, "the receipt of another kit", 15, "receipts", sold(HONEST, KIT_LINE + OTHER.attestation().splitlines(keepends=True)[1])),
    (4, "the attestation of another kit", 15, "subject", sold(HONEST, OTHER.attestation())),
    (4, "a receipt left out", 13, "receipts", sold(HONEST, KIT_LINE)),
    (4, "a signed kit that is not released", 15, "listed", lambda shop: shop.sell(OTHER)),
    (4, "a line beside the released ones", 15, "listed", lambda shop: shop.sell(HONEST, HONEST.attestation() + line(envelope(dump({**HONEST.receipt, "predicateType": "urn:example:x"}))))),
    (5, "signed with a key of its own", 10, "signature", sold(HONEST, HONEST.attestation(STRANGER))),
    (5, "a trust document of its own", 10, "key", trusting(TRUST, fingerprint="0" * 64)),
    (5, "a newer root that the known one did not sign", 10, "key", trusting(TRUST.but(roots=ROTATED, takers=(ROOTS[0], STRANGER)))),
    (6, "a version older than one seen before", 16, "downgrade", remembering(kits={"a": "1.0.1"})),
    (6, "a version older than the oldest still good", 16, "downgrade", trusting(TRUST.but(changed={"targets": {"targets": {"a-1.0.0.kit.zip": HONEST_TARGET, "a-2.0.kit.zip": TRUST.target(version="2.0", minVersion="1.0.1")}}}))),
    (7, "a kit that is retracted", 17, "retraction", trusting(TRUST.but(lines=(retraction([digest(HONEST.archive)]),)))),
    (7, "a kit whose receipt is withdrawn", 17, "retraction", trusting(TRUST.but(lines=(retraction([digest(RECEIPT_PAYLOAD)], "receipt", kind="withdraw"),)))),
    (7, "a kit that states a retracted claim", 17, "retraction", retracted_claim),
    (7, "a kit whose own ledger takes a claim back", 17, "retraction", ledger_takes_back),
    (7, "a retracted kit, its retraction cut out", 10, "key", trusting(TRUST.but(lines=(), changed={"retractions": {"targets": {f"retractions/{'0' * 64}.intoto.jsonl": {"length": 1, "hashes": {"sha256": "0" * 64}}}}}))),
    (7, "a retracted kit, its retraction kept back from the trust document only", 17, "log", kept_back_retraction),
    (8, "the same old trust document for ever", 18, "trust_age", trusting(old_trust(31))),
    (8, "an old trust document after a newer one", 18, "trust_age", remembering(metadata={"timestamp": 2})),
    (8, "a root that has expired", 18, "trust_age", trusting(TRUST.but(roots=(root(1, expires=format_time(NOW - DAY)),)))),
    (8, "targets that have expired", 18, "trust_age", trusting(TRUST.but(changed={"targets": {"expires": format_time(NOW - DAY)}}))),
    (8, "retractions that have expired", 18, "trust_age", trusting(TRUST.but(changed={"retractions": {"expires": format_time(NOW - DAY)}}))),
    (8, "a timestamp that has expired, where one can ask", 18, "trust_age", trusting(TRUST.but(changed={"timestamp": {"expires": format_time(NOW - DAY)}}), "--online-expiry")),
    (8, "old targets under a new snapshot", 10, "key", trusting(TRUST.but(changed={"targets": {"version": 7}}))),
    (9, "a path that climbs", 14, "archive", signed_archive(archive_of("../../etc/x"))),
    (9, "a path that climbs, in the one form", 14, "paths", signed_archive(renamed("../ADME.m"))),
    (9, "an absolute path", 14, "paths", signed_archive(renamed("/EADME.md"))),
    (9, "a backslash", 14, "paths", signed_archive(renamed("..\\DME.md"))),
    (9, "a drive", 14, "paths", signed_archive(renamed("C:ADME.md"))),
    (10, "a symbolic link", 14, "archive", signed_archive(attributed(0o120777))),
    (10, "a device", 14, "archive", signed_archive(attributed(0o020644))),
    (10, "a set-user-id program", 14, "archive", signed_archive(attributed(0o104755))),
    (11, "a compressed bomb", 14, "archive", signed_archive(archive_of("x", compression=zipfile.ZIP_DEFLATED))),
    (11, "more than the limit", 14, "size", lambda shop: os.truncate(shop.folder / "a.kit.zip", 65 * 1024 * 1024)),
    (12, "something before the archive", 14, "archive", signed_archive(b"#!/bin/sh\n" + HONEST.archive)),
    (12, "something behind the archive", 14, "archive", signed_archive(HONEST.archive + b"\n")),
    (12, "two archives in one", 14, "archive", signed_archive(HONEST.archive + OTHER.archive)),
    (12, "local header against directory", 14, "archive", signed_archive(HONEST.archive.replace(b"serve.sh#!", b"serve.py#!", 1))),
    (13, "a key twice in the envelope", 15, "envelope", sold(HONEST, HONEST.attestation().replace(b'{"payload":', b'{"payload":"AAAA","payload":', 1))),
    (13, "a key twice in the statement", 15, "statement", sold(HONEST, restated(b'{"_type":', b'{"_type":"x","_type":'))),
    (13, "a key twice in the trust document", 3, "key", ambiguous_trust),
    (14, "a number that is none", 15, "statement", sold(HONEST, restated(b'"weightBytes":0', b'"weightBytes":NaN'))),
    (14, "a number that overflows", 15, "statement", sold(HONEST, restated(b'"weightBytes":0', b'"weightBytes":1e400'))),
    (15, "a depth bomb", 15, "envelope", sold(HONEST, b"[" * 100_000 + b"\n")),
    (15, "a number of a hundred thousand digits", 15, "statement", sold(HONEST, restated(b'"weightBytes":0', b'"weightBytes":' + b"9" * 100_000))),
    (15, "a byte order mark", 15, "envelope", sold(HONEST, b"\xef\xbb\xbf" + HONEST.attestation())),
    (15, "half a surrogate pair", 15, "statement", sold(HONEST, restated(b'"version":"1.0.0"', b'"version":"\\ud800"'))),
    (16, "a path in another script", 14, "paths", signed_archive(HONEST.archive.replace(b"serve.sh", b"s\xd0\xb5rv.sh"))),
    (16, "a fullwidth letter in a path", 14, "paths", signed_archive(HONEST.archive.replace(b"serve.sh", "\uff53rv.sh".encode()))),
    (17, "base64 with a line break", 15, "envelope", sold(HONEST, payload_64(lambda text: text[:4] + "\n" + text[4:]))),
    (17, "base64 without padding", 15, "envelope", sold(HONEST, payload_64(lambda text: text.rstrip("=")[:-1]))),
    (17, "base64 with bits left over", 15, "envelope", sold(HONEST, payload_64(lambda _: "aGVsbG9="))),
    (18, "an algorithm named in the envelope", 15, "envelope", sold(HONEST, line(envelope(KIT_PAYLOAD, keytype="none")) + RECEIPT_LINE)),
    (18, "the prehashed kind of Ed25519", 10, "signature", sold(HONEST, sealed(sign_prehashed(b"\x01" * 32, pae(KIT_PAYLOAD))))),
    (19, "a second spelling of the signature", 10, "signature", sold(HONEST, sealed(MALLEABLE))),
    (20, "a key under which everything is signed", 10, "key", keyed(b"\x01" + bytes(31), sealed(FORGED_FOR_ALL))),
    (20, "a key that is not canonical", 10, "key", keyed(b"\xff" * 32)),
    (20, "a key outside the group", 10, "key", keyed(OFF_GROUP)),
    (21, "a good signature under a false one of the same key", 10, "signature", sold(HONEST, line(envelope(KIT_PAYLOAD, signatures=[{"keyid": public(OWNER).keyid, "sig": base64.b64encode(bytes(64)).decode()}, *envelope(KIT_PAYLOAD)["signatures"]])) + RECEIPT_LINE)),  # type: ignore[misc]
    (21, "one root key where two are asked for", 10, "key", trusting(TRUST.but(signers=(ROOTS[0], STRANGER)))),
    (21, "one release key where two are asked for", 10, "signature", trusting(TRUST.but(roots=(root(1, (OWNER, SECOND), roles={"root": role(*ROOTS, threshold=2), "targets": role(OWNER, SECOND, threshold=2), "snapshot": role(SNAPSHOT), "timestamp": role(TIMESTAMP)}),), by={"targets": (OWNER, SECOND)}))),
    (22, "a false key id on a stranger's signature", 10, "signature", sold(HONEST, sealed(STRANGER.sign(pae(KIT_PAYLOAD)), public(OWNER).keyid))),
    (22, "another key id on the owner's signature", 10, "signature", sold(HONEST, sealed(SIGNATURE, public(STRANGER).keyid))),
    (23, "the timestamp key signs a kit", 10, "signature", sold(HONEST, HONEST.attestation(TIMESTAMP))),
    (23, "a root key signs a kit", 10, "signature", sold(HONEST, HONEST.attestation(ROOTS[0]))),
    (23, "the key for retractions signs a kit", 10, "signature", sold(HONEST, HONEST.attestation(RETRACTOR))),
    (23, "a release key signs a retraction", 10, "key", trusting(TRUST.but(lines=(retraction([digest(HONEST.archive)], "kit", OWNER),)))),
    (23, "a release key signs a retraction beside the kit", 10, "signature", sold(HONEST, HONEST.attestation() + retraction(["0" * 64], "kit", OWNER) + b"\n")),
    (23, "the timestamp key signs targets", 10, "key", trusting(TRUST.but(by={"targets": (TIMESTAMP,)}))),
    (23, "the snapshot key signs the timestamp", 10, "key", trusting(TRUST.but(by={"timestamp": (SNAPSHOT,)}))),
    (24, "another payload type", 15, "envelope", sold(HONEST, line(envelope(KIT_PAYLOAD, payloadType="application/json")) + RECEIPT_LINE)),
    (24, "another type of statement", 15, "statement", sold(HONEST, restated(b"Statement/v1", b"Statement/v0.1"))),
    (24, "another type of predicate", 15, "statement", sold(HONEST, restated(b"urn:dayzero:kit:v1", b"urn:dayzero:kit:v2"))),
    (24, "signed without its type", 10, "signature", sold(HONEST, sealed(OWNER.sign(KIT_PAYLOAD)))),
    (25, "the kit swapped between its check and the start", 12, "subject", started(lambda shop: shop.put("a.kit.zip", OTHER.archive))),
    (25, "a model file swapped between its check and the start", 19, "weights", started(lambda shop: rewritten(shop.model))),
    (26, "a model file replaced by a link", 20, "weights", weighed(linked)),
    (26, "a model file replaced by a link between its check and the start", 19, "weights", started(lambda shop: linked(shop.model))),
    (27, "the model of another revision", 19, "weights", weighed(other_revision)),
    (28, "a shard cut short", 20, "weights", weighed(truncated)),
    (29, "a shard missing that the index lists", 20, "weights", weighed(lambda model: (model / name_of(3)).unlink())),
    (30, "a shard of the same size with other bytes", 19, "weights", weighed(rewritten, "full")),
    (32, "a log with another history, as large", 18, "log", split_view),
    (32, "a log that did not grow from the one seen before", 18, "log", grown_from_another),
    (32, "a head that the log did not sign", 10, "log", log_of(LogMade(LOGGED.records, private=STRANGER))),
    (32, "a proof of another release", 15, "log", log_of(LOGGED, 0)),
    (34, "the clock set back", 18, "trust_age", remembering(time=format_time(NOW + DAY))),
    (34, "a trust document from the future", 18, "trust_age", trusting(TRUST.but(issued=NOW + DAY))),
)  # fmt: skip


# Rows of the threat table whose test needs more than this program, and where that test is.
ELSEWHERE = {
    31: ("tests/wiring/test_rechecks.py", "test_a_number_edited_in_a_page_alone_is_22_through_the_command_line"),
    33: ("tests/e2e/test_check_by_hand.py", ""),
}


def test_every_row_of_the_threat_table_has_its_test():
    here = {number for number, *_ in THREATS}
    assert here | ELSEWHERE.keys() == set(range(1, 35))
    for path, name in ELSEWHERE.values():
        assert f"def {name or 'test_'}" in (Path(__file__).parents[2] / path).read_text()
    page = [f"{number:>2}  {code:>2}  {check:<13} {title}" for number, title, code, check, _ in THREATS]
    page += [f"{number:>2}  {'22' if number == 31 else ' -'}  {path}" for number, (path, _) in ELSEWHERE.items()]
    sys.stdout.write("\n".join(["row code check        attack", *sorted(page), ""]))  # pytest -rP shows it


@pytest.mark.parametrize(
    ("code", "check", "arrange"),
    [pytest.param(code, check, arrange, id=f"{number:02d} {title}") for number, title, code, check, arrange in THREATS],
)
def test_an_attack_is_refused_with_its_own_code(
    shop: Shop, code: int, check: str, arrange: Callable[[Shop], None], capsys: pytest.CaptureFixture[str]
):
    arrange(shop)
    assert shop.run() == code
    printed = capsys.readouterr()
    # With --exec the reports go to standard error; the last one is the answer.
    report = json.loads(printed.out or printed.err[printed.err.rindex('{\n  "schema"') :])
    assert report["exit_code"] == code
    assert [row["check"] for row in report["checks"] if row["status"] == "fail"] == [check]
