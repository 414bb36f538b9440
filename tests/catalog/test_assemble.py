from dataclasses import replace

import pytest
from tests.catalog.sample import (
    AT,
    LOG,
    ROWS,
    claim,
    digest,
    edition_of,
    every_state,
    large,
    large_records,
    raw_file,
    tiny,
    tiny_records,
    told_of,
)

from dayzero.catalog.assemble import assemble
from dayzero.catalog.claim_page import claim_pages
from dayzero.catalog.edition import Catalog, Edition
from dayzero.catalog.release import Release, ReleaseLog, Yank
from dayzero.core.errors import InputError
from dayzero.core.package import Package
from dayzero.evidence.model import Correction, Record, Retraction

NAME = "demo-kimi-k3-tiny"
WHY = Yank(package=NAME, version="1.0.0", at="2026-12-02T08:00:00Z", reason="Its cache is too small.")


def version(number: str, **flags: str) -> Package:
    package = tiny()
    more = tuple(word for pair in flags.items() for word in pair)
    return replace(package, version=number, recipe=replace(package.recipe, flags=(*package.recipe.flags, *more)))


def assembled(editions: tuple[Edition, ...], *records: Record, log: ReleaseLog | None = None) -> Catalog:
    told = told_of(*records)
    return assemble(editions, claim_pages(told, {digest(LOG): LOG}), told=told, log=log or ReleaseLog())


@pytest.mark.parametrize(
    ("released", "yanked", "draft", "order", "latest"),
    [
        (("1.0.0",), (), "", ("1.0.0",), "1.0.0"),
        (("1.0.0", "1.10.0", "1.9.0"), (), "", ("1.10.0", "1.9.0", "1.0.0"), "1.10.0"),
        (("1.0.0", "1.1.0"), ("1.1.0",), "", ("1.1.0", "1.0.0"), "1.0.0"),
        (("1.0.0", "1.1.0"), ("1.0.0", "1.1.0"), "", ("1.1.0", "1.0.0"), "1.1.0"),
        (("1.0.0",), (), "2.0.0", ("1.0.0", "draft"), "1.0.0"),
        (("1.0.0",), ("1.0.0",), "2.0.0", ("1.0.0", "draft"), "1.0.0"),
        ((), (), "2.0.0", ("draft",), "draft"),
    ],
)
def test_releases_stand_newest_first_and_a_draft_never_in_the_place_of_one(
    released: tuple[str, ...], yanked: tuple[str, ...], draft: str, order: tuple[str, ...], latest: str
):
    editions = [edition_of(version(one), at=AT, yank=WHY if one in yanked else None) for one in released]
    editions += [edition_of(version(draft))] if draft else []
    (entry,) = assembled(tuple(editions)).entries
    assert tuple(edition.handle for edition in entry.editions) == order
    assert entry.latest.handle == latest
    assert (entry.draft.version if entry.draft else "") == draft
    assert entry.releases == tuple(edition for edition in entry.editions if edition.handle != "draft")


def test_each_version_differs_from_the_one_before_it_and_the_draft_from_the_newest():
    editions = (edition_of(version("1.1.0"), at=AT), edition_of(version("1.2.0")), edition_of(version("1.0.0"), at=AT))
    (entry,) = assembled(editions).entries
    assert [(e.handle, e.difference.before if e.difference else None) for e in entry.editions] == [
        ("1.1.0", "1.0.0"),
        ("1.0.0", None),
        ("draft", "1.1.0"),
    ]


def test_packages_stand_by_name():
    catalog = assembled((edition_of(tiny()), edition_of(large()), edition_of(replace(tiny(), name="a"))))
    assert [entry.name for entry in catalog.entries] == ["a", NAME, "kimi-k3-8xb300"]
    assert catalog.entry("a") is catalog.entries[0]
    assert catalog.entry("b") is None


def test_two_drafts_of_one_package_are_refused():
    with pytest.raises(InputError, match=f"two definitions of {NAME} are not released"):
        assembled((edition_of(tiny()), edition_of(version("1.1.0"))))


def test_what_was_taken_back_names_the_cards_of_the_recipe_that_was_measured():
    first, second = version("1.0.0"), version("1.1.0", **{"--more": "1"})
    records = (
        raw_file("requests.jsonl", ROWS),
        claim(first, "c1-output-tok-s", "532.4"),
        claim(second, "c1-output-tok-s", "611.7"),
        Retraction(slug=f"{NAME}/c1-output-tok-s", kind="retract", reason="The clock was wrong.", at=AT),
    )
    editions = tuple(edition_of(one, *records, at=AT) for one in (first, second))
    (back,) = assembled(editions, *records).retractions
    assert (back.kind, back.reason, back.at, back.line) == ("retracted", "The clock was wrong.", AT, 4)
    assert back.label == "output rate, one stream"
    assert back.cards == ((NAME, "1.1.0"),)


def test_what_was_taken_back_stands_newest_first_with_its_word():
    records = (*tiny_records(), *large_records(), *every_state())
    backs = assembled((edition_of(tiny(), *records), edition_of(large(), *records)), *records).retractions
    assert [(back.slug, back.kind, back.cards) for back in backs] == [
        ("s/retracted", "retracted", ()),
        ("s/withdrawn", "withdrawn", ()),
        ("s/corrected", "corrected", ()),
        ("kimi-k3-8xb300/c1-output-tok-s", "withdrawn", (("kimi-k3-8xb300", "draft"),)),
    ]


def test_a_correction_whose_right_claim_is_not_filed_yet_is_told_too():
    package = tiny()
    slug = f"{NAME}/c1-output-tok-s"
    records = (*tiny_records(), Correction(slug=slug, reason="A point was lost.", at=AT))
    (back,) = assembled((edition_of(package, *records),), *records).retractions
    assert (back.slug, back.kind, back.cards) == (slug, "corrected", ((NAME, "draft"),))


def test_the_newest_instant_of_ledger_and_log_is_the_only_today():
    release = Release(
        package="p", version="1.0.0", at="2026-12-01T08:00:00Z", definition=digest(b"d"), recipe=digest(b"r")
    )
    log, _ = ReleaseLog().append(release)
    records = (*tiny_records(), *large_records())
    assert assembled((edition_of(tiny()),)).as_of == ""
    assert assembled((edition_of(tiny()),), *tiny_records()).as_of == "2026-11-29T16:40:12Z"
    assert assembled((edition_of(tiny()),), *records).as_of == "2026-11-29T16:40:12Z"
    assert assembled((edition_of(tiny()),), *records, log=log).as_of == "2026-12-01T08:00:00Z"
    assert assembled((edition_of(tiny()),), *records, log=log).release_head == log.head


def test_every_raw_file_that_a_page_links_is_named_once():
    records = (*tiny_records(), *every_state())
    catalog = assembled((edition_of(tiny(), *records), edition_of(version("1.1.0"), *records, at=AT)), *records)
    assert len(catalog.raws) == len(set(catalog.raws)) == 3
