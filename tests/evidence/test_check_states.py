"""The seeds' own cases, checked: what derives, what explains, what is absent, and what nobody may cite."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from inline_snapshot import snapshot
from tests.evidence.archives import WHEEL
from tests.evidence.samples import (
    COMPARISON,
    EXTRACTORS,
    OFF,
    ON,
    RECIPE,
    World,
    capture,
    on_claim,
    retraction,
    seeds_world,
)
from tests.simulators.evidence_store import MemoryRaw

from dayzero.core.errors import EvidenceError
from dayzero.core.pins import Sha256
from dayzero.evidence import check as checking
from dayzero.evidence.check import check
from dayzero.evidence.citation import Page
from dayzero.evidence.claims import Draft, file_raw, make_claim
from dayzero.evidence.derive import DerivedDraft, make_derived
from dayzero.evidence.explain import Argued, Computed, Unbacked, explain
from dayzero.evidence.locate import line_locator, range_locator
from dayzero.evidence.locator import LineLocator, WholeFile
from dayzero.evidence.model import (
    Claim,
    Concern,
    Correction,
    Derived,
    Expiry,
    Explanation,
    Extraction,
    Trial,
    Uncitable,
)
from dayzero.evidence.state import Standing
from dayzero.extractors.text_absence import TextAbsence

AT = "2026-08-02T09:00:00Z"
COST, CAUSE, ABSENT, C128 = "k3/autotune-cost", "k3/cause", "k3/nightly-kimi-files", "k3/c128"
ALL = EXTRACTORS | {"text-absence@1": TextAbsence()}
STATEMENT = "failed autotune tactics poison the CUDA context"
WITHHELD = Uncitable(slug=C128, topic="throughput at concurrency 128", why="no raw file was committed")


def absence(pattern: str = "kimi_k3", control: str = "qwen3") -> Draft:
    parameters = (("pattern", pattern), ("control", control), ("of", "members"))
    return Draft(
        slug=ABSENT,
        label="kimi_k3 files in the wheel",
        unit="files",
        locator=WholeFile(),
        extraction=Extraction(extractor="text-absence@1", parameters=parameters),
        subject=RECIPE,
    )


def world() -> World:
    """Two throughputs, what autotune costs, the cause, an absence in a wheel, and one value without a raw file."""
    made = seeds_world()
    wheel = file_raw(made.raw, WHEEL, capture("vllm-0.26.0.whl"))
    trials = tuple(
        Trial(
            name=name,
            conditions=(("autotune", "off"),),
            outcome=outcome,
            raw=Sha256.of(COMPARISON),
            locator=locator,
        )
        for name, outcome, locator in (
            ("arm A", "died", line_locator(COMPARISON, 2)),
            ("arm B", "served", range_locator(COMPARISON, 3, 3)),
        )
    )
    draft = DerivedDraft(
        slug=COST, label="gain of autotune", unit="tok/s", rule="difference@1", inputs=(ON, OFF), decimals=2
    )
    made.append(
        wheel,
        make_derived(made.parsed().standings(), draft),
        Explanation(slug=CAUSE, statement=STATEMENT, facts=(OFF, ON), trials=trials),
        make_claim(WHEEL, absence(), ALL),
        WITHHELD,
    )
    made.pages = {
        "README.md": "\n".join(
            (
                f"<!--claim {OFF}-->140.30 tok/s<!--/claim-->",
                f"<!--claim {ON}-->140.42 tok/s<!--/claim-->",
                f"<!--claim {COST}-->0.12 tok/s<!--/claim-->",
                f"<!--claim {CAUSE}-->{STATEMENT}<!--/claim-->",
                f"<!--claim {ABSENT}-->0 files<!--/claim-->",
            )
        ),
        "site/index.html": f'<data data-claim="{COST}" value="0.12">0.12 tok/s</data>',
    }
    return made


def found(made: World) -> list[tuple[str, list[str]]]:
    pages = tuple(Page(path=path, content=text.encode()) for path, text in made.pages.items())
    names = {digest.hex: f"<{index}>" for index, digest in enumerate(made.raw_digests())}
    told = []
    for finding in check(made.parsed(), made.raw, ALL, pages, folder="evidence").findings:
        places = [str(place).rpartition(": ")[2] for place in finding.places]
        for digest, name in names.items():
            places = [place.replace(digest, name) for place in places]
        told.append((finding.kind.value, places))
    return told


def changed(made: World, slug: str, change: Callable[[Claim | Derived | Explanation], object]) -> None:
    """Forge one record and chain the ledger anew, as someone who knows the format would."""
    records = [entry.record for entry in made.parsed().entries]
    made.ledger = b""
    made.append(*(change(record) if getattr(record, "slug", "") == slug else record for record in records))


def test_everything_that_is_said_is_proven():
    assert found(world()) == []


_MUTATIONS: dict[str, tuple[Callable[[World], object], list[tuple[str, list[str]]]]] = {
    "the cause is withdrawn: the facts stand, and only the page that prints the cause has to change": (
        lambda w: w.append(retraction(CAUSE)),
        [("citation-withdrawn", ["README.md:4", "evidence/ledger.jsonl:11"])],
    ),
    "a leaf is retracted: what derives from it and what explains it is unsupported": (
        lambda w: w.append(retraction(OFF, "retract")),
        [
            ("claim-unsupported", ["evidence/ledger.jsonl:7", "README.md:3", "site/index.html:1"]),
            ("claim-unsupported", ["evidence/ledger.jsonl:8", "README.md:4"]),
            ("citation-withdrawn", ["README.md:1", "evidence/ledger.jsonl:11"]),
            ("citation-unsupported", ["README.md:3", "evidence/ledger.jsonl:7"]),
            ("citation-unsupported", ["README.md:4", "evidence/ledger.jsonl:8"]),
            ("citation-unsupported", ["site/index.html:1", "evidence/ledger.jsonl:7"]),
        ],
    ),
    "an input is measured anew: what derives from it no longer comes out of it": (
        lambda w: w.append(replace(on_claim(), slug=OFF)),
        [
            ("claim-differs", ["evidence/ledger.jsonl:7", "README.md:3", "site/index.html:1"]),
            ("citation-differs", ["README.md:1", "evidence/ledger.jsonl:11"]),
        ],
    ),
    "a derived value is forged": (
        lambda w: changed(w, COST, lambda record: replace(record, value="0.13")),
        [
            ("claim-differs", ["evidence/ledger.jsonl:7", "README.md:3", "site/index.html:1"]),
            ("citation-differs", ["README.md:3", "evidence/ledger.jsonl:7"]),
            ("citation-differs", ["site/index.html:1", "evidence/ledger.jsonl:7"]),
        ],
    ),
    "the inputs of a derived value are swapped": (
        lambda w: changed(w, COST, lambda record: replace(record, inputs=(OFF, ON))),
        [("claim-differs", ["evidence/ledger.jsonl:7", "README.md:3", "site/index.html:1"])],
    ),
    "a rule that this version does not have": (
        lambda w: changed(w, COST, lambda record: replace(record, rule="difference@2")),
        [("claim-unsupported", ["evidence/ledger.jsonl:7", "README.md:3", "site/index.html:1"])],
    ),
    "a fact that was never claimed": (
        lambda w: changed(w, CAUSE, lambda record: replace(record, facts=(OFF, "k3/never"))),
        [
            ("claim-unsupported", ["evidence/ledger.jsonl:8", "README.md:4"]),
            ("citation-unsupported", ["README.md:4", "evidence/ledger.jsonl:8"]),
        ],
    ),
    "a fact that is an explanation": (
        lambda w: w.append(Explanation(slug="k3/why", statement="because", facts=(CAUSE,))),
        [("claim-unsupported", ["evidence/ledger.jsonl:11"])],
    ),
    "a number that is typed into a cause": (
        lambda w: w.append(Explanation(slug="k3/why", statement="it gains 0.12 tok/s", facts=(COST,))),
        [("number-bare", ["evidence/ledger.jsonl:11"])],
    ),
    "a value that is withheld and said": (
        lambda w: w.append(replace(WITHHELD, why="about 812 tok/s, from memory")),
        [("number-bare", ["evidence/ledger.jsonl:11"])],
    ),
    "a citation of what nobody may cite": (
        lambda w: w.pages.update({"docs/a.md": f"<!--claim {C128}-->812 tok/s<!--/claim-->"}),
        [("citation-withheld", ["docs/a.md:1", "evidence/ledger.jsonl:10"])],
    ),
    "the same in HTML": (
        lambda w: w.pages.update({"site/a.html": f'<data data-claim="{C128}" value="812">812 tok/s</data>'}),
        [("citation-withheld", ["site/a.html:1", "evidence/ledger.jsonl:10"])],
    ),
    "a trial whose line is not there": (
        lambda w: changed(
            w,
            CAUSE,
            lambda r: replace(r, trials=(replace(r.trials[0], locator=LineLocator(line=2, sha256=Sha256("ab" * 32))),)),
        ),
        [("claim-unsupported", ["evidence/raw/<0>:2", "evidence/ledger.jsonl:8", "README.md:4"])],
    ),
    "a trial on a file that was never filed": (
        lambda w: changed(w, CAUSE, lambda r: replace(r, trials=(replace(r.trials[0], raw=Sha256("cd" * 32)),))),
        [("raw-unrecorded", ["evidence/ledger.jsonl:8", "README.md:4"])],
    ),
    "an explanation that is printed otherwise": (
        lambda w: w.pages.update({"README.md": w.pages["README.md"].replace("poison", "spoil")}),
        [("citation-differs", ["README.md:4", "evidence/ledger.jsonl:8"])],
    ),
    "an absence whose control is gone": (
        lambda w: changed(
            w,
            ABSENT,
            lambda r: replace(
                r,
                extraction=replace(
                    r.extraction, parameters=(("pattern", "kimi_k3"), ("control", "k2"), ("of", "members"))
                ),
            ),
        ),
        [("claim-unsupported", ["evidence/raw/<2>", "evidence/ledger.jsonl:9", "README.md:5"])],
    ),
    "a correction without its claim": (
        lambda w: w.append(Correction(slug=OFF, reason="the mean was taken", at=AT)),
        [("correction-unfulfilled", ["evidence/ledger.jsonl:11", "README.md:1"])],
    ),
    "a correction on another raw file": (
        lambda w: w.append(Correction(slug=OFF, reason="a typo", at=AT), replace(on_claim(), slug=OFF)),
        [
            ("claim-differs", ["evidence/ledger.jsonl:7", "README.md:3", "site/index.html:1"]),
            ("correction-unfulfilled", ["evidence/ledger.jsonl:12", "README.md:1"]),
            ("citation-differs", ["README.md:1", "evidence/ledger.jsonl:12"]),
        ],
    ),
    "a concern on nothing": (
        lambda w: w.append(Concern(slug="k3/typo", reason="x", at=AT)),
        [("retraction-of-nothing", ["evidence/ledger.jsonl:11"])],
    ),
}


@pytest.mark.parametrize("name", _MUTATIONS)
def test_a_change_is_caught_and_its_places_named(name: str):
    mutate, expected = _MUTATIONS[name]
    made = world()
    mutate(made)
    assert sorted(found(made)) == sorted(expected)


@pytest.mark.parametrize("flag", [Concern, Expiry])
def test_a_flagged_claim_may_be_cited_and_what_rests_on_it_too(flag: type[Concern | Expiry]):
    made = world()
    made.append(flag(slug=OFF, reason="measured again", at=AT))
    assert found(made) == []
    state = made.parsed().standing(COST)
    assert isinstance(state, Standing)
    assert [mark.event.slug for mark in state.flags] == [OFF]


def test_an_absence_is_claimed_with_its_control_only():
    for draft in (absence(pattern="qwen3"), absence(control="kimi_k2")):
        with pytest.raises(EvidenceError):
            make_claim(WHEEL, draft, ALL)
    assert make_claim(WHEEL, absence(), ALL).text == "0 files"


def test_findings_say_what_fell_in_words():
    made = world()
    made.append(retraction(OFF, "retract", "the node was throttled"))
    made.pages["docs/a.md"] = f"<!--claim {C128}-->812 tok/s<!--/claim-->"
    pages = tuple(Page(path=path, content=text.encode()) for path, text in made.pages.items())
    reasons = [finding.reason for finding in check(made.parsed(), made.raw, ALL, pages, folder="evidence").findings]
    assert reasons == snapshot(
        [
            "k3/autotune-cost rests on k3/autotune-off-tok-s, which does not stand",
            "k3/cause rests on k3/autotune-off-tok-s, which does not stand",
            "the page cites k3/autotune-off-tok-s, which was retracted on 2026-08-02T09:00:00Z: the node was throttled",
            "the page cites k3/autotune-cost, which nothing supports now: k3/autotune-off-tok-s fell",
            "the page cites k3/cause, which nothing supports now: k3/autotune-off-tok-s fell",
            "the page cites k3/autotune-cost, which nothing supports now: k3/autotune-off-tok-s fell",
            "the page cites k3/c128, which nobody may cite (throughput at concurrency 128): no raw file was committed",
        ]
    )


class CountingRaw(MemoryRaw):
    """Counts how often each file is read."""

    def __init__(self, files: dict[Sha256, bytes]) -> None:
        super().__init__()
        self.files = files
        self.reads: list[Sha256] = []

    def read(self, digest: Sha256) -> bytes:
        self.reads.append(digest)
        return super().read(digest)


def test_each_raw_file_is_read_once_and_its_lines_are_indexed_once(monkeypatch: pytest.MonkeyPatch):
    made, seen = world(), []
    counting = CountingRaw(made.raw.files)
    taken = checking.RawBytes
    monkeypatch.setattr(checking, "RawBytes", lambda content: seen.append(taken(content)) or seen[-1])
    check(made.parsed(), counting, ALL, (), folder="evidence")
    assert sorted(map(str, counting.reads)) == sorted(map(str, made.raw_digests()))
    assert all(len(raw.known) == 1 for raw in seen)


def test_what_stands_under_a_derived_claim_is_its_inputs():
    made = world()
    backing = explain(made.parsed(), made.raw, ALL, COST, folder="evidence").backing
    assert isinstance(backing, Computed)
    assert [slug for slug, _ in backing.inputs] == [ON, OFF]
    made.append(retraction(ON))
    backing = explain(made.parsed(), made.raw, ALL, COST, folder="evidence").backing
    assert backing == Unbacked(f"{ON} does not stand")


def test_what_stands_under_an_explanation_is_facts_and_trials():
    made = world()
    backing = explain(made.parsed(), made.raw, ALL, CAUSE, folder="evidence").backing
    assert isinstance(backing, Argued)
    assert [slug for slug, _ in backing.facts] == [OFF, ON]
    assert [(trial.name, place.position, place.quote) for trial, place in backing.trials] == [
        ("arm A", "line 2", "arm A: did not serve"),
        ("arm B", "line 3", "arm B: single stream p50 140.30 tok/s"),
    ]


def test_what_stands_under_a_withheld_value_is_nothing():
    made = world()
    assert explain(made.parsed(), made.raw, ALL, C128, folder="evidence").backing == Unbacked(WITHHELD.why)
