"""What a buyer does in a browser, from the first page to the downloaded kit, on both databases."""

import io
import json
import re
import zipfile
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256

import pytest
from tests.market import books, stall
from tests.web.market.buyer import SAID, Buyer

from dayzero.market.audit import audit
from dayzero.market.ledger import balance
from dayzero.market.model import AFFIRMATION_KINDS
from dayzero.market.publish import Version, notice, publish_version, withdraw_tier
from dayzero.web.app import app_of
from dayzero.wiring.catalog_live import open_live
from dayzero.wiring.catalog_source import Places
from dayzero.wiring.storefront import account_id_of


def fund(owner, buyer, amount=2_000_000, key="fund"):
    account_id = account_id_of(owner, buyer.name)
    books.fund(owner, account_id, amount, key)
    return account_id


def rows(market, table):
    return market.books.read(lambda desk: desk.every(table))


def test_a_licence_is_read_signed_paid_and_its_kit_downloaded(owner, front, buyer, prices, stand):
    account_id = fund(owner, buyer)
    page = buyer.get(f"/market/packages/{stall.PACKAGE}").text
    assert "9,000.00 EUR" in page
    assert "no technical measure in a kit would change that" in page
    page = buyer.get(f"/market/prices/{prices.enterprise}").text
    assert books.TERMS.body in page
    assert sha256(books.TERMS.body.encode()).hexdigest() in page
    assert len(buyer.form("check").boxes) == len(AFFIRMATION_KINDS)
    assert buyer.ask("GET", f"/market/terms/{prices.terms}.txt").content == books.TERMS.body.encode()
    confirm = buyer.to_confirm(prices.enterprise)
    assert all(words in confirm.text for words in SAID.values())
    assert rows(owner, "orders") == ()
    placed = buyer.send(buyer.form("order"))
    assert re.search(r"/account/orders/[0-9a-f]{32}$", str(placed.url))
    assert "Acme GmbH" in placed.text
    assert placed.text.count("Affirmed") == len(AFFIRMATION_KINDS)
    assert balance(front.market, account_id, "EUR") == 2_000_000 - books.ENTERPRISE
    taken = buyer.send(buyer.form(stall.VERSION))
    assert taken.headers["content-disposition"].endswith('.licensed.zip"')
    assert taken.headers["cache-control"] == "no-store"
    with zipfile.ZipFile(io.BytesIO(taken.content)) as archive:
        files = {name.rpartition("/")[2]: archive.read(name) for name in archive.namelist()}
    assert files[f"{stall.PACKAGE}-{stall.VERSION}.kit.zip"] == stall.kit_of(stand).read_bytes()
    licence = json.loads(files["licence.json"])
    (recorded,) = rows(owner, "download")
    assert (licence["account"], licence["download"]) == (buyer.name, recorded["id"])
    assert licence["licence"]["terms"] == books.TERMS.body
    assert [each["kind"] for each in licence["licence"]["affirmations"]] == list(AFFIRMATION_KINDS)
    account = buyer.get("/account/").text
    assert recorded["id"] in account
    assert "11,000.00 EUR" in account
    assert audit(owner).findings == ()


@pytest.mark.parametrize("left_out", ["entity", "signer", "authority", *(f"affirmation_{n}" for n in range(1, 5))])
@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_nothing_is_signed_with_a_part_left_out(owner, buyer, prices, left_out):
    fund(owner, buyer)
    answer = buyer.to_confirm(prices.enterprise, **{left_out: ""})
    assert answer.status_code == 422
    assert f'href="#{left_out}"' in answer.text
    kept = buyer.form("check").fields
    assert all(kept[name] == value for name, value in SAID.items() if name != left_out)
    buyer.to_confirm(prices.enterprise)
    answer = buyer.send(buyer.form("order"), **{left_out: ""})  # past the page that checks
    assert answer.status_code == 422
    assert rows(owner, "orders") == rows(owner, "signature") == ()


def test_other_terms_than_were_shown_are_not_signed(owner, buyer, prices):
    fund(owner, buyer)
    assert buyer.to_confirm(prices.enterprise, terms_sha256="0" * 64).status_code == 422
    buyer.to_confirm(prices.enterprise)
    assert buyer.send(buyer.form("order"), terms_sha256="0" * 64).status_code == 422
    assert rows(owner, "orders") == ()


def test_pressing_twice_buys_once(owner, buyer, prices):
    account_id = fund(owner, buyer)
    buyer.to_confirm(prices.enterprise)
    form = buyer.form("order")
    first, second = buyer.send(form, follow=False), buyer.send(form, follow=False)
    assert first.status_code == second.status_code == 303
    assert first.headers["location"] == second.headers["location"]
    assert len(rows(owner, "orders")) == len(rows(owner, "signature")) == 1
    assert balance(owner, account_id, "EUR") == 2_000_000 - books.ENTERPRISE
    changed = buyer.send(form, entity="Another GmbH")
    assert changed.status_code == 422
    assert "was used for another request" in changed.text


def test_a_second_account_sees_nothing_of_an_order(owner, buyer, browsers, prices):
    fund(owner, buyer)
    where = str(buyer.buy(prices.enterprise).url)
    download = buyer.form(stall.VERSION)
    other = browsers()
    other.sign_up()
    assert other.get(where).status_code == 404
    assert other.get(where.replace(where[-1], "0" if where[-1] != "0" else "1")).status_code == 404
    other.get("/account/")
    mine = other.forms()[0].fields["form_token"]
    answer = other.send(download, form_token=mine)
    assert (answer.status_code, "PK" in answer.text[:2]) == (403, False)
    order = where.rpartition("/")[2]
    other.get("/account/")
    assert (
        other.ask(
            "POST", f"/account/orders/{order}/pay", data={"form_token": mine}, headers={"Origin": stall.ORIGIN}
        ).status_code
        == 404
    )
    assert buyer.name not in other.get("/account/").text
    assert rows(owner, "download") == ()


def test_what_the_credit_does_not_cover_is_not_bought(owner, buyer, prices):
    fund(owner, buyer, books.COMMUNITY - 1)
    assert "does not cover it" in buyer.to_confirm(prices.community, provider="credit").text
    fund(owner, buyer, 1, "rest")
    buyer.to_confirm(prices.community)
    form = buyer.form("order")
    assert buyer.buy(prices.community).status_code == 200
    answer = buyer.send(form)
    assert answer.status_code == 402
    assert len(rows(owner, "orders")) == 1


def test_maintenance_brings_the_next_version_once_a_version_is_held(owner, buyer, prices):
    fund(owner, buyer)
    buyer.to_confirm(prices.maintenance)
    assert buyer.send(buyer.form("order")).status_code == 403
    buyer.buy(prices.enterprise)
    assert "maintenance" in buyer.buy(prices.maintenance).text
    publish_version(
        owner, Version(product=stall.PACKAGE, title="", version="1.1.0", definition=books.sha("d"), kit=books.sha("k"))
    )
    page = buyer.get("/account/").text
    assert "1.1.0</strong>" in page
    assert "through maintenance" in page
    absent = buyer.send(buyer.form("downloads/demo-kimi-k3-tiny/1.1.0"))
    assert absent.status_code == 503  # the kit was not put here; nothing is recorded
    assert rows(owner, "download") == ()


def test_a_kit_that_is_not_the_one_that_was_sold_is_not_handed_out(owner, buyer, prices, front, stand):
    fund(owner, buyer)
    buyer.buy(prices.enterprise)
    kit = stall.kit_of(stand)
    files = front.live.now().offer.licensed[stall.PACKAGE, stall.VERSION]
    content = kit.read_bytes()
    try:
        files.archive.write_bytes(content + b"x")
        answer = buyer.send(buyer.form(stall.VERSION))
    finally:
        files.archive.write_bytes(content)
    assert answer.status_code == 503
    assert rows(owner, "download") == ()


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_what_is_taken_off_the_market_is_said_and_not_sold(owner, buyer, prices):
    fund(owner, buyer)
    buyer.buy(prices.enterprise)
    withdraw_tier(owner, prices.community, "dearer")
    assert "49.00 EUR" not in buyer.get("/market/").text
    assert buyer.get(f"/market/prices/{prices.community}").status_code == 409
    version = rows(owner, "package_version")[0]["id"]
    notice(owner, version, "yanked", "its wheel is gone")
    assert "9,000.00" not in buyer.get("/market/").text
    page = buyer.get("/account/").text
    assert "its wheel is gone" in page
    assert buyer.send(buyer.form(stall.VERSION)).status_code == 200


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
def test_the_catalog_leads_to_the_market_and_hands_no_licensed_kit_out(buyer, stand):
    page = buyer.get(f"/packages/{stall.PACKAGE}/").text
    assert f"market/packages/{stall.PACKAGE}" in page
    kit = stall.kit_of(stand).name
    assert buyer.ask("GET", f"/packages/{stall.PACKAGE}/{stall.VERSION}/kit/{kit}").status_code == 404
    assert buyer.get("/market/packages/nothing").status_code == 404
    assert buyer.get("/market/prices/" + "0" * 32).status_code == 404


def test_one_form_sent_by_many_at_once_buys_once(owner, buyer, app, prices):
    account_id = fund(owner, buyer)
    buyer.to_confirm(prices.enterprise)
    form, cookies = buyer.form("order"), dict(buyer.client.cookies)

    def press(number: int) -> str:
        again = Buyer(app, f"198.51.100.{number}")
        for name, value in cookies.items():
            again.client.cookies.set(name, value, domain="shop.test")
        again.at = buyer.at
        answer = again.send(form, follow=False)
        again.close()
        return answer.headers.get("location", answer.text)

    with ThreadPoolExecutor(8) as hands:
        led = set(hands.map(press, range(8)))
    assert len(led) == 1
    assert len(rows(owner, "orders")) == len(rows(owner, "signature")) == len(rows(owner, "entitlement")) == 1
    assert balance(owner, account_id, "EUR") == 2_000_000 - books.ENTERPRISE
    assert audit(owner).findings == ()


def test_a_catalog_without_a_market_has_none_of_its_pages(stand, tmp_path):
    places = Places(packages=stand.packages, evidence=stand.evidence, kits=stand.kits)
    plain = Buyer(app_of(open_live(places, tmp_path / "index.sqlite")))
    page = plain.get(f"/packages/{stall.PACKAGE}/").text
    assert "market/" not in page
    assert "account/" not in page
    for path in ("/market/", "/account/", "/account/sign-in", "/api/v1/market/offers"):
        assert plain.ask("GET", path).status_code == 404
    assert plain.ask("POST", "/account/sign-in", data={"name": "a"}).status_code == 405
    plain.close()
