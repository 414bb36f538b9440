"""``dayzero evidence explain`` as a user types it: a cause is filed with its trials, whatever they support."""

from pathlib import Path

import pytest

from dayzero.cli.main import run
from dayzero.evidence.locator import LineLocator, PointerLocator, WholeFile
from dayzero.evidence.model import Explanation
from dayzero.evidence.state import Standing, Unsupported
from dayzero.wiring import store

FACTS = 'facts = ["k3/on"]\n'
HEAD = 'slug = "k3/cause"\nstatement = "Failed autotune tactics poison the CUDA context."\n'
TRIALS = """
[[trial]]
name = "wa8r5"
outcome = "died at capture"
file = "raw/armB.log"
line = 2
conditions = { autotune = "on", window = "first" }

[[trial]]
name = "wa8r8"
outcome = "served"
file = "raw/comparison.md"
conditions = { autotune = "off", window = "second" }

[[trial]]
name = "blocklist"
outcome = "served"
file = "raw/stream.json"
pointer = "/p50"
conditions = { autotune = "on", window = "third" }
"""


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "raw").mkdir()
    (tmp_path / "raw" / "armB.log").write_bytes(b"autotune\nError: cudaErrorIllegalState\n")
    (tmp_path / "raw" / "comparison.md").write_bytes(b"served\n")
    (tmp_path / "raw" / "stream.json").write_bytes(b'{"p50": 140.42}\n')
    monkeypatch.chdir(tmp_path)
    words = ["evidence", "claim", "k3/on", "--file", "raw/stream.json", "--label", "on", "--pointer", "/p50"]
    assert run(words) == 0
    return tmp_path


def explain(root: Path, text: str) -> int:
    (root / "cause.toml").write_text(text, encoding="utf-8")
    return run(["evidence", "explain", "cause.toml"])


def standing(root: Path) -> object:
    return store.open_repository(root).ledger.standing("k3/cause")


def test_a_cause_is_filed_with_its_trials_and_told_at_once_what_they_support(root, capsys):
    capsys.readouterr()
    assert explain(root, HEAD + FACTS + TRIALS) == 0
    assert capsys.readouterr().out == (
        "k3/cause: Failed autotune tactics poison the CUDA context.\n"
        "unsupported: one failure and two successes across two differing conditions attribute nothing: "
        "autotune never changed alone, window changed with it\n"
        "To see what would settle it: dayzero evidence trials k3/cause --plan\n"
    )
    state = standing(root)
    assert isinstance(state, Standing)
    assert isinstance(state.claim, Explanation)
    crashed, whole, pointed = (trial.locator for trial in state.claim.trials)
    assert isinstance(crashed, LineLocator)
    assert (crashed.line, whole, pointed) == (2, WholeFile(), PointerLocator(pointer="/p50"))
    names = {raw.name for raw in store.open_repository(root).ledger.raw_files().values()}
    assert names == {"raw/armB.log", "raw/comparison.md", "raw/stream.json"}
    assert run(["evidence", "check"]) == 0
    assert run(["evidence", "trials", "k3/cause"]) == 1


def test_filing_the_same_cause_again_appends_nothing(root):
    assert explain(root, HEAD + FACTS + TRIALS) == 0
    before = (root / "evidence" / "ledger.jsonl").read_bytes()
    assert explain(root, HEAD + FACTS + TRIALS) == 0
    assert (root / "evidence" / "ledger.jsonl").read_bytes() == before


def test_withdrawing_the_cause_leaves_the_fact_and_withdrawing_the_fact_leaves_the_cause_unsupported(root):
    assert explain(root, HEAD + FACTS + TRIALS) == 0
    assert run(["evidence", "retract", "k3/cause", "--withdraw", "--why", "one failure and two successes"]) == 0
    assert isinstance(store.open_repository(root).ledger.standing("k3/on"), Standing)
    assert explain(root, HEAD + FACTS + TRIALS) == 0
    assert run(["evidence", "retract", "k3/on", "--withdraw", "--why", "read from the wrong arm"]) == 0
    assert isinstance(standing(root), Unsupported)


@pytest.mark.parametrize(
    ("text", "code", "words"),
    [
        (HEAD + 'facts = ["k3/no"]\n' + TRIALS, 2, "explains what was never claimed: k3/no"),
        (HEAD + FACTS + TRIALS.replace("line = 2", "line = 9"), 1, "the trial wa8r5, raw/armB.log:"),
        (HEAD + FACTS + TRIALS.replace("line = 2", 'line = 2\npointer = "/p"'), 2, "names a line and a pointer"),
        (HEAD + FACTS + TRIALS.replace("/p50", "/p99"), 1, "the trial blocklist, raw/stream.json:"),
        (HEAD + FACTS + TRIALS.replace("armB", "armC"), 2, "raw/armC.log cannot be read"),
        (HEAD + FACTS + TRIALS.replace("outcome", "result", 1), 2, "cause.toml:"),
        (HEAD + "facts = [", 2, "cause.toml:"),
        (HEAD, 2, "explains nothing"),
    ],
)
def test_what_cannot_be_filed_is_said_and_nothing_is_appended(text, code, words, root, capsys):
    ledger, raw = root / "evidence" / "ledger.jsonl", root / "evidence" / "raw"
    before = (ledger.read_bytes(), sorted(raw.iterdir()))
    assert explain(root, text) == code
    assert words in capsys.readouterr().err
    assert (ledger.read_bytes(), sorted(raw.iterdir())) == before
