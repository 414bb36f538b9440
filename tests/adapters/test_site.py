import http.client
import json
import re
import socket
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import html5lib
import pytest
from tests.catalog.sample import (
    FITS,
    KIT,
    LOG,
    ROWS,
    START,
    STATUSES,
    RawFolder,
    claim,
    digest,
    every_state,
    ledger_of,
    log_claim,
    raw_file,
    sample_listing,
    tiny,
    tiny_records,
)

from dayzero.adapters.site.folder import write_site
from dayzero.adapters.site.render import SiteFile, render
from dayzero.adapters.site.server import serve
from dayzero.catalog.card import build_card
from dayzero.catalog.claim_page import claim_pages
from dayzero.catalog.listing import build_listing, raw_files
from dayzero.catalog.model import Listing
from dayzero.core.errors import InputError, RemoteError
from dayzero.core.package import Package
from dayzero.evidence.check import check
from dayzero.evidence.citation import Page
from dayzero.evidence.html_page import read_html
from dayzero.evidence.locate import line_locator
from dayzero.evidence.model import Concern, Record, Retraction

CARD = "packages/demo-kimi-k3-tiny/index.html"
PAGE = "claims/demo-kimi-k3-tiny/c1-output-tok-s/index.html"
REASON = "the clock of the client was stepped"


def listing_of(*records: Record, package: Package | None = None) -> Listing:
    chosen = package or tiny()
    ledger = ledger_of(*records)
    contents = {digest(content): content for content in (ROWS, START, LOG)}
    card = build_card(chosen, ledger, kit=KIT, statuses=STATUSES, fit=FITS)
    return build_listing((card,), claim_pages(ledger, contents))


def site_of(listing: Listing) -> dict[str, str]:
    return {path: content.decode() for path, content in render(listing)}


def whole_site() -> tuple[SiteFile, ...]:
    listing = sample_listing()
    return (*render(listing), *raw_files(listing, RawFolder(ROWS, START, LOG)))


def html_pages() -> list[tuple[str, str]]:
    sites = [site_of(listing) for listing in (sample_listing(), listing_of(*tiny_records()), Listing(()))]
    return [(path, text) for site in sites for path, text in site.items() if path.endswith(".html")]


def measurement(site: dict[str, str], slug: str) -> dict[str, str]:
    (package,) = json.loads(site["index.json"])["packages"]
    (found,) = (m for m in package["measurements"] if m["slug"] == slug)
    return dict(found)


class Tags(HTMLParser):
    """Collects what the tests ask of a page: attributes of every element, and text with the attributes around it."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[tuple[str, tuple[dict[str, str], ...]]] = []
        self._open: list[tuple[str, dict[str, str]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = (tag, {name: value or "" for name, value in attrs})
        self.elements.append(element)
        if tag not in {"meta", "link", "br", "wbr"}:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop()[0] == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((data, tuple(attributes for _, attributes in self._open)))


def test_a_number_that_changes_in_the_evidence_changes_on_card_listing_and_json():
    before = site_of(listing_of(*tiny_records()))
    after = site_of(listing_of(*tiny_records(), claim(tiny(), "c1-output-tok-s", "611.7")))
    for page in (CARD, "index.html"):
        assert '<data data-claim="demo-kimi-k3-tiny/c1-output-tok-s" value="532.4">532.4 tok/s</data>' in before[page]
        assert '<data data-claim="demo-kimi-k3-tiny/c1-output-tok-s" value="611.7">611.7 tok/s</data>' in after[page]
    assert measurement(after, "demo-kimi-k3-tiny/c1-output-tok-s")["value"] == "611.7"
    assert {path for path, text in after.items() if "532.4" in text} == {PAGE}
    assert '<span data-not-a-claim="what was claimed before">532.4 tok/s</span>' in after[PAGE]


@pytest.mark.parametrize(("kind", "word"), [("retract", "retracted"), ("withdraw", "withdrawn")])
def test_a_retracted_number_leaves_card_listing_and_json_and_its_reason_takes_its_place(kind: str, word: str):
    slug = "demo-kimi-k3-tiny/c1-output-tok-s"
    site = site_of(
        listing_of(*tiny_records(), Retraction(slug=slug, kind=kind, reason=REASON, at="2026-11-30T08:00:00Z"))
    )
    assert {path for path, text in site.items() if "532.4" in text} == ({PAGE} if kind == "withdraw" else set())
    for page in (CARD, "index.html"):
        assert f"{word.capitalize()} 2026-11-30: {REASON}" in site[page]
        assert f'<span class="tag warn">{word}</span>' in site[page]
    entry = measurement(site, slug)
    assert (entry["state"], entry["reason"]) == (word, REASON)
    assert "value" not in entry
    assert f'<span class="tag warn">{word}</span>' in site[PAGE]
    assert REASON in site[PAGE]
    (told,) = (each for each in json.loads(site["index.json"])["claims"] if each["slug"] == slug)
    assert (told["state"], told["value"], told["reasons"][0]["reason"]) == (word, None, REASON)


def test_a_claim_that_the_ledger_does_not_hold_is_shown_as_absent_with_the_reason():
    site = site_of(listing_of())
    said = "The evidence ledger holds no claim demo-kimi-k3-tiny/c1-output-tok-s."
    assert site[CARD].count('<span class="tag mute">no number</span>') == 5
    assert said in site[CARD]
    assert said in site["index.html"]
    assert "4 of 4 numbers cannot be shown" in site["index.html"]
    assert measurement(site, "demo-kimi-k3-tiny/c1-output-tok-s")["reason"] == said


@pytest.mark.parametrize(
    "hostile", ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "{{ 7*7 }}", "a & b"]
)
def test_hostile_text_stays_text(hostile: str):
    package = replace(tiny(), title=hostile, summary=hostile, technique=hostile)
    site = site_of(listing_of(*tiny_records(), package=package))
    for page in (CARD, "index.html"):
        tags = Tags(site[page])
        assert any(hostile in text for text, _ in tags.texts)
        assert not {"script", "img"} & {tag for tag, _ in tags.elements}
    assert json.loads(site["index.json"])["packages"][0]["title"] == hostile


def test_the_same_listing_gives_the_same_bytes():
    assert whole_site() == whole_site()


def test_the_order_in_which_packages_come_does_not_matter():
    one, two = sample_listing().cards
    assert render(build_listing((one, two))) == render(build_listing((two, one)))


@pytest.mark.parametrize(("path", "page"), html_pages())
def test_every_page_is_valid_html(path: str, page: str):
    html5lib.HTMLParser(strict=True).parse(page)
    ids = [attributes["id"] for _, attributes in Tags(page).elements if "id" in attributes]
    assert len(ids) == len(set(ids)), path


UNITS = "tok/s|ms|s|min|B|bytes|KiB|MiB|GiB|TiB|KB|MB|GB|TB|%|tokens?|requests?"
NUMBER = re.compile(rf"\d[\d.,]*\s*(?:{UNITS})(?!\w)")


@pytest.mark.parametrize(("path", "page"), html_pages())
def test_every_number_with_a_unit_is_a_claim_or_says_why_it_is_none(path: str, page: str):
    for text, around in Tags(page).texts:
        if NUMBER.search(text):
            assert any(a.get("data-claim") or a.get("data-not-a-claim") for a in around), f"{path}: {text!r}"


def test_the_evidence_check_finds_every_shown_number_and_nothing_bare():
    site = site_of(listing_of(*tiny_records()))
    shown = {m.slug: m.figure.claim for m in listing_of(*tiny_records()).cards[0].measurements}
    for path in (CARD, "index.html"):
        reading = read_html(Page(path=path, content=site[path].encode()))
        assert (reading.bare, reading.malformed) == ((), ())
        assert all((c.text, c.value) == (shown[c.slug].text, shown[c.slug].value) for c in reading.citations)
    assert {c.slug for c in read_html(Page(path=CARD, content=site[CARD].encode())).citations} == set(shown)


def test_a_number_typed_into_a_summary_is_found_bare():
    package = replace(tiny(), summary="Serves at 900 tok/s.")
    page = site_of(listing_of(*tiny_records(), package=package))[CARD]
    assert [bare.text for bare in read_html(Page(path=CARD, content=page.encode())).bare] == ["900 tok/s"]


def test_every_link_leads_to_a_file_of_the_site():
    files = dict(whole_site())
    ids = {
        path: {a["id"] for _, a in Tags(content.decode()).elements if "id" in a}
        for path, content in files.items()
        if path.endswith(".html")
    }
    for path in ids:
        for _, attributes in Tags(files[path].decode()).elements:
            link = attributes.get("href", attributes.get("src", ""))
            if not link or link == "data:,":
                continue
            parts = urlsplit(urljoin(f"/{path}", link))
            assert not parts.netloc, f"{path} leads outside: {link}"
            target = unquote(parts.path).removeprefix("/")
            assert target in files, f"{path}: {link}"
            assert not parts.fragment or parts.fragment in ids[target], f"{path}: {link}"


@pytest.mark.parametrize(("path", "page"), html_pages())
def test_no_page_asks_for_anything_outside_or_runs_anything(path: str, page: str):
    tags = Tags(page)
    assert not {"script", "iframe", "img", "form", "object"} & {tag for tag, _ in tags.elements}
    assert not [name for _, a in tags.elements for name in a if name.startswith("on") or name == "style"], path
    assert not re.search(r"url\(|@import|https?:", site_of(Listing(()))["style.css"])


@pytest.mark.parametrize(("path", "page"), html_pages())
def test_every_page_has_landmarks_one_title_and_tables_with_scope(path: str, page: str):
    tags = Tags(page)
    names = [tag for tag, _ in tags.elements]
    assert [names.count(tag) for tag in ("main", "h1", "title", "header", "footer", "nav")] == [1] * 6, path
    assert all(a.get("scope") in {"col", "row"} for tag, a in tags.elements if tag == "th")
    named = {a["id"] for _, a in tags.elements if "id" in a}
    assert all(a["aria-labelledby"] in named for _, a in tags.elements if "aria-labelledby" in a)


STATES = {
    "standing": ("standing", "140.30"),
    "superseded": ("standing", "140.30"),
    "corrected": ("standing", "140.30"),
    "concern": ("flagged", "140.30"),
    "reaffirmed": ("standing", "140.30"),
    "expired": ("flagged", "140.30"),
    "withdrawn": ("withdrawn", None),
    "retracted": ("retracted", None),
    "derived": ("flagged", "1.00"),
    "unsupported": ("unsupported", None),
    "cause": ("flagged", None),
    "uncitable": ("uncitable", None),
}


@pytest.mark.parametrize(("name", "state", "value"), [(name, *expected) for name, expected in STATES.items()])
def test_a_page_says_its_state_in_words_and_cites_a_value_only_where_one_stands(
    name: str, state: str, value: str | None
):
    site = site_of(sample_listing())
    page = site[f"claims/s/{name}/index.html"]
    assert re.search(rf'<span class="tag \w+">{state}</span>', page)
    cited = {c.slug for c in read_html(Page(path=name, content=page.encode())).citations}
    assert (f"s/{name}" in cited) == (value is not None)
    (told,) = (each for each in json.loads(site["index.json"])["claims"] if each["slug"] == f"s/{name}")
    assert (told["state"], told["value"]) == (state, value)


def test_a_retracted_value_is_on_no_page_and_a_withdrawn_one_on_its_own_only():
    site = site_of(sample_listing())
    assert not [path for path, text in site.items() if "88.20" in text]
    assert [path for path, text in site.items() if "77.10" in text] == ["claims/s/withdrawn/index.html"]
    assert "140.30" in site["claims/s/withdrawn/index.html"], "its raw line stays"
    assert "140.30" not in site["claims/s/retracted/index.html"]


def test_a_withdrawn_page_strikes_nothing_but_the_value():
    standing, withdrawn = (
        site_of(sample_listing())[f"claims/s/{name}/index.html"] for name in ("standing", "withdrawn")
    )
    section = re.compile(r'<section aria-labelledby="raw">.*?</section>', re.DOTALL)
    assert section.findall(standing) == section.findall(withdrawn)
    assert not re.search(r"<(s|del|strike)\b", withdrawn)


def test_every_number_on_a_card_links_to_its_page_and_the_page_to_its_card():
    site = site_of(listing_of(*tiny_records()))
    for slug in {c.slug for c in read_html(Page(path=CARD, content=site[CARD].encode())).citations}:
        assert f'<a class="number" href="../../claims/{slug}/index.html"><data data-claim="{slug}"' in site[CARD]
        assert f'<a href="../../../{CARD}">' in site[f"claims/{slug}/index.html"]
    assert f'<a class="number" href="{PAGE}">' in site["index.html"]
    entry = measurement(site, "demo-kimi-k3-tiny/c1-output-tok-s")
    assert entry["page"] == PAGE


def test_a_number_without_a_page_is_not_linked():
    page = site_of(build_listing(listing_of(*tiny_records()).cards))[CARD]
    assert "claims/" not in page
    assert 'class="number"' not in page


def test_a_flag_stands_beside_the_number_on_card_listing_and_json():
    slug = "demo-kimi-k3-tiny/c1-output-tok-s"
    concern = Concern(slug=slug, reason="a <second> process ran, 20 ms long", at="2026-11-30T08:00:00Z")
    site = site_of(listing_of(*tiny_records(), concern))
    for page in (CARD, "index.html"):
        assert re.search(r"532\.4 tok/s</data></a> <span class=\"tag warn\">under concern</span>", site[page])
    assert "Under concern since 2026-11-30: a &lt;second&gt; process ran, 20 ms long" in site[CARD]
    (mark,) = json.loads(json.dumps(measurement(site, slug)["marks"]))
    assert (mark["word"], mark["slug"]) == ("under concern", slug)
    assert read_html(Page(path=CARD, content=site[CARD].encode())).bare == ()


def test_the_evidence_check_finds_nothing_on_the_whole_site():
    records = [*tiny_records(), *(r for r in every_state() if getattr(r, "slug", "") != "s/unsupported")]
    ledger = ledger_of(*records)
    contents = {digest(content): content for content in (ROWS, START, LOG)}
    card = build_card(tiny(), ledger, kit=KIT, statuses=STATUSES, fit=FITS)
    site = render(build_listing((card,), claim_pages(ledger, contents)))
    pages = [Page(path=path, content=content) for path, content in site if path.endswith(".html")]
    report = check(ledger, RawFolder(ROWS, START, LOG), {}, pages, folder="evidence")
    places = [(finding.kind.value, finding.reason) for finding in report.findings]
    assert [each for each in places if each[0] != "claim-unsupported"] == []
    assert all("is not installed" in reason for _, reason in places)
    assert report.citations > len(pages)


@pytest.mark.parametrize(
    "planted", ["77.10 tok/s", "<p>took 3 s</p>", '<data data-claim="s/withdrawn" value="77.10">77.10 tok/s</data>']
)
def test_a_number_that_is_planted_on_a_page_is_found(planted: str):
    page = site_of(sample_listing())["claims/s/withdrawn/index.html"].replace("</main>", f"{planted}</main>")
    report = check(
        ledger_of(*every_state()), RawFolder(LOG), {}, [Page(path="p.html", content=page.encode())], folder="e"
    )
    assert [f for f in report.findings if f.places[0].file == "p.html"]


def test_the_raw_lines_have_a_deep_link_and_the_numbers_that_sed_would_print():
    page = site_of(sample_listing())["claims/s/standing/index.html"]
    ids = [a["id"] for tag, a in Tags(page).elements if tag == "h2" and "id" in a]
    assert "raw" in ids
    quoted = [around for text, around in Tags(page).texts if "140.30" in text and any("value" in a for a in around)]
    assert any(a.get("data-not-a-claim") == "quoted raw line" for around in quoted for a in around)
    assert '<li value="2"><code>rate &lt;b&gt;140.30&lt;/b&gt; tok/s ␛[31m &amp; more</code></li>' in page


def test_what_a_claim_derives_from_and_what_derives_from_it_link_to_each_other():
    site = site_of(sample_listing())
    assert 'href="../../../claims/s/derived/index.html"' in site["claims/s/standing/index.html"]
    assert 'href="../../../claims/s/cause/index.html"' in site["claims/s/standing/index.html"]
    assert 'href="../../../claims/s/standing/index.html"' in site["claims/s/derived/index.html"]
    assert 'href="../../../claims/s/standing/index.html"' in site["claims/s/cause/index.html"]
    assert "It rests on what does not stand: s/withdrawn." in site["claims/s/unsupported/index.html"]
    assert "The first over the second." in site["claims/s/derived/index.html"]


HOSTILE = '</code><script>alert(1)</script>" onload=x \u202e &amp;'


def test_hostile_text_of_the_ledger_and_of_a_raw_line_stays_text():
    raw = f"x {HOSTILE} 140.30".encode()
    record = replace(raw_file("run.log", raw), name=HOSTILE.replace("\u202e", ""), command=HOSTILE)
    label = HOSTILE.replace("\u202e ", "")
    made = replace(log_claim("h/x"), label=label, raw=digest(raw), locator=line_locator(raw, 1))
    asked = replace(made, extraction=replace(made.extraction, parameters=((HOSTILE, HOSTILE),)))
    concern = Concern(slug="h/x", reason=HOSTILE, at="2026-11-30T08:00:00Z")
    ledger = ledger_of(record, asked, concern)
    page = site_of(build_listing((), claim_pages(ledger, {digest(raw): raw})))["claims/h/x/index.html"]
    html5lib.HTMLParser(strict=True).parse(page)
    tags = Tags(page)
    assert "script" not in {tag for tag, _ in tags.elements}
    assert not [name for _, attributes in tags.elements for name in attributes if name.startswith("on")]
    assert "\u202e" not in page[page.index('<div class="quote"') : page.index("<dl")], "a raw line turns nothing around"


def palettes() -> list[dict[str, str]]:
    style = site_of(Listing(()))["style.css"]
    return [
        dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", block)) for block in re.findall(r":root \{([^}]*)\}", style)
    ][:2]


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2.2 defines it."""
    channels = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("palette", palettes(), ids=["light", "dark"])
@pytest.mark.parametrize(
    ("ink", "paper"),
    [
        ("ink", "paper"),
        ("ink", "panel"),
        ("ink", "warn-paper"),
        ("soft", "paper"),
        ("soft", "panel"),
        ("accent", "paper"),
        ("accent", "panel"),
        ("good", "good-paper"),
        ("warn", "warn-paper"),
    ],
)
def test_text_stands_out_from_its_ground_in_light_and_dark(palette: dict[str, str], ink: str, paper: str):
    light, dark = sorted((luminance(palette[ink]), luminance(palette[paper])), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_a_card_says_what_it_pins_and_what_it_withholds():
    page = site_of(listing_of(*tiny_records()))[CARD]
    for said in (
        "e2de4c86" * 8,
        "c5" * 32,
        "manylinux2014_aarch64.manylinux_2_17_aarch64",
        "generator kimi-k3, seed 7",
        "DZA-2026-001",
        "xllamacpp==2026.8.10229",
        "None: nothing was changed in the weights.",
        "0 B",
        "demo key",
        KIT.key_fingerprint,
        KIT.verify_command,
        "99th percentiles",
        "Fits, measured",
        "not yet",
    ):
        assert said in page, said


def test_a_written_site_holds_exactly_its_files(tmp_path: Path):
    write_site(whole_site(), tmp_path / "site")
    found = {p.relative_to(tmp_path / "site").as_posix() for p in (tmp_path / "site").rglob("*") if p.is_file()}
    assert found == {path for path, _ in whole_site()}
    assert (tmp_path / "site" / f"evidence/raw/{digest(ROWS)}").read_bytes() == ROWS
    assert [p.name for p in tmp_path.iterdir()] == ["site"]


def test_an_earlier_site_is_replaced_as_a_whole(tmp_path: Path):
    write_site(whole_site(), tmp_path / "site")
    write_site(render(listing_of(*tiny_records())), tmp_path / "site")
    assert not (tmp_path / "site/packages/kimi-k3-8xb300").exists()
    assert not (tmp_path / "site/evidence").exists()


@pytest.mark.parametrize(
    "present", [{"thesis.tex": "x"}, {"index.json": "{}"}, {"index.json": "no json"}, {"index.html": "mine"}]
)
def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path, present: dict[str, str]):
    for name, text in present.items():
        (tmp_path / name).write_text(text)
    with pytest.raises(InputError, match="would be removed"):
        write_site(whole_site(), tmp_path)
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == present


def test_a_site_with_a_foreign_file_in_it_is_left_alone(tmp_path: Path):
    write_site(whole_site(), tmp_path / "site")
    (tmp_path / "site/notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"holds 'notes\.txt'"):
        write_site(whole_site(), tmp_path / "site")
    assert (tmp_path / "site/notes.txt").read_text() == "mine"


def test_a_file_in_the_folders_place_is_left_alone(tmp_path: Path):
    (tmp_path / "site").write_text("mine")
    with pytest.raises(InputError, match="is not a folder"):
        write_site(whole_site(), tmp_path / "site")


def test_a_write_that_fails_leaves_the_earlier_site(tmp_path: Path):
    write_site(whole_site(), tmp_path / "site")
    before = (tmp_path / "site/index.html").read_bytes()
    with pytest.raises(RemoteError, match="cannot write the site"):
        write_site((*whole_site(), ("x" * 300, b"")), tmp_path / "site")
    assert (tmp_path / "site/index.html").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["site"]


def test_a_folder_that_cannot_be_made_is_a_remote_error(tmp_path: Path):
    (tmp_path / "file").write_text("mine")
    with pytest.raises(RemoteError, match="cannot write the site"):
        write_site(whole_site(), tmp_path / "file" / "site")


@pytest.mark.parametrize("path", ["../escape", "/etc/x", "a/../../b", ""])
def test_a_path_out_of_the_site_is_refused(tmp_path: Path, path: str):
    with pytest.raises(InputError, match="not a path inside the site"):
        write_site(((path, b"x"),), tmp_path / "site")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    write_site(whole_site(), tmp_path / "site")
    with serve(tmp_path / "site") as address:
        yield address


def fetch(address: str, path: str) -> tuple[int, http.client.HTTPMessage, bytes]:
    connection = http.client.HTTPConnection(urlsplit(address).netloc, timeout=10)
    try:
        connection.request("GET", f"/{path}")
        answer = connection.getresponse()
        return answer.status, answer.headers, answer.read()
    finally:
        connection.close()


def test_every_file_of_the_site_is_served_as_it_was_written(served: str):
    for path, content in whole_site():
        status, _, body = fetch(served, path)
        assert (status, body) == (200, content)


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("", "text/html; charset=utf-8"),
        ("index.json", "application/json; charset=utf-8"),
        (f"evidence/raw/{digest(ROWS)}", "text/plain; charset=utf-8"),
    ],
)
def test_raw_files_are_served_as_plain_text_and_nothing_is_sniffed(served: str, path: str, kind: str):
    _, headers, _ = fetch(served, path)
    assert headers["Content-Type"] == kind
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "default-src 'none'" in headers["Content-Security-Policy"]


@pytest.mark.parametrize("path", ["evidence/raw/", "packages/", "nowhere", "../secret", "%2e%2e/secret"])
def test_folders_are_not_listed_and_nothing_outside_is_served(served: str, tmp_path: Path, path: str):
    (tmp_path / "secret").write_text("mine")
    assert fetch(served, path)[0] == 404


def test_a_rebuilt_site_is_served_at_once(served: str, tmp_path: Path):
    assert fetch(served, "packages/kimi-k3-8xb300/index.html")[0] == 200
    write_site(render(listing_of(*tiny_records())), tmp_path / "site")
    assert fetch(served, "packages/kimi-k3-8xb300/index.html")[0] == 404


def test_a_taken_port_is_a_remote_error_with_a_hint(tmp_path: Path):
    write_site(whole_site(), tmp_path / "site")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(RemoteError, match=f"cannot listen on 127.0.0.1:{port}") as caught,
            serve(tmp_path / "site", port=port),
        ):
            pass
    assert "--port 0" in caught.value.hint


def test_a_folder_without_a_site_is_not_served(tmp_path: Path):
    with pytest.raises(InputError, match=r"index\.html is missing"), serve(tmp_path):
        pass


def test_a_closed_server_gives_its_port_back(tmp_path: Path):
    write_site(whole_site(), tmp_path / "site")
    with serve(tmp_path / "site") as address:
        port = urlsplit(address).port
    with serve(tmp_path / "site", port=port or 0) as again:
        assert again == address


def test_a_reader_who_goes_away_is_no_news(served: str, capfd: pytest.CaptureFixture[str]):
    parts = urlsplit(served)
    for _ in range(3):
        with socket.create_connection((parts.hostname or "", parts.port or 0)) as reader:
            reader.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
            reader.sendall(b"GET /index.html HTTP/1.1\r\n")
    assert fetch(served, "")[0] == 200
    assert capfd.readouterr() == ("", "")
