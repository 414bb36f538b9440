import time
from random import Random

import pytest
from tests.browser.shop import Shop
from tests.market import stall
from tests.web.market.buyer import Buyer

from dayzero.adapters.payments.fake import FakePayments
from dayzero.web.app import app_of
from dayzero.wiring.catalog_live import LiveCatalog, open_live
from dayzero.wiring.catalog_source import Places


@pytest.fixture(scope="session")
def stand(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    """The package with its kit; nobody changes it."""
    return stall.open_stall(tmp_path_factory.mktemp("stall"))


@pytest.fixture(scope="session")
def live(stand: Shop, tmp_path_factory: pytest.TempPathFactory) -> LiveCatalog:
    places = Places(packages=stand.packages, evidence=stand.evidence, kits=stand.kits)
    return open_live(places, tmp_path_factory.mktemp("index") / "index.sqlite", market=True)


@pytest.fixture
def fake() -> FakePayments:
    return FakePayments(secret="s", now_s=lambda: int(time.time()), random=Random("7"))  # noqa: S106, S311  (a test's)


@pytest.fixture
def prices(owner, stand) -> stall.Prices:
    return stall.stock(owner, stand)


@pytest.fixture
def front(place, clock, live, fake, prices):
    with stall.front_at(place, clock, live, providers={"fake": fake}) as found:
        yield found


@pytest.fixture
def app(live, front):
    return app_of(live, front)


@pytest.fixture
def browsers(app):
    """Open browsers on the market, each from an address of its own."""
    opened: list[Buyer] = []

    def open_(address: str = "") -> Buyer:
        opened.append(Buyer(app, address or f"192.0.2.{len(opened) + 1}"))
        return opened[-1]

    yield open_
    for browser in opened:
        browser.close()


@pytest.fixture
def buyer(browsers) -> Buyer:
    """A browser that is signed in to an account of its own."""
    found = browsers()
    found.sign_up()
    return found
