import json
import os
from pathlib import Path

import pytest
from inline_snapshot import snapshot

from dayzero.cli.main import run
from dayzero.core.pins import Sha256

_LOG = "started\nsingle stream p50 140.30 tok/s\nsingle stream p90 151.0 tok/s\n"
_JSON = '{"p50": {"tok_s": 140.4249}}\n'
_ROWS = '{"run": 1, "ms": 12.5}\n{"run": 2, "ms": 13.25}\n'
_TABLE = "cell,p50_ms\nc1,41.7\nc4,96.25\n"


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "results").mkdir()
    for name, text in (("run.log", _LOG), ("run.json", _JSON), ("rows.jsonl", _ROWS), ("cells.csv", _TABLE)):
        (tmp_path / "results" / name).write_text(text)
        os.utime(tmp_path / "results" / name, (1785412800, 1785412800))
    (tmp_path / "evidence.toml").write_text('pages = ["*.md"]\nraw = ["results/*"]\n')
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _claim(slug: str, file: str, *words: str) -> int:
    return run(["evidence", "claim", slug, "--file", f"results/{file}", "--label", "a rate", *words])


def test_the_claim_says_what_was_found_and_how_to_cite_it(tree: Path, capsys: pytest.CaptureFixture[str]):
    assert _claim("k3/p50", "run.log", "--pattern", r"p50 (\S+)", "--unit", "tok/s", "--in-place") == 0
    printed = capsys.readouterr().out
    assert printed == snapshot("""\
k3/p50: 140.30 tok/s
  found at   results/run.log:2
  ledger     line 2
  Markdown   <!--claim k3/p50-->140.30 tok/s<!--/claim-->
  HTML       <data data-claim="k3/p50" value="140.30">140.30 tok/s</data>
""")
    (tree / "page.md").write_text("Fast: <!--claim k3/p50-->140.30 tok/s<!--/claim-->\n")
    assert run(["evidence", "check"]) == 0
    assert not (tree / "evidence" / "raw").exists()


@pytest.mark.parametrize(
    ("file", "words", "value"),
    [
        ("run.log", ["--line", "3", "--pattern", r"p\d\d (\S+)"], "151.0"),
        ("run.json", ["--pointer", "/p50/tok_s"], "140.4249"),
        ("run.json", ["--pointer", "/p50/tok_s", "--decimals", "1"], "140.4"),
        ("rows.jsonl", ["--line", "2", "--pointer", "/ms"], "13.25"),
        ("cells.csv", ["--csv", "cell=c4", "p50_ms"], "96.25"),
        ("cells.csv", ["--csv", "cell=c4", "p50_ms", "--decimals", "1"], "96.2"),
        ("run.log", ["--extractor", "text-count@1", "--parameter", "pattern=stream"], "2"),
    ],
)
def test_a_value_is_found_in_each_kind_of_file(tree: Path, capsys: pytest.CaptureFixture[str], file, words, value):
    assert _claim("k3/x", file, *words, "--output-format", "json") == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["kind"], document["claim"]["value"], document["new"]) == ("filed", value, True)
    assert len(list((tree / "evidence" / "raw").iterdir())) == 1
    assert run(["evidence", "check"]) == 0


@pytest.mark.parametrize(
    ("file", "words", "said"),
    [
        ("run.log", [], (2, "where is the value? none given")),
        ("run.log", ["--pattern", "(a)", "--pointer", "/a"], (2, "where is the value? --pattern and --pointer given")),
        ("run.log", ["--pattern", "p.. (.*) t"], (2, "--pattern 'p.. (.*) t' matches lines 2, 3")),
        ("run.log", ["--pattern", "(zzz)"], (2, "--pattern '(zzz)' matches no line")),
        ("run.log", ["--pattern", "(zzz"], (2, "--pattern '(zzz' is not a regular expression")),
        ("run.log", ["--pattern", "p50", "--line", "2"], (1, "'p50' has 0 groups, not one")),
        ("run.log", ["--pattern", "(a)", "--line", "9"], (1, "there is no line 9")),
        ("run.json", ["--pointer", "p50"], (2, "not a JSON pointer")),
        ("run.json", ["--pointer", "/p99"], (1, "there is no value at '/p99'")),
        ("cells.csv", ["--csv", "c4", "p50_ms"], (2, "--csv c4: not NAME=VALUE")),
        ("run.log", ["--extractor", "no-such@1"], (1, "the extractor no-such@1 is not installed")),
        ("no.log", ["--pattern", "(a)"], (2, "results/no.log cannot be read: No such file or directory")),
        ("run.log", ["--pattern", "p50 (.*) t", "--unit", "a\nb"], (2, "the unit of claim k3/x cannot be cited")),
        ("run.log", ["--pattern", "p50 (.*) t", "--subject", "no"], (2, "no cannot be read")),
    ],
)
def test_what_cannot_be_claimed_is_said_and_nothing_is_written(
    tree: Path, capsys: pytest.CaptureFixture[str], file, words, said
):
    code, message = said
    assert _claim("k3/x", file, *words) == code
    assert capsys.readouterr().err.startswith(f"error: {message}")
    assert not (tree / "evidence").exists()


def test_the_same_claim_again_is_not_filed_twice(tree: Path, capsys: pytest.CaptureFixture[str]):
    for _ in range(2):
        assert _claim("k3/p50", "run.log", "--pattern", r"p50 (\S+)") == 0
    assert "ledger     line 2, where it stood already" in capsys.readouterr().out
    assert len((tree / "evidence" / "ledger.jsonl").read_text().splitlines()) == 2


def test_a_file_that_was_edited_where_it_lies_is_not_filed_over(tree: Path, capsys: pytest.CaptureFixture[str]):
    assert _claim("k3/p50", "run.json", "--pointer", "/p50/tok_s", "--in-place") == 0
    (tree / "results" / "run.json").write_text(_JSON.replace("140", "151"))
    assert _claim("k3/p50", "run.json", "--pointer", "/p50/tok_s", "--in-place") == 2
    assert "was filed before with other bytes" in capsys.readouterr().err
    assert run(["evidence", "check"]) == 1
    (tree / "results" / "run.json").write_text(_JSON)
    assert run(["evidence", "check"]) == 0


def test_a_file_is_left_where_it_lies_only_as_the_policy_allows(tree: Path, capsys: pytest.CaptureFixture[str]):
    (tree / "evidence.toml").write_text('raw = ["other/*"]')
    assert _claim("k3/p50", "run.json", "--pointer", "/p50/tok_s", "--in-place") == 2
    assert "no pattern of 'raw' in evidence.toml names results/run.json" in capsys.readouterr().err


def test_a_link_out_of_the_repository_is_not_followed(tree: Path):
    assert _claim("k3/p50", "run.json", "--pointer", "/p50/tok_s", "--in-place") == 0
    outside = tree.parent / "outside.json"
    outside.write_text(_JSON)
    (tree / "results" / "run.json").unlink()
    (tree / "results" / "run.json").symlink_to(outside)
    assert run(["evidence", "check"]) == 1


def test_the_subject_and_the_time_of_the_file_are_recorded(tree: Path, capsys: pytest.CaptureFixture[str]):
    (tree / "config.yaml").write_text("threads: 8\n")
    words = ["--pattern", r"p50 (\S+)", "--subject", "config.yaml", "--command", "bench > run.log"]
    assert _claim("k3/p50", "run.log", *words) == 0
    assert run(["evidence", "show", "k3/p50"]) == 0
    shown = capsys.readouterr().out
    assert "captured   2026-07-30T12:00:00Z, 69 B, by: bench > run.log" in shown
    assert f"subject    {Sha256.of((tree / 'config.yaml').read_bytes())}" in shown


def test_a_claim_that_was_read_wrongly_is_corrected_on_the_record(tree: Path, capsys: pytest.CaptureFixture[str]):
    assert tree
    assert _claim("k3/p50", "run.log", "--pattern", r"p90 (\S+)") == 0
    assert _claim("k3/p50", "run.log", "--pattern", r"p50 (\S+)", "--corrects", "the line of p90 was read") == 0
    capsys.readouterr()
    assert run(["evidence", "show", "k3/p50"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("k3/p50: 140.30\n")
    assert "the line of p90 was read" in shown
    assert _claim("k3/p50", "cells.csv", "--csv", "cell=c4", "p50_ms", "--corrects", "another file") == 2
    assert _claim("k3/new", "run.log", "--pattern", r"p50 (\S+)", "--corrects", "nothing yet") == 2


def test_what_was_not_measured_is_said_once(tree: Path, capsys: pytest.CaptureFixture[str]):
    for _ in range(2):
        assert run(["evidence", "not-measured", "vision", "--why", " no image was sent "]) == 0
    assert capsys.readouterr().out.splitlines() == ["vision: not measured: no image was sent"] * 2
    assert len((tree / "evidence" / "ledger.jsonl").read_text().splitlines()) == 1
    assert run(["evidence", "not-measured", "vision", "--why", " "]) == 2
    assert run(["evidence", "not-measured", "vision", "--why", "x", "--output-format", "json"]) == 0
