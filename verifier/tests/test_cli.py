import ast
import json
import os
import subprocess
import sys
import zipapp
from collections.abc import Sequence
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from verifier.tests.kits import OWNER, STRANGER, make

from dayzero_verify import __version__
from dayzero_verify.cli import main, run
from dayzero_verify.keys import DEMO_MARK
from dayzero_verify.report import CHECKS

SOURCE = Path(__file__).parents[1] / "src"
ON_ITS_OWN = (
    "import runpy, sys; sys.path.insert(0, sys.argv.pop(1)); runpy.run_module('dayzero_verify', run_name='__main__')"
)

WATCHED = """
import sys
forbidden, seen = ("socket.", "subprocess.", "os.exec", "os.posix_spawn", "os.remove", "os.rename", "shutil."), []

def hook(event, args):
    if event.startswith(forbidden):
        seen.append(event)
    if event == "open" and isinstance(args[1], str) and set(args[1]) & set("wax+"):
        seen.append(str(args[0]))

sys.path.insert(0, sys.argv.pop(1))
from dayzero_verify.cli import run
sys.addaudithook(hook)
code = run(sys.argv[1:])
print(seen, file=sys.stderr)
sys.exit(code)
"""


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """Lay out what a buyer has: a kit, its attestation, the owner's key and a stranger's."""
    made = make()
    (tmp_path / "a.kit.zip").write_bytes(made.archive)
    (tmp_path / "a.kit.intoto.jsonl").write_bytes(made.attestation())
    for name, key in (("owner", OWNER), ("stranger", STRANGER)):
        pem = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        (tmp_path / f"{name}.pub.pem").write_bytes(pem)
    return tmp_path


def arguments(shop: Path, *more: str, key: str = "owner") -> list[str]:
    return [str(shop / "a.kit.zip"), "--key", str(shop / f"{key}.pub.pem"), *more]


def started(command: Sequence[str], **settings: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, **settings)  # type: ignore[call-overload]


def test_a_buyer_reads_every_check_and_the_answer_last(shop: Path, capsys: pytest.CaptureFixture[str]):
    assert run(arguments(shop)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.removeprefix("not checked").removeprefix("pass").split()[0] for line in lines[: len(CHECKS)]] == list(
        CHECKS
    )
    assert lines[-1].startswith("verified a 1.0.0: ")
    assert lines[-1].endswith("(exit 0)")
    assert "demo" not in "".join(lines)


def test_a_demo_kit_says_plainly_what_it_does_not_prove(shop: Path, capsys: pytest.CaptureFixture[str]):
    demo = make(signer="demo")
    (shop / "a.kit.zip").write_bytes(demo.archive)
    (shop / "a.kit.intoto.jsonl").write_bytes(demo.attestation())
    assert run(arguments(shop)) == 0
    assert "\nsigned with a demo key: proves integrity, not identity\n" in capsys.readouterr().out


def test_a_demo_key_file_says_so_too(shop: Path, capsys: pytest.CaptureFixture[str]):
    key = shop / "owner.pub.pem"
    key.write_text(f"{DEMO_MARK}\n{key.read_text()}")
    assert run(arguments(shop)) == 0
    assert "\nsigned with a demo key: proves integrity, not identity\n" in capsys.readouterr().out


def test_json_is_one_document_with_the_same_exit_code(shop: Path, capsys: pytest.CaptureFixture[str]):
    assert run(arguments(shop, "--json", key="stranger")) == 10
    document = json.loads(capsys.readouterr().out)
    assert (document["schema"], document["verified"], document["exit_code"]) == ("dayzero/verify/v1", False, 10)


def test_a_refusal_is_an_answer_on_stdout_and_the_last_line_says_so(shop: Path, capsys: pytest.CaptureFixture[str]):
    assert run(arguments(shop, key="stranger")) == 10
    output = capsys.readouterr()
    assert "FAIL         signature" in output.out
    assert output.out.splitlines()[-1].startswith("REFUSED: ")
    assert output.err == ""


def test_one_of_several_keys_is_enough(shop: Path):
    assert run(arguments(shop, "--key", str(shop / "owner.pub.pem"), key="stranger")) == 0


def test_the_attestation_may_lie_elsewhere(shop: Path):
    (shop / "a.kit.intoto.jsonl").rename(shop / "other")
    assert run(arguments(shop)) == 3
    assert run(arguments(shop, "--attestation", str(shop / "other"))) == 0


@pytest.mark.parametrize(
    "check", ["weights", "claims", "downgrade", "retraction", "trust_age", "key_status", "deploy_files"]
)
def test_a_required_check_that_was_not_made_is_exit_3(shop: Path, check: str, capsys: pytest.CaptureFixture[str]):
    assert run(arguments(shop, "--require", check)) == 3
    assert capsys.readouterr().out.splitlines()[-1].startswith("NOT DECIDED: ")
    assert run(arguments(shop, "--require", "signature", "--require", "digests")) == 0


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["a.kit.zip"],
        ["--key", "k"],
        ["a.kit.zip", "--key", "k", "--require", "everything"],
        ["a.kit.zip", "--key", "k", "--requ", "weights"],
        ["a.kit.zip", "b.kit.zip", "--key", "k"],
        ["a.kit.zip", "--key"],
    ],
)
def test_a_command_line_that_cannot_be_used_is_exit_2(words: list[str], capsys: pytest.CaptureFixture[str]):
    assert run(words) == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_inputs_that_cannot_be_read_are_exit_3(shop: Path, capsys: pytest.CaptureFixture[str]):
    os.mkfifo(shop / "fifo.zip")
    (shop / "private.pem").write_bytes(OWNER.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    key = ["--key", str(shop / "owner.pub.pem")]
    for words in (
        [str(shop / "absent.zip"), *key],
        [str(shop), *key],
        [str(shop / "fifo.zip"), *key, "--attestation", str(shop / "a.kit.intoto.jsonl")],
        ["/dev/zero", *key, "--attestation", str(shop / "a.kit.intoto.jsonl")],
        [str(shop / "a\0.zip"), *key],
        [str(shop / "a.kit.zip"), "--key", str(shop / "absent.pem")],
        [str(shop / "a.kit.zip"), "--key", str(shop / "a.kit.zip")],
        [str(shop / "a.kit.zip"), "--key", str(shop / "private.pem")],
    ):
        assert run(words) == 3
        output = capsys.readouterr()
        assert output.out == ""
        assert output.err.startswith("error: ")
        assert "\nhint: " in output.err


def test_help_names_every_exit_code_and_check(capsys: pytest.CaptureFixture[str]):
    assert run(["--help"]) == 0
    text = capsys.readouterr().out
    for code in ("0  ", "2  ", "3  ", "10  ", "12  ", "13  ", "14  ", "15  ", "30  "):
        assert f" {code}" in text
    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"dayzero-verify {__version__}\n"


def test_a_fault_of_the_verifier_itself_is_exit_30(
    shop: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def fault(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("dayzero_verify.cli.examine_files", fault)
    assert run(arguments(shop)) == 30
    assert "the verifier failed: ZeroDivisionError" in capsys.readouterr().err


def test_an_answer_that_cannot_be_written_is_exit_30(shop: Path):
    command = [sys.executable, "-I", "-S", "-c", ON_ITS_OWN, str(SOURCE), *arguments(shop)]
    with Path("/dev/full").open("w") as full:
        answer = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False, timeout=60)
    assert answer.returncode == 30
    closed = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *command], capture_output=True, check=False, timeout=60)
    assert closed.returncode == 30


def test_main_ends_the_process_with_the_exit_code(shop: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "argv", ["dayzero-verify", *arguments(shop, key="stranger")])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 10


@pytest.mark.parametrize(("key", "code"), [("owner", 0), ("stranger", 10)])
def test_it_runs_isolated_from_site_packages_and_the_environment(shop: Path, key: str, code: int):
    answer = started([sys.executable, "-I", "-S", "-c", ON_ITS_OWN, str(SOURCE), *arguments(shop, key=key)])
    assert (answer.returncode, answer.stderr) == (code, "")


def test_it_runs_from_one_file(shop: Path):
    package = shop / "app"
    (package / "dayzero_verify").mkdir(parents=True)
    for module in (SOURCE / "dayzero_verify").glob("*.py"):
        (package / "dayzero_verify" / module.name).write_bytes(module.read_bytes())
    zipapp.create_archive(package, shop / "verify.pyz", main="dayzero_verify.cli:main")
    answer = started([sys.executable, "-I", "-S", str(shop / "verify.pyz"), *arguments(shop)])
    assert (answer.returncode, answer.stderr) == (0, "")


def test_assertions_switched_off_change_no_answer(shop: Path):
    command = [sys.executable, "-OO", "-I", "-S", "-c", ON_ITS_OWN, str(SOURCE), *arguments(shop, key="stranger")]
    assert started(command).returncode == 10


def test_it_opens_nothing_but_its_inputs_and_no_connection(shop: Path):
    answer = started([sys.executable, "-I", "-S", "-c", WATCHED, str(SOURCE), *arguments(shop)])
    assert (answer.returncode, answer.stderr) == (0, "[]\n")


def test_the_verifier_imports_the_standard_library_and_itself_only():
    modules = sorted((SOURCE / "dayzero_verify").rglob("*.py"))
    assert len(modules) > 10
    foreign = set()
    for module in modules:
        for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or "."] if isinstance(node, ast.ImportFrom) else []
            foreign |= {
                name for name in names if name.split(".")[0] not in {*sys.stdlib_module_names, "dayzero_verify"}
            }
    assert foreign == set()
