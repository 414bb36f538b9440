"""The verifier as one file: the same bytes wherever it is built, the same answers as the package, and no network."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from verifier.tests.kits import OWNER, STRANGER, make

ROOT = Path(__file__).parents[2]
BUILD = (sys.executable, str(ROOT / "tools" / "build_verifier.py"), "-o")
ISOLATED = (sys.executable, "-I", "-S")
NO_SOCKETS = """
import runpy, sys
def refuse(event, arguments):
    if event.startswith("socket."):
        print("NETWORK", event, file=sys.stderr)
        raise SystemExit(99)
sys.addaudithook(refuse)
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.fixture(scope="module")
def pyz(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("verifier") / "dayzero-verify.pyz"
    subprocess.run((*BUILD, str(target)), check=True, capture_output=True)
    return target


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, made = tmp_path_factory.mktemp("shop"), make()
    (folder / "a.kit.zip").write_bytes(made.archive)
    (folder / "a.kit.intoto.jsonl").write_bytes(made.attestation())
    (folder / "changed.kit.zip").write_bytes(made.archive.replace(b"exec engine", b"exec enginf"))
    (folder / "changed.kit.intoto.jsonl").write_bytes(made.attestation())
    for name, key in (("owner", OWNER), ("stranger", STRANGER)):
        pem = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        (folder / f"{name}.pem").write_bytes(pem)
    return folder


CASES = [
    (("a.kit.zip", "--key", "owner.pem"), 0),
    (("a.kit.zip", "--key", "stranger.pem"), 10),
    (("changed.kit.zip", "--key", "owner.pem"), 12),
    (("absent.kit.zip", "--key", "owner.pem"), 3),
    (("a.kit.zip",), 2),
]


def ask(folder: Path, *command: object, **environment: str) -> subprocess.CompletedProcess[str]:
    words = [str(word) for word in command]
    return subprocess.run(
        words, cwd=folder, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def test_the_file_has_the_same_bytes_wherever_and_whenever_it_is_built(tmp_path, pyz):
    moved = tmp_path / "moved"
    shutil.copytree(ROOT / "verifier" / "src", moved / "verifier" / "src")
    (moved / "tools").mkdir()
    shutil.copy(ROOT / "tools" / "build_verifier.py", moved / "tools")
    for file in moved.rglob("*.py"):
        os.utime(file, (1, 1))
        file.chmod(0o600)
    build = f"umask 077; exec {sys.executable} {moved}/tools/build_verifier.py -o out.pyz"
    done = ask(moved, "sh", "-c", build, TZ="Pacific/Kiritimati", LC_ALL="C.UTF-8", PYTHONHASHSEED="7", LANG="tr_TR")
    assert done.returncode == 0, done.stderr
    assert (moved / "out.pyz").read_bytes() == pyz.read_bytes()
    assert done.stdout == f"{ask(moved, 'sha256sum', 'out.pyz').stdout}"


@pytest.mark.parametrize(("words", "code"), CASES)
def test_it_gives_the_answers_of_the_package(words, code, pyz, shop):
    alone = ask(shop, *ISOLATED, pyz, *words, "--json")
    package = ask(shop, sys.executable, "-m", "dayzero_verify", *words, "--json")
    assert alone.returncode == package.returncode == code
    assert document(alone) == document(package)


def document(answer: subprocess.CompletedProcess[str]) -> object:
    """Give the report without the checks that what is installed beside the package makes, and a lone file cannot."""
    if not answer.stdout:
        return answer.stderr.splitlines()[:1]
    report = json.loads(answer.stdout)
    report["checks"] = [row for row in report["checks"] if row["check"] not in {"deploy_files", "claims"}]
    return report


@pytest.mark.parametrize(("words", "code"), CASES)
def test_it_opens_no_socket(words, code, pyz, shop):
    done = ask(shop, *ISOLATED, "-c", NO_SOCKETS, pyz, *words)
    assert (done.returncode, "NETWORK" in done.stderr) == (code, False)


def test_the_hook_would_notice_a_socket(shop):
    (shop / "calls.py").write_text("import socket\nsocket.create_connection(('127.0.0.1', 9))\n")
    assert ask(shop, *ISOLATED, "-c", NO_SOCKETS, "calls.py").returncode == 99


def test_it_verifies_where_there_is_no_network_at_all(pyz, shop):
    if shutil.which("unshare") is None or ask(shop, "unshare", "-rn", "true").returncode != 0:
        pytest.skip("a namespace without a network may not be made here")
    for words, code in CASES[:2]:
        assert ask(shop, "unshare", "-rn", *ISOLATED, pyz, *words).returncode == code


def test_it_is_executable_and_needs_nothing_installed(pyz, shop):
    assert os.access(pyz, os.X_OK)
    assert ask(shop, pyz, "--version").stdout.startswith("dayzero-verify ")
