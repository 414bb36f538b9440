import re
from dataclasses import replace

import html5lib
import pytest
from tests.adapters.site.catalog_sample import catalog_of, ledger_of
from tests.adapters.site.pages import Tags, sample_site
from tests.catalog.sample import LOG, RawFolder, digest, every_state, log_claim, raw_file

from dayzero.adapters.site.place import site_of
from dayzero.adapters.site.render import render_claim
from dayzero.catalog.claim_page import claim_pages
from dayzero.catalog.told import Told
from dayzero.evidence.check import check
from dayzero.evidence.citation import Page
from dayzero.evidence.html_page import read_html
from dayzero.evidence.locate import line_locator
from dayzero.evidence.model import Concern

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
    site = sample_site()
    page = site[f"claims/s/{name}/index.html"]
    assert re.search(rf'<span class="tag \w+">{state}</span>', page)
    cited = {c.slug for c in read_html(Page(path=name, content=page.encode())).citations}
    assert (f"s/{name}" in cited) == (value is not None)
    assert value is None or f'value="{value}"' in page


def test_a_retracted_value_is_on_no_page_and_a_withdrawn_one_on_its_own_only():
    site = sample_site()
    assert not [path for path, text in site.items() if "88.20" in text]
    assert [path for path, text in site.items() if "77.10" in text] == ["claims/s/withdrawn/index.html"]
    assert "140.30" in site["claims/s/withdrawn/index.html"], "its raw line stays"
    assert "140.30" not in site["claims/s/retracted/index.html"]


def test_a_withdrawn_page_strikes_nothing_but_the_value():
    standing, withdrawn = (sample_site()[f"claims/s/{name}/index.html"] for name in ("standing", "withdrawn"))
    section = re.compile(r'<section aria-labelledby="raw">.*?</section>', re.DOTALL)
    assert section.findall(standing) == section.findall(withdrawn)
    assert not re.search(r"<(s|del|strike)\b", withdrawn)


@pytest.mark.parametrize(
    "planted", ["77.10 tok/s", "<p>took 3 s</p>", '<data data-claim="s/withdrawn" value="77.10">77.10 tok/s</data>']
)
def test_a_number_that_is_planted_on_a_page_is_found(planted: str):
    page = sample_site()["claims/s/withdrawn/index.html"].replace("</main>", f"{planted}</main>")
    report = check(
        ledger_of(*every_state()), RawFolder(LOG), {}, [Page(path="p.html", content=page.encode())], folder="e"
    )
    assert [f for f in report.findings if f.places[0].file == "p.html"]


def test_the_raw_lines_have_a_deep_link_and_the_numbers_that_sed_would_print():
    page = sample_site()["claims/s/standing/index.html"]
    ids = [a["id"] for tag, a in Tags(page).elements if tag == "h2" and "id" in a]
    assert "raw" in ids
    quoted = [around for text, around in Tags(page).texts if "140.30" in text and any("value" in a for a in around)]
    assert any(a.get("data-not-a-claim") == "quoted raw line" for around in quoted for a in around)
    assert '<li value="2"><code>rate &lt;b&gt;140.30&lt;/b&gt; tok/s ␛[31m &amp; more</code></li>' in page


def test_what_a_claim_derives_from_and_what_derives_from_it_link_to_each_other():
    site = sample_site()
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
    (told,) = claim_pages(Told.read(ledger), {digest(raw): raw})
    page = render_claim(site_of(catalog_of(ledger=ledger)), told, "claims/h/x/index.html").decode()
    html5lib.HTMLParser(strict=True).parse(page)
    tags = Tags(page)
    assert [tag for tag, _ in tags.elements].count("script") == 1
    assert not [name for _, attributes in tags.elements for name in attributes if name.startswith("on")]
    assert "\u202e" not in page[page.index('<div class="quote"') : page.index("<dl")], "a raw line turns nothing around"
