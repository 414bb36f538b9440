import re
from dataclasses import replace

import pytest
from tests.adapters.site.catalog_sample import (
    AS_OF,
    LARGE,
    SERIES,
    TERMS_TEXT,
    TINY,
    YANK,
    all_records,
    card_of,
    catalog_of,
    draft,
    large_entry,
    ledger_of,
    released,
    repinned,
    sample_catalog,
    tiny_entry,
)
from tests.adapters.site.pages import Tags, pages_of, section
from tests.catalog.sample import FITS, KIT, STATUSES, claim, tiny, tiny_records

from dayzero.adapters.site.place import site_of
from dayzero.adapters.site.render import Beside, render_edition, render_fit
from dayzero.adapters.site.systems import by_kind
from dayzero.catalog.edition import Catalog, Deployment, Entry
from dayzero.evidence.citation import Page
from dayzero.evidence.html_page import read_html
from dayzero.evidence.model import Concern, Record, Retraction

CARD = f"packages/{TINY}/1.0.0/index.html"
SLUG = f"{TINY}/c1-output-tok-s"
PAGE = f"claims/{SLUG}/index.html"
REASON = "the clock of the client was stepped"


def catalog(*records: Record) -> Catalog:
    ledger = ledger_of(*records)
    one = released(card_of(tiny(), ledger, KIT, STATUSES, FITS), "2026-11-29T18:00:00Z")
    return catalog_of(Entry(TINY, (one,)), ledger=ledger)


def site(*records: Record) -> dict[str, str]:
    return pages_of(catalog(*records))


def test_a_number_that_changes_in_the_evidence_changes_on_card_and_listing():
    before = site(*tiny_records())
    after = site(*tiny_records(), claim(tiny(), "c1-output-tok-s", "611.7"))
    for page in (CARD, "index.html", "find/tier/open/index.html"):
        assert f'<data data-claim="{SLUG}" value="532.4">532.4 tok/s</data>' in before[page]
        assert f'<data data-claim="{SLUG}" value="611.7">611.7 tok/s</data>' in after[page]
    assert {path for path, text in after.items() if "532.4" in text} == {PAGE}
    assert '<span data-not-a-claim="what was claimed before">532.4 tok/s</span>' in after[PAGE]


@pytest.mark.parametrize(("kind", "word"), [("retract", "retracted"), ("withdraw", "withdrawn")])
def test_a_retracted_number_leaves_card_and_listing_and_its_reason_takes_its_place(kind: str, word: str):
    pages = site(*tiny_records(), Retraction(slug=SLUG, kind=kind, reason=REASON, at="2026-11-30T08:00:00Z"))
    assert {path for path, text in pages.items() if "532.4" in text} == ({PAGE} if kind == "withdraw" else set())
    for page in (CARD, "index.html"):
        assert f"{word.capitalize()} 2026-11-30: {REASON}" in pages[page]
        assert f'<span class="tag warn">{word}</span>' in pages[page]
    assert f'<span class="tag warn">{word}</span>' in pages[PAGE]
    assert REASON in pages[PAGE]


def test_a_claim_that_the_ledger_does_not_hold_is_shown_as_absent_with_the_reason():
    pages = site()
    said = f"The evidence ledger holds no claim {SLUG}."
    assert pages[CARD].count('<span class="tag mute">no number</span>') == 5
    assert said in pages[CARD]
    assert said in pages["index.html"]
    assert "4 of 4 numbers cannot be shown" in pages["index.html"]


def test_a_flag_stands_beside_the_number_on_card_and_listing():
    concern = Concern(slug=SLUG, reason="a <second> process ran, 20 ms long", at="2026-11-30T08:00:00Z")
    pages = site(*tiny_records(), concern)
    for page in (CARD, "index.html"):
        assert re.search(r"532\.4 tok/s</data></a> <span class=\"tag warn\">under concern</span>", pages[page])
    assert "Under concern since 2026-11-30: a &lt;second&gt; process ran, 20 ms long" in pages[CARD]


def test_every_number_on_a_card_links_to_its_page_and_the_page_to_its_card():
    pages = site(*tiny_records())
    slugs = {citation.slug for citation in read_html(Page(path=CARD, content=pages[CARD].encode())).citations}
    assert slugs == {m.slug for m in catalog(*tiny_records()).entries[0].latest.card.measurements}
    for slug in slugs:
        assert f'<a class="number" href="../../../claims/{slug}/index.html"><data data-claim="{slug}"' in pages[CARD]
        assert f'<a href="../../../packages/{TINY}/index.html">' in pages[f"claims/{slug}/index.html"]
    assert f'<a class="number" href="{PAGE}">' in pages["index.html"]


def test_a_number_without_a_page_is_not_linked():
    page = pages_of(replace(catalog(*tiny_records()), pages=()))[CARD]
    assert "claims/" not in page
    assert 'class="number"' not in page
    assert 'value="532.4">532.4 tok/s</data>' in page


def test_an_earlier_version_keeps_its_own_number_and_does_not_cite_it_as_the_one_that_stands():
    pages = pages_of(sample_catalog())
    earlier, latest = pages[CARD], pages[f"packages/{TINY}/1.1.0/index.html"]
    assert 'value="532.4">532.4 tok/s</data>' in section(earlier, "headline")
    assert f'<data data-claim="{SLUG}"' not in earlier
    assert f'<data data-claim="{SLUG}" value="611.7">611.7 tok/s</data>' in section(latest, "headline")
    difference = section(latest, "difference")
    assert f'<data data-claim="{SLUG}" value="611.7">611.7 tok/s</data>' in difference
    assert "532.4 tok/s</span>" in difference
    assert ">1.15<" in difference


def test_raw_lines_are_quoted_where_they_are_those_under_the_number_of_this_version():
    pages = pages_of(sample_catalog())
    quoted = section(pages[f"packages/{TINY}/1.1.0/index.html"], "measured")
    assert '<li value="1"><code>{&#34;cell&#34;:&#34;c1&#34;,&#34;ttft_ns&#34;:56100000}</code></li>' in quoted
    assert f'href="../../../claims/{SLUG}/index.html#raw"' in quoted


def test_raw_lines_of_another_place_are_not_quoted_as_those_of_a_number():
    made = catalog(*tiny_records())
    pages = {page.slug: page for page in made.pages}
    moved = tuple(
        replace(page, basis=replace(page.basis, place="line 7")) if page.slug == SLUG else page
        for page in pages.values()
    )
    before, after = (section(pages_of(each)[CARD], "measured") for each in (made, replace(made, pages=moved)))
    assert before.count('<div class="quote"') == after.count('<div class="quote"') + 1


def test_a_yanked_version_says_so_everywhere_and_leads_to_the_one_to_take():
    pages = pages_of(sample_catalog())
    page = pages[f"packages/{TINY}/0.9.0/index.html"]
    said = "Its cache held &lt;half&gt; of 20 GiB."
    assert said in section(page, "yanked")
    assert 'href="../../../packages/demo-kimi-k3-tiny/1.1.0/index.html">version 1.1.0</a>' in section(page, "yanked")
    for other in ("0.9.0", "1.0.0", "1.1.0"):
        assert said in section(pages[f"packages/{TINY}/{other}/index.html"], "versions")
    assert YANK.at[:10] in section(page, "versions")


def test_a_listing_shows_a_yank_where_no_version_is_left():
    ledger = ledger_of(*all_records())
    only = Entry(TINY, (tiny_entry(ledger).editions[2],))
    pages = pages_of(catalog_of(only, ledger=ledger))
    assert "do not start with this version" in pages["index.html"]
    assert "instead" not in section(pages[f"packages/{TINY}/index.html"], "yanked")


def test_a_package_shows_its_latest_version_and_an_earlier_one_leads_there():
    pages = pages_of(sample_catalog())
    front, latest = pages[f"packages/{TINY}/index.html"], pages[f"packages/{TINY}/1.1.0/index.html"]
    assert Tags(front).text == Tags(latest).text
    assert f'<link rel="canonical" href="../../packages/{TINY}/1.1.0/index.html">' in front
    assert "canonical" not in latest
    assert "There is a newer version" in pages[CARD]
    assert "There is a newer version" not in latest


def test_a_draft_says_that_it_promises_nothing():
    pages = pages_of(sample_catalog())
    assert "A draft, not released" in pages[f"packages/{LARGE}/draft/index.html"]
    assert "draft, not released" in pages["index.html"]
    assert "The release as JSON" not in pages[f"packages/{LARGE}/draft/index.html"]
    assert "api/v1/releases/" not in pages[f"packages/{LARGE}/draft/index.html"]


def test_a_pin_has_the_age_that_it_had_when_the_newest_record_was_written():
    pages = pages_of(sample_catalog())
    assert "12 days old" in pages[CARD]
    assert "1 day old" in pages["index.html"]
    later = pages_of(replace(sample_catalog(), as_of="2027-01-01T00:00:00Z"))
    assert "33 days old" in later[CARD]
    assert AS_OF[:10] in pages["index.html"]


def test_a_card_says_what_it_pins_and_what_it_withholds():
    page = pages_of(sample_catalog())[f"packages/{TINY}/1.1.0/index.html"]
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


def test_a_card_in_the_listing_says_what_a_reader_chooses_by():
    page = Tags(pages_of(sample_catalog())["index.html"]).text
    for said in (
        "tiny-kimi-k3-seed7",
        "xllamacpp== 2026.11.20007",
        "A CPU-only machine with at least 512.00 MiB of memory for the engine (cpu-1core). Fits, measured",
        "resolves reached 2026-11-29",
        "quality-gated not yet",
        "Over the whole cell, 1 in flight, 128 prompt and 64 output tokens, 64 requests",
        "version 1.1.0, pinned 2026-12-10 , 1 day old",
        "open tier, no signature needed",
        "licensed tier, a signed licence comes first",
        "model licence Apache-2.0",
        "a demo key",
    ):
        assert said in page, said


def test_every_deploy_file_is_linked_with_its_digest_and_what_was_proven_of_it():
    made = sample_catalog()
    page = section(pages_of(made)[f"packages/{TINY}/1.1.0/index.html"], "deploy")
    for file in made.entries[0].latest.deploy:
        row = next(row for row in page.split("<tr>") if f"deploy/{file.target}/{file.path}" in row)
        word = {"proven": "Parsed back equal", "companion": "Companion file", "undecided": "Undecided"}[file.proven]
        assert file.sha256.hex in row
        assert f">{word}</span>" in row
    assert "word for word" in page
    assert "The model has &lt;no&gt; address" in page


def test_terms_are_shown_with_their_hash_and_the_rule_of_maintenance():
    made = sample_catalog()
    page = section(pages_of(made)[f"packages/{TINY}/1.1.0/index.html"], "terms")
    terms = made.entries[0].latest.terms
    assert terms is not None
    assert TERMS_TEXT.replace("<", "&lt;").replace(">", "&gt;") in page
    assert terms.sha256.hex in page
    assert terms.maintenance in page


def test_systems_stand_by_kind_of_gpu_with_the_sentence_why():
    page = section(pages_of(sample_catalog())[f"packages/{LARGE}/draft/index.html"], "floor")
    summaries = re.findall(r"<summary>(.*?)</summary>", page)
    assert summaries == [
        "NVIDIA B300 288 GB: fits from 8 on, computed",
        "NVIDIA B200 180 GB: does not fit on 8 or fewer, unknown for more",
        "AMD Instinct MI355X 288 GB: unknown",
    ]
    assert page.count("<details open>") == 1
    row = re.search(r'<tr id="fit-8xb200">.*?</tr>', page)
    assert row
    assert "Does not fit, measured" in row[0]
    assert "The weights alone need 175.40 GiB a GPU" in row[0]


def test_kinds_of_which_nothing_is_known_share_one_group():
    unknown = sample_catalog().entries[0].latest.fits[-1]
    more = [replace(unknown, gpu=gpu, system=f"8x{gpu}") for gpu in ("mi355x", "mi325x", "l4")]
    kinds = by_kind((*sample_catalog().entries[0].latest.fits[:-1], *more))
    assert [(kind.words, kind.answer, len(kind.fits)) for kind in kinds[1:]] == [
        ("NVIDIA B200 180 GB", "does not fit on 8 or fewer, unknown for more", 3),
        ("3 other kinds of GPU", "unknown", 3),
    ]
    assert [kind.words for kind in by_kind(more)] == ["3 kinds of GPU"]


def test_plots_stand_before_the_table_of_the_same_numbers():
    made = sample_catalog()
    entry = made.entries[0]
    page = render_edition(site_of(made), entry, entry.latest, CARD, Beside(series=SERIES)).decode()
    measured = section(page, "measured")
    assert measured.count("<svg ") == 2
    assert measured.index("<svg ") < measured.index('<table class="numbers"')
    assert read_html(Page(path=CARD, content=page.encode())).bare == ()


def test_a_live_page_asks_for_a_system_and_answers_for_it():
    made = sample_catalog()
    edition = made.entries[0].latest
    live = site_of(made, live=True)
    path = f"packages/{TINY}/1.1.0/fit"
    asked = render_edition(live, made.entries[0], edition, f"packages/{TINY}/1.1.0/index.html").decode()
    forms = [a for tag, a in Tags(asked).elements if tag == "form"]
    assert [(form["action"], form["method"]) for form in forms] == [
        (f"../../../{path}", "get"),
        ("../../../compare", "get"),
    ]
    assert read_html(Page(path="p.html", content=asked.encode())).bare == ()
    answer = render_fit(live, edition, path, gpu="b200", count=8, fit=edition.fits[3]).decode()
    assert "Does not fit, measured" in section(answer, "answer")
    assert '<option value="b200" selected>' in answer
    assert read_html(Page(path="p.html", content=answer.encode())).bare == ()
    unknown = render_fit(live, edition, path, gpu="b200", count=3, fit=None, why="Nobody <sizes> three.").decode()
    assert "Nobody &lt;sizes&gt; three." in section(unknown, "answer")
    assert "Unknown" in section(unknown, "answer")


def test_a_static_page_has_no_form():
    assert not [path for path, page in pages_of(sample_catalog()).items() if "<form" in page and path.endswith(".html")]


def test_a_version_without_anything_says_so_in_place_of_each_thing():
    ledger = ledger_of()
    bare = replace(
        draft(card_of(replace(repinned(), claims=(), walls=(), unmeasured=(), changes=()), ledger)),
        rendering=Deployment,
        fits=(),
        terms=None,
    )
    page = Tags(pages_of(catalog_of(Entry(TINY, (bare,)), ledger=ledger))[f"packages/{TINY}/index.html"]).text
    for said in (
        "The definition claims no headline number.",
        "No system was sized for this version.",
        "The definition claims no number.",
        "That is not a promise that everything was measured.",
        "the definition names no failure",
        "No deploy file was written for this version.",
        "No kit was given",
        "No terms are on record",
        "No change is recorded.",
    ):
        assert said in page, said


def test_a_licensed_kit_is_not_offered_for_download():
    ledger = ledger_of(*all_records())
    entry = large_entry(ledger)
    with_kit = replace(entry.latest, card=replace(entry.latest.card, kit=KIT))
    page = pages_of(catalog_of(Entry(LARGE, (with_kit,)), ledger=ledger))[f"packages/{LARGE}/index.html"]
    assert "handed over once a licence is signed" in section(page, "kit")
    assert "download" not in section(page, "kit")
