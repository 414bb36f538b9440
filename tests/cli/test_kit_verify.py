"""``dayzero kit verify`` hands every option on as dayzero-verify reads it."""

import pytest

from dayzero.cli import kit_verify
from dayzero.cli.kit import APP
from dayzero_verify.cli import run

EVERYTHING = """
--kit=-kit.zip --trust t.json --root 00 --policy at-signing --max-trust-age 3 --online-expiry --attestation a --proof p
--log l --state s --weights full --model m --resume r --fresh --threads 2 --live http://x --api-key-env K --explain e --emit-svr v
--require weights --require log --output-format json --exec serve --port 1
"""


@pytest.fixture
def handed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    words: list[str] = []

    def noted(argv: list[str], *, program: str) -> int:
        words.extend([program, *argv])
        return 7

    monkeypatch.setattr(kit_verify, "run", noted)
    return words


def verify(*words: str) -> object:
    return APP(["verify", *words], exit_on_error=False, result_action="return_value")


def test_every_option_is_handed_on_and_the_exit_code_comes_back(handed: list[str]):
    assert verify(*EVERYTHING.split()) == 7
    assert handed[:2] == ["dayzero kit verify", "./-kit.zip"]
    assert set(handed[2:-4]) == {
        "--trust=t.json", "--root=00", "--policy=at-signing", "--max-trust-age=3", "--online-expiry", "--attestation=a",
        "--proof=p", "--log=l", "--state=s", "--weights=full", "--model=m", "--resume=r", "--fresh", "--threads=2",
        "--live=http://x", "--api-key-env=K", "--explain=e", "--emit-svr=v", "--require=weights", "--require=log", "--json",
    }  # fmt: skip
    assert handed[-4:] == ["--exec", "serve", "--port", "1"]


def test_keys_are_handed_on_one_by_one_and_what_is_not_said_is_not(handed: list[str]):
    assert verify("a.kit.zip", "--key", "one.pem", "--key", "two.pem") == 7
    assert handed == ["dayzero kit verify", "a.kit.zip", "--key=one.pem", "--key=two.pem"]


def test_every_option_of_dayzero_verify_can_be_said_here(capsys: pytest.CaptureFixture[str]):
    assert run(["--help"]) == 0
    options = {word.strip("[],") for word in capsys.readouterr().out.split() if word.strip("[],").startswith("--")}
    known = {f"--{name.replace('_', '-')}" for name in kit_verify.Checking.__dataclass_fields__}
    assert {option for option in options if option.replace("-", "").isalpha()} - known <= {
        "--help", "--version", "--json",
    }  # fmt: skip
