"""The seeds' own case: two throughput figures on two raw files, and a cause that was quoted and then withdrawn."""

from dataclasses import dataclass, field

from tests.simulators.evidence_store import MemoryRaw

from dayzero.core.pins import Sha256
from dayzero.evidence.check import check
from dayzero.evidence.citation import Page
from dayzero.evidence.claims import Capture, Draft, file_raw, make_claim
from dayzero.evidence.ledger import Ledger, parse
from dayzero.evidence.locate import line_locator
from dayzero.evidence.locator import PointerLocator
from dayzero.evidence.model import Claim, Extraction, Record, Retraction
from dayzero.evidence.pages import cite_html, cite_markdown, quote_markdown
from dayzero.evidence.report import Report
from dayzero.extractors.json_value import JsonValue
from dayzero.extractors.text_line import TextLine

RECIPE = Sha256("ab" * 32)
EXTRACTORS = {"text-line@1": TextLine(), "json-value@1": JsonValue()}

COMPARISON = b"""# window 8, autotune off
arm A: did not serve
arm B: single stream p50 140.30 tok/s
cause: failed autotune tactics poison the CUDA context
"""
SINGLE_STREAM = b"""{
  "autotune": true,
  "single_stream": {
    "p50_tok_s": 140.42,
    "runs": [140.40, 140.42, 140.4400]
  }
}
"""

OFF = "k3/autotune-off-tok-s"
ON = "k3/autotune-on-tok-s"
CAUSE = "k3/capture-crash-cause"


def capture(name: str) -> Capture:
    return Capture(name=name, captured_at="2026-07-30T12:00:00Z", command=f"bench > {name}")


def text_draft(slug: str, raw: bytes, line: int, pattern: str, unit: str = "tok/s") -> Draft:
    return Draft(
        slug=slug,
        label="single stream, median",
        unit=unit,
        locator=line_locator(raw, line),
        extraction=Extraction(extractor="text-line@1", parameters=(("pattern", pattern),)),
        subject=RECIPE,
    )


def json_draft(slug: str, pointer: str, **parameters: str) -> Draft:
    return Draft(
        slug=slug,
        label="single stream, median",
        unit="tok/s",
        locator=PointerLocator(pointer=pointer),
        extraction=Extraction(extractor="json-value@1", parameters=tuple(parameters.items())),
        subject=RECIPE,
    )


def off_claim() -> Claim:
    return make_claim(COMPARISON, text_draft(OFF, COMPARISON, 3, r"p50 (\d+\.\d+) tok/s"), EXTRACTORS)


def on_claim() -> Claim:
    return make_claim(SINGLE_STREAM, json_draft(ON, "/single_stream/p50_tok_s"), EXTRACTORS)


def cause_claim() -> Claim:
    return make_claim(COMPARISON, text_draft(CAUSE, COMPARISON, 4, "cause: (.+)", unit=""), EXTRACTORS)


def retraction(slug: str, kind: str = "withdraw", reason: str = "the confirming experiment failed") -> Retraction:
    return Retraction(slug=slug, kind=kind, reason=reason, at="2026-08-02T09:00:00Z")


@dataclass
class World:
    """A small repository: its ledger's bytes, its raw files and its pages; a test changes one of them."""

    ledger: bytes = b""
    raw: MemoryRaw = field(default_factory=MemoryRaw)
    pages: dict[str, str] = field(default_factory=dict)

    def append(self, *records: Record) -> None:
        self.ledger += parse(self.ledger).append(records)[1]

    def parsed(self) -> Ledger:
        return parse(self.ledger, file="evidence/ledger.jsonl")

    def check(self) -> Report:
        pages = tuple(
            Page(path=path, content=text.encode("utf-8", "surrogateescape")) for path, text in self.pages.items()
        )
        return check(self.parsed(), self.raw, EXTRACTORS, pages, folder="evidence")

    def found(self) -> list[tuple[str, list[str]]]:
        """Give each finding as its kind and the places it names, digests shortened."""
        names = {digest.hex: f"<{index}>" for index, digest in enumerate(self.raw_digests())}
        found = []
        for finding in self.check().findings:
            places = [str(place).rpartition(": ")[2] for place in finding.places]
            for digest, name in names.items():
                places = [place.replace(digest, name) for place in places]
            found.append((finding.kind.value, places))
        return found

    def raw_digests(self) -> tuple[Sha256, ...]:
        return tuple(self.parsed().raw_files())


def seeds_world() -> World:
    """Both figures and the cause, cited in a Markdown page and a built HTML page; one raw line quoted."""
    world = World()
    comparison = file_raw(world.raw, COMPARISON, capture("wa8r8-comparison.md"))
    stream = file_raw(world.raw, SINGLE_STREAM, capture("blocklist-single-stream.json"))
    off, on, cause = off_claim(), on_claim(), cause_claim()
    world.append(comparison, stream, off, on, cause)
    world.pages["README.md"] = "\n".join(
        (
            "# Kimi K3",
            "",
            f"Autotune off: {cite_markdown(off)}; on: {cite_markdown(on)}.",
            "",
            quote_markdown(comparison.sha256, COMPARISON, 2, 3),
            "",
            f"Why: {cite_markdown(cause)}.",
            "",
        )
    )
    world.pages["site/index.html"] = "\n".join(
        (
            "<!doctype html>",
            "<title>K3</title>",
            "<ul>",
            f"<li>{cite_html(off)}</li>",
            f"<li>{cite_html(on)}</li>",
            "</ul>",
        )
    )
    return world
