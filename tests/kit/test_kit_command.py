import json
import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.kit.contents import kit, renamed, signed

from dayzero.adapters.keys import Ed25519Key
from dayzero.cli.main import run


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    made = kit()
    Path(made.file_name).write_bytes(made.archive)
    Path(made.attestation_name).write_bytes(signed())
    for name, seed in (("owner", b"\x01" * 32), ("stranger", b"\x02" * 32)):
        key = Ed25519Key(Ed25519PrivateKey.from_private_bytes(seed), "demo")
        Path(f"{name}.pub.pem").write_bytes(key.public_pem())
    return tmp_path


KIT = "demo-tiny-1.0.0.kit.zip"
OWNER = ["--key", "owner.pub.pem"]


@pytest.mark.usefixtures("shop")
def test_a_verified_kit_is_0_and_the_demo_key_is_named(capsys: pytest.CaptureFixture[str]):
    assert run(["kit", "verify", KIT, *OWNER]) == 0
    assert "signed with a demo key: proves integrity, not identity" in capsys.readouterr().out


@pytest.mark.usefixtures("shop")
def test_the_exit_codes_are_the_verifiers(capsys: pytest.CaptureFixture[str]):
    assert run(["kit", "verify", KIT, "--key", "stranger.pub.pem"]) == 10
    Path(KIT).write_bytes(renamed("#").archive)
    assert run(["kit", "verify", KIT, *OWNER]) == 15
    Path(KIT).write_bytes(kit().archive + b"x")
    assert run(["kit", "verify", KIT, *OWNER]) == 14
    assert run(["kit", "verify", "absent.zip", *OWNER]) == 3
    capsys.readouterr()
    assert run(["kit", "verify", "--help"]) == 0
    assert "exit codes of dayzero-verify" in " ".join(capsys.readouterr().out.split())


@pytest.mark.usefixtures("shop")
def test_without_a_key_nothing_is_verified(capsys: pytest.CaptureFixture[str]):
    assert run(["kit", "verify", KIT]) == 2
    assert "what do you trust?" in capsys.readouterr().err
    assert run(["kit", "explain", KIT]) == 2
    assert "hint: Give --key KEY.pub.pem" in capsys.readouterr().err


@pytest.mark.usefixtures("shop")
def test_requirements_and_json_reach_the_verifier(capsys: pytest.CaptureFixture[str]):
    assert run(["kit", "verify", KIT, *OWNER, "--require", "weights", "--output-format", "json"]) == 3
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["exit_code"]) == ("dayzero/verify/v1", 3)


@pytest.mark.usefixtures("shop")
def test_a_kit_and_key_whose_names_look_like_options_are_read():
    Path("-kit.zip").write_bytes(Path(KIT).read_bytes())
    Path("x.jsonl").write_bytes(signed())
    assert run(["kit", "verify", "--attestation", "x.jsonl", *OWNER, "--", "-kit.zip"]) == 0


def test_explain_lists_the_kit_and_its_commands_check_the_same(shop: Path, capsys: pytest.CaptureFixture[str]):
    for program in ("openssl", "unzip"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    assert run(["kit", "explain", KIT, *OWNER, "-o", "proof dir", "--output-format", "json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "dayzero/kit-explanation/v1"
    assert [file["path"] for file in document["files"]] == [file.path for file in kit().files]
    for step in document["steps"]:
        done = subprocess.run(["sh", "-c", step["command"]], cwd=shop, capture_output=True, text=True, check=True)
        assert (done.stdout.strip().split("  ")[0] or "nothing") == step["shows"].partition(":")[0]
    assert [step["command"].split()[0] for step in document["weight_steps"]] == ["cut", "(cd"]
    assert sorted(document["written"]) == sorted(path.name for path in (shop / "proof dir").iterdir() if path.is_file())


@pytest.mark.usefixtures("shop")
def test_explain_in_text_says_what_is_inside(capsys: pytest.CaptureFixture[str]):
    assert run(["kit", "explain", KIT, *OWNER]) == 0
    text = capsys.readouterr().out
    assert text.startswith("demo-tiny 1.0.0: verified, 14 files, zero weight bytes\nsigned with a demo key")
    assert "0755" in text
    assert "give -o DIR" in text
    assert "openssl pkeyutl -verify -pubin -inkey DIR/key.pem -rawin -in DIR/pae.bin" in text
    assert "(cd MODEL_FOLDER && sha256sum --check" in text


@pytest.mark.usefixtures("shop")
def test_explain_shows_nothing_of_a_kit_that_is_not_verified(capsys: pytest.CaptureFixture[str]):
    Path(KIT).write_bytes(kit().archive + b"x")
    assert run(["kit", "explain", KIT, *OWNER, "-o", "proof"]) == 14
    output = capsys.readouterr()
    assert output.out == ""
    assert "REFUSED" in output.err
    assert not Path("proof").exists()
    assert run(["kit", "explain", "absent.zip", *OWNER]) == 3
    assert "hint: " in capsys.readouterr().err


@pytest.mark.usefixtures("shop")
def test_explain_overwrites_nothing(capsys: pytest.CaptureFixture[str]):
    Path("proof").mkdir()
    Path("proof/sig.bin").write_text("precious")
    assert run(["kit", "explain", KIT, *OWNER, "-o", "proof"]) == 3
    assert {path.name: path.read_text() for path in Path("proof").iterdir()} == {"sig.bin": "precious"}
    assert "exists already" in capsys.readouterr().err


def test_explain_writes_the_key_that_signed_among_several(shop: Path):
    assert run(["kit", "explain", KIT, "--key", "stranger.pub.pem", *OWNER, "-o", "proof"]) == 0
    owner = (shop / "owner.pub.pem").read_text().partition("-----BEGIN")[2]
    assert (shop / "proof" / "key.pem").read_text().partition("-----BEGIN")[2] == owner
