"""Whatever is done in whatever order, the books say what a few lines of Python say: money, rights, and chains."""

import tempfile
import uuid
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule, run_state_machine_as_test
from tests.market import books
from tests.postgres_fixtures import PostgresCluster

from dayzero.market.account import open_account
from dayzero.market.audit import audit
from dayzero.market.entitlement import access
from dayzero.market.errors import RefusedError
from dayzero.market.ledger import Grant, balance, grant
from dayzero.market.model import Allowed, Purchase
from dayzero.market.order import buy
from dayzero.market.publish import publish_version
from dayzero.market.refund import Refund, refund, revoke

BUYERS = ("ada", "bob")
PRICES = {"enterprise": books.ENTERPRISE, "community": books.COMMUNITY, "maintenance": books.MAINTENANCE}


class BooksMachine(RuleBasedStateMachine):
    """Rules of the market, each done on the books and on the reference."""

    place: books.Place
    orders = Bundle("orders")

    def __init__(self) -> None:
        super().__init__()
        self.happened: Counter[str] = Counter()
        self.clock = books.Clock()
        self.opened = books.market_at(self.place.database, self.clock)
        self.owned = books.market_at(self.place.owner, self.clock)
        self.market, self.owner = self.opened.__enter__(), self.owned.__enter__()
        self.shop = books.stock(self.owner)
        self.ids = {name: open_account(self.market, name) for name in BUYERS}
        self.wallet = dict.fromkeys(BUYERS, 3_000_000)
        for name in BUYERS:
            books.fund(self.owner, self.ids[name], 3_000_000, key=f"first {name}")
        self.sold: list[dict[str, object]] = []
        self.published = {"1.0.0": self.clock()}
        self.keys: dict[tuple[str, str], tuple[str, int, object]] = {}

    def teardown(self) -> None:
        """Let the connections go."""
        self.opened.__exit__(None, None, None)
        self.owned.__exit__(None, None, None)

    @rule(who=st.sampled_from(BUYERS), amount=st.integers(1, 2_000_000), key=st.integers(0, 30))
    def fund(self, who, amount, key):
        wanted = Grant(account_id=self.ids[who], amount_minor=amount, currency="EUR", key=f"g{key}", reason="rule")
        before = self.keys.get(("grant", f"g{key}"))
        if before is not None and before[:2] != (who, amount):
            with pytest.raises(RefusedError):
                grant(self.owner, wanted)
            return
        grant(self.owner, wanted)
        if before is None:
            self.keys["grant", f"g{key}"] = (who, amount, None)
            self.wallet[who] = self.wallet[who] + amount

    @rule(
        target=orders,
        who=st.sampled_from(BUYERS),
        what=st.sampled_from(sorted(PRICES)),
        made=st.integers(2, 4) | st.just(4),
    )
    def purchase(self, who, what, made):
        signing = books.signing(made) if what == "enterprise" else None
        key = f"o{len(self.sold)}-{len(self.keys)}"
        wanted = Purchase(account_id=self.ids[who], key=key, tier_id=getattr(self.shop, what), signing=signing)
        possible = (
            (what != "enterprise" or made == 4)
            and self.wallet[who] >= PRICES[what]
            and (what != "maintenance" or self.holds(who))
        )
        if not possible:
            with pytest.raises(RefusedError):
                buy(self.market, wanted)
            self.happened["refused"] += 1
            return multiple()
        order = buy(self.market, wanted)
        self.wallet[who] -= PRICES[what]
        self.happened[what] += 1
        sale = {"who": who, "what": what, "back": 0, "revoked": False, "order": order, "asked": wanted}
        if what == "maintenance":
            sale["window"] = self.window(who)
        self.sold.append(sale)
        return sale

    @rule(sale=orders)
    def ask_again(self, sale):
        again = buy(self.market, sale["asked"])
        assert (again.id, again.replayed) == (sale["order"].id, True)

    @rule(sale=orders, part=st.integers(1, 4))
    def give_back(self, sale, part):
        left = PRICES[sale["what"]] - sale["back"]
        amount = left if part == 4 else PRICES[sale["what"]] * part // 4
        key = f"r{len(self.keys)}"
        self.keys["refund", key] = ("", 0, None)
        wanted = Refund(order_id=sale["order"].id, key=key, reason="rule", amount_minor=amount)
        if not 0 < amount <= left:
            with pytest.raises(RefusedError):
                refund(self.owner, wanted if amount else Refund(order_id=sale["order"].id, key=key, reason="rule"))
            return
        refund(self.owner, wanted)
        sale["back"] += amount
        self.wallet[sale["who"]] += amount
        whole = sale["back"] == PRICES[sale["what"]]
        sale["revoked"] = sale["revoked"] or whole
        self.happened[f"refunded {'wholly' if whole else 'in part'}"] += 1

    @rule(sale=orders)
    def take_back(self, sale):
        if sale["what"] == "maintenance":
            return
        if sale["revoked"]:
            with pytest.raises(RefusedError):
                revoke(self.owner, sale["order"].entitlement_id, "breach", "rule")
            return
        revoke(self.owner, sale["order"].entitlement_id, "breach", "rule")
        sale["revoked"] = True
        self.happened["revoked"] += 1

    @rule(days=st.integers(1, 500))
    def wait(self, days):
        self.clock.turn(days=days)

    @rule()
    def publish(self):
        version = f"{len(self.published) + 1}.0.0"
        publish_version(self.owner, books.version(version))
        self.published[version] = self.clock()

    @invariant()
    def the_wallets_are_what_was_moved(self):
        for who in BUYERS:
            assert balance(self.market, self.ids[who], "EUR") == self.wallet[who]

    @invariant()
    def everybody_may_download_what_the_rule_says(self):
        for who in BUYERS:
            for version, at in self.published.items():
                covered = any(
                    sale["window"][0] <= at < sale["window"][1]
                    for sale in self.sold
                    if sale["who"] == who and sale["what"] == "maintenance" and not sale["revoked"]
                )
                expected = self.holds(who) and (version == "1.0.0" or covered)
                if expected and version != "1.0.0":
                    self.happened["brought by maintenance"] += 1
                assert isinstance(access(self.market, self.ids[who], "kimi-k3", version), Allowed) == expected

    @invariant()
    def the_audit_finds_nothing(self):
        assert audit(self.market).findings == ()

    def holds(self, who) -> bool:
        return any(s["who"] == who and s["what"] != "maintenance" and not s["revoked"] for s in self.sold)

    def window(self, who) -> tuple[str, str]:
        running = [
            s["window"][1] for s in self.sold if s["who"] == who and s["what"] == "maintenance" and not s["revoked"]
        ]
        begins = books.Clock()
        start = max([self.clock(), *running])
        begins.at = begins.at.strptime(start, "%Y-%m-%dT%H:%M:%SZ")
        begins.turn(days=365)
        return start, begins()


EVERYTHING = {"refused", *PRICES, "refunded wholly", "refunded in part", "revoked", "brought by maintenance"}
STEPS = {"deadline": None, "suppress_health_check": list(HealthCheck)}


class InSqlite(BooksMachine):
    """The machine on a file of its own."""

    def __init__(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.place = books.sqlite_place(Path(self.folder.name))
        super().__init__()

    def teardown(self) -> None:
        """Delete the file too."""
        super().teardown()
        self.folder.cleanup()


class InPostgres(BooksMachine):
    """The machine on a database of its own."""

    cluster: PostgresCluster
    template: str

    def __init__(self) -> None:
        self.name = f"m{uuid.uuid4().hex[:12]}"
        self.cluster.sql(f"CREATE DATABASE {self.name} TEMPLATE {self.template}")
        application = self.cluster.url(self.name, books.APPLICATION)
        self.place = books.Place(application, self.cluster.url(self.name), self.cluster, self.name)
        super().__init__()

    def teardown(self) -> None:
        """Drop the database too."""
        super().teardown()
        self.cluster.sql(f"DROP DATABASE {self.name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgresql"])
def machine(request, monkeypatch) -> type[BooksMachine]:
    """Give the machine on each of the two databases."""
    if request.param == "sqlite":
        return InSqlite
    monkeypatch.setattr(InPostgres, "cluster", request.getfixturevalue("postgres_cluster"), raising=False)
    monkeypatch.setattr(InPostgres, "template", request.getfixturevalue("market_template"), raising=False)
    return InPostgres


def test_the_books_say_what_the_reference_says_whatever_is_done(machine):
    run_state_machine_as_test(machine, settings=settings(max_examples=12, stateful_step_count=25, **STEPS))


def test_the_books_say_what_the_reference_says_when_everything_is_done_once(machine):
    """Chance may leave a rule out; here none is."""
    made = machine()
    try:
        sales = {}
        for step in (
            lambda: sales.update(first=made.purchase("ada", "enterprise", 4)),
            lambda: made.purchase("ada", "enterprise", 3),
            lambda: sales.update(kept=made.purchase("ada", "maintenance", 4)),
            lambda: made.wait(30),
            made.publish,
            lambda: sales.update(other=made.purchase("bob", "community", 4)),
            lambda: sales.update(gone=made.purchase("bob", "maintenance", 4)),
            lambda: made.wait(1),
            made.publish,
            lambda: made.give_back(sales["gone"], 4),
            lambda: made.take_back(sales["other"]),
            lambda: made.purchase("bob", "maintenance", 4),
            lambda: made.give_back(sales["first"], 2),
            lambda: made.ask_again(sales["first"]),
            lambda: made.wait(400),
            made.publish,
            lambda: made.give_back(sales["first"], 4),
            lambda: made.give_back(sales["first"], 4),
            lambda: made.take_back(sales["first"]),
            lambda: made.fund("bob", 5, 1),
            lambda: made.fund("bob", 6, 1),
        ):
            step()
            made.the_wallets_are_what_was_moved()
            made.everybody_may_download_what_the_rule_says()
            made.the_audit_finds_nothing()
        assert set(made.happened) == EVERYTHING
    finally:
        made.teardown()
