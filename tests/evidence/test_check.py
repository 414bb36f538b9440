from collections.abc import Callable
from dataclasses import replace

import pytest
from inline_snapshot import snapshot
from tests.evidence.samples import (
    CAUSE,
    COMPARISON,
    EXTRACTORS,
    OFF,
    ON,
    World,
    capture,
    off_claim,
    on_claim,
    retraction,
    seeds_world,
)

from dayzero.core.errors import InputError, IntegrityError
from dayzero.core.pins import Sha256
from dayzero.core.quantities import Bytes
from dayzero.core.verdict import Proven, Refuted, Undecided
from dayzero.evidence.claims import file_raw
from dayzero.evidence.model import NotMeasured
from dayzero.evidence.pages import cite_html, cite_markdown


def test_an_untouched_tree_is_proven():
    report = seeds_world().check()
    assert report.findings == ()
    assert isinstance(report.verdict, Proven)
    assert (report.raw_files, report.claims, report.standing, report.pages, report.citations, report.quotes) == (
        2,
        3,
        3,
        2,
        5,
        1,
    )


def _edit_raw(world: World, index: int, old: bytes, new: bytes) -> None:
    digest = world.raw_digests()[index]
    assert old in world.raw.files[digest]
    world.raw.files[digest] = world.raw.files[digest].replace(old, new, 1)


def _edit_page(world: World, path: str, old: str, new: str) -> None:
    assert old in world.pages[path]
    world.pages[path] = world.pages[path].replace(old, new, 1)


def _swap_values(world: World) -> None:
    """Swap two claims' values and chain the ledger anew, as someone who knows the format would."""
    records = [entry.record for entry in world.parsed().entries]
    off, on = off_claim(), on_claim()
    records[2:4] = [replace(off, value=on.value), replace(on, value=off.value)]
    world.ledger = b""
    world.append(*records)


_MUTATIONS: dict[str, tuple[Callable[[World], None], list[tuple[str, list[str]]]]] = {
    "a digit in a text file": (
        lambda w: _edit_raw(w, 0, b"140.30", b"140.31"),
        [
            ("raw-changed", ["evidence/raw/<0>", "README.md:3", "README.md:5", "README.md:12", "site/index.html:4"]),
            (
                "claim-unsupported",
                ["evidence/raw/<0>:3", "evidence/ledger.jsonl:3", "README.md:3", "site/index.html:4"],
            ),
            ("quote-differs", ["README.md:5"]),
        ],
    ),
    "a digit in a JSON file": (
        lambda w: _edit_raw(w, 1, b"140.42", b"140.43"),
        [
            ("raw-changed", ["evidence/raw/<1>", "README.md:3", "site/index.html:5"]),
            ("claim-differs", ["evidence/raw/<1>:4", "evidence/ledger.jsonl:4", "README.md:3", "site/index.html:5"]),
        ],
    ),
    "a digit that no claim rests on": (
        lambda w: _edit_raw(w, 1, b"140.4400", b"140.4401"),
        [("raw-changed", ["evidence/raw/<1>", "README.md:3", "site/index.html:5"])],
    ),
    "a shifted line": (
        lambda w: _edit_raw(w, 0, b"arm A", b"\narm A"),
        [
            ("raw-changed", ["evidence/raw/<0>", "README.md:3", "README.md:5", "README.md:12", "site/index.html:4"]),
            (
                "claim-unsupported",
                ["evidence/raw/<0>:3", "evidence/ledger.jsonl:3", "README.md:3", "site/index.html:4"],
            ),
            ("claim-unsupported", ["evidence/raw/<0>:4", "evidence/ledger.jsonl:5", "README.md:12"]),
            ("quote-differs", ["README.md:5"]),
        ],
    ),
    "a deleted raw file": (
        lambda w: w.raw.files.pop(w.raw_digests()[1]) and None,
        [("raw-missing", ["evidence/raw/<1>", "README.md:3", "site/index.html:5"])],
    ),
    "a doubled JSON key": (
        lambda w: _edit_raw(w, 1, b'"autotune"', b'"single_stream": {}, "autotune"'),
        [
            ("raw-changed", ["evidence/raw/<1>", "README.md:3", "site/index.html:5"]),
            (
                "claim-unsupported",
                [
                    "evidence/raw/<1>:/single_stream/p50_tok_s",
                    "evidence/ledger.jsonl:4",
                    "README.md:3",
                    "site/index.html:5",
                ],
            ),
        ],
    ),
    "a digit in Markdown": (
        lambda w: _edit_page(w, "README.md", "-->140.42", "-->140.43"),
        [("citation-differs", ["README.md:3", "evidence/ledger.jsonl:4"])],
    ),
    "a unit in Markdown": (
        lambda w: _edit_page(w, "README.md", "140.42 tok/s", "140.42 ms"),
        [("citation-differs", ["README.md:3", "evidence/ledger.jsonl:4"])],
    ),
    "a digit in a quote": (
        lambda w: _edit_page(w, "README.md", "p50 140.30", "p50 140.31"),
        [("quote-differs", ["README.md:5"])],
    ),
    "a line left out of a quote": (
        lambda w: _edit_page(w, "README.md", "arm A: did not serve\n", ""),
        [("quote-differs", ["README.md:5"])],
    ),
    "a quote beyond the end": (
        lambda w: _edit_page(w, "README.md", "lines 2-3", "lines 2-9"),
        [("quote-differs", ["README.md:5"])],
    ),
    "a digit in the text of HTML": (
        lambda w: _edit_page(w, "site/index.html", ">140.42 tok/s", ">140.43 tok/s"),
        [("citation-differs", ["site/index.html:5", "evidence/ledger.jsonl:4"])],
    ),
    "a digit in the value of HTML": (
        lambda w: _edit_page(w, "site/index.html", 'value="140.42"', 'value="140.43"'),
        [("citation-differs", ["site/index.html:5", "evidence/ledger.jsonl:4"])],
    ),
    "two claims with swapped values": (
        _swap_values,
        [
            (
                "claim-differs",
                ["evidence/raw/<0>:3", "evidence/ledger.jsonl:3", "README.md:3", "site/index.html:4"],
            ),
            ("claim-differs", ["evidence/raw/<1>:4", "evidence/ledger.jsonl:4", "README.md:3", "site/index.html:5"]),
            ("citation-differs", ["README.md:3", "evidence/ledger.jsonl:3"]),
            ("citation-differs", ["README.md:3", "evidence/ledger.jsonl:4"]),
            ("citation-differs", ["site/index.html:4", "evidence/ledger.jsonl:3"]),
            ("citation-differs", ["site/index.html:5", "evidence/ledger.jsonl:4"]),
        ],
    ),
    "two citations with swapped slugs": (
        lambda w: w.pages.update(
            {"README.md": w.pages["README.md"].replace(OFF, "@").replace(ON, OFF).replace("@", ON)}
        ),
        [
            ("citation-differs", ["README.md:3", "evidence/ledger.jsonl:4"]),
            ("citation-differs", ["README.md:3", "evidence/ledger.jsonl:3"]),
        ],
    ),
    "a retracted leaf": (
        lambda w: w.append(retraction(ON, "retract")),
        [
            ("citation-withdrawn", ["README.md:3", "evidence/ledger.jsonl:6"]),
            ("citation-withdrawn", ["site/index.html:5", "evidence/ledger.jsonl:6"]),
        ],
    ),
    "a withdrawn cause": (
        lambda w: w.append(retraction(CAUSE)),
        [("citation-withdrawn", ["README.md:12", "evidence/ledger.jsonl:6"])],
    ),
    "a citation of nothing": (
        lambda w: _edit_page(w, "README.md", ON, "k3/no-such"),
        [("citation-missing", ["README.md:3"])],
    ),
    "a number without a citation": (
        lambda w: _edit_page(w, "README.md", "# Kimi K3", "# Kimi K3 at 140.30 tok/s"),
        [("number-bare", ["README.md:1"])],
    ),
    "a torn last line": (
        lambda w: setattr(w, "ledger", w.ledger + b'{"body"'),
        [("ledger-torn", ["evidence/ledger.jsonl:6"])],
    ),
    "a retraction of nothing": (
        lambda w: w.append(retraction("k3/typo")),
        [("retraction-of-nothing", ["evidence/ledger.jsonl:6"])],
    ),
    "a claim on a file that was never filed": (
        lambda w: w.append(replace(off_claim(), slug="k3/other", raw=Sha256("cd" * 32))),
        [("raw-unrecorded", ["evidence/ledger.jsonl:6"])],
    ),
    "a quote of a file that was never filed": (
        lambda w: _edit_page(w, "README.md", w.raw_digests()[0].hex, "cd" * 32),
        [("raw-unrecorded", ["README.md:5"])],
    ),
    "an extractor that is not installed": (
        lambda w: w.append(replace(off_claim(), extraction=replace(off_claim().extraction, extractor="text-line@2"))),
        [("claim-unsupported", ["evidence/raw/<0>:3", "evidence/ledger.jsonl:6", "README.md:3", "site/index.html:4"])],
    ),
    "a page that is not UTF-8": (
        lambda w: w.pages.update({"docs/a.md": "a\n\udcff"}),
        [("markup-broken", ["docs/a.md:2"])],
    ),
}


@pytest.mark.parametrize("name", _MUTATIONS)
def test_a_change_is_caught_and_its_places_named(name: str):
    mutate, expected = _MUTATIONS[name]
    world = seeds_world()
    mutate(world)
    assert world.found() == expected
    assert isinstance(world.check().verdict, Refuted)


def test_a_changed_digit_in_the_ledger_breaks_the_chain():
    world = seeds_world()
    world.ledger = world.ledger.replace(b'"140.42"', b'"140.43"')
    with pytest.raises(IntegrityError) as caught:
        world.check()
    assert caught.value.message == snapshot("evidence/ledger.jsonl:4: the line was changed after it was written")


def test_findings_say_what_is_wrong_in_words():
    world = seeds_world()
    _edit_raw(world, 1, b"140.42", b"140.43")
    _edit_page(world, "README.md", "-->140.30", "-->140.3")
    world.append(
        retraction(CAUSE),
        replace(off_claim(), slug="k3/new", extraction=replace(off_claim().extraction, extractor="x@9")),
    )
    digest = world.raw_digests()[1].hex
    assert [finding.reason for finding in world.check().findings if digest not in finding.reason] == snapshot(
        [
            "the claim k3/new (140.30 tok/s) does not come out of wa8r8-comparison.md: the extractor x@9 is not installed",
            "the raw file blocklist-single-stream.json was changed: its SHA-256 is a4a4f215eddeb846da49376aff2a60d59d53ef160161ba7910f5e72dae25ed71 now",
            "the claim k3/autotune-on-tok-s says '140.42', its raw file blocklist-single-stream.json gives '140.43'",
            "the page says '140.3 tok/s', the claim k3/autotune-off-tok-s says '140.30 tok/s'",
            "the page cites k3/capture-crash-cause, which was withdrawn on 2026-08-02T09:00:00Z: the confirming experiment failed",
        ]
    )


def test_a_claim_that_was_superseded_or_taken_back_is_not_extracted_again():
    world = seeds_world()
    world.pages.clear()
    wrong = replace(off_claim(), value="150.00")
    world.append(wrong, off_claim(), replace(on_claim(), value="1"), retraction(ON, "retract"))
    assert world.found() == []
    assert world.check().standing == 2


def test_a_raw_file_is_held_to_its_digest_even_when_every_claim_on_it_was_taken_back():
    world = seeds_world()
    world.pages.clear()
    world.append(retraction(ON, "retract"))
    _edit_raw(world, 1, b"140.42", b"140.43")
    assert world.found() == [("raw-changed", ["evidence/raw/<1>"])]


def test_a_recorded_size_that_is_not_the_size_is_found():
    world = World()
    raw = file_raw(world.raw, COMPARISON, capture("a.md"))
    world.append(replace(raw, size=Bytes(3)), off_claim())
    assert [kind for kind, _ in world.found()] == ["raw-changed"]


def test_a_ledger_without_a_claim_proves_nothing():
    world = World()
    world.append(NotMeasured(topic="vision", why="no image was sent"))
    world.pages["README.md"] = "No number here."
    assert isinstance(world.check().verdict, Undecided)
    world.pages["README.md"] = "12 ms"
    assert isinstance(world.check().verdict, Refuted)


def test_a_retracted_claim_can_be_made_anew_and_is_cited_again():
    world = seeds_world()
    world.append(retraction(ON, "retract"))
    assert len(world.found()) == 2
    world.append(on_claim())
    assert world.found() == []


def test_a_page_of_another_kind_is_refused():
    world = seeds_world()
    world.pages["notes.txt"] = "12 ms"
    with pytest.raises(InputError):
        world.check()


def test_written_citations_are_found_equal_in_both_formats():
    world = seeds_world()
    world.pages = {"a.md": cite_markdown(on_claim()), "b.html": cite_html(on_claim())}
    assert world.found() == []
    assert world.check().citations == 2
    assert set(EXTRACTORS) == {"text-line@1", "json-value@1"}
