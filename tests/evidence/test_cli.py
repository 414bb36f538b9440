import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from inline_snapshot import snapshot
from tests.evidence.samples import CAUSE, OFF, ON, on_claim, retraction, seeds_world

from dayzero.adapters.evidence_folder import EvidenceFolder
from dayzero.cli.main import run
from dayzero.evidence.ledger import file_records
from dayzero.wiring.definitions import packages


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put the seeds' world on disk, and stand in it."""
    world = seeds_world()
    folder = EvidenceFolder(tmp_path / "evidence")
    for content in world.raw.files.values():
        folder.raw.put(content)
    folder.ledger.transact(lambda _: world.ledger)
    for name, text in world.pages.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def _raw(tree: Path, index: int) -> Path:
    return tree / "evidence" / "raw" / [digest.hex for digest in seeds_world().raw_digests()][index]


def _shorten(text: str) -> str:
    for index, digest in enumerate(seeds_world().raw_digests()):
        text = text.replace(digest.hex, f"RAW{index}")
    return text


def test_a_clean_tree_exits_0(tree: Path, capsys: pytest.CaptureFixture[str]):
    assert run(["evidence", "check"]) == 0
    assert capsys.readouterr().out == snapshot("""\
proven: every claim that stands was extracted or computed again, and every citation says what it says
checked: 3 standing claims, 2 raw files, 2 pages, 5 citations, 1 quoted block
""")
    assert run(["evidence", "check", str(tree)]) == 0


def test_a_changed_raw_digit_exits_1_and_names_every_page_that_cites_it(tree: Path, capsys: pytest.CaptureFixture[str]):
    _edit(_raw(tree, 0), "140.30", "140.31")
    assert run(["evidence", "check"]) == 1
    assert _shorten(capsys.readouterr().out) == snapshot("""\
wa8r8-comparison.md: evidence/raw/RAW0: the raw file wa8r8-comparison.md was changed: its SHA-256 is 29efe05ccd7b8f491eaafd8d47df0470957b90882020474ec33b90498656a70f now [raw-changed]
    see README.md:3
    see README.md:5
    see README.md:12
    see site/index.html:4
wa8r8-comparison.md: evidence/raw/RAW0:3: the claim k3/autotune-off-tok-s (140.30 tok/s) does not come out of wa8r8-comparison.md: line 3 is not the line that was pointed at: 'arm B: single stream p50 140.31 tok/s' stands there [claim-unsupported]
    see evidence/ledger.jsonl:3
    see README.md:3
    see site/index.html:4
README.md:5: the quote differs from wa8r8-comparison.md lines 2-3, first at line 3 [quote-differs]
refuted: 3 findings
checked: 3 standing claims, 2 raw files, 2 pages, 5 citations, 1 quoted block
""")


def test_a_broken_chain_exits_4(tree: Path, capsys: pytest.CaptureFixture[str]):
    _edit(tree / "evidence" / "ledger.jsonl", "140.30", "140.31")
    assert run(["evidence", "check"]) == 4
    assert capsys.readouterr().err == snapshot("""\
error: evidence/ledger.jsonl:3: the line was changed after it was written
hint: Take the file from the last commit that had it whole; its lines are only ever added to.
""")


def test_nothing_to_check_exits_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "README.md").write_text("12 ms")
    assert run(["evidence", "check", str(tmp_path)]) == 3
    captured = capsys.readouterr()
    assert captured.out == snapshot("""\
undecided: nothing was checked: the ledger holds no claim
checked: 0 standing claims, 0 raw files, 0 pages, 0 citations, 0 quoted blocks
""")
    assert captured.err.replace(str(tmp_path), "ROOT") == snapshot(
        "There is no evidence in ROOT/evidence, so its pages were not read.\n"
    )


def test_a_root_that_is_not_there_exits_2(tmp_path: Path):
    assert run(["evidence", "check", str(tmp_path / "no")]) == 2
    assert run(["evidence", "show", "a", str(tmp_path / "no")]) == 2
    assert run(["evidence", "show", "a", str(tmp_path)]) == 2
    assert run(["evidence", "retract", "a", str(tmp_path), "--why", "x"]) == 2
    assert list(tmp_path.iterdir()) == []


def test_a_further_page_can_be_named(tree: Path, capsys: pytest.CaptureFixture[str]):
    (tree / "card.html").write_text("<p>\n12 ms")
    (tree / "post.md").write_text("13 ms")
    assert run(["evidence", "check", "--page", "card.html", "--page", "post.md"]) == 1
    out = capsys.readouterr().out
    assert "card.html:2: '12 ms' cites no claim" in out
    assert "post.md:1: '13 ms' cites no claim" in out
    assert run(["evidence", "check", "--page", "no.html"]) == 2


def test_the_check_as_json(tree: Path, capsys: pytest.CaptureFixture[str]):
    _edit(tree / "README.md", "-->140.42", "-->140.43")
    assert run(["evidence", "check", "--output-format", "json"]) == 1
    assert json.loads(capsys.readouterr().out) == snapshot(
        {
            "schema": "dayzero/evidence/v1",
            "kind": "check",
            "verdict": "refuted",
            "reason": "1 finding",
            "checked": {
                "raw_files": 2,
                "claims": 3,
                "standing": 3,
                "pages": 2,
                "citations": 5,
                "quotes": 1,
                "explanations": 0,
            },
            "findings": [
                {
                    "kind": "citation-differs",
                    "reason": "the page says '140.43 tok/s', the claim k3/autotune-on-tok-s says '140.42 tok/s'",
                    "places": [
                        {"artifact": "", "file": "README.md", "position": "line 3", "quote": ""},
                        {"artifact": "", "file": "evidence/ledger.jsonl", "position": "line 4", "quote": ""},
                    ],
                }
            ],
        }
    )


def test_show_quotes_the_raw_line(tree: Path, capsys: pytest.CaptureFixture[str]):
    assert tree
    assert run(["evidence", "show", OFF]) == 0
    assert _shorten(capsys.readouterr().out) == snapshot("""\
k3/autotune-off-tok-s: 140.30 tok/s
  single stream, median
  state      standing, claimed at evidence/ledger.jsonl:3
  raw file   wa8r8-comparison.md: evidence/raw/RAW0:3
  there      arm B: single stream p50 140.30 tok/s
  captured   2026-07-30T12:00:00Z, 139 B, by: bench > wa8r8-comparison.md
  extractor  text-line@1, pattern = p50 (\\d+\\.\\d+) tok/s
  subject    abababababababababababababababababababababababababababababababab
""")


def test_show_tells_the_history(tree: Path, capsys: pytest.CaptureFixture[str]):
    file_records(EvidenceFolder(tree / "evidence").ledger, lambda _: (on_claim(), retraction(ON)))
    assert run(["evidence", "show", ON]) == 1
    assert _shorten(capsys.readouterr().out) == snapshot("""\
k3/autotune-on-tok-s: 140.42 tok/s
  single stream, median
  state      withdrawn 2026-08-02T09:00:00Z at evidence/ledger.jsonl:7: the confirming experiment failed (claimed at evidence/ledger.jsonl:6)
  raw file   blocklist-single-stream.json: evidence/raw/RAW1:4
  there          "p50_tok_s": 140.42,
  captured   2026-07-30T12:00:00Z, 113 B, by: bench > blocklist-single-stream.json
  extractor  json-value@1
  subject    abababababababababababababababababababababababababababababababab
  before     140.42 tok/s, superseded by line 6, claimed at evidence/ledger.jsonl:4
""")


def test_show_as_json(tree: Path, capsys: pytest.CaptureFixture[str]):
    assert tree
    assert run(["evidence", "show", ON, "--output-format", "json"]) == 0
    assert json.loads(_shorten(capsys.readouterr().out)) == snapshot(
        {
            "schema": "dayzero/evidence/v1",
            "kind": "claim",
            "state": "standing",
            "flags": [],
            "type": "claim",
            "claim": {
                "slug": "k3/autotune-on-tok-s",
                "label": "single stream, median",
                "value": "140.42",
                "unit": "tok/s",
                "raw": "RAW1",
                "locator": {"kind": "pointer", "pointer": "/single_stream/p50_tok_s"},
                "extraction": {"extractor": "json-value@1", "parameters": []},
                "subject": "abababababababababababababababababababababababababababababababab",
                "text": "140.42 tok/s",
            },
            "backed": True,
            "place": {
                "artifact": "blocklist-single-stream.json",
                "file": "evidence/raw/RAW1",
                "position": "line 4",
                "quote": '    "p50_tok_s": 140.42,',
            },
            "raw": {
                "sha256": "RAW1",
                "name": "blocklist-single-stream.json",
                "size": 113,
                "captured_at": "2026-07-30T12:00:00Z",
                "command": "bench > blocklist-single-stream.json",
            },
            "formula": "",
            "rests_on": [],
            "trials": [],
            "unbacked": "",
            "history": [{"state": "standing", "line": 4, "text": "140.42 tok/s", "flags": []}],
        }
    )


def test_show_without_the_raw_file_still_tells_the_claim(tree: Path, capsys: pytest.CaptureFixture[str]):
    _raw(tree, 0).unlink()
    assert run(["evidence", "show", OFF]) == 1
    out = capsys.readouterr().out
    assert out.startswith(f"{OFF}: 140.30 tok/s\n")
    assert "NOT BACKED: there is no raw file evidence/raw/" in out


def test_show_of_a_mistyped_slug_names_the_nearest(tree: Path, capsys: pytest.CaptureFixture[str]):
    assert tree
    assert run(["evidence", "show", "k3/autotune-of-tok-s"]) == 2
    assert capsys.readouterr().err.startswith("error: no claim is called 'k3/autotune-of-tok-s'\nhint: Did you mean")


def test_retract_appends_and_shows_what_changes_on_which_lines(tree: Path, capsys: pytest.CaptureFixture[str]):
    before = (tree / "evidence" / "ledger.jsonl").read_bytes()
    words = ["evidence", "retract", CAUSE, "--why", "the confirming experiment failed", "--withdraw"]
    assert run([*words, "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert (tree / "evidence" / "ledger.jsonl").read_bytes() == before
    assert run(words) == 0
    printed = capsys.readouterr().out
    assert printed == snapshot("""\
k3/capture-crash-cause is withdrawn: the confirming experiment failed (evidence/ledger.jsonl:6)
k3/capture-crash-cause: 'failed autotune tactics poison the CUDA context' -> withdrawn
    README.md:12: prints 'failed autotune tactics poison the CUDA context' and has to change
Change the pages, build cards and site again, then run 'dayzero evidence check'.
""")
    assert shown == printed.replace(" is withdrawn", " would be withdrawn").replace(" (evidence/ledger.jsonl:6)", "")
    after = (tree / "evidence" / "ledger.jsonl").read_bytes()
    assert after.startswith(before)
    assert b'"kind":"withdraw"' in after[len(before) :]
    assert run(["evidence", "check"]) == 1
    assert "README.md:12: the page cites k3/capture-crash-cause, which was withdrawn on" in capsys.readouterr().out
    assert run(["evidence", "show", OFF]) == 0
    assert run(["evidence", "show", ON]) == 0


def test_retract_names_the_cards_that_read_the_claim(tree: Path, capsys: pytest.CaptureFixture[str]):
    package = Path(__file__).parents[2] / "packages" / "demo-smollm2" / "package.toml"
    (tree / "packages" / "demo-smollm2").mkdir(parents=True)
    (tree / "packages" / "demo-smollm2" / "package.toml").write_bytes(package.read_bytes())
    (definition,) = packages(tree / "packages")
    slug = definition.slug(definition.claims[1])
    file_records(EvidenceFolder(tree / "evidence").ledger, lambda _: (replace(on_claim(), slug=slug),))
    assert run(["evidence", "retract", slug, "--why", "x", "--output-format", "json"]) == 0
    (change,) = json.loads(capsys.readouterr().out)["changes"]
    (card,) = change["cards"]
    line = int(card["position"].removeprefix("line "))
    below = package.read_text().splitlines()[line - 1 : line + 2]
    assert (card["file"], change["after"]) == ("packages/demo-smollm2/package.toml", "retracted")
    assert f'id = "{definition.claims[1].id}"' in "\n".join(below)


def test_a_claim_under_concern_stands_with_a_flag_until_it_is_reaffirmed(
    tree: Path, capsys: pytest.CaptureFixture[str]
):
    assert tree
    assert run(["evidence", "concern", ON, "--why", "the clock is looked at"]) == 0
    assert capsys.readouterr().out == snapshot("""\
k3/autotune-on-tok-s is under concern: the clock is looked at (evidence/ledger.jsonl:6)
k3/autotune-on-tok-s: '140.42 tok/s' -> '140.42 tok/s', under concern
    README.md:3: prints '140.42 tok/s' and may say so
    site/index.html:5: prints '140.42 tok/s' and may say so
Change the pages, build cards and site again, then run 'dayzero evidence check'.
""")
    assert run(["evidence", "check"]) == 0
    assert run(["evidence", "concern", ON, "--why", "again"]) == 2
    assert run(["evidence", "reaffirm", ON, "--why", "it was right", "--output-format", "json"]) == 0
    assert run(["evidence", "reaffirm", ON, "--why", "twice"]) == 2
    assert run(["evidence", "expire", ON, "--why", "the wheel was yanked"]) == 0
    capsys.readouterr()
    assert run(["evidence", "show", ON]) == 0
    assert "not reproducible" in capsys.readouterr().out


def test_a_page_that_cannot_be_read_keeps_an_event_from_being_written(tree: Path):
    before = (tree / "evidence" / "ledger.jsonl").read_bytes()
    (tree / "packages" / "x").mkdir(parents=True)
    (tree / "packages" / "x" / "package.toml").write_text("name = 3")
    assert run(["evidence", "retract", ON, "--why", "x"]) == 2
    assert (tree / "evidence" / "ledger.jsonl").read_bytes() == before


def test_retracting_what_is_not_there_or_without_a_reason_appends_nothing(tree: Path):
    before = (tree / "evidence" / "ledger.jsonl").read_bytes()
    assert run(["evidence", "retract", "k3/no-such", "--why", "x"]) == 2
    assert run(["evidence", "retract", OFF, "--why", " "]) == 2
    assert run(["evidence", "retract", OFF]) == 2
    assert (tree / "evidence" / "ledger.jsonl").read_bytes() == before


def test_retract_says_that_a_half_line_was_moved(tree: Path, capsys: pytest.CaptureFixture[str]):
    with (tree / "evidence" / "ledger.jsonl").open("ab") as stream:
        stream.write(b'{"half')
    assert run(["evidence", "check"]) == 1
    assert "evidence/ledger.jsonl:6: the last line was not written to its end" in capsys.readouterr().out
    assert run(["evidence", "retract", OFF, "--why", "x"]) == 0
    assert capsys.readouterr().err == "A half line at the end of the ledger was moved to evidence/ledger.torn-1.\n"


def test_the_check_reads_a_tree_that_may_not_be_written(tree: Path):
    shutil.copytree(tree, tree / "copy", ignore=shutil.ignore_patterns("copy"))
    for folder, _, files in os.walk(tree / "copy"):
        for file in files:
            Path(folder, file).chmod(0o444)
        Path(folder).chmod(0o555)
    try:
        assert run(["evidence", "check", "copy"]) == 0
    finally:
        for folder, _, _ in os.walk(tree / "copy"):
            Path(folder).chmod(0o755)
