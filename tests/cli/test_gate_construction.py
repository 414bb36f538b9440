"""``dayzero gate construction``: what it prints, keeps and files."""

import json

from dayzero.cli.main import run
from dayzero.evidence.state import Standing
from dayzero.wiring.store import open_repository


def test_it_prints_the_premises_and_says_that_it_is_no_measurement(capsys):
    assert run(["gate", "construction", "demo-smollm2"]) == 0
    said = capsys.readouterr().out
    assert "unchanged by construction: proven" in said
    assert "an argument from digests, not a measurement" in said


def test_weights_from_a_seed_have_no_upstream(capsys):
    assert run(["gate", "construction", "demo-kimi-k3-tiny", "--output-format", "json"]) == 1
    written = json.loads(capsys.readouterr().out)
    assert written["verdict"] == "refuted"
    assert [one["premise"] for one in written["premises"] if one["verdict"] != "proven"] == ["weights"]


def test_the_claim_rests_on_the_argument_and_is_filed_once(tmp_path, capsys):
    words = ["gate", "construction", "demo-smollm2", "-o", str(tmp_path / "out"), "--root", str(tmp_path)]
    assert [run(words), run(words)] == [0, 0]
    state = open_repository(tmp_path).ledger.standing("demo-smollm2/construction")
    assert isinstance(state, Standing)
    assert state.claim.text == "unchanged by construction"
    assert "claimed: demo-smollm2/construction" in capsys.readouterr().out
    assert run(["evidence", "check", str(tmp_path)]) == 0


def test_what_does_not_follow_is_kept_and_not_claimed(tmp_path):
    words = ["gate", "construction", "demo-kimi-k3-tiny", "-o", str(tmp_path / "out"), "--root", str(tmp_path)]
    assert run(words) == 1
    assert (tmp_path / "out" / "construction.json").exists()
    assert isinstance(open_repository(tmp_path).ledger.standing("demo-kimi-k3-tiny/construction"), Standing) is False
