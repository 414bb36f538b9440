import base64
import json
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from tests.attestation.trust_samples import LATER, NAMES, NOW, holders, private, public
from verifier.tests.kits import Made, make

from dayzero.adapters.keys import save_key
from dayzero.adapters.trust_files import TrustFolder
from dayzero.attestation.retraction import RetractedClaim, RetractedKit, RetractedReceipt, TakenBack
from dayzero.attestation.trust_model import Holders, Lifetimes, Revocation
from dayzero.attestation.trust_root import RootChange
from dayzero.core.errors import InputError, IntegrityError, RemoteError
from dayzero.core.pins import Sha256
from dayzero.wiring.releases import Released, listed_kit, release, take_back
from dayzero.wiring.trust import (
    Published,
    Waiting,
    cosign,
    found,
    public_keys,
    published_in,
    refresh,
    rotate,
    waiting_in,
)
from dayzero_verify.anchor import Policy, TrustAnchor
from dayzero_verify.case import Circumstances
from dayzero_verify.kit import examine
from dayzero_verify.log_proof import parse_record
from dayzero_verify.report import ExitCode, Report
from dayzero_verify.times import parse_time

EVERYBODY = ("alice", "bob", "release", "retraction", "online")


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A desk with everybody's private key on it."""
    for name in NAMES:
        save_key(private(name), private=tmp_path / f"{name}.key.pem", public=tmp_path / f"{name}.pub.pem")
    return tmp_path


def given(desk: Path, *names: str) -> list[Path]:
    return [desk / f"{name}.key.pem" for name in names]


def founded_in(desk: Path) -> Path:
    done = found(desk / "site", holders(), "example.com/log", Lifetimes(), sign=given(desk, *EVERYBODY), now=NOW)
    assert isinstance(done, Published)
    return desk / "site"


def kit_file(desk: Path, *, version: str = "1.0.0", signer: str = "release") -> tuple[Path, Made]:
    made = make(change=lambda predicate: predicate.update(kit={"name": "a", "version": version}))
    path = desk / f"a-{version}.kit.zip"
    path.write_bytes(made.archive)
    path.with_name(f"a-{version}.kit.intoto.jsonl").write_bytes(made.attestation(private(signer).private))
    return path, made


def released_in(desk: Path, site: Path, *, version: str = "1.0.0", minimum: str = "", now: str = NOW) -> Released:
    path, _ = kit_file(desk, version=version)
    return release(site, path, minimum, sign=given(desk, "release", "online"), now=now)


def buyer(site: Path, kit: Path, *, root: str, now: str = NOW, policy: Policy = Policy.NOW) -> Report:
    anchor = TrustAnchor(document=(site / "trust.json").read_bytes(), root=root, policy=policy)
    proof = kit.with_name(kit.name.removesuffix(".zip") + ".tlog-proof")
    known = Circumstances(
        now=parse_time(now), proof=proof.read_bytes() if proof.exists() else None, log=TrustFolder(site).read_log
    )
    attestation = kit.with_name(kit.name.removesuffix(".zip") + ".intoto.jsonl").read_bytes()
    return examine(kit.read_bytes(), attestation, anchor, known).report


def contents(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


def root_of(site: Path) -> str:
    return published_in(site).trust.root


def events(site: Path) -> list[tuple[str, str, str]]:
    records = map(parse_record, published_in(site).log.records)
    return [(record.type, record.kit, record.version) for record in records]


def test_a_founded_folder_is_one_the_verifier_follows_from_its_root(desk: Path):
    site = founded_in(desk)
    published = published_in(site)
    assert sorted(contents(site)) == [
        "log/checkpoint",
        "log/tile/0/000.p/1",
        "log/tile/entries/000.p/1",
        "trust.json",
    ]
    assert published.trust.release.keys == (public("release"),)
    assert published.trust.retractors.keys == (public("retraction"),)
    expires = {role: moment.isoformat()[:10] for role, moment in published.trust.expires.items()}
    assert expires == {
        "root": "2027-11-30",
        "targets": "2027-02-28",
        "retractions": "2027-02-28",
        "snapshot": "2026-12-07",
        "timestamp": "2026-12-02",
    }
    assert events(site) == [("key-event", "", "1")]


def test_a_released_kit_passes_every_check_of_trust_that_a_buyer_makes(desk: Path):
    site = founded_in(desk)
    done = released_in(desk, site)
    report = buyer(site, desk / "a-1.0.0.kit.zip", root=root_of(site))
    answers = {row.check: row.status.value for row in report.rows}
    assert report.exit_code is ExitCode.VERIFIED
    assert {answers[check] for check in ("key_status", "retraction", "trust_age", "listed", "log")} == {"pass"}
    assert (done.record, done.kit.archive) == (1, "a-1.0.0.kit.zip")


def test_a_kit_that_is_released_already_gets_its_proof_again_without_any_key(desk: Path):
    site = founded_in(desk)
    proof = released_in(desk, site).proof
    before = contents(site)
    proof.unlink()
    release(site, desk / "a-1.0.0.kit.zip", sign=(), now=LATER)
    assert proof.exists()
    assert contents(site) == before


def test_a_released_version_never_gets_other_bytes(desk: Path):
    site = founded_in(desk)
    released_in(desk, site)
    path, _ = kit_file(desk)
    other = make({"README.md": b"# another\n", "evidence/ledger.jsonl": b'{"seq":0}\n'})
    path.write_bytes(other.archive)
    path.with_name("a-1.0.0.kit.intoto.jsonl").write_bytes(other.attestation(private("release").private))
    before = contents(site)
    with pytest.raises(InputError, match="listed already with other bytes"):
        release(site, path, sign=given(desk, "release", "online"), now=LATER)
    assert contents(site) == before


def test_an_older_version_than_the_oldest_that_may_be_served_is_a_downgrade(desk: Path):
    site = founded_in(desk)
    released_in(desk, site)
    released_in(desk, site, version="1.1.0", minimum="1.1.0", now=LATER)
    codes = [buyer(site, desk / f"a-{v}.kit.zip", root=root_of(site), now=LATER).exit_code for v in ("1.0.0", "1.1.0")]
    assert codes == [ExitCode.DOWNGRADE, ExitCode.VERIFIED]


@pytest.mark.parametrize(
    ("minimum", "name", "signer", "message"),
    [
        ("2.0.0", "a-1.0.0", "release", "itself older than 2.0.0"),
        ("", "b-1.0.0", "release", "is a 1.0.0, and a buyer looks for it by that name"),
        ("", "a-1.0.0", "dan", "would not verify"),
    ],
)
def test_a_kit_that_a_buyer_would_refuse_is_not_released(
    desk: Path, minimum: str, name: str, signer: str, message: str
):
    site = founded_in(desk)
    path, _ = kit_file(desk, signer=signer)
    for file in (path, path.with_name("a-1.0.0.kit.intoto.jsonl")):
        file.rename(file.with_name(file.name.replace("a-1.0.0", name)))
    before = contents(site)
    with pytest.raises((InputError, IntegrityError), match=message):
        release(site, desk / f"{name}.kit.zip", minimum, sign=given(desk, "release", "online"), now=NOW)
    assert contents(site) == before


@pytest.mark.parametrize("missing", ["release", "online"])
def test_a_release_without_one_of_its_keys_changes_nothing(desk: Path, missing: str):
    site = founded_in(desk)
    path, _ = kit_file(desk)
    before = contents(desk)
    with pytest.raises(InputError, match="has to be signed by the key"):
        release(site, path, sign=given(desk, *{"release", "online"} - {missing}), now=NOW)
    assert contents(desk) == before


@pytest.mark.parametrize("what", ["kit", "receipt", "claim"])
def test_what_is_taken_back_is_refused_by_the_next_buyer(desk: Path, what: str):
    site = founded_in(desk)
    raw = Sha256.of(b'{"cell":"c1"}\n')
    claim = {"slug": "a/p50", "raw": raw.hex}
    made = make()
    made.receipt["predicate"]["claims"] = [claim]
    receipt = Sha256.of(json.dumps(made.receipt, separators=(",", ":"), sort_keys=True).encode())
    made.kit["predicate"]["receipts"][0]["sha256"] = receipt.hex
    path = desk / "a-1.0.0.kit.zip"
    path.write_bytes(made.archive)
    path.with_name("a-1.0.0.kit.intoto.jsonl").write_bytes(made.attestation(private("release").private))
    release(site, path, sign=given(desk, "release", "online"), now=NOW)
    assert buyer(site, path, root=root_of(site)).exit_code is ExitCode.VERIFIED
    retracted = {
        "kit": RetractedKit(path.name, Sha256.of(made.archive)),
        "receipt": RetractedReceipt(receipt),
        "claim": RetractedClaim("a/p50", raw),
    }[what]
    taken = TakenBack(what=retracted, kind="withdraw", reason="the clock stood still")
    take_back(site, taken, effective=LATER, sign=given(desk, "retraction", "online"), now=LATER)
    report = buyer(site, path, root=root_of(site), now=LATER)
    assert report.exit_code is ExitCode.RETRACTED
    assert events(site)[-1] == (("retraction", "a", "1.0.0") if what == "kit" else ("retraction", "", ""))
    with pytest.raises(InputError, match="withdrawn already"):
        take_back(site, taken, effective=LATER, sign=given(desk, "retraction", "online"), now=LATER)


def test_what_a_buyer_would_refuse_by_the_new_document_is_not_released(desk: Path):
    site = founded_in(desk)
    path, made = kit_file(desk)
    taken = TakenBack(what=RetractedKit(path.name, Sha256.of(made.archive)), kind="retract", reason="leaked early")
    take_back(site, taken, effective=NOW, sign=given(desk, "retraction", "online"), now=NOW)
    before = contents(site)
    with pytest.raises(IntegrityError, match=r"would not verify \(retraction, exit 17\)"):
        release(site, path, sign=given(desk, "release", "online"), now=NOW)
    assert contents(site) == before


def test_only_a_retraction_key_takes_back(desk: Path):
    site = founded_in(desk)
    taken = TakenBack(what=RetractedClaim("a/p50", Sha256("0" * 64)), kind="retract", reason="wrong")
    before = contents(site)
    with pytest.raises(InputError, match="retractions has to be signed by the key"):
        take_back(site, taken, effective=NOW, sign=given(desk, "release", "online"), now=NOW)
    assert contents(site) == before


def test_a_refresh_renews_the_lists_whose_keys_are_there(desk: Path):
    site = founded_in(desk)
    refresh(site, sign=given(desk, "online"), now=LATER)
    assert published_in(site).trust.versions == {
        "root": 1, "timestamp": 2, "snapshot": 2, "targets": 1, "retractions": 1
    }  # fmt: skip
    refresh(site, sign=given(desk, "online", "release", "retraction"), now=LATER)
    published = published_in(site)
    assert [published.trust.versions[role] for role in ("targets", "retractions", "snapshot")] == [2, 2, 3]
    assert published.trust.expires["targets"] == datetime(2027, 3, 1, 12, tzinfo=UTC)


def test_nothing_is_issued_by_a_clock_that_was_set_back(desk: Path):
    site = founded_in(desk)
    refresh(site, sign=given(desk, "online"), now=LATER)
    before = contents(site)
    with pytest.raises(InputError, match="the clock says"):
        refresh(site, sign=given(desk, "online"), now=NOW)
    assert contents(site) == before


def test_a_root_waits_until_enough_holders_have_signed_each_with_one_key(desk: Path):
    site = desk / "site"
    waiting = found(site, holders(), "example.com/log", Lifetimes(), sign=given(desk, "alice"), now=NOW)
    assert isinstance(waiting, Waiting)
    assert [(entry.version, entry.missing) for entry in waiting.shortages] == [(1, 1)]
    assert list(waiting.keys) == ["targets", "retractions", "snapshot and timestamp"]
    assert sorted(contents(site)) == ["root.draft.json"]
    with pytest.raises(InputError, match=r"there is no trust\.json"):
        published_in(site)
    still = cosign(site, sign=given(desk, "alice"), now=NOW)
    assert isinstance(still, Waiting)
    assert still.shortages == waiting.shortages
    done = cosign(site, sign=given(desk, "carol", "release", "retraction", "online"), now=NOW)
    assert isinstance(done, Published)
    assert waiting_in(site, done) is None
    assert done.document.root.fingerprint == waiting.draft.root.fingerprint


def test_the_next_root_needs_enough_keys_of_the_old_one_too(desk: Path):
    site = founded_in(desk)
    change = RootChange(root=(public("dan"), public("carol"), public("alice")))
    waiting = rotate(site, change, sign=given(desk, "dan", "carol"), now=LATER)
    assert isinstance(waiting, Waiting)
    assert [(entry.version, entry.missing) for entry in waiting.shortages] == [(1, 1)]
    assert set(waiting.shortages[0].able) == {public("alice").keyid, public("bob").keyid}
    before = root_of(site)
    with pytest.raises(InputError, match="waits for signatures already"):
        rotate(site, RootChange(), sign=given(desk, "alice"), now=LATER)
    assert isinstance(cosign(site, sign=given(desk, "bob", "online"), now=LATER), Published)
    assert root_of(site) != before
    assert events(site)[-1] == ("key-event", "", "2")


def test_buyers_of_every_earlier_root_follow_to_the_newest(desk: Path):
    site = founded_in(desk)
    released_in(desk, site)
    roots = [root_of(site)]
    for _ in range(3):
        rotate(site, RootChange(), sign=given(desk, "alice", "carol", "online"), now=LATER)
        roots.append(root_of(site))
    assert len(set(roots)) == 4
    kit = desk / "a-1.0.0.kit.zip"
    assert {buyer(site, kit, root=root, now=LATER).exit_code for root in roots} == {ExitCode.VERIFIED}


def test_a_revoked_release_key_counts_for_nothing_but_what_was_logged_before_where_the_buyer_says_so(desk: Path):
    site = founded_in(desk)
    released_in(desk, site)
    gone = Revocation(keyid=public("release").keyid, at=LATER, reason="stolen")
    change = RootChange(release=(public("next-release"),), revoked=(gone,))
    rotate(site, change, sign=given(desk, "alice", "bob", "next-release", "online"), now=LATER)
    kit = desk / "a-1.0.0.kit.zip"
    root = root_of(site)
    assert buyer(site, kit, root=root, now=LATER).exit_code is ExitCode.KEY_STATUS
    assert buyer(site, kit, root=root, now=LATER, policy=Policy.AT_SIGNING).exit_code is ExitCode.VERIFIED
    with pytest.raises(InputError, match="has no role here"):
        refresh(site, sign=given(desk, "release", "online"), now=LATER)
    with pytest.raises(InputError, match="is revoked"):
        rotate(site, RootChange(release=(public("release"),)), sign=given(desk, "alice", "bob"), now=LATER)


def test_a_kit_that_is_signed_again_by_the_next_key_is_released_again(desk: Path):
    site = founded_in(desk)
    released_in(desk, site)
    change = RootChange(
        release=(public("next-release"),),
        revoked=(Revocation(keyid=public("release").keyid, at=LATER, reason="stolen"),),
    )
    rotate(site, change, sign=given(desk, "alice", "bob", "next-release", "online"), now=LATER)
    kit, _ = kit_file(desk, signer="next-release")
    release(site, kit, sign=given(desk, "next-release", "online"), now=LATER)
    assert buyer(site, kit, root=root_of(site), now=LATER).exit_code is ExitCode.VERIFIED
    assert [event[0] for event in events(site)] == [
        "key-event",
        "release",
        "key-event",
    ]  # the same statement, logged once


def test_a_new_retraction_key_takes_the_old_retractions_over(desk: Path):
    site = founded_in(desk)
    taken = TakenBack(what=RetractedClaim("a/p50", Sha256("0" * 64)), kind="retract", reason="wrong")
    take_back(site, taken, effective=NOW, sign=given(desk, "retraction", "online"), now=NOW)
    change = RootChange(
        retraction=(public("next-retraction"),),
        revoked=(Revocation(keyid=public("retraction").keyid, at=LATER, reason="lost"),),
    )
    signers = given(desk, "alice", "bob", "release", "next-retraction", "online")
    assert isinstance(rotate(site, change, sign=signers, now=LATER), Published)
    assert [entry.slug for entry in published_in(site).trust.retractions] == ["a/p50"]
    assert [event[0] for event in events(site)] == ["key-event", "retraction", "key-event"]


def test_after_a_new_online_key_the_log_goes_on_and_a_kit_gets_its_proof_again(desk: Path):
    site = founded_in(desk)
    released_in(desk, site)
    change = RootChange(
        online=(public("next-online"),),
        revoked=(Revocation(keyid=public("online").keyid, at=LATER, reason="server broken into"),),
    )
    rotate(site, change, sign=given(desk, "alice", "bob", "next-online"), now=LATER)
    kit = desk / "a-1.0.0.kit.zip"
    assert buyer(site, kit, root=root_of(site), now=LATER).exit_code is ExitCode.SIGNATURE
    release(site, kit, sign=(), now=LATER)
    assert buyer(site, kit, root=root_of(site), now=LATER).exit_code is ExitCode.VERIFIED


def test_a_key_that_has_ended_signs_nothing_more_and_its_successor_takes_over(desk: Path):
    site = founded_in(desk)
    both = (public("release"), public("next-release"))
    change = RootChange(release=both, not_after=((public("release").keyid, LATER),))
    rotate(site, change, sign=given(desk, "alice", "bob", "online"), now=NOW)
    with pytest.raises(InputError, match="holds a key that has ended: it was good until"):
        refresh(site, sign=given(desk, "release", "online"), now=LATER)
    with pytest.raises(IntegrityError, match=r"targets is signed by key .* it was good until"):
        refresh(site, sign=given(desk, "online"), now=LATER)
    refresh(site, sign=given(desk, "next-release", "online"), now=LATER)
    assert published_in(site).trust.versions["targets"] == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (RootChange(threshold=4), "4 of 3 root keys cannot be asked to sign"),
        (RootChange(release=(public("alice"),)), "a key is named twice"),
        (
            RootChange(revoked=(Revocation(keyid=public("release").keyid, at=NOW, reason="lost"),)),
            "nobody is left to hold the release key",
        ),
        (RootChange(revoked=(Revocation(keyid="0" * 64, at=NOW, reason="lost"),)), "never had a role here"),
        (RootChange(not_after=(("0" * 64, NOW),)), "never had a role here"),
        (RootChange(not_after=((public("release").keyid, "soon"),)), "'soon' is not a time"),
    ],
)
def test_a_root_that_could_not_work_is_not_made(desk: Path, change: RootChange, message: str):
    site = founded_in(desk)
    before = contents(site)
    with pytest.raises(InputError, match=message):
        rotate(site, change, sign=given(desk, "alice", "bob"), now=NOW)
    assert contents(site) == before


def test_a_demo_key_holds_no_role(desk: Path):
    marked = desk / "release.pub.pem"
    marked.write_bytes(b"# demo key, made on the spot: proves integrity, not identity\n" + marked.read_bytes())
    kept = holders()
    with pytest.raises(InputError, match="is a demo key"):
        found(
            desk / "site",
            Holders(
                root=kept.root,
                threshold=2,
                release=public_keys((marked,)),
                retraction=kept.retraction,
                online=kept.online,
            ),
            "example.com/log",
            Lifetimes(),
            sign=given(desk, *EVERYBODY),
            now=NOW,
        )
    assert not (desk / "site").exists()


def test_nothing_is_founded_over_something_that_is_there(desk: Path):
    site = founded_in(desk)
    before = contents(site)
    with pytest.raises(InputError, match="is there already"):
        founded_in(desk)
    assert contents(site) == before


def test_a_key_that_signs_nothing_here_is_a_mistake_that_is_said(desk: Path):
    site = founded_in(desk)
    with pytest.raises(InputError, match=r"dan\.key\.pem holds the key .* which has no role here"):
        refresh(site, sign=given(desk, "online", "dan"), now=NOW)


def test_two_commands_do_not_write_at_once(desk: Path):
    site = founded_in(desk)
    with TrustFolder(site).held(), pytest.raises(InputError, match="another command is writing"):
        refresh(site, sign=given(desk, "online"), now=NOW)


class _Killed(BaseException):
    pass


def _dying_at(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Let the process die before it writes its so-manieth file."""
    written, real = [0], TrustFolder.write

    def write(self: TrustFolder, name: str, content: bytes) -> None:
        if written[0] == number:
            raise _Killed
        written[0] += 1
        real(self, name, content)

    monkeypatch.setattr(TrustFolder, "write", write)


@pytest.mark.parametrize("number", range(5))
def test_a_release_that_is_killed_between_two_files_leaves_a_readable_folder_and_is_finished_by_the_next(
    desk: Path, monkeypatch: pytest.MonkeyPatch, number: int
):
    site = founded_in(desk)
    kit, _ = kit_file(desk)
    finished = False
    with monkeypatch.context() as patch:
        _dying_at(patch, number)
        try:
            release(site, kit, sign=given(desk, "release", "online"), now=NOW)
            finished = True
        except _Killed:
            pass
    assert finished == (number == 4)  # trust.json, a tile, a bundle, the checkpoint
    head = published_in(site).log.head
    release(site, kit, sign=given(desk, "release", "online"), now=LATER)
    assert published_in(site).log.head_at(head.size) == head
    assert buyer(site, kit, root=root_of(site), now=LATER).exit_code is ExitCode.VERIFIED


@pytest.mark.parametrize("number", range(4))
def test_a_rotation_to_another_online_key_that_is_killed_is_finished_by_the_next_command(
    desk: Path, monkeypatch: pytest.MonkeyPatch, number: int
):
    site = founded_in(desk)
    change = RootChange(online=(public("next-online"),))
    signers = given(desk, "alice", "bob", "online", "next-online")
    with monkeypatch.context() as patch:
        _dying_at(patch, number)
        with pytest.raises(_Killed):
            rotate(site, change, sign=signers, now=NOW)
    in_force = published_in(site).document.root.version == 2
    assert in_force == (number > 0)
    refresh(site, sign=given(desk, "next-online" if in_force else "online"), now=LATER)
    assert events(site) == [("key-event", "", str(root)) for root in range(1, 3 if in_force else 2)]


@pytest.mark.parametrize("number", range(4))
def test_a_founding_that_is_killed_is_finished_by_cosigning_again(
    desk: Path, monkeypatch: pytest.MonkeyPatch, number: int
):
    site = desk / "site"
    found(site, holders(), "example.com/log", Lifetimes(), sign=given(desk, "alice"), now=NOW)
    signers = given(desk, "bob", "release", "retraction", "online")
    with monkeypatch.context() as patch:
        _dying_at(patch, number)
        with pytest.raises(_Killed):
            cosign(site, sign=signers, now=NOW)
    done = cosign(site, sign=signers, now=LATER)
    assert isinstance(done, Published)
    assert events(site) == [("key-event", "", "1")]


def test_a_full_disk_leaves_the_folder_as_it_was(desk: Path, monkeypatch: pytest.MonkeyPatch):
    site = founded_in(desk)
    before = contents(site)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(RemoteError, match="disk is full"):
        refresh(site, sign=given(desk, "online"), now=LATER)
    monkeypatch.undo()
    assert contents(site) == before


def test_a_log_that_was_put_back_from_an_older_copy_is_noticed_before_it_forks(desk: Path):
    site = founded_in(desk)
    shutil.copytree(site / "log", desk / "old")
    released_in(desk, site)
    refresh(site, sign=given(desk, "online"), now=LATER)
    shutil.rmtree(site / "log")
    (desk / "old").rename(site / "log")
    with pytest.raises(IntegrityError, match=r"is not the one that trust\.json was issued with"):
        released_in(desk, site, version="1.1.0", now=LATER)


@pytest.mark.parametrize("name", ["log/checkpoint", "log/tile/entries/000.p/2"])
def test_a_log_without_one_of_its_files_is_not_begun_again(desk: Path, name: str):
    site = founded_in(desk)
    released_in(desk, site)
    refresh(site, sign=given(desk, "online"), now=LATER)
    (site / name).unlink()
    with pytest.raises(IntegrityError, match="the log"):
        refresh(site, sign=given(desk, "online"), now=LATER)


@pytest.mark.parametrize("place", ["root", "targets", "retractions", "snapshot", "timestamp"])
def test_a_changed_role_is_refused_before_anything_is_signed_over_it(desk: Path, place: str):
    site = founded_in(desk)
    document = json.loads((site / "trust.json").read_bytes())
    role = document[place][0] if place == "root" else document[place]
    role["signed"]["expires"] = "2030-01-01T00:00:00Z"
    (site / "trust.json").write_text(json.dumps(document))
    with pytest.raises(IntegrityError, match="the verifier refuses this trust document"):
        refresh(site, sign=given(desk, "online"), now=LATER)


def test_the_proof_beside_the_kit_is_a_c2sp_tlog_proof_whose_extra_data_is_the_record(desk: Path):
    site = founded_in(desk)
    done = released_in(desk, site)
    lines = done.proof.read_text().split("\n")
    record = json.loads(base64.b64decode(lines[1].removeprefix("extra ")))
    assert (lines[0], lines[2]) == ("c2sp.org/tlog-proof@v1", "index 1")
    assert record == {
        "seq": 1,
        "type": "release",
        "statement": record["statement"],
        "kit": "a",
        "version": "1.0.0",
        "time": NOW,
    }
    assert "\n".join(lines).endswith((site / "log" / "checkpoint").read_text())


def test_a_kit_is_retracted_by_its_name(desk: Path):
    site = founded_in(desk)
    released_in(desk, site)
    document = published_in(site).document
    assert listed_kit(site, document, "a-1.0.0") == listed_kit(site, document, "a-1.0.0.kit.zip")
    with pytest.raises(InputError) as error:
        listed_kit(site, document, "a-2.0.0")
    assert error.value.hint == "Released are: a-1.0.0."
