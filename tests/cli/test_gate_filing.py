"""Gates whose attempts are filed: what the ledger has of them, and what card and kit then say."""

import json
import zipfile
from pathlib import Path

import pytest
from tests.simulators.logprob_server import Planted, serving

from dayzero.cli.main import run
from dayzero.evidence.ledger import Ledger
from dayzero.evidence.model import RawFile
from dayzero.evidence.state import Standing, Superseded
from dayzero.wiring.store import open_repository

NAME = "demo-kimi-k3-tiny"
SLUG = f"{NAME}/gate-distribution"
SAMPLE = ("--prompts", "30", "--positions", "17", "--context", "12", "--looks", "1", "--seed", "5")
A, SAME, OTHER = Planted(words="vllm"), Planted(words="llamacpp"), Planted(words="llamacpp", shift=0.15)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    return folder


def gate(a: Planted, b: Planted, out: Path, root: Path, *, arm: str = "decode") -> int:
    filed = ("--package", NAME, "--root", str(root), "--margin-flip", "1", "--arm", arm)
    with serving(a) as one, serving(b) as other:
        return run(["gate", "distribution", one.url, other.url, "-o", str(out), *SAMPLE, *filed])


def ledger(root: Path) -> Ledger:
    return open_repository(root).ledger


def document(out: Path, name: str = "gate.json") -> dict:
    return json.loads((out / "attempt-01" / name).read_text())


def test_a_verdict_is_claimed_with_all_that_it_rests_on(root, tmp_path, capsys):
    assert gate(A, SAME, tmp_path / "out", root) == 0
    assert f"claimed: {SLUG}: same (against small on vllm" in capsys.readouterr().out
    state = ledger(root).standing(SLUG)
    assert isinstance(state, Standing)
    assert (state.claim.value, state.claim.label.rpartition("; ")[2]) == ("same", "the first attempt, at alpha 0.05")
    filed = document(tmp_path / "out")["filed_as"]
    names = {record.name.removeprefix(f"{filed}/") for record in ledger(root).raw_files().values()}
    raw = {f"raw/decode-{name}.jsonl" for name in ("A1", "A2", "B1", "B2", "positive")}
    assert names == {"plan.json", "gate.json", "receipt.json", "attempts.jsonl", "raw/probe.jsonl", *raw}
    assert run(["evidence", "check", str(root)]) == 0


def test_a_repeated_attempt_is_seen_from_any_folder_and_has_half_of_the_error_left(root, tmp_path, capsys):
    assert gate(A, OTHER, tmp_path / "first", root, arm="prefill") == 1
    capsys.readouterr()
    assert gate(A, SAME, tmp_path / "second", root) == 0
    assert "attempt    2, in " in (out := capsys.readouterr().out)
    assert "; before it: different" in out
    assert document(tmp_path / "second")["earlier_attempts"] == ["different"]
    assert document(tmp_path / "second", "plan.json")["plan"]["alpha"] == 0.025
    before, now = ledger(root).history(SLUG)
    assert isinstance(before, Superseded)
    assert isinstance(now, Standing)
    assert [state.claim.value for state in (before, now)] == ["different", "same"]
    assert now.claim.label.endswith("attempt 2, at alpha 0.025; before it: different")


def test_an_attempt_that_was_killed_as_its_captures_began_counts(root, tmp_path, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr("dayzero.wiring.gate.run", _killed)
        with pytest.raises(SystemExit):
            gate(A, OTHER, tmp_path / "first", root)
    assert [type(entry.record) for entry in ledger(root).entries] == [RawFile]
    gate(A, SAME, tmp_path / "second", root)
    assert document(tmp_path / "second")["earlier_attempts"] == ["did not end"]
    assert document(tmp_path / "second", "plan.json")["plan"]["alpha"] == 0.025


def _killed(*_: object) -> None:
    raise SystemExit


def test_an_attempt_that_compared_nothing_is_filed_and_spends_nothing(root, tmp_path):
    assert gate(A, Planted(words="llamacpp", logprobs=False), tmp_path / "first", root) == 3
    state = ledger(root).standing(SLUG)
    assert isinstance(state, Standing)
    assert (state.claim.value, "B: the answer carries no log-probabilities" in state.claim.label) == ("undecided", True)
    gate(A, SAME, tmp_path / "second", root)
    assert document(tmp_path / "second")["earlier_attempts"] == ["undecided"]
    assert gate(A, Planted(words="llamacpp", logprobs=False), tmp_path / "third", root) == 3
    last = ledger(root).standing(SLUG)
    assert isinstance(last, Standing)
    assert last.claim.label.endswith("; before it: undecided, same")
    assert document(tmp_path / "second", "plan.json")["plan"]["alpha"] == 0.05


def test_an_attempt_in_folder_and_ledger_is_counted_once(root, tmp_path):
    with serving(A) as one, serving(OTHER) as other:
        words = ["gate", "distribution", one.url, other.url, "-o", str(tmp_path), *SAMPLE, "--arm", "decode"]
        filed = ["--package", NAME, "--root", str(root)]
        assert [run([*words, *filed]), run([*words, *filed]), run(words)] == [3, 3, 3]
    found = json.loads((tmp_path / "attempt-03" / "gate.json").read_text())
    assert (found["filed_as"], found["earlier_attempts"]) == (None, ["unsound", "unsound"])
    assert json.loads((tmp_path / "attempt-02" / "gate.json").read_text())["earlier_attempts"] == ["unsound"]


def test_an_interrupted_attempt_ends_where_it_was_begun(root, tmp_path, capsys):
    with serving(A) as one, serving(SAME) as other:
        words = [
            "gate",
            "distribution",
            one.url,
            other.url,
            "-o",
            str(tmp_path / "out"),
            *SAMPLE,
            "--margin-flip",
            "1",
            "--arm",
            "decode",
        ]
        filed = ["--package", NAME, "--root", str(root)]
        run([*words, *filed])
        book, evidence = tmp_path / "out" / "attempts.jsonl", open_repository(root).ledger_file
        for file in (book, evidence):
            file.write_bytes(file.read_bytes().splitlines(keepends=True)[0])
        assert run([*words, "--resume"]) == 2
        assert "attempt 1, which was interrupted, is filed as" in capsys.readouterr().err
        assert run([*words, *filed, "--resume"]) == 0
    assert [type(state) for state in ledger(root).history(SLUG)] == [Standing]
    assert document(tmp_path / "out")["earlier_attempts"] == []


def test_another_engine_than_the_packages_is_refused_before_anything_counts(root, tmp_path, capsys):
    assert gate(A, A, tmp_path / "out", root) == 2
    assert f"error: B is vllm, and {NAME} runs llamacpp" in capsys.readouterr().err
    assert ledger(root).entries == ()
    assert not (tmp_path / "out" / "attempts.jsonl").exists()


@pytest.mark.parametrize("words", [("--package", NAME), ("--root", ".")])
def test_a_package_and_a_repository_go_together(words, tmp_path, capsys):
    gates = ("http://127.0.0.1:9", "http://127.0.0.1:9", "-o", str(tmp_path))
    assert run(["gate", "distribution", *gates, *words]) == 2
    assert run(["gate", "task", *gates, "--tasks", "t", "--skip", "no", *words]) == 2
    assert "--package and --root go together" in capsys.readouterr().err


def skip(root: Path, out: Path, reason: str) -> int:
    filed = ("--package", NAME, "--root", str(root))
    return run(["gate", "task", "http://a", "http://b", "--tasks", "t", "--skip", reason, "-o", str(out), *filed])


def test_a_skipped_gate_is_skipped_in_card_and_receipt_with_the_reason_that_was_given(root, tmp_path):
    assert gate(A, SAME, tmp_path / "out", root) == 0
    assert skip(root, tmp_path / "task", "no task fits random weights") == 3
    assert run(["kit", "build", NAME, "--evidence", str(root / "evidence"), "-o", str(tmp_path / "dist")]) == 0
    (archive,) = (tmp_path / "dist").glob("*.kit.zip")
    with zipfile.ZipFile(archive) as kit:
        assert "no task fits random weights" in kit.read("CARD.md").decode()
    draft = json.loads(archive.with_suffix(".draft.json").read_text())
    receipts = [each["predicate"]["gates"] for each in draft["statements"] if "gates" in each["predicate"]]
    assert receipts
    for gates in receipts:
        assert [(each["gate"], each["verdict"]) for each in gates[:2]] == [
            ("distribution gate", "same"),
            ("task gate", "skipped"),
        ]
        assert gates[1]["reason"] == "no task fits random weights"
