import re
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.adapters.site.catalog_sample import TINY, sample_catalog
from tests.adapters.site.pages import Tags, sample_site

from dayzero.adapters.site.export import site_pages
from dayzero.adapters.site.place import At, site_of
from dayzero.adapters.site.render import render_find, render_listing
from dayzero.adapters.site.shelf import PER_PAGE, Shelf, all_choices, groups, page_of, query, value_words
from dayzero.catalog.edition import Entry
from dayzero.catalog.facets import Filter
from dayzero.core.quantities import Bytes

GIB = 1024**3
COUNTS = {"gpu": {"b300": 3, "cpu": 1}, "engine": {f"e{number:02}": 1 for number in range(12)}}


def shelf(wanted: Filter = Filter()) -> Shelf:  # noqa: B008
    return Shelf(heading="Found", editions=(), total=0, counts=COUNTS, wanted=wanted)


def many(number: int) -> dict[str, str]:
    made = sample_catalog()
    edition = made.entries[0].latest
    entries = tuple(
        Entry(
            f"p{at:03}",
            (
                replace(
                    edition,
                    release=None,
                    card=replace(edition.card, package=replace(edition.card.package, name=f"p{at:03}")),
                ),
            ),
        )
        for at in range(number)
    )
    made = replace(made, entries=entries)
    return {path: content.decode() for path, content in site_pages(made, site_of(made))}


def test_a_static_facet_leads_to_the_page_of_its_value_and_a_live_one_adds_it_to_what_is_looked_for():
    made = sample_catalog()
    static = groups(shelf(Filter(gpu=("cpu",))), At(site_of(made), "../../../"))[0]
    assert [(choice.href, choice.chosen) for choice in static.choices] == [
        ("../../../find/gpu/b300/index.html", False),
        ("../../../find/gpu/cpu/index.html", True),
    ]
    live = groups(shelf(Filter(gpu=("cpu",), q="k3")), At(site_of(made, live=True), ""))[0]
    asked = [parse_qs(urlsplit(choice.href).query) for choice in live.choices]
    assert asked == [{"gpu": ["cpu", "b300"], "q": ["k3"]}, {"q": ["k3"]}]


def test_the_commonest_values_are_offered_and_the_chosen_one_always():
    found = groups(shelf(Filter(engine=("e11",))), At(site_of(sample_catalog()), ""))[1]
    assert [choice.words for choice in found.choices] == [*(f"e{number:02}" for number in range(8)), "e11"]
    assert (found.href, found.values) == ("find/engine/index.html", 12)
    assert len(all_choices("engine", shelf(), At(site_of(sample_catalog()), ""))) == 12


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (Filter(), ""),
        (Filter(gpu=("b200", "b300"), q="a b&c"), "?gpu=b200&gpu=b300&q=a+b%26c"),
        (Filter(min_memory=Bytes(GIB // 2), max_memory=Bytes(80 * GIB)), "?min_memory_gib=0.5&max_memory_gib=80"),
        (Filter(fits=("h200",)), "?fits=h200"),
    ],
)
def test_what_is_looked_for_is_written_as_a_query(wanted: Filter, text: str):
    assert query(wanted) == text


def test_the_next_page_of_a_query_keeps_what_is_looked_for():
    assert query(Filter(q="x"), offset=50) == "?q=x&offset=50"


@pytest.mark.parametrize(
    ("facet", "value", "words"),
    [
        ("gpu", "cpu", "none, CPU only"),
        ("gpu", "b200", "NVIDIA B200 180 GB"),
        ("gpu", "a-new-one", "a-new-one"),
        ("gpus", "0", "none"),
        ("status", "none", "nothing shown yet"),
        ("engine", "none", "none"),
    ],
)
def test_values_are_put_into_words(facet: str, value: str, words: str):
    assert value_words(facet, value) == words


@pytest.mark.parametrize(
    ("path", "number", "further"),
    [
        ("index.html", 1, "index.html"),
        ("index.html", 2, "listing/2/index.html"),
        ("find/gpu/b200/index.html", 3, "find/gpu/b200/3/index.html"),
    ],
)
def test_further_pages_of_a_listing_have_places_of_their_own(path: str, number: int, further: str):
    assert page_of(path, number) == further


def test_a_long_listing_is_cut_into_pages_that_lead_to_each_other_and_together_show_each_package_once():
    pages = many(2 * PER_PAGE + 1)
    paths = ["index.html", "listing/2/index.html", "listing/3/index.html"]
    shown = [
        text
        for path in paths
        for text, around in Tags(pages[path]).texts
        if text.startswith("p") and len(text) == 4 and around
    ]
    assert sorted(shown) == [f"p{at:03}" for at in range(2 * PER_PAGE + 1)]
    assert '<a rel="next" href="listing/2/index.html">' in pages["index.html"]
    assert '<a rel="prev" href="../../index.html">' in pages["listing/2/index.html"]
    assert 'rel="next"' not in pages["listing/3/index.html"]
    assert "51 to 100" in pages["listing/2/index.html"]
    assert "find/tier/open/3/index.html" in pages


def test_a_facet_finds_what_has_its_value_and_nothing_else():
    found = Tags(sample_site()["find/gpu/b300/index.html"])
    names = {a["href"] for tag, a in found.elements if tag == "a" and "/packages/" in a["href"]}
    assert names == {"../../../packages/kimi-k3-8xb300/draft/index.html"}
    chosen = [a["href"] for _, a in found.elements if a.get("aria-current") == "true"]
    assert chosen == ["../../../find/gpu/b300/index.html"]


@pytest.mark.parametrize(
    ("facet", "counted"),
    [
        ("precision", {"mxfp4": "2", "f32": "1", "bf16": "1"}),
        ("tier", {"open": "1", "licensed": "1"}),
        ("gpu", {"none, CPU only": "1", "NVIDIA B300 288 GB": "1"}),
    ],
)
def test_counts_are_those_of_the_packages_that_are_found(facet: str, counted: dict[str, str]):
    page = sample_site()[f"find/{facet}/index.html"]
    found = re.findall(r'<li><a href="[^"]*">([^<]*)</a> <span class="count">([0-9,]+)<', page)
    assert dict(found) == counted


def test_a_live_search_keeps_its_words_and_its_facets():
    made = sample_catalog()
    live = site_of(made, live=True)
    wanted = Filter(q='"k3"', gpu=("b300",), fits=("b300",), max_memory=Bytes(80 * GIB))
    page = render_find(live, replace(shelf(wanted), editions=(made.entries[0].latest,), total=1)).decode()
    fields = [a for tag, a in Tags(page).elements if tag == "input"]
    assert {a["name"]: a.get("value") for a in fields} == {"q": '"k3"', "max_memory_gib": "80", "gpu": "b300"}
    assert '<option value="b300" selected>' in page
    assert f'href="packages/{TINY}/1.1.0/index.html"' in page


def test_a_search_that_finds_nothing_says_what_to_do():
    made = sample_catalog()
    assert "Take one of the conditions away." in render_find(site_of(made, live=True), shelf()).decode()
    assert "No package is on offer yet." in render_listing(site_of(made), shelf(), "index.html").decode()
