"""The page for strangers: its commands without our code say yes to a kit, and no to one with a changed bit."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from tests.kit.contents import kit, signed
from verifier.tests.kits import OWNER

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "check-a-kit.md"


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    (tmp_path / "a.kit.zip").write_bytes(kit().archive)
    (tmp_path / "a.kit.intoto.jsonl").write_bytes(signed())
    pem = OWNER.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    (tmp_path / "owner.pub.pem").write_bytes(pem)
    return tmp_path


def by_hand(folder: Path) -> subprocess.CompletedProcess[str]:
    (commands,) = re.findall(r"```sh\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    return subprocess.run(["sh", "-ec", commands], cwd=folder, capture_output=True, text=True, check=False)


def test_the_commands_on_the_page_accept_a_signed_kit(shop):
    done = by_hand(shop)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("Signature Verified Successfully\n")
    assert str(kit().sha256) in done.stdout


@pytest.mark.parametrize("name", ["a.kit.zip", "a.kit.intoto.jsonl", "owner.pub.pem"])
def test_the_commands_on_the_page_notice_one_changed_bit(shop, name):
    content = bytearray((shop / name).read_bytes())
    content[100 if name != "owner.pub.pem" else 50] ^= 1
    (shop / name).write_bytes(content)
    assert by_hand(shop).returncode != 0
