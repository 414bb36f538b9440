import json
import re
from dataclasses import replace
from urllib.parse import unquote, urljoin

import pytest
from tests.adapters.site.catalog_sample import LARGE, TINY, YANK, sample_catalog
from tests.adapters.site.pages import pages_of, whole_site

from dayzero.adapters.site.export import MOST_BESIDE, comparisons_by_version, pairs_beside, site_pages
from dayzero.adapters.site.linked_data import linked_data
from dayzero.adapters.site.llms import MOST, llms_text
from dayzero.adapters.site.place import site_of
from dayzero.catalog.edition import Catalog, Entry


def same_model(number: int, models: int = 1) -> Catalog:
    made = sample_catalog()
    edition = made.entries[0].latest
    entries = []
    for at in range(number):
        recipe = edition.card.package.recipe
        recipe = replace(recipe, model=replace(recipe.model, name=f"model-{at % models}"))
        package = replace(edition.card.package, name=f"p{at:03}", recipe=recipe)
        entries.append(Entry(package.name, (replace(edition, card=replace(edition.card, package=package)),)))
    return replace(made, entries=tuple(entries))


def test_files_come_one_at_a_time():
    made = sample_catalog()
    files = site_pages(made, site_of(made))
    assert next(files)[0] == "style.css"
    assert next(files)[0] == "site.js"


def test_no_path_comes_twice():
    made = sample_catalog()
    paths = [path for path, _ in site_pages(made, site_of(made))]
    assert len(paths) == len(set(paths))


def test_deploy_files_and_definitions_lie_there_as_they_are():
    made = sample_catalog()
    files = dict(site_pages(made, site_of(made)))
    for edition in made.editions:
        folder = f"packages/{edition.name}/{edition.handle}"
        assert files[f"{folder}/package.toml"] == edition.definition.encode()
        for file in edition.deploy:
            assert files[f"{folder}/deploy/{file.target}/{file.path}"] == file.content


def test_all_versions_of_a_package_are_set_beside_each_other_earlier_ones_first():
    pairs = pairs_beside(sample_catalog())
    assert pairs[TINY] == (
        ((TINY, "0.9.0"), (TINY, "1.0.0")),
        ((TINY, "0.9.0"), (TINY, "1.1.0")),
        ((TINY, "1.0.0"), (TINY, "1.1.0")),
    )
    assert pairs[LARGE] == ()
    links = comparisons_by_version(pairs[TINY])[TINY, "1.0.0"]
    assert [words for words, _ in links] == ["beside 0.9.0", "beside 1.1.0"]


@pytest.mark.parametrize("number", [1, 2, 3, 4, 30])
def test_a_package_is_set_beside_a_few_others_of_its_model_and_never_itself(number: int):
    pairs = pairs_beside(same_model(number))
    for name, chosen in pairs.items():
        others = [right[0] if left[0] == name else left[0] for left, right in chosen]
        assert name not in others
        assert len(others) == len(set(others))
        assert min(number - 1, 4) <= len(others) <= MOST_BESIDE
    assert all(left < right for chosen in pairs.values() for left, right in chosen)


def test_packages_of_the_same_model_come_before_those_of_the_same_gpu():
    pairs = pairs_beside(same_model(30, models=3))
    for name, chosen in pairs.items():
        others = [right[0] if left[0] == name else left[0] for left, right in chosen]
        assert len(others) == MOST_BESIDE
        assert sum((int(other[1:]) - int(name[1:])) % 3 == 0 for other in others) == 4


def test_every_pair_has_its_page_once():
    pages = [path for path in pages_of(same_model(5)) if path.startswith("compare/")]
    assert len(pages) == len(set(pages)) == 10


def test_linked_data_says_what_the_page_says():
    made = sample_catalog()
    edition = made.entries[0].latest
    path = f"packages/{TINY}/1.1.0/index.jsonld"
    facts = json.loads(linked_data(edition))
    assert (facts["@type"], facts["softwareVersion"]) == ("SoftwareApplication", "1.1.0")
    assert facts["isBasedOn"]["identifier"] == "generator kimi-k3, seed 7"
    assert facts["offers"]["price"] == "0"
    assert {one["@type"] for one in facts["subjectOf"]} == {"Dataset"}
    links = re.findall(r'"(?:@id|url|contentUrl)": "([^"]*)"', linked_data(edition).decode())
    assert len(links) == 2 + len(edition.card.raws)
    for link in links:
        assert unquote(urljoin(f"/{path}", link)).removeprefix("/") in whole_site()


def test_linked_data_says_what_was_taken_back_and_that_a_licence_comes_first():
    large, tiny = sample_catalog().entries[1], sample_catalog().entries[0]
    facts = json.loads(linked_data(large.latest))
    assert facts["creativeWorkStatus"] == ["Draft", "output rate, one stream: no longer published"]
    assert "price" not in facts["offers"]
    assert "datePublished" not in facts
    yanked = json.loads(linked_data(tiny.editions[2]))["creativeWorkStatus"]
    assert yanked[:2] == ["Published", f"Yanked since {YANK.at}: {YANK.reason}"]


def test_llms_txt_lists_packages_and_leads_to_documents():
    text = llms_text(sample_catalog()).decode()
    assert text.startswith("# dayzero catalog\n\n> ")
    for link in re.findall(r"\]\(([^)]*)\)", text):
        assert link in whole_site() or link.startswith(("api/", "openapi.json")), link
    assert f"{LARGE} draft (draft, not released)" in text
    assert "611.7" not in text


def test_llms_txt_of_a_large_catalog_says_how_many_it_leaves_out():
    text = llms_text(same_model(MOST + 3)).decode()
    assert text.count("](packages/") == MOST
    assert f"The first {MOST} of {MOST + 3}" in text
