"""``dayzero gate contract``: exit codes, and the exchanges that are kept."""

import hashlib
import json

import pytest
from tests.simulators.contract_server import ContractServer, serving

from dayzero.cli.main import run


def test_a_kept_contract_exits_zero_and_keeps_each_request_with_its_answer(tmp_path, capsys):
    out = tmp_path / "out"
    with serving(ContractServer(reasons=True)) as url:
        assert run(["gate", "contract", url, "-o", str(out)]) == 0
    assert "kept: 23 holds, 0 broken" in capsys.readouterr().out
    content = (out / "exchanges.jsonl").read_bytes()
    written = json.loads((out / "contract.json").read_text())
    assert written["exchanges"]["sha256"] == hashlib.sha256(content).hexdigest()
    lines = [json.loads(line) for line in content.splitlines()]
    assert sorted(line["number"] for line in lines) == list(range(1, len(lines) + 1))
    by_number = {line["number"]: line for line in lines}
    for check in written["checks"]:
        assert {by_number[number]["check"] for number in check["exchanges"]} == {check["check"]}
    assert any(line["request"] == '{"model": ' and line["status"] == 400 for line in lines)


def test_a_broken_promise_exits_one_and_a_known_one_does_not(tmp_path, capsys):
    with serving(ContractServer(fault="unknown-model")) as url:
        assert run(["gate", "contract", url, "-o", str(tmp_path / "a")]) == 1
        known = ["--known", "unknown-model"]
        assert run(["gate", "contract", url, "-o", str(tmp_path / "b"), *known, "--output-format", "json"]) == 0
    out = capsys.readouterr().out
    assert "a model that is not served is accepted" in out
    assert '"known": true' in out


def test_concurrent_requests_are_really_sent_at_once_and_come_back_each_to_its_own(tmp_path):
    with serving(ContractServer()) as url:
        assert run(["gate", "contract", url, "-o", str(tmp_path / "out")]) == 0


def test_nothing_that_answers_is_a_remote_failure(tmp_path):
    assert run(["gate", "contract", "http://127.0.0.1:9", "-o", str(tmp_path / "out")]) == 3


@pytest.mark.parametrize("words", [("--known", "sed"), ("--timeout", "0"), ("--api-key-env", "DAYZERO_NO_SUCH_KEY")])
def test_what_cannot_be_used_exits_two(tmp_path, words, capsys):
    assert run(["gate", "contract", "http://127.0.0.1:9", "-o", str(tmp_path / "out"), *words]) == 2
    assert "hint:" in capsys.readouterr().err
