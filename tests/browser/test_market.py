"""A buyer in a real browser: opens an account, reads and signs a licence, pays, downloads the kit and verifies it.

Everything is done twice: with JavaScript, and without it. Every page is looked at light and dark, narrow and wide.
"""

import json
import re
import uuid
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.browser.checks import barriers, html_faults, keyboard_faults, width_faults
from tests.browser.conftest import Place, served
from tests.browser.test_pages import LOOKS, Look, keep
from tests.browser.window import WIDE, Window, window
from tests.kit.stranger import typed
from tests.market import books, stall

from dayzero.market.audit import audit
from dayzero.wiring.market import init_market, open_market
from dayzero.wiring.storefront import account_id_of

pytestmark = pytest.mark.browser

TITLE = "Kimi K3, tiny"


@pytest.fixture(scope="module")
def database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("market") / "market.db"
    init_market(file)
    return file


@pytest.fixture(scope="module")
def counter(tmp_path_factory: pytest.TempPathFactory, database: Path) -> Iterator[tuple[Place, stall.Prices]]:
    """Serve the catalog and the market, with the command that serves them."""
    stand = stall.open_stall(tmp_path_factory.mktemp("stall"))
    with open_market(database) as owner:
        prices = stall.stock(owner, stand, providers=())
    with served(*stand.options, "--market", str(database)) as origin:
        yield Place("live", origin), prices


@pytest.fixture(params=[True, False], ids=["script", "no-script"])
def visit(request: pytest.FixtureRequest, browser: Browser, counter: tuple[Place, stall.Prices]) -> Iterator[Window]:
    with window(browser, counter[0].origin, script=request.param) as opened:
        yield opened
        # a page that is left before its script has come aborts it
        assert [said for said in opened.complaints if not said.endswith("/site.js")] == []
        assert opened.elsewhere == []


def sign_up(visit: Window) -> str:
    page = visit.open("account/sign-up")
    page.get_by_label("Password", exact=True).fill(stall.PASSWORD)
    page.get_by_label("The same once more").fill(stall.PASSWORD)
    page.get_by_role("button", name="Open an account").click()
    name = page.locator(".secret").inner_text()
    page.get_by_role("link", name="Go on").click()
    page.wait_for_load_state()
    return name


def fund(database: Path, name: str) -> None:
    with open_market(database) as owner:
        books.fund(owner, account_id_of(owner, name), 2_000_000, uuid.uuid4().hex)


def fill_in(page: Page) -> None:
    page.get_by_label("Licensed entity").fill("Acme GmbH")
    page.get_by_label("Signer").fill("Ada Byron")
    page.get_by_label("Authority").fill("managing director")
    boxes = page.get_by_role("checkbox")
    assert boxes.count() == 4
    for box in boxes.all():
        box.check()


def to_licence(visit: Window, prices: stall.Prices) -> Page:
    page = visit.open(f"packages/{stall.PACKAGE}/index.html")
    page.get_by_role("link", name="Prices and the licence").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(TITLE)
    page.get_by_role("link", name=re.compile("Read and sign.*enterprise")).click()
    assert visit.path == f"market/prices/{prices.enterprise}"
    return page


def test_a_buyer_reads_signs_pays_downloads_and_verifies(
    visit: Window, counter: tuple[Place, stall.Prices], database: Path, tmp_path: Path, browser: Browser
):
    name = sign_up(visit)
    fund(database, name)
    page = to_licence(visit, counter[1])
    assert page.locator(".terms").inner_text().strip() == books.TERMS.body.strip()
    fill_in(page)
    page.get_by_role("checkbox").nth(2).uncheck()
    visit.complaints.clear()
    page.get_by_role("button", name="Look it over").click()
    expect(page.locator(".banner")).to_contain_text("The affirmation on traceability was not made.")
    visit.complaints.clear()  # the browser complains about the status of the refusal
    page.get_by_role("checkbox").nth(2).check()
    expect(page.get_by_label("Licensed entity")).to_have_value("Acme GmbH")
    page.get_by_role("button", name="Look it over").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Sign and pay")
    page.get_by_role("button", name=re.compile("Sign and pay 9,000.00 EUR")).click()
    expect(page.locator(".lead")).to_contain_text("Paid")
    expect(page.get_by_text("Affirmed", exact=True)).to_have_count(4)
    receipt = visit.path
    with page.expect_download() as download:
        page.get_by_role("button", name="Download").click()
    archive = tmp_path / download.value.suggested_filename
    download.value.save_as(archive)
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(tmp_path)
    folder = tmp_path / f"{stall.PACKAGE}-{stall.VERSION}"
    licence = json.loads((folder / "licence.json").read_text())
    assert (licence["account"], licence["licence"]["entity"]) == (name, "Acme GmbH")
    card = visit.open(f"packages/{stall.PACKAGE}/index.html")
    command = card.locator("section[aria-labelledby=kit] pre.command").first.inner_text().strip()
    done = typed(folder, [command])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "verified" in done.stdout
    account = visit.open("account/")
    expect(account.locator("section[aria-labelledby=downloads]")).to_contain_text(licence["download"])
    with window(browser, counter[0].origin) as stranger:
        sign_up(stranger)
        answer = stranger.page.goto(f"{counter[0].origin}/{receipt}")
        assert answer is not None
        assert answer.status == 404
        assert "Acme" not in stranger.page.content()
    with open_market(database) as owner:
        assert audit(owner).findings == ()


def test_a_double_click_buys_once(visit: Window, counter: tuple[Place, stall.Prices], database: Path):
    name = sign_up(visit)
    fund(database, name)
    page = to_licence(visit, counter[1])
    fill_in(page)
    page.get_by_role("button", name="Look it over").click()
    page.get_by_role("button", name=re.compile("Sign and pay")).dblclick(no_wait_after=True)
    expect(page.locator(".lead")).to_contain_text("Paid")
    account = visit.open("account/")
    expect(account.locator("section[aria-labelledby=orders] tbody tr")).to_have_count(1)
    visit.complaints.clear()  # what the second click ended


def test_a_program_gets_a_token_that_is_shown_once(visit: Window, counter: tuple[Place, stall.Prices]):
    name = sign_up(visit)
    page = visit.open("account/")
    page.get_by_label("What it is for").fill("nightly")
    page.get_by_role("button", name="Make a token").click()
    token = page.locator(".secret").inner_text()
    said = page.request.get(
        f"{counter[0].origin}/api/v1/market/account", headers={"Authorization": f"Bearer {token}"}
    ).json()
    assert said["name"] == name
    page = visit.open("account/")
    assert token not in page.content()
    page.get_by_role("button", name="Revoke nightly").click()
    expect(page.locator("section[aria-labelledby=tokens]")).to_contain_text("Revoked")


def pages(visit: Window, prices: stall.Prices, database: Path) -> Iterator[tuple[str, Page]]:
    """Go through every page of the market once."""
    yield "sign-in", visit.open("account/sign-in")
    yield "sign-up", visit.open("account/sign-up")
    page = visit.page
    page.get_by_label("Password", exact=True).fill("short")
    page.get_by_label("The same once more").fill("short")
    page.get_by_role("button", name="Open an account").click()
    yield "sign-up-refused", page
    page.get_by_label("Password", exact=True).fill(stall.PASSWORD)
    page.get_by_label("The same once more").fill(stall.PASSWORD)
    page.get_by_role("button", name="Open an account").click()
    name = page.locator(".secret").inner_text()
    yield "welcome", page
    yield "account-empty", visit.open("account/")
    yield "market", visit.open("market/")
    yield "offer", visit.open(f"market/packages/{stall.PACKAGE}")
    yield "licence-no-credit", visit.open(f"market/prices/{prices.enterprise}")
    fill_in(page)
    page.get_by_role("checkbox").nth(0).uncheck()
    page.get_by_role("button", name="Look it over").click()
    yield "licence-refused", page
    fund(database, name)
    visit.open(f"market/prices/{prices.enterprise}")
    fill_in(page)
    yield "licence", page
    page.get_by_role("button", name="Look it over").click()
    yield "confirm", page
    page.get_by_role("button", name=re.compile("Sign and pay")).click()
    yield "order", page
    with page.expect_download():
        page.get_by_role("button", name="Download").click()
    visit.open("account/")
    page.get_by_label("What it is for").fill("nightly")
    page.get_by_role("button", name="Make a token").click()
    yield "token", page
    yield "account", visit.open("account/")
    yield "password", visit.open("account/password")
    yield "buy", visit.open(f"market/prices/{prices.community}")
    yield "no-such-order", visit.open("account/orders/" + "0" * 32)


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: f"{look[0]}-{look[1]}")
def test_every_page_can_be_used_by_everybody(
    browser: Browser, axe: str, counter: tuple[Place, stall.Prices], database: Path, look: Look
):
    width, scheme = look
    faults: dict[str, list[str]] = {}
    with window(browser, counter[0].origin, width=width, scheme=scheme) as shown:
        for name, page in pages(shown, counter[1], database):
            found = [*barriers(page, axe), *width_faults(page), *keyboard_faults(page)]
            said = [each for each in shown.complaints if "422" not in each and "404" not in each]
            faults[name] = [*found, *said, *shown.elsewhere]
            keep(page, f"market-{name}-{width}-{scheme}")
            shown.complaints.clear()
    assert {name: found for name, found in faults.items() if found} == {}
    assert len(faults) > 15


def test_every_page_is_valid_html(
    browser: Browser,
    checker: tuple[str, ...],
    counter: tuple[Place, stall.Prices],
    database: Path,
    folder_of_pages: Path,
):
    with window(browser, counter[0].origin, width=WIDE, script=False) as shown:
        for name, page in pages(shown, counter[1], database):
            (folder_of_pages / f"{name}.html").write_text(page.content(), encoding="utf-8")
    assert html_faults(checker, folder_of_pages) == []
