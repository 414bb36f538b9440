import os
import shutil
import stat
import subprocess
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, generate_private_key
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, Encoding, NoEncryption, PrivateFormat

from dayzero.adapters.keys import load_key, load_public_key, make_key, save_key
from dayzero.attestation.model import SignerKind
from dayzero.attestation.ports import Signer
from dayzero.core.errors import InputError
from dayzero_verify.ed25519 import check_key, verify
from dayzero_verify.keys import DEMO_MARK


@pytest.mark.parametrize("kind", ["demo", "release"])
def test_a_saved_key_is_loaded_as_what_it_was(tmp_path: Path, kind: SignerKind):
    key: Signer = make_key(kind)
    save_key(key, private=tmp_path / "k.pem", public=tmp_path / "k.pub.pem")
    loaded, public = load_key(tmp_path / "k.pem"), load_public_key(tmp_path / "k.pub.pem")
    assert (loaded.kind, public.demo) == (kind, kind == "demo")
    assert loaded.public_key == public.raw == key.public_key
    assert verify(public.raw, b"message", loaded.sign(b"message"))
    check_key(public.raw)


def test_two_keys_are_two_keys():
    assert make_key("demo").public_key != make_key("demo").public_key


def test_a_demo_key_says_so_in_the_first_line_of_both_files(tmp_path: Path):
    save_key(make_key("demo"), private=tmp_path / "k.pem", public=tmp_path / "k.pub.pem")
    for name in ("k.pem", "k.pub.pem"):
        assert (tmp_path / name).read_text().splitlines()[0] == DEMO_MARK
    assert "demo" in DEMO_MARK
    assert "made on the spot" in DEMO_MARK


def test_the_private_key_is_readable_by_its_owner_only_whatever_the_umask(tmp_path: Path):
    before = os.umask(0)
    try:
        save_key(make_key("release"), private=tmp_path / "k.pem", public=tmp_path / "k.pub.pem")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "k.pem").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "k.pub.pem").stat().st_mode) == 0o644


@pytest.mark.parametrize("taken", ["k.pem", "k.pub.pem"])
def test_an_existing_file_is_kept_and_no_half_of_a_pair_is_left(tmp_path: Path, taken: str):
    (tmp_path / taken).write_text("precious")
    with pytest.raises(InputError, match="exists already"):
        save_key(make_key("demo"), private=tmp_path / "k.pem", public=tmp_path / "k.pub.pem")
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {taken: "precious"}


def test_a_link_in_the_place_of_the_private_key_is_not_followed(tmp_path: Path):
    (tmp_path / "k.pem").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError):
        save_key(make_key("demo"), private=tmp_path / "k.pem", public=tmp_path / "k.pub.pem")
    assert not (tmp_path / "elsewhere").exists()


def test_a_folder_that_is_not_there_is_an_input_error(tmp_path: Path):
    with pytest.raises(InputError, match="cannot write"):
        save_key(make_key("demo"), private=tmp_path / "no" / "k.pem", public=tmp_path / "k.pub.pem")


def test_what_is_no_plain_ed25519_private_key_is_refused(tmp_path: Path):
    ours = make_key("release").private
    other = generate_private_key(SECP256R1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    locked = ours.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, BestAvailableEncryption(b"secret"))
    for content in (b"", b"hello", other, locked, make_key("release").public_pem()):
        (tmp_path / "k.pem").write_bytes(content)
        with pytest.raises(InputError) as error:
            load_key(tmp_path / "k.pem")
        assert "openssl genpkey" in error.value.hint
    with pytest.raises(InputError, match="cannot read"):
        load_key(tmp_path / "absent.pem")


def test_a_private_key_is_not_taken_for_a_public_one(tmp_path: Path):
    save_key(make_key("demo"), private=tmp_path / "k.pem", public=tmp_path / "k.pub.pem")
    with pytest.raises(InputError, match="give the public one"):
        load_public_key(tmp_path / "k.pem")


def test_a_key_that_openssl_made_is_a_release_key(tmp_path: Path):
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    subprocess.run(["openssl", "genpkey", "-algorithm", "ed25519", "-out", "k.pem"], cwd=tmp_path, check=True)
    subprocess.run(["openssl", "pkey", "-in", "k.pem", "-pubout", "-out", "k.pub.pem"], cwd=tmp_path, check=True)
    assert load_key(tmp_path / "k.pem").kind == "release"
    assert load_key(tmp_path / "k.pem").public_key == load_public_key(tmp_path / "k.pub.pem").raw


def test_openssl_reads_a_demo_key_past_its_first_line(tmp_path: Path):
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    save_key(make_key("demo"), private=tmp_path / "k.pem", public=tmp_path / "k.pub.pem")
    for words in ("pkey -in k.pem -noout", "pkey -pubin -in k.pub.pem -noout"):
        assert subprocess.run(["openssl", *words.split()], cwd=tmp_path, check=False).returncode == 0
