"""The whole story of trust, from the first key to a stolen one: a seller types, and a buyer who has only files checks."""

import json
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from dayzero.cli.main import run
from dayzero.wiring import clock
from dayzero_verify.cli import run as verify
from dayzero_verify.times import format_time

DEFINITION = Path(__file__).parents[2] / "packages" / "demo-kimi-k3-tiny" / "package.toml"
PEOPLE = ("alice", "bob", "carol")


def key(name: str) -> str:
    return f"{name}.key.pem"


@pytest.fixture
def seller(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """Found a folder of trust and release two versions of a kit; give the fingerprint that a buyer writes down.

    All that was a minute ago, for whatever happens next is recorded in whole seconds.
    """
    monkeypatch.chdir(tmp_path)
    a_minute_ago = format_time(datetime.now(UTC) - timedelta(minutes=1))
    with monkeypatch.context() as then:
        then.setattr(clock, "now", lambda: a_minute_ago)
        publish()
    capsys.readouterr()
    assert run(["keys", "show", "site", "--output-format", "json"]) == 0
    return str(json.loads(capsys.readouterr().out)["trust"]["fingerprint"])


def publish() -> None:
    for name in (*PEOPLE, "release", "retraction", "online", "release-2"):
        assert run(["keys", "new", name]) == 0
    public = [word for name in PEOPLE for word in ("--root", f"{name}.pub.pem")]
    working = ["--release", "release.pub.pem", "--retraction", "retraction.pub.pem", "--online", "online.pub.pem"]
    assert run(["keys", "found", "site", *public, *working, "--sign", key("alice")]) == 3
    assert run(["keys", "cosign", "site", *signing("bob", "release", "retraction", "online")]) == 0
    for version in ("1.0.0", "1.1.0"):
        made(version)
        assert run(["keys", "release", "site", kit(version), *signing("release", "online")]) == 0


def signing(*names: str) -> list[str]:
    return [word for name in names for word in ("--sign", key(name))]


def kit(version: str) -> str:
    return f"dist/demo-kimi-k3-tiny-{version}.kit.zip"


def made(version: str) -> None:
    """Build and sign a version; nothing is measured in it."""
    folder = Path(f"package-{version}")
    folder.mkdir()
    text = DEFINITION.read_text(encoding="utf-8").replace('version = "1.0.0"', f'version = "{version}"', 1)
    (folder / "package.toml").write_text(text, encoding="utf-8")
    Path("no-evidence").mkdir(exist_ok=True)
    assert run(["kit", "build", str(folder), "--evidence", "no-evidence", "--target", "shell"]) == 0
    assert run(["kit", "sign", kit(version), "--key", key("release")]) == 0


def buyer(version: str, root: str, *options: str) -> int:
    """Get the kit, its statements, its proof and trust.json, and check them in a folder where nothing else is."""
    folder = Path("buyer")
    folder.mkdir(exist_ok=True)
    for file in (*Path("dist").glob(f"*-{version}.kit.*"), Path("site/trust.json")):
        shutil.copy(file, folder)
    words = ["--trust", "buyer/trust.json", "--root", root, "--state", "buyer/seen.json", *options]
    return verify([str(folder / Path(kit(version)).name), *words])


def test_a_buyer_accepts_what_is_released_and_nothing_older_afterwards(seller: str, capsys: pytest.CaptureFixture[str]):
    assert buyer("1.0.0", seller, "--require", "log") == 0
    assert buyer("1.1.0", seller, "--log", "site/log", "--require", "log") == 0
    capsys.readouterr()
    assert buyer("1.0.0", seller) == 16
    assert capsys.readouterr().out.splitlines()[-1].endswith(", downgrade failed (exit 16)")


def test_a_buyer_reads_why_a_kit_was_taken_back(seller: str, capsys: pytest.CaptureFixture[str]):
    why = "the clock of the load generator stood still"
    taken = ["--kit", "demo-kimi-k3-tiny-1.0.0", "--reason", why, "--replaced-by", "demo-kimi-k3-tiny-1.1.0"]
    assert run(["keys", "retract", "site", *taken, *signing("retraction", "online")]) == 0
    capsys.readouterr()
    assert buyer("1.0.0", seller) == 17
    assert f"{why}; replaced by demo-kimi-k3-tiny-1.1.0" in capsys.readouterr().out
    assert buyer("1.1.0", seller) == 0
    capsys.readouterr()
    assert run(["keys", "show", "site"]) == 0
    assert "kit demo-kimi-k3-tiny 1.0.0 retracted" in capsys.readouterr().out


def test_what_a_stolen_key_signed_is_refused_from_the_first_fingerprint_on(
    seller: str, capsys: pytest.CaptureFixture[str]
):
    assert run(["keys", "show", "release.pub.pem", "--output-format", "json"]) == 0
    stolen = json.loads(capsys.readouterr().out)["keyid"]
    change = ["--release", "release-2.pub.pem", "--revoke", stolen, "--reason", "laptop stolen"]
    assert run(["keys", "rotate", "site", *change, *signing("alice", "bob", "release-2", "online")]) == 0
    capsys.readouterr()
    assert buyer("1.0.0", seller) == 11
    assert "laptop stolen" in capsys.readouterr().out
    assert buyer("1.0.0", seller, "--policy", "at-signing") == 0


def test_a_buyer_with_a_trust_document_is_shown_how_to_check_without_our_code(
    seller: str, capsys: pytest.CaptureFixture[str]
):
    authority = ["--trust", "site/trust.json", "--root", seller.upper()]
    assert run(["kit", "explain", kit("1.0.0"), *authority, "-o", "proof"]) == 0
    assert capsys.readouterr().out.startswith("demo-kimi-k3-tiny 1.0.0: verified, ")
    assert Path("proof/pae.bin").exists()
    assert run(["kit", "explain", kit("1.0.0"), "--trust", "site/trust.json", "--root", "0" * 64]) == 10
    assert run(["kit", "explain", kit("1.0.0"), "--trust", "site/trust.json"]) == 2
    assert run(["kit", "explain", kit("1.0.0"), *authority, "--key", "release.pub.pem"]) == 2
