"""What a trust document, a log and a memory change about a kit; the attacks on them stand in test_threats.py."""

import base64
import json
import random
from collections.abc import Mapping
from datetime import datetime, timedelta

import pytest
from verifier.tests.kits import (
    FILES,
    OWNER,
    Made,
    archived,
    digest,
    failed,
    listing,
    make,
    public,
    status,
    with_manifest,
)
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
    seeded,
)

from dayzero_verify.anchor import Policy, TrustAnchor
from dayzero_verify.canonical_json import canonical_json
from dayzero_verify.canonical_zip import build
from dayzero_verify.case import Circumstances
from dayzero_verify.kit import Examination, examine
from dayzero_verify.log_head import Checkpoint, LogFolder
from dayzero_verify.log_tree import leaf_hash, root_hash, tiles
from dayzero_verify.memory import Memory
from dayzero_verify.report import ExitCode, Status
from dayzero_verify.times import format_time

HONEST = make()
TRUST = TrustMade(kit=HONEST)
LOGGED = LogMade((record(0), record(1, HONEST), record(2)))
OWNERS_ID = public(OWNER).keyid


def nothing(_: str) -> None:
    return None


def examined(  # noqa: PLR0913  (one a circumstance)
    trust: TrustMade = TRUST,
    *,
    kit: Made = HONEST,
    attestation: bytes | None = None,
    document: bytes | None = None,
    fingerprint: str = "",
    policy: Policy = Policy.NOW,
    now: datetime = NOW,
    memory: Memory | None = None,
    proof: bytes | None = None,
    log: LogFolder = nothing,
    online_expiry: bool = False,
) -> Examination:
    anchor = TrustAnchor(
        document=trust.bytes() if document is None else document,
        root=fingerprint or trust.fingerprint,
        policy=policy,
        online_expiry=online_expiry,
    )
    given = Circumstances(now=now, memory=memory, proof=proof, log=log)
    return examine(kit.archive, kit.attestation() if attestation is None else attestation, anchor, given)


def revoked(at: datetime) -> dict[str, object]:
    return {"x-dayzero-revoked": [{"keyid": OWNERS_ID, "at": format_time(at), "reason": "laptop stolen"}]}


def reason(examination: Examination, check: str) -> str:
    return next(row.reason for row in examination.report.rows if row.check == check)


# --- keys ------------------------------------------------------------------------------------------------------------


def test_every_check_of_trust_passes_for_a_released_kit():
    report = examined(proof=LOGGED.proof(1), memory=Memory()).report
    assert report.exit_code is ExitCode.VERIFIED
    checks = ("key", "key_status", "identity", "downgrade", "retraction", "trust_age", "listed", "log")
    assert {status(report, check) for check in checks} == {Status.PASS}


ENDED = {
    "revoked": (root(1), root(2, (SECOND,), **revoked(NOW - DAY))),
    "past its time": (root(1), root(2, (SECOND,), **{"x-dayzero-not-after": {OWNERS_ID: format_time(NOW - DAY)}})),
    "rotated out": (root(1), root(2, (SECOND,))),
    "revoked, and a release key still": (root(1, (OWNER, SECOND), **revoked(NOW - DAY)),),
    "revoked before it was to end": (
        root(1, (OWNER, SECOND), **revoked(NOW - DAY), **{"x-dayzero-not-after": {OWNERS_ID: format_time(NOW + DAY)}}),
    ),
}


@pytest.mark.parametrize("name", ENDED)
def test_a_kit_signed_by_a_key_that_has_ended_is_11(name: str):
    trust = TRUST.but(roots=ENDED[name], by={"targets": (SECOND,)})
    examination = examined(trust)
    assert (examination.report.exit_code, failed(examination.report)[0]) == (ExitCode.KEY_STATUS, "key_status")


@pytest.mark.parametrize("name", ENDED)
def test_a_kit_that_the_new_key_signed_too_is_verified_after_the_old_one_ended(name: str):
    trust = TRUST.but(roots=ENDED[name], by={"targets": (SECOND,)}, changed=released(HONEST.attestation(OWNER, SECOND)))
    both = HONEST.attestation(OWNER, SECOND)
    report = examined(trust, attestation=both).report
    assert report.exit_code is ExitCode.VERIFIED
    assert report.keyid in {public(SECOND).keyid, *([OWNERS_ID] if "still" in name or "before it" in name else [])}


def released(attestation: bytes) -> Mapping[str, Mapping[str, object]]:
    listed = {"length": len(attestation), "sha256": digest(attestation)}
    return {"targets": {"targets": {"a-1.0.0.kit.zip": TRUST.target(attestation=listed)}}}


def test_any_root_of_the_chain_is_a_beginning():
    trust = TRUST.but(roots=(root(1), root(2), root(3)))
    for known in trust.roots:
        fingerprint = TRUST.but(roots=(known,)).fingerprint
        assert examined(trust, fingerprint=fingerprint).report.exit_code is ExitCode.VERIFIED


@pytest.mark.parametrize(
    ("time", "code"), [(NOW - 10 * DAY, ExitCode.VERIFIED), (NOW - timedelta(hours=1), ExitCode.KEY_STATUS)]
)
@pytest.mark.parametrize("name", ["revoked", "past its time", "revoked, and a release key still"])
def test_at_signing_a_signature_counts_that_was_logged_before_its_key_ended(name: str, time: datetime, code: ExitCode):
    trust = TRUST.but(roots=ENDED[name], by={"targets": (SECOND,)})
    proof = LogMade((record(0), record(1, HONEST, time=time))).proof(1)
    assert examined(trust, policy=Policy.AT_SIGNING, proof=proof).report.exit_code is code
    assert examined(trust, policy=Policy.NOW, proof=proof).report.exit_code is ExitCode.KEY_STATUS
    assert examined(trust, policy=Policy.AT_SIGNING).report.exit_code is ExitCode.KEY_STATUS


def test_a_forged_root_before_the_known_one_makes_no_kit_a_released_one():
    revoked = {"keyid": public(SECOND).keyid, "at": format_time(NOW), "reason": "stolen"}
    forged, known = root(1, (SECOND,)), root(2, (OWNER,), **{"x-dayzero-revoked": [revoked]})
    trust, proof = TRUST.but(roots=(forged, known)), LogMade((record(0), record(1, HONEST))).proof(1)
    signed, fingerprint = HONEST.attestation(SECOND), digest(canonical_json(known))  # type: ignore[arg-type]
    for policy, code in ((Policy.NOW, ExitCode.KEY_STATUS), (Policy.AT_SIGNING, ExitCode.STATEMENT)):
        found = examined(trust, policy=policy, proof=proof, attestation=signed, fingerprint=fingerprint)
        assert found.report.exit_code is code


def test_of_former_keys_only_so_many_are_tried():
    forged = [root(version, tuple(seeded(20 + 8 * version + place) for place in range(8))) for version in range(1, 9)]
    trust = TRUST.but(roots=(*forged, root(9)))
    newest = digest(canonical_json(root(9)))  # type: ignore[arg-type]
    assert examined(trust, fingerprint=newest).report.exit_code is ExitCode.VERIFIED
    for number, code in ((84, ExitCode.KEY_STATUS), (28, ExitCode.SIGNATURE)):
        found = examined(trust, fingerprint=newest, attestation=HONEST.attestation(seeded(number)))
        assert found.report.exit_code is code


def test_at_signing_the_record_of_another_kit_proves_nothing():
    trust = TRUST.but(roots=ENDED["revoked"], by={"targets": (SECOND,)})
    proof = LogMade((record(0), record(1, HONEST))).proof(0)
    assert examined(trust, policy=Policy.AT_SIGNING, proof=proof).report.exit_code is ExitCode.KEY_STATUS


def test_metadata_that_only_a_revoked_key_signed_is_11():
    examination = examined(TRUST.but(roots=(root(1, (OWNER, SECOND), **revoked(NOW - DAY)),)))
    assert (examination.report.exit_code, failed(examination.report)[0]) == (ExitCode.KEY_STATUS, "key")


def test_two_release_keys_are_asked_for_where_the_root_asks_for_two():
    both = {
        "root": role(*ROOTS, threshold=2),
        "targets": role(OWNER, SECOND, threshold=2),
        "snapshot": role(SNAPSHOT),
        "timestamp": role(TIMESTAMP),
    }
    signed = HONEST.attestation(OWNER, SECOND)
    trust = TRUST.but(
        roots=(root(1, (OWNER, SECOND), roles=both),), by={"targets": (OWNER, SECOND)}, changed=released(signed)
    )
    assert examined(trust, attestation=signed).report.exit_code is ExitCode.VERIFIED
    assert examined(trust, attestation=HONEST.attestation(OWNER, OWNER)).report.exit_code is ExitCode.SIGNATURE


# --- the document ----------------------------------------------------------------------------------------------------


def changed_document(**changes: object) -> bytes:
    return json.dumps({**TRUST.document(), **changes}).encode()


TWICE = {**TRUST.document()["root"][0]}  # type: ignore[index]
TWICE["signatures"] = [TWICE["signatures"][0]] * 2  # type: ignore[index]
MALFORMED = {
    "not JSON": b"hello",
    "a list": b"[]",
    "another schema": changed_document(schema="dayzero/trust/v2"),
    "a member more": changed_document(more=1),
    "no root": changed_document(root=[]),
    "a root signed twice by one key": changed_document(root=[TWICE]),
    "metadata of another role": changed_document(snapshot=TRUST.document()["timestamp"]),
    "a version that is none": TRUST.but(changed={"timestamp": {"version": 0}}).bytes(),
    "a time that is none": TRUST.but(changed={"snapshot": {"expires": "2026-13-01T00:00:00Z"}}).bytes(),
    "an oldest version that is none": TRUST.but(
        changed={"targets": {"targets": {"a-1.0.0.kit.zip": TRUST.target(minVersion="\u202e9")}}}
    ).bytes(),
    "no issue time": TRUST.but(changed={"timestamp": {"x-dayzero-issued": None}}).bytes(),
    "a threshold of zero": TRUST.but(roots=(root(1, roles={"root": role(*ROOTS, threshold=0)}),)).bytes(),
    "a threshold that one key twice would reach": TRUST.but(
        roots=(root(1, roles={"root": role(ROOTS[0], ROOTS[0], threshold=2)}),)
    ).bytes(),
    "a delegation to everything": TRUST.but(
        changed={"targets": {"delegations": {"keys": {}, "roles": [{"name": "all", "paths": ["*"]}]}}}
    ).bytes(),
    "a key under another's id": TRUST.but(
        roots=(root(1, keys={**root(1)["keys"], OWNERS_ID: root(1)["keys"][public(SNAPSHOT).keyid]}),)  # type: ignore[dict-item,index]
    ).bytes(),
    "a log's key that is none": TRUST.but(roots=(root(1, **{"x-dayzero-log": "log"}),)).bytes(),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_a_trust_document_of_another_form_is_undecided(name: str):
    fingerprints = [digest(MALFORMED[name]), TRUST.fingerprint]
    if name in {
        "a threshold of zero",
        "a threshold that one key twice would reach",
        "a key under another's id",
        "a log's key that is none",
    }:
        fingerprints = [digest(canonical_json(json.loads(MALFORMED[name])["root"][0]["signed"]))]
    report = examined(document=MALFORMED[name], fingerprint=fingerprints[-1]).report
    assert (report.exit_code, failed(report)[0]) == (ExitCode.UNREADABLE, "key")


TAKEN_OVER = root(2, (SECOND,))
TAKEN_OVER["roles"] = {**TAKEN_OVER["roles"], "root": role(SECOND)}  # type: ignore[dict-item]
FOREIGN = {
    "a root left out of the chain": TRUST.but(roots=(root(1), root(3))),
    "a root that the one before did not sign": TRUST.but(roots=(root(1), TAKEN_OVER), takers=(SECOND,)),
    "a root that only the one before signed": TRUST.but(roots=(root(1), TAKEN_OVER)),
    "another snapshot than the timestamp names": TRUST.but(changed={"snapshot": {"version": 2}}),
    "other retractions than the snapshot names": TRUST.but(changed={"retractions": {"version": 2}}),
    "a retraction that is not listed": TRUST.but(lines=(retraction(["0" * 64]),), listed=False),
    "a retraction by a stranger": TRUST.but(lines=(retraction(["0" * 64], "kit", SECOND),)),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_a_trust_document_that_does_not_follow_from_the_root_is_10(name: str):
    report = examined(FOREIGN[name]).report
    assert (report.exit_code, failed(report)[0]) == (ExitCode.SIGNATURE, "key")


def test_not_one_of_two_hundred_flipped_bits_of_the_trust_document_is_verified():
    chance, document = random.Random(3), TRUST.bytes()  # noqa: S311
    codes = set()
    for _ in range(200):
        bit = chance.randrange(len(document) * 8)
        flipped = bytearray(document)
        flipped[bit // 8] ^= 1 << bit % 8
        codes.add(examined(document=bytes(flipped)).report.exit_code)
    assert codes == {ExitCode.UNREADABLE, ExitCode.SIGNATURE}


# --- what stands -----------------------------------------------------------------------------------------------------


def test_an_expired_timestamp_is_said_and_refused_only_where_one_can_ask():
    trust = TRUST.but(changed={"timestamp": {"expires": format_time(NOW - DAY)}})
    assert "timestamp expired" in reason(examined(trust), "trust_age")
    assert examined(trust).report.exit_code is ExitCode.VERIFIED
    assert examined(trust, online_expiry=True).report.exit_code is ExitCode.STALE


@pytest.mark.parametrize(("days", "code"), [(30, ExitCode.VERIFIED), (31, ExitCode.STALE)])
def test_a_trust_document_is_stale_after_thirty_days(days: int, code: ExitCode):
    report = examined(TRUST.but(issued=NOW - days * DAY)).report
    assert report.exit_code is code
    assert f"{days} days old" in next(row.reason for row in report.rows if row.check == "trust_age")


@pytest.mark.parametrize("part", ["root", "timestamp", "snapshot", "targets", "retractions"])
def test_a_part_that_is_older_than_one_seen_before_is_stale(part: str):
    assert examined(memory=Memory(metadata={part: 1})).report.exit_code is ExitCode.VERIFIED
    assert examined(memory=Memory(metadata={part: 2})).report.exit_code is ExitCode.STALE


def test_a_retraction_of_something_else_or_of_later_changes_nothing():
    other = retraction(["0" * 64])
    later = retraction([digest(HONEST.archive)], effective=format_time(NOW + DAY), replacedBy="a 1.0.1")
    examination = examined(TRUST.but(lines=(other, later)))
    assert examination.report.exit_code is ExitCode.VERIFIED
    assert "the kit is retracted from" in reason(examination, "retraction")
    assert "replaced by a 1.0.1" in reason(examination, "retraction")


def test_a_retraction_beside_the_kit_counts_without_a_trust_document_too():
    attestation = HONEST.attestation() + retraction([digest(HONEST.archive)], "kit", OWNER) + b"\n"
    report = examine(HONEST.archive, attestation, (public(OWNER),), Circumstances(now=NOW)).report
    assert (report.exit_code, failed(report)[0]) == (ExitCode.RETRACTED, "retraction")


def test_with_a_key_alone_a_memory_still_catches_an_older_kit_and_a_clock_that_was_set_back():
    for memory, code in (
        (Memory(kits={"a": "1.0.0"}), ExitCode.VERIFIED),
        (Memory(kits={"a": "1.1"}), ExitCode.DOWNGRADE),
        (Memory(time=NOW + DAY), ExitCode.STALE),
    ):
        given = Circumstances(now=NOW, memory=memory)
        assert examine(HONEST.archive, HONEST.attestation(), (public(OWNER),), given).report.exit_code is code


@pytest.mark.parametrize(
    "custom", [{"kit": "b"}, {"version": "1.0.1"}, {"attestation": {"length": 1, "sha256": "0" * 64}}]
)
def test_a_kit_that_is_listed_as_another_is_not_released(custom: dict[str, object]):
    trust = TRUST.but(changed={"targets": {"targets": {"a-1.0.0.kit.zip": TRUST.target(**custom)}}})
    report = examined(trust).report
    assert (report.exit_code, failed(report)[0]) == (ExitCode.STATEMENT, "listed")


def test_what_is_remembered_only_grows():
    memory = Memory(kits={"b": "2", "a": "0.9"}, metadata={"root": 1}, time=NOW - DAY)
    found = examined(TRUST.but(version=4), memory=memory, proof=LOGGED.proof(1)).memory
    assert found is not None
    assert found.kits == {"b": "2", "a": "1.0.0"}
    assert found.metadata == {"root": 1, "timestamp": 4, "snapshot": 4, "targets": 4, "retractions": 4}
    assert found.time == NOW
    assert found.checkpoint == head_of(LOGGED)


def test_nothing_is_remembered_of_a_kit_that_is_refused():
    assert examined(memory=Memory(kits={"a": "2"})).memory is None


# --- the log ---------------------------------------------------------------------------------------------------------


def head_of(log: LogMade, size: int | None = None) -> Checkpoint:
    leaves = [leaf_hash(entry) for entry in log.records[:size]]
    return Checkpoint(LOG_KEY.name, len(leaves), root_hash(leaves))


def folder_of(log: LogMade) -> dict[str, bytes]:
    files = {"checkpoint": log.checkpoint()}
    for tile in tiles(len(log.records)):
        held = log.records[: tile.width]
        files[tile.path] = b"".join(map(leaf_hash, held))
        files[tile.entries_path] = b"".join(len(entry).to_bytes(2, "big") + entry for entry in held)
    return files


GROWN = LogMade((*LOGGED.records, record(3), record(4), record(5)))


def test_a_log_that_grew_from_the_one_seen_before_passes_and_its_largest_head_is_remembered():
    memory = Memory(checkpoint=head_of(LOGGED, 2))
    found = examined(memory=memory, proof=LOGGED.proof(1), log=folder_of(GROWN).get)
    assert status(found.report, "log") is Status.PASS
    assert found.memory is not None
    assert found.memory.checkpoint == head_of(GROWN)


@pytest.mark.parametrize("lost", ["all", "tile/0/000.p/6"])
def test_heads_that_cannot_be_compared_are_not_checked_and_not_remembered(lost: str):
    held = {path: content for path, content in folder_of(GROWN).items() if lost not in {path, "all"}}
    memory = Memory(checkpoint=head_of(LOGGED, 2))
    found = examined(memory=memory, proof=LOGGED.proof(1), log=held.get)
    assert found.report.exit_code is ExitCode.VERIFIED
    assert status(found.report, "log") is Status.NOT_CHECKED
    assert found.memory is not None
    assert found.memory.checkpoint == memory.checkpoint


def test_a_head_that_is_smaller_than_the_one_seen_before_cannot_be_compared_without_the_log():
    memory = Memory(checkpoint=head_of(GROWN))
    found = examined(memory=memory, proof=LOGGED.proof(1))
    assert status(found.report, "log") is Status.NOT_CHECKED
    assert found.memory is not None
    assert found.memory.checkpoint == head_of(GROWN)


BAD_LOGS = {
    "a folder older than what was seen": (folder_of(LOGGED), Memory(checkpoint=head_of(GROWN)), ExitCode.STALE),
    "another log than the one seen": (
        folder_of(LOGGED),
        Memory(checkpoint=Checkpoint("example.org/other", 3, head_of(LOGGED).root)),
        ExitCode.STALE,
    ),
    "records that are not those of the head": (
        {**folder_of(GROWN), "tile/entries/000.p/6": folder_of(GROWN)["tile/entries/000.p/6"][:-1]},
        None,
        ExitCode.STALE,
    ),
    "a folder whose head a stranger signed": (
        {**folder_of(GROWN), "checkpoint": LogMade(GROWN.records, private=RETRACTOR).checkpoint()},
        None,
        ExitCode.SIGNATURE,
    ),
    "a folder of another history": (
        folder_of(LogMade((record(0, time=NOW), *GROWN.records[1:]))),
        None,
        ExitCode.STALE,
    ),
}


@pytest.mark.parametrize("name", BAD_LOGS)
def test_a_log_that_is_not_the_one_it_was_is_refused(name: str):
    files, memory, code = BAD_LOGS[name]
    report = examined(memory=memory, proof=LOGGED.proof(1), log=files.get).report
    assert (report.exit_code, failed(report)[0]) == (code, "log")


@pytest.mark.parametrize(
    "proof",
    [
        b"",
        b"c2sp.org/tlog-proof@v1\n",
        LOGGED.proof(1).replace(b"@v1", b"@v2"),
        LOGGED.proof(1).replace(b"index 1", b"index 2"),
        LOGGED.proof(1).replace(b"index 1", b"index 9"),
        LOGGED.proof(1).replace(b"extra ", b"extra A"),
        LOGGED.proof(1).replace(base64.b64encode(leaf_hash(record(2))), base64.b64encode(leaf_hash(record(3)))),
        LogMade(LOGGED.records, origin="example.org/other").proof(1),
        LogMade((record(0), record(5, HONEST))).proof(1),
        LogMade((record(0), record(1, HONEST, kind="retraction"))).proof(1),
        LogMade((record(0), record(1, HONEST, version="1.0.1"))).proof(1),
        LogMade((record(0), record(1, HONEST, more=1))).proof(1),
        LogMade((record(0), record(1, HONEST, statement="0" * 64))).proof(1),
        LogMade((record(0), record(1, HONEST, time=NOW).replace(b"Z", b"z"))).proof(1),
    ],
)
def test_a_proof_of_another_form_or_of_something_else_is_refused(proof: bytes):
    found = examined(proof=proof).report
    assert (found.exit_code, failed(found)[0]) == (ExitCode.STATEMENT, "log")
    assert status(examined(proof=None).report, "log") is Status.NOT_CHECKED


def test_a_retraction_in_the_log_that_the_trust_document_has_is_no_surprise():
    line = retraction(["0" * 64])
    payload = json.loads(line)["payload"]
    entry = record(3, HONEST, kind="retraction", statement=digest(base64.b64decode(payload)))
    log = LogMade((*LOGGED.records, entry))
    known = examined(TRUST.but(lines=(line,)), proof=LOGGED.proof(1), log=folder_of(log).get).report
    assert (known.exit_code, status(known, "log")) == (ExitCode.VERIFIED, Status.PASS)
    unknown = examined(proof=LOGGED.proof(1), log=folder_of(log).get).report
    assert (unknown.exit_code, failed(unknown)[0]) == (ExitCode.RETRACTED, "log")


def test_a_launch_that_is_not_strict_json_is_refused():
    files = archived(with_manifest({**FILES, "launch.json": b'{"a":1,"a":2}'}))
    made = make(archive=build(files), change=lambda predicate: predicate.update(files=listing(files)))
    report = made.examine().report
    assert (report.exit_code, failed(report)[0]) == (ExitCode.STATEMENT, "manifest")
