"""The laws of a trust document: python-tuf accepts it, and whatever happens to it, what was published before still holds."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.attestation.trust_samples import LATER, NOW, founded_document, keys, public
from tuf.api.exceptions import UnsignedMetadataError
from tuf.api.metadata import Metadata, Root, Snapshot, Targets, Timestamp
from tuf.api.serialization.json import JSONSerializer
from tuf.ngclient._internal.trusted_metadata_set import TrustedMetadataSet
from tuf.ngclient.config import EnvelopeType

from dayzero.attestation.log_writer import KEY_EVENT, RELEASE, Growth, Log, LogEvent, grow, proof_bytes, read_log
from dayzero.attestation.retraction import RetractedClaim, TakenBack, retraction_statement
from dayzero.attestation.statement import payload
from dayzero.attestation.trust_document import parse_trust, refreshed, trust_bytes, with_kit, with_retraction
from dayzero.attestation.trust_model import KitListing, TrustDocument
from dayzero.attestation.trust_roles import days_after
from dayzero.attestation.trust_root import RootChange, co_signed, log_key, next_root, succeeded
from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.pins import Sha256
from dayzero_verify.anchor import TrustAnchor
from dayzero_verify.log_proof import agree, parse_record, signed_checkpoint, verify_proof
from dayzero_verify.times import parse_time
from dayzero_verify.trust import read_trust

RELEASERS = keys("release", "online")
RETRACTORS = keys("retraction", "online")


def listing(number: int) -> KitListing:
    return KitListing(
        archive=f"a-{number}.kit.zip",
        size=number + 1,
        sha256=f"{number:064x}",
        kit="a",
        version=str(number),
        minimum="",
        attestation_size=1,
        attestation_sha256="0" * 64,
        statement=f"{number:064x}",
    )


def taken_back(number: int, now: str) -> bytes:
    taken = TakenBack(what=RetractedClaim(f"a/{number}", Sha256("0" * 64)), kind="retract", reason="wrong")
    return payload(retraction_statement(taken, now, "release"))


def rotated(document: TrustDocument, now: str) -> TrustDocument:
    draft = co_signed(next_root(document, RootChange(), now), document.root, keys("alice", "carol"))
    return succeeded(document, draft, (), now)


def busy_document() -> TrustDocument:
    document = with_kit(founded_document(), listing(1), RELEASERS, NOW)
    return rotated(with_retraction(document, taken_back(1, NOW), RETRACTORS, NOW), NOW)


def test_what_is_written_is_read_back():
    document = busy_document()
    assert parse_trust(trust_bytes(document)) == document


def test_python_tuf_follows_the_roots_and_verifies_every_role_as_a_client_does():
    document = json.loads(trust_bytes(busy_document()))
    first, second = (json.dumps(root).encode() for root in document["root"])
    client = TrustedMetadataSet(first, EnvelopeType.METADATA)
    client.reference_time = datetime(2026, 12, 1, tzinfo=UTC)
    client.update_root(second)
    client.update_timestamp(json.dumps(document["timestamp"]).encode())
    client.update_snapshot(json.dumps(document["snapshot"]).encode())
    client.update_targets(json.dumps(document["targets"]).encode())
    retractions = client.update_delegated_targets(
        json.dumps(document["retractions"]).encode(), "retractions", "targets"
    )
    assert client.root.version == 2
    assert list(client.targets.targets) == ["a-1.kit.zip"]
    assert [target.length for target in retractions.targets.values()] == [len(document["statements"][0])]


@pytest.mark.parametrize("role", ["root", "timestamp", "snapshot", "targets", "retractions"])
def test_python_tuf_refuses_each_role_where_a_member_was_changed(role: str):
    document = json.loads(trust_bytes(busy_document()))
    changed = document[role][-1] if role == "root" else document[role]
    changed["signed"]["version"] += 1
    root = Metadata[Root].from_dict(document["root"][0]).signed
    targets = Metadata[Targets].from_dict(json.loads(trust_bytes(busy_document()))["targets"]).signed
    kinds = {"root": Root, "timestamp": Timestamp, "snapshot": Snapshot}
    loaded = Metadata[kinds.get(role, Targets)].from_dict(changed)
    delegator = targets if role == "retractions" else root
    with pytest.raises(UnsignedMetadataError):
        delegator.verify_delegate(role, loaded.signed_bytes, loaded.signatures)


def test_python_tuf_writes_the_metadata_as_it_stands():
    for role in ("timestamp", "snapshot", "targets", "retractions"):
        document = json.loads(trust_bytes(busy_document()))[role]
        again = json.loads(JSONSerializer().serialize(Metadata.from_dict(json.loads(json.dumps(document)))))
        assert again == document, role


def grown(log: Log, events: list[LogEvent], document: TrustDocument, now: str = NOW) -> Growth:
    return grow(log, events, log_key(document.root), keys("online")[0], now)


@given(st.lists(st.sampled_from(["release", "retract", "refresh", "rotate"]), max_size=6))
@settings(max_examples=12, deadline=None)
def test_whatever_happens_versions_only_grow_and_every_earlier_root_still_leads_to_the_newest(steps: list[str]):
    document, now = founded_document(), NOW
    roots = [document.root.fingerprint]
    acts: dict[str, Callable[[TrustDocument, int, str], TrustDocument]] = {
        "release": lambda was, number, now: with_kit(was, listing(number), RELEASERS, now),
        "retract": lambda was, number, now: with_retraction(was, taken_back(number, now), RETRACTORS, now),
        "refresh": lambda was, _, now: refreshed(was, keys("online", "release", "retraction"), now),
        "rotate": lambda was, _, now: rotated(was, now),
    }
    for number, step in enumerate(steps):
        now = days_after(now, 1)
        was, document = document, acts[step](document, number, now)
        roots.append(document.root.fingerprint)
        before, after = ({role: getattr(entry, role).version for role in _ROLES} for entry in (was, document))
        assert all(after[role] >= before[role] for role in _ROLES)
        assert after != before
    content = trust_bytes(document)
    read = [read_trust(TrustAnchor(document=content, root=root), parse_time(now)) for root in dict.fromkeys(roots)]
    assert {entry.root for entry in read} == {roots[-1]}
    assert len(read[0].targets) == steps.count("release")
    assert len(read[0].retractions) == steps.count("retract")


_ROLES = ("root", "timestamp", "snapshot", "targets", "retractions")


@given(st.lists(st.integers(1, 300), min_size=1, max_size=4))
@settings(max_examples=12, deadline=None)
def test_every_earlier_head_of_the_log_is_the_beginning_of_the_newest_and_every_record_has_its_proof(sizes: list[int]):
    document = founded_document()
    folder: dict[str, bytes] = {}
    log, heads = Log(), []
    for size in sizes:
        events = [LogEvent(RELEASE, f"{len(log.records) + at:064x}", "a", "1") for at in range(size)]
        growth = grown(log, events, document)
        folder.update(growth.files)
        for gone in growth.obsolete:
            folder = {name: content for name, content in folder.items() if not name.startswith(f"{gone}/")}
        log = read_log(folder.get, (log_key(document.root),))
        assert log == growth.log
        heads.append(signed_checkpoint(log.checkpoint, log_key(document.root)))
    assert all(agree(head, heads[-1], folder.get) for head in heads)
    for number in {0, len(log.records) // 2, len(log.records) - 1}:
        proven = verify_proof(proof_bytes(log, number), log_key(document.root))
        assert (proven.record, proven.checkpoint) == (parse_record(log.records[number]), heads[-1])


def test_a_log_has_the_files_that_c2sp_names_for_its_size():
    growth = grown(Log(), [LogEvent(RELEASE, f"{at:064x}", "a", "1") for at in range(300)], founded_document())
    files = {name: len(content) for name, content in growth.files}
    entries = [files.pop(name) for name in ("tile/entries/000", "tile/entries/001.p/44")]
    checkpoint = files.pop("checkpoint")
    assert files == {"tile/0/000": 8192, "tile/0/001.p/44": 44 * 32, "tile/1/000.p/1": 32}
    assert min(*entries, checkpoint) > 0
    assert [name for name, _ in growth.files][-1] == "checkpoint"


def test_partial_tiles_go_once_the_full_one_is_there():
    document = founded_document()
    events = [LogEvent(RELEASE, f"{at:064x}", "a", "1") for at in range(256)]
    first = grown(Log(), events[:255], document)
    assert first.obsolete == ()
    assert grown(first.log, events[255:], document).obsolete == ("tile/0/000.p", "tile/entries/000.p")


def test_a_writer_that_died_before_the_head_leaves_the_log_as_it_was_and_the_next_one_writes_over_it():
    document = founded_document()
    first = grown(Log(), [LogEvent(KEY_EVENT, "0" * 64, "", "1")], document)
    lost = grown(first.log, [LogEvent(RELEASE, "1" * 64, "a", "1")], document)
    folder = dict(first.files) | dict(lost.files[:-1])
    assert read_log(folder.get, (log_key(document.root),)) == first.log
    other = grown(first.log, [LogEvent(RELEASE, "2" * 64, "a", "1")], document)
    folder |= dict(other.files)
    assert read_log(folder.get, (log_key(document.root),)) == other.log


@pytest.mark.parametrize("name", ["checkpoint", "tile/0/000.p/3", "tile/entries/000.p/3"])
def test_no_bit_of_the_log_changes_unnoticed(name: str):
    document = founded_document()
    folder = dict(grown(Log(), [LogEvent(RELEASE, f"{at:064x}", "a", "1") for at in range(3)], document).files)
    whole = folder[name]
    for at in range(len(whole)):
        folder[name] = whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :]
        with pytest.raises(IntegrityError, match="the log is damaged"):
            read_log(folder.get, (log_key(document.root),))


def test_a_release_that_is_listed_just_so_already_stays_as_it_is():
    document = with_kit(founded_document(), listing(1), RELEASERS, NOW)
    assert with_kit(document, listing(1), (), LATER) is document


def test_a_minimum_stays_with_a_kit_that_is_listed_again():
    document = with_kit(founded_document(), replace(listing(1), minimum="1"), RELEASERS, NOW)
    again = with_kit(document, replace(listing(1), attestation_size=2), RELEASERS, LATER)
    trust = read_trust(TrustAnchor(document=trust_bytes(again), root=again.root.fingerprint), parse_time(LATER))
    assert trust.targets["a-1.kit.zip"].min_version == "1"


def test_a_draft_that_was_made_for_an_older_root_does_not_come_into_force():
    document = founded_document()
    draft = co_signed(next_root(document, RootChange(), NOW), document.root, keys("alice", "bob"))
    with pytest.raises(InputError, match="the draft is root 2, and root 2 is in force"):
        succeeded(succeeded(document, draft, (), NOW), draft, (), NOW)


def test_only_root_keys_sign_a_root():
    document = founded_document()
    draft = co_signed(next_root(document, RootChange(), NOW), document.root, keys("release", "online", "dan", "alice"))
    assert [keyid for keyid, _ in draft.root.signatures] == [public("alice").keyid]


@pytest.mark.parametrize("text", [b"", b"[]", b'{"schema": "dayzero/trust/v2"}', b'{"schema": "dayzero/trust/v1"}'])
def test_what_is_no_trust_document_is_said_to_be_none(text: bytes):
    with pytest.raises(IntegrityError, match="no document of schema dayzero/trust/v1"):
        parse_trust(text)
