"""What changes under a built site changes on every page of it together, or the build fails and names the place."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tests.catalog.sample import AT, ROWS, digest, raw_file
from tests.catalog.shop import HEADLINE, NAME, Shop, open_shop

from dayzero.evidence.model import Concern, Correction, Retraction
from dayzero.wiring.catalog_source import CatalogSource, Places

RAW = raw_file("requests.jsonl", ROWS)
EDITION = f"api/v1/packages/{NAME}/1.0.0.json"
PAGES = ("index.html", f"packages/{NAME}/index.html", f"packages/{NAME}/1.0.0/index.html")


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    shop = open_shop(tmp_path)
    assert shop.publish() == 0
    return shop


def headline(shop: Shop) -> tuple[str, str]:
    """Give state and value of the headline in every document that has it; they have to agree."""
    (summary,) = shop.told("api/v1/packages.json")["packages"]
    (listed,) = shop.told(f"api/v1/packages/{NAME}.json")["editions"]
    (full,) = (m for m in shop.told(EDITION)["measurements"] if m["slug"] == HEADLINE)
    found = {(each["state"], each.get("value", "")) for each in (summary["headline"], listed["headline"], full)}
    (one,) = found
    return one


def test_a_number_that_changes_in_the_evidence_changes_everywhere(shop: Shop):
    assert shop.build() == 0
    assert headline(shop) == ("shown", "532.4")
    assert all("532.4 tok/s" in shop.text(page) for page in PAGES)
    shop.file(shop.claim("611.7"))
    assert shop.build() == 0
    assert headline(shop) == ("shown", "611.7")
    assert all("611.7 tok/s" in shop.text(page) and "532.4" not in shop.text(page) for page in PAGES)
    assert "611.7" in shop.text(f"claims/{HEADLINE}/index.html")
    assert shop.told(f"api/v1/claims/{HEADLINE}.json")["value"] == "611.7"


@pytest.mark.parametrize(("kind", "word"), [("retract", "retracted"), ("withdraw", "withdrawn")])
def test_a_claim_that_is_taken_back_is_gone_everywhere(shop: Shop, kind: str, word: str):
    shop.build()
    before = shop.text("feeds/retractions.atom")
    shop.file(Retraction(slug=HEADLINE, kind=kind, reason="The clock was wrong.", at=AT))
    assert shop.build() == 0
    assert headline(shop) == (word, "")
    (back,) = shop.told("api/v1/packages.json")["retractions"]
    assert (back["slug"], back["kind"], back["cards"][0]["version"]) == (HEADLINE, word, "1.0.0")
    feed = shop.text("feeds/retractions.atom")
    assert feed != before
    assert "The clock was wrong." in feed
    for page in PAGES:
        assert "532.4" not in shop.text(page)
        assert "The clock was wrong." in shop.text(page)
    if kind == "retract":
        assert "532.4" not in shop.everywhere()


def test_a_claim_under_concern_is_marked_everywhere(shop: Shop):
    shop.file(Concern(slug=HEADLINE, reason="The client was looked at.", at=AT))
    assert shop.build() == 0
    assert headline(shop) == ("shown", "532.4")
    assert shop.told(EDITION)["measurements"][0]["marks"][0]["word"] == "under concern"
    assert "The client was looked at." in shop.text(PAGES[1])


def test_a_correction_shows_the_right_number_and_tells_of_the_wrong_one(shop: Shop):
    shop.file(Correction(slug=HEADLINE, reason="A point was lost.", at=AT), shop.claim("53.2"))
    assert shop.build() == 0
    assert headline(shop) == ("shown", "53.2")
    (back,) = shop.told("api/v1/packages.json")["retractions"]
    assert back["kind"] == "corrected"
    assert "A point was lost." in shop.text("feeds/retractions.atom")


def test_a_yanked_version_is_marked_everywhere_and_deleted_nowhere(shop: Shop):
    shop.build()
    before = shop.text("feeds/releases.atom")
    assert shop.yank() == 0
    assert shop.build() == 0
    for document in (EDITION, f"api/v1/packages/{NAME}.json", "api/v1/packages.json"):
        assert "Its cache is too small." in shop.text(document)
    for page in PAGES:
        assert "Its cache is too small." in shop.text(page)
    assert shop.text("feeds/releases.atom") != before
    assert "Its cache is too small." in shop.text("feeds/releases.atom")
    assert headline(shop) == ("shown", "532.4")


def test_an_immutable_document_of_a_release_never_changes(shop: Shop):
    path = f"api/v1/releases/{NAME}/1.0.0.json"
    shop.build()
    before = (shop.site / path).read_bytes()
    shop.yank()
    shop.file(Retraction(slug=HEADLINE, kind="retract", reason="The clock was wrong.", at=AT))
    shop.second_version()
    assert shop.publish() == 0
    assert shop.build() == 0
    assert (shop.site / path).read_bytes() == before
    assert shop.told(path)["definition"] == shop.frozen().read_text()


def test_a_second_version_stands_beside_the_first_with_its_own_numbers(shop: Shop):
    shop.second_version()
    shop.file(shop.claim("611.7"))
    assert shop.publish() == 0
    assert shop.build() == 0
    newer, older = shop.told(f"api/v1/packages/{NAME}.json")["editions"]
    assert (newer["version"], newer["headline"]["value"]) == ("1.1.0", "611.7")
    assert (older["version"], older["headline"]["value"]) == ("1.0.0", "532.4")
    difference = shop.told(f"api/v1/packages/{NAME}/1.1.0.json")["difference"]
    assert (difference["before"], difference["same_recipe"], difference["same_grid"]) == ("1.0.0", False, True)
    assert difference["claims"][0]["ratio"] == "1.15"
    assert {change["name"] for change in difference["changed"]} == {"seconds to start"}
    assert "611.7 tok/s" in shop.text(PAGES[1])
    assert "532.4 tok/s" in shop.text(PAGES[2])
    assert "611.7 tok/s" in shop.text("index.html")


def test_retracting_the_second_version_s_number_leaves_the_first_one_s(shop: Shop):
    shop.second_version()
    shop.file(shop.claim("611.7"), Retraction(slug=HEADLINE, kind="retract", reason="The clock was wrong.", at=AT))
    shop.publish()
    assert shop.build() == 0
    newer, older = shop.told(f"api/v1/packages/{NAME}.json")["editions"]
    assert newer["headline"]["state"] == "retracted"
    assert older["headline"]["value"] == "532.4"
    assert "611.7" not in shop.everywhere()


def no_raw(shop: Shop) -> None:
    (shop.evidence / "raw" / digest(ROWS).hex).unlink()


def no_raw_of_the_first(shop: Shop) -> None:
    """Lose the file that only the earlier version's number rests on."""
    content = ROWS.replace(b"561", b"571")
    (shop.evidence / "raw" / digest(content).hex).write_bytes(content)
    shop.second_version()
    made = shop.claim("611.7")
    shop.file(replace(RAW, sha256=digest(content)), replace(made, raw=digest(content)))
    assert shop.publish() == 0
    no_raw(shop)


def other_raw(shop: Shop) -> None:
    (shop.evidence / "raw" / digest(ROWS).hex).write_bytes(ROWS.replace(b"561", b"461"))


def edited(file: Callable[[Shop], Path], before: str, after: str) -> Callable[[Shop], None]:
    def edit(shop: Shop) -> None:
        text = file(shop).read_text()
        assert before in text
        file(shop).write_text(text.replace(before, after, 1))

    return edit


def frozen(shop: Shop) -> Path:
    return shop.frozen()


def log(shop: Shop) -> Path:
    return shop.log


def ledger(shop: Shop) -> Path:
    return shop.evidence / "ledger.jsonl"


def frozen_gone(shop: Shop) -> None:
    shop.frozen().unlink()


def log_gone(shop: Shop) -> None:
    shop.log.unlink()


def last_release_cut(shop: Shop) -> None:
    shop.second_version()
    assert shop.publish() == 0
    shop.log.write_bytes(shop.log.read_bytes().splitlines(keepends=True)[0])


def reordered(shop: Shop) -> None:
    shop.yank()
    shop.log.write_bytes(b"".join(reversed(shop.log.read_bytes().splitlines(keepends=True))))


@pytest.mark.parametrize(
    ("fault", "code", "place"),
    [
        (no_raw, 1, str(digest(ROWS))),
        (no_raw_of_the_first, 1, str(digest(ROWS))),
        (other_raw, 4, str(digest(ROWS))),
        (edited(ledger, "532.4", "632.4"), 4, "ledger.jsonl:2"),
        (edited(frozen, "port = ", "port = 1"), 4, "releases/1.0.0/package.toml was changed after it was released"),
        (frozen_gone, 4, "releases/1.0.0/package.toml is not there"),
        (edited(log, '"version":"1.0.0"', '"version":"1.0.1"'), 4, "releases.jsonl:1"),
        (edited(log, '"seq":0', '"seq":1'), 4, "releases.jsonl:1"),
        (log_gone, 4, "has no release of demo-kimi-k3-tiny 1.0.0"),
        (last_release_cut, 4, "has no release of demo-kimi-k3-tiny 1.1.0"),
        (reordered, 4, "releases.jsonl:1"),
        (edited(lambda shop: shop.definition, "port = ", "prot = "), 2, "package.toml:"),
    ],
)
def test_what_must_not_change_stops_the_build_and_is_named(
    shop: Shop, capsys: pytest.CaptureFixture[str], fault: Callable[[Shop], None], code: int, place: str
):
    assert shop.build() == 0
    before = shop.everywhere()
    fault(shop)
    capsys.readouterr()
    assert shop.build() == code
    assert place in capsys.readouterr().err
    assert shop.everywhere() == before


def test_the_same_inputs_give_the_same_bytes(shop: Shop):
    def files() -> dict[str, bytes]:
        return {str(f.relative_to(shop.site)): f.read_bytes() for f in shop.site.rglob("*") if f.is_file()}

    shop.build()
    first = files()
    shop.build()
    assert files() == first


def test_an_edited_definition_is_a_draft_beside_the_release(shop: Shop):
    shop.rewrite(("start_budget_s = 60", "start_budget_s = 61"))
    assert shop.build() == 0
    release, draft = shop.told(f"api/v1/packages/{NAME}.json")["editions"]
    assert (release["released"], draft["released"]) != (None, None)
    assert draft["released"] is None
    assert shop.told(f"api/v1/packages/{NAME}.json")["latest"] == "1.0.0"
    assert draft["headline"]["state"] == "absent"
    assert "not released" in shop.text(f"packages/{NAME}/draft/index.html").lower()


def test_a_release_whose_definition_was_removed_is_still_listed(shop: Shop):
    shop.definition.unlink()
    assert shop.build() == 0
    assert shop.told(EDITION)["released"]


def test_a_source_reads_again_what_changed_and_says_so_before(shop: Shop):
    source = CatalogSource(Places(packages=shop.packages, evidence=shop.evidence))
    stamps = [source.stamp()]
    first = source.read()
    assert source.stamp() == stamps[0]
    for change in (
        lambda: shop.file(shop.claim("611.7")),
        shop.yank,
        lambda: shop.rewrite(('tier = "open"', 'tier = "open" ')),
    ):
        change()
        stamps.append(source.stamp())
    assert len(set(stamps)) == len(stamps)
    again = source.read()
    edition = again.catalog.entries[0].editions[0]
    assert edition.yank is not None
    assert edition.deploy is first.catalog.entries[0].editions[0].deploy
    other_raw(shop)
    assert source.stamp() not in stamps
