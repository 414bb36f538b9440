"""One test, at least, for each threat that can be met without a trust root: the attack, the check and the exit code."""

import base64
import json
import random
import stat
import zipfile
import zlib
from collections.abc import Callable
from io import BytesIO

import pytest
from verifier.tests.kits import (
    FILES,
    OWNER,
    STRANGER,
    archived,
    digest,
    dump,
    envelope,
    failed,
    line,
    listing,
    make,
    public,
    status,
    with_manifest,
)
from verifier.tests.prehashed import sign_prehashed

from dayzero_verify import canonical_zip
from dayzero_verify.canonical_zip import ArchivedFile, build
from dayzero_verify.dsse import pae
from dayzero_verify.keys import PublicKey
from dayzero_verify.kit import DEMO_WARNING, MAX_ATTESTATION_BYTES, examine
from dayzero_verify.report import CHECKS, ExitCode, Status, demand
from dayzero_verify.statement import RECEIPT_TYPE

HONEST = make()


def repacked(contents: dict[str, bytes]) -> bytes:
    return build(archived(contents))


NOT_BY_A_KEY_ALONE = (
    "key_status",
    "downgrade",
    "retraction",
    "trust_age",
    "listed",
    "log",
    "deploy_files",
    "claims",
    "weights",
    "live",
)


def test_an_honest_kit_is_verified_and_what_was_not_checked_is_said():
    examination = HONEST.examine()
    report = examination.report
    assert report.exit_code is ExitCode.VERIFIED
    assert [row.check for row in report.rows] == list(CHECKS)
    assert {row.check for row in report.rows if row.status is Status.NOT_CHECKED} == set(NOT_BY_A_KEY_ALONE)
    assert all(row.reason for row in report.rows)
    assert (report.kit, report.keyid, report.demo) == ("a 1.0.0", public(OWNER).keyid, False)
    assert {file.path: file.content for file in examination.content.files} == with_manifest(FILES)


# --- the archive is not the signed one -------------------------------------------------------------------------------

CONTENTS = with_manifest(FILES)
ANOTHER_KIT = make({**FILES, "README.md": b"# another kit\n"})
DIFFERENT_ARCHIVES = {
    "one byte of a file changed on its way": (
        HONEST.archive.replace(b"exec engine", b"exec Engine"),
        ExitCode.DIGEST,
        "serve.sh",
    ),
    "a file changed and packed again": (
        repacked({**CONTENTS, "serve.sh": b"#!/bin/sh\nevil\n"}),
        ExitCode.DIGEST,
        "serve.sh is changed",
    ),
    "a file made executable": (
        build([ArchivedFile(path, content, executable=True) for path, content in CONTENTS.items()]),
        ExitCode.DIGEST,
        "README.md has mode 0755",
    ),
    "the manifest changed": (
        repacked({**CONTENTS, "manifest.json": b"{}"}),
        ExitCode.DIGEST,
        "manifest.json is changed",
    ),
    "an extra file": (repacked({**CONTENTS, "sitecustomize.py": b""}), ExitCode.FILE_SET, "sitecustomize.py is not in"),
    "a missing file": (
        repacked({path: content for path, content in CONTENTS.items() if path != "serve.sh"}),
        ExitCode.FILE_SET,
        "'serve.sh' is missing",
    ),
    "a file renamed": (
        repacked({("start.sh" if path == "serve.sh" else path): content for path, content in CONTENTS.items()}),
        ExitCode.FILE_SET,
        "start.sh is not in",
    ),
    "another kit, whole in itself": (ANOTHER_KIT.archive, ExitCode.STATEMENT, "another kit"),
    "trailing bytes": (HONEST.archive + b"x", ExitCode.ARCHIVE, ""),
    "leading bytes": (b"MZ" + HONEST.archive, ExitCode.ARCHIVE, ""),
    "two archives in one file": (HONEST.archive + ANOTHER_KIT.archive, ExitCode.ARCHIVE, ""),
    "cut short": (HONEST.archive[:-30], ExitCode.ARCHIVE, ""),
    "nothing": (b"", ExitCode.ARCHIVE, "too short"),
    "no archive": (b"hello", ExitCode.ARCHIVE, "too short"),
}


@pytest.mark.parametrize("name", DIFFERENT_ARCHIVES)
def test_an_archive_that_is_not_the_signed_one_is_refused_with_the_code_of_its_difference(name: str):
    archive, code, reason = DIFFERENT_ARCHIVES[name]
    examination = HONEST.examine(archive=archive)
    assert (examination.report.exit_code, failed(examination.report)[0]) == (code, "subject")
    assert reason in failed(examination.report)[1]
    assert examination.content is None


# --- the archive was signed, but should not have been ----------------------------------------------------------------


def with_member(path: str, *, mode: int = stat.S_IFREG | 0o644, compression: int = zipfile.ZIP_STORED) -> bytes:
    buffer = BytesIO()
    info = zipfile.ZipInfo(path)
    info.external_attr, info.compress_type = mode << 16, compression
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(info, b"x" * 100)
    return buffer.getvalue()


def unsafe(*paths: str) -> bytes:
    """Write the canonical form of files that a kit may not hold."""
    members = [canonical_zip._Member(ArchivedFile(path, b"x"), zlib.crc32(b"x")) for path in sorted(paths)]  # noqa: SLF001
    return canonical_zip._encode(members)  # noqa: SLF001


SIGNED_BUT_UNSAFE = {
    "traversal": (unsafe("../../etc/cron.d/x"), "paths"),
    "absolute": (unsafe("/etc/passwd"), "paths"),
    "backslash": (unsafe("a\\b"), "paths"),
    "drive": (unsafe("C:x"), "paths"),
    "device": (unsafe("nul.txt"), "paths"),
    "dot file": (unsafe(".bashrc"), "paths"),
    "not ASCII": (unsafe("caf\xe9"), "paths"),
    "case collision": (unsafe("a", "A"), "paths"),
    "file and folder": (unsafe("a", "a/b"), "paths"),
    "one path twice": (unsafe("a", "a"), "paths"),
    "symbolic link": (with_member("link", mode=stat.S_IFLNK | 0o777), "archive"),
    "fifo": (with_member("fifo", mode=stat.S_IFIFO | 0o644), "archive"),
    "device node": (with_member("node", mode=stat.S_IFCHR | 0o644), "archive"),
    "setuid": (with_member("su", mode=stat.S_IFREG | 0o4755), "archive"),
    "compressed": (with_member("bomb", compression=zipfile.ZIP_DEFLATED), "archive"),
    "written by another tool": (with_member("plain"), "archive"),
    "trailing bytes": (HONEST.archive + b"\x00", "archive"),
}


@pytest.mark.parametrize("name", SIGNED_BUT_UNSAFE)
def test_an_unsafe_or_non_canonical_archive_is_refused_even_when_its_digest_is_signed(name: str):
    archive, check = SIGNED_BUT_UNSAFE[name]
    report = make(archive=archive).examine().report
    assert (report.exit_code, failed(report)[0]) == (ExitCode.ARCHIVE, check)
    assert status(report, "subject") is Status.PASS


def test_a_signed_archive_with_a_stale_checksum_is_refused_as_changed_bytes():
    report = make(archive=HONEST.archive.replace(b"exec engine", b"exec Engine")).examine().report
    assert (report.exit_code, failed(report)[0]) == (ExitCode.DIGEST, "archive")


def edit_file(**changes: object) -> Callable[[dict], object]:
    return lambda predicate: predicate["files"][0].update(changes)


def without_manifest() -> bytes:
    return build(archived(FILES))


SIGNED_LISTS = {
    "another digest": (edit_file(sha256="0" * 64), "digests", ExitCode.DIGEST),
    "another size": (edit_file(size=1), "digests", ExitCode.DIGEST),
    "another mode": (edit_file(mode="0755"), "digests", ExitCode.DIGEST),
    "a file is not listed": (lambda p: p["files"].pop(0), "closed_world", ExitCode.FILE_SET),
    "a listed file is not there": (
        lambda p: p["files"].append({**p["files"][0], "path": "more"}),
        "closed_world",
        ExitCode.FILE_SET,
    ),
}


@pytest.mark.parametrize("name", SIGNED_LISTS)
def test_the_archive_is_held_to_the_signed_list_file_by_file(name: str):
    change, check, code = SIGNED_LISTS[name]
    report = make(change=change).examine().report
    assert (report.exit_code, failed(report)[0]) == (code, check)


@pytest.mark.parametrize(
    ("manifest", "code"),
    [
        (None, ExitCode.FILE_SET),
        (b"{}", ExitCode.DIGEST),
        (b"[]", ExitCode.DIGEST),
        (b'{"files":[],"files":[]}', ExitCode.DIGEST),
        (dump({"files": listing(archived(FILES))[:-1]}), ExitCode.FILE_SET),
        (dump({"files": listing(archived({**FILES, "more": b""}))}), ExitCode.FILE_SET),
        (dump({"files": listing(archived({**FILES, "README.md": b"other"}))}), ExitCode.DIGEST),
    ],
)
def test_a_manifest_that_says_something_else_than_the_signed_list_is_refused(manifest: bytes | None, code: ExitCode):
    contents = FILES if manifest is None else {**FILES, "manifest.json": manifest}
    files = archived(contents)
    report = make(archive=build(files), change=lambda p: p.update(files=listing(files))).examine().report
    assert (report.exit_code, failed(report)[0]) == (code, "manifest")


# --- who signed ------------------------------------------------------------------------------------------------------


def first_line(**changes: object) -> bytes:
    return line(envelope(dump(HONEST.kit), **changes)) + line(envelope(dump(HONEST.receipt)))


def sealed_with(value: bytes, keyid: str = "") -> bytes:
    return first_line(signatures=[{"keyid": keyid, "sig": base64.b64encode(value).decode()}])


KIT_PAE = pae(dump(HONEST.kit))
OWNERS_SIGNATURE = OWNER.sign(KIT_PAE)
ORDER = 2**252 + 27742317777372353535851937790883648493
SECOND_SCALAR = (int.from_bytes(OWNERS_SIGNATURE[32:], "little") + ORDER).to_bytes(32, "little")
FOREIGN = {
    "signed by a stranger": HONEST.attestation(STRANGER),
    "by a stranger under the owner's key id": sealed_with(STRANGER.sign(KIT_PAE), public(OWNER).keyid),
    "the owner's signature under another key id": sealed_with(OWNERS_SIGNATURE, public(STRANGER).keyid),
    "only the first line is the owner's": line(envelope(dump(HONEST.kit)))
    + line(envelope(dump(HONEST.receipt), STRANGER)),
    "signature of the payload without its type": sealed_with(OWNER.sign(dump(HONEST.kit))),
    "Ed25519ph": sealed_with(sign_prehashed(b"\x01" * 32, KIT_PAE)),
    "S beyond the group order": sealed_with(OWNERS_SIGNATURE[:32] + SECOND_SCALAR),
    "small-order R": sealed_with(b"\x01" + bytes(31) + OWNERS_SIGNATURE[32:]),
    "all zero": sealed_with(bytes(64)),
    "empty": sealed_with(b""),
    "payload swapped": line(envelope(dump(ANOTHER_KIT.kit), signatures=envelope(dump(HONEST.kit))["signatures"])),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_what_the_trusted_key_did_not_sign_is_refused(name: str):
    report = HONEST.examine(FOREIGN[name]).report
    assert (report.exit_code, failed(report)[0]) == (ExitCode.SIGNATURE, "signature")
    assert status(report, "archive") is Status.NOT_CHECKED


def test_a_key_that_came_with_the_kit_is_not_asked():
    stranger = make({**FILES, "key.pub.pem": STRANGER.public_key().public_bytes_raw().hex().encode()})
    assert stranger.examine(stranger.attestation(STRANGER)).report.exit_code is ExitCode.SIGNATURE


@pytest.mark.parametrize("raw", [b"\x01" + bytes(31), bytes(32), b"\xff" * 32, b"short"])
def test_a_weak_key_is_refused_whatever_was_signed(raw: bytes):
    for trusted in ((PublicKey(raw),), (public(OWNER), PublicKey(raw))):
        report = examine(HONEST.archive, HONEST.attestation(), trusted).report
        assert (report.exit_code, failed(report)[0]) == (ExitCode.SIGNATURE, "key")


def test_the_forgery_that_holds_for_every_message_under_a_small_order_key_is_refused():
    forged = bytes.fromhex("58" + "66" * 31) + (1).to_bytes(32, "little")
    report = examine(HONEST.archive, sealed_with(forged), (PublicKey(b"\x01" + bytes(31)),)).report
    assert report.exit_code is ExitCode.SIGNATURE


def test_no_trusted_key_is_no_signature():
    assert examine(HONEST.archive, HONEST.attestation(), ()).report.exit_code is ExitCode.SIGNATURE


def test_a_signature_by_a_stranger_beside_the_owners_is_reported_and_counts_for_nothing():
    report = HONEST.examine(HONEST.attestation(OWNER, STRANGER)).report
    assert report.exit_code is ExitCode.VERIFIED
    assert status(report, "uncounted") is Status.NOT_CHECKED


# --- what was signed -------------------------------------------------------------------------------------------------

PAYLOAD_64 = base64.b64encode(dump(HONEST.kit)).decode()
HONEST_LINES = HONEST.attestation().splitlines(keepends=True)
MALFORMED = {
    "empty": b"",
    "an empty line": b"\n",
    "no newline at the end": HONEST.attestation()[:-1],
    "a blank line more": HONEST.attestation() + b"\n",
    "not JSON": b"hello\n",
    "a byte order mark": b"\xef\xbb\xbf" + HONEST.attestation(),
    "a list": b"[]\n",
    "too deep": b"[" * 100_000 + b"]" * 100_000 + b"\n",
    "too many lines": HONEST_LINES[1] * 65,
    "a duplicate JSON key": HONEST.attestation().replace(b'{"payload":', b'{"payload":"AAAA","payload":', 1),
    "another payload type": first_line(payloadType="application/json"),
    "an unknown member": first_line(algorithm="Ed25519ph"),
    "five signatures": line(envelope(dump(HONEST.kit), OWNER, OWNER, OWNER, OWNER, OWNER)),
    "base64 with a newline": first_line(payload=PAYLOAD_64[:4] + "\n" + PAYLOAD_64[4:]),
    "base64 without its padding": first_line(payload=PAYLOAD_64.rstrip("=") + "!"),
    "base64 with bits left over": first_line(payload="aGVsbG9="),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_an_attestation_of_another_form_is_refused(name: str):
    report = HONEST.examine(MALFORMED[name]).report
    assert (report.exit_code, failed(report)[0]) == (ExitCode.STATEMENT, "envelope")


def resigned(payload: bytes) -> bytes:
    """Sign any payload as the first line, followed by the honest receipt."""
    return line(envelope(payload)) + HONEST_LINES[1]


def edited(**changes: object) -> bytes:
    return resigned(dump({**HONEST.kit, **changes}))


def promised(**changes: object) -> bytes:
    return edited(predicate={**HONEST.kit["predicate"], **changes})  # type: ignore[dict-item]


KIT_JSON = dump(HONEST.kit)
SUBJECT = HONEST.kit["subject"][0]  # type: ignore[index]
WRONG_STATEMENTS = {
    "not JSON": resigned(b"hello"),
    "a duplicate JSON key": resigned(KIT_JSON.replace(b'{"_type":', b'{"_type":"x","_type":', 1)),
    "NaN": resigned(KIT_JSON.replace(b'"weightBytes":0', b'"weightBytes":NaN')),
    "infinity as a literal": resigned(KIT_JSON.replace(b'"weightBytes":0', b'"weightBytes":1e999')),
    "an older statement type": edited(_type="https://in-toto.io/Statement/v0.1"),
    "another predicate type": edited(predicateType="urn:dayzero:kit:v2"),
    "a receipt in the kit's place": line(envelope(dump(HONEST.receipt))),
    "a member more": edited(extra=1),
    "no subject": edited(subject=[]),
    "two subjects": edited(subject=[SUBJECT, SUBJECT]),
    "a subject without sha256": edited(subject=[{"name": "a", "digest": {"sha1": "0" * 40}}]),
    "a subject with a second digest": edited(
        subject=[{"name": "a", "digest": {"sha256": digest(HONEST.archive), "md5": "0"}}]
    ),
    "a digest in upper case": edited(subject=[{"name": "a", "digest": {"sha256": digest(HONEST.archive).upper()}}]),
    "no predicate": edited(predicate=None),
    "weight bytes": promised(weightBytes=1),
    "weight bytes as a truth value": promised(weightBytes=False),
    "weight bytes as a float": promised(weightBytes=0.0),
    "no word on weights": promised(weightBytes=None),
    "no files": promised(files=None),
    "a path twice": promised(files=[HONEST.kit["predicate"]["files"][0]] * 2),  # type: ignore[index]
    "a negative size": promised(files=[{"path": "a", "size": -1, "sha256": "0" * 64, "mode": "0644"}]),
    "a size as a truth value": promised(files=[{"path": "a", "size": True, "sha256": "0" * 64, "mode": "0644"}]),
    "an odd mode": promised(files=[{"path": "a", "size": 1, "sha256": "0" * 64, "mode": "4755"}]),
    "a file with a member more": promised(
        files=[{"path": "a", "size": 1, "sha256": "0" * 64, "mode": "0644", "link": "b"}]
    ),
    "another ledger": promised(ledger={"sha256": "0" * 64}),
    "an unknown kind of signer": promised(signer={"kind": "friend"}),
    "no signer": promised(signer=None),
    "a name that would steer a terminal": promised(kit={"name": "\u001b[2J", "version": "1"}),
    "no receipts member": promised(receipts=None),
    "a receipt twice": promised(receipts=HONEST.kit["predicate"]["receipts"] * 2),  # type: ignore[index]
    "a receipt of another type": promised(receipts=[{"predicateType": "x", "sha256": "0" * 64}]),
    "two kit statements": line(envelope(dump(HONEST.kit))) + line(envelope(dump(ANOTHER_KIT.kit))),
    "the same statement twice": HONEST_LINES[0] + HONEST_LINES[1] + HONEST_LINES[1],
}


@pytest.mark.parametrize("name", WRONG_STATEMENTS)
def test_a_signed_statement_that_does_not_say_what_a_kit_statement_says_is_refused(name: str):
    report = HONEST.examine(WRONG_STATEMENTS[name]).report
    assert (report.exit_code, failed(report)[0]) == (ExitCode.STATEMENT, "statement")


def test_a_statement_that_lists_this_archives_files_but_signs_another_contradicts_itself():
    report = HONEST.examine(edited(subject=[{"name": "a", "digest": {"sha256": "0" * 64}}])).report
    assert (report.exit_code, failed(report)[0]) == (ExitCode.STATEMENT, "subject")


# --- receipts --------------------------------------------------------------------------------------------------------


def test_a_receipt_of_another_kit_is_refused():
    report = HONEST.examine(HONEST_LINES[0] + line(envelope(dump(ANOTHER_KIT.receipt)))).report
    assert (report.exit_code, failed(report)[0]) == (ExitCode.STATEMENT, "receipts")


def test_a_receipt_that_the_kit_names_may_not_be_left_out():
    report = HONEST.examine(HONEST_LINES[0]).report
    assert (report.exit_code, failed(report)[0]) == (ExitCode.FILE_SET, "receipts")


def with_receipt(receipt: dict[str, object]) -> bytes:
    """Sign the kit with another receipt, and name that one."""
    named = [{"predicateType": RECEIPT_TYPE, "sha256": digest(dump(receipt))}]
    predicate = {**HONEST.kit["predicate"], "receipts": named}  # type: ignore[dict-item]
    return line(envelope(dump({**HONEST.kit, "predicate": predicate}))) + line(envelope(dump(receipt)))


def test_a_receipt_about_a_raw_file_that_is_not_in_the_kit_is_refused():
    subjects = [*HONEST.receipt["subject"], {"name": "evidence/raw/" + "0" * 64, "digest": {"sha256": "0" * 64}}]  # type: ignore[misc]
    report = HONEST.examine(with_receipt({**HONEST.receipt, "subject": subjects})).report
    assert (report.exit_code, failed(report)[0]) == (ExitCode.STATEMENT, "receipts")


def test_a_named_receipt_has_to_be_a_receipt():
    report = HONEST.examine(with_receipt({**HONEST.receipt, "predicateType": "urn:example:other"})).report
    assert (report.exit_code, failed(report)[0]) == (ExitCode.STATEMENT, "receipts")


def test_a_signed_statement_that_the_kit_does_not_name_is_reported_and_counts_for_nothing():
    other = {**HONEST.receipt, "predicateType": "urn:example:other"}
    report = HONEST.examine(HONEST.attestation() + line(envelope(dump(other)))).report
    assert report.exit_code is ExitCode.VERIFIED
    assert status(report, "uncounted") is Status.NOT_CHECKED
    assert demand(report, ("uncounted",)).exit_code is ExitCode.UNREADABLE


def test_a_kit_without_a_receipt_says_that_none_was_checked():
    bare = make(change=lambda predicate: predicate.update(receipts=[]))
    report = bare.examine(line(envelope(dump(bare.kit)))).report
    assert report.exit_code is ExitCode.VERIFIED
    assert status(report, "receipts") is Status.NOT_CHECKED


# --- limits, demo keys, requirements ---------------------------------------------------------------------------------


def test_what_is_too_large_is_refused_before_it_is_read():
    report = HONEST.examine(archive=bytes(canonical_zip.MAX_ARCHIVE_BYTES + 1)).report
    assert (report.exit_code, failed(report)[0]) == (ExitCode.ARCHIVE, "size")
    report = HONEST.examine(bytes(MAX_ATTESTATION_BYTES + 1)).report
    assert (report.exit_code, failed(report)[0]) == (ExitCode.STATEMENT, "size")


def test_a_demo_key_proves_integrity_and_not_identity():
    report = make(signer="demo").examine().report
    assert (report.exit_code, report.demo) == (ExitCode.VERIFIED, True)
    assert next(row.reason for row in report.rows if row.check == "identity") == DEMO_WARNING
    assert demand(report, ("identity",)).exit_code is ExitCode.UNREADABLE


def test_a_key_file_that_says_demo_is_believed_over_a_statement_that_does_not():
    report = examine(HONEST.archive, HONEST.attestation(), (PublicKey(public(OWNER).raw, demo=True),)).report
    assert report.demo
    assert status(report, "identity") is Status.NOT_CHECKED


@pytest.mark.parametrize("check", NOT_BY_A_KEY_ALONE)
def test_a_check_that_is_required_but_not_made_is_never_a_pass(check: str):
    report = demand(HONEST.examine().report, (check,))
    assert report.exit_code is ExitCode.UNREADABLE
    assert "required, but" in next(row.reason for row in report.rows if row.check == check)


def test_requiring_what_was_checked_changes_nothing_and_a_failure_keeps_its_code():
    assert demand(HONEST.examine().report, ("signature", "manifest")).exit_code is ExitCode.VERIFIED
    refused = HONEST.examine(HONEST.attestation(STRANGER)).report
    assert demand(refused, ("weights",)).exit_code is ExitCode.SIGNATURE


# --- mutations -------------------------------------------------------------------------------------------------------


def flipped(content: bytes, bit: int) -> bytes:
    changed = bytearray(content)
    changed[bit // 8] ^= 1 << bit % 8
    return bytes(changed)


def test_not_one_of_five_hundred_flipped_bits_of_the_kit_is_verified():
    chance, attestation = random.Random(1), HONEST.attestation()  # noqa: S311
    codes = {
        HONEST.examine(attestation, flipped(HONEST.archive, chance.randrange(len(HONEST.archive) * 8))).report.exit_code
        for _ in range(500)
    }
    assert codes <= {ExitCode.ARCHIVE, ExitCode.DIGEST, ExitCode.FILE_SET}


def test_not_one_of_five_hundred_flipped_bits_of_the_attestation_is_verified():
    chance, attestation = random.Random(2), HONEST.attestation()  # noqa: S311
    codes = {
        HONEST.examine(flipped(attestation, chance.randrange(len(attestation) * 8))).report.exit_code
        for _ in range(500)
    }
    assert codes <= {ExitCode.SIGNATURE, ExitCode.STATEMENT}


def test_no_single_bit_of_the_signature_members_can_be_flipped():
    attestation = HONEST.attestation()
    begin = attestation.index(b'"signatures"')
    for bit in range(begin * 8, (attestation.index(b"\n") + 1) * 8):
        assert HONEST.examine(flipped(attestation, bit)).report.exit_code is not ExitCode.VERIFIED, bit


def test_the_report_as_json_holds_every_row():
    document = json.loads(json.dumps(HONEST.examine().report.document()))
    assert document["schema"] == "dayzero/verify/v1"
    assert (document["verified"], document["exit_code"]) == (True, 0)
    assert [row["check"] for row in document["checks"]] == list(CHECKS)
    assert {row["status"] for row in document["checks"]} == {"pass", "not_checked"}
