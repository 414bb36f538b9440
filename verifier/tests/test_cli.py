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
from verifier.tests.kits import OWNER, STRANGER, digest, make
from verifier.tests.trusts import LogMade, TrustMade, record, retraction

from dayzero_verify import __version__
from dayzero_verify.cli import run
from dayzero_verify.keys import DEMO_MARK
from dayzero_verify.report import CHECKS, ExitCode

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
    "check", ["weights", "live", "downgrade", "retraction", "trust_age", "key_status", "listed", "log"]
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
        ["a.kit.zip", "--key", "k", "--trust", "t", "--root", "0" * 64],
        ["a.kit.zip", "--trust", "t"],
        ["a.kit.zip", "--trust", "t", "--root", "abc"],
        ["a.kit.zip", "--key", "k", "--root", "0" * 64],
        ["a.kit.zip", "--key", "k", "--policy", "now"],
        ["a.kit.zip", "--key", "k", "--online-expiry"],
        ["a.kit.zip", "--key", "k", "--max-trust-age", "3"],
        ["a.kit.zip", "--trust", "t", "--root", "0" * 64, "--max-trust-age", "-3"],
        ["a.kit.zip", "--trust", "t", "--root", "0" * 64, "--policy", "never"],
        ["a.kit.zip", "--key", "k", "--weights", "full"],
        ["a.kit.zip", "--key", "k", "--model", "m"],
        ["a.kit.zip", "--key", "k", "--resume", "r"],
        ["a.kit.zip", "--key", "k", "--weights", "full", "--model", "m", "--threads", "0"],
        ["a.kit.zip", "--key", "k", "--exec", "true"],
        ["a.kit.zip", "--key", "k", "--weights", "full", "--model", "m", "--exec"],
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
    assert [int(line.split()[0]) for line in text.splitlines() if line[:4].strip().isdigit()] == list(
        map(int, ExitCode)
    )
    assert [check for check in CHECKS if check not in text] == []
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


@pytest.mark.parametrize("key", ["owner", "stranger"])
def test_a_pipe_gets_the_whole_answer_though_the_process_ends_at_once(shop: Path, key: str):
    answer = started([sys.executable, "-m", "dayzero_verify", *arguments(shop, key=key)])
    assert answer.stdout.endswith(f"(exit {answer.returncode})\n")
    assert len(answer.stdout.splitlines()) > len(CHECKS)


def test_a_letter_that_the_terminal_lacks_does_not_keep_the_answer_back(shop: Path):
    taken_back = retraction([digest((shop / "a.kit.zip").read_bytes())], "kit", OWNER, reason="trop de dur\xe9e")
    with (shop / "a.kit.intoto.jsonl").open("ab") as file:
        file.write(taken_back + b"\n")
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "dayzero_verify", *arguments(shop)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60, env=environment)
    assert (answer.returncode, "dur\\xe9e" in answer.stdout) == (17, True), answer.stdout + answer.stderr


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
    answer = started([sys.executable, "-I", "-S", "-B", "-c", WATCHED, str(SOURCE), *arguments(shop)])
    assert (answer.returncode, answer.stderr) == (0, "[]\n")


# --- with a trust document -------------------------------------------------------------------------------------------


@pytest.fixture
def trusting(shop: Path) -> list[str]:
    """Put a trust document, a log and a proof beside the kit, and give the words that use them and a state."""
    made = make()
    trust, log = TrustMade(kit=made), LogMade((record(0), record(1, made)))
    (shop / "trust.json").write_bytes(trust.bytes())
    (shop / "a.kit.tlog-proof").write_bytes(log.proof(1))
    log.write(shop / "log")
    words = [
        "--trust",
        shop / "trust.json",
        "--root",
        trust.fingerprint,
        "--log",
        shop / "log",
        "--state",
        shop / "state",
    ]
    return [str(shop / "a.kit.zip"), *map(str, words)]


def test_a_trust_document_makes_every_check_but_those_that_need_more(
    trusting: list[str], capsys: pytest.CaptureFixture[str]
):
    assert run(trusting) == 0
    unmade = [line.split()[2] for line in capsys.readouterr().out.splitlines() if line.startswith("not checked")]
    assert set(unmade) <= {"deploy_files", "claims", "weights", "live"}


def test_the_state_is_written_when_verified_and_only_then(shop: Path, trusting: list[str]):
    refused = [*trusting, "--require", "weights"]
    assert run(refused) == 3
    assert not (shop / "state").exists()
    assert run(trusting) == 0
    state = json.loads((shop / "state").read_text())
    assert (state["schema"], state["kits"], state["checkpoint"]["size"]) == (
        "dayzero/verify-state/v1",
        {"a": "1.0.0"},
        2,
    )
    state["kits"]["a"] = "1.0.1"
    (shop / "state").write_text(json.dumps(state))
    assert run(trusting) == 16
    assert json.loads((shop / "state").read_text())["kits"] == {"a": "1.0.1"}
    assert [path.name for path in shop.iterdir() if path.name.startswith(".")] == []


DAMAGED = (
    '{"schema":"dayzero/verify-state/v1","kits":{"a":1},"metadata":{},"checkpoint":null,"time":"2026-01-01T00:00:00Z"}'
)


@pytest.mark.parametrize("state", ["", "{}", '{"schema":"dayzero/verify-state/v1"}', "\0", DAMAGED])
def test_a_state_that_cannot_be_read_is_never_taken_for_an_empty_one(shop: Path, trusting: list[str], state: str):
    (shop / "state").write_text(state)
    assert run(trusting) == 3
    assert (shop / "state").read_text() == state


def test_a_state_that_cannot_be_written_is_exit_3(trusting: list[str]):
    assert run([*trusting[:-1], "/nowhere/state"]) == 3


def test_what_was_checked_is_stated_for_others(shop: Path, trusting: list[str]):
    assert run([*trusting, "--emit-svr", str(shop / "svr.json")]) == 0
    stated = json.loads((shop / "svr.json").read_text())
    assert stated["predicateType"] == "https://in-toto.io/attestation/svr/v0.2"
    assert stated["subject"] == [
        {"name": "a-1.0.0.kit.zip", "digest": {"sha256": digest((shop / "a.kit.zip").read_bytes())}}
    ]
    assert "DAYZERO_SIGNATURE" in stated["predicate"]["properties"]
    assert "DAYZERO_WEIGHTS" not in stated["predicate"]["properties"]
    (shop / "svr.json").unlink()
    assert run([*trusting, "--emit-svr", str(shop / "svr.json"), "--require", "live"]) == 3
    assert not (shop / "svr.json").exists()


def test_the_key_of_a_server_comes_from_the_environment(shop: Path, monkeypatch: pytest.MonkeyPatch):
    words = arguments(shop, "--live", "http://127.0.0.1:1", "--api-key-env", "SERVER_KEY")
    assert run(words) == 2
    monkeypatch.setenv("SERVER_KEY", "hush\nhush")
    assert run(words) == 2
    monkeypatch.setenv("SERVER_KEY", "hush")
    assert run(words) == 3  # the kit of this test has no launch
    assert run(arguments(shop, "--api-key-env", "SERVER_KEY")) == 2


def test_a_log_that_is_given_and_cannot_be_asked_is_undecided(shop: Path, trusting: list[str]):
    assert run(trusting) == 0
    (shop / "a.kit.tlog-proof").unlink()
    assert run(trusting) == 3


def test_a_check_that_was_asked_for_and_could_not_be_made_is_undecided(shop: Path, capsys: pytest.CaptureFixture[str]):
    assert run(arguments(shop, "--weights", "full", "--model", str(shop))) == 3  # this kit pins no model file
    assert capsys.readouterr().out.splitlines()[-1].startswith("NOT DECIDED: ")


def test_once_verified_another_program_takes_its_place_and_owns_standard_output(shop: Path):
    (shop / "model").mkdir()
    (shop / "model" / "config.json").write_bytes(b"{}")
    pin = {"path": "config.json", "size": 2, "sha256": digest(b"{}")}
    made = make(change=lambda predicate: predicate.update(model={"files": [pin]}))
    (shop / "a.kit.zip").write_bytes(made.archive)
    (shop / "a.kit.intoto.jsonl").write_bytes(made.attestation())
    words = arguments(shop, "--weights", "full", "--model", str(shop / "model"), "--exec", "echo", "--json", "ready")
    answer = started([sys.executable, "-I", "-S", "-c", ON_ITS_OWN, str(SOURCE), *words])
    assert (answer.returncode, answer.stdout) == (0, "--json ready\n")
    assert "verified a 1.0.0: " in answer.stderr
    (shop / "model" / "config.json").write_bytes(b"[]")
    refused = started([sys.executable, "-I", "-S", "-c", ON_ITS_OWN, str(SOURCE), *words])
    assert (refused.returncode, refused.stdout) == (19, "")


OPENED = WATCHED.replace(
    """    if event == "open" and""",
    """    if event == "open" and str(args[0]).endswith(ENDINGS):
        seen.append(str(args[0]).rsplit("/")[-1])
    if event == "open" and""",
).replace("forbidden, seen", 'ENDINGS = (".zip", ".jsonl", ".json", ".tlog-proof")\nforbidden, seen')


def test_every_input_is_opened_once_so_that_nothing_can_be_swapped_between_two_looks(trusting: list[str]):
    answer = started([sys.executable, "-I", "-S", "-B", "-c", OPENED, str(SOURCE), *trusting[:-2]])
    assert sorted(ast.literal_eval(answer.stderr)) == [
        "a.kit.intoto.jsonl",
        "a.kit.tlog-proof",
        "a.kit.zip",
        "trust.json",
    ]


def test_nothing_of_it_connects_to_anything(trusting: list[str]):
    answer = started([sys.executable, "-I", "-S", "-B", "-c", WATCHED, str(SOURCE), *trusting[:-2]])
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
