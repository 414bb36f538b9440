"""``dayzero evidence trials`` as a user types it."""

import json
from pathlib import Path

import pytest
from tests.evidence.trials import capture_crash, series

from dayzero.cli.main import run
from dayzero.evidence.ledger import file_records
from dayzero.evidence.model import Explanation, Record, Retraction, Trial
from dayzero.wiring import store

CRASH = "k3/capture-crash-cause"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    file(tmp_path, capture_crash())
    return tmp_path


def file(root: Path, *records: Record) -> None:
    file_records(store.evidence_folder(root / "evidence").ledger, lambda _: records)


def explain(*trials: Trial, slug: str = "k3/cause") -> Explanation:
    return Explanation(slug=slug, statement="Because.", facts=("k3/fact",), trials=trials)


def test_the_capture_crash_is_unsupported_and_the_table_shows_what_changed(root, capsys):
    assert run(["evidence", "trials", CRASH, str(root)]) == 1
    assert capsys.readouterr().out == (
        "k3/capture-crash-cause: Failed autotune tactics poison the CUDA context.\n"
        "  trial      outcome          autotune  window\n"
        "  wa8r5      died at capture  on        first\n"
        "  wa8r8      served           off       second\n"
        "  blocklist  served           on        third\n"
        "  changed: autotune, window; equal in all: blocklist=none\n"
        "  autotune: confounded: one failure and two successes across two differing conditions attribute nothing: "
        "autotune never changed alone, window changed with it\n"
        "  window: unreplicated: one failure and two successes across two differing conditions attribute nothing: "
        "window changed alone at autotune=on, blocklist=none, with one trial of window=first and window=third\n"
        "unsupported: one failure and two successes across two differing conditions attribute nothing: "
        "autotune never changed alone, window changed with it\n"
    )


def test_a_plan_says_how_many_starts_would_settle_it(root, capsys):
    assert run(["evidence", "trials", CRASH, str(root), "--factor", "autotune", "--plan"]) == 1
    printed = capsys.readouterr().out
    assert (
        "plan for autotune:\n  - start 12 times with autotune=on and 12 times with autotune=off: 24 starts\n" in printed
    )


@pytest.mark.parametrize(
    ("trials", "code", "word"),
    [
        ((*series("a", 4, "crash", f="on"), *series("b", 4, "served", f="off")), 0, "supported"),
        ((*series("a", 3, "crash", f="on"), *series("b", 3, "served", f="off")), 1, "unsupported"),
        ((*series("a", 1, "crash", f="on"), *series("b", 1, "served", f="off")), 3, "undecided"),
        ((), 3, "undecided"),
    ],
)
def test_the_exit_code_is_the_answer(trials, code, word, tmp_path, capsys):
    file(tmp_path, explain(*trials))
    assert run(["evidence", "trials", "k3/cause", str(tmp_path)]) == code
    assert f"\n{word}: " in capsys.readouterr().out


def test_the_json_carries_table_answers_and_plan(root, capsys):
    assert run(["evidence", "trials", CRASH, str(root), "--plan", "--output-format", "json"]) == 1
    printed = json.loads(capsys.readouterr().out)
    assert printed["schema"] == "dayzero/trials/v1"
    assert (printed["verdict"], printed["changed"]) == ("unsupported", ["autotune", "window"])
    assert printed["trials"][0]["conditions"] == {"autotune": "on", "blocklist": "none", "window": "first"}
    assert [(each["factor"], each["answer"]) for each in printed["answers"]] == [
        ("autotune", "confounded"),
        ("window", "unreplicated"),
    ]
    assert printed["answers"][0]["together"] == ["window"]
    assert (printed["plans"][0]["repeats"], printed["plans"][0]["starts"]) == (12, 24)
    assert printed["plans"][0]["held"] == {"blocklist": "none", "window": "first"}


def test_a_withdrawn_explanation_says_so_before_its_trials(root, capsys):
    file(root, Retraction(slug=CRASH, kind="withdraw", reason="the confirming run served", at="2026-08-02T09:00:00Z"))
    assert run(["evidence", "trials", CRASH, str(root)]) == 1
    assert "\nwithdrawn on 2026-08-02T09:00:00Z: the confirming run served\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        (["k3/capture-crash"], "no explanation is called 'k3/capture-crash'", "Did you mean k3/capture-crash-cause?"),
        ([CRASH, "--factor", "autotun"], "no trial names a factor 'autotun'", "Name one of: autotune."),
        ([CRASH, "--outcome", "hung"], "no trial ended in 'hung'", "Name one of: died at capture, served."),
    ],
)
def test_what_is_not_there_is_bad_input_with_the_nearest_name(words, error, hint, root, capsys):
    assert run(["evidence", "trials", words[0], str(root), *words[1:]]) == 2
    printed = capsys.readouterr()
    assert printed.err == f"error: {error}\nhint: {hint}\n"
    assert printed.out == ""
