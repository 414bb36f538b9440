import json
import stat
from pathlib import Path

import pytest
from verifier.tests.kits import make

from dayzero.cli.main import run
from dayzero_verify.cli import run as verify


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("alice", "bob", "release", "retraction", "online"):
        assert run(["keys", "new", name]) == 0
    capsys.readouterr()
    return tmp_path


FOUND = (
    *("keys", "found", "site", "--root", "alice.pub.pem", "--root", "bob.pub.pem", "--release", "release.pub.pem"),
    *("--retraction", "retraction.pub.pem", "--online", "online.pub.pem", "--log", "example.com/log"),
)
WORKING = ("--sign", "release.key.pem", "--sign", "retraction.key.pem", "--sign", "online.key.pem")


def founded() -> None:
    assert run([*FOUND, "--sign", "alice.key.pem", "--sign", "bob.key.pem", *WORKING]) == 0


def signed_kit(desk: Path) -> None:
    from dayzero.adapters.keys import load_key  # noqa: PLC0415  (read once the test has made it)

    made = make()
    (desk / "a-1.0.0.kit.zip").write_bytes(made.archive)
    attestation = made.attestation(load_key(desk / "release.key.pem").private)
    (desk / "a-1.0.0.kit.intoto.jsonl").write_bytes(attestation)


def test_a_new_key_is_private_named_and_never_overwritten(desk: Path, capsys: pytest.CaptureFixture[str]):
    assert stat.S_IMODE((desk / "alice.key.pem").stat().st_mode) == 0o600
    assert run(["keys", "new", "alice"]) == 2
    assert "never overwritten" in capsys.readouterr().err
    assert run(["keys", "new", "../alice"]) == 2
    ids = []
    for half in ("alice.key.pem", "alice.pub.pem"):
        capsys.readouterr()
        assert run(["keys", "show", half]) == 0
        ids.append(capsys.readouterr().out.splitlines()[-1])
    assert ids[0] == ids[1]
    assert ids[0].startswith("key id ")


def test_a_team_founds_releases_takes_back_and_the_buyer_hears_of_it(desk: Path, capsys: pytest.CaptureFixture[str]):
    assert run([*FOUND, "--sign", "alice.key.pem"]) == 3
    assert "1 signature by its own root keys" in capsys.readouterr().out
    assert run(["keys", "show", "site"]) == 0
    assert "next: dayzero keys cosign site --sign NAME.key.pem" in capsys.readouterr().out
    assert run(["keys", "cosign", "site", "--sign", "bob.key.pem", *WORKING]) == 0
    out = capsys.readouterr().out
    root = out.splitlines()[1].removeprefix("root fingerprint ")
    signed_kit(desk)
    release = ["keys", "release", "site", "a-1.0.0.kit.zip", "--sign", "release.key.pem", "--sign", "online.key.pem"]
    assert run(release) == 0
    assert f"dayzero-verify a-1.0.0.kit.zip --trust trust.json --root {root}" in capsys.readouterr().out
    buyer = ["a-1.0.0.kit.zip", "--trust", "site/trust.json", "--root", root, "--log", "site/log"]
    assert verify(buyer) == 0
    retract = ["keys", "retract", "site", "--kit", "a-1.0.0", "--reason", "wrong clock", "--replaced-by", "a-1.0.1"]
    assert run([*retract, "--sign", "retraction.key.pem", "--sign", "online.key.pem"]) == 0
    assert verify(buyer) == 17
    capsys.readouterr()
    assert run(["keys", "show", "site"]) == 0
    shown = capsys.readouterr().out
    assert "wrong clock; replaced by a-1.0.1" in shown
    assert "a 1.0.0  sha256 " in shown
    assert f"root fingerprint {root}" in shown


def test_as_json_a_folder_says_all_that_it_says_as_text(desk: Path, capsys: pytest.CaptureFixture[str]):  # noqa: ARG001
    founded()
    capsys.readouterr()
    assert run(["keys", "show", "site", "--output-format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "dayzero/keys/v1"
    assert document["waiting"] is None
    roles = {role["role"]: (role["threshold"], role["days"]) for role in document["trust"]["roles"]}
    assert {name: threshold for name, (threshold, _) in roles.items()} == {
        "root": 2, "targets": 1, "retractions": 1, "snapshot": 1, "timestamp": 1
    }  # fmt: skip
    assert {name: days for name, (_, days) in roles.items() if days < 3} == {"timestamp": roles["timestamp"][1]}


def test_a_lifetime_that_the_founding_names_is_the_one_of_every_later_command(
    desk: Path,  # noqa: ARG001
    capsys: pytest.CaptureFixture[str],
):
    everyone = ("--sign", "alice.key.pem", "--sign", "bob.key.pem", *WORKING)
    assert run([*FOUND, *everyone, "--timestamp-days", "5", "--targets-days", "20"]) == 0
    assert "note: targets expires in 20 days; renew it with 'dayzero keys refresh'" in capsys.readouterr().out
    assert run(["keys", "refresh", "site", "--sign", "online.key.pem", "--output-format", "json"]) == 0
    roles = {role["role"]: role["days"] for role in json.loads(capsys.readouterr().out)["trust"]["roles"]}
    assert (roles["timestamp"], roles["targets"] in {19, 20}) == (5, True)


def test_a_trust_document_alone_is_shown_too(desk: Path, capsys: pytest.CaptureFixture[str]):
    founded()
    capsys.readouterr()
    assert run(["keys", "show", "site/trust.json"]) == 0
    assert "root fingerprint" in capsys.readouterr().out
    (desk / "site" / "trust.json").write_bytes(b"{}")
    assert run(["keys", "show", "site/trust.json"]) == 4


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["retract", "site", "--reason", "x"], "one thing is taken back at a time"),
        (["retract", "site", "--reason", "x", "--kit", "a", "--receipt", "b"], "one thing is taken back at a time"),
        (["retract", "site", "--reason", "x", "--claim", "a/b"], "one thing is taken back at a time"),
        (["retract", "site", "--reason", "x", "--kit", "a-1"], "no kit a-1 was released"),
        (["rotate", "site", "--revoke", "0" * 64], "revoked for a reason"),
        (["rotate", "site", "--not-after", "soon"], "is not KEYID=TIME"),
        (["cosign", "site", "--sign", "alice.key.pem"], "no root waits"),
        (["show", "nowhere"], "there is no trust.json in nowhere"),
        (["refresh", "nowhere", "--sign", "online.key.pem"], "cannot open the folder nowhere"),
    ],
)
def test_what_cannot_be_done_is_said_with_exit_2(
    desk: Path,  # noqa: ARG001
    capsys: pytest.CaptureFixture[str],
    words: list[str],
    message: str,
):
    founded()
    capsys.readouterr()
    assert run(["keys", *words]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert "hint:" in err
